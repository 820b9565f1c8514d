"""Inputs and outputs of a linear model by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.linear.nominal_state import NominalState
from whippletree.model.names import suggestion
from whippletree.results.labels import Labels, effort_unit, rate_unit
from whippletree.spatial.scalars import shown
from whippletree.system import System

__all__ = ["InputSignal", "LinearMaps", "OutputSignal", "freedom_labels", "named_inputs", "named_outputs"]

_AXES = ("x", "y", "z")


class LinearMaps(NamedTuple):
    """How velocities and displacements of all joints follow from the states x = (displacements, velocities, z).

    `displacements`, `velocities` and `accelerations` (nv, n) have a column for every state of the model, `by_inputs`
    (nv, m) are those of the accelerations for the inputs.
    """

    displacements: Array
    velocities: Array
    accelerations: Array
    by_inputs: Array
    z: Array


class InputSignal(NamedTuple):
    """An input: its name and unit, and what it is: an "effort" or "acceleration" of a freedom, or a "parameter"."""

    name: str
    unit: str
    kind: str
    index: int


class OutputSignal(NamedTuple):
    """An output: its name and unit, its rows of C and D, and its value at the nominal state."""

    name: str
    unit: str
    row: Array
    value: float
    direct: Array | None = None


def freedom_labels(system: System) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return names and units of the displacements and of the velocities of all freedoms.

    >>> from whippletree.system.example_systems import pendulum
    >>> freedom_labels(pendulum())
    ([('hinge.angle', 'rad')], [('hinge.angular velocity', 'rad/s')])
    """
    labels = Labels.of(system)
    speeds = [(label.text, label.unit) for label in labels.velocities]
    places: list[tuple[str, str]] = []
    for use in system.description.coordinate_owners:
        if use.joint.quaternion:
            for what in use.joint.velocity_labels:
                turned = "angular" in what
                word = what.replace("angular velocity", "rotation").replace("velocity", "displacement")
                places.append((f"{use.name}.{word}", "rad" if turned else "m"))
        else:
            own = labels.coordinates[labels.q_slice(use.name)]
            places += [(label.text, label.unit) for label in own]
    return places, speeds


def named_inputs(system: System, names: Any) -> list[InputSignal]:
    """Return the inputs that names stand for.

    A joint, or (joint, index), means its effort, "joint.effort" too; "joint.acceleration" that of a prescribed joint;
    anything else is a parameter.
    """
    found: list[InputSignal] = []
    for name in listed(names, "inputs"):
        found += _input(system, name)
    _refuse_twice([one.name for one in found], "inputs")
    return found


def _input(system: System, given: Any) -> list[InputSignal]:
    name, index = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    text = getattr(name, "name", name)
    parameters = [p.name for p in system.description.parameters]
    owners = [use.name for use in system.description.coordinate_owners]
    joint, _, word = text.rpartition(".") if isinstance(text, str) and "." in text else (text, "", "effort")
    if text in owners:
        joint, word = text, "effort"
    if joint in owners and word in ("effort", "acceleration"):
        if text in parameters:
            raise ModelError(f'"{text}" is a joint and a parameter: write "{text}.effort" for the joint')
        return _of_joint(system, joint, word, index)
    if text in parameters and index is None:
        return [InputSignal(text, "", "parameter", parameters.index(text))]
    drives = [f"{use.name}.{word}" for use in system.description.closures for word in ("acceleration", "effort")]
    raise ModelError(f"inputs=: there is no joint, drive or parameter {suggestion(text, [*owners, *parameters, *drives])}")


def _of_joint(system: System, joint: str, word: str, index: Any) -> list[InputSignal]:
    where = system.v_slice(joint)
    mask = system.kernels.inputs.freedoms([joint if index is None else (joint, index)], "inputs")
    use = next(one for one in system.description.coordinate_owners if one.name == joint)
    if word == "acceleration" and not use.prescribed:
        raise StateError(
            f'inputs=: joint "{joint}" moves freely, so that its acceleration is no input: give "{joint}.effort", or '
            "declare the joint with prescribed=True"
        )
    if word == "effort" and use.prescribed:
        raise StateError(
            f'inputs=: joint "{joint}" is prescribed, so that its effort follows from its motion: give '
            f'"{joint}.acceleration", or declare the joint without prescribed=True'
        )
    speeds = freedom_labels(system)[1]
    found = []
    for i in np.flatnonzero(mask):
        label, unit = speeds[i]
        own = f"{joint}.{word}" if where.stop - where.start == 1 else f"{label}: {word}"
        found.append(InputSignal(own, effort_unit(unit) if word == "effort" else rate_unit(unit), word, int(i)))
    return found


def named_outputs(at: NominalState, maps: LinearMaps, names: Any) -> list[OutputSignal]:
    """Return the outputs that names stand for.

    A joint means its coordinates, and a body or frame its position; "joint.velocity", "joint.acceleration",
    "place.velocity", "place.rotation" and "place.angular velocity" what they say; the name of a state or a label such
    as "A.angle" that one number.
    """
    found: list[OutputSignal] = []
    for name in listed(names, "outputs"):
        found += _output(at, maps, getattr(name, "name", name))
    _refuse_twice([one.name for one in found], "outputs")
    return found


def _output(at: NominalState, maps: LinearMaps, text: Any) -> list[OutputSignal]:
    system = at.system
    owners = [use.name for use in system.description.coordinate_owners]
    places = [b.name for b in system.description.bodies] + [f.name for f in system.description.frames]
    if text in owners:
        return _of_freedoms(at, maps, text, "coordinates")
    if text in places:
        return _of_place(at, maps, text, "position")
    if text in system.element_states:
        k = system.element_states.index(text)
        assert at.z is not None
        return [OutputSignal(text, "", maps.z[k], float(at.z[k]))]
    owner, _, word = text.rpartition(".") if isinstance(text, str) else ("", "", "")
    if owner in owners and word in _FREEDOM_WORDS:
        return _of_freedoms(at, maps, owner, word)
    if owner in places and word in _PLACE_WORDS:
        return _of_place(at, maps, owner, word)
    for kind, labels in zip(("coordinates", "velocity"), freedom_labels(system), strict=True):
        labelled = [name for name, _ in labels]
        if text in labelled:
            joint = next(one for one in owners if text.startswith(f"{one}."))
            return [one for one in _of_freedoms(at, maps, joint, kind) if one.name == text]
    words = [*owners, *places, *system.element_states, *(f"{o}.{w}" for o in owners for w in _FREEDOM_WORDS[1:])]
    raise ModelError(f"outputs=: there is no quantity {suggestion(text, words)}")


_FREEDOM_WORDS = ("coordinates", "velocity", "acceleration")
_PLACE_WORDS = ("position", "rotation", "velocity", "angular velocity")


def _of_freedoms(at: NominalState, maps: LinearMaps, joint: str, word: str) -> list[OutputSignal]:
    """Return a joint's displacements, velocities or accelerations."""
    system, where = at.system, at.system.v_slice(joint)
    places, speeds = freedom_labels(system)
    if word == "coordinates":
        use = next(one for one in system.description.coordinate_owners if one.name == joint)
        values = np.zeros(use.joint.nv) if use.joint.quaternion else at.q[system.q_slice(joint)]
        return _signals(places[where], maps.displacements[where], values)
    if word == "velocity":
        return _signals(speeds[where], maps.velocities[where], at.v[where])
    labels = [(name.replace("velocity", "acceleration"), rate_unit(unit)) for name, unit in speeds[where]]
    found = _signals(labels, maps.accelerations[where], at.accelerations()[where])
    return [one._replace(direct=row) for one, row in zip(found, maps.by_inputs[where], strict=True)]


def _of_place(at: NominalState, maps: LinearMaps, place: str, word: str) -> list[OutputSignal]:
    """Return position, small rotation or velocities of a body or frame, in ground axes."""
    system = at.system
    J = system.jacobian(at.q, place, parameters=at.parameters)
    part = slice(0, 3) if word in ("rotation", "angular velocity") else slice(3, 6)
    if word in ("position", "rotation"):
        values = system.pose(at.q, place, parameters=at.parameters)[:3, 3] if word == "position" else np.zeros(3)
        unit = "m" if word == "position" else "rad"
        return _signals([(f"{place}.{word} {c}", unit) for c in _AXES], (J @ maps.displacements)[part], values)
    unit = "m/s" if word == "velocity" else "rad/s"
    values = system.velocity(at.q, at.v, place, parameters=at.parameters)
    rows = J @ maps.velocities + _turned_velocity(at, place) @ maps.displacements
    return _signals([(f"{place}.{word} {c}", unit) for c in _AXES], rows[part], values[part])


def _turned_velocity(at: NominalState, place: str) -> Array:
    """Return the derivatives (6, nv) of a place's velocity for displacements, the joints' velocities staying."""
    import casadi as ca

    system = at.system
    if not np.abs(at.v).max(initial=0.0):
        return np.zeros((6, system.nv))
    velocity, move = system.function("velocity", frame=place), system.function("integrate")
    u = ca.SX.sym("u", system.nv)
    values = {"q": at.q, "v": at.v, "parameters": _parameters(at)}
    given = [values[velocity.name_in(i)] for i in range(1, velocity.n_in())]
    moved = move(at.q, u, *([_parameters(at)] if move.n_in() > 2 else []))
    slope = ca.jacobian(velocity(moved, *given), u)
    return np.asarray(ca.Function("slope", [u], [slope])(0).full())


def _parameters(at: NominalState) -> Array:
    described = at.system.description.parameter_values
    return np.array(described, dtype=np.float64) if at.parameters is None else at.parameters


def _signals(labels: Sequence[tuple[str, str]], rows: Array, values: Array) -> list[OutputSignal]:
    return [
        OutputSignal(name, unit, row, float(value))
        for (name, unit), row, value in zip(labels, rows, values, strict=True)
    ]


def listed(names: Any, what: str) -> list[Any]:
    """Return names as a list; one name alone is refused, as it is elsewhere."""
    try:
        items = None if isinstance(names, str) else list(names)
    except Exception:  # whatever it raises, it is no list
        items = None
    if items is None:
        raise StateError(f"{what}= must be a list of names, not {shown(names)}")
    return items


def _refuse_twice(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise StateError(f'{what}= names "{name}" twice')
        seen.add(name)


