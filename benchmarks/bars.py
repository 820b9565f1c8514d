"""The bars, whether they are met, and the rule that wrong answers are not timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from models import mechanism_from_pinocchio
from peers import FORWARD, INVERSE, MASS
from timing import Times

TASKS = (FORWARD, INVERSE, MASS)
AGREEMENT = 1e-9
"""Largest relative difference between two engines' answers that are still timed."""

# times as fast as Pinocchio's better convention, and as MuJoCo
NATIVE = {
    ("Panda", FORWARD): (5.0, 2.5),
    ("Talos", FORWARD): (4.5, 2.5),
    ("Panda", INVERSE): (4.0, None),
    ("Talos", INVERSE): (3.5, None),
    ("Panda", MASS): (2.0, None),
    ("Talos", MASS): (2.0, None),
}
BATCH = {"Panda": 20.0, "Talos": 15.0}  # times as fast as Pinocchio, one thread each
THREADS = 1.8  # two threads against one
CALL = 0.6  # share of the time of Pinocchio's call
START = {"empty": 2.0, "warm": 0.8}  # seconds, by the state of the cache
CHAIN_BUILD = 3.0  # seconds, 1000 joints
CHAIN_DRAKE = 10.0  # times as fast, 1000 joints
CHAIN_GROWTH = 1.3  # time per joint, 1000 joints against 100
LOOP_PINOCCHIO, LOOP_MUJOCO = 6.0, 4.0  # times as fast with closed loops
LOOP_ERROR = 1e-11  # our largest error against the exact accelerations


@dataclass(frozen=True)
class Options:
    """rounds: bursts per contestant; peers_only: leave our own engine out."""

    rounds: int
    peers_only: bool


def system_of(model: pin.Model, options: Options) -> Any:
    return None if options.peers_only else mechanism_from_pinocchio(model).build()


def verdict(value: float | None, bar: float | None, *, at_most: bool = False) -> str:
    """The bar, and whether it is met.

    >>> verdict(5.2, 5.0), verdict(0.7, 0.6, at_most=True), verdict(1.0, None)
    ('≥ 5 met', '≤ 0.6 MISSED', '-')
    """
    if bar is None:
        return "-"
    word = f"{'≤' if at_most else '≥'} {bar:g}"
    if value is None:
        return word
    return f"{word} {'met' if (value <= bar if at_most else value >= bar) else 'MISSED'}"


def disturbable(words: str, *times: Times | None) -> str:
    """A verdict, with a word if the machine was never left alone."""
    known = words != "-" and any(one is not None and one.disturbed for one in times)
    return f"{words}, disturbed" if known else words


def ratio(ours: Times | None, theirs: Times | None) -> float | None:
    return None if ours is None or theirs is None else ours.times_as_fast_as(theirs)


def share(ours: Times | None, theirs: Times) -> float | None:
    return None if ours is None else theirs.times_as_fast_as(ours)


def micro(times: Times | None) -> float | None:
    return None if times is None else 1e6 * times.median


def best_of(times: Mapping[str, Times], names: tuple[str, ...]) -> str:
    return min(names, key=lambda name: times[name].median)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference over the largest magnitude; what is not a number is infinitely wrong."""
    worst = np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300)
    return float(worst) if np.isfinite(worst) else float("inf")


def insist(what: str, value: float) -> float:
    if not value <= AGREEMENT:
        raise SystemExit(f"{what}: answers differ by {value:.1e} (allowed {AGREEMENT:.0e}); not timed")
    return value
