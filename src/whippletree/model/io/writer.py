"""Writing a mechanism as a model file that reads back as the same mechanism, number by number."""

from __future__ import annotations

import io
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import casadi as ca

from whippletree.elements.bodies import MassProperties
from whippletree.elements.closures import Coupling, Distance, Expression
from whippletree.elements.drivers import Motion, Spline, spline_of
from whippletree.elements.forces import (
    Actuator,
    Bushing,
    Contact,
    Formula,
    Friction,
    LawSpring,
    Limit,
    Load,
    Spring,
    TorsionSpring,
)
from whippletree.errors import FileError, ModelError
from whippletree.lookup import table_of
from whippletree.model.description import Body, ClosureUse, Description, EventUse, ForceUse, Frame, JointUse, StateUse
from whippletree.model.io.model import Model
from whippletree.model.io.reader import FORMAT, from_text
from whippletree.model.io.texts import Definitions, parameter_text, quoted_text, texts
from whippletree.model.mechanism import Mechanism
from whippletree.model.placing import AlignedSides, AxisSides, Sides, UniversalSides
from whippletree.places import obstacle
from whippletree.spatial.orientation import IDENTITY, direction
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, expressions, shown

__all__ = ["to_file", "to_text"]

SideUse = tuple[str, Placement]
_ORIGIN = (0.0, 0.0, 0.0)
_AXES = ("x", "y", "z", "-x", "-y", "-z")


def to_file(model: Model | Mechanism, path: str | os.PathLike[str]) -> None:
    """Write a model or a mechanism as a file, whole or not at all."""
    try:
        named = Path(os.fspath(path))
        what = obstacle(named)
    except (TypeError, ValueError) as error:
        raise FileError(f"{path!s}: the file cannot be written: {error}") from None
    if what:
        raise FileError(
            f"{path!s}: the file cannot be written: this is {what}, which a file must not take the place of"
        )
    data = to_text(model).encode()
    try:
        place = named.resolve()
        beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}.part")
        try:
            beside.write_bytes(data)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{path!s}: the file cannot be written: {why}") from None


def to_text(model: Model | Mechanism) -> str:
    """Return the text of a file that reads back as the same mechanism.

    >>> to_text(Mechanism("empty")).splitlines()[1]
    'name: empty'
    """
    whole = model if isinstance(model, Model) else Model(model)
    if not isinstance(whole.mechanism, Mechanism):
        raise FileError(f"give a mechanism, or what was read from a file; got {shown(model)}")
    description = whole.mechanism.describe()
    text = _dumped(_Writing(description).tree(whole))
    _check(description, text)
    return text


def _check(description: Description, text: str) -> None:
    """Check that a text is read back as what was written."""
    what = f'mechanism "{description.name}" cannot be written as a file'
    try:
        again = from_text(text).mechanism.describe()
    except FileError as error:
        raise FileError(f"{what}: it would not be read back ({error})") from error
    if again != description:
        raise FileError(f"{what}: {_difference(description, again)} would not be read back as it is")


def _difference(a: Description, b: Description) -> str:
    """Return what is not the same in two descriptions."""
    pairs = zip(a.outline(), b.outline(), strict=True)
    kinds = ("the name", "a body", "a joint", "a closure", "a frame", "a parameter", "a force", "a state", "an event")
    for kind, (one, other) in zip(kinds, pairs, strict=True):
        if one != other:
            names = [x[0] for x, y in zip(one, other, strict=False) if x != y and isinstance(x, tuple)]
            return f'{kind}, "{names[0]}",' if names else kind
    return "a number"


def _dumped(tree: Mapping[str, Any]) -> str:
    """Return a tree as YAML: innermost lists on one line, the rest in lines of their own."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 120
    yaml.allow_unicode = True
    out = io.StringIO()
    yaml.representer.add_representer(_Quoted, _in_quotes)
    yaml.dump(_safe(tree), out)
    return re.sub(r"^(\w+:)$", r"\n\1", out.getvalue(), flags=re.MULTILINE)  # an empty line before each section


class _Quoted(str):
    """Text that goes in quotes."""

    __slots__ = ()


def _in_quotes(representer: Any, text: str) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "'" in text else "'")


_SIMPLE = re.compile(r"-?\w([\w .+*/()-]*[\w)])?", re.ASCII)


def _safe(tree: Any) -> Any:
    """Return a tree in which every text that might be taken for something else is in quotes."""
    if isinstance(tree, Mapping):
        return {_safe(key): _safe(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [_safe(item) for item in tree]
    return _Quoted(tree) if isinstance(tree, str) and not _SIMPLE.fullmatch(tree) else tree


class _Writing:
    """The sections of a file, from a description."""

    def __init__(self, description: Description) -> None:
        self._d = description
        self._definitions = Definitions(parameter.name for parameter in description.parameters)
        self._places = [
            *((body.name, (body.name, Placement.identity())) for body in description.bodies),
            *((frame.name, (frame.body, frame.placement)) for frame in description.frames),
        ]
        self._texts = self._parameter_texts()

    def tree(self, model: Model) -> dict[str, Any]:
        """Return the whole file."""
        d = self._d
        sections: dict[str, Any] = {
            "whippletree": FORMAT,
            "name": d.name,
            "gravity": self._numbers(d.gravity),
            "parameters": {parameter.name: parameter.value for parameter in d.parameters},
            "definitions": {},
            "splines": {},
            "bodies": {body.name: self._body(body) for body in d.bodies},
            "frames": {frame.name: self._frame(frame) for frame in d.frames},
            "joints": {use.name: self._joint(use) for use in d.joints},
            "closures": {use.name: self._closure(use) for use in d.closures},
            "states": {use.name: self._state(use) for use in d.states},
            "forces": {use.name: self._force(use) for use in d.forces},
            "events": {use.name: self._event(use) for use in d.events},
            "start": _plain(model.start),
            "run": _plain(model.run),
        }
        sections["definitions"] = self._definitions.texts
        sections["splines"] = {
            name: {"times": [*spline.times], "values": [*spline.values], "ends": spline.ends}
            for spline, name in self._definitions.splines.items()
        }
        return {key: section for key, section in sections.items() if section or key in ("whippletree", "name")}

    # ------------------------------------------------------------------ numbers

    def _parameter_texts(self) -> dict[int, str]:
        """Return the texts of all expressions in parameters, by the hashes of these."""
        found = expressions(self._d.numbers())
        if not found:
            return {}
        symbols = [parameter.symbol for parameter in self._d.parameters]
        names = [parameter_text(parameter.name) for parameter in self._d.parameters]
        function = ca.Function("e", [ca.vertcat(*symbols)], [ca.densify(ca.vertcat(*found))])
        written = texts(function, [names], self._definitions)
        return {hash(entry): text for entry, text in zip(found, written, strict=True)}

    def _number(self, value: Scalar) -> float | str:
        return value if isinstance(value, float) else self._texts[hash(value)]

    def _numbers(self, values: Sequence[Scalar]) -> list[float | str]:
        return [self._number(value) for value in values]

    def _square(self, rows: Sequence[Sequence[Scalar]]) -> list[Any]:
        """Return a matrix, or its diagonal if that is all there is."""
        off = [entry for i, row in enumerate(rows) for j, entry in enumerate(row) if i != j]
        if _same(off, (0.0,) * len(off)):
            return self._numbers([row[i] for i, row in enumerate(rows)])
        return [self._numbers(row) for row in rows]

    # ------------------------------------------------------------------ elements

    def _body(self, body: Body) -> dict[str, Any]:
        properties = body.properties
        found: dict[str, Any] = {}
        if properties == MassProperties():
            return found
        found["mass"] = self._number(properties.mass)
        if not _same(properties.com, _ORIGIN):
            found["com"] = self._numbers(properties.com)
        inertia = self._square(properties.inertia)
        return found if inertia == [*_ORIGIN] else found | {"inertia": inertia}

    def _frame(self, frame: Frame) -> dict[str, Any]:
        return {"on": frame.body, **self._pose(frame.placement)}

    def _pose(self, placement: Placement) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if not _same(placement.point, _ORIGIN):
            found["at"] = self._numbers(placement.point)
        if placement.rotation != IDENTITY:
            found["rotation"] = [list(row) for row in placement.rotation]
        return found

    def _joint(self, use: JointUse) -> dict[str, Any]:
        head: dict[str, Any] = {use.joint.kind: [use.parent, use.child]}
        for name in _own_numbers(use.joint):
            head[name] = self._number(getattr(use.joint, name))
        head |= self._sides(use)
        return head | ({"prescribed": True} if use.prescribed else {})

    def _sides(self, use: JointUse) -> dict[str, Any]:
        """Return points and axes if they say it all, else poses."""
        at, at_child = use.on_parent.point, use.on_child.point
        for make, words in _guesses(use.joint.kind):
            try:
                frames = make(at, at_child).frames()
            except ModelError:
                continue
            if frames == (use.on_parent, use.on_child):
                points = {"at": at, "at_child": at_child}
                given = {key: self._numbers(point) for key, point in points.items() if not _same(point, _ORIGIN)}
                return {**given, **words}
        return {"pose": self._pose(use.on_parent), "pose_child": self._pose(use.on_child)}

    def _closure(self, use: ClosureUse) -> dict[str, Any]:
        closure = use.closure
        if isinstance(closure, Distance):
            return {
                "distance": [body for body, _ in use.sides],
                "length": self._number(closure.length),
                **self._points(use.sides),
            }
        if isinstance(closure, Coupling):
            ratios = zip(map(self._coordinate, use.coordinates), closure.ratios, strict=True)
            return {
                "coupling": {key: self._number(ratio) for key, ratio in ratios},
                "offset": self._number(closure.offset),
            }
        if isinstance(closure, Motion):
            return self._drive(use, closure)
        if isinstance(closure, Expression):
            written = self._law(closure.function, closure.arguments, use.sides, use.coordinates, use.name)
            return {"expression": written[0] if len(written) == 1 else written}
        raise FileError(f'closure "{use.name}" is {type(closure).__name__}, which a file cannot hold')

    def _drive(self, use: ClosureUse, motion: Motion) -> dict[str, Any]:
        """Return a drive; what follows a spline through time says just that."""
        t, parameters = ca.SX.sym("t"), ca.SX.sym("parameter", len(motion.arguments))
        column = ca.SX(motion.function(t, parameters))
        given = self._given(motion.arguments, use.name)
        written: list[float | str] = []
        for k in range(column.shape[0]):
            spline = _spline_through(column[k], t)
            if spline is not None:
                written.append(f"spline({quoted_text(self._definitions.spline(spline))}, {self._time})")
            else:
                one = ca.Function("motion", [t, parameters], [column[k]])
                written += _numbers_among(texts(one, [[self._time], given], self._definitions))
        if not motion.components:
            joint, index = use.coordinates[0]
            return {"drive": joint, **({"index": index} if index else {}), "position": written[0]}
        entries = dict(zip(motion.components, written, strict=True))
        return {**self._at("drive_point", use.sides[0]), "position": [entries.get(c) for c in range(3)]}

    def _state(self, use: StateUse) -> dict[str, Any]:
        (rate,) = self._formula(use.rate, use.sides, use.coordinates, use.states, use.name)
        return {"value": use.value, "rate": rate}

    def _event(self, use: EventUse) -> dict[str, Any]:
        watched, *values = self._formula(use.formula, use.sides, use.coordinates, use.states, use.name)
        found: dict[str, Any] = {"expression": watched}
        if use.direction:
            found["direction"] = "rising" if use.direction > 0 else "falling"
        if use.stop:
            found["stop"] = True
        for (kind, name, _), value in zip(use.sets, values, strict=True):
            found.setdefault(_SECTIONS[kind], {}).setdefault(name, []).append(value)
        for section in set(_SECTIONS.values()) & found.keys():
            found[section] = {name: v[0] if len(v) == 1 else v for name, v in found[section].items()}
        return found

    def _force(self, use: ForceUse) -> dict[str, Any]:
        write = _FORCES.get(type(use.force))
        if write is None:
            raise FileError(f'force "{use.name}" is {type(use.force).__name__}, which a file cannot hold')
        return write(self, use, use.force)

    def _spring(self, use: ForceUse, force: Spring) -> dict[str, Any]:
        return {"spring": self._two(use), **self._points_on(use.sides[:2]), **self._own(force)}

    def _law_spring(self, use: ForceUse, force: LawSpring) -> dict[str, Any]:
        written = self._formula(
            force.law, use.sides[2:], use.coordinates, use.states, use.name, ["elongation", "elongation_rate"]
        )
        laws = dict(zip(("law", "energy"), written, strict=False))
        length = {"free_length": self._number(force.free_length)}
        return {"spring": self._two(use), **self._points_on(use.sides[:2]), **length, **laws}

    def _bushing(self, use: ForceUse, force: Bushing) -> dict[str, Any]:
        found: dict[str, Any] = {"bushing": [body for body, _ in use.sides]}
        found |= {key: self._pose(side[1]) for key, side in zip(("pose", "pose_child"), use.sides, strict=True)}
        for name in ("stiffness", "damping"):
            entries = getattr(force, name)
            found[name] = self._square([entries[6 * i : 6 * i + 6] for i in range(6)])
        return found

    def _in_joint(self, use: ForceUse, force: TorsionSpring | Friction | Limit) -> dict[str, Any]:
        kinds = {TorsionSpring: "torsion_spring", Friction: "friction", Limit: "limit"}
        return {**self._on_coordinate(kinds[type(force)], use), **self._own(force)}

    def _actuator(self, use: ForceUse, force: Actuator) -> dict[str, Any]:
        (effort,) = self._formula(force.effort, use.sides, use.coordinates[1:], use.states, use.name)
        return {**self._on_coordinate("actuator", use), "effort": effort}

    def _load(self, use: ForceUse, force: Load) -> dict[str, Any]:
        wrench = self._formula(force.wrench, use.sides[1:], use.coordinates, use.states, use.name)
        frame = {"frame": "body"} if force.follows else {}
        return {**self._at("load", use.sides[0]), "wrench": wrench, **frame}

    def _contact(self, use: ForceUse, force: Contact) -> dict[str, Any]:
        (offset,) = self._formula(force.height, use.sides[1:], use.coordinates, use.states, use.name)
        found = {**self._at("contact", use.sides[0]), "normal": _normal(force.normal), "offset": offset}
        names = ("radius", "stiffness", "damping", "friction", "speed", "width")
        return found | {name: self._number(getattr(force, name)) for name in names}

    # ------------------------------------------------------------------ what elements hold on to

    def _own(self, force: Any) -> dict[str, Any]:
        """Return an element's own numbers by name."""
        pairs = {name: getattr(force, name) for name in _own_numbers(force)}
        return {name: self._number(value) for name, value in pairs.items() if value is not None}

    def _on_coordinate(self, kind: str, use: ForceUse) -> dict[str, Any]:
        joint, index = use.coordinates[0]
        return {kind: joint, **({"index": index} if index else {})}

    def _coordinate(self, key: tuple[str, int]) -> str:
        joint, index = key
        return f"{joint}[{index}]" if index else joint

    def _points(self, sides: Sequence[SideUse]) -> dict[str, Any]:
        pairs = zip(("at", "at_child"), sides, strict=True)
        return {key: self._numbers(side[1].point) for key, side in pairs if not _same(side[1].point, _ORIGIN)}

    def _two(self, use: ForceUse) -> list[str]:
        return [self._place_of(side) for side in use.sides[:2]]

    def _points_on(self, sides: Sequence[SideUse]) -> dict[str, Any]:
        pairs = zip(("at", "at_child"), sides, strict=True)
        return {key: self._numbers(side[1].point) for key, side in pairs if self._is_point(side)}

    def _at(self, kind: str, side: SideUse) -> dict[str, Any]:
        point = {"at": self._numbers(side[1].point)} if self._is_point(side) else {}
        return {kind: self._place_of(side), **point}

    def _is_point(self, side: SideUse) -> bool:
        return side[1].rotation == IDENTITY and not _same(side[1].point, _ORIGIN)

    def _place_of(self, side: SideUse) -> str:
        """Return the body of a side that is a point on it, or the frame that it is."""
        body, placement = side
        if placement.rotation == IDENTITY:
            return body
        for name, place in self._places:
            if place == side:
                return name
        raise FileError(
            f'mechanism "{self._d.name}" cannot be written as a file: an element is placed off the origin of a turned '
            f'frame on "{body}"; put a frame where it is'
        )

    # ------------------------------------------------------------------ laws

    def _law(
        self,
        function: ca.Function,
        arguments: Sequence[Scalar],
        sides: Sequence[SideUse],
        coordinates: Sequence[tuple[str, int]],
        element: str,
    ) -> list[float | str]:
        """Return the texts of a closure's expression."""
        R, p, w, u, q, v = self._motions(sides, coordinates, element)
        given = self._given(arguments, element)
        return _numbers_among(texts(function, [R, p, w, u, q, v, [self._time], given], self._definitions))

    def _formula(
        self,
        formula: Formula,
        sides: Sequence[SideUse],
        coordinates: Sequence[tuple[str, int]],
        states: Sequence[str],
        element: str,
        more: Sequence[str] = (),
    ) -> list[float | str]:
        """Return the texts of a formula."""
        z = [f"state({quoted_text(state)})" for state in states]
        moving = self._motions(sides, coordinates, element)
        given = self._given(formula.arguments, element)
        return _numbers_among(texts(formula.function, [*moving, z, more, [self._time], given], self._definitions))

    @property
    def _time(self) -> str:
        return "time()" if any(parameter.name == "t" for parameter in self._d.parameters) else "t"

    def _given(self, arguments: Sequence[Scalar], element: str) -> list[str]:
        if any(isinstance(value, float) for value in arguments):
            raise FileError(f'"{element}" has lost its parameters: write the mechanism it was described with')
        return [self._texts[hash(value)] for value in arguments]

    def _motions(
        self, sides: Sequence[SideUse], coordinates: Sequence[tuple[str, int]], element: str
    ) -> list[list[str]]:
        """Return how the entries of R, p, w, u, q and v are written."""
        places = [quoted_text(place) for place in self._named(sides, element)]
        rotations = [f"rotation({place})[{k % 3}, {k // 3}]" for place in places for k in range(9)]
        points, turns, speeds = (
            [f"{word}({place})[{first + k}]" for place in places for k in range(3)]
            for word, first in (("position", 0), ("velocity", 0), ("velocity", 3))
        )
        keys = [quoted_text(joint) + (f", {index}" if index else "") for joint, index in coordinates]
        return [rotations, points, turns, speeds, *([f"{word}({key})" for key in keys] for word in _OF_JOINTS)]

    def _named(self, sides: Sequence[SideUse], element: str) -> list[str]:
        """Return the names of the places that a law reads: they are in declared order, and each is read once."""
        rest = iter(self._places)
        found = [next((name for name, place in rest if place == side), None) for side in sides]
        names = [name for name in found if name is not None]
        if len(names) != len(sides):
            raise FileError(f'"{element}" reads a place that has no name any more')
        return names


_SECTIONS = {"velocity": "velocities", "effort": "efforts", "state": "states", "parameter": "parameters"}
_OF_JOINTS = ("coordinate", "rate")

_FORCES: dict[type, Callable[[_Writing, ForceUse, Any], dict[str, Any]]] = {
    Spring: _Writing._spring,
    LawSpring: _Writing._law_spring,
    Bushing: _Writing._bushing,
    TorsionSpring: _Writing._in_joint,
    Friction: _Writing._in_joint,
    Limit: _Writing._in_joint,
    Actuator: _Writing._actuator,
    Load: _Writing._load,
    Contact: _Writing._contact,
}


def _spline_through(expression: ca.SX, t: ca.SX) -> Spline | None:
    """Return the spline that an expression is at t, if it is one and nothing else."""
    function = ca.Function("motion", [t], [expression], {"allow_free": True})
    calls = [k for k in range(function.n_instructions()) if function.instruction_id(k) == ca.OP_CALL]
    if function.has_free() or len(calls) != 1:
        return None
    called = function.instructions_sx()[calls[0]].which_function()
    spline = spline_of(table_of(called)) if called.name() == "lookup" else None
    if spline is None or ca.Function("motion", [t], [spline(t)]).serialize() != function.serialize():
        return None
    return spline


def _own_numbers(element: Any) -> tuple[str, ...]:
    """Return the names of an element's numbers."""
    return tuple(field.name for field in fields(element))


def _guesses(kind: str) -> list[tuple[Callable[[Any, Any], Sides], dict[str, Any]]]:
    """Return the ways to place a joint of a kind by points and axes, and the keys that say so."""
    if kind in ("fixed", "spherical", "free"):
        return [(lambda at, child: AlignedSides(at=at, at_child=child), {})]
    if kind == "universal":
        pairs = [(a, b) for a in _AXES for b in _AXES if a[-1] != b[-1]]
        return [
            (
                lambda at, child, a=a, b=b: UniversalSides(at=at, at_child=child, axis=a, axis_child=b),  # type: ignore[misc]
                {"axis": a, "axis_child": b},
            )
            for a, b in pairs
        ]
    return [
        (lambda at, child, a=a: AxisSides(at=at, at_child=child, axis=a), {"axis": a})  # type: ignore[misc]
        for a in _AXES
    ]


def _normal(normal: Sequence[Any]) -> Any:
    """Return a direction such that it is read back to the last digit: by name, or a multiple of it."""
    for name in _AXES:
        if direction(name) == tuple(normal):
            return name
    largest = max(map(abs, normal))
    for size in (1.0, largest, *(largest * k / 7 for k in range(1, 60))):
        multiple = [entry / size for entry in normal]
        if direction(multiple) == tuple(normal):
            return multiple
    return list(normal)


def _same(a: Sequence[Scalar], b: Sequence[float]) -> bool:
    return all(isinstance(x, float) for x in a) and tuple(a) == tuple(b)


def _numbers_among(written: Sequence[str]) -> list[float | str]:
    """Return texts, and what is a number as such."""
    found: list[float | str] = []
    for text in written:
        try:
            found.append(float(text))
        except ValueError:
            found.append(text)
    return found


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as plain mappings, lists, numbers and words."""
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in settings.items()}
