"""How errors are told on the command line."""

from __future__ import annotations

__all__ = ["in_one_line"]


def in_one_line(error: BaseException) -> str:
    """Return an error's message on one line.

    >>> in_one_line(ValueError("a loop\\n  stays open"))
    'a loop stays open'
    """
    return " ".join(str(error).split())
