"""The times at which a mechanism was singular, sorted out from the positions that time loops have logged."""

from __future__ import annotations

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.simulate import system_interface
from whippletree.simulate.run_state import SINGULAR_FOUND, RunState
from whippletree.simulate.run_tolerances import LOGGED_POSITIONS, SAME_PASSAGE
from whippletree.system import System

__all__ = ["SingularTimes"]


class SingularTimes:
    """Takes over the log, and keeps the times at which the mechanism itself was singular.

    A position at which nothing but the choice of coordinates is singular drops out when it is looked at.

    >>> from whippletree.system.example_systems import four_bar
    >>> SingularTimes(four_bar()).found()
    []
    """

    def __init__(self, system: System, times: list[float] | None = None) -> None:
        self._system = system
        self._times = [] if times is None else list(times)
        self._logged: list[tuple[Array, Array | None]] = []  # [t, q], and with what parameters
        self._last = np.zeros(0)  # [t, q] of the last one that was kept

    def collect(self, run: RunState, parameters: Array | None) -> None:
        """Take over the singular positions that machine code has logged in a stretch."""
        self._logged += [(np.array(row), parameters) for row in run.singular_found[: run.counts[SINGULAR_FOUND]]]
        run.counts[SINGULAR_FOUND] = 0
        if len(self._logged) > LOGGED_POSITIONS:
            self.found()  # before they become too many

    def found(self) -> list[float]:
        """Return the times."""
        loops = system_interface.loops(self._system)
        for row, parameters in self._logged:
            t = float(row[0])
            if self._last.size and np.abs(row - self._last).max() < SAME_PASSAGE:
                continue  # seen from both of the steps that meet there
            if loops.consistency.near_singular(row[1:], loops.conditions(t, parameters)):
                self._times.append(t)
                self._last = row
        self._logged = []
        return self._times

    def copy(self) -> SingularTimes:
        """Return a log that goes its own way."""
        twin = SingularTimes(self._system, self._times)
        twin._logged, twin._last = list(self._logged), self._last
        return twin
