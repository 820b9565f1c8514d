"""A controller in plain Python: called at a fixed period, its efforts held in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from whippletree.errors import SimulationError, StateError, WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.simulate.simulation import Simulation, positive
from whippletree.spatial.scalars import shown

__all__ = ["Controller", "controlled"]

Controller = Callable[[float, Array, Array, Array], Any]
"""A function of time, coordinates, velocities and elements' states that returns joint efforts, all or by joint."""

_MEETS = 1e-9
"""The share of a period by which an output may miss a sample and still be taken as at it."""

_MOST = 50_000_000


def controlled(
    simulation: Simulation,
    controller: Any,
    period: Any,
    until: Array,
    watch: Callable[[float], bool] | None = None,
) -> tuple[Array, Array]:
    """Move on as `Simulation.run` does, with efforts from a controller; return the rows and the efforts at each.

    Steps end exactly at the samples. At a sample, the efforts are those that begin there; at the end of the run, those
    that were held until then. An error carries both as `rows` and `efforts`. If the controller is interrupted, or
    `watch` wants it, only so many rows are returned as there are.

    >>> from whippletree.simulate.simulation import _example
    >>> rows, efforts = controlled(_example(), lambda t, q, v, z: [2 * t], 0.25, np.array([0.0, 0.1, 0.6]))
    >>> efforts.ravel().tolist()
    [0.0, 0.0, 1.0]
    """
    if not callable(controller):
        raise StateError(f"controller= must be a function of (t, q, v, z), not {shown(controller)}")
    samples = _samples(simulation.state.t, _period(period), until)
    base = simulation.tau.copy()
    rows = np.zeros((len(until), simulation.row_size))
    efforts = np.zeros((len(until), base.size))
    made = 0
    for start, end in zip(samples, [*samples[1:], np.inf], strict=True):
        last = end > until[-1]
        inside = until[made:] if last else until[made : np.searchsorted(until, end, "left")]
        try:
            try:
                simulation.tau[:] = _asked(simulation, controller, base)
            except KeyboardInterrupt:
                break
            done = simulation.run(inside if last else np.append(inside, end), watch)
        except SimulationError as error:
            known = np.zeros((0, rows.shape[1])) if error.rows is None else error.rows[: len(inside)]
            if not len(known) and made < len(until) and until[made] <= start:
                known = simulation.run(until[made : made + 1])  # the state at the sample itself
            rows[made : made + len(known)], efforts[made : made + len(known)] = known, simulation.tau
            made += len(known)
            error.rows, error.efforts = rows[:made], efforts[:made]
            raise
        full = len(done) == len(inside) + (not last)
        known = done[: len(inside)]
        rows[made : made + len(known)], efforts[made : made + len(known)] = known, simulation.tau
        made += len(known)
        if last or not full:
            break
    return rows[:made], efforts[:made]


def _period(period: Any) -> float:
    if period is None:
        raise StateError("a controller is called at a fixed period: give period= in seconds")
    return positive(period, "period")


def _samples(start: float, period: float, until: Array) -> list[float]:
    """Return the times at which the controller is called; one that an output all but meets is at that output."""
    count = np.ceil((until[-1] - start) / period * (1 - _MEETS))
    if count > _MOST:
        raise StateError(f"period={period!r} asks for {count:.3g} calls of the controller: take fewer than {_MOST}")
    samples = start + period * np.arange(max(int(count), 1))
    near = np.clip(np.searchsorted(until, samples), 1, len(until)) - 1
    for beside in (near, np.minimum(near + 1, len(until) - 1)):
        met = np.abs(until[beside] - samples) <= _MEETS * period
        samples[met] = until[beside][met]
    return [float(t) for t in samples]


def _asked(simulation: Simulation, controller: Controller, base: Array) -> Array:
    """Return the efforts that the controller wants at the present state."""
    state = simulation.state
    when = f"at t = {state.t:.9g} s the controller"
    try:
        answer = controller(state.t, state.q, state.v, state.z)
    except SimulationError as error:
        raise SimulationError(f"{when} failed: {error}") from error
    except Exception as error:
        raise SimulationError(f"{when} failed: {type(error).__name__}: {error}") from error
    if answer is None:
        raise SimulationError(f"{when} returned nothing: it must return {base.size} efforts, or efforts by joint")
    try:
        efforts = simulation.system._efforts(answer)
    except WhippletreeError as error:
        raise SimulationError(f"{when} returned what is no effort: {_named(simulation, answer, error)}") from None
    if isinstance(answer, Mapping):
        for i in range(base.size):
            if simulation.system._states.joint_of(i) not in {getattr(name, "name", name) for name in answer}:
                efforts[i] = base[i]
    return efforts


def _named(simulation: Simulation, answer: Any, error: WhippletreeError) -> str:
    """Say which joint's effort is not finite; if that is not it, what the error says."""
    try:
        states = simulation.system._states
        values = states.velocities(answer) if isinstance(answer, Mapping) else np.asarray(answer, dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
    except (WhippletreeError, TypeError, ValueError):
        return str(error)
    if values.shape != (simulation.system.nv,) or not wrong.size:
        return str(error)
    return f"the effort of {states.velocity_label(int(wrong[0]))} is {values[wrong[0]]}"
