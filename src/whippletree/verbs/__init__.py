"""Verbs that a class offers although their work is done in a room that is built on it.

`mechanism.build()` makes a `System`, and `system.simulate(...)` a `Trajectory`: conveniences, whose rooms import the
class and not the other way round. The class asks here for the function by name; the package says, where it is put
together (`whippletree/__init__.py`), which function that is. Its module is imported when the verb is first used.

A new one (`System.sweep`, say) is a line in the table there, and a method that calls `verb("System.sweep")`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["provide", "verb"]

_PROVIDERS: dict[str, tuple[str, str]] = {}


def provide(verbs: Mapping[str, tuple[str, str]]) -> None:
    """Say for verbs, such as "System.simulate", in which module what function does the work.

    >>> provide({"Number.root": ("math", "sqrt")})
    >>> verb("Number.root")(9.0)
    3.0
    """
    _PROVIDERS.update(verbs)


def verb(name: str) -> Callable[..., Any]:
    """Return the function of a verb; its module is imported now, if it has not been."""
    module, function = _PROVIDERS[name]
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
