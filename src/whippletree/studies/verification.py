"""A second run, made in another way: how many digits of a run agree with it.

It has another tolerance or step, and another method. Methods and tolerances are such that it takes about as long as the
first, and it is stopped when its work is one and a half times that of the first: then what it has reached is compared.
So a run with `verify=True` takes about two and a half times as long as without, at most. Work is counted in
evaluations, and depends on no clock: the same call always compares as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.errors import SimulationError
from whippletree.kernels.kernel import Array
from whippletree.model.description import JointUse
from whippletree.model.parts import independent_parts
from whippletree.simulate import system_interface
from whippletree.simulate.run_tolerances import TIGHTEST_TOLERANCE
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.system import System

__all__ = ["FIXED_STEP_WORK", "MOST_WORK", "STEP_WORK", "Agreement", "SecondRun", "agreement", "second_run", "work"]

MOST_WORK = 1.5
"""How much work the second run may be, in that of the first."""

STEP_WORK = {"dopri5": 4.0, "dop853": 8.0, "adams": 6.0, "trapezoidal": 15.0, "generalized_alpha": 15.0}
"""What a step whose size is chosen costs beside its evaluations, in these: sums over stages or differences, the error
and its part along the closures, closing the end, Newton's matrix. For long runs: ``benchmarks/verification.py --work``
shows what it is on short ones, where it is several times as much."""

FIXED_STEP_WORK = 2.0
"""The same for steps of a fixed size, which estimate no error."""

_SMALL_STEP_WORK = {"dopri5": 16.0, "dop853": 22.0, "adams": 29.0, "trapezoidal": 25.0, "generalized_alpha": 44.0}
_SMALL_FIXED_STEP_WORK = 14.0
"""Both in trees with few freedoms, where an evaluation takes a twentieth of a microsecond: measured on a hinge."""

_LEAST_WORK = 500.0
_SMALL_LEAST_WORK = 5000.0
"""Work that is always allowed, the second in trees with few freedoms: less than a millisecond."""

_LOOKS = 20
"""How often the second run is looked at, about, until its work is done."""

WELL = 3.0
"""The digits from which on two runs agree well."""

STILL = 10.0
"""What goes no farther than so many times the errors of others would have one digit at best, and may be at rest."""

_OTHER: dict[str, tuple[str, float]] = {
    "dopri5": ("dop853", 0.3),
    "dop853": ("adams", 7.0),
    "adams": ("dop853", 0.3),
    "trapezoidal": ("generalized_alpha", 0.4),
    "generalized_alpha": ("trapezoidal", 0.4),
}
"""By which method, and at which share of the tolerance, a run that chooses its steps is made again.

The shares are the smallest round ones that leave the second run's work at about one and a half times the first's or
below, on the problems of `benchmarks/accuracy.py` with tolerances from 1e-4 to 1e-12. A step of `adams` is the work of
four tenths of one of `dop853`, and four times as many are needed at the same tolerance, though they are no more exact:
so there the second run is the worse one, and up to one digit more may be right than agree.
"""

_FEW_FREEDOMS = 2
"""In trees with no more freedoms than that, evaluations are so cheap that most of a step's time goes beside them: a
step of `adams` takes nearly as long as one of `dop853`, and at large tolerances `dopri5` is the faster one."""

_LARGE_TOLERANCE = 1e-9
"""Above this `dopri5` takes less than `adams` there."""

_OTHER_FIXED: dict[str, tuple[str, float]] = {
    "semi_implicit_euler": ("rk4", 3.0),
    "rk4": ("dopri5", 1.4),
    "dopri5": ("dop853", 1.5),
    "dop853": ("dopri5", 0.6),
    "trapezoidal": ("generalized_alpha", 0.9),
    "generalized_alpha": ("trapezoidal", 0.9),
}
"""The same for steps of a fixed size, with the share of the step: the work of both methods is taken into account."""


class SecondRun(NamedTuple):
    """How the second run is made: options that take the place of the first one's, and how that is said."""

    options: dict[str, object]
    words: str


class Agreement(NamedTuple):
    """How many digits agree, in the worst coordinate and in each group of them; `still` are groups that do not move."""

    words: str
    digits: float
    worst: str
    groups: dict[str, float]
    still: tuple[str, ...] = ()


def second_run(simulation: Simulation) -> SecondRun:
    """Return how a simulation is run again: with another method, if there is one, and another step or tolerance.

    >>> from whippletree.system.example_systems import pendulum
    >>> second_run(Simulation(pendulum())).words
    'dop853, tolerance 3e-09'
    """
    if simulation.adaptive:
        method, share = _OTHER.get(simulation.method, ("dopri5", 0.1))
        if method == "adams" and _is_small(simulation) and simulation.tolerance > _LARGE_TOLERANCE:
            method, share = "dopri5", 4.0
        tolerance = share * simulation.tolerance
        if tolerance < TIGHTEST_TOLERANCE:
            tolerance = simulation.tolerance / share
        options = {"method": method, "tolerance": tolerance, "adaptive": True, "spectral_radius": None}
        return SecondRun(options, f"{method}, tolerance {tolerance:g}")
    method, share = _OTHER_FIXED.get(simulation.method, ("rk4", 0.75))
    step = share * simulation.fixed_step
    options = {"method": method, "step": step, "adaptive": False, "spectral_radius": None}
    return SecondRun(options, f"{method}, step {step:g} s")


def work(simulation: Simulation) -> float:
    """Return how much work a run was so far, in evaluations.

    >>> from whippletree.simulate.simulation import _example
    >>> simulation = _example()
    >>> simulation.step(0.1)
    >>> simulation.evaluations, simulation.steps, work(simulation)
    (400, 100, 1800.0)
    """
    return simulation.evaluations + _step_work(simulation) * (simulation.steps + simulation.refused)


def _step_work(simulation: Simulation) -> float:
    """Return what a step costs beside its evaluations, in these."""
    small = _is_small(simulation)
    fixed = _SMALL_FIXED_STEP_WORK if small else FIXED_STEP_WORK
    return (_SMALL_STEP_WORK if small else STEP_WORK).get(simulation.method, fixed) if simulation.adaptive else fixed


def _is_small(simulation: Simulation) -> bool:
    """Tell whether a mechanism is a tree with few freedoms."""
    return simulation.system.nv <= _FEW_FREEDOMS and not simulation.system.closure_rows


def agreement(first: SampledRun, again: SampledRun, how: SecondRun) -> Agreement:
    """Make the second run, and compare it with the first at the outputs that both have."""
    other = again.simulation
    least = _SMALL_LEAST_WORK if _is_small(other) else _LEAST_WORK
    most = MOST_WORK * max(work(first.simulation), least)
    other.pause_every = pause = max(int(most / (_LOOKS * (1.0 + _step_work(other)))), 1)
    said = ""
    try:
        again.go(lambda t: other.steps % pause == 0 and work(other) > most)
    except SimulationError as error:
        said = f", which failed: {error}"
    made = min(first.made, again.made)
    if made and again.made < first.made and not said:
        said = f", compared up to t = {first.until[made - 1]:.6g} s"
    share = other.evaluations / max(first.simulation.evaluations, 1)
    words = f"{how.words}, {share:.2g} times the evaluations{said}"
    system = first.simulation.system
    found = _groups(system, first.rows[:made], again.rows[:made])
    if made < 2:
        return Agreement(words, 0.0, "nothing: the second run has no outputs", {})
    still = _still(system, found)
    groups = {group.name: group.digits for group in found if group.name not in still}
    if not groups:
        return Agreement(words, np.nan, "nothing: there is no motion whose digits could be told", {}, still)
    worst = min(groups, key=lambda name: groups[name])  # not empty: looked at above
    return Agreement(words, groups[worst], worst, groups, still)


class _ComparedNumbers(NamedTuple):
    """Numbers of one kind that belong to a joint or are a state: the digits that agree, how far they go and differ.

    The last two are in radians or characteristic lengths.
    """

    name: str
    kind: str
    owner: str
    digits: float
    range: float
    difference: float


def _groups(system: System, a: Array, b: Array) -> list[_ComparedNumbers]:
    """Compare two runs by joint and state: coordinates by how far they go, velocities likewise."""
    if len(a) < 2:
        return []
    nq, nv = system.nq, system.nv
    by, by_v = system_interface.coordinate_scale(system), system_interface.scale(system)
    found: list[_ComparedNumbers] = []

    def compare(what: str, kind: str, owner: str, at: slice, b: Array, size: float, unit: float) -> None:
        off = float(np.abs(a[:, at] - b).max())
        digits = _digits(off, max(size, 1e-9 * unit) if kind == "q" else size)
        found.append(_ComparedNumbers(f'the {what} "{owner}"', kind, owner, digits, size / unit, off / unit))

    for use in system.description.coordinate_owners:
        q, v = system.q_slice(use.name), system.v_slice(use.name)
        if q.stop > q.start:
            size = float(np.ptp(a[:, q], axis=0).max())
            compare("coordinates of", "q", use.name, q, _same_sign(a, b, q, use), size, float(by[q].max()))
        if v.stop > v.start:
            at = slice(nq + v.start, nq + v.stop)
            compare("velocities of", "v", use.name, at, b[:, at], float(np.abs(a[:, at]).max()), float(by_v[v].max()))
    for k, name in enumerate(system.element_states):
        at = slice(nq + nv + k, nq + nv + k + 1)
        compare("state", "z", name, at, b[:, at], float(np.abs(a[:, at]).max()), 1.0)
    return found


def _still(system: System, groups: list[_ComparedNumbers]) -> tuple[str, ...]:
    """Return what moves by little more than the errors of other joints of its part, which agree well.

    It would be at rest in the exact motion, or might be: there is no motion whose digits could be told.
    """
    part_of = {joint: k for k, part in enumerate(independent_parts(system.description)) for joint in part.joints}
    errors: dict[tuple[str, int | None], float] = {}
    for group in groups:
        if group.digits >= WELL:
            key = group.kind, part_of.get(group.owner)
            errors[key] = max(errors.get(key, 0.0), group.difference)
    return tuple(
        group.name
        for group in groups
        if group.kind != "z" and group.range <= STILL * errors.get((group.kind, part_of.get(group.owner)), 0.0)
    )


def _same_sign(a: Array, b: Array, q: slice, use: JointUse) -> Array:
    """Return coordinates with quaternions of the sign that they have in the other run: both are one rotation."""
    other = b[:, q].copy()
    if use.joint.quaternion:
        opposite = (a[:, q][:, :4] * other[:, :4]).sum(axis=1) < 0
        other[opposite, :4] *= -1
    return other


def _digits(off: float, size: float) -> float:
    """Return how many digits agree at worst, of numbers of a size; what does not move agrees in all 16."""
    if not np.isfinite(off):
        return 0.0
    if off == 0.0 or size == 0.0:
        return 16.0 if off == 0.0 else 0.0
    return float(np.clip(-np.log10(off / size), 0.0, 16.0))
