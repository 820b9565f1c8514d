"""How many steps machine code takes at a time: so many that Python looks at the clock ten times a second."""

from __future__ import annotations

import time

__all__ = ["StepBudget"]

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
