"""A line on the error stream about a study: cases done and failed, the rate, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from whippletree.errors import StateError
from whippletree.simulate.progress import duration_in_words
from whippletree.spatial.scalars import shown

__all__ = ["ProgressLine", "StudyProgress"]

_WIDTH, _BETWEEN = 24, 0.2
"""Characters of the bar; seconds between two drawings."""


class StudyProgress(NamedTuple):
    """How far a study is: cases in all, done and failed ones among them, cases per second and seconds left."""

    cases: int
    done: int
    failed: int
    rate: float
    left: float

    def __str__(self) -> str:
        filled = "#" * int(_WIDTH * self.done / max(self.cases, 1))
        failed = f", {self.failed} failed" if self.failed else ""
        rate = f", {self.rate:.3g} cases/s" if self.rate else ""
        left = f", {duration_in_words(self.left)} left" if self.rate and self.done < self.cases else ""
        return f"[{filled:.<{_WIDTH}}] {self.done} of {self.cases} cases{failed}{rate}{left}"


class ProgressLine:
    """Counts finished cases, and shows a line about them or calls a function with a `StudyProgress`.

    >>> said = []
    >>> line = ProgressLine(10, 4, 0, said.append)
    >>> line.add(6, 1)
    >>> line.close()
    >>> said[-1].done, said[-1].failed
    (10, 1)
    """

    def __init__(self, cases: int, done: int, failed: int, wanted: bool | Callable[[StudyProgress], object]) -> None:
        if not callable(wanted) and not isinstance(wanted, bool):
            raise StateError(f"progress= must be True, False or a function, not {shown(wanted)}")
        self._cases, self._before, self._done, self._failed = cases, done, done, failed
        shows = sys.stderr is not None and sys.stderr.isatty()
        self._tell = wanted if callable(wanted) else self._draw if wanted and shows else None
        self._began, self._told, self._drawn = time.perf_counter(), 0.0, 0

    def add(self, done: int, failed: int) -> None:
        """Note cases that are done."""
        self._done, self._failed = self._done + done, self._failed + failed
        if self._tell is not None and time.perf_counter() - self._told > _BETWEEN:
            self._told = time.perf_counter()
            self._tell(self._now())

    def close(self) -> None:
        """Show the last state."""
        if self._tell is not None:
            self._tell(self._now())
        if self._drawn:
            print(file=sys.stderr)

    def _now(self) -> StudyProgress:
        took = time.perf_counter() - self._began
        rate = (self._done - self._before) / took if took > 0 else 0.0
        left = (self._cases - self._done) / rate if rate else 0.0
        return StudyProgress(self._cases, self._done, self._failed, rate, left)

    def _draw(self, now: StudyProgress) -> None:
        text = str(now)
        print(f"\r{text:<{self._drawn}}", end="", file=sys.stderr, flush=True)
        self._drawn = len(text)
