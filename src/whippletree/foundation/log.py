"""The package's log: loggers of the standard library below "whippletree", silent unless an application listens.

`whippletree.compile`, `plan`, `replan`, `fallback` and `cache` tell at level INFO when code has been compiled, when
loops are planned for the first time and anew, when a state is solved by singular values, and when entries of the cache
are removed; at level DEBUG the cache tells what it looks for. An application listens by

    logging.basicConfig(level=logging.INFO)

The application imports the standard module: a program that does not use it pays nothing.
"""

from __future__ import annotations

import sys
from typing import Literal

__all__ = ["log"]

_ROOT = "whippletree"


def log(part: Literal["compile", "plan", "replan", "fallback", "cache"], message: str, *, detail: bool = False) -> None:
    """Log a message for one part of the package, at level DEBUG if it is a detail.

    >>> import logging
    >>> listener = logging.Handler()
    >>> listener.emit = lambda record: print(record.name, record.getMessage())
    >>> logger = logging.getLogger("whippletree.plan")
    >>> logger.addHandler(listener)
    >>> logger.setLevel(logging.INFO)
    >>> log("plan", "two loops")
    whippletree.plan two loops
    >>> log("plan", "a detail", detail=True)
    >>> logger.removeHandler(listener)
    """
    logging = sys.modules.get("logging")
    if logging is None:
        return
    root = logging.getLogger(_ROOT)
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    logging.getLogger(f"{_ROOT}.{part}").log(logging.DEBUG if detail else logging.INFO, message)
