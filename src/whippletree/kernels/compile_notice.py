"""Words on a terminal while a compilation takes longer than a second: the function, and about how long it takes.

They go to the error stream, and only if that is a terminal; the log hears of every compilation when it is done, and in
advance of those that are expected to take more than two seconds. The environment variable WHIPPLETREE_NOTICES=off
silences the terminal. Used around any work of this kind:

    with compiling("the time loops", seconds=4.0):
        ...

or, where how long it takes shows on the way, with `expect`. What takes less than a second says nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from whippletree.foundation.log import log

__all__ = ["compiling", "compiling_seconds", "tracing_seconds"]

_PATIENCE = 1.0
"""Seconds that pass without a word."""

_LONG = 2.0
"""Seconds from which the log hears in advance."""

_SECONDS_PER_LINE = 1e-4
"""Time of LLVM for a line of IR, on a processor of 2020."""

_SECONDS_PER_OPERATION = 2e-4
"""Time to trace an operation, write it and compile it."""


class compiling:  # noqa: N801 (reads as a verb: with compiling("forward_dynamics"))
    """Names the function being compiled as soon as it is known to take, or has taken, more than a second.

    `seconds` is what it is expected to take, or a function that works it out; None if that is not known yet.

    >>> with compiling("forward_dynamics") as notice:
    ...     notice.expect(0.2)
    """

    def __init__(self, what: str, seconds: float | Callable[[], float | None] | None = None) -> None:
        self._what, self._expected, self._seconds = what, seconds, 0.0
        self._began = time.perf_counter()
        self._timer: threading.Timer | None = None
        self._logged = False

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        if _wanted():
            self._timer = threading.Timer(_PATIENCE, self._say)
            self._timer.daemon = True
            self._timer.start()
            expected = self._expected() if callable(self._expected) else self._expected
            if expected is not None:
                self.expect(expected)
        return self

    def expect(self, seconds: float) -> None:
        """Tell how long it takes from now on; if that is long, it is said at once rather than after a second."""
        self._seconds = seconds
        whole = time.perf_counter() - self._began + seconds
        if whole > _LONG and not self._logged:
            self._logged = True
            log("compile", f"{self._what}: about {_rounded(whole)} s to come")
        if whole > _PATIENCE:
            self._say()

    def _say(self) -> None:
        """Write the line, once."""
        timer, self._timer = self._timer, None
        if timer is None:
            return
        timer.cancel()
        long = f", about {_rounded(self._seconds)} s" if self._seconds and self._seconds > _PATIENCE / 2 else ""
        line = f"whippletree: compiling {self._what}{long}"
        print(f"\r{line:<79}", file=sys.stderr, flush=True)  # over the bar of a run in progress

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if error is None:
            log("compile", f"{self._what}: {time.perf_counter() - self._began:.2f} s")


def compiling_seconds(text: str) -> float:
    """Return about how long LLVM takes for a module's text.

    >>> compiling_seconds("ret void\\n" * 20_000)
    2.0
    """
    return _SECONDS_PER_LINE * text.count("\n")


def tracing_seconds(operations: int) -> float:
    """Return about how long it takes from equations with so many operations to machine code.

    >>> tracing_seconds(10_000)
    2.0
    """
    return _SECONDS_PER_OPERATION * operations


def _wanted() -> bool:
    """Tell whether there is a terminal, and words on it are not switched off."""
    if os.environ.get("WHIPPLETREE_NOTICES", "").strip().lower() == "off":
        return False
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _rounded(seconds: float) -> str:
    """Return seconds to one digit, as an estimate deserves.

    >>> _rounded(0.7), _rounded(3.4), _rounded(17.0), _rounded(144.0)
    ('1', '3', '20', '100')
    """
    return f"{max(float(f'{seconds:.0e}'), 1.0):.0f}"
