"""Bursts that nobody disturbs.

On a shared machine a neighbour on the same core takes up to half of its arithmetic, for seconds or minutes, and takes
more from whoever keeps the core busier. So before and after every burst a probe is timed on each core in use: a product
of two small matrices, which has nothing to do with any contestant. Only bursts count beside which the probe ran about
as fast as it ever did in this process, for all contestants alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")

SLOWER, SLOW = 1.15, 1.3
"""How much slower than ever the probe may be, and from when on it is disturbed: a neighbour makes it 1.4."""

FEWEST = 5
"""With fewer undisturbed bursts than this, all count."""

PATIENCE = 12.0
"""Seconds for which undisturbed bursts are waited for, if the rounds that were asked for take less."""

_SIZE, _REPEATS = 32, 40  # small enough for one thread and the first cache
_MATRIX = np.random.default_rng(0).uniform(-1.0, 1.0, (_SIZE, _SIZE))
_PRODUCT = np.empty_like(_MATRIX)
_FIRST_LOOK = 2.0  # seconds
_SETTLING = 2e-2  # seconds in which other threads of this process stop listening for work

_fastest = float("inf")
_bursts = _undisturbed = 0


class Level(NamedTuple):
    """The least and the most time of the probe beside a burst, on all cores in use."""

    least: float
    most: float


class Counted(NamedTuple, Generic[T]):
    """What bursts gave, by contestant, of those that count; `disturbed` for want of undisturbed ones."""

    bursts: dict[str, list[T]]
    disturbed: bool


def undisturbed(
    contestants: Mapping[str, Callable[[], T]], rounds: int, *, together: bool, patience: float = PATIENCE
) -> Counted[T]:
    """Have one burst of each contestant in every round, until each has had so many undisturbed ones; return those.

    With `together` a round counts if no burst of it was disturbed, so that bursts of one round can be compared. If a
    contestant has hardly any undisturbed bursts, those count in which all of several cores were disturbed, so that they
    were alike, and if there are hardly any of these either, all do.
    """
    global _bursts, _undisturbed
    order = list(contestants)
    levels: list[dict[str, Level]] = []
    results: list[dict[str, T]] = []
    _find_the_fastest()
    begin = time.perf_counter()
    level = _level()
    while len(results) < rounds or time.perf_counter() - begin < patience:
        levels.append({})
        results.append({})
        for name in order:
            before, results[-1][name] = level, contestants[name]()
            level = _level()
            levels[-1][name] = _both(before, level)
        order.append(order.pop(0))  # each round starts with another one
        counted = _counted(levels, list(contestants), together, lambda level: level.most <= SLOWER * _fastest)
        if min(map(len, counted.values())) >= rounds:
            break
    _bursts += len(results) * len(contestants)
    _undisturbed += sum(map(len, counted.values()))
    disturbed = min(map(len, counted.values())) < FEWEST
    if disturbed and len(os.sched_getaffinity(0)) > 1:
        counted = _counted(levels, list(contestants), together, lambda level: level.least >= SLOW * _fastest)
    if min(map(len, counted.values())) < FEWEST:
        counted = {name: list(range(len(results))) for name in contestants}
    return Counted({name: [results[r][name] for r in counted[name]] for name in contestants}, disturbed)


def _counted(
    levels: list[dict[str, Level]], names: list[str], together: bool, fit: Callable[[Level], bool]
) -> dict[str, list[int]]:
    """The rounds that count, by contestant: where the probe's times beside its burst, or beside all bursts, are fit."""
    if together:
        levels = [dict.fromkeys(names, _both(*level.values())) for level in levels]
    return {name: [r for r, level in enumerate(levels) if fit(level[name])] for name in names}


def _both(*levels: Level) -> Level:
    """The least and the most of some levels."""
    return Level(min(level.least for level in levels), max(level.most for level in levels))


def report() -> str:
    """How many bursts there were, and how many counted."""
    return f"{_undisturbed} of {_bursts} bursts were undisturbed and count; where fewer than {FEWEST} were, others do."


def _find_the_fastest() -> None:
    """Before the first burst, look for a while how fast the probe is when nobody disturbs it."""
    begin = time.perf_counter()
    while _bursts == 0 and time.perf_counter() - begin < _FIRST_LOOK:
        _level()


def _level() -> Level:
    """The probe's times on the cores in use."""
    global _fastest
    cores = os.sched_getaffinity(0)
    if len(cores) == 1:
        times = [_probe()]
    else:
        time.sleep(_SETTLING)
        times = []
        for core in cores:
            os.sched_setaffinity(0, {core})
            times.append(_probe())
        os.sched_setaffinity(0, cores)
    _fastest = min(_fastest, *times)
    return Level(min(times), max(times))


def _probe() -> float:
    """Seconds for some products, the best of three goes, so that an interrupt does not count."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(_REPEATS):
            np.matmul(_MATRIX, _MATRIX, out=_PRODUCT)
        best = min(best, time.perf_counter() - begin)
    return best
