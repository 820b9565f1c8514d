"""How long steps take, one by one: the distribution, the worst, and what that means for real time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["StepTiming", "burst_timing"]

_BURST = 500
"""Steps in a burst: short enough that many are not interrupted."""


@dataclass(frozen=True)
class StepTiming:
    """Times of single steps in seconds, called from Python.

    `median`, `percentile_999` and `worst` are of the bursts in which the process was not interrupted (`disturbed`
    tells how many others there were, and `worst_of_all` the longest step in any of them).

    >>> StepTiming(1e-6, 1.2e-6, 2e-6, 5e-5, 40, 1, 1e-3).share
    0.0012
    """

    median: float
    percentile_999: float
    worst: float
    worst_of_all: float
    bursts: int
    disturbed: int
    step: float

    @property
    def share(self) -> float:
        """The share of the step that the 99.9th percentile takes."""
        return self.percentile_999 / self.step

    @property
    def verdict(self) -> str:
        """What this means for real time, in words."""
        if self.worst_of_all < self.step:
            return f"every step was done within its own length; the 99.9th percentile takes {self.share:.2%} of it"
        if self.percentile_999 < self.step:
            return "the steps themselves are short enough, but the process was interrupted for longer than a step"
        return "the steps take longer than they advance: no real time on this machine"

    def __str__(self) -> str:
        median, late, worst, longest = (f"{1e6 * x:.2f} µs" for x in self._times)
        return (
            f"median {median}, 99.9th percentile {late}, worst {worst}; with interruptions {longest} "
            f"({self.disturbed} of {self.bursts} bursts)\n{self.verdict}"
        )

    @property
    def _times(self) -> tuple[float, float, float, float]:
        return self.median, self.percentile_999, self.worst, self.worst_of_all


def burst_timing(step: Callable[[], Any], restart: Callable[[], None], count: int, length: float) -> StepTiming:
    """Time `count` steps in bursts that each begin at the same state."""
    step()  # what is made at the first step
    bursts = max(1, -(-count // _BURST))
    times, interrupted = np.empty((bursts, min(count, _BURST))), np.zeros(bursts, dtype=bool)
    clock, collecting = time.perf_counter_ns, gc.isenabled()
    gc.disable()
    try:
        for row in range(bursts):
            restart()
            before = _interruptions()
            for k in range(times.shape[1]):
                begun = clock()
                step()
                times[row, k] = clock() - begun
            interrupted[row] = _interruptions() != before
    finally:
        if collecting:
            gc.enable()
    times *= 1e-9
    quiet = times[~interrupted] if not interrupted.all() else times
    return StepTiming(
        float(np.median(quiet)),
        float(np.quantile(quiet, 0.999)),
        float(quiet.max()),
        float(times.max()),
        bursts,
        int(interrupted.sum()),
        length,
    )


def _interruptions() -> int:
    """Return how often the operating system has taken the processor away, where it tells."""
    try:
        import resource
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nivcsw + used.ru_nvcsw
