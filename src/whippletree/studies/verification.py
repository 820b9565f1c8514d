"""The error of a run, estimated by further runs: how many of its digits are right.

A run with steps of a fixed size, or by an implicit method, is made again at twice and four times the step, or at ten
and a hundred times the tolerance. How fast the differences grow shows whether the run converges, and what is left of
them at its own step is its error. Where they do not grow, no digits are claimed. A run by an explicit method that
chooses its steps is made again by another method: the errors of two tolerances go too little hand in hand.

Runs are compared at times of their own, so that the digits do not depend on the outputs: at the same number of them in
every run, evenly spaced, and hardly ever where steps end. So the digits are those of outputs within steps too.

Further runs are stopped when their work is one and a half times that of the first: then what they have reached is
compared. So a run with `verify=True` takes about two and a half times as long as without, at most, beside the starts
of further runs and the comparison. Work is counted in evaluations, and depends on no clock: the same call always
compares as much. They are also stopped where they have come as far from the first as that goes at all: no digit can be
right then.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from whippletree.errors import SimulationError
from whippletree.kernels.kernel import Array
from whippletree.model.description import JointUse
from whippletree.model.parts import independent_parts
from whippletree.simulate import system_interface
from whippletree.simulate.generalized_alpha import IMPLICIT
from whippletree.simulate.run_tolerances import TIGHTEST_TOLERANCE
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.spatial.scales import largest
from whippletree.system import System

__all__ = ["FIXED_STEP_WORK", "MOST_WORK", "STEP_WORK", "Agreement", "FurtherRuns", "agreement", "further_runs", "work"]

MOST_WORK = 1.5
"""How much work the further runs may be, in that of the first."""

STEP_WORK = {"dopri5": 4.0, "dop853": 8.0, "adams": 6.0, "trapezoidal": 15.0, "generalized_alpha": 15.0}
"""Cost of a step of chosen size beside its evaluations, in these: sums over stages or differences, the error
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

_LOOKS = 10
"""How often a further run is looked at, about, until its work is done, unless that is little."""

_SHORT = 10_000.0
"""Work below which a further run is looked at twice or so: a look costs as much as hundreds of evaluations."""

WELL = 3.0
"""The digits from which on a joint moves well."""

STILL = 10.0
"""A joint that moves no farther than so many times the errors of others would have one digit at best; it may rest."""

ORDERS = {
    "semi_implicit_euler": 1,
    "rk4": 4,
    "dopri5": 5,
    "dop853": 8,
    "trapezoidal": 2,
    "generalized_alpha": 2,
}
"""The orders of the methods; others are taken to be of the first, which claims the fewest digits."""

_COARSER = 10.0
"""Factor between the tolerances of the further runs of an implicit method."""

_COARSER_GROWTH = 10.0**0.5
"""The tolerances of implicit methods are so many times as large from run to run, and errors grow by that at least: with
a tolerance they go less smoothly than with a step."""

_OTHER: dict[str, tuple[str, float]] = {"dopri5": ("dop853", 0.1), "dop853": ("adams", 7.0), "adams": ("dop853", 0.1)}
"""By which method, and at which share of the tolerance, a run that chooses its steps is made again.

The work of the second run is at most about one and a half times the first's, on the problems of
`benchmarks/accuracy.py` with tolerances from 1e-4 to 1e-12. A step of `adams` is the work of four tenths of one of
`dop853`, and four times as many are needed at the same tolerance, though they are no more exact: so there the second
run is the worse one, and up to one digit more may be right than is claimed.
"""

_SAFETY = 2.0
"""The error is taken to be so many times the difference of two methods: the errors of both may have the same sign."""

_FEW_FREEDOMS = 2
"""In trees with no more freedoms than that, evaluations are so cheap that most of a step's time goes beside them: a
step of `adams` takes nearly as long as one of `dop853`, and at large tolerances `dopri5` is the faster one."""

_LARGE_TOLERANCE = 1e-9
"""Above this `dopri5` takes less than `adams` there."""

_ROUNDING = 1e-9
"""Differences below this share of the range of a coordinate need not grow with the step: they may be rounding."""

_AS_MANY = 0.9
"""A run at twice the step that takes more than this share of the steps is no other run: samples of a controller,
`max_step` or the end of the run decide where its steps end."""


_COMPARED = 211
"""At so many times, and at the start, runs are compared; by a prime number, as runs take round numbers of steps."""

_SAME_TIME = 1e-9
"""Times that are nearer to an output than this share of their distance are that output's."""

_MOVING = 1e-2
"""A joint that moves farther than this share of the farthest of its kind has digits of its own; see `STILL`, `WELL`."""


class FurtherRuns(NamedTuple):
    """How a run is made again: options that take the place of its own, once or twice, and how that is said.

    `growth` is the factor by which errors grow from the run to the first of them and on to the second, by the method's
    order; zero if there is one by another method.
    """

    options: tuple[dict[str, object], ...]
    words: str
    growth: float = 0.0


class Agreement(NamedTuple):
    """How many digits are right, in the worst coordinate and in each group; `still` are groups that do not move."""

    words: str
    digits: float
    worst: str
    groups: dict[str, float]
    still: tuple[str, ...] = ()


def further_runs(simulation: Simulation) -> FurtherRuns:
    """Return how a simulation is run again: at longer steps or larger tolerances, or by another method.

    >>> from whippletree.system.example_systems import pendulum
    >>> further_runs(Simulation(pendulum())).words
    'dop853, tolerance 1e-09'
    >>> further_runs(Simulation(pendulum(), method="rk4", step=1e-3)).words
    'rk4, steps 0.002 and 0.004 s'
    """
    method, tolerance = simulation.method, simulation.tolerance
    if not simulation.adaptive:
        steps = [2 * simulation.fixed_step, 4 * simulation.fixed_step]
        words = f"{method}, steps {steps[0]:g} and {steps[1]:g} s"
        return FurtherRuns(tuple({"step": step} for step in steps), words, 2.0 ** ORDERS.get(method, 1))
    if method in IMPLICIT:
        larger = [_COARSER * tolerance, _COARSER**2 * tolerance]
        words = f"{method}, tolerances {larger[0]:g} and {larger[1]:g}"
        return FurtherRuns(tuple({"tolerance": one} for one in larger), words, _COARSER_GROWTH)
    other, share = _OTHER.get(method, ("dopri5", 0.1))
    if other == "adams" and _is_small(simulation) and tolerance > _LARGE_TOLERANCE:
        other, share = "dopri5", 4.0
    tolerance *= share if share * tolerance >= TIGHTEST_TOLERANCE else 1 / share
    return FurtherRuns(({"method": other, "tolerance": tolerance},), f"{other}, tolerance {tolerance:g}")


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
    """Return the cost of a step beside its evaluations, in units of one evaluation."""
    small = _is_small(simulation)
    fixed = _SMALL_FIXED_STEP_WORK if small else FIXED_STEP_WORK
    return (_SMALL_STEP_WORK if small else STEP_WORK).get(simulation.method, fixed) if simulation.adaptive else fixed


def _is_small(simulation: Simulation) -> bool:
    """Tell whether a mechanism is a tree with few freedoms."""
    return simulation.system.nv <= _FEW_FREEDOMS and not simulation.system.closure_rows


def compared_times(start: float, until: Array) -> Array:
    """Return the times at which a run is compared with further ones, from its start and its outputs `until`.

    >>> compared_times(1.0, np.array([1.0, 2.0 + 1e-13, 212.0]))[[0, 1, -1]].tolist()
    [1.0, 2.0000000000001, 212.0]
    """
    times = np.linspace(start, until[-1], _COMPARED + 1)
    nearest = np.clip(np.searchsorted(until, times), 1, len(until) - 1) if len(until) > 1 else np.zeros(len(times), int)
    for beside in (nearest, np.maximum(nearest - 1, 0)):
        met = np.abs(until[beside] - times) <= _SAME_TIME * (times[-1] - start) / _COMPARED
        times[met] = until[beside][met]
    return np.unique(times)


def agreement(first: SampledRun, begin: Callable[[dict[str, object]], SampledRun], how: FurtherRuns) -> Agreement:
    """Make the further runs, and estimate the error of the first at the looks that all have."""
    least = _SMALL_LEAST_WORK if _is_small(first.simulation) else _LEAST_WORK
    left = MOST_WORK * max(work(first.simulation), least)
    system, known = first.simulation.system, first.looked()
    sizes = _sizes(system, known)
    runs: list[SampledRun] = []
    steps, said, failed, same, lost = first.simulation.steps, "", False, False, False

    for options in how.options:
        again, departure = begin(options), _Departure(system, known, sizes)
        try:
            left -= _go(again, left, departure.of)
        except SimulationError as error:
            said, failed = f", which failed: {error}", True
        same |= again.finished and again.simulation.steps > _AS_MANY * steps
        runs.append(again)
        steps, lost = again.simulation.steps, departure.of(again)
        if failed or lost:
            break
    made = min(len(known), *(run.made for run in runs))
    if made and made < len(known) and not failed:
        said = f", compared up to t = {runs[-1].until[made - 1]:.6g} s"
    share = sum(run.simulation.evaluations for run in runs) / max(first.simulation.evaluations, 1)
    words = f"{how.words}, {share:.2g} times the evaluations{said}"
    if how.growth and failed:
        return Agreement(words, 0.0, "nothing: the motion does not converge", {})
    if how.growth and same:
        return Agreement(
            words, np.nan, "nothing: what ends the steps, or bounds them, leaves no room for longer ones", {}
        )
    if made < 2:
        return Agreement(words, 0.0, "nothing: a further run has no outputs", {})
    rounding = first.simulation.steps * float(np.finfo(float).eps)  # of all steps, at worst to the same side
    compared = [known[:made], *(run.rows[:made] for run in runs)]
    found = _groups(system, compared, sizes, 0.0 if lost else how.growth, rounding)
    still = _still(system, found)
    groups = {group.name: group.digits for group in found if group.name not in still}
    if not groups:
        return Agreement(words, np.nan, "nothing: there is no motion whose digits could be told", {}, still)
    worst = min(groups, key=lambda name: groups[name])  # not empty: looked at above
    return Agreement(words, groups[worst], worst, groups, still)


def _go(run: SampledRun, most: float, enough: Callable[[SampledRun], bool]) -> float:
    """Let a run go until it ends, its work is done, or `enough` of it is known; return its work."""
    simulation = run.simulation
    simulation.pause_every = pause = max(int(most / (_LOOKS * (1.0 + _step_work(simulation)))), 1)

    def looked(t: float) -> bool:
        steps, done = simulation.steps, work(simulation)
        if not steps or steps % simulation.pause_every:
            return False
        if done > most or enough(run):
            return True
        if most < _SHORT:  # then the next look is where the work will be done
            simulation.pause_every = int(steps * most / done) + pause
        return False

    run.go(looked)
    return work(simulation)


def _sizes(system: System, rows: Array) -> Array:
    """Return the range of each number over some rows: coordinates from end to end, others from zero."""
    return np.concatenate([np.ptp(rows[:, : system.nq], axis=0), np.abs(rows[:, system.nq :]).max(axis=0)])


class _Departure:
    """Detects that a further run is off by the whole range of a well moving joint: then no digit is right."""

    def __init__(self, system: System, known: Array, sizes: Array) -> None:
        by, by_v, nq = system_interface.coordinate_scale(system), system_interface.scale(system), system.nq
        moved = largest(sizes[:nq] / by), largest(sizes[nq : nq + system.nv] / by_v)
        self._known, self._limits = known, np.full(len(sizes), np.inf)
        self._turning: list[tuple[slice, JointUse]] = []
        for use in system.description.coordinate_owners:
            q, v = system.q_slice(use.name), system.v_slice(use.name)
            if use.joint.quaternion:
                self._turning.append((q, use))
            of_rates = slice(nq + v.start, nq + v.stop)
            for at, unit, most in ((q, by[q], moved[0]), (of_rates, by_v[v], moved[1])):
                size = largest(sizes[at])
                if size > _MOVING * most * largest(unit):
                    self._limits[at] = size
        self._compared, self._found = 0, False

    def of(self, run: SampledRun) -> bool:
        """Tell it of a run, each of whose rows is compared once; always the same run."""
        made = min(len(self._known), run.made)
        known, other = self._known[self._compared : made], run.rows[self._compared : made]
        if self._turning:
            other = other.copy()
        for q, use in self._turning:
            other[:, q] = _same_sign(known, other, q, use)
        self._compared = made
        self._found = self._found or bool((np.abs(known - other) >= self._limits).any())
        return self._found


class _ComparedNumbers(NamedTuple):
    """Numbers of one kind that belong to a joint or are a state: the digits that are right, how far they go and err.

    The last two are in radians or characteristic lengths.
    """

    name: str
    kind: str
    owner: str
    digits: float
    range: float
    error: float


def _groups(system: System, runs: list[Array], sizes: Array, growth: float, rounding: float) -> list[_ComparedNumbers]:
    """Compare runs by joint and state: coordinates by how far they go, velocities likewise."""
    a, nq, nv = runs[0], system.nq, system.nv
    by, by_v = system_interface.coordinate_scale(system), system_interface.scale(system)
    found: list[_ComparedNumbers] = []

    def compare(what: str, kind: str, owner: str, numbers: list[Array], size: float, unit: float) -> None:
        scale = max(size, 1e-9 * unit) if kind == "q" else size
        differences = [float(np.abs(one - other).max()) for one, other in pairwise(numbers)]
        error = max(_error(differences, growth, scale), rounding * scale)
        digits = _digits(error, scale)
        found.append(_ComparedNumbers(f'the {what} "{owner}"', kind, owner, digits, size / unit, error / unit))

    for use in system.description.coordinate_owners:
        q, v = system.q_slice(use.name), system.v_slice(use.name)
        if q.stop > q.start:
            size = float(sizes[q].max())
            compare("coordinates of", "q", use.name, [_same_sign(a, b, q, use) for b in runs], size, by[q].max())
        if v.stop > v.start:
            at = slice(nq + v.start, nq + v.stop)
            size = float(sizes[at].max())
            compare("velocities of", "v", use.name, [b[:, at] for b in runs], size, by_v[v].max())
    for k, name in enumerate(system.kernels.elements.names, start=nq + nv):
        compare("state", "z", name, [b[:, k] for b in runs], float(sizes[k]), 1.0)
    return found


def _error(differences: list[float], growth: float, size: float) -> float:
    """Estimate the error of the first of some runs by the differences from each to the next.

    Errors that grow by some factor from run to run leave the first with the difference over that factor less one. The
    factor is the one seen, at most that of the method's order: differences that grow faster were small by chance.

    >>> _error([3.0, 12.0], 4.0, 100.0), _error([3.0, 6.0], 4.0, 100.0), _error([3.0, 2.0], 4.0, 100.0)
    (1.0, 3.0, inf)
    """
    if not np.isfinite(differences).all():
        return np.inf
    if not growth:
        return _SAFETY * differences[0]
    near, far = differences
    seen = min(far / near, growth) if near > 0 else growth
    error = max(near, far / growth) / (seen - 1) if seen > 1 else np.inf
    largest = max(near, far)
    return min(error, largest) if largest <= _ROUNDING * size else error


def _still(system: System, groups: list[_ComparedNumbers]) -> tuple[str, ...]:
    """Return the joints that move by little more than the errors of other joints of their part, which agree well.

    It would be at rest in the exact motion, or might be: there is no motion whose digits could be told.
    """
    part_of = {joint: k for k, part in enumerate(independent_parts(system.description)) for joint in part.joints}
    errors: dict[tuple[str, int | None], float] = {}
    for group in groups:
        if group.digits >= WELL:
            key = group.kind, part_of.get(group.owner)
            errors[key] = max(errors.get(key, 0.0), group.error)
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
    """Return the number of right digits at worst, of numbers of a size; resting ones have all 16."""
    if not np.isfinite(off):
        return 0.0
    if off == 0.0 or size == 0.0:
        return 16.0 if off == 0.0 else 0.0
    return float(np.clip(-np.log10(off / size), 0.0, 16.0))
