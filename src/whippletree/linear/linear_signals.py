"""Inputs and outputs of a linear model by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.linear.nominal_state import NominalState
from whippletree.model.names import suggestion
from whippletree.results.labels import Labels, effort_unit, rate_unit
from whippletree.spatial.scalars import listed, shown
from whippletree.system import System
from whippletree.system.quantities import numbered

if TYPE_CHECKING:
    from whippletree.system.derivative_calls import DerivativeParts

__all__ = ["InputSignal", "LinearMaps", "OutputSignal", "freedom_labels", "named_inputs", "named_outputs"]

_AXES = ("x", "y", "z")


class LinearMaps(NamedTuple):
    """How the motion of all joints follows from the states x = (displacements, velocities, z), and from the inputs.

    `displacements`, `velocities` and `accelerations` (nv, n) have a column for every state of the model, and those
    `by_inputs` (nv, m) one for every input. `z` picks the states of elements.
    """

    displacements: Array
    velocities: Array
    accelerations: Array
    displacements_by_inputs: Array
    velocities_by_inputs: Array
    accelerations_by_inputs: Array
    z: Array
    pick: ColumnPick


class InputSignal(NamedTuple):
    """An input: its name, its unit and its kind, the "effort" or "acceleration" of a freedom or a "parameter"."""

    name: str
    unit: str
    kind: str
    place: int


class ColumnPick(NamedTuple):
    """Which columns of derivatives are those of the states (displacements d, velocities w, all z) and of the inputs."""

    d: tuple[int, ...]
    w: tuple[int, ...]
    signals: tuple[InputSignal, ...]

    @property
    def by_parameters(self) -> bool:
        """Whether a parameter is an input."""
        return any(one.kind == "parameter" for one in self.signals)

    def columns(self, slopes: DerivativeParts) -> tuple[Array, Array]:
        """Return derivatives of a result, a row for each of its numbers, for the states and for the inputs."""
        by_state = np.concatenate([slopes.q[..., list(self.d)], slopes.v[..., list(self.w)], slopes.z], axis=-1)
        of_kind = {"effort": slopes.tau, "acceleration": slopes.a, "parameter": slopes.parameters}
        picked = [of_kind[one.kind][..., one.place] for one in self.signals]
        by_input = np.stack(picked, axis=-1) if picked else np.zeros((*by_state.shape[:-1], 0))
        rows = math.prod(by_state.shape[:-1])
        return by_state.reshape(rows, by_state.shape[-1]), by_input.reshape(rows, len(self.signals))


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


def named_inputs(system: System, names: Sequence[Any]) -> list[InputSignal]:
    """Return the inputs that names stand for.

    A joint, or (joint, index), means its effort, "joint.effort" too; "joint.acceleration" that of a prescribed joint;
    anything else is a parameter.
    """
    found: list[InputSignal] = []
    for name in signal_list(names, "inputs"):
        found += _input(system, name)
    _refuse_twice([one.name for one in found], "inputs")
    return found


def _input(system: System, given: object) -> list[InputSignal]:
    name, index = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    text = getattr(name, "name", name)
    if not isinstance(text, str):
        raise ModelError(f"inputs=: there is no joint, drive or parameter {suggestion(text, ())}")
    parameters = [p.name for p in system.description.parameters]
    owners = [use.name for use in system.description.coordinate_owners]
    joint, _, word = text.rpartition(".") if "." in text else (text, "", "effort")
    if text in owners:
        joint, word = text, "effort"
    if joint in owners and word in ("effort", "acceleration"):
        if text in parameters:
            raise ModelError(f'"{text}" is a joint and a parameter: write "{text}.effort" for the joint')
        return _of_joint(system, joint, word, index)
    if text in parameters and index is None:
        return [InputSignal(text, "", "parameter", parameters.index(text))]
    drives = [f"{use.name}.{word}" for use in system.description.closures for word in ("acceleration", "effort")]
    raise ModelError(
        f"inputs=: there is no joint, drive or parameter {suggestion(text, [*owners, *parameters, *drives])}"
    )


def _of_joint(system: System, joint: str, word: str, index: int | None) -> list[InputSignal]:
    where = system.v_slice(joint)
    mask = system.kernels.inputs.freedoms([joint if index is None else (joint, index)], "inputs")
    use = next(one for one in system.description.coordinate_owners if one.name == joint)  # not empty: v_slice knows it
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


def named_outputs(at: NominalState, maps: LinearMaps, names: Sequence[Any]) -> list[OutputSignal]:
    """Return the outputs that names stand for.

    A joint means its coordinates, and a body or frame its position; "joint.velocity", "joint.acceleration",
    "place.velocity", "place.rotation" and "place.angular velocity" what they say; "joint.force" and "joint.moment" are
    those that the joint transmits, "joint.effort" what drives it; the name of a force element stands for what it does,
    that of a closure for its forces; the name of a state or a label such as "A.angle" for that one number.
    """
    found: list[OutputSignal] = []
    for name in signal_list(names, "outputs"):
        found += _output(at, maps, getattr(name, "name", name))
    _refuse_twice([one.name for one in found], "outputs")
    return found


def _output(at: NominalState, maps: LinearMaps, text: object) -> list[OutputSignal]:
    system = at.system
    if not isinstance(text, str):
        raise ModelError(f"outputs=: there is no quantity {suggestion(text, ())}")
    owners = [use.name for use in system.description.coordinate_owners]
    places = [b.name for b in system.description.bodies] + [f.name for f in system.description.frames]
    if text in owners:
        return _of_freedoms(at, maps, text, "coordinates")
    if text in places:
        return _of_place(at, maps, text, "position")
    if text in system.kernels.elements.names:
        k = system.kernels.elements.names.index(text)
        assert at.z is not None
        return [OutputSignal(text, "", maps.z[k], float(at.z[k]))]
    if text in [use.name for use in system.description.forces]:
        return _of_element(at, maps, text)
    if text in [use.name for use in system.description.closures]:
        return _of_closure(at, maps, text)
    owner, _, word = text.rpartition(".")
    if owner in owners and word in _FREEDOM_WORDS:
        return _of_freedoms(at, maps, owner, word)
    if owner in system.joint_names and word in ("force", "moment"):
        return _of_reaction(at, maps, owner, word)
    if owner in owners and word == "effort":
        return _of_drive(at, maps, owner)
    if owner in places and word in _PLACE_WORDS:
        return _of_place(at, maps, owner, word)
    for kind, labels in zip(("coordinates", "velocity"), freedom_labels(system), strict=True):
        labelled = [name for name, _ in labels]
        if text in labelled:
            # not empty: labels begin with their owner
            joint = next(one for one in owners if text.startswith(f"{one}."))
            return [one for one in _of_freedoms(at, maps, joint, kind) if one.name == text]
    words = [
        *owners,
        *places,
        *system.kernels.elements.names,
        *(f"{o}.{w}" for o in owners for w in _FREEDOM_WORDS[1:]),
    ]
    raise ModelError(f"outputs=: there is no quantity {suggestion(text, words)}")


_FREEDOM_WORDS = ("coordinates", "velocity", "acceleration")
_WRENCH = tuple((f"{what} {c}", unit) for what, unit in (("moment", "N m"), ("force", "N")) for c in _AXES)
_PLACE_WORDS = ("position", "rotation", "velocity", "angular velocity")


def _of_freedoms(at: NominalState, maps: LinearMaps, joint: str, word: str) -> list[OutputSignal]:
    """Return a joint's displacements, velocities or accelerations."""
    system, where = at.system, at.system.v_slice(joint)
    places, speeds = freedom_labels(system)
    if word == "coordinates":
        # not empty: v_slice knows it
        use = next(one for one in system.description.coordinate_owners if one.name == joint)
        values = np.zeros(use.joint.nv) if use.joint.quaternion else at.q[system.q_slice(joint)]
        found = _signals(places[where], maps.displacements[where], values)
        return _direct(found, maps.displacements_by_inputs[where])
    if word == "velocity":
        found = _signals(speeds[where], maps.velocities[where], at.v[where])
        return _direct(found, maps.velocities_by_inputs[where])
    labels = [(name.replace("velocity", "acceleration"), rate_unit(unit)) for name, unit in speeds[where]]
    found = _signals(labels, maps.accelerations[where], at.accelerations()[where])
    return _direct(found, maps.accelerations_by_inputs[where])


def _of_result(at: NominalState, maps: LinearMaps, name: str) -> tuple[Array, Array]:
    """Return the rows of C and D of a result by name."""
    return maps.pick.columns(at.system.derivatives_of(name, at.q, at.v, at.tau, **at.options))


def _direct(found: list[OutputSignal], direct: Array) -> list[OutputSignal]:
    return [one._replace(direct=row) for one, row in zip(found, direct, strict=True)]


def _of_reaction(at: NominalState, maps: LinearMaps, joint: str, word: str) -> list[OutputSignal]:
    """Return force or moment that a joint transmits to its child, in ground axes."""
    system = at.system
    first = 6 * system.joint_names.index(joint) + (3 if word == "force" else 0)
    rows, direct = (part[first : first + 3] for part in _of_result(at, maps, "reactions"))
    values = getattr(system.reactions(at.q, at.v, at.tau, **at.options)[joint], word)
    unit = "N" if word == "force" else "N m"
    return _direct(_signals([(f"{joint}.{word} {c}", unit) for c in _AXES], rows, values), direct)


def _of_drive(at: NominalState, maps: LinearMaps, joint: str) -> list[OutputSignal]:
    """Return the effort that drives a joint: the given one, or the one that a prescribed joint needs."""
    where = at.system.v_slice(joint)
    rows, direct = (part[where] for part in _of_result(at, maps, "driving_forces"))
    values = at.system.driving_forces(at.q, at.v, at.tau, **at.options)[where]
    labels = [(f"{name}: effort", effort_unit(unit)) for name, unit in freedom_labels(at.system)[1][where]]
    return _direct(_signals(labels, rows, values), direct)


def _of_element(at: NominalState, maps: LinearMaps, name: str) -> list[OutputSignal]:
    """Return the actions of a force element: wrenches on bodies in ground axes, and efforts on coordinates."""
    more = {key: value for key, value in at.options.items() if key != "a"}
    first, found = 0, at.system.forces(at.q, at.v, **more)
    for use in at.system.description.forces:
        if use.name == name:
            break
        first += found[use.name].wrenches.size + found[use.name].efforts.size
    force, (sides, coordinates) = found[use.name], use.acts_on
    bodies = numbered(force.bodies[k] for k in sides)
    labels = [(f"{name}.{w} on {body}", unit) for body in bodies for w, unit in _WRENCH]
    labels += [
        (f"{name}.{one}", "") for one in numbered("effort on {}[{}]".format(*force.coordinates[k]) for k in coordinates)
    ]
    values = np.concatenate([force.wrenches.ravel(), force.efforts])
    which = [*(6 * k + i for k in sides for i in range(6)), *(force.wrenches.size + k for k in coordinates)]
    rows, direct = (part[first : first + len(values)][which] for part in _of_result(at, maps, "element_forces"))
    return _direct(_signals(labels, rows, values[which]), direct)


def _of_closure(at: NominalState, maps: LinearMaps, name: str) -> list[OutputSignal]:
    """Return the forces of a closure's rows; those of rows that redundancy leaves out are zero."""
    equations = at.system.kernels.equations
    rows, direct = _of_result(at, maps, "closure_efforts")
    values = at.system.closure_forces(at.q, at.v, at.tau, **at.options)[name]
    first = 0
    for attachment, keep in zip(equations.attachments().all, equations.loop_plan.keep, strict=True):
        if attachment.name == name and attachment.cut is None and attachment.driven is None:
            labels = [(f"{name}.{attachment.closure.labels[k]}" if len(values) > 1 else name, "") for k in keep]
            part = slice(first, first + len(keep))
            return _direct(_signals(labels, rows[part], values[list(keep)]), direct[part])
        first += len(keep)
    raise ModelError(f'outputs=: closure "{name}" has no forces of its own')


def _of_place(at: NominalState, maps: LinearMaps, place: str, word: str) -> list[OutputSignal]:
    """Return position, small rotation or velocities of a body or frame, in ground axes."""
    system = at.system
    J = system.jacobian(at.q, place, parameters=at.parameters)
    part = slice(0, 3) if word in ("rotation", "angular velocity") else slice(3, 6)
    if word in ("position", "rotation"):
        values = system.pose(at.q, place, parameters=at.parameters)[:3, 3] if word == "position" else np.zeros(3)
        unit = "m" if word == "position" else "rad"
        found = _signals([(f"{place}.{word} {c}", unit) for c in _AXES], (J @ maps.displacements)[part], values)
        return _direct(found, _placed_by_inputs(at, maps, place, word))
    unit = "m/s" if word == "velocity" else "rad/s"
    values = system.velocity(at.q, at.v, place, parameters=at.parameters)
    rows, direct = J @ maps.velocities, np.zeros((6, len(maps.pick.signals)))
    if at.v.any() or maps.pick.by_parameters:
        slopes = at.system.derivatives_of("velocity", at.q, at.v, at.tau, frame=place, **at.options)
        rows, direct = maps.pick.columns(slopes)
    return _direct(_signals([(f"{place}.{word} {c}", unit) for c in _AXES], rows[part], values[part]), direct[part])


def _placed_by_inputs(at: NominalState, maps: LinearMaps, place: str, word: str) -> Array:
    """Return how inputs move a place at once (3, m): parameters do, which are lengths."""
    signals = maps.pick.signals
    if not maps.pick.by_parameters:
        return np.zeros((3, len(signals)))
    slopes = at.system.derivatives_of("pose", at.q, at.v, at.tau, frame=place, **at.options)
    change = maps.pick.columns(slopes)[1].reshape(4, 4, -1)
    if word == "position":
        return np.asarray(change[:3, 3])
    R = at.system.pose(at.q, place, parameters=at.parameters)[:3, :3]
    turn = np.einsum("ijk,lj->ilk", change[:3, :3], R)
    return np.stack([turn[2, 1], turn[0, 2], turn[1, 0]])


def _signals(labels: Sequence[tuple[str, str]], rows: Array, values: Array) -> list[OutputSignal]:
    return [
        OutputSignal(name, unit, row, float(value))
        for (name, unit), row, value in zip(labels, rows, values, strict=True)
    ]


def signal_list(names: Sequence[Any], what: str) -> list[Any]:
    """Return names as a list; one name alone is refused, as it is elsewhere."""
    items = listed(names)
    if items is None:
        raise StateError(f"{what}= must be a list of names, not {shown(names)}")
    return items


def _refuse_twice(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise StateError(f'{what}= names "{name}" twice')
        seen.add(name)
