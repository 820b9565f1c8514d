"""Measured time of functions in machine code: short bursts in turn, CPU time of the thread, the best of each.

The loop that repeats a kernel is machine code too, so that Python is not in the figures.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.repeat import Repeated
from whippletree.system import System

__all__ = ["Batch", "Evaluation", "seconds"]


@user_facing
@readable
class Evaluation:
    """A function of a system at a state, ready to be repeated in machine code.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> Evaluation(s, s.q0, s.v0).run(10) > 0
    True
    """

    def __init__(
        self,
        system: System,
        q: Any,
        v: Any,
        formulation: str = "auto",
        function: str = "forward_dynamics",
        **choice: Any,
    ) -> None:
        self.repeat(system.kernels.kernel(function, formulation=formulation, **choice), q, v)

    @classmethod
    def of(cls, kernel: Kernel, q: ArrayLike, v: ArrayLike) -> Evaluation:
        """Return the evaluation of a kernel; its other inputs are zero or at their defaults."""
        made = cls.__new__(cls)
        made.repeat(kernel, q, v)
        return made

    def __str__(self) -> str:
        return f"Evaluation of {self.result.size} numbers at a state"

    def repeat(self, kernel: Kernel, q: ArrayLike, v: ArrayLike) -> None:
        """Evaluate this kernel from now on."""
        self.kernel = kernel
        self._repeated = Repeated(kernel, {"q": q, "v": v})
        self.result = self._repeated.result

    def run(self, count: int) -> float:
        """Evaluate so many times and return the seconds that took."""
        return self._repeated.run(count)


class Batch:
    """Many evaluations at once, NumPy to NumPy, on one thread: copies of a state, few enough to stay near.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> Batch(s, s.q0, s.v0, states=64).run(128) > 0
    True
    """

    def __init__(self, system: System, q: Any, v: Any, formulation: str = "auto", *, states: int = 256) -> None:
        self._call = system.forward_dynamics
        self._state = np.tile(q, (states, 1)), np.tile(v, (states, 1))
        self._options: dict[str, Any] = {"formulation": formulation, "check": False, "threads": 1}
        self.result = np.empty((states, system.nv))
        self._once()

    def _once(self) -> None:
        self._call(*self._state, out=self.result, **self._options)

    def run(self, count: int) -> float:
        """Evaluate at least so many states and return the seconds that so many took."""
        calls = -(-count // len(self.result))
        begin = time.thread_time()
        for _ in range(calls):
            self._once()
        taken = max(time.thread_time() - begin, 1e-9)
        return taken * count / (calls * len(self.result))


@user_facing
def seconds(evaluations: Mapping[str, Evaluation | Batch], rounds: int = 15, burst: float = 2e-3) -> dict[str, float]:
    """Return the seconds of one evaluation of each: in every round each has a burst, and the best burst counts.

    So a neighbour that uses the same core now and then, and halves the speed meanwhile, does not show.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> seconds({"auto": Evaluation(s, s.q0, s.v0)}, rounds=3)["auto"] < 1e-3
    True
    """
    if rounds < 1:
        raise StateError(f"rounds= must be at least 1, not {rounds}")
    counts = {}
    for name, evaluation in evaluations.items():
        trial = evaluation.run(50) / 50
        counts[name] = max(1, round(burst / trial))
    taken: dict[str, list[float]] = {name: [] for name in evaluations}
    order = list(evaluations)
    for r in range(rounds):
        turn = r % len(order)
        for name in order[turn:] + order[:turn]:
            taken[name].append(evaluations[name].run(counts[name]) / counts[name])
    return {name: min(times) for name, times in taken.items()}  # not empty: there is one in each round
