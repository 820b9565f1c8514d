"""The sections of a model file, from a description: every element as the mappings and texts that YAML holds."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import casadi as ca

from whippletree.elements.bodies import BodyKind, FlexibleBody, MassProperties, Shape
from whippletree.elements.bodies.appearance import DIMENSIONS
from whippletree.elements.closures import Coupling, DeclaredClosure, Expression
from whippletree.elements.declaration import parts, quantities
from whippletree.elements.drivers import CurveByPieces, Motion, curve_of
from whippletree.elements.forces import MOMENT_AND_FORCE, Force, Formula
from whippletree.elements.joints import Joint
from whippletree.elements.joints.angles import ThreeAngles
from whippletree.errors import FileError, ModelError
from whippletree.model.catalogue import registered
from whippletree.model.description import Body, ClosureUse, Description, EventUse, ForceUse, Frame, JointUse, StateUse
from whippletree.model.io.flexible_forms import archived, content_name
from whippletree.model.io.forms import BUILT_IN
from whippletree.model.io.model_file import JointRange, Model, Motor
from whippletree.model.io.reader import FORMAT
from whippletree.model.io.texts import Definitions, parameter_text, quoted_text, texts
from whippletree.model.joint_frames import FRAMES
from whippletree.spatial.orientation import IDENTITY, direction
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, expressions

__all__ = ["Sections"]

SideUse = tuple[str, Placement]
_ORIGIN = (0.0, 0.0, 0.0)
_AXES = ("x", "y", "z", "-x", "-y", "-z")
_ELEMENTS = "whippletree.elements."

Entry: TypeAlias = "str | float | bool | Sequence[Entry] | Mapping[str, Entry] | None"
"""The value of a key in a file: a word, a number, or lists and mappings of such."""

Section: TypeAlias = dict[str, Entry]
"""An element of a file, by its keys."""


class Sections:
    """The sections of a file, from a description."""

    def __init__(self, description: Description, stem: str = "") -> None:
        self._d, self._stem = description, stem
        self.beside: dict[str, bytes] = {}  # archives of flexible bodies by the names of their files beside the model
        self._definitions = Definitions(parameter.name for parameter in description.parameters)
        self._places = [
            *((body.name, (body.name, Placement.identity())) for body in description.bodies),
            *((frame.name, (frame.body, frame.placement)) for frame in description.frames),
        ]
        self._texts = self._parameter_texts()

    def tree(self, model: Model) -> dict[str, object]:
        """Return the whole file."""
        d = self._d
        owned = {name for use in d.forces for name in use.own_states}  # their elements bring them along
        joints = {use.name for use in d.joints}
        inside = {body.name for body in d.bodies if body.kind is not None}  # elastic forces come with their bodies
        sections: dict[str, Any] = {
            "whippletree": FORMAT,
            "name": d.name,
            "gravity": self._numbers(d.gravity),
            "parameters": {parameter.name: parameter.value for parameter in d.parameters},
            "definitions": {},
            **{f"{kind.word}s": {} for kind in CurveByPieces.__subclasses__()},
            "bodies": {body.name: self._body(body) for body in d.bodies},
            "frames": {frame.name: self._frame(frame) for frame in d.frames},
            "joints": {use.name: self._joint(use) for use in d.joints},
            "closures": {use.name: self._closure(use) for use in d.closures},
            "states": {use.name: self._state(use) for use in d.states if use.name not in owned},
            "forces": {use.name: self._force(use) for use in d.forces if use.name not in inside},
            "events": {use.name: self._event(use) for use in d.events},
            "ranges": {name: _given(bounds) for name, bounds in model.ranges.items() if name in joints},
            "motors": {name: _plain(_given(one)) for name, one in model.motors.items() if joints >= {*one.efforts}},
            "start": _plain(model.start),
            "run": _plain(model.run),
        }
        sections["definitions"] = self._definitions.texts
        for curve, name in self._definitions.curves.items():
            sections[f"{curve.word}s"][name] = curve.given
        return {key: section for key, section in sections.items() if section or key in ("whippletree", "name")}

    # ------------------------------------------------------------------ numbers

    def _parameter_texts(self) -> dict[int, str]:
        """Return the texts of all expressions in parameters, by the hashes of these."""
        found = expressions([*self._d.numbers(), *self._d.shape_numbers()])
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

    def _square(self, rows: Sequence[Sequence[Scalar]]) -> Sequence[Entry]:
        """Return a matrix, or its diagonal if that is all there is."""
        off = [entry for i, row in enumerate(rows) for j, entry in enumerate(row) if i != j]
        if _same(off, (0.0,) * len(off)):
            return self._numbers([row[i] for i, row in enumerate(rows)])
        return [self._numbers(row) for row in rows]

    # ------------------------------------------------------------------ elements

    def _body(self, body: Body) -> Section:
        if body.kind is not None:
            return {"modal": self._stored(body.name, body.kind)}
        properties = body.properties
        found: Section = {}
        drawn = [self._drawn(shape) for shape in properties.shapes]
        shapes: Section = {"shapes": drawn} if drawn else {}
        if properties == MassProperties():
            return shapes
        found["mass"] = self._number(properties.mass)
        if not _same(properties.com, _ORIGIN):
            found["com"] = self._numbers(properties.com)
        inertia = self._square(properties.inertia)
        if inertia != [*_ORIGIN]:
            found["inertia"] = inertia
        given = {} if properties.possible else {"as_given": True}
        return found | given | shapes

    def _stored(self, name: str, kind: BodyKind) -> str | dict[str, str]:
        """Return the name of the file that holds a flexible body, or its archive where there is to be no file.

        Bodies that are the same share a file.
        """
        if not isinstance(kind, FlexibleBody):
            raise FileError(
                f'body "{name}" is a {type(kind).__name__}, a body with own coordinates of a type that files do not '
                "hold: keep its description in Python"
            )
        data = archived(kind)
        if not self._stem:
            return {"archive": base64.b64encode(data).decode("ascii")}
        for file, other in self.beside.items():
            if other == data:
                return file
        own = f"{self._stem}.{re.sub('[^0-9A-Za-z_-]+', '-', name) or 'body'}"
        file = f"{own}.{content_name(data)}.npz"
        self.beside[file] = data
        return file

    def _drawn(self, shape: Shape) -> Section:
        """Return a shape that is drawn."""
        sizes = dict(zip(DIMENSIONS[shape.kind], self._numbers(shape.size), strict=True))
        file = {"file": shape.file} if shape.file else {}
        looks = ({"color": shape.color} if shape.color else {}) | ({"collides": True} if shape.collides else {})
        return {shape.kind: {**sizes, **file}, **self._pose(shape.placement), **looks}

    def _frame(self, frame: Frame) -> Section:
        return {"on": frame.body, **self._pose(frame.placement)}

    def _pose(self, placement: Placement) -> Section:
        found: Section = {}
        if not _same(placement.point, _ORIGIN):
            found["at"] = self._numbers(placement.point)
        if placement.rotation != IDENTITY:
            found["rotation"] = [list(row) for row in placement.rotation]
        return found

    def _joint(self, use: JointUse) -> Section:
        joint = use.joint
        if isinstance(joint, ThreeAngles):
            head: Section = {joint.like: [use.parent, use.child], "coordinates": joint.sequence.word}
            return head | self._sides(use) | self._inertia_and_drive(use)
        head = {joint.kind: [use.parent, use.child]}
        _check_known("joint", use.name, joint, joint.kind)
        head |= {name: self._number(getattr(joint, name)) for name in quantities(joint)}
        return head | self._sides(use) | self._inertia_and_drive(use)

    def _inertia_and_drive(self, use: JointUse) -> Section:
        own = self._numbers(use.armature)
        armature: Section = {"armature": own[0] if len(own) == 1 else own} if own else {}
        return armature | ({"prescribed": True} if use.prescribed else {})

    def _sides(self, use: JointUse) -> Section:
        """Return points and axes if they say it all, else poses."""
        at, at_child = use.on_parent.point, use.on_child.point
        for words in _guesses(use.joint.n_axes):
            try:
                frames = FRAMES[use.joint.n_axes](at=at, at_child=at_child, **words).frames()
            except ModelError:
                continue
            if frames == (use.on_parent, use.on_child):
                points = {"at": at, "at_child": at_child}
                given = {key: self._numbers(point) for key, point in points.items() if not _same(point, _ORIGIN)}
                return {**given, **words}
        return {"pose": self._pose(use.on_parent), "pose_child": self._pose(use.on_child)}

    def _closure(self, use: ClosureUse) -> Section:
        closure = use.closure
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
        return self._declared(use, closure, "closure")

    def _drive(self, use: ClosureUse, motion: Motion) -> Section:
        """Return a drive; one that follows a spline or a table through time names just that."""
        t, parameters = ca.SX.sym("t"), ca.SX.sym("parameter", len(motion.arguments))
        column = ca.SX(motion.function(t, parameters))
        given = self._given(motion.arguments, use.name)
        written: list[float | str] = []
        for k in range(column.shape[0]):
            curve = _curve_through(column[k], t)
            if curve is not None:
                written.append(f"{curve.word}({self._definitions.curve(curve)}, {self._time})")
            else:
                one = ca.Function("motion", [t, parameters], [column[k]])
                written += _numbers_among(texts(one, [[self._time], given], self._definitions))
        if not motion.components:
            joint, index = use.coordinates[0]
            return {"drive": joint, **({"index": index} if index else {}), "position": written[0]}
        entries = dict(zip(motion.components, written, strict=True))
        return {**self._at("drive_point", use.sides[0]), "position": [entries.get(c) for c in range(3)]}

    def _state(self, use: StateUse) -> Section:
        (rate,) = self._formula(use.rate, use.sides, use.coordinates, use.states, use.name)
        return {"value": use.value, "rate": rate}

    def _event(self, use: EventUse) -> Section:
        watched, *values = self._formula(use.formula, use.sides, use.coordinates, use.states, use.name)
        found: Section = {"expression": watched}
        if use.direction:
            found["direction"] = "rising" if use.direction > 0 else "falling"
        if use.stop:
            found["stop"] = True
        sets: dict[str, dict[str, list[float | str]]] = {}
        for (kind, name, _), value in zip(use.sets, values, strict=True):
            sets.setdefault(_SECTIONS[kind], {}).setdefault(name, []).append(value)
        given = {section: {name: v[0] if len(v) == 1 else v for name, v in of.items()} for section, of in sets.items()}
        return {**found, **given}

    def _force(self, use: ForceUse) -> Section:
        initial = [self._d.state(name).value for name in use.own_states]
        return {**self._declared(use, use.force, "force"), **({"initial": initial} if any(initial) else {})}

    def _declared(self, use: ClosureUse | ForceUse, element: DeclaredClosure | Force, family: str) -> Section:
        """Return an element as its type declares it: its word with its places and joints, and its fields."""
        word, n, m = element.word, element.n_sides, element.n_coordinates
        built_in = _check_known(family, use.name, element, word)
        own: Section = {}
        for name, value in element.told().items():
            own |= self._told(use, name, value)
        coordinates = [self._coordinate(key) for key in use.coordinates[:m]]
        if n:
            names, points = self._placed(element, use.sides[:n])
            where = {"coordinates": coordinates} if m else {}
            return {word: names if n > 1 else names[0], **points, **own, **where}
        if built_in:
            return {**self._on_coordinate(word, use), **own}
        return {word: coordinates if m > 1 else coordinates[0], **own}

    def _placed(self, element: DeclaredClosure | Force, sides: Sequence[SideUse]) -> tuple[list[str], Section]:
        """Return the names of the places that an element is on, and where it is there."""
        if "pose" in element.placed_by:
            poses = zip(("pose", "pose_child"), sides, strict=True)
            return [body for body, _ in sides], {key: self._pose(side[1]) for key, side in poses}
        many = len(sides) > 2
        return [self._place_of(side, whole=many) for side in sides], {} if many else self._points_on(sides)

    def _told(self, use: ClosureUse | ForceUse, name: str, value: Any) -> Section:
        """Return the entry of an argument in a file: numbers, flags and words as they are, a formula by its entries."""
        what = quantities(use.force if isinstance(use, ForceUse) else use.closure).get(name)
        if isinstance(value, Formula):
            assert isinstance(use, ForceUse)
            return self._laws(use, name, value)
        if what is not None and what.direction:
            return {name: _normal(value)}
        if what is not None and what.square:
            return {name: self._square([value[i : i + what.square] for i in range(0, len(value), what.square)])}
        if isinstance(value, list):
            return {name: [self._numbers(each) for each in value]}
        if isinstance(value, tuple):
            return {name: self._numbers(value)}
        return {name: value if isinstance(value, bool | str) else self._number(value)}

    def _laws(self, use: ForceUse, name: str, formula: Formula) -> Section:
        """Return the formula of a force element; that of a law may have its energy as a second entry."""
        n, m, own = use.force.n_sides, use.force.n_coordinates, len(use.own_states)
        of_length = parts(use.force)[name].of == "length"
        more = ["elongation", "elongation_rate"] if of_length else _transmitted(use.reactions)
        read = (use.sides[n:], use.coordinates[m:], use.states[own:])
        written = self._formula(formula, *read, use.name, more)
        if of_length:
            return dict(zip((name, "energy"), written, strict=False))
        return {name: written if len(written) > 1 else written[0]}

    # ------------------------------------------------------------------ places and coordinates of elements

    def _on_coordinate(self, kind: str, use: ClosureUse | ForceUse) -> Section:
        joint, index = use.coordinates[0]
        return {kind: joint, **({"index": index} if index else {})}

    def _coordinate(self, key: tuple[str, int]) -> str:
        joint, index = key
        return f"{joint}[{index}]" if index else joint

    def _points_on(self, sides: Sequence[SideUse]) -> Section:
        pairs = zip(("at", "at_child"), sides, strict=False)
        return {key: self._numbers(side[1].point) for key, side in pairs if self._is_point(side)}

    def _at(self, kind: str, side: SideUse) -> Section:
        point = {"at": self._numbers(side[1].point)} if self._is_point(side) else {}
        return {kind: self._place_of(side), **point}

    def _is_point(self, side: SideUse) -> bool:
        return side[1].rotation == IDENTITY and not _same(side[1].point, _ORIGIN)

    def _place_of(self, side: SideUse, *, whole: bool = False) -> str:
        """Return the body of a side that is a point on it, or the frame that it is; if `whole`, no point is left."""
        body, placement = side
        if placement.rotation == IDENTITY and not (whole and self._is_point(side)):
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


def _curve_through(expression: ca.SX, t: ca.SX) -> CurveByPieces | None:
    """Return the spline or table that an expression is at t, if it is one and nothing else."""
    function = ca.Function("motion", [t], [expression], {"allow_free": True})
    calls = [k for k in range(function.n_instructions()) if function.instruction_id(k) == ca.OP_CALL]
    if function.has_free() or len(calls) != 1:
        return None
    called = function.instructions_sx()[calls[0]].which_function()
    curve = curve_of(called)
    if curve is None or ca.Function("motion", [t], [curve(t)]).serialize() != function.serialize():
        return None
    return curve


def _check_known(family: str, name: str, element: Joint | DeclaredClosure | Force, word: str) -> bool:
    """Return whether a type is one of the package; refuse one that files do not know."""
    built_in = word in BUILT_IN[f"{family}s"] and type(element).__module__.startswith(_ELEMENTS)
    if not built_in and registered(f"{family}s").get(word) is not type(element):
        raise FileError(
            f'{family} "{name}" is {type(element).__name__}, which a file cannot hold: '
            "whippletree.register makes a type known to files"
        )
    return built_in


def _transmitted(joints: Sequence[str]) -> list[str]:
    """Return how the components of joints' reactions are written."""
    return [f"reaction({quoted_text(joint)})[{k}]" for joint in joints for k in range(len(MOMENT_AND_FORCE))]


def _guesses(n_axes: int) -> list[dict[str, Any]]:
    """Return the axes by which a joint may have been placed, as keys of a file."""
    if n_axes == 0:
        return [{}]
    if n_axes == 1:
        return [{"axis": a} for a in _AXES]
    return [{"axis": a, "axis_child": b} for a in _AXES for b in _AXES if a[-1] != b[-1]]


def _normal(normal: Sequence[Any]) -> str | list[float]:
    """Return a direction such that it is read back to the last digit: by name, or a multiple of it."""
    for name in _AXES:
        if direction(name) == tuple(normal):
            return name
    largest = max(map(abs, normal))  # not empty: there are three entries
    for size in (1.0, largest, *(largest * k / 7 for k in range(1, 60))):
        multiple = [entry / size for entry in normal]
        if direction(multiple) == tuple(normal):
            return multiple
    return list(normal)


def _same(a: Sequence[Scalar], b: Sequence[float]) -> bool:
    return all(isinstance(x, float) for x in a) and tuple(a) == tuple(b)


def _numbers_among(written: Sequence[str]) -> list[float | str]:
    """Return texts as they are, and numbers as numbers."""
    found: list[float | str] = []
    for text in written:
        try:
            found.append(float(text))
        except ValueError:
            found.append(text)
    return found


def _given(what: JointRange | Motor) -> Section:
    """Return the section of a range or a motor."""
    return {key: value for key, value in vars(what).items() if value is not None}


def _plain(settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings as plain mappings, lists, numbers and words."""
    return {key: _plain_value(value) for key, value in settings.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, Placement):
        return {"at": [*value.point], "rotation": [[*row] for row in value.rotation]}
    return {key: _plain_value(item) for key, item in value.items()} if isinstance(value, Mapping) else value
