"""Reading a model file: a tree of nodes becomes calls on a `Mechanism`."""

from __future__ import annotations

import functools
import operator
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from whippletree.elements import bodies as shapes
from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.bodies.appearance import DIMENSIONS
from whippletree.errors import FileError, ModelError
from whippletree.foundation.output_paths import checked_path
from whippletree.model.io import values
from whippletree.model.io.flexible_forms import FLEXIBLE, flexible_body
from whippletree.model.io.forms import CURVES, RUN, SHAPES, START, arguments, declare, forms_of
from whippletree.model.io.model_file import JointRange, Model, Motor
from whippletree.model.io.nodes import MAX_CHARACTERS, Leaf, ListNode, MapNode, Mark, Node, Source, read_tree, words_for
from whippletree.model.io.scopes import Names, UnfitError
from whippletree.model.io.values import FileContext, FileValue, Reader
from whippletree.model.mechanism import Mechanism
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.orientation import IDENTITY
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import shown

__all__ = ["FORMAT", "from_bytes", "from_file", "from_text"]

FORMAT = 1
"""The version of the format."""

SECTIONS = (
    "whippletree",
    "name",
    "gravity",
    "parameters",
    "definitions",
    *CURVES,
    "bodies",
    "frames",
    "joints",
    "closures",
    "states",
    "forces",
    "events",
    "ranges",
    "motors",
    "start",
    "run",
)
_KINDS = {
    **{section: kind.word for section, (kind, _, _) in CURVES.items()},
    "bodies": "body",
    "frames": "frame",
    "joints": "joint",
    "closures": "closure",
    "states": "state",
    "forces": "force",
    "events": "event",
    "ranges": "range",
    "motors": "motor",
}


def from_file(path: str | os.PathLike[str]) -> Model:
    """Read a model from a file."""
    try:
        place = checked_path(path)
        with place.open("rb") as file:
            data = file.read(4 * MAX_CHARACTERS + 1)
    except (TypeError, ValueError) as error:
        raise FileError(f"the path of a model file must be text, got {shown(path)}: {error}") from None
    except OSError as error:
        raise FileError(f"{place}: the file cannot be read: {error.strerror or error}") from None
    return from_bytes(data, str(place))


def from_bytes(data: bytes, name: str) -> Model:
    """Read a model from the bytes of a file; `name` is its name in messages."""
    return _model(Source(name, _decoded(data, name)))


def from_text(text: str, name: str = "<text>") -> Model:
    """Read a model from text; `name` is its name in messages.

    >>> from_text("name: empty").mechanism.name
    'empty'
    """
    if not isinstance(text, str):
        raise FileError(f"a model must be text, got {shown(text)}")
    return _model(Source(name, text.removeprefix("\ufeff")))


def _decoded(data: bytes, name: str) -> str:
    """Return the text of a file, which must be UTF-8."""
    if len(data) > 4 * MAX_CHARACTERS:
        raise FileError(f"{name}: the file is too large: more than {4 * MAX_CHARACTERS:,} bytes", file=name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        mark = Mark(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise Source(name, "").error(mark, "the file is not text in UTF-8") from None


def _model(source: Source) -> Model:
    """Read the whole of a file."""
    root = read_tree(source)
    try:
        if not isinstance(root, MapNode):
            raise UnfitError(
                root.mark, f"a model is a mapping with the keys name, bodies, joints, but is {words_for(root)}"
            )
        return _Reading(source, root).model()
    except UnfitError as error:
        raise source.error(error.mark, str(error)) from error.__cause__


class _Reading:
    """The sections of a file one by one, in an order in which each finds the names that it refers to."""

    def __init__(self, source: Source, root: MapNode) -> None:
        self._source, self._root = source, root
        for key in root.items:
            if key not in SECTIONS:
                raise UnfitError(root.keys[key], f"there is no key {suggestion(key, SECTIONS)}")
        self._version()
        self._mechanism = self._named()
        self._context = FileContext(self._mechanism, self._names())

    def model(self) -> Model:
        """Return the mechanism, its start and its run."""
        self._gravity()
        curves = self._context.names.curves
        for section, (kind, needed, optional) in CURVES.items():
            for name, node in self._section(section):
                with self._element(section, name, node):
                    if name in curves:
                        raise ModelError(f"the name is taken by a {curves[name].word}: choose another")
                    curves[name] = kind(**arguments(self._context, node, needed, optional))
        for name, node in self._section("bodies"):
            with self._element("bodies", name, node):
                self._body(name, node)
        for name, node in self._section("frames"):
            with self._element("frames", name, node):
                keys = arguments(self._context, node, {"on": values.word}, _PLACED)
                self._mechanism.frame(name, **keys)
        self._calls("joints")
        states = self._states()
        self._context.names.finish()
        self._rates(states)
        self._calls("closures")
        self._calls("forces")
        self._calls("events")
        start, run = self._settings("start", START), self._settings("run", RUN)
        return Model(
            self._mechanism, start, run, self._source.name, self._lines(), ranges=self._ranges(), motors=self._motors()
        )

    # ------------------------------------------------------------------ the head of the file

    def _version(self) -> None:
        node = self._root.items.get("whippletree")
        if node is None:
            return
        version = node.value if isinstance(node, Leaf) else None
        if version != FORMAT or isinstance(version, bool):
            raise UnfitError(
                node.mark, f"this is written for version {_text(node)} of the format, and this package reads {FORMAT}"
            )

    def _named(self) -> Mechanism:
        node = self._root.items.get("name")
        if node is None:
            raise UnfitError(self._root.mark, 'the key "name" is missing: give the mechanism a name')
        name = values.text(node, "name")
        with values.blamed(node):
            return Mechanism(name)

    def _names(self) -> Names:
        sections = {}
        for key in ("parameters", "definitions"):
            node = self._root.items.get(key)
            sections[key] = None if node is None or _is_empty(node) else values.mapping(node, key)
        with values.blamed(sections["parameters"] or self._root):
            return Names(self._mechanism, sections["parameters"], sections["definitions"])

    def _gravity(self) -> None:
        node = self._root.items.get("gravity")
        if node is not None:
            with values.blamed(node):
                self._mechanism.gravity = values.vector(self._context, node, "gravity")

    # ------------------------------------------------------------------ elements

    def _section(self, key: str) -> Iterator[tuple[str, MapNode]]:
        """Yield the elements of a section by name."""
        section = self._root.items.get(key)
        if section is None or _is_empty(section):
            return
        for name, node in values.mapping(section, key).items.items():
            if _is_empty(node):
                yield name, MapNode(node.mark, {}, {})
            elif isinstance(node, MapNode):
                yield name, node
            else:
                raise UnfitError(node.mark, f"{key}: {quoted(name)} must be a mapping, but is {words_for(node)}")

    def _calls(self, key: str) -> None:
        """Make the call that each element of a section stands for."""
        forms = forms_of(key)
        for name, node in self._section(key):
            with self._element(key, name, node):
                declare(self._context, name, node, forms)

    def _body(self, name: str, node: MapNode) -> None:
        flexible = next((key for key in node.items if key in FLEXIBLE), None)
        if flexible is not None:
            place = Path(self._source.name)
            folder = place.parent if place.is_file() else None
            with values.blamed(node):
                self._mechanism.body(name, flexible_body(self._context, node, flexible, folder))
            return
        loose = {key: _LOOSE[key](self._context, item, key) for key, item in node.items.items() if key in _LOOSE}
        if len(loose) == len(node.items) and "as_given" not in loose:
            self._mechanism.body(name, **loose)
        else:
            self._mechanism.body(name, _properties(self._context, node))

    def _states(self) -> list[tuple[str, MapNode]]:
        """Declare the states; their rates come when everything that these may depend on is there."""
        found = []
        for name, node in self._section("states"):
            with self._element("states", name, node):
                values.known_keys(node, ("value", "rate"), "")
                value = node.items.get("value")
                given = () if value is None else (values.fixed_number(self._context, value, "value"),)
                self._mechanism.state(name, *given)
                found.append((name, node))
        return found

    def _rates(self, states: list[tuple[str, MapNode]]) -> None:
        for name, node in states:
            if "rate" in node.items:
                with self._element("states", name, node):
                    self._mechanism.state_rate(name, values.law(self._context, node.items["rate"], "rate"))

    def _ranges(self) -> dict[str, JointRange]:
        """Return how far, how fast and how hard joints may go, which nothing enforces."""
        found = {}
        joints = [use.name for use in self._mechanism.describe().joints]
        for name, node in self._section("ranges"):
            with self._element("ranges", name, node):
                if name not in joints:
                    raise ModelError(f"there is no joint {suggestion(name, joints)}")
                found[name] = JointRange(**arguments(self._context, node, {}, _RANGE))
        return found

    def _motors(self) -> dict[str, Motor]:
        """Return the motors, whose efforts are given in calls."""
        found = {}
        for name, node in self._section("motors"):
            with self._element("motors", name, node):
                keys = arguments(self._context, node, {"efforts": values.by_joint}, _CONTROL)
                if not keys["efforts"] or not all(isinstance(one, float) for one in keys["efforts"].values()):
                    raise ModelError("efforts must name joints that have one coordinate each")
                found[name] = Motor(**keys)
        return found

    def _lines(self) -> dict[str, int]:
        """Return the lines of elements by name; of those with the same name, the one that is named first below."""
        found: dict[str, int] = {}
        for section in ("joints", "closures", "bodies", "forces", "frames", "states", "events"):
            node = self._root.items.get(section)
            marks = node.keys if isinstance(node, MapNode) else {}
            found = {**{name: mark.line for name, mark in marks.items()}, **found}
        return found

    def _settings(self, key: str, readers: Mapping[str, Reader]) -> dict[str, object]:
        node = self._root.items.get(key)
        if node is None or _is_empty(node):
            return {}
        if key == "start" and isinstance(node, Leaf) and node.value == "equilibrium":
            return {"equilibrium": True}
        try:
            return arguments(self._context, values.mapping(node, key), {}, readers)
        except UnfitError as error:
            raise UnfitError(error.mark or node.mark, f"{key}: {error}") from None

    @contextmanager
    def _element(self, section: str, name: str, node: MapNode) -> Iterator[None]:
        """Within it, an error is about that element, at the line it is in."""
        prefix = f"{_KINDS[section]} {quoted(name)}: "
        mark = values.mapping(self._root.items[section], section).keys[name]
        try:
            yield
        except UnfitError as error:
            raise self._source.error(error.mark or mark, f"{prefix}{error}") from error.__cause__
        except ModelError as error:
            message = str(error).removeprefix(prefix)
            raise self._source.error(_culprit(node, message) or mark, f"{prefix}{message}") from error


_RANGE: dict[str, Reader] = dict.fromkeys(("lower", "upper", "speed", "effort"), values.fixed_number)
_CONTROL: dict[str, Reader] = dict.fromkeys(("lower", "upper"), values.fixed_number)
_PLACED: dict[str, Reader] = {"at": values.vector, "rotation": values.rotation}
_LOOKS: dict[str, Reader] = {"color": values.word, "collides": values.flag}
_LOOSE: dict[str, Reader] = {
    "mass": values.number,
    "com": values.vector,
    "inertia": values.diagonal_or(3),
    "as_given": values.flag,
}


def _properties(context: FileContext, node: Node) -> MassProperties:
    """Read mass properties: a shape, a sum, or mass, com and inertia; and where it is moved to."""
    if not isinstance(node, MapNode):
        raise UnfitError(node.mark, f"mass properties must be a mapping, but are {words_for(node)}")
    kinds = [key for key in node.items if key in (*SHAPES, "point_masses", "sum")]
    loose = [key for key in node.items if key in _LOOSE]
    if len(kinds) > 1 or (kinds and loose):
        first, second = [*kinds, *loose][:2]
        raise UnfitError(
            node.keys[second], f'give either "{first}" or "{second}"; several shapes together make a "sum"'
        )
    values.known_keys(node, (*SHAPES, "point_masses", "sum", *_LOOSE, "moved", "shapes"), "")
    with values.blamed(node):
        found = _shape(context, node, kinds[0]) if kinds else _mass_properties(context, node)
        if "shapes" in node.items:
            found = found.drawn_as(_drawn_shapes(context, node.items["shapes"]))
        if "moved" not in node.items:
            return found
        return found.moved(**_keys(context, node.items["moved"], "moved", {}, _PLACED))


def _mass_properties(context: FileContext, node: MapNode) -> MassProperties:
    given = {key: _LOOSE[key](context, item, key) for key, item in node.items.items() if key in _LOOSE}
    return MassProperties.as_given(**given) if given.pop("as_given", False) else MassProperties(**given)


def _drawn_shapes(context: FileContext, node: Node) -> tuple[Shape, ...]:
    """Read the appearance of a body: a list of shapes, each with its sizes and its place."""
    items = values.listing(node, "shapes").items
    return tuple(_drawn_shape(context, values.mapping(item, f"shapes[{k}]")) for k, item in enumerate(items))


def _drawn_shape(context: FileContext, node: MapNode) -> Shape:
    values.known_keys(node, (*DIMENSIONS, *_PLACED, *_LOOKS), "")
    kinds = [key for key in node.items if key in DIMENSIONS]
    if len(kinds) != 1:
        raise UnfitError(node.mark, f"give one of {', '.join(DIMENSIONS)}")
    kind = kinds[0]
    sizes: dict[str, Reader] = dict.fromkeys(DIMENSIONS[kind], values.number)
    more: dict[str, Reader] = {"file": values.word} if kind == "mesh" else {}
    given = _keys(context, node.items[kind], kind, {**sizes, **more}, {})
    where = {key: _PLACED[key](context, item, key) for key, item in node.items.items() if key in _PLACED}
    placement = Placement(where.get("rotation", IDENTITY), where.get("at", (0.0, 0.0, 0.0)))
    looks = {key: _LOOKS[key](context, item, key) for key, item in node.items.items() if key in _LOOKS}
    return Shape(kind, tuple(given[name] for name in sizes), placement, given.get("file", ""), **looks)


def _shape(context: FileContext, node: MapNode, kind: str) -> MassProperties:
    own = node.items[kind]
    if kind in SHAPES:
        needs, may = SHAPES[kind]
        made: MassProperties = getattr(shapes, kind)(**_keys(context, own, kind, needs, may))
        return made
    items = values.listing(own, kind).items
    if kind == "sum":
        if not items:
            raise UnfitError(own.mark, "a sum must have parts")
        return functools.reduce(operator.add, [_properties(context, item) for item in items])
    needs, may = SHAPES["point_mass"]
    masses = [_keys(context, item, f"{kind}[{k}]", needs, may) for k, item in enumerate(items)]
    return shapes.point_masses([(mass["mass"], mass.get("at", (0.0, 0.0, 0.0))) for mass in masses])


def _keys(
    context: FileContext, node: Node, what: str, needs: Mapping[str, Reader], may: Mapping[str, Reader]
) -> dict[str, FileValue]:
    """Read the keys of a mapping inside an element."""
    try:
        return arguments(context, values.mapping(node, what), needs, may)
    except UnfitError as error:
        message = str(error)
        raise UnfitError(
            error.mark or node.mark, message if message.startswith(f"{what} ") else f"{what}: {message}"
        ) from error.__cause__


def _is_empty(node: Node) -> bool:
    return isinstance(node, Leaf) and node.value is None


def _text(node: Node) -> str:
    return " ".join(node.text[:40].split()) if isinstance(node, Leaf) else words_for(node)


def _culprit(node: MapNode, message: str) -> Mark | None:
    """Return the place that a message about an element is about: the key it begins with, or a name it quotes."""
    begin, *_ = re.split(r"\W", message, maxsplit=1)
    if begin in node.items:
        return node.items[begin].mark
    named = re.search('"([^"]*)"', message)
    if named is not None and not message.startswith("the name "):
        leaves = [leaf for item in node.items.values() for leaf in _leaves(item)]
        return next((leaf.mark for leaf in leaves if leaf.text == named[1]), None)
    return None


def _leaves(node: Node) -> list[Leaf]:
    """Return a leaf, or those of a list."""
    items = node.items if isinstance(node, ListNode) else [node]
    return [item for item in items if isinstance(item, Leaf)]
