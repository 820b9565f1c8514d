"""Runs in natural coordinates with a fixed step, whose trajectory is in joint coordinates like any other.

Bodies are fitted to rigid ones at the outputs, and loops closed by the least displacement; how far the conditions were
off before that is in the certificate. Energies and work are measured as for all runs, at the ends of steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whippletree.errors import DynamicsError, SimulationError, StateError
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array, NotFiniteError
from whippletree.model.argument_types import JointValues
from whippletree.model.names import suggestion
from whippletree.natural.natural_coordinates import NaturalCoordinates
from whippletree.natural.natural_march import March
from whippletree.natural.natural_settings import BOOK_STEP, refuse_masses, refuse_mechanism, step_settings
from whippletree.natural.natural_steps import NaturalSteps
from whippletree.results.certificate import Certificate
from whippletree.results.measure import looked_at, measured
from whippletree.results.replay import Replay
from whippletree.results.trajectory import Trajectory
from whippletree.simulate import system_interface
from whippletree.simulate.run_arguments import duration_of, finite, positive
from whippletree.spatial.scalars import shown, truth
from whippletree.system import System
from whippletree.system.evaluator import CallOptions, ParameterValues

__all__ = ["NaturalOptions", "NaturalRun", "simulate_natural"]

Places = npt.NDArray[np.int64]

_TOLERANCE, _SETTLED = 5e-7, 1e-14
"""The change in coordinates at which iterations end: the book's at its step and above, less with h^2 below, and no less
than rounding."""

_MOST_ITERATIONS = 25
"""Iterations by tolerance are given up after so many in a step; the step then counts as it is."""

_STRETCH = 2000
"""Steps that machine code takes before Python looks whether to go on."""

_OUTPUTS = 500
"""How many outputs there are unless the user says."""

_WHOLE = 1e-6
"""A duration is a whole number of steps if it is so to this share of a step."""

_MOST_NUMBERS = 2e8
"""How many numbers the steps of one stretch may take in memory."""

_CLOSINGS = 6
"""Projections onto the closures at most; each squares the remaining error."""

_CLOSED = 1e-12
"""Loops that are closed by less than this are."""

_FOLLOWED = 1e-6
"""Joint coordinates that are fitted from those of the step before are the ones fitted otherwise, to this share."""

_OPTIONS = ("step", "iterations", "tolerance", "alpha", "mu", "augmented", "projections", "q", "v", "tau", "parameters")

_NOT_HERE = {
    "controller": "a controller",
    "period": "a controller",
    "checkpoint": "checkpoints",
    "verify": "a second run",
    "start": "a start from equilibrium",
    "on_event": "functions that are called at events",
    "times": "outputs at given times; use every=",
    "z": "states of elements",
    "time_limit": "a limit of time",
}


@dataclass(frozen=True)
class NaturalOptions:
    """Options of a run in natural coordinates.

    `iterations` is how many a step takes, exactly; without it they go on until coordinates change by less than
    `tolerance`: 5e-7, and less in proportion to h^2 for steps below 8 ms, unless given. `alpha` is the penalty and `mu`
    the time by which rates of conditions are weighed (in seconds), for all conditions or by their names; `augmented`
    how often multipliers are corrected in a step; `projections` the form with kept multipliers and projected velocities
    and accelerations.
    """

    step: float
    iterations: int | None = None
    tolerance: float | None = None
    alpha: float | Mapping[str, float] | None = None
    mu: float | Mapping[str, float] | None = None
    augmented: int = 0
    projections: bool = False

    @staticmethod
    def read(given: Mapping[str, Any]) -> NaturalOptions:
        """Check the given options and return them."""
        if given.get("step") is None:
            raise StateError('formulation="natural" takes steps of a fixed size: give step= in seconds')
        iterations = given.get("iterations")
        projections = truth(given.get("projections", False), "projections=")
        augmented = _count(given.get("augmented", 0), "augmented", 0)
        if projections and (augmented or given.get("mu") is not None):
            raise StateError("projections=True corrects multipliers in every iteration: leave mu= and augmented= out")
        return NaturalOptions(
            positive(given["step"], "step"),
            None if iterations is None else _count(iterations, "iterations", 1),
            None if given.get("tolerance") is None else positive(given["tolerance"], "tolerance"),
            given.get("alpha"),
            given.get("mu"),
            augmented,
            projections,
        )

    @property
    def settled(self) -> float:
        """The change in coordinates at which iterations end.

        >>> NaturalOptions(step=0.008).settled, NaturalOptions(step=0.1).settled, NaturalOptions(step=0.004).settled
        (5e-07, 5e-07, 1.25e-07)
        """
        if self.tolerance is not None:
            return self.tolerance
        return max(_SETTLED, _TOLERANCE * min(1.0, (self.step / BOOK_STEP) ** 2))


def _count(value: int, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= _MOST_ITERATIONS:
        raise StateError(f"{name}= must be a whole number from {least} to {_MOST_ITERATIONS}, not {shown(value)}")
    return int(value)


class NaturalRows(NamedTuple):
    """Steps of a run: times, natural coordinates, velocities and accelerations, and iterations of each step."""

    t: Array
    x: Array
    rates: Array
    accelerations: Array
    iterations: Places


class NaturalRun:
    """A run in natural coordinates.

    >>> from whippletree.system.example_systems import pendulum
    >>> run = NaturalRun(pendulum(), NaturalOptions(step=0.01, iterations=2))
    >>> run.march(10).x.shape
    (11, 6)
    """

    def __init__(
        self,
        system: System,
        options: NaturalOptions,
        q: JointValues = None,
        v: JointValues = None,
        tau: JointValues = None,
        t: float = 0.0,
        parameters: ParameterValues = None,
    ) -> None:
        refuse_mechanism(
            system,
            'the time loop of formulation="natural"',
            "Give method= as well to integrate in joint coordinates with the accelerations of that formulation, or "
            "leave it out",
        )
        self.system, self.options, self.natural = system, options, system.natural
        self.t = finite(t, "t0")
        self.parameters = system_interface.checked_parameters(system, parameters)
        refuse_masses(self.natural, projections=options.projections, parameters=self.parameters)
        self.q = system.q0 if q is None else system_interface.start_configuration(system, q, self.t, self.parameters)
        self.v = (
            system.v0 if v is None else system_interface.start_velocities(system, self.q, v, self.t, self.parameters)
        )
        system_interface.check_closures(system, self.q, self.v, self.t, self.parameters)
        self.tau = np.zeros(system.nv) if tau is None else system_interface.checked_efforts(system, tau)
        pushed = self.natural.model.pushed_by_armature
        self.loaded = bool(system.description.forces) or bool(self.tau.any()) or pushed
        self.steps = _steps(self.natural, self.loaded, options.projections)

    @made_once
    def settings(self) -> Array:
        """The step, and alpha and mu of every condition."""
        given = self.options
        return step_settings(self.natural, given.step, given.alpha, given.mu, projections=given.projections)

    def march(self, steps: int) -> NaturalRows:
        """Take steps from the start; fewer if the iterations have lost the motion."""
        begun = self._march.start[2 * self.natural.n_coordinates : 3 * self.natural.n_coordinates].copy()
        parts = []
        for first in range(0, steps, _STRETCH):  # between stretches Python may be interrupted
            count = min(_STRETCH, steps - first)
            parts.append(self._stretch(count))
            if len(parts[-1][1]) < count:
                break
        rows, counts = (np.concatenate(some) for some in zip(*parts, strict=True))
        n = self.natural.n_coordinates
        x, rates = self.natural.state(self.q, self.v, parameters=self.parameters)
        return NaturalRows(
            np.asarray(self.t + self.options.step * np.arange(len(rows) + 1), dtype=np.float64),
            np.vstack([x, rows[:, :n]]),
            np.vstack([rates, rows[:, n : 2 * n]]),
            np.vstack([begun, rows[:, 2 * n : 3 * n]]),
            counts,
        )

    def _stretch(self, steps: int) -> tuple[Array, Places]:
        """Take some steps from where the last stretch ended."""
        return self._march.go(
            steps,
            self.options.step,
            most=self.options.iterations or _MOST_ITERATIONS,
            tolerance=-1.0 if self.options.iterations else self.options.settled,
            rounds=1 + self.options.augmented,
            each=self.options.projections,
        )

    @made_once
    def _march(self) -> March:
        """The loop, at the start of the run."""
        natural, layout = self.natural, self.steps.layout
        x, rates = natural.state(self.q, self.v, parameters=self.parameters)
        given = {"settings": self.settings, "tau": self.tau}
        if self.parameters is not None:
            given["parameters"] = np.ascontiguousarray(self.parameters)
        a = self.steps.begin(self.q, self.v, {"t": np.array([self.t]), **given})
        start = np.concatenate([x, rates, a, np.zeros(layout.m), self.q if self.loaded else np.zeros(0)])
        kernels = {name: getattr(self.steps, name) for name in ("predict", "iterate", "augment", "finish")}
        return March(kernels, start, layout.n, given, self.t)


def _steps(natural: NaturalCoordinates, loaded: bool, projections: bool) -> NaturalSteps:
    """Return the kernels of a time loop, made once for a system."""
    key = (loaded, projections)
    found = natural.made.get(key)
    if not isinstance(found, NaturalSteps):
        found = natural.made[key] = NaturalSteps(natural, loaded, projections)
    return found


def simulate_natural(system: System, duration: Any, every: Any, t0: Any, options: Mapping[str, Any]) -> Trajectory:
    """Simulate in natural coordinates, and return the trajectory in joint coordinates."""
    for name, words in _NOT_HERE.items():
        if options.get(name) not in (None, False):
            raise StateError(f'the time loop of formulation="natural" does not take {words}')
    for name in options:
        if name not in (*_OPTIONS, *_NOT_HERE, "formulation", "progress", "checkpoint_every"):
            raise StateError(f'formulation="natural" has no option {suggestion(name, _OPTIONS)}')
    chosen = NaturalOptions.read(options)
    began = time.perf_counter()
    given = {name: options.get(name) for name in ("q", "v", "tau", "parameters")}
    run = NaturalRun(system, chosen, t=t0, **given)
    steps, stride = _counts(duration_of(duration), chosen.step, every)
    if steps * run.steps.layout.size > _MOST_NUMBERS:
        raise StateError(
            f"{steps} steps of {run.steps.layout.size} numbers take more memory than is given to one run: simulate in "
            f"stretches, each from where the last one ended"
        )
    rows = run.march(steps)
    try:
        return _trajectory(run, rows, steps, stride, time.perf_counter() - began)
    except (NotFiniteError, DynamicsError):  # of the states themselves, or of their energies
        raise SimulationError(
            f"in steps of {chosen.step:g} s the bodies come apart so far that they have no place: take a smaller step, "
            f"or leave alpha= and mu= out"
        ) from None


def _counts(length: float, step: float, every: Any) -> tuple[int, int]:
    """Return how many steps there are, and how many lie between outputs."""
    steps = round(length / step)
    if steps < 1 or abs(length / step - steps) > _WHOLE * max(steps, 1):
        raise StateError(f"the duration of {length:g} s must be a whole number of steps of {step:g} s")
    if every is None:
        return steps, max(1, steps // _OUTPUTS)
    stride = round(positive(every, "every") / step)
    if stride < 1 or abs(every / step - stride) > _WHOLE * stride:
        raise StateError(f"every={every:g} must be a whole number of steps of {step:g} s")
    return steps, min(stride, steps)


def _trajectory(run: NaturalRun, rows: NaturalRows, steps: int, stride: int, wall: float) -> Trajectory:
    """Return the outputs of a run, fitted, closed and certified."""
    system, natural = run.system, run.natural
    stopped = "" if len(rows.t) > steps else f"at t = {rows.t[-1]:.9g} s the iterations no longer converge"
    chosen = np.unique(np.append(np.arange(0, len(rows.t), stride), len(rows.t) - 1))
    all_q = _followed(run, rows)
    turn, turning = _largest_turn(system, all_q)
    looked = looked_at(len(rows.t))
    both = np.union1d(chosen, looked)
    q, v, moved = _closed(run, *_settled_at(run, rows, all_q, both))
    work = (_work(run, rows, all_q) if run.loaded else np.zeros((len(rows.t), 2)))[both]
    z = np.zeros((len(both), 0))
    states = Replay(system, rows.t[both], q, v, z, run.parameters, efforts=run.tau, work=work)
    delivered, seen = (states.picked(np.searchsorted(both, which)) for which in (chosen, looked))
    residual = np.abs(natural.residual(rows.x, parameters=run.parameters))
    r, worst = int(residual.max(axis=0).argmax()), float(residual.max())
    certificate = Certificate(
        **measured(seen, outputs=delivered),
        steps=len(rows.iterations),
        evaluations=int(rows.iterations.sum()),
        wall_time=wall,
        stopped=stopped,
        closing_largest=moved,
        closing_total=moved,
        condition_residual=worst,
        widest_condition=natural.conditions[r],
        largest_turn=turn,
        turning_joint=turning,
    )
    chosen_options = run.options
    info = {
        "method": "trapezoidal rule in natural coordinates",
        "formulation": "natural",
        "step": chosen_options.step,
        "iterations": float(rows.iterations.mean()) if len(rows.iterations) else 0.0,
    }
    trajectory = Trajectory(
        system,
        delivered.t,
        delivered.q,
        delivered.v,
        None,
        certificate,
        info=info,
        parameters=run.parameters,
        efforts=run.tau,
        work=delivered.work,
    )
    if stopped:
        more = "" if chosen_options.projections else f" or a larger mu= (now {run.settings[-1]:.3g} s)"
        failure = SimulationError(f"{stopped}: take a smaller step, or give more iterations={more}")
        failure.trajectory = trajectory
        raise failure
    return trajectory


def _followed(run: NaturalRun, rows: NaturalRows) -> Array:
    """Return the joint coordinates at all steps, each those nearest to the step before: whole turns are counted."""
    natural, x, rates = run.natural, rows.x, rows.rates
    q, _ = natural.fit(x, rates, run.q, parameters=run.parameters)
    q[0] = run.q
    turning = list(_turning(run.system))
    angles = [where for where, _, quaternion in turning if not quaternion]
    q[:, angles] = np.unwrap(q[:, angles], axis=0)
    for where, _, quaternion in turning:
        if quaternion:
            flips = np.sign(np.einsum("ki,ki->k", q[1:, where], q[:-1, where]))
            q[1:, where] *= np.cumprod(np.where(flips < 0, -1.0, 1.0))[:, None]
    again, _ = natural.fit(x[1:], rates[1:], q[:-1], parameters=run.parameters)
    astray = np.flatnonzero((np.abs(again - q[1:]) > _FOLLOWED * (1.0 + np.abs(q[1:]))).any(axis=1))
    if len(astray):  # the fit from the start of the run has come to other angles of the same places: go step by step
        for k in range(int(astray[0]) + 1, len(x)):
            q[k], _ = natural.fit(x[k], rates[k], q[k - 1], parameters=run.parameters)
    return q


def _settled_at(run: NaturalRun, rows: NaturalRows, q: Array, chosen: Places) -> tuple[Array, Array]:
    """Return joint coordinates and velocities at some steps, from coordinates that were followed there."""
    q, v = run.natural.fit(rows.x[chosen], rows.rates[chosen], q[chosen], parameters=run.parameters)
    return run.system.configuration(q), v


def _turning(system: System) -> Iterator[tuple[Any, str, bool]]:
    """Yield where in q there are angles and quaternions, of which joint, and whether it is a quaternion."""
    for use in system.description.coordinate_owners:
        where, _ = system.plan.slices_of(use.name)
        if use.joint.quaternion:
            yield slice(where.start, where.start + 4), use.name, True
            continue
        for i, label in enumerate(use.joint.position_labels):
            if "angle" in label:
                yield where.start + i, use.name, False


def _largest_turn(system: System, q: Array) -> tuple[float, str]:
    """Return by how much a joint has turned in one step at most, in radians, and which."""
    worst, joint = 0.0, ""
    for where, name, quaternion in _turning(system):
        if quaternion:
            turns = 2 * np.arccos(np.minimum(1.0, np.abs(np.einsum("ki,ki->k", q[1:, where], q[:-1, where]))))
        else:
            turns = np.abs(np.diff(q[:, where]))
        most = float(turns.max(initial=0.0))
        worst, joint = (most, name) if most > worst else (worst, joint)
    return worst, joint


def _closed(run: NaturalRun, q: Array, v: Array) -> tuple[Array, Array, float]:
    """Return states on the closures, by the least displacement, and the largest of these."""
    system = run.system
    if not system.kernels.closed:
        return q, v, 0.0
    moved, nv = 0.0, system.nv
    options = CallOptions(parameters=run.parameters)
    for _ in range(_CLOSINGS):
        found = system.kernels.evaluate("project", (q, v), options)
        size = float(np.abs(found[..., :nv]).max(initial=0.0))
        moved = max(moved, size)
        q = system.integrate(q, found[..., :nv])
        v = np.ascontiguousarray(found[..., nv : 2 * nv])
        if size < _CLOSED:
            break
    return q, v, moved


def _work(run: NaturalRun, rows: NaturalRows, all_q: Array) -> Array:
    """Return the work put in and dissipated up to every step, by the trapezoidal rule."""
    q, v = _settled_at(run, rows, all_q, np.arange(len(rows.t), dtype=np.int64))
    options = CallOptions(t=rows.t[:, None], parameters=run.parameters)
    powers = run.system.kernels.evaluate("powers", (q, v, None), options)
    given = v @ run.tau
    rates = np.column_stack([powers[:, 2] + given, powers[:, 1]])
    return np.vstack([np.zeros((1, 2)), np.cumsum((rates[1:] + rates[:-1]) / 2 * run.options.step, axis=0)])
