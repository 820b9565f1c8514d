"""The elements of a model file as a table: which key makes which call, and with which arguments.

The key that says what an element is, its head, is the name of the call on `Mechanism`, and its value the call's
positional arguments; every other key is the keyword argument of that name. Which numbers a type has, and which of them
it needs, is in its own declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from whippletree.elements.closures import DeclaredClosure
from whippletree.elements.declaration import ANY, Quantity, parts, quantities, required
from whippletree.elements.drivers import Spline, Table
from whippletree.elements.forces import (
    BearingFriction,
    CapsuleContact,
    Contact,
    Force,
    Friction,
    Limit,
    Spring,
    TorsionSpring,
    Tyre,
)
from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from whippletree.model.catalogue import registered
from whippletree.model.io import values
from whippletree.model.io.nodes import MapNode, Node
from whippletree.model.io.scopes import UnfitError
from whippletree.model.io.values import FileContext, FileValue, Reader
from whippletree.model.names import suggestion

__all__ = [
    "BUILT_IN",
    "CLOSURES",
    "CURVES",
    "EVENTS",
    "FORCES",
    "JOINTS",
    "RUN",
    "SHAPES",
    "START",
    "Form",
    "arguments",
    "declare",
    "forms_of",
]


@dataclass(frozen=True)
class Form:
    """How an element of one type stands in a file.

    `head` reads the value of the head key, a tuple if it holds several arguments; `needs` and `may` are the other keys.
    `call` is the name of the call on `Mechanism` if it is not that of the head. With a `kind`, the element is made of
    that type from the keys of its fields, and handed to the call for elements of any type.
    """

    head: Reader
    needs: Mapping[str, Reader] = field(default_factory=dict)
    may: Mapping[str, Reader] = field(default_factory=dict)
    call: str = ""
    kind: type | None = None

    def allowing(self, may: Mapping[str, Reader]) -> Form:
        """Return the same form with further keys that it may have."""
        return replace(self, may={**self.may, **may})

    @property
    def keys(self) -> dict[str, Reader]:
        """All keys but the head.

        >>> sorted(JOINTS["screw"].keys)[:4]
        ['armature', 'at', 'at_child', 'axis']
        """
        return {**self.needs, **self.may}


_BODIES = values.entries(values.word, 2, "names of bodies")
_PLACES = values.entries(values.word, 2, "names of bodies or frames")
_COORDINATES = values.entries(values.coordinate, 2, "names of joints")

_POINTS: dict[str, Reader] = {"at": values.vector, "at_child": values.vector}
_POSES: dict[str, Reader] = {**_POINTS, "pose": values.pose, "pose_child": values.pose}
_FRAMES: dict[str, Reader] = {**_POSES, "prescribed": values.flag}
_ARMATURE: dict[str, Reader] = {"armature": values.one_or_several}
_AXES: dict[str, Reader] = {**_FRAMES, "axis": values.axis, "axis_child": values.axis}
_INDEX: dict[str, Reader] = {"index": values.whole}

_JOINT_TYPES = (Fixed, Revolute, Prismatic, Cylindrical, Screw, Planar, Universal, Spherical, Free)


def _own_keys(kind: type) -> tuple[dict[str, Reader], dict[str, Reader]]:
    """Return the keys of a type's fields that it needs, and those it may have."""
    numbers = {name: _number_reader(what) for name, what in quantities(kind).items()}
    plain = {name: _PLAIN[what] for name, what in parts(kind).items() if what in _PLAIN}
    needed = required(kind)
    keys = {**numbers, **plain}
    needs = {name: reader for name, reader in keys.items() if name in needed}
    return needs, {name: reader for name, reader in keys.items() if name not in needed}


def _number_reader(what: Quantity) -> Reader:
    if what.size == ANY:
        return values.numbers
    return values.number if what.size is None else values.entries(values.number, what.size)


_PLAIN: dict[type, Reader] = {bool: values.flag, str: values.word}


def _joint_form(kind: type[Joint]) -> Form:
    needs, may = _own_keys(kind)
    own = _ARMATURE if kind.nv else {}
    return Form(_BODIES, needs, {**(_AXES if kind.n_axes else _FRAMES), **own, **may}, kind=kind)


def _element_form(kind: type[DeclaredClosure | Force]) -> Form:
    """Return how an element of a registered type stands in a file: on its places if it has some, else in its joints."""
    needs, may = _own_keys(kind)
    n, m = kind.n_sides, kind.n_coordinates
    if n:
        head = values.word if n == 1 else values.entries(values.word, n, "names of bodies or frames")
        may |= dict([*_POINTS.items()][:n]) if n <= len(_POINTS) else {}
    else:
        head = values.coordinates(m)
    if n and m:
        needs["coordinates"] = values.coordinates(m)
    if issubclass(kind, Force) and kind.state_labels:
        may["initial"] = values.entries(values.fixed_number, len(kind.state_labels))
    return Form(head, needs, may, kind=kind)


def _on_joint(kind: type[Force]) -> Form:
    """Return the form of a built-in element that acts on a joint coordinate."""
    needs, may = _own_keys(kind)
    return Form(values.word, needs, {**may, **_INDEX})


JOINTS: dict[str, Form] = {kind.kind: _joint_form(kind) for kind in _JOINT_TYPES}
JOINTS |= {
    kind.kind: Form(_BODIES, may={**_FRAMES, **_ARMATURE, "coordinates": values.word}) for kind in (Spherical, Free)
}

CLOSURES: dict[str, Form] = {
    "distance": Form(_BODIES, may={"length": values.number, **_POINTS}),
    "coincident": Form(_BODIES, may=_POINTS),
    "in_plane": Form(_BODIES, may={"normal": values.axis, "offset": values.number, **_POINTS}),
    "perpendicular": Form(_BODIES, may={"axis": values.axis, "axis_child": values.axis}),
    "coupling": Form(values.ratios, may={"offset": values.number}),
    "gear": Form(_COORDINATES, needs={"ratio": values.number}, may={"offset": values.number}),
    "expression": Form(values.column, call="closure"),
    "drive": Form(values.word, needs={"position": values.law}, may=_INDEX),
    "drive_point": Form(values.word, needs={"position": values.free_vector}, may={"at": values.vector}),
}

_ON_GROUND: dict[str, Reader] = {"at": values.vector, "normal": values.axis, "offset": values.law}


def _plain_numbers(kind: type[Force], *others: str) -> dict[str, Reader]:
    """Return the keys of a type's fields that are one number each, but for the stiffness and others."""
    single = {name for name, what in quantities(kind).items() if what.size is None}
    return dict.fromkeys(sorted(single - {"stiffness", *others}), values.number)


FORCES: dict[str, Form] = {
    "spring": Form(_PLACES, *_own_keys(Spring)).allowing(
        {**_POINTS, "law": values.spring_law, "energy": values.spring_law}
    ),
    "bushing": Form(
        _PLACES, needs={"stiffness": values.diagonal_or(6)}, may={"damping": values.diagonal_or(6), **_POSES}
    ),
    "torsion_spring": _on_joint(TorsionSpring),
    "friction": _on_joint(Friction).allowing(
        {name: values.number for name in quantities(BearingFriction) if name not in quantities(Friction)}
    ),
    "limit": _on_joint(Limit),
    "actuator": Form(values.word, needs={"effort": values.law}, may=_INDEX),
    "load": Form(
        values.word,
        may={
            "force": values.law_vector,
            "moment": values.law_vector,
            "wrench": values.law_wrench,
            "at": values.vector,
            "frame": values.word,
        },
    ),
    "contact": Form(
        values.word,
        needs={"stiffness": values.number},
        may={
            **_plain_numbers(Contact),
            "length": values.number,
            "axis": values.axis,
            "size": values.vector,
            "points": values.vectors,
            **_ON_GROUND,
        },
    ),
    "contact_between": Form(
        _PLACES,
        needs={"stiffness": values.number},
        may={
            **_plain_numbers(CapsuleContact),
            "axis": values.axis,
            "axis_child": values.axis,
            "size_child": values.vector,
            **_POINTS,
        },
    ),
    "tyre": Form(
        values.word,
        needs=dict.fromkeys(("radius", "stiffness", "cornering_stiffness"), values.number),
        may={
            **_plain_numbers(Tyre, "radius", "cornering_stiffness"),
            "axis": values.axis,
            "initial": values.entries(values.fixed_number, len(Tyre.state_labels)),
            **_ON_GROUND,
        },
    ),
}

BUILT_IN: dict[str, dict[str, Form]] = {"joints": JOINTS, "closures": CLOSURES, "forces": FORCES}
"""The forms of the package's own types, by section."""


def forms_of(section: str) -> dict[str, Form]:
    """Return the forms of a section by their heads: those of the package, and those of registered types.

    >>> "screw" in forms_of("joints")
    True
    """
    if section == "events":
        return EVENTS
    make: Callable[[Any], Form] = _joint_form if section == "joints" else _element_form
    return BUILT_IN[section] | {word: make(kind) for word, kind in registered(section).items()}


EVENTS: dict[str, Form] = {
    "expression": Form(
        values.law,
        may={
            "direction": values.word,
            "stop": values.flag,
            "velocities": values.laws_by_name,
            "efforts": values.laws_by_name,
            "states": values.laws_by_name,
            "parameters": values.laws_by_name,
        },
        call="event",
    ),
}

_SOLID: dict[str, Reader] = {"mass": values.number, "density": values.number, "at": values.vector}
SHAPES: dict[str, tuple[dict[str, Reader], dict[str, Reader]]] = {
    "rod": (
        {"length": values.number},
        {"mass": values.number, "mass_per_length": values.number, "axis": values.axis, "at": values.vector},
    ),
    "box": ({"size": values.vector}, {**_SOLID, "axis": values.axis, "across": values.axis}),
    "cylinder": ({"radius": values.number, "length": values.number}, {**_SOLID, "axis": values.axis}),
    "sphere": ({"radius": values.number}, _SOLID),
    "point_mass": ({"mass": values.number}, {"at": values.vector}),
}
"""What the shapes of bodies need and may have."""

CURVES: dict[str, tuple[type[Spline] | type[Table], dict[str, Reader], dict[str, Reader]]] = {
    "splines": (Spline, {"times": values.row, "values": values.row}, {"ends": values.word}),
    "tables": (Table, {"x": values.row, "y": values.row}, {"kind": values.word}),
}
"""The sections of curves, and what an entry of each needs and may have."""

START: dict[str, Reader] = {
    "guess": values.guess,
    "hold": values.joints,
    "cut": values.joints,
    "dependent": values.joints,
    "accuracy": values.positive,
    "velocities": values.by_joint,
    "equilibrium": values.flag,
    "nearest": values.flag,
}

RUN: dict[str, Reader] = {
    "duration": values.positive,
    "method": values.word,
    "step": values.positive,
    "tolerance": values.positive,
    "adaptive": values.flag,
    "max_step": values.positive,
    "verify": values.flag,
    "spectral_radius": values.fixed_number,
    "every": values.positive,
    "formulation": values.word,
    "baumgarte": values.entries(values.fixed_number, 2),
    "t0": values.fixed_number,
    "outputs": values.outputs,
}


def form_of(node: MapNode, forms: Mapping[str, Form]) -> str:
    """Return which key of an element is its head; "friction", say, may be a key of another element."""
    heads = [key for key in node.items if key in forms]
    fitting = [head for head in heads if all(key == head or key in forms[head].keys for key in heads)]
    if len(fitting) == 1:
        return fitting[0]
    if heads:
        both = " and ".join(f'"{head}"' for head in heads[:2])
        raise UnfitError(node.keys[heads[1]], f"it is given as {both}: an element is one thing")
    keys = {key for form in forms.values() for key in form.keys}
    for key in node.items:
        if key not in keys:
            raise UnfitError(node.keys[key], f"there is no type {suggestion(key, forms)}")
    raise UnfitError(None, f"say what it is: give one of the keys {', '.join(forms)}")


def arguments(
    context: FileContext, node: MapNode, needs: Mapping[str, Reader], may: Mapping[str, Reader], head: str = ""
) -> dict[str, FileValue]:
    """Read the keys of an element other than its head."""
    known = {**needs, **may}
    found: dict[str, object] = {}
    for key, item in node.items.items():
        if key == head:
            continue
        if key not in known:
            raise UnfitError(node.keys[key], f"there is no key {suggestion(key, known)}")
        found[key] = known[key](context, item, key)
    for key in needs:
        if key not in found:
            raise UnfitError(None, f'the key "{key}" is missing')
    return found


def declare(context: FileContext, name: str, node: MapNode, forms: Mapping[str, Form]) -> None:
    """Make the call that an element of a file stands for."""
    head = form_of(node, forms)
    form, mechanism = forms[head], context.mechanism
    given = positional(context, form, node.items[head], head)
    keys = arguments(context, node, form.needs, form.may, head)
    if form.kind is None:
        getattr(mechanism, form.call or head)(name, *given, **keys)
        return
    optional = {key: None for key, what in quantities(form.kind).items() if what.optional}
    element = form.kind(
        **optional | {each.name: keys.pop(each.name) for each in fields(form.kind) if each.name in keys}
    )
    if isinstance(element, Joint):
        parent, child = given
        mechanism.joint(name, parent, child, element, **keys)
        return
    if element.n_sides:
        points = [keys.pop(at, (0.0, 0.0, 0.0)) for at in _POINTS]
        keys["on"] = [*zip(given, points, strict=False), *given[len(points) :]]
    else:
        keys["coordinates"] = [*given]
    if isinstance(element, Force):
        mechanism.force(name, element, **keys)
    else:
        mechanism.constraint(name, element, **keys)


def positional(context: FileContext, form: Form, node: Node, head: str) -> tuple[FileValue, ...]:
    """Read the value of the head."""
    found = form.head(context, node, head)
    return found if isinstance(found, tuple) else (found,)
