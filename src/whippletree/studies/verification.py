"""A second run, made in another way: how many digits of a run agree with it.

It has another tolerance or step, and another method. Methods and tolerances are such that it takes about as many
evaluations as the first, and it is stopped at one and a half times as many: then what it has reached is compared. So
a run with `verify=True` takes at most two and a half times as long as without.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import SimulationError
from whippletree.kernels.kernel import Array
from whippletree.simulate import system_interface
from whippletree.simulate.run_tolerances import TIGHTEST_TOLERANCE
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.system import System

__all__ = ["Agreement", "SecondRun", "agreement", "second_run"]

MOST_EVALUATIONS = 1.5
"""How many evaluations the second run may take, in those of the first."""

_OTHER: dict[str, tuple[str, float]] = {
    "dopri5": ("dop853", 0.1),
    "dop853": ("adams", 0.1),
    "adams": ("dop853", 1.75),
    "trapezoidal": ("generalized_alpha", 0.4),
    "generalized_alpha": ("trapezoidal", 0.4),
}
"""By which method, and at which share of the tolerance, a run that chooses its steps is made again.

At one tolerance `dop853` takes 1.6 times the evaluations of `adams`, and its errors are half as large (medians over
33 runs of problems of `benchmarks/accuracy.py` without singular positions, tolerances 1e-6 to 1e-10; nine tenths of the
runs take less than 1.8 times). Its evaluations go with the eighth root of the tolerance, so that the second run of
`adams` is within its 1.5 at (1.6 / 1.5)^8 times the tolerance, where its errors are about those of the first.
"""

_OTHER_FIXED: dict[str, tuple[str, float]] = {
    "semi_implicit_euler": ("rk4", 3.0),
    "rk4": ("dopri5", 1.2),
    "dopri5": ("rk4", 0.4),
    "dop853": ("dopri5", 0.4),
    "trapezoidal": ("generalized_alpha", 0.75),
    "generalized_alpha": ("trapezoidal", 0.75),
}
"""The same for steps of a fixed size, with the share of the step: the stages of both are taken into account."""


class SecondRun(NamedTuple):
    """How the second run is made: options that take the place of the first one's, and how that is said."""

    options: dict[str, Any]
    words: str


class Agreement(NamedTuple):
    """How many digits agree, in the worst coordinate and in each group of them."""

    words: str
    digits: float
    worst: str
    groups: dict[str, float]


def second_run(simulation: Simulation) -> SecondRun:
    """Return how a simulation is run again: with another method where there is one, and a finer step or tolerance.

    >>> from whippletree.system.example_systems import pendulum
    >>> second_run(Simulation(pendulum())).words
    'dop853, tolerance 1e-09'
    """
    if simulation.adaptive:
        method, share = _OTHER.get(simulation.method, ("dopri5", 0.1))
        tolerance = share * simulation.tolerance
        if tolerance < TIGHTEST_TOLERANCE:
            tolerance = simulation.tolerance / share
        options = {"method": method, "tolerance": tolerance, "adaptive": True, "spectral_radius": None}
        return SecondRun(options, f"{method}, tolerance {tolerance:g}")
    method, share = _OTHER_FIXED.get(simulation.method, ("rk4", 0.75))
    step = share * simulation.fixed_step
    options = {"method": method, "step": step, "adaptive": False, "spectral_radius": None}
    return SecondRun(options, f"{method}, step {step:g} s")


def agreement(first: SampledRun, again: SampledRun, how: SecondRun) -> Agreement:
    """Make the second run, and compare it with the first at the outputs that both have."""
    limit = MOST_EVALUATIONS * max(first.simulation.evaluations, 50)
    said = ""
    try:
        again.go(lambda t: again.simulation.evaluations > limit)
    except SimulationError as error:
        said = f", which failed: {error}"
    made = min(first.made, again.made)
    if made and again.made < first.made and not said:
        said = f", compared up to t = {first.until[made - 1]:.6g} s"
    share = again.simulation.evaluations / max(first.simulation.evaluations, 1)
    words = f"{how.words}, {share:.2g} times the evaluations{said}"
    groups = _groups(first.simulation.system, first.rows[:made], again.rows[:made])
    if not groups:
        return Agreement(words, 0.0, "nothing: the second run has no outputs", {})
    worst = min(groups, key=lambda name: groups[name])
    return Agreement(words, groups[worst], worst, groups)


def _groups(system: System, a: Array, b: Array) -> dict[str, float]:
    """Return the digits that agree, by joint and state: of coordinates by how far they go, of velocities likewise."""
    if len(a) < 2:
        return {}
    nq, nv = system.nq, system.nv
    by = system_interface.coordinate_scale(system)
    found: dict[str, float] = {}
    for use in system.description.coordinate_owners:
        q, v = system.q_slice(use.name), system.v_slice(use.name)
        if q.stop > q.start:
            size = np.maximum(np.ptp(a[:, q], axis=0).max(), 1e-9 * by[q].max())
            found[f'the coordinates of "{use.name}"'] = _digits(a[:, q], _same_sign(a, b, q, use), size)
        if v.stop > v.start:
            at = slice(nq + v.start, nq + v.stop)
            found[f'the velocities of "{use.name}"'] = _digits(a[:, at], b[:, at], np.abs(a[:, at]).max())
    for k, name in enumerate(system.element_states):
        at = slice(nq + nv + k, nq + nv + k + 1)
        found[f'the state "{name}"'] = _digits(a[:, at], b[:, at], np.abs(a[:, at]).max())
    return found


def _same_sign(a: Array, b: Array, q: slice, use: Any) -> Array:
    """Return coordinates with quaternions of the sign that they have in the other run: both are one rotation."""
    other = b[:, q].copy()
    if use.joint.quaternion:
        opposite = (a[:, q][:, :4] * other[:, :4]).sum(axis=1) < 0
        other[opposite, :4] *= -1
    return other


def _digits(a: Array, b: Array, size: float) -> float:
    """Return how many digits agree at worst, of numbers of a size; what does not move agrees in all 16."""
    off = float(np.abs(a - b).max())
    if not np.isfinite(off):
        return 0.0
    if off == 0.0 or size == 0.0:
        return 16.0 if off == 0.0 else 0.0
    return float(np.clip(-np.log10(off / size), 0.0, 16.0))
