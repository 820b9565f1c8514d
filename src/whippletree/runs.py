"""Runs: what a simulation computes becomes a trajectory with its certificate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from whippletree.errors import SimulationError, StateError
from whippletree.kernels.kernel import Array
from whippletree.results.certificate import Certificate
from whippletree.results.measure import measured
from whippletree.results.replay import Replay
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.control import Controller, controlled
from whippletree.simulate.simulation import Simulation
from whippletree.system import System
from whippletree.watch import Watch

__all__ = ["simulate"]

_OUTPUTS = 500
"""How many outputs there are if nobody says."""

_MOST = 50_000_000


def simulate(
    system: System,
    duration: float,
    *,
    every: float | None = None,
    times: Any = None,
    progress: bool | Callable[[float], None] = False,
    t0: float = 0.0,
    controller: Controller | None = None,
    period: float | None = None,
    **options: Any,
) -> Trajectory:
    """Simulate for a duration and return the trajectory; options as for `Simulation`.

    A `controller(t, q, v, z)` is called every `period` seconds and returns joint efforts, all or by joint, which are
    held until the next call; joints that it does not name keep those of `tau`.

    Events of the mechanism are in `trajectory.events`, and `info["ended_by"]` names the one that ended the run.
    `on_event(simulation, event)`, or a mapping from names to such functions, is called when an event happens: it may
    set `simulation.state`, or other things by `simulation.put`; if it returns True, the run ends.

    If the run is interrupted, or cannot go on, what was computed is not lost: an interruption returns it, and an error
    carries it as `error.trajectory`.

    >>> from whippletree.system.system import _pendulum
    >>> run = simulate(_pendulum(), 1.0, every=0.5)
    >>> run.t.tolist(), run.certificate.ok
    ([0.0, 0.5, 1.0], True)
    """
    until = _outputs(duration, every, times, t0)
    simulation = Simulation(system, t=t0, **options)
    began = time.perf_counter()
    stopped = ""
    failure: SimulationError | None = None
    efforts = simulation.tau.copy()
    if controller is None and period is not None:
        raise StateError("period= is that of a controller: give controller= too")
    with Watch(t0, float(until[-1]), progress) as watch:
        try:
            if controller is None:
                rows = simulation.run(until, watch)
            else:
                rows, efforts = controlled(simulation, controller, period, until, watch)
            if len(rows) < len(until) and not simulation.events.ended:
                stopped = "interrupted"
        except SimulationError as error:
            rows, stopped, failure = error.rows, str(error), error
            efforts = efforts if error.efforts is None else error.efforts
        wall = time.perf_counter() - began
        run = _trajectory(simulation, *_ended(simulation, until, rows, efforts), stopped, wall)
    if failure is not None:
        failure.trajectory = run
        raise failure
    return run


def _ended(simulation: Simulation, until: Array, rows: Array, efforts: Array) -> tuple[Array, Array, Array]:
    """Return times, rows and efforts of the outputs made; a run that ended early has one more, where it ended."""
    t = until[: len(rows)]
    now = simulation.state
    if len(rows) < len(until) and (not len(t) or now.t > t[-1]):
        t = np.append(t, now.t)
        rows = np.vstack([rows, np.concatenate([now.q, now.v, now.z, [now.work_in, now.work_dissipated]])])
        efforts = efforts if efforts.ndim == 1 else np.vstack([efforts, simulation.tau])
    return t, rows, efforts


def _settings(simulation: Simulation, t: Array, efforts: Array) -> tuple[Array, Array | None]:
    """Return the efforts and the parameters, at every output if events have changed them."""
    changes = simulation.events.changes
    if not changes:
        return efforts, simulation.parameters
    which = np.searchsorted([change.t for change in changes], t, side="left") - 1
    if simulation.events.ended:
        which[-1] = len(changes) - 1
    if efforts.ndim == 1:
        efforts = np.array([changes[k].tau for k in which])
    return efforts, np.array([changes[k].parameters for k in which]) if changes[0].parameters.size else None


def _trajectory(simulation: Simulation, t: Array, rows: Array, efforts: Array, stopped: str, wall: float) -> Trajectory:
    """Return the rows of a run as a trajectory, certified."""
    system = simulation.system
    nq, nv = system.nq, system.nv
    q, v, z, work = rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv : -2], rows[:, -2:]
    counted: dict[str, Any] = {
        "steps": simulation.steps,
        "refused": simulation.refused,
        "evaluations": simulation.evaluations,
        "replans": tuple(simulation.replans),
        "singular": tuple(simulation.singular),
        "wall_time": wall,
        "stopped": stopped,
    }
    efforts, parameters = _settings(simulation, t, efforts)
    found: dict[str, Any] = {}
    if len(t):
        replay = Replay(system, t, q, v, z, parameters=parameters, efforts=efforts, work=work)
        found = measured(replay)
    known = {k: x for k, x in found.items() if k in Certificate.__dataclass_fields__}
    certificate = Certificate(**known, **counted)
    info = {"method": simulation.name, "tolerance": simulation.tolerance, "formulation": simulation.formulation}
    if simulation.events.ended:
        info["ended_by"] = simulation.events.ended
    events = simulation.events.happened
    return Trajectory(
        system, t, q, v, z, certificate, events, info=info, parameters=parameters, efforts=efforts, work=work
    )


def _outputs(duration: Any, every: Any, times: Any, t0: float) -> Array:
    """Return the times of the outputs."""
    try:
        length = float(duration)
    except (TypeError, ValueError):
        length = np.nan
    if not (np.isfinite(length) and length > 0):
        raise StateError(f"duration must be a positive number of seconds, not {duration!r}")
    if times is not None:
        given = np.asarray(times, dtype=np.float64)
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
            raise StateError("times= must be increasing finite numbers")
        if given[0] < t0 or given[-1] > t0 + length * (1 + 1e-12):
            raise StateError(f"times= must lie between {t0} and {t0 + length}")
        return given
    step = length / _OUTPUTS if every is None else float(every)
    if not (np.isfinite(step) and step > 0):
        raise StateError(f"every= must be a positive number of seconds, not {every!r}")
    if length / step > _MOST:
        raise StateError(f"every={every!r} asks for {length / step:.3g} outputs: take fewer than {_MOST}")
    count = int(np.floor(length / step * (1 + 1e-12)))
    outputs = t0 + step * np.arange(count + 1)
    if outputs[-1] < t0 + length * (1 - 1e-12):
        outputs = np.append(outputs, t0 + length)
    outputs[-1] = min(outputs[-1], t0 + length)
    return np.asarray(outputs, dtype=np.float64)
