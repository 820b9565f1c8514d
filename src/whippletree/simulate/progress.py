"""Watching a run: a bar that shows how far it is, interruptions that end it in good order.

Python looks at the clock ten times a second; how many steps machine code takes in between is the `StepBudget`.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

import numpy as np

from whippletree.errors import StateError
from whippletree.spatial.scalars import shown

__all__ = ["ProgressMonitor", "StepBudget"]

_WIDTH = 40
_BETWEEN = 0.05  # seconds, half the time that machine code takes before it comes back


class ProgressMonitor:
    """Is told how far a run is, and says whether it shall end; within it, Ctrl-C is noted and nothing is lost.

    `progress` may be a function of the share of the time that is done; however often the watch is told, it is called
    some ten times a second at most. A second Ctrl-C is the usual one.

    >>> shares = []
    >>> with ProgressMonitor(0.0, 2.0, shares.append) as watch:
    ...     watch(0.5)
    False
    >>> shares
    [0.25]
    """

    def __init__(self, start: float, end: float, progress: bool | Callable[[float], None] = False) -> None:
        if not callable(progress) and not isinstance(progress, bool | np.bool_):
            raise StateError(f"progress= must be True, False or a function of the share done, not {shown(progress)}")
        self.interrupted = False
        self._start, self._end = start, end
        self._tell = progress if callable(progress) else (self._bar if progress else None)
        self._drawn = False
        self._told = -_BETWEEN
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if self._before is not None:  # else a handler outside of Python has it
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._drawn:
            print(file=sys.stderr)

    def __call__(self, t: float) -> bool:
        """Tell at what time the run is; return whether it shall end."""
        try:
            if self._tell is not None and time.perf_counter() - self._told >= _BETWEEN:
                self._told = time.perf_counter()
                whole = self._end - self._start
                self._tell(min(max((t - self._start) / whole, 0.0), 1.0) if whole > 0 else 1.0)
        except KeyboardInterrupt:
            self.interrupted = True
        return self.interrupted

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Note an interruption; the second one is for whoever was asked before."""
        if self.interrupted and callable(self._before):
            self._before(number, frame)
        self.interrupted = True

    def _bar(self, share: float) -> None:
        """Draw a bar on the error stream."""
        self._drawn = True
        filled = round(_WIDTH * share)
        t = self._start + share * (self._end - self._start)
        bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {100 * share:3.0f} %, t = {t:.6g} s"
        print(f"\r{bar:<75}", end="", file=sys.stderr, flush=True)


_WISH = 0.1  # seconds
_FIRST, _MOST = 200, 100_000_000


class StepBudget:
    """The number of steps to take next; results do not depend on it.

    >>> budget = StepBudget()
    >>> budget.begin(), budget.end()
    (200, None)
    >>> 200 < budget.steps <= 1600
    True
    """

    def __init__(self) -> None:
        self.steps = _FIRST
        self._began = 0.0

    def begin(self) -> int:
        """Start the clock, and return how many steps to take."""
        self._began = time.perf_counter()
        return self.steps

    def end(self) -> None:
        """Stop the clock, and take more or fewer steps the next time."""
        took = max(time.perf_counter() - self._began, 1e-9)
        self.steps = int(min(max(self.steps * min(max(_WISH / took, 0.02), 8.0), 1), _MOST))
