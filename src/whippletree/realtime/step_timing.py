"""Durations of single steps: the distribution, the worst, and whether they allow real time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing

__all__ = ["StepTiming", "step_times"]

_AGAIN = 5
"""How often each step is repeated from its state: the least of these times is the step's own, free of interrupts."""


@user_facing
@readable
@dataclass(frozen=True)
class StepTiming:
    """Times of single steps in seconds, called from Python.

    `median`, `percentile_999` and `worst` are of the steps' own times: each step is repeated from its state, and the
    least time counts, so that what the operating system does in between does not. `late_999` and `latest` are the
    99.9th percentile and the worst of the steps as they came, interruptions included.

    >>> StepTiming(1e-6, 1.2e-6, 2e-6, 3e-6, 5e-5, 1000, 1e-3).share
    0.003
    """

    median: float
    percentile_999: float
    worst: float
    late_999: float
    latest: float
    steps: int
    step: float

    @property
    def share(self) -> float:
        """The share of the step that the 99.9th percentile takes, interruptions included."""
        return self.late_999 / self.step

    @property
    def verdict(self) -> str:
        """Whether the step runs in real time, in words."""
        if self.latest < self.step:
            return f"every step was done within its own length; the 99.9th percentile takes {self.share:.2%} of it"
        if self.worst < self.step:
            return "the steps themselves are short enough, but the process was interrupted for longer than a step"
        return "the steps take longer than they advance: no real time on this machine"

    def __str__(self) -> str:
        median, high, worst, late, latest = (f"{1e6 * x:.2f} µs" for x in self._times)
        return (
            f"own times of {self.steps} steps: median {median}, 99.9th percentile {high}, worst {worst}; interrupted: "
            f"99.9th percentile {late}, worst {latest}\n{self.verdict}"
        )

    @property
    def _times(self) -> tuple[float, ...]:
        return self.median, self.percentile_999, self.worst, self.late_999, self.latest


def step_times(
    step: Callable[[], object], again: Callable[[], object], restart: Callable[[], None], count: int, length: float
) -> StepTiming:
    """Time steps one after the other; `again` repeats a step without going on, `restart` begins once more."""
    step()  # what is made at the first step
    restart()
    clock, collecting = time.perf_counter_ns, gc.isenabled()
    own, came = np.empty(count), np.empty(count)
    gc.disable()
    try:
        for k in range(count):
            least = None
            for _ in range(_AGAIN):
                begun = clock()
                again()
                taken = clock() - begun
                least = taken if least is None or taken < least else least
            own[k] = least
            begun = clock()
            if step():
                restart()
            came[k] = clock() - begun
    finally:
        if collecting:
            gc.enable()
    own *= 1e-9
    came *= 1e-9
    high, late = (float(np.quantile(times, 0.999)) for times in (own, came))
    return StepTiming(float(np.median(own)), high, float(own.max()), late, float(came.max()), count, length)
