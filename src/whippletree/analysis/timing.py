"""Measured time of functions in machine code: short bursts in turn, CPU time of the thread, medians.

The loop that repeats a kernel is machine code too, so that Python is not in the figures.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from whippletree.kernels.kernel import Kernel
from whippletree.simulate.moves import call
from whippletree.system import System

__all__ = ["Evaluation", "seconds"]


@njit(cache=True)
def _repeat(wire: Any, count: int) -> None:
    for _ in range(count):
        call(wire)


class Evaluation:
    """A function of a system at a state, ready to be repeated in machine code.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> Evaluation(s, s.q0, s.v0).run(10) > 0
    True
    """

    def __init__(
        self, system: System, q: Any, v: Any, formulation: str = "auto", function: str = "forward_dynamics", **choice: Any
    ) -> None:
        self.kernel: Kernel = system.kernel(function, formulation=formulation, **choice)
        given = {"q": np.array(q, dtype=np.float64), "v": np.array(v, dtype=np.float64)}
        arrays = [given.get(name, self.kernel.default_input(name).copy() if name not in given else None)
                  for name in self.kernel.input_names]
        self.result = np.zeros(self.kernel.output_sizes[0])
        inputs = np.array([a.ctypes.data for a in arrays], dtype=np.int64)
        outputs = np.array([self.result.ctypes.data], dtype=np.int64)
        work = np.empty(max(self.kernel.work_size, 1) + 8)
        at_line = work.ctypes.data + (-work.ctypes.data) % 64
        self._keep = arrays, inputs, outputs, work
        self._wire = np.array(
            [
                self.kernel.address,
                inputs.ctypes.data,
                outputs.ctypes.data,
                at_line,
                self.kernel.constants_address,
                self.kernel.tables_address,
            ],
            dtype=np.int64,
        )

    def run(self, count: int) -> float:
        """Evaluate so many times and return the seconds that took."""
        _repeat(self._wire, 1)
        begin = time.thread_time()
        _repeat(self._wire, count)
        return max(time.thread_time() - begin, 1e-9)


def seconds(evaluations: Mapping[str, Evaluation], rounds: int = 9, burst: float = 2e-3) -> dict[str, float]:
    """Return the seconds of one evaluation of each: in every round each has a burst, and medians are taken.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> seconds({"auto": Evaluation(s, s.q0, s.v0)}, rounds=3)["auto"] < 1e-3
    True
    """
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
    return {name: statistics.median(times) for name, times in taken.items()}
