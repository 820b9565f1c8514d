"""Watching a run: a bar that shows how far it is, interruptions that end it in good order.

Python looks at the clock ten times a second; how many steps machine code takes in between is the `StepBudget`.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

import numpy as np

from whippletree.errors import SimulationError, StateError
from whippletree.spatial.scalars import shown

__all__ = ["ProgressMonitor", "StepBudget", "duration_in_words"]

_WIDTH = 40
"""Characters of the bar."""

_BETWEEN = 0.05  # seconds, half the time that machine code takes before it comes back


class ProgressMonitor:
    """Is told how far a run is, and says whether it shall end; within it, Ctrl-C is noted and nothing is lost.

    `progress` may be a function of the share of the time that is done; however often the watch is told, it is called
    some ten times a second at most, and at last with 1.0 if the run has come to its end. A second Ctrl-C is the usual
    one.

    >>> shares = []
    >>> with ProgressMonitor(0.0, 2.0, shares.append) as watch:
    ...     watch(0.5)
    ...     watch.finish(2.0)
    False
    >>> shares
    [0.25, 1.0]
    """

    def __init__(
        self,
        start: float,
        end: float,
        progress: bool | Callable[[float], None] = False,
        time_limit: float | None = None,
    ) -> None:
        if not callable(progress) and not isinstance(progress, bool | np.bool_):
            raise StateError(f"progress= must be True, False or a function of the share done, not {shown(progress)}")
        self.interrupted = False
        self._start, self._end, self._limit = start, end, time_limit
        self._late = np.inf if time_limit is None else time.perf_counter() + time_limit
        self._tell = progress if callable(progress) else (self._bar if progress else None)
        self._drawn = 0  # characters of the bar
        self._told = -_BETWEEN
        self._before: Any = None
        self._time = start
        self._first: tuple[float, float] | None = None  # the clock and the share when the run was first heard of

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
        self.leave_line()

    def leave_line(self) -> None:
        """Leave the line of the bar, if there is one."""
        if self._drawn:
            print(file=sys.stderr)
            self._drawn = 0

    def __call__(self, t: float) -> bool:
        """Report the time of the run; return whether it shall end. One that takes too long ends with an error."""
        if self._limit is not None and time.perf_counter() > self._late:
            raise SimulationError(f"at t = {t:.9g} s the run has taken longer than time_limit={self._limit:g} s")
        try:
            if self._tell is not None and time.perf_counter() - self._told >= _BETWEEN:
                self._told, self._time = time.perf_counter(), t
                whole = self._end - self._start
                share = min(max((t - self._start) / whole, 0.0), 1.0) if whole > 0 else 1.0
                self._first = self._first or (self._told, share)
                self._tell(share)
        except KeyboardInterrupt:
            self.interrupted = True
        return self.interrupted

    def finish(self, t: float) -> None:
        """Tell that the run has come to its end, at its last time or where an event has ended it."""
        if self._tell is not None:
            self._told, self._time = time.perf_counter(), t
            with contextlib.suppress(KeyboardInterrupt):
                self._tell(1.0)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Note an interruption; the second one is for whoever was asked before."""
        if self.interrupted and callable(self._before):
            self._before(number, frame)
        self.interrupted = True

    def _bar(self, share: float) -> None:
        """Draw a bar on the error stream."""
        filled = "#" * int(_WIDTH * share)
        bar = f"[{filled:.<{_WIDTH}}] {int(100 * share):3d} %, t = {self._time:.6g} s{self._left(share)}"
        print(f"\r{bar:<{self._drawn}}", end="", file=sys.stderr, flush=True)
        self._drawn = len(bar)

    def _left(self, share: float) -> str:
        """Say how long it will take yet, if it goes on as it did."""
        if self._first is None or share >= 1.0:
            return ""
        began, first = self._first
        took, done = self._told - began, share - first
        return f", {duration_in_words(took * (1.0 - share) / done)} left" if took > _BETWEEN and done > 0.0 else ""


def duration_in_words(seconds: float) -> str:
    """Return a duration in two units at most.

    >>> duration_in_words(0.4), duration_in_words(75.0), duration_in_words(7500.0), duration_in_words(1e9)
    ('1 s', '1 min 15 s', '2 h 5 min', '11574 days 1 h')
    """
    whole = max(int(seconds + 0.5), 1) if seconds < 1e15 else int(1e15)
    parts = [(whole // 86400, "days"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next(k for k, (count, _) in enumerate(parts) if count)  # not empty: one second at least
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


_WISH = 0.1  # seconds
_FIRST, _MOST = 200, 100_000_000
"""Steps until the first look at the clock, and the most between two looks."""

_BRIEF, _BRIEF_STEPS = 1e-4, 8  # seconds, and steps that are hardly longer


class StepBudget:
    """The number of steps to take next, and whether they are `brief`; results depend on neither.

    Brief is what took less than a tenth of a millisecond the last time, as from sample to sample of a controller. Then
    the interpreter's lock is not let go: to get it back takes up to five milliseconds if other threads are busy.

    >>> budget = StepBudget()
    >>> budget.begin(), budget.brief, budget.end(paused=True)
    (200, False, None)
    >>> 200 < budget.steps <= 1600
    True
    >>> budget.brief = True
    >>> budget.begin()
    8
    """

    def __init__(self) -> None:
        self.steps, self.brief = _FIRST, False
        self._began = 0.0

    def begin(self) -> int:
        """Start the clock, and return how many steps to take."""
        self._began = time.perf_counter()
        return min(self.steps, _BRIEF_STEPS) if self.brief else self.steps

    def end(self, *, paused: bool) -> None:
        """Stop the clock; if all steps were taken, take more or fewer the next time."""
        took = max(time.perf_counter() - self._began, 1e-9)
        if paused and not self.brief:
            self.steps = int(min(max(self.steps * min(max(_WISH / took, 0.02), 8.0), 1), _MOST))
        self.brief = took < _BRIEF and not paused
