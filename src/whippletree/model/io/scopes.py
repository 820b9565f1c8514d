"""The meanings of names and functions in a file's expressions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.drivers import CurveByPieces
from whippletree.errors import ModelError
from whippletree.model.io.grammar import (
    CONSTANTS,
    FUNCTIONS,
    Argument,
    GrammarError,
    Scope,
    Value,
    evaluate,
    tokens,
    unquoted,
)
from whippletree.model.io.nodes import Leaf, MapNode, Mark, Node, words_for
from whippletree.model.mechanism import Mechanism
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.scalars import Scalar

__all__ = ["RESERVED", "LawScope", "Names", "NumberScope", "UnfitError", "located", "plain"]

TIME = "t"
LENGTHS = ("elongation", "elongation_rate")
CURVES = tuple(kind.word for kind in CurveByPieces.__subclasses__())
LAW_FUNCTIONS = (
    "coordinate",
    "rate",
    "position",
    "rotation",
    "velocity",
    "reaction",
    "state",
    "time",
    *CURVES,
    "piece",
)
PARAMETER = "parameter"
_FUNCTIONS = (*LAW_FUNCTIONS, PARAMETER)
RESERVED = frozenset({*CONSTANTS, *FUNCTIONS, *LAW_FUNCTIONS, *LENGTHS, TIME, PARAMETER})
"""Names that stand for something already."""


class UnfitError(Exception):
    """Something in the file will not do; caught where the name of the element is known. Without a mark, all of it."""

    def __init__(self, mark: Mark | None, message: str) -> None:
        super().__init__(message)
        self.mark = mark


class NamedExpression(NamedTuple):
    """A parameter or a definition as it stands in the file."""

    leaf: Leaf
    kind: str
    needs: tuple[str, ...]
    law: bool


class Names:
    """The parameters and definitions of a file, and their values.

    A parameter is a number. One that is given by an expression in other names follows these. A definition is a name for
    an expression, which may be one in coordinates, places and time; those are computed when there are joints.
    """

    def __init__(self, mechanism: Mechanism, parameters: MapNode | None, definitions: MapNode | None) -> None:
        self._mechanism = mechanism
        self.values: dict[str, Scalar] = {}
        self.curves: dict[str, CurveByPieces] = {}
        self._entries: dict[str, NamedExpression] = {}
        for kind, section in (("parameter", parameters), ("definition", definitions)):
            for name, node in ({} if section is None else section.items).items():
                self._enter(kind, name, node, section.keys[name] if section is not None else None)
        self._laws: dict[str, None] = {}
        self._declare()

    @property
    def known(self) -> Collection[str]:
        """The names."""
        return self._entries.keys()

    def is_law(self, name: str) -> bool:
        """Tell whether a name stands for something that moves."""
        return name in self._laws

    def finish(self) -> None:
        """Compute the definitions in coordinates, places and time: now there are joints."""
        scope = LawScope(self, self._mechanism)
        for name in self._laws:
            self._compute(name, scope)

    def _enter(self, kind: str, name: str, node: Node, mark: Mark | None) -> None:
        if not isinstance(node, Leaf) or node.value is None or isinstance(node.value, bool):
            wanted = "must be a number or an expression"
            raise UnfitError(node.mark, f"{kind} {quoted(name)}: this {wanted}, but is {words_for(node)}")
        if name in self._entries:
            raise UnfitError(mark, f"{kind} {quoted(name)}: the name is taken by a parameter: choose another")
        if kind == "definition" and (not name.isidentifier() or name in RESERVED):
            why = "it stands for something else already" if name in RESERVED else "it is not one word of letters"
            raise UnfitError(mark, f"{kind} {quoted(name)}: the name cannot be used in expressions, since {why}")
        self._entries[name] = NamedExpression(node, kind, *self._uses(kind, name, node))

    def _uses(self, kind: str, name: str, leaf: Leaf) -> tuple[tuple[str, ...], bool]:
        """Return which names an expression uses, and whether it is one in coordinates, places or time."""
        if not isinstance(leaf.value, str):
            return (), False
        with located(leaf, f"{kind} {quoted(name)}"):
            pieces = tokens(leaf.value)
        used: dict[str, None] = {}
        law = False
        for piece, after, then in zip(pieces, pieces[1:], [*pieces[2:], pieces[-1]], strict=False):
            if piece.kind != "name":
                continue
            if after.kind == "(":
                law = law or piece.text in LAW_FUNCTIONS
                if piece.text == PARAMETER and then.kind == "text":
                    used[unquoted(then.text)] = None
            elif piece.text == TIME:
                law = True
            else:
                used[piece.text] = None
        return tuple(used), law

    def _declare(self) -> None:
        """Declare the parameters, and compute the definitions of them; those of moving quantities are put off."""
        numbers = NumberScope(self)
        for name, entry in self._entries.items():
            if entry.kind == "parameter" and not any(need in self._entries for need in entry.needs) and not entry.law:
                value = self._compute(name, numbers)
                self.values[name] = self._mechanism.parameter(name, value)  # type: ignore[arg-type]
        for name in self._sorted():
            entry = self._entries[name]
            if name in self.values:
                continue
            if entry.law or any(need in self._laws for need in entry.needs):
                if entry.kind == "parameter":
                    raise UnfitError(
                        entry.leaf.mark,
                        f"parameter {quoted(name)}: a parameter does not depend on time, coordinates or places: "
                        "put it under definitions",
                    )
                self._laws[name] = None
            else:
                self._compute(name, numbers)

    def _sorted(self) -> list[str]:
        """Return the names, each after those it needs."""
        needs = {name: [need for need in entry.needs if need in self._entries] for name, entry in self._entries.items()}
        try:
            return [*TopologicalSorter(needs).static_order()]
        except CycleError as error:
            circle: list[str] = error.args[1][::-1]
            first = self._entries[circle[0]]
            chain = " needs ".join(quoted(name) for name in circle[:8])
            raise UnfitError(
                first.leaf.mark, f"{first.kind} {quoted(circle[0])} is defined by itself: {chain}"
            ) from None

    def _compute(self, name: str, scope: Scope) -> Scalar:
        entry = self._entries[name]
        if isinstance(entry.leaf.value, str):
            with located(entry.leaf, f"{entry.kind} {quoted(name)}"):
                value = evaluate(entry.leaf.value, scope)
        else:
            value = plain(entry.leaf, f"{entry.kind} {quoted(name)}")
        self.values[name] = value
        return value


class NumberScope:
    """Names and functions of an expression in parameters."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def name(self, name: str) -> Scalar:
        """Return the value of a constant, a parameter or a definition."""
        names = self._names
        if name in CONSTANTS:
            _unambiguous(name, names)
            return CONSTANTS[name]
        if name == TIME:
            _unambiguous(name, names)
        if names.is_law(name) or name == TIME:
            raise GrammarError(f"{quoted(name)} changes with time or position, and here only parameters can stand")
        if name not in names.values:
            raise GrammarError(f"there is no name {suggestion(name, [*names.known, *CONSTANTS])}")
        return names.values[name]

    def call(self, name: str, arguments: Sequence[Argument]) -> Value | None:
        """Return a parameter by its name in quotes, which need not be one word."""
        if name in LAW_FUNCTIONS:
            raise GrammarError(f"{quoted(name)} changes with time or position, and here only parameters can stand")
        if name != PARAMETER:
            return None
        (given,) = checked("parameter", arguments, (str,))
        if given not in self._names.values or self._names.is_law(given):
            raise GrammarError(f"there is no parameter {suggestion(given, self._names.known)}")
        return self._names.values[given]

    def functions(self) -> Sequence[str]:
        """Return the functions besides those that every expression has."""
        return (PARAMETER,)


class LawScope:
    """Names and functions of an expression in time, coordinates, places and states as well."""

    def __init__(self, names: Names, mechanism: Mechanism, *, of_length: bool = False) -> None:
        self._names, self._numbers, self._mechanism = names, NumberScope(names), mechanism
        self._own = (TIME, *LENGTHS) if of_length else (TIME,)

    def name(self, name: str) -> Scalar:
        """Return time, a spring's elongation, or the value of any other name."""
        if name in self._own:
            _unambiguous(name, self._names)
            own: ca.SX = self._mechanism.time if name == TIME else getattr(self._mechanism, name)
            return own
        if name in LENGTHS and name not in self._names.known:
            raise GrammarError(f"{quoted(name)} is a spring's own: it belongs in the law of a spring")
        if self._names.is_law(name):
            return self._names.values[name]
        if name not in self._names.known and name in self._mechanism:
            raise GrammarError(f"{quoted(name)} is a joint, body, frame or state: such names go in quotes")
        return self._numbers.name(name)

    def call(self, name: str, arguments: Sequence[Argument]) -> Value | None:
        """Return a coordinate, a rate, a place, its velocity, a state."""
        try:
            return self._called(name, arguments)
        except ModelError as error:
            raise GrammarError(str(error).removeprefix(f"mechanism {quoted(self._mechanism.name)}: ")) from None

    def _called(self, name: str, arguments: Sequence[Argument]) -> Value | None:
        m = self._mechanism
        if name == "time":
            checked(name, arguments, ())
            return m.time
        if name in ("coordinate", "rate"):
            joint, *index = checked(name, arguments, (str, float), fewest=1)
            coordinate: ca.SX = getattr(m, name)(joint, *map(_whole, index))
            return coordinate
        if name in ("position", "rotation", "velocity"):
            (place,) = checked(name, arguments, (str,))
            column: ca.SX = getattr(m, name)(place)
            return column
        if name == "reaction":
            (joint,) = checked(name, arguments, (str,))
            return ca.SX(ca.vertcat(*m.reaction(joint)))
        if name in (*CURVES, "piece"):
            return self._on_curve(name, arguments)
        if name == "state":
            (state,) = checked(name, arguments, (str,))
            return m.state_symbol(state)
        return self._numbers.call(name, arguments)

    def _on_curve(self, name: str, arguments: Sequence[Argument]) -> Value:
        """Return a spline or a table at a value, or its piece there."""
        which, x = arguments if len(arguments) == 2 else ("", "")
        if not isinstance(which, str) or isinstance(x, str):
            raise GrammarError(f"{quoted(name)} is used as {name}(a name in quotes, where)")
        known = {key: curve for key, curve in self._names.curves.items() if name in (curve.word, "piece")}
        if which not in known:
            raise GrammarError(f"there is no {name} {suggestion(which, known)}")
        return known[which].piece(ca.SX(x)) if name == "piece" else known[which](x)

    def functions(self) -> Sequence[str]:
        """Return the functions besides those that every expression has."""
        return _FUNCTIONS


class located:  # noqa: N801 - reads as a statement: with located(leaf, "mass")
    """Within it, an error in an expression is at its character in the file."""

    def __init__(self, leaf: Leaf, what: str) -> None:
        self._leaf, self._what = leaf, what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GrammarError):
            raise UnfitError(self._leaf.mark_at(error.at), f"{self._what}: {error}") from None


def plain(leaf: Leaf, what: str) -> float:
    """Return the number that a leaf is, which must be finite."""
    value = leaf.value
    assert isinstance(value, float)
    if value in (float("inf"), float("-inf")):
        raise UnfitError(leaf.mark, f"{what} is too large a number: {leaf.text[:40]}")
    return value


def checked(name: str, arguments: Sequence[Argument], kinds: tuple[type, ...], fewest: int | None = None) -> list[Any]:
    """Return the arguments of a function if they are of the right kinds."""
    fewest = len(kinds) if fewest is None else fewest
    fits = all(isinstance(given, kind) for given, kind in zip(arguments, kinds, strict=False))
    if not fits or not fewest <= len(arguments) <= len(kinds):
        wanted = ["a name in quotes" if kind is str else "an index" for kind in kinds]
        example = f"{name}({', '.join(wanted[:fewest])})"
        more = f" or {name}({', '.join(wanted)})" if fewest < len(kinds) else ""
        raise GrammarError(f"{quoted(name)} is used as {example}{more}")
    return [*arguments]


def _unambiguous(name: str, names: Names) -> None:
    if name in names.known:
        raise GrammarError(f'{quoted(name)} stands for something else too: write parameter("{name}") for the parameter')


def _whole(index: float) -> int:
    if index != int(index):
        raise GrammarError(f"an index must be a whole number, not {index:g}")
    return int(index)
