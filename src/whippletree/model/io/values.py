"""How the values in a model file are read: each function takes a node and returns an argument of a call.

A `FileContext` says what names stand for. What will not do is `UnfitError`, at its line, in words that begin with the
key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import casadi as ca

from whippletree.errors import ModelError
from whippletree.model.io.grammar import Scope, evaluate
from whippletree.model.io.nodes import Leaf, ListNode, MapNode, Node, words_for
from whippletree.model.io.scopes import LawScope, Names, NumberScope, UnfitError, located, plain
from whippletree.model.mechanism import Mechanism
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar

__all__ = ["FileContext", "Reader"]

ABOUT_ALL = ("coordinates", "velocities", "states", "accelerations", "efforts", "energy", "work", "reactions")
"""Words for a quantity of everything."""


class FileContext(NamedTuple):
    """The vocabulary of the values in a file."""

    mechanism: Mechanism
    names: Names

    @property
    def numbers(self) -> NumberScope:
        """Names for expressions in parameters."""
        return NumberScope(self.names)

    def laws(self, *, of_length: bool = False) -> LawScope:
        """Names for expressions in everything that moves."""
        return LawScope(self.names, self.mechanism, of_length=of_length)


FileValue: TypeAlias = Any
"""The value of a node of a file: a number, an expression, a list or mapping of them, an element."""

Reader: TypeAlias = Callable[[FileContext, Node, str], FileValue]


def number(context: FileContext, node: Node, what: str) -> Scalar:
    """Read a number, or an expression in parameters."""
    return _evaluated(node, what, context.numbers)


def law(context: FileContext, node: Node, what: str) -> Scalar:
    """Read a number, or an expression in whatever moves."""
    return _evaluated(node, what, context.laws())


def spring_law(context: FileContext, node: Node, what: str) -> Scalar:
    """Read a law of elongation, its rate, and whatever moves."""
    return _evaluated(node, what, context.laws(of_length=True))


def fixed_number(context: FileContext, node: Node, what: str) -> float:
    """Read a number, or an expression, which is taken at the parameters' values."""
    value = number(context, node, what)
    if isinstance(value, float):
        return value
    values = {p.name: p.value for p in context.mechanism.describe().parameters}
    symbols = [p.symbol for p in context.mechanism.describe().parameters]
    return float(ca.Function("value", [ca.vertcat(*symbols)], [value])([*values.values()]))


def positive(context: FileContext, node: Node, what: str) -> float:
    """Read a number above zero."""
    value = fixed_number(context, node, what)
    if not 0.0 < value < float("inf"):
        raise UnfitError(node.mark, f"{what} must be positive, but is {value:g}")
    return value


def whole(context: FileContext, node: Node, what: str) -> int:
    """Read a whole number."""
    if isinstance(node, Leaf) and isinstance(node.value, float) and node.value.is_integer():
        return int(node.value)
    raise UnfitError(node.mark, f"{what} must be a whole number, but is {words_for(node)}")


def flag(context: FileContext, node: Node, what: str) -> bool:
    """Read true or false."""
    if isinstance(node, Leaf) and isinstance(node.value, bool):
        return node.value
    raise UnfitError(node.mark, f"{what} must be true or false, but is {words_for(node)}")


def text(node: Node, what: str) -> str:
    """Return the text of a name or another word."""
    if isinstance(node, Leaf) and node.value is not None:
        return node.text
    raise UnfitError(node.mark, f"{what} must be a name, but is {words_for(node)}")


def word(context: FileContext, node: Node, what: str) -> str:
    """Read a name or another word."""
    return text(node, what)


def words(context: FileContext, node: Node, what: str) -> list[str]:
    """Read names: one, or a list."""
    if isinstance(node, ListNode):
        return [word(context, item, f"{what}[{k}]") for k, item in enumerate(node.items)]
    return [word(context, node, what)]


def entries(read: Reader, count: int, of: str = "numbers") -> Reader:
    """Return the reader of so many values in a list."""

    def read_entries(context: FileContext, node: Node, what: str) -> tuple[FileValue, ...]:
        if not isinstance(node, ListNode) or len(node.items) != count:
            raise UnfitError(node.mark, f"{what} must be {count} {of} in a list, but is {words_for(node)}")
        found: tuple[FileValue, ...] = read_all(context, node, what)
        return found

    read_all = several(read)
    return read_entries


def several(read: Reader, of: str = "numbers") -> Reader:
    """Return the reader of any number of values in a list."""
    return lambda context, node, what: tuple(
        read(context, item, f"{what}[{k}]") for k, item in enumerate(listing(node, what, f" of {of}").items)
    )


def by_name(read: Reader, of: str) -> Reader:
    """Return the reader of values by name."""
    return lambda context, node, what: {
        key: read(context, item, f"{what}: {key}") for key, item in mapping(node, what, wanted=of).items.items()
    }


def mapping(node: Node, what: str, of: str = "", wanted: str = "a mapping") -> MapNode:
    """Return a node that must be a mapping."""
    if not isinstance(node, MapNode):
        raise UnfitError(node.mark, f"{what} must be {wanted}{of}, but is {words_for(node)}")
    return node


def listing(node: Node, what: str, of: str = "") -> ListNode:
    """Return a node that must be a list."""
    if not isinstance(node, ListNode):
        raise UnfitError(node.mark, f"{what} must be a list{of}, but is {words_for(node)}")
    return node


def matrix(size: int) -> Reader:
    """Return the reader of a square matrix, row by row."""
    return entries(entries(number, size), size, f"rows of {size} numbers")


vector = entries(number, 3)
vectors = several(vector, "vectors")
numbers = several(number)
row = several(fixed_number)
rotation = matrix(3)


def free_vector(context: FileContext, node: Node, what: str) -> tuple[FileValue, ...]:
    """Read three laws, null where there is none."""

    def read(context: FileContext, item: Node, what: str) -> FileValue:
        return None if isinstance(item, Leaf) and item.value is None else law(context, item, what)

    found: tuple[object, ...] = entries(read, 3, "expressions, or null,")(context, node, what)
    return found


def one_or_several(context: FileContext, node: Node, what: str) -> FileValue:
    """Read a number, or a list of numbers."""
    return numbers(context, node, what) if isinstance(node, ListNode) else number(context, node, what)


def axis(context: FileContext, node: Node, what: str) -> FileValue:
    """Read a direction: x, -y, or three numbers."""
    return node.text if isinstance(node, Leaf) and isinstance(node.value, str) else vector(context, node, what)


def diagonal_or(size: int) -> Reader:
    """Return the reader of a symmetric matrix, given whole or by its diagonal."""
    whole_matrix, diagonal = matrix(size), entries(number, size)

    def read(context: FileContext, node: Node, what: str) -> FileValue:
        if isinstance(node, ListNode) and node.items and isinstance(node.items[0], ListNode):
            return whole_matrix(context, node, what)
        return diagonal(context, node, what)

    return read


def pose(context: FileContext, node: Node, what: str) -> FileValue:
    """Read a pose: a 4 x 4 matrix, or a point `at` and a `rotation`, either of which may be left out."""
    if not isinstance(node, MapNode):
        return matrix(4)(context, node, what)
    readers = {"at": vector, "rotation": rotation}
    known_keys(node, readers, what)
    found = {key: readers[key](context, item, f"{what}: {key}") for key, item in node.items.items()}
    renamed = {{"at": "point"}.get(key, key): value for key, value in found.items()}
    with blamed(node):
        return Placement(**renamed)


def column(context: FileContext, node: Node, what: str) -> ca.SX:
    """Read one law, or several that make a column."""
    if not isinstance(node, ListNode):
        return ca.SX(law(context, node, what))
    if not node.items:
        raise UnfitError(node.mark, f"{what} must be an expression or a list of some, but is {words_for(node)}")
    return ca.vertcat(*(ca.SX(law(context, item, f"{what}[{k}]")) for k, item in enumerate(node.items)))


def coordinate(context: FileContext, node: Node, what: str) -> tuple[str, int]:
    """Read a joint coordinate: a joint's name, with an index in brackets if it has several."""
    return _coordinate(context, word(context, node, what))


def coordinates(count: int) -> Reader:
    """Return the reader of so many joint coordinates in a list, or of one alone."""

    def read(context: FileContext, node: Node, what: str) -> tuple[FileValue, ...]:
        if count == 1 and not isinstance(node, ListNode):
            return (coordinate(context, node, what),)
        found: tuple[object, ...] = entries(coordinate, count, "names of joints")(context, node, what)
        return found

    return read


def some_coordinates(context: FileContext, node: Node, what: str) -> tuple[FileValue, ...]:
    """Read joint coordinates: one, or a list."""
    found: tuple[object, ...] = coordinates(len(node.items) if isinstance(node, ListNode) else 1)(context, node, what)
    return found


def laws(context: FileContext, node: Node, what: str) -> tuple[FileValue, ...]:
    """Read the laws of a force or a moment, three in a list, or of a wrench, six."""
    found: tuple[object, ...] = entries(law, 6 if what == "wrench" else 3)(context, node, what)
    return found


def listed(read: Reader) -> Reader:
    """Return the reader of several values as one argument."""
    return lambda context, node, what: ([*read(context, node, what)],)


def ratios(context: FileContext, node: Node, what: str) -> dict[tuple[str, int], Scalar]:
    """Read ratios by coordinate."""
    ratios, found = mapping(node, what, " from joints to ratios"), dict[tuple[str, int], Scalar]()
    for key, item in ratios.items.items():
        place = _coordinate(context, key)
        if place in found:
            raise UnfitError(ratios.keys[key], f"{what}: {quoted(key)} is a coordinate that is given already")
        found[place] = number(context, item, f"{what}: {quoted(key)}")
    return found


def by_joint(context: FileContext, node: Node, what: str) -> dict[str, FileValue]:
    """Read numbers by joint: one, or a list where the joint has several."""
    node = mapping(node, what, " from joints to numbers")
    known = {use.name: use.joint for use in context.mechanism.describe().coordinate_owners}
    found: dict[str, object] = {}
    for name, item in node.items.items():
        if name not in known:
            raise UnfitError(node.keys[name], f"{what}: there is no joint {suggestion(name, known)}")
        own = f"{what}: {quoted(name)}"
        size = known[name].nv if what == "velocities" else known[name].nq
        if size == 1 and not (isinstance(item, ListNode) and len(item.items) == 1):
            found[name] = fixed_number(context, item, own)
        else:
            found[name] = [*entries(fixed_number, size)(context, item, own)]
    return found


def guess(context: FileContext, node: Node, what: str) -> dict[str, FileValue]:
    """Read a guess: numbers by joint, and poses by body or frame."""
    node = mapping(node, what, " from joints to numbers, or from bodies to poses")
    poses = {name: item for name, item in node.items.items() if _is_pose(item)}
    described = context.mechanism.describe()
    places = [*(body.name for body in described.bodies), *(frame.name for frame in described.frames)]
    numbers = replace(node, items={name: item for name, item in node.items.items() if name not in poses})
    found = by_joint(context, numbers, what)
    for name, item in poses.items():
        if name not in places:
            raise UnfitError(node.keys[name], f"{what}: there is no body or frame {suggestion(name, places)}")
        own = f"{what}: {quoted(name)}"
        read = pose(context, item, own)
        with blamed(item):
            found[name] = read if isinstance(read, Placement) else Placement.from_matrix(read, own)
    return {name: found[name] for name in node.items}


def _is_pose(node: Node) -> bool:
    """Tell whether something is written as a pose: a mapping, or a list of lists."""
    return isinstance(node, MapNode) or (
        isinstance(node, ListNode) and any(isinstance(x, ListNode) for x in node.items)
    )


def laws_by_name(context: FileContext, node: Node, what: str) -> dict[str, FileValue]:
    """Read laws by name: one, or a list for an element that has several."""
    found: dict[str, object] = {}
    for name, item in mapping(node, what, " from names to expressions").items.items():
        own = f"{what}: {quoted(name)}"
        if isinstance(item, ListNode):
            found[name] = [*entries(law, len(item.items))(context, item, own)]
        else:
            found[name] = law(context, item, own)
    return found


def joints(context: FileContext, node: Node, what: str) -> list[str]:
    """Read names of joints: one, or a list."""
    found = words(context, node, what)
    known = [use.name for use in context.mechanism.describe().joints]
    for k, name in enumerate(found):
        if name not in known:
            place = node.items[k] if isinstance(node, ListNode) else node
            raise UnfitError(place.mark, f"{what}: there is no joint {suggestion(name, known)}")
    return found


def outputs(context: FileContext, node: Node, what: str) -> list[str]:
    """Read names of outputs: an element, alone or before a dot; or a word for all."""
    found = words(context, node, what)
    d = context.mechanism.describe()
    named = [x.name for group in (d.joints, d.bodies, d.frames, d.states, d.forces, d.closures) for x in group]
    known = [*named, *ABOUT_ALL]
    for k, name in enumerate(found):
        if name not in known and not any(name.startswith(f"{one}.") for one in named):
            place = node.items[k] if isinstance(node, ListNode) else node
            raise UnfitError(place.mark, f"{what}: there is nothing called {suggestion(name, known)}")
    return found


def known_keys(node: MapNode, known: Iterable[str], what: str) -> None:
    """Check that there are no other keys than these."""
    for key in node.items:
        if key not in known:
            about = f"{what}: " if what else ""
            raise UnfitError(node.keys[key], f"{about}there is no key {suggestion(key, known)}")


class blamed:  # noqa: N801 - reads as a statement: with blamed(node)
    """Within it, an error of the model is at that node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ModelError):
            raise UnfitError(self._node.mark, str(error)) from error


def _evaluated(node: Node, what: str, scope: Scope) -> Scalar:
    if not isinstance(node, Leaf) or node.value is None or isinstance(node.value, bool):
        raise UnfitError(node.mark, f"{what} must be a number or an expression, but is {words_for(node)}")
    if not isinstance(node.value, str):
        return plain(node, what)
    with located(node, what):
        return evaluate(node.value, scope)


def _coordinate(context: FileContext, name: str) -> tuple[str, int]:
    """Return a joint and an index; a joint whose own name ends in brackets is preferred."""
    joints = {use.name for use in context.mechanism.describe().joints}
    match = re.fullmatch(r"(.+)\[([0-9]{1,6})\]", name)
    return (name, 0) if name in joints or match is None else (match[1], int(match[2]))
