"""Runs in absolute coordinates with multipliers (Nikravesh 1-4); their trajectory is in joint coordinates like any.

What is integrated is the twin of the mechanism (`system/absolute_coordinates.py`): positions, quaternions and
velocities of all bodies, brought back onto the joints' conditions after each step as all loops are. The certificate is
that of the twin, so that it tells how well the joints are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from whippletree.errors import SimulationError, StateError
from whippletree.kernels.kernel import Array
from whippletree.results.trajectory import Trajectory
from whippletree.simulate import system_interface
from whippletree.simulate.run_arguments import finite
from whippletree.system import System
from whippletree.system.absolute_coordinates import AbsoluteCoordinates

__all__ = ["COORDINATES", "simulate_absolute"]

COORDINATES = ("joint", "absolute")
"""Coordinates that a run can be integrated in, beside natural coordinates."""

CHOSEN_BY_NUMBERS = "absolute"
"""The formulation whose runs watch independent coordinates, and choose others where these become bad."""

_NOT_HERE = {
    "controller": "a controller",
    "checkpoint": "checkpoints",
    "on_event": "functions that are called at events",
}


def simulate_absolute(
    system: System,
    run: Callable[..., Trajectory],
    t0: float,
    options: Mapping[str, object],
) -> Trajectory:
    """Let `run(system, t0=, **options)` go on the twin, and return the trajectory of the joints."""
    for name, words in _NOT_HERE.items():
        if options.get(name) not in (None, False):
            raise StateError(f'a run with coordinates="absolute" does not take {words}: leave coordinates= out')
    for use in system.description.events:
        if any(kind == "velocity" for kind, _, _ in use.sets):
            raise StateError(
                f'a run with coordinates="absolute" does not take event "{use.name}", which sets velocities of joints: '
                "leave coordinates= out"
            )
    if not system.absolute.bodies:
        raise StateError('coordinates="absolute": no body can move')
    absolute, given = system.absolute, dict(options)
    _start(absolute, given, finite(t0, "t0"))
    asked = given.pop("formulation", None)
    if asked in (None, "auto") and absolute.formulation != CHOSEN_BY_NUMBERS:
        try:
            return _run(absolute, run, t0, {**given, "formulation": absolute.formulation})
        except SimulationError:
            asked = CHOSEN_BY_NUMBERS  # next to a singular position: independent coordinates tell when it is passed
    return _run(absolute, run, t0, {**given, "formulation": CHOSEN_BY_NUMBERS if asked in (None, "auto") else asked})


def _run(
    absolute: AbsoluteCoordinates, run: Callable[..., Trajectory], t0: float, given: Mapping[str, object]
) -> Trajectory:
    """Let a run of the twin go, and return the trajectory of the joints, as far as it came."""
    try:
        return _of_joints(absolute, run(absolute.system, t0=t0, **given))
    except SimulationError as error:
        if error.trajectory is not None:
            error.trajectory = _of_joints(absolute, error.trajectory)
        raise


def _start(absolute: AbsoluteCoordinates, given: dict[str, Any], t: float) -> None:
    """Put the start and the efforts of the joints in terms of the twin."""
    system = absolute.joint_system
    parameters = system_interface.checked_parameters(system, given.get("parameters"))
    q, v = given.get("q"), given.get("v")
    q = system.q0 if q is None else system_interface.start_configuration(system, q, t, parameters)
    v = system.v0 if v is None else system_interface.start_velocities(system, q, v, t, parameters)
    system_interface.check_closures(system, q, v, t, parameters)
    given["q"], given["v"] = absolute.state(q, v, parameters=parameters)
    if given.get("tau") is not None:
        tau = np.zeros(absolute.system.nv)
        tau[absolute.v_places] = system_interface.checked_efforts(system, given["tau"])
        given["tau"] = tau


def _of_joints(absolute: AbsoluteCoordinates, found: Trajectory) -> Trajectory:
    """Return a run of the twin as one of the joints."""
    q, v = absolute.joints(found.q, found.v)
    events = [replace(one, q=one.q[absolute.q_places], v=one.v[absolute.v_places]) for one in found.events]

    def of_joints(efforts: Array | None) -> Array | None:
        return None if efforts is None else np.asarray(efforts)[..., absolute.v_places]

    return Trajectory(
        absolute.joint_system,
        found.t,
        q,
        v,
        found.z,
        found.certificate,
        events,
        info={**found.info, "coordinates": "absolute"},
        parameters=found.parameters,
        efforts=of_joints(found.efforts),
        work=found.work,
    )
