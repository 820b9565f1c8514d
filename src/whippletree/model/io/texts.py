"""CasADi expressions as text of the grammar, such that the text makes the same graph again.

A value that is used more than once gets a name of its own, and so does one whose text would be too long or too deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.drivers import CurveByPieces, curve_of
from whippletree.errors import FileError
from whippletree.model.io.scopes import RESERVED

__all__ = ["Definitions", "parameter_text", "quoted_text", "texts"]

_LONG = 400
_DEEP = 12

# how tightly a text binds
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(1, 6)

_BINARY = {
    ca.OP_ADD: ("{} + {}", _SUM, _SUM, _PRODUCT),
    ca.OP_SUB: ("{} - {}", _SUM, _SUM, _PRODUCT),
    ca.OP_MUL: ("{} * {}", _PRODUCT, _PRODUCT, _SIGN),
    ca.OP_DIV: ("{} / {}", _PRODUCT, _PRODUCT, _SIGN),
    ca.OP_POW: ("{}**{}", _POWER, _ATOM, _SIGN),
    ca.OP_CONSTPOW: ("{}**{}", _POWER, _ATOM, _SIGN),
    ca.OP_FMIN: ("min({}, {})", _ATOM, _SUM, _SUM),
    ca.OP_FMAX: ("max({}, {})", _ATOM, _SUM, _SUM),
    ca.OP_ATAN2: ("atan2({}, {})", _ATOM, _SUM, _SUM),
}
_UNARY = {
    ca.OP_NEG: ("-{}", _SIGN, _POWER),
    ca.OP_SQ: ("{}**2", _POWER, _ATOM),
    ca.OP_TWICE: ("2 * {}", _PRODUCT, _SIGN),
    ca.OP_INV: ("1 / {}", _PRODUCT, _SIGN),
}
_UNARY |= {
    getattr(ca, f"OP_{name.upper()}"): (f"{name}({{}})", _ATOM, _SUM)
    for name in (
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "sqrt",
        "exp",
        "log",
        "sign",
        "floor",
    )
}
_UNARY[ca.OP_FABS] = ("abs({})", _ATOM, _SUM)


class Definitions:
    """The definitions of a file that is being written: texts by names that nothing else has.

    >>> own = Definitions(["x1"])
    >>> own.name("2 * a"), own.texts
    ('x2', {'x2': '2 * a'})
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *RESERVED}
        self.texts: dict[str, str] = {}
        self.curves: dict[CurveByPieces, str] = {}
        self._count = 0

    def curve(self, curve: CurveByPieces) -> str:
        """Return the name of a spline or a table in the file, in quotes."""
        return quoted_text(self.curves.setdefault(curve, f"{curve.word[0]}{len(self.curves) + 1}"))

    def name(self, text: str) -> str:
        """Return a new name for a text."""
        while True:
            self._count += 1
            name = f"x{self._count}"
            if name not in self._taken:
                self.texts[name] = text
                return name


class Piece(NamedTuple):
    """A text, how tightly it binds, and how deep it is nested."""

    text: str
    binding: int = _ATOM
    depth: int = 0

    def within(self, least: int) -> str:
        """Return the text for a place where it must bind so tightly."""
        return self.text if self.binding >= least else f"({self.text})"


def quoted_text(name: str) -> str:
    """Return a name in quotes, as it stands in an expression.

    >>> quoted_text("the front arm")
    '"the front arm"'
    """
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def parameter_text(name: str) -> str:
    """Return a parameter as it stands in an expression.

    >>> parameter_text("mass"), parameter_text("t")
    ('mass', 'parameter("t")')
    """
    return name if name.isidentifier() and name not in RESERVED else f"parameter({quoted_text(name)})"


def texts(function: ca.Function, inputs: Sequence[Sequence[str]], definitions: Definitions) -> list[str]:
    """Return the texts of a function's only output, a dense column, given those of its inputs' entries.

    >>> x = ca.SX.sym("x", 2)
    >>> texts(ca.Function("f", [x], [ca.vertcat(x[0] * (x[1] + 1), x[1])]), [["a", "b"]], Definitions(()))
    ['a * (b + 1.0)', 'b']
    """
    uses = _uses(function)
    at: dict[int, Piece] = {}  # what is in each place of the function's memory
    found = [Piece("0.0")] * function.numel_out(0)
    for k in range(function.n_instructions()):
        op, into, given = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            found[into[1]] = at[given[0]]
        elif op == ca.OP_INPUT:
            at[into[0]] = Piece(inputs[given[0]][given[1]])
        elif op == ca.OP_CONST:
            at[into[0]] = _constant(function.instruction_constant(k))
        elif op == ca.OP_CALL:
            entries = _piece(function.instructions_sx()[k], at[given[0]], definitions)
            at |= {place: Piece(f"{entries}[{j}]") for j, place in enumerate(into) if place >= 0}
        else:
            piece = _written(op, [at[place] for place in given])
            if uses[k] > 1 or len(piece.text) > _LONG or piece.depth > _DEEP:
                piece = Piece(definitions.name(piece.text))
            at[into[0]] = piece
    return [piece.text for piece in found]


def _uses(function: ca.Function) -> list[int]:
    """Return how often the result of each instruction is used."""
    uses = [0] * function.n_instructions()
    made: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op != ca.OP_INPUT:
            for place in function.instruction_input(k):
                uses[made[place]] += 1
        if op != ca.OP_OUTPUT:
            made |= dict.fromkeys(function.instruction_output(k), k)
    return uses


def _written(op: int, given: Sequence[Piece]) -> Piece:
    depth = 1 + max(piece.depth for piece in given)  # not empty: operations have operands
    if op in _BINARY:
        form, binding, *least = _BINARY[op]
        return Piece(form.format(*(piece.within(b) for piece, b in zip(given, least, strict=True))), binding, depth)
    if op in _UNARY:
        form, binding, inner = _UNARY[op]
        return Piece(form.format(given[0].within(inner)), binding, depth)
    raise FileError(f"an expression uses CasADi's {_name_of(op)}, which expressions in a file do not have")


def _piece(node: ca.SX, argument: Piece, definitions: Definitions) -> str:
    """Return the text of a curve's piece at an argument, which has a name so that all entries are of one piece."""
    function = node.which_function()
    curve = curve_of(function)
    if curve is None:
        raise FileError(f'an expression calls the function "{function.name()}", which expressions in a file cannot do')
    text = argument.text if argument.binding == _ATOM else definitions.name(argument.text)
    return f"piece({definitions.curve(curve)}, {text})"


def _constant(value: float) -> Piece:
    return Piece(repr(float(value)), _SIGN if value < 0 else _ATOM)


def _name_of(op: int) -> str:
    names = (name for name in dir(ca) if name.startswith("OP_") and getattr(ca, name) == op)
    return next(names, f"operation {op}").removeprefix("OP_").lower()
