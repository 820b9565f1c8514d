"""Quantities of a run by name, as `run[...]`, tables and plots understand them.

A name is a joint (its coordinates), a body or frame (its position), a state of an element, a force element, closure or
drive (its forces), a word about all ("coordinates", "velocities", "states", "accelerations", "efforts", "energy",
"work", "reactions", "forces"), the label of one number ("A.angle"), or a joint, body or frame and a word about it
("A.force", "A.effort", "tip.velocity"; of a flexible body "link.modes" are the coordinates and "link.deflection" is the
largest displacement of its stations). The effort of a joint is that of the call or of a controller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.elements.closures import Closure, Coincident, Distance, InPlane, Perpendicular
from whippletree.elements.drivers import Motion
from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import NameLike, Names
from whippletree.model.description import ForceUse
from whippletree.model.names import suggestion
from whippletree.results.labels import Label, effort_unit, rate_unit
from whippletree.spatial.scalars import listed, shown
from whippletree.system.quantities import ElementForce, numbered

if TYPE_CHECKING:
    from whippletree.results.trajectory import Trajectory

__all__ = ["STATES", "Columns", "columns", "names"]

STATES = ("coordinates", "velocities", "states")
"""The quantities in a table unless others are asked for."""

_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Columns:
    """Numbers over time: values (n, k) and a label for each column."""

    labels: tuple[Label, ...]
    values: Array

    def __post_init__(self) -> None:
        heads = [label.column for label in self.labels]
        if len({*heads}) < len(heads):
            # not empty: there is one: fewer are different
            twice = next(head for k, head in enumerate(heads) if head in heads[:k])
            raise StateError(
                f'two quantities have the same name, "{twice}": name joints, bodies and elements differently'
            )

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Return the columns of several quantities; a column that is asked for twice is there once.

        Different quantities that have the same name are refused.

        >>> time = Columns((Label("time", "", "s"),), np.zeros((2, 1)))
        >>> len(Columns.joined([time, time]).labels)
        1
        """
        found: dict[Label, Array] = {}
        for part in parts:
            for k, label in enumerate(part.labels):
                if not np.array_equal(found.setdefault(label, part.values[:, k]), part.values[:, k], equal_nan=True):
                    raise StateError(
                        f'two different quantities are called "{label.column}": ask for them one at a time, or give '
                        f'what is called "{label.owner}" different names'
                    )
        rows = len(parts[0].values) if parts else 0
        return cls(tuple(found), np.stack([*found.values()], axis=1) if found else np.zeros((rows, 0)))

    @property
    def plain(self) -> Array:
        """The values, (n,) if there is one column only."""
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values


def names(what: Names) -> tuple[Any, ...]:
    """Return one name or several as a tuple.

    >>> names("A"), names(["A", "B"])
    (('A',), ('A', 'B'))
    """
    if isinstance(what, str) or hasattr(what, "name"):
        return (what,)
    items = listed(what)
    if items is None:
        raise StateError(f"what= must be a name or a list of names, not {shown(what)}")
    return tuple(items)


def columns(run: Trajectory, name: NameLike) -> Columns:
    """Return the columns that a name stands for.

    >>> from whippletree.results.example_runs import swing
    >>> [label.column for label in columns(swing(), "rod.velocity").labels]
    ['rod.velocity x [m/s]', 'rod.velocity y [m/s]', 'rod.velocity z [m/s]']
    """
    text = getattr(name, "name", name)
    if not isinstance(text, str):
        raise ModelError(f"there is no quantity {suggestion(text, ())}")
    found = _of_joint(run, text, "coordinates") if text in run.labels.joints else None
    found = found or _of_place(run, text, "position") or _of_state(run, text) or _of_force(run, text)
    found = found or _of_closure(run, text)
    found = found or (_ALL[text](run) if text in _ALL else None)
    found = found or _number(run, text) or _about(run, text)
    if found is None:
        raise ModelError(f"there is no quantity {suggestion(text, _known(run))}{_no_system(run)}")
    if not found.labels:
        raise StateError(f'"{text}" has no numbers in this run')
    return found


# ---------------------------------------------------------------------- about all


def _accelerations(run: Trajectory) -> Columns:
    labels = (_rate(label) for label in run.labels.velocities)
    return Columns(tuple(labels), run.accelerations())


def _efforts(run: Trajectory) -> Columns:
    labels = (label._replace(what=f"effort on {label.what}", unit=effort_unit(label.unit)) for label in _v(run))
    efforts = np.zeros(1) if run.efforts is None else run.efforts
    return Columns(tuple(labels), np.array(np.broadcast_to(efforts, run.v.shape)))


def _work(run: Trajectory) -> Columns:
    labels = (Label("work", "in", "J"), Label("work", "dissipated", "J"))
    return Columns((), run.v[:, :0]) if run.work is None else Columns(labels, run.work)


def _energy(run: Trajectory) -> Columns:
    energy = run.energy()
    parts = {**energy._asdict(), "total": energy.total}
    return Columns(tuple(Label("energy", part, "J") for part in parts), np.stack(list(parts.values()), axis=1))


def _reactions(run: Trajectory) -> Columns:
    found = run.reactions()
    labels = (Label(joint, *part) for joint in found for part in _WRENCH)
    return Columns(tuple(labels), found.wrenches.reshape(len(run), -1))


def _forces(run: Trajectory) -> Columns:
    found = run.forces()
    return Columns.joined([Columns((), run.v[:, :0]), *(_acting(run, use, found[use.name]) for use in _elements(run))])


def _states(run: Trajectory) -> Columns:
    return Columns(tuple(Label(name, "", "") for name in run.labels.states), run.z)


def _v(run: Trajectory) -> tuple[Label, ...]:
    return run.labels.velocities


def _rate(label: Label) -> Label:
    """Return the label of a velocity's rate.

    >>> _rate(Label("A", "velocity along x", "m/s")).column
    'A.acceleration along x [m/s^2]'
    """
    return label._replace(what=label.what.replace("velocity", "acceleration"), unit=rate_unit(label.unit))


_WRENCH = tuple((f"{what} {axis}", unit) for what, unit in (("moment", "N m"), ("force", "N")) for axis in _AXES)

_ALL: dict[str, Callable[[Any], Columns]] = {
    "coordinates": lambda run: Columns(run.labels.coordinates, run.q),
    "velocities": lambda run: Columns(run.labels.velocities, run.v),
    "states": _states,
    "accelerations": _accelerations,
    "efforts": _efforts,
    "energy": _energy,
    "work": _work,
    "reactions": _reactions,
    "forces": _forces,
}

# ---------------------------------------------------------------------- about one

_OF_JOINT = ("coordinates", "velocities", "accelerations", "effort", "moment", "force", "reaction")

_OF_PLACE: dict[str, tuple[str, slice, str]] = {
    "position": ("position", slice(0, 3), "m"),
    "velocity": ("velocity", slice(3, 6), "m/s"),
    "angular velocity": ("velocity", slice(0, 3), "rad/s"),
    "acceleration": ("acceleration", slice(3, 6), "m/s^2"),
    "angular acceleration": ("acceleration", slice(0, 3), "rad/s^2"),
}
"""Quantities of a body or frame: the call, the part of its result, and the unit."""


def _of_joint(run: Trajectory, joint: str, what: str) -> Columns | None:
    if joint not in run.labels.joints or what not in _OF_JOINT:
        return None
    if what in ("coordinates", "velocities", "accelerations", "effort"):
        every = _efforts(run) if what == "effort" else _ALL[what](run)
        own = run.labels.q_slice(joint) if what == "coordinates" else run.labels.v_slice(joint)
        return Columns(every.labels[own], every.values[:, own])
    part = {"moment": slice(0, 3), "force": slice(3, 6)}.get(what, slice(0, 6))
    labels = tuple(Label(joint, *one) for one in _WRENCH[part])
    return Columns(labels, run.reactions()[joint].wrench[:, part])


def _of_place(run: Trajectory, place: str, what: str) -> Columns | None:
    if place not in _places(run) or what not in _OF_PLACE:
        return None
    call, part, unit = _OF_PLACE[what]
    labels = tuple(Label(place, f"{what} {axis}", unit) for axis in _AXES)
    return Columns(labels, getattr(run, call)(place)[:, part])


def _of_state(run: Trajectory, name: str) -> Columns | None:
    if name not in run.labels.states:
        return None
    return Columns((Label(name, "", ""),), run.state(name)[:, None])


def _of_force(run: Trajectory, name: str) -> Columns | None:
    use = next((use for use in _elements(run) if use.name == name), None)
    return None if use is None else _acting(run, use, run.forces()[name])


def _elements(run: Trajectory) -> tuple[ForceUse, ...]:
    """Return the force elements, if the run has its system."""
    return () if run.system is None else run.system.description.forces


def _acting(run: Trajectory, use: ForceUse, force: ElementForce) -> Columns:
    """Return the forces of an element on its bodies and joints; sides that its formula only reads have no columns."""
    sides, coordinates = map(list, use.acts_on)
    labels = [
        Label(use.name, f"{what} on {body}", unit)
        for body in numbered(force.bodies[k] for k in sides)
        for what, unit in _WRENCH
    ]
    moved = [force.coordinates[k] for k in coordinates]
    on = [run.labels.velocities[run.labels.v_slice(joint)][index] for joint, index in moved]
    efforts = zip(numbered(f"effort on {label.text}" for label in on), on, strict=True)
    labels += [Label(use.name, text, effort_unit(label.unit)) for text, label in efforts]
    wrenches = force.wrenches[:, sides].reshape(len(run), -1)
    return Columns(tuple(labels), np.concatenate([wrenches, force.efforts[:, coordinates]], axis=1))


def _of_closure(run: Trajectory, name: str) -> Columns | None:
    uses = () if run.system is None else run.system.description.closures
    use = next((use for use in uses if use.name == name), None)
    if use is None:
        return None
    closure = use.closure
    if isinstance(closure, Motion) and not closure.components:
        joint, index = use.coordinates[0]
        on = run.labels.velocities[run.labels.v_slice(joint)][index]
        labels = [Label(name, f"effort on {on.text}", effort_unit(on.unit))]
    elif isinstance(closure, Motion):
        labels = [Label(name, f"force {_AXES[c]}", "N") for c in closure.components]
    else:
        labels = [Label(name, label, _unit(closure)) for label in numbered(closure.labels)]
    return Columns(tuple(labels), run.closure_forces()[name])


def _unit(closure: Closure) -> str:
    """Return the unit of a multiplier, where a closure's rows are forces or moments by themselves."""
    if isinstance(closure, Distance | InPlane | Coincident):
        return "N"
    return "N m" if isinstance(closure, Perpendicular) else ""


def _number(run: Trajectory, text: str) -> Columns | None:
    """Return a single coordinate or velocity by its label."""
    for labels, values in ((run.labels.coordinates, run.q), (run.labels.velocities, run.v)):
        for i, label in enumerate(labels):
            if label.text == text:
                return Columns((label,), values[:, i : i + 1])
    return None


def _about(run: Trajectory, text: str) -> Columns | None:
    """Return the columns that "name.word" stands for; names may contain dots themselves."""
    name, dot, what = text.rpartition(".")
    if not dot:
        return None
    own = run.labels.joints if run.system is None else run.system.plan.own_slices
    if what == "modes" and name in own:
        what = "coordinates"
    if what == "deflection" and name in _flexible(run):
        return Columns((Label(name, what, "m"),), run.deformation(name).largest[:, None])
    whole = _of_joint(run, name, what) or _of_place(run, name, what)
    if whole is not None:
        return whole
    word, _, axis = what.rpartition(" ")
    if axis not in _AXES:
        return None
    parts = _of_joint(run, name, word) if word in ("moment", "force") else _of_place(run, name, word)
    if parts is None:
        return None
    i = _AXES.index(axis)
    return Columns(parts.labels[i : i + 1], parts.values[:, i : i + 1])


def _flexible(run: Trajectory) -> list[str]:
    """Return the names of flexible bodies, if the run has its system."""
    if run.system is None or not run.system.plan.own_slices:
        return []
    from whippletree.elements.bodies.flexible import FlexibleBody  # which few mechanisms need

    return [body.name for body in run.system.description.bodies if isinstance(body.kind, FlexibleBody)]


def _places(run: Trajectory) -> tuple[str, ...]:
    """Return the names of bodies and frames, if the run has its system."""
    if run.system is None:
        return ()
    description = run.system.description
    bodies, frames = description.bodies, description.frames
    return (*(body.name for body in bodies), *(frame.name for frame in frames), *description.moving_frames)


def _known(run: Trajectory) -> list[str]:
    """Return the quantities that can be asked for."""
    labels = run.labels
    joints = [f"{joint}.{what}" for joint in labels.joints for what in _OF_JOINT]
    places = [f"{place}.{what}" for place in _places(run) for what in _OF_PLACE]
    numbers = [label.text for label in (*labels.coordinates, *labels.velocities)]
    described = None if run.system is None else run.system.description
    forces = [use.name for use in _elements(run)]
    forces += [] if described is None else [use.name for use in described.closures]
    flexible = [f"{body}.{what}" for body in _flexible(run) for what in ("modes", "deflection")]
    return [*labels.joints, *_places(run), *labels.states, *forces, *_ALL, *numbers, *joints, *places, *flexible]


def _no_system(run: Trajectory) -> str:
    return "; bodies and frames need the run's system: load it with system=" if run.system is None else ""
