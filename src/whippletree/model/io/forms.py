"""The elements of a model file as a table: which key makes which call, and with which arguments.

The key that says what an element is, its head, is the name of the call on `Mechanism`, and its value the call's
positional arguments; every other key is the keyword argument of that name. For types of joints, closures and forces
both follow from the signature of their method (`elements.signatures`); here is what has none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

from whippletree.elements.drivers import Spline, Table
from whippletree.elements.signatures import kinds_of, signature_of
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
    `call` is the name of the call on `Mechanism` if it is not that of the head.
    """

    head: Reader
    needs: Mapping[str, Reader] = field(default_factory=dict)
    may: Mapping[str, Reader] = field(default_factory=dict)
    call: str = ""

    @property
    def keys(self) -> dict[str, Reader]:
        """All keys but the head.

        >>> sorted(JOINTS["screw"].keys)[:4]
        ['armature', 'at', 'at_child', 'axis']
        """
        return {**self.needs, **self.may}


_READERS: dict[str, Reader] = {
    "AxisLike": values.axis,
    "ExpressionLike": values.law,
    "ExpressionVector": values.laws,
    "Law": values.spring_law,
    "PointLike": values.vector,
    "PoseLike": values.pose,
    "Scalar": values.number,
    "Scalar | Sequence[Scalar]": values.one_or_several,
    "Sequence[CoordinateLike]": values.some_coordinates,
    "Sequence[Scalar]": values.numbers,
    "Sequence[VectorLike]": values.vectors,
    "Sequence[float]": values.row,
    "SquareLike": values.diagonal_or(6),
    "VectorLike": values.vector,
    "bool": values.flag,
    "float": values.number,
    "int": values.whole,
    "str": values.word,
}
"""How the value of a key is read, by the type of the argument."""

_HEADS: dict[tuple[str, str], Reader] = {
    ("parent", "BodyLike"): values.entries(values.word, 2, "names of bodies"),
    ("parent", "PlaceLike"): values.entries(values.word, 2, "names of bodies or frames"),
    ("joint", "JointLike"): values.word,
}


@functools.cache
def _form(kind: Any, *, built_in: bool = True) -> Form:
    """Return how an element of a type stands in a file."""
    _, first, *others = signature_of(kind).parameters.values()
    keys = {each.name: each for each in others if each.kind is Parameter.KEYWORD_ONLY}
    readers = {name: _READERS[each.annotation.removesuffix(" | None")] for name, each in keys.items()}
    needed = {name for name, each in keys.items() if each.default is Parameter.empty}
    if first.name == "joint" and not built_in:
        head = values.coordinates(1)
    elif first.name == "coordinates":
        head = values.listed(values.coordinates(kind.n_coordinates))
    elif first.name == "places":
        head = values.listed(values.entries(values.word, kind.n_sides, "names of bodies or frames"))
    else:
        head = _HEADS.get((first.name, first.annotation), values.word)
    return Form(
        head,
        {name: readers[name] for name in readers if name in needed},
        {name: readers[name] for name in readers if name not in needed},
    )


def _forms(family: str) -> dict[str, Form]:
    return {word: _form(kind) for word, kind in kinds_of(family).items()}


_COORDINATES = values.entries(values.coordinate, 2, "names of joints")
_INDEX: dict[str, Reader] = {"index": values.whole}

JOINTS = _forms("joints")
CLOSURES: dict[str, Form] = {
    **_forms("closures"),
    "coupling": Form(values.ratios, may={"offset": values.number}),
    "gear": Form(_COORDINATES, needs={"ratio": values.number}, may={"offset": values.number}),
    "expression": Form(values.column, call="closure"),
    "drive": Form(values.word, needs={"position": values.law}, may=_INDEX),
    "drive_point": Form(values.word, needs={"position": values.free_vector}, may={"at": values.vector}),
}
FORCES = _forms("forces")

BUILT_IN: dict[str, dict[str, Form]] = {"joints": JOINTS, "closures": CLOSURES, "forces": FORCES}
"""The forms of the package's own types, by section."""


def forms_of(section: str) -> dict[str, Form]:
    """Return the forms of a section by their heads: those of the package, and those of registered types.

    >>> "screw" in forms_of("joints")
    True
    """
    if section == "events":
        return EVENTS
    return BUILT_IN[section] | {word: _form(kind, built_in=False) for word, kind in registered(section).items()}


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
"""The sizes of the shapes of bodies: required ones and optional ones."""

CURVES: dict[str, tuple[type[Spline] | type[Table], dict[str, Reader], dict[str, Reader]]] = {
    "splines": (Spline, {"times": values.row, "values": values.row}, {"ends": values.word}),
    "tables": (Table, {"x": values.row, "y": values.row}, {"kind": values.word}),
}
"""The sections of curves, and the required and optional keys of an entry of each."""

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
    getattr(mechanism, form.call or head)(name, *given, **keys)


def positional(context: FileContext, form: Form, node: Node, head: str) -> tuple[FileValue, ...]:
    """Read the value of the head."""
    found = form.head(context, node, head)
    return found if isinstance(found, tuple) else (found,)
