"""Runs: a simulation is marched to its end and becomes a trajectory with its certificate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ResultError, SimulationError, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.results.output_files import new_file
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.controllers import Controller, controller_state, restore_controller
from whippletree.simulate.event_handling import OnEvent
from whippletree.simulate.idle_simulations import begun_simulation, give_back
from whippletree.simulate.progress import ProgressMonitor
from whippletree.simulate.run_arguments import duration_of, finite, increasing, positive
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.spatial.scalars import shown, truth
from whippletree.studies.absolute_runs import COORDINATES, simulate_absolute
from whippletree.studies.checkpoint_files import CheckpointWriter, read_checkpoint
from whippletree.studies.run_options import RunOptions, refuse_natural, with_run_options
from whippletree.studies.run_records import doubts, ended, trajectory_of
from whippletree.studies.verification import Agreement, agreement, compared_times, further_runs
from whippletree.system import System

if TYPE_CHECKING:
    from whippletree.equilibria import Equilibrium

__all__ = [
    "OF_SIMULATE",
    "begun",
    "check_simulation",
    "followed",
    "further_runs_of",
    "made_of",
    "output_times",
    "resume",
    "simulate",
]

_OUTPUTS = 500
"""Number of outputs unless the user gives one."""

_MOST = 50_000_000
"""Largest number of outputs of a run: more would fill any memory."""

OF_SIMULATE = ("every", "times", "verify", "start", "coordinates", "time_limit")
"""Options of a run that are not those of its simulation."""


@user_facing
@with_run_options
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
    **options: Unpack[RunOptions],
) -> Trajectory:
    """Simulate for a duration in seconds and return the `Trajectory`, with a certificate.

    Options: `every` (seconds between outputs) or `times`; `q`, `v`, `z`, the start; `tau`, constant joint efforts;
    `method` ("dopri5", "dop853", "adams"; with a fixed `step` "rk4" and "semi_implicit_euler", for stiff springs
    "trapezoidal" and "generalized_alpha" with `spectral_radius`); `tolerance`, `max_step`, `formulation` (and
    `reference`, the point of "fully_recursive"), `parameters`, `progress`; and these:

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
    set `simulation.state`, or other things by `simulation.set_value`; if it returns True, the run ends.

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
    given: dict[str, Any] = {**options}
    if coordinates == "absolute":
        kept = {"every": every, "times": times, "progress": progress, "verify": verify, "time_limit": time_limit}
        more: dict[str, object] = {"controller": controller, "checkpoint": checkpoint}
        return _in_absolute_coordinates(system, duration, start, t0, kept, more, given)
    formulation = given.get("formulation")
    if isinstance(formulation, str) and formulation == "natural" and given.get("method") is None:
        more = {"times": times, "controller": controller, "checkpoint": checkpoint, "verify": verify, "start": start}
        more["time_limit"] = time_limit
        return _in_natural_coordinates(system, duration, every, t0, given | more)
    refuse_natural(given)
    until = output_times(duration, every, times, finite(t0, "t0"))
    checked = truth(verify, "verify=")
    run, given = begun(system, until, given | {"t": t0}, start, controller, period, verify=checked)
    writer = None if checkpoint is None else _writer(checkpoint, checkpoint_every)
    again = further_runs_of(run, given) if checked else None
    limit = None if time_limit is None else positive(time_limit, "time_limit")
    trajectory = _followed(run, progress, writer, again, limit)
    give_back(run.simulation, given)
    return trajectory


def begun(
    system: System,
    until: Array,
    options: dict[str, Any],
    start: object = None,
    controller: Controller | None = None,
    period: float | None = None,
    *,
    verify: bool = False,
) -> tuple[SampledRun, dict[str, Any]]:
    """Return a run at its start, with outputs at some times, and the options of its simulation."""
    if start is not None:
        options = options | _start_state(system, start, options, options["t"])
    looks = compared_times(options["t"], until) if verify else None
    return _sampled(begun_simulation(system, options), until, controller, period, looks), options


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
    refuse_natural(options)
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


def further_runs_of(
    run: SampledRun, options: dict[str, Any], controller: Controller | None = None
) -> Callable[[], Agreement]:
    """Return a function that repeats a run with other methods or steps, and counts the digits that agree.

    The controller of these is that of the run, unless another is given that does the same.
    """
    controller = run.controller if controller is None else controller
    how, remembered = further_runs(run.simulation), controller_state(controller)
    further: list[tuple[SampledRun, dict[str, Any]]] = []

    def begin(changed: dict[str, object]) -> SampledRun:
        restore_controller(controller, remembered)
        kept = options if "method" not in changed else options | {"spectral_radius": None}
        other = begun_simulation(run.simulation.system, kept | changed)
        other.plans = run.simulation.plans.from_start()  # none is made twice
        again = SampledRun(other, run.until if run.looks is None else run.looks, controller, run.period)
        further.append((again, kept | changed))
        return again

    def again() -> Agreement:
        reached = controller_state(controller)
        found = agreement(run, begin, how)
        for one, given in further:
            if one.finished:
                give_back(one.simulation, given)
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
    before = 0.0 if writer is None else writer.wall
    with ProgressMonitor(run.start, float(run.until[-1]), progress, time_limit) as watch:
        trajectory = followed(run, watch, writer, again, before=before)
        if run.finished:
            watch.finish(float(trajectory.t[-1]))
    return trajectory


def followed(
    run: SampledRun,
    watch: Callable[[float], bool],
    writer: CheckpointWriter | None = None,
    again: Callable[[], Agreement] | None = None,
    *,
    before: float = 0.0,
    at_once: bool = False,
) -> Trajectory:
    """March a run to its end, or until `watch` wants it, and return its trajectory; see `made_of`.

    `before` is how many seconds it had taken already, and with `at_once` its certificate is measured now.
    """
    began = time.perf_counter()
    failure: SimulationError | ResultError | None = None
    try:
        run.go(watch, writer)
    except (SimulationError, ResultError) as error:
        failure = error
    return made_of(run, failure, before + time.perf_counter() - began, again, at_once=at_once)


def made_of(
    run: SampledRun,
    failure: SimulationError | ResultError | None,
    wall: float,
    again: Callable[[], Agreement] | None = None,
    *,
    at_once: bool = False,
) -> Trajectory:
    """Return the trajectory of a run that was marched as far as it goes; raise its error, with the trajectory."""
    stopped = str(failure) if failure is not None else "" if run.finished else "interrupted"
    t, rows, efforts = ended(run)
    wrong = ~np.isfinite(rows).all(axis=1)
    if wrong.any():
        k = int(wrong.argmax())
        stopped = stopped or f"at t = {t[k]:.9g} s a number is not finite: the motion blows up"
        failure = failure or SimulationError(stopped)
        if not k:
            raise failure
        t, rows, efforts = t[:k], rows[:k], efforts if efforts.ndim == 1 else efforts[:k]
    agreed = None if again is None or stopped else again()
    trajectory = trajectory_of(run, (t, rows, efforts), stopped, wall, agreed, at_once=at_once)
    if failure is not None:
        failure.trajectory = trajectory
        if isinstance(failure, SimulationError):
            failure.args = ("; ".join([str(failure), *doubts(run, trajectory)]),)
        raise failure
    return trajectory


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
    shared = {name: value for name, value in options.items() if name not in OF_SIMULATE}
    _check_coordinates(options.get("coordinates", "joint"))
    truth(options.get("verify", False), "verify=")
    if shared.get("formulation") != "natural":
        Simulation(system, checked=False, **shared)


def _check_coordinates(coordinates: object) -> None:
    if not isinstance(coordinates, str) or coordinates not in COORDINATES:
        known = " or ".join(f'"{name}"' for name in COORDINATES)
        raise StateError(f"coordinates= must be {known}, not {shown(coordinates)}")
