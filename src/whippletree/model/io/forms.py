"""The elements of a model file as a table: which key makes which call, and with which arguments.

The key that says what an element is, its head, is the name of the call on `Mechanism`, and its value the call's
positional arguments; every other key is the keyword argument of that name. So an element is added here by one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whippletree.model.io import values
from whippletree.model.io.nodes import MapNode, Node
from whippletree.model.io.scopes import UnfitError
from whippletree.model.io.values import Context, Reader
from whippletree.model.names import suggestion

__all__ = ["CLOSURES", "EVENTS", "FORCES", "JOINTS", "RUN", "SHAPES", "SPLINE", "START", "Form", "arguments", "form_of"]

NO_KEYS: Mapping[str, Reader] = {}


@dataclass(frozen=True)
class Form:
    """How an element of one type stands in a file.

    `head` reads the value of the head key, a tuple if it holds several arguments; `needs` and `may` are the other keys.
    """

    head: Reader
    needs: Mapping[str, Reader] = field(default_factory=dict)
    may: Mapping[str, Reader] = field(default_factory=dict)
    call: str = ""

    @property
    def keys(self) -> dict[str, Reader]:
        """All keys but the head.

        >>> sorted(JOINTS["screw"].keys)[:4]
        ['at', 'at_child', 'axis', 'axis_child']
        """
        return {**self.needs, **self.may}


_BODIES = values.entries(values.word, 2, "names of bodies")
_PLACES = values.entries(values.word, 2, "names of bodies or frames")
_COORDINATES = values.entries(values.coordinate, 2, "names of joints")

_POINTS: dict[str, Reader] = {"at": values.vector, "at_child": values.vector}
_POSES: dict[str, Reader] = {**_POINTS, "pose": values.pose, "pose_child": values.pose}
_FRAMES: dict[str, Reader] = {**_POSES, "prescribed": values.flag}
_AXES: dict[str, Reader] = {**_FRAMES, "axis": values.axis, "axis_child": values.axis}
_INDEX: dict[str, Reader] = {"index": values.whole}

JOINTS: dict[str, Form] = {
    "fixed": Form(_BODIES, may=_FRAMES),
    "revolute": Form(_BODIES, may=_AXES),
    "prismatic": Form(_BODIES, may=_AXES),
    "cylindrical": Form(_BODIES, may=_AXES),
    "screw": Form(_BODIES, needs={"lead": values.number}, may=_AXES),
    "planar": Form(_BODIES, may=_AXES),
    "universal": Form(_BODIES, may=_AXES),
    "spherical": Form(_BODIES, may=_FRAMES),
    "free": Form(_BODIES, may=_FRAMES),
}

CLOSURES: dict[str, Form] = {
    "distance": Form(_BODIES, needs={"length": values.number}, may=_POINTS),
    "coupling": Form(values.ratios, may={"offset": values.number}),
    "gear": Form(_COORDINATES, needs={"ratio": values.number}, may={"offset": values.number}),
    "expression": Form(values.column, call="closure"),
    "drive": Form(values.word, needs={"position": values.law}, may=_INDEX),
    "drive_point": Form(values.word, needs={"position": values.free_vector}, may={"at": values.vector}),
}

FORCES: dict[str, Form] = {
    "spring": Form(
        _PLACES,
        may={
            **_POINTS,
            "stiffness": values.number,
            "free_length": values.number,
            "damping": values.number,
            "law": values.spring_law,
            "energy": values.spring_law,
        },
    ),
    "bushing": Form(
        _PLACES, needs={"stiffness": values.diagonal_or(6)}, may={"damping": values.diagonal_or(6), **_POSES}
    ),
    "torsion_spring": Form(
        values.word,
        needs={"stiffness": values.number},
        may={"rest": values.number, "damping": values.number, **_INDEX},
    ),
    "friction": Form(
        values.word, may={"coulomb": values.number, "viscous": values.number, "speed": values.number, **_INDEX}
    ),
    "limit": Form(
        values.word,
        needs={"stiffness": values.number},
        may={
            "lower": values.number,
            "upper": values.number,
            "damping": values.number,
            "width": values.number,
            **_INDEX,
        },
    ),
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
            "damping": values.number,
            "friction": values.number,
            "radius": values.number,
            "at": values.vector,
            "normal": values.axis,
            "offset": values.law,
            "speed": values.number,
            "width": values.number,
        },
    ),
}

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
    "box": ({"size": values.vector}, _SOLID),
    "cylinder": ({"radius": values.number, "length": values.number}, {**_SOLID, "axis": values.axis}),
    "sphere": ({"radius": values.number}, _SOLID),
    "point_mass": ({"mass": values.number}, {"at": values.vector}),
}
"""What the shapes of bodies need and may have."""

SPLINE: dict[str, Reader] = {"times": values.row, "values": values.row}

START: dict[str, Reader] = {
    "guess": values.by_joint,
    "hold": values.joints,
    "cut": values.joints,
    "velocities": values.by_joint,
}

RUN: dict[str, Reader] = {
    "duration": values.positive,
    "method": values.word,
    "step": values.positive,
    "tolerance": values.positive,
    "adaptive": values.flag,
    "spectral_radius": values.fixed_number,
    "every": values.positive,
    "formulation": values.word,
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
    context: Context, node: MapNode, needs: Mapping[str, Reader], may: Mapping[str, Reader], head: str = ""
) -> dict[str, Any]:
    """Read the keys of an element other than its head."""
    known = {**needs, **may}
    found: dict[str, Any] = {}
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


def positional(context: Context, form: Form, node: Node, head: str) -> tuple[Any, ...]:
    """Read the value of the head."""
    found = form.head(context, node, head)
    return found if isinstance(found, tuple) else (found,)
