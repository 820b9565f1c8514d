"""Runs: a simulation is marched to its end and becomes a trajectory with its certificate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ResultError, SimulationError, StateError, WhippletreeError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.names import quoted
from whippletree.results.certificate import Certificate
from whippletree.results.certificate_measures import Measures
from whippletree.results.measure import measured
from whippletree.results.output_files import new_file
from whippletree.results.replay import Replay
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.controllers import Controller, controller_state, restore_controller
from whippletree.simulate.event_handling import OnEvent
from whippletree.simulate.progress import ProgressMonitor
from whippletree.simulate.run_arguments import duration_of, finite, increasing, positive
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.spatial.scalars import shown, truth
from whippletree.studies.absolute_runs import COORDINATES, simulate_absolute
from whippletree.studies.checkpoint_files import CheckpointWriter, read_checkpoint
from whippletree.studies.state_growth import state_growth
from whippletree.studies.stiff_bodies import stiff_body
from whippletree.studies.verification import Agreement, agreement, compared_times, further_runs
from whippletree.system import System

if TYPE_CHECKING:
    from whippletree.equilibria import Equilibrium

__all__ = ["check_simulation", "output_times", "resume", "simulate"]

_OUTPUTS = 500
"""Number of outputs unless the user gives one."""

_MOST = 50_000_000

_OF_SIMULATE = ("every", "times", "verify", "start", "coordinates", "time_limit")
"""Options of a run that are not those of its simulation."""

_CLOSING_SHARE = 100.0
"""Closing the loops may move the end of a step by so many times the tolerance of its error."""

_CLOSING_ROUNDING = 1e-12
"""The same bound at tolerances next to rounding."""

_CLOSING_ALL = 10.0
"""Closing the loops may move all steps together by so many times the bound for one, and by more in runs that go far or
take many steps; see `_CLOSING_WAY` and `_CLOSING_STEP`."""

_CLOSING_WAY = 0.3
"""Times the bound for one step, for each radian and characteristic length of the way."""

_CLOSING_STEP = 0.1
"""Times the bound for one step, for each step of adaptive methods: ten times the tolerance. A run that is ten times as
long may be moved ten times as far."""

_CLOSING_FIXED = 1e-5
"""The bound for one step of fixed size, for which no tolerance was given: five digits in one step, four in all."""

_ENERGY_SHARE = 100.0
"""Largest error of energies in runs with adaptive steps, in tolerances; a certificate allows every run a least error.
The motion errs by up to a thousand times the tolerance, mostly along itself, where energy does not change: correct runs
of `benchmarks/accuracy.py`, of all methods and tolerances, have lost at most 23 times the tolerance."""

_MOST_ENERGY = 1e-2
"""However large the tolerance, energies err by no more than that, as a share of their scale."""

_OPENING_RATE = Measures.velocity_tolerance / Measures.closure_tolerance
"""How fast loops may open, in 1/s, for each unit that they may be open."""


@user_facing
def simulate(
    system: System,
    duration: float,
    *,
    every: float | None = None,
    times: ArrayLike | None = None,
    progress: bool | Callable[[float], None] = False,
    t0: float = 0.0,
    controller: Controller | None = None,
    period: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    verify: bool = False,
    start: str | Equilibrium | None = None,
    coordinates: str = "joint",
    time_limit: float | None = None,
    **options: Any,
) -> Trajectory:
    """Simulate for a duration in seconds and return the `Trajectory`, with a certificate.

    Options: `every` (seconds between outputs) or `times`; `q`, `v`, `z`, the start; `tau`, constant joint efforts;
    `method` ("dopri5", "dop853", "adams"; with a fixed `step` "rk4" and "semi_implicit_euler", for stiff springs
    "trapezoidal" and "generalized_alpha" with `spectral_radius`); `tolerance`, `max_step`, `formulation`, `parameters`,
    `progress`; and these:

    With `start="equilibrium"` the run begins where the mechanism is at rest, found from `q` as a guess; with velocities
    `v` by joint, in steady motion with these. An `Equilibrium` that was found before can be given too.

    A `controller(t, q, v, z)` is called every `period` seconds and returns joint efforts, all or by joint, which are
    held until the next call; joints that it does not name keep those of `tau`. A plain function counts as one that
    remembers nothing; one that does is an object with `get_state()`, which returns that as an array of finite numbers,
    and `set_state(array)`, or a method of such an object. Checkpoints keep it.

    With `formulation="natural"` and no `method`, the run is in natural coordinates with a fixed `step`; its options are
    in `whippletree.studies.natural_runs`.

    With `baumgarte=(alpha, beta)`, in 1/s, loops are not closed after steps: the terms 2 alpha phi' + beta^2 phi in the
    accelerations hold them together. That is for `formulation="joint_multipliers"` and others with multipliers, and
    for methods that integrate rates; the certificate shows the drift, and how much may pass.

    With `coordinates="absolute"` position and quaternion of every body are integrated, with a multiplier for every
    condition of a joint (`system.absolute`), by any method; the trajectory is in joint coordinates all the same.

    Events of the mechanism are in `trajectory.events`, and `info["ended_by"]` names the one that ended the run.
    `on_event(simulation, event)`, or a mapping from names to such functions, is called when an event happens: it may
    set `simulation.state`, or other things by `simulation.put`; if it returns True, the run ends.

    With `checkpoint`, the path of a file, the run is written there every `checkpoint_every` seconds of the clock and
    when it ends, so that `resume` can go on with it.

    The certificate says what was measured about the run, and that its global error is not estimated. With
    `verify=True` the run is made again, at twice and four times the step or by another method, in at most one and a
    half times the work, and the certificate says how many digits are right by that. Functions are called again then,
    and a controller that remembers something begins with what it remembered at the start.

    A run that has taken more than `time_limit` seconds of the clock is ended with an error.

    If the run is interrupted, or cannot go on, what was computed is not lost: an interruption returns it, and an error
    carries it as `error.trajectory`.

    >>> from whippletree.system.example_systems import pendulum
    >>> run = simulate(pendulum(), 1.0, every=0.5)
    >>> run.t.tolist(), run.certificate.ok
    ([0.0, 0.5, 1.0], True)
    """
    _check_coordinates(coordinates)
    if coordinates == "absolute":
        kept = {"every": every, "times": times, "progress": progress, "verify": verify, "time_limit": time_limit}
        more: dict[str, object] = {"controller": controller, "checkpoint": checkpoint}
        return _in_absolute_coordinates(system, duration, start, t0, kept, more, options)
    formulation = options.get("formulation")
    if isinstance(formulation, str) and formulation == "natural" and options.get("method") is None:
        more = {"times": times, "controller": controller, "checkpoint": checkpoint, "verify": verify, "start": start}
        more["time_limit"] = time_limit
        return _in_natural_coordinates(system, duration, every, t0, options | more)
    _check_options(options)
    if start is not None:
        options |= _start_state(system, start, options, t0)
    until = output_times(duration, every, times, finite(t0, "t0"))
    looks = compared_times(finite(t0, "t0"), until) if truth(verify, "verify=") else None
    run = _sampled(Simulation(system, t=t0, **options), until, controller, period, looks)
    writer = None if checkpoint is None else _writer(checkpoint, checkpoint_every)
    again = None if looks is None else _further_runs(run, looks, controller, period, options | {"t": t0})
    return _followed(run, progress, writer, again, None if time_limit is None else positive(time_limit, "time_limit"))


def _in_absolute_coordinates(
    system: System,
    duration: float,
    start: object,
    t0: float,
    kept: dict[str, Any],
    more: dict[str, Any],
    options: dict[str, Any],
) -> Trajectory:
    """Simulate the twin in absolute coordinates; `kept` are the arguments that a run in joint coordinates takes too."""
    _check_options(options)
    if start is not None:
        options |= _start_state(system, start, options, t0)
    return simulate_absolute(
        system, lambda twin, **given: simulate(twin, duration, **kept, **given), t0, {**more, **options}
    )


def _in_natural_coordinates(
    system: System, duration: float, every: float | None, t0: float, options: dict[str, object]
) -> Trajectory:
    """Simulate in natural coordinates."""
    from whippletree.studies.natural_runs import simulate_natural  # only where it is asked for

    _refuse_reaction_laws(system)
    return simulate_natural(system, duration, every, t0, options)


def _sampled(
    simulation: Simulation, until: Any, controller: Controller | None, period: float | None, looks: Array | None
) -> SampledRun:
    """Return a run with outputs at these times, and with looks at others."""
    try:
        return SampledRun(simulation, until, controller, period, looks=looks)
    except MemoryError:
        raise StateError(f"{len(until)} outputs take more memory than there is: take every= larger") from None


def _further_runs(
    run: SampledRun, looks: Any, controller: Controller | None, period: float | None, options: dict[str, Any]
) -> Callable[[], Agreement]:
    """Return a function that repeats a run with other methods or steps, and counts the digits that agree."""
    how, remembered = further_runs(run.simulation), controller_state(controller)

    def begin(changed: dict[str, object]) -> SampledRun:
        restore_controller(controller, remembered)
        kept = options if "method" not in changed else options | {"spectral_radius": None}
        other = Simulation(run.simulation.system, **kept | changed)
        other.plans = run.simulation.plans.from_start()  # none is made twice
        return SampledRun(other, looks, controller, period)

    def again() -> Agreement:
        reached = controller_state(controller)
        found = agreement(run, begin, how)
        restore_controller(controller, reached)
        return found

    return again


@user_facing
def resume(
    path: FilePath,
    system: System | None = None,
    *,
    progress: bool | Callable[[float], None] = False,
    on_event: OnEvent = None,
    controller: Controller | None = None,
    period: float | None = None,
    checkpoint_every: float | None = None,
    check: bool = True,
) -> Trajectory:
    """Go on with a run from its checkpoint, to the same bits as if it had never stopped; return the whole trajectory.

    Further checkpoints go to the same file. The mechanism is in the file, unless it cannot be written as a model file:
    then give its `system`. Functions that are called at events are to be given again, and so is the controller, which
    gets by `set_state` what it had returned by `get_state`; its `period` is in the file. `check=False` accepts a file
    of another version of the package.

    >>> import tempfile
    >>> from whippletree.system.example_systems import pendulum
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = simulate(pendulum(), 1.0, checkpoint=f"{folder}/run.ckpt")
    ...     again = resume(f"{folder}/run.ckpt")
    >>> bool((run.q == again.q).all())
    True
    """
    found = read_checkpoint(path, system, on_event, check, controller, period)
    writer = _writer(path, found.every if checkpoint_every is None else checkpoint_every, found.wall)
    return _followed(found.run, progress, writer)


def _refuse_reaction_laws(system: System) -> None:
    """Refuse force laws on reactions in runs in natural coordinates, which have no reactions within a step."""
    laws = system.description.reaction_laws
    if laws:
        raise StateError(
            f'force "{laws[0].name}" depends on reactions, which runs in natural coordinates cannot have: leave '
            'formulation="natural" out, or give a method= to integrate joint coordinates by it'
        )


def _start_state(system: System, start: Any, options: Mapping[str, Any], t0: float) -> dict[str, Any]:
    """Return the state of an equilibrium as options of a run."""
    from whippletree.equilibria import Equilibrium

    found = start
    load: dict[str, Any] = {name: options.get(name) for name in ("tau", "parameters", "z")}
    if isinstance(start, str) and start == "equilibrium":
        speeds = options.get("v")
        if speeds is not None and not isinstance(speeds, Mapping):
            raise StateError('start="equilibrium": give the velocities of a steady motion by joint, v={"shaft": 6.0}')
        found = system.equilibrium(options.get("q"), speeds=speeds, t=t0, **load)
    elif not isinstance(start, Equilibrium):
        raise StateError(f'start= must be "equilibrium", or what system.equilibrium() returns, not {shown(start)}')
    elif found.system is not system:
        raise StateError("start= is an equilibrium of another system")
    state: dict[str, Any] = {"q": found.q, "v": found.v}
    if system.nz:
        state["z"] = found.z
    if load["tau"] is None:
        state["tau"] = found.tau
    if load["parameters"] is None and found.parameters is not None and found is start:
        state["parameters"] = found.parameters
    return state


def _writer(path: FilePath, every: float, wall: float = 0.0) -> CheckpointWriter:
    """Return a writer of checkpoints, after a check of their path."""
    return CheckpointWriter(new_file(path), positive(every, "checkpoint_every"), wall)


def _followed(
    run: SampledRun,
    progress: bool | Callable[[float], None],
    writer: CheckpointWriter | None,
    again: Callable[[], Agreement] | None = None,
    time_limit: float | None = None,
) -> Trajectory:
    """March a run to its end, and return its trajectory even if it fails or is interrupted."""
    began = time.perf_counter()
    failure: SimulationError | ResultError | None = None
    with ProgressMonitor(run.start, float(run.until[-1]), progress, time_limit) as watch:
        try:
            run.go(watch, writer)
            stopped = "" if run.finished else "interrupted"
        except (SimulationError, ResultError) as error:
            stopped, failure = str(error), error
        wall = time.perf_counter() - began + (0.0 if writer is None else writer.wall)
        t, rows, efforts = _ended(run)
        wrong = ~np.isfinite(rows).all(axis=1)
        if wrong.any():
            k = int(wrong.argmax())
            stopped = stopped or f"at t = {t[k]:.9g} s a number is not finite: the motion blows up"
            failure = failure or SimulationError(stopped)
            if not k:
                raise failure
            t, rows, efforts = t[:k], rows[:k], efforts if efforts.ndim == 1 else efforts[:k]
        agreed = None if again is None or stopped else again()
        trajectory = _trajectory(run, t, rows, efforts, stopped, wall, agreed)
        if not stopped:
            watch.finish(float(trajectory.t[-1]))
    if failure is not None:
        failure.trajectory = trajectory
        if isinstance(failure, SimulationError):
            failure.args = ("; ".join([str(failure), *_doubts(run.simulation, trajectory)]),)
        raise failure
    return trajectory


def _doubts(simulation: Simulation, trajectory: Trajectory) -> tuple[str, ...]:
    """Return remarks on flexible bodies that may explain a failure: steps unstable for them, or large deformation."""
    unstable = "" if simulation.adaptive else stiff_body(simulation, trajectory.replay, len(trajectory.t))
    return (unstable,) if unstable else trajectory.certificate["out_of_range"]


def _ended(run: SampledRun) -> tuple[Array, Array, Array]:
    """Return times, rows and efforts of the outputs made; a run that ended early has one more, where it ended."""
    t, rows, efforts = run.outputs()
    now = run.simulation.state.t
    if len(rows) < len(run.asked) and (not len(t) or now > t[-1]):
        t = np.append(t, now)
        rows = np.vstack([rows, run.simulation.row()])
        efforts = efforts if efforts.ndim == 1 else np.vstack([efforts, run.simulation.tau])
    return t, rows, efforts


def _settings(simulation: Simulation, t: Array, efforts: Array, *, present: bool = False) -> tuple[Array, Array | None]:
    """Return the efforts and the parameters at some times if events have changed them; the last may be the present."""
    changes = simulation.events.changes
    if not changes:
        return efforts, simulation.parameters
    which = np.searchsorted([change.t for change in changes], t, side="left") - 1
    if present or simulation.events.ended:
        which[-1] = len(changes) - 1
    if efforts.ndim == 1:
        efforts = np.array([changes[k].tau for k in which])
    return efforts, np.array([changes[k].parameters for k in which]) if changes[0].parameters.size else None


def _trajectory(
    run: SampledRun, t: Array, rows: Array, efforts: Array, stopped: str, wall: float, agreed: Agreement | None
) -> Trajectory:
    """Return the rows of a run as a trajectory, certified."""
    simulation = run.simulation
    system = simulation.system
    counted: dict[str, Any] = {
        "steps": simulation.steps,
        "refused": simulation.refused,
        "evaluations": simulation.evaluations,
        "replans": tuple(simulation.replans),
        "singular": tuple(simulation.singular),
        "wall_time": wall,
        "stopped": stopped,
        "corners": simulation.corners.passed,
        "notes": (*_notes(simulation), *_locks_passed(system, run.marched), *_at_rest(agreed)),
    }
    counted |= _closing(simulation) | _agreed(agreed)
    efforts, parameters = _settings(simulation, t, efforts)
    try:
        found = _measured(run, t, rows, efforts)
    except (WhippletreeError, ArithmeticError, np.linalg.LinAlgError) as error:  # the run itself is not lost by that
        found, counted["notes"] = {}, (*counted["notes"], f"all that is measured, which failed: {error}")
    if simulation.baumgarte is not None:
        counted |= _drift(simulation, found)
    counted["notes"] = (*counted["notes"], *found.get("notes", ()))
    certificate = Certificate(**(found | counted))
    q, v, z, work = _parts(system, rows)
    info = {"method": simulation.method, "tolerance": simulation.tolerance, "formulation": simulation.formulation}
    if simulation.events.ended:
        info["ended_by"] = simulation.events.ended
    events = simulation.events.happened
    return Trajectory(
        system, t, q, v, z, certificate, events, info=info, parameters=parameters, efforts=efforts, work=work
    )


def _measured(run: SampledRun, t: Array, rows: Array, efforts: Array) -> dict[str, Any]:
    """Return the measurements of a run at the ends of its steps, so that they do not depend on its outputs.

    Loops are looked at where they are delivered: velocities at the end of a step are those of its position
    before that was closed.
    """
    simulation, marched = run.simulation, run.marched
    seen = _replay(run, marched[:, 0], *_row_parts(simulation, marched), present=True)
    growth = state_growth(simulation, seen)
    found = measured(
        seen,
        switched=bool(simulation.events.changes),
        outputs=_replay(run, t, rows, efforts) if simulation.baumgarte is None else None,  # nothing is brought back
        energy_tolerance=_energy_tolerance(simulation),
    )
    notes = tuple(words for words in (growth.unresolved, stiff_body(simulation, seen, len(t))) if words)
    return {**found, "state_growth": growth.factor, "growing_state": growth.state, "notes": notes}


def _row_parts(simulation: Simulation, marched: Array) -> tuple[Array, Array]:
    """Return the rows and the efforts of states that a run has kept."""
    end = 1 + simulation.row_size
    return marched[:, 1:end], marched[:, end:]


def _replay(run: SampledRun, t: Array, rows: Array, efforts: Array, *, present: bool = False) -> Replay:
    """Return a replay of a run's states, from which results follow."""
    q, v, z, work = _parts(run.simulation.system, rows)
    _, parameters = _settings(run.simulation, t, efforts, present=present)
    return Replay(run.simulation.system, t, q, v, z, parameters=parameters, efforts=efforts, work=work)


def _energy_tolerance(simulation: Simulation) -> float:
    """Return the largest error of energies as a share of their scale, from the run's tolerance if it has one."""
    asked = min(_ENERGY_SHARE * simulation.tolerance, _MOST_ENERGY) if simulation.adaptive else 0.0
    return max(asked, Measures.energy_tolerance)


def _closing(simulation: Simulation) -> dict[str, Any]:
    """Return how far closing the loops has moved the run, and how far it may at most in one step."""
    if not simulation.system.closure_rows:
        return {"closing_largest": 0.0, "closing_total": 0.0}
    largest, total, way = simulation.closing
    limit = max(_CLOSING_SHARE * simulation.tolerance, _CLOSING_ROUNDING) if simulation.adaptive else _CLOSING_FIXED
    times = max(_CLOSING_ALL, _CLOSING_WAY * way, _CLOSING_STEP * simulation.steps if simulation.adaptive else 0.0)
    return {
        "closing_largest": largest,
        "closing_total": total,
        "closing_tolerance": limit,
        "closing_total_tolerance": limit * times,
    }


def _drift(simulation: Simulation, found: Mapping[str, object]) -> dict[str, Any]:
    """Return how far loops may drift that Baumgarte's terms hold: as far as closing might move a step elsewhere."""
    limit = _closing(simulation)["closing_tolerance"]
    limits = {"closure_tolerance": limit, "velocity_tolerance": _OPENING_RATE * limit}
    widened = {name: max(value, found.get(name, 0.0)) for name, value in limits.items()}
    return {"baumgarte": simulation.baumgarte, **widened}


def _notes(simulation: Simulation) -> tuple[str, ...]:
    """Return remarks on aspects of a run that its steps cannot show."""
    said = list(simulation.corners.unknown())
    if simulation.adaptive and simulation.system.description.forces and not np.isfinite(simulation.longest_step):
        said.append("peaks of forces that are smooth and narrower than a step (max_step= bounds that)")
    return tuple(said)


def _locks_passed(system: System, marched: Array) -> list[str]:
    """Return in words where three angles have passed their gimbal lock from one state of a run to the next."""
    said, t = [], marched[:, 0]
    for use, where in system.kernels.states.locking:
        free = np.array([float(use.joint.from_lock(row[where])) for row in marched[:, 1:]])
        passed = np.flatnonzero(free[1:] * free[:-1] <= 0)
        if passed.size:
            said.append(
                f'the angles of joint "{use.name}" at gimbal lock, which the run passed at about '
                f't = {t[passed[0] + 1]:.6g} s (coordinates="quaternion" have none)'
            )
    return said


def _at_rest(found: Agreement | None) -> tuple[str, ...]:
    """Say which joints have no digits to tell."""
    if found is None or not found.still:
        return ()
    return (f"digits of {', '.join(found.still)}: no motion beyond the errors of the joints connected with it",)


def _agreed(found: Agreement | None) -> dict[str, Any]:
    """Return the agreement of further runs with the first, for the certificate."""
    if found is None:
        return {}
    return {
        "second_run": found.words,
        "digits": found.digits,
        "digits_of": found.worst,
        "groups": tuple(found.groups),
        "group_digits": tuple(found.groups.values()),
    }


def _parts(system: System, rows: Array) -> tuple[Array, Array, Array, Array]:
    """Return coordinates, velocities, states of elements and work from rows of a run."""
    nq, nv = system.nq, system.nv
    return rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv : -2], rows[:, -2:]


def output_times(duration: float, every: float | None, times: ArrayLike | None, t0: float) -> Array:
    """Return the times of the outputs."""
    length = duration_of(duration)
    if times is not None:
        given = increasing(times, "times")
        if not given.size or (np.diff(given) == 0).any():
            raise StateError("times= must be increasing finite numbers")
        if given[0] < t0 or given[-1] > t0 + length * (1 + 1e-12):
            raise StateError(f"times= must lie between {t0} and {t0 + length}")
        return given
    step = length / _OUTPUTS if every is None else positive(every, "every")
    if step < length / _MOST:
        raise StateError(f"every={step:g} asks for {length / step:.3g} outputs: take fewer than {_MOST}")
    count = int(np.floor(length / step * (1 + 1e-12)))
    outputs = t0 + step * np.arange(count + 1)
    if outputs[-1] < t0 + length * (1 - 1e-12):
        outputs = np.append(outputs, t0 + length)
    outputs[-1] = min(outputs[-1], t0 + length)
    if not np.isfinite(outputs[-1]) or len(outputs) < 2 or (np.diff(outputs) <= 0).any():
        raise StateError(
            f"outputs {step:g} s apart cannot be told apart at t0 = {t0:g} s, where numbers are "
            f"{np.spacing(abs(t0)):.2g} s apart: begin at a smaller t0, or take every= larger"
        )
    return np.asarray(outputs, dtype=np.float64)


def check_simulation(system: System, options: Mapping[str, Any]) -> None:
    """Refuse options of `simulate` that no run of a system can have, whatever its start."""
    shared = {name: value for name, value in options.items() if name not in _OF_SIMULATE}
    _check_coordinates(options.get("coordinates", "joint"))
    truth(options.get("verify", False), "verify=")
    if shared.get("formulation") != "natural":
        Simulation(system, checked=False, **shared)


def _check_coordinates(coordinates: object) -> None:
    if not isinstance(coordinates, str) or coordinates not in COORDINATES:
        known = " or ".join(f'"{name}"' for name in COORDINATES)
        raise StateError(f"coordinates= must be {known}, not {shown(coordinates)}")


def _check_options(options: Mapping[str, object]) -> None:
    """Refuse options that there are none of."""
    names = {**signature(simulate).parameters, **signature(Simulation).parameters}
    known = [name for name in names if name not in ("system", "duration", "options", "t", "checked")]
    for name in options:
        if name not in known:
            listed = dict.fromkeys([*get_close_matches(name, known), *known])
            raise StateError(f"simulate() has no option {quoted(name)}; there is {', '.join(listed)}")
