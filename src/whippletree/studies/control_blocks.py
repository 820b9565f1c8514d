"""A controller of many runs: it is asked for a block of them at once, at common sample times.

The runs of a block go on side by side from sample to sample. Each has a place of its own where the efforts that the
controller wants for it are held; to the run that place is a controller like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np

from whippletree.errors import ResultError, SimulationError, StateError
from whippletree.kernels.kernel import Array
from whippletree.simulate.controllers import Controller
from whippletree.simulate.sampled_run import SampledRun

__all__ = ["HeldEfforts", "march_block", "of_one_run"]


class HeldEfforts:
    """The controller of one run of a block: it returns this run's part of the answer for all."""

    def __init__(self) -> None:
        self.wanted: Callable[[], object] = lambda: None

    def __call__(self, t: float, q: Array, v: Array, z: Array) -> object:
        """Return the held efforts, or raise the error of the controller."""
        return self.wanted()


def march_block(
    controller: Controller,
    runs: Sequence[SampledRun],
    places: Sequence[HeldEfforts],
    threads: int,
    stopped: Callable[[], bool],
    time_limit: float | None = None,
) -> list[SimulationError | ResultError | None]:
    """March runs with the same samples to their ends, and return the error of each, None for those without.

    All end when `stopped` tells it, and a run that has taken longer than `time_limit` by itself ends with an error.
    """
    clocks = [_RunClock(stopped, time_limit) for _ in runs]
    failures: list[SimulationError | ResultError | None] = [None] * len(runs)

    def advance(several: Sequence[int]) -> list[int]:
        going = []
        for k in several:
            try:
                with clocks[k]:
                    going += [k] if runs[k].go_to_sample(clocks[k]) else []
            except (SimulationError, ResultError) as error:
                failures[k] = error
        return going

    going = list(range(len(runs)))
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(threads)) if threads > 1 else None
        while going:
            _ask(controller, [runs[k] for k in going], [places[k] for k in going])
            shares = [going[first::threads] for first in range(threads)]
            found = map(advance, shares) if pool is None else pool.map(advance, shares)
            going = sorted(k for share in found for k in share)
    return failures


class _RunClock:
    """Watches one run of a block, and counts the time that it takes by itself."""

    def __init__(self, stopped: Callable[[], bool], limit: float | None) -> None:
        self._stopped, self._limit, self._spent, self._began = stopped, limit, 0.0, 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._spent += time.perf_counter() - self._began

    def __call__(self, t: float) -> bool:
        if self._limit is not None and self._spent + time.perf_counter() - self._began > self._limit:
            raise SimulationError(f"at t = {t:.9g} s the run has taken longer than time_limit={self._limit:g} s")
        return self._stopped()


def of_one_run(controller: Controller) -> Controller:
    """Return a controller of many runs as that of a single one.

    >>> of_one_run(lambda t, q, v, z: -v)(0.0, np.zeros(1), np.array([2.0]), np.zeros(0))
    array([-2.])
    """

    def law(t: float, q: Array, v: Array, z: Array) -> object:
        return _of_run(controller(t, q[None], v[None], z[None]), 0, 1)

    return law


def _ask(controller: Controller, runs: Sequence[SampledRun], places: Sequence[HeldEfforts]) -> None:
    """Ask the controller for the efforts of all runs at their present sample."""
    t = float(runs[0].samples[runs[0].sample])
    states = [run.simulation.run_state for run in runs]
    try:
        answer = controller(t, *(np.array([getattr(one, name) for one in states]) for name in ("q", "v", "z")))
    except Exception as error:  # whatever a user's function raises is told of each run
        for place in places:
            place.wanted = _raiser(error)
        return
    for k, place in enumerate(places):
        place.wanted = _picker(answer, k, len(runs))


def _raiser(error: Exception) -> Callable[[], object]:
    def wanted() -> object:
        raise error

    return wanted


def _picker(answer: object, k: int, count: int) -> Callable[[], object]:
    return lambda: _of_run(answer, k, count)


def _of_run(answer: Any, k: int, count: int) -> object:
    """Return the part of an answer that is about one run."""
    if answer is None:
        return None
    if isinstance(answer, Mapping):
        return {
            joint: _row(values, k, count, f'for joint "{getattr(joint, "name", joint)}"')
            for joint, values in answer.items()
        }
    return _row(answer, k, count, "")


def _row(values: Any, k: int, count: int, whose: str) -> Any:
    """Return one row of an answer, whose first size is that of the runs."""
    array = np.asarray(values)
    if array.ndim < 1 or len(array) != count or (not whose and array.ndim != 2):
        needed = f"{count} numbers, one for each run" if whose else f"an array of {count} rows, one for each run"
        raise StateError(f"it must return {needed}{whose and ' '}{whose}, and returned the shape {array.shape}")
    return array[k]
