"""The expressions of a model file: a small grammar, read by descent, never run as code.

    sum      = product {("+" | "-") product}
    product  = factor {("*" | "/") factor}
    factor   = {"+" | "-"} power
    power    = entry ["**" factor]
    entry    = atom ["[" sum {"," sum} "]"]
    atom     = number | name | name "(" [argument {"," argument}] ")" | "(" sum ")"
    argument = sum | text in quotes

These bind as they do in Python. Numbers are computed as numbers; with a symbol among them they become a CasADi
expression. What a name stands for is for a `Scope` to say; the functions are those of `FUNCTIONS` and of the scope.
Length and depth are bounded.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial, reduce
from typing import NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

import casadi as ca

from whippletree.elements.drivers import pulse
from whippletree.errors import ModelError
from whippletree.model.names import quoted
from whippletree.spatial.scalars import Scalar

T = TypeVar("T")

__all__ = ["CONSTANTS", "FUNCTIONS", "GrammarError", "Scope", "Token", "evaluate", "tokens", "unquoted"]

MAX_LENGTH = 10_000
MAX_DEPTH = 40

Value: TypeAlias = Scalar | ca.SX
Argument: TypeAlias = Scalar | str


class GrammarError(ModelError):
    """An expression is wrong, at a character of it."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


class Scope(Protocol):
    """The names and further functions that an expression may use."""

    def name(self, name: str) -> Scalar:
        """Return the value of a name."""

    def call(self, name: str, arguments: Sequence[Argument]) -> Value | None:
        """Return the value of a function of the scope, which may have several entries; None if there is none."""

    def functions(self) -> Sequence[str]:
        """Return the names of the scope's functions, for messages."""


class Token(NamedTuple):
    """A piece of an expression: "number", "name", "text", "end", or the sign that it is."""

    kind: str
    text: str
    at: int


class Function(NamedTuple):
    """A function of the grammar, on numbers and on symbols, with its fewest and most arguments."""

    plain: Callable[..., float]
    symbolic: Callable[..., ca.SX]
    fewest: int = 1
    most: int = 1


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0)


def _one(code: int) -> Callable[[ca.SX], ca.SX]:
    """Return an operation on an expression; `ca.sin(x)` would first look for the type of x, which takes longer."""
    return partial(ca.SX.unary, code)


def _two(code: int) -> Callable[[Scalar, Scalar], ca.SX]:
    """Return an operation on two expressions, of which one may be a number."""
    return partial(ca.SX.binary, code)


def _many(code: int) -> Callable[..., ca.SX]:
    """Return a function of several arguments from an operation on two."""
    return lambda *given: reduce(_two(code), given)


_MANY = 100
"""Largest number of arguments of `min` and `max`."""

FUNCTIONS: dict[str, Function] = {
    "sin": Function(math.sin, _one(ca.OP_SIN)),
    "cos": Function(math.cos, _one(ca.OP_COS)),
    "tan": Function(math.tan, _one(ca.OP_TAN)),
    "asin": Function(math.asin, _one(ca.OP_ASIN)),
    "acos": Function(math.acos, _one(ca.OP_ACOS)),
    "atan": Function(math.atan, _one(ca.OP_ATAN)),
    "atan2": Function(math.atan2, _two(ca.OP_ATAN2), 2, 2),
    "sinh": Function(math.sinh, _one(ca.OP_SINH)),
    "cosh": Function(math.cosh, _one(ca.OP_COSH)),
    "tanh": Function(math.tanh, _one(ca.OP_TANH)),
    "sqrt": Function(math.sqrt, _one(ca.OP_SQRT)),
    "exp": Function(math.exp, _one(ca.OP_EXP)),
    "log": Function(math.log, _one(ca.OP_LOG)),
    "abs": Function(abs, _one(ca.OP_FABS)),
    "sign": Function(_sign, _one(ca.OP_SIGN)),
    "floor": Function(math.floor, _one(ca.OP_FLOOR)),
    "min": Function(min, _many(ca.OP_FMIN), 2, _MANY),
    "max": Function(max, _many(ca.OP_FMAX), 2, _MANY),
    "pulse": Function(pulse, pulse, 3, 3),
}
"""The functions that every expression may use."""

CONSTANTS = {"pi": math.pi}
"""The constants that every expression may use."""

_TOKEN = re.compile(
    r"""(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<name>[^\W\d]\w*)
    |(?P<text>"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*')
    |(?P<sign>\*\*|[-+*/()\[\],]))\s*""",
    re.VERBOSE,
)
_NOT_FINITE = re.compile(r"\s*[-+]?\.(inf|nan)\s*", re.IGNORECASE)
_DATE = re.compile(r"\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\s*")
_HINTS = {
    "^": "write ** for powers",
    "=": "an expression has a value and assigns nothing",
    ".": "there are neither dots after names nor numbers such as 1.2.3",
    "<": "there are no comparisons: use min, max, sign and pulse",
    ">": "there are no comparisons: use min, max, sign and pulse",
    "%": "there is no remainder",
}


def tokens(text: str) -> list[Token]:
    """Return the pieces of an expression, with "end" as the last.

    >>> [token.text for token in tokens("2*sin(a)")]
    ['2', '*', 'sin', '(', 'a', ')', '']
    """
    if len(text) > MAX_LENGTH:
        raise GrammarError(f"the expression is too long: more than {MAX_LENGTH:,} characters")
    if _NOT_FINITE.fullmatch(text):
        raise GrammarError(f"{text.strip()} is not a finite number")
    if _DATE.fullmatch(text):
        raise GrammarError(f"{text.strip()} is a date, not a number; if differences are meant, put spaces between")
    found: list[Token] = []
    at = len(text) - len(text.lstrip())
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise GrammarError(_unknown(text, at), at)
        kind = match.lastgroup or ""
        piece = match[kind]
        found.append(Token(piece if kind == "sign" else kind, piece, at))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def evaluate(text: str, scope: Scope) -> Scalar:
    """Return the value of an expression: a number, or a CasADi expression of one entry.

    >>> class Nothing:
    ...     def name(self, name): raise GrammarError("no names here")
    ...     def call(self, name, arguments): return None
    ...     def functions(self): return ()
    >>> evaluate("-2**2 + sqrt(16) * (1 + 2)", Nothing())
    8.0
    """
    return _Descent(tokens(text), scope).value()


def unquoted(text: str) -> str:
    """Return the text in quotes; a backslash before a quote or a backslash is dropped.

    >>> unquoted('"left \\\\"A\\\\" arm"')
    'left "A" arm'
    """
    return re.sub(r"\\(.)", r"\1", text[1:-1])


class _Descent:
    """Reads an expression and computes it on the way, one rule of the grammar a method."""

    def __init__(self, pieces: list[Token], scope: Scope) -> None:
        self._scope = scope
        self._pieces = iter(pieces)
        self._peek = next(self._pieces)  # not empty: the last piece is the end
        self._depth = 0

    def value(self) -> Scalar:
        """Return the value of the whole."""
        if self._peek.kind == "end":
            raise GrammarError("the expression is empty")
        value = self._sum()
        if self._peek.kind != "end":
            self._unexpected("the end")
        return value

    def _take(self) -> Token:
        piece = self._peek
        self._peek = next(self._pieces)  # not empty: the last piece is the end
        return piece

    def _expect(self, kind: str) -> None:
        if self._peek.kind != kind:
            self._unexpected(f'"{kind}"')
        self._take()

    def _unexpected(self, wanted: str) -> NoReturn:
        piece = self._peek
        got = "the expression ends" if piece.kind == "end" else f"there is {quoted(piece.text)}"
        cut = piece.kind == "end" and self._depth > 0
        hint = "; within YAML's own brackets, an expression that has commas must stand in quotes" if cut else ""
        raise GrammarError(f"{wanted} is expected, but {got}{hint}", piece.at)

    def _sum(self) -> Scalar:
        left = self._product()
        while self._peek.kind in ("+", "-"):
            sign = self._take()
            left = _combined(sign, left, self._product())
        return left

    def _product(self) -> Scalar:
        left = self._factor()
        while self._peek.kind in ("*", "/"):
            sign = self._take()
            left = _combined(sign, left, self._factor())
        return left

    def _factor(self) -> Scalar:
        signs = 0
        while self._peek.kind in ("+", "-"):
            signs += self._take().kind == "-"
        value = self._power()
        for _ in range(signs % 2):
            value = -value
        return value

    def _power(self) -> Scalar:
        base = self._entry()
        if self._peek.kind != "**":
            return base
        sign = self._take()
        self._deeper(sign.at)
        power = _combined(sign, base, self._factor())
        self._depth -= 1
        return power

    def _entry(self) -> Scalar:
        start = self._peek
        value = self._atom()
        if self._peek.kind == "[":
            at = self._take().at
            places = self._listed("]", self._index)
            return _entry_of(value, places, at)
        if isinstance(value, ca.SX) and not value.is_scalar():
            raise GrammarError(f"this has {_sizes(value)} entries: say which, as in {_example(start, value)}", start.at)
        return value

    def _atom(self) -> Value:
        piece = self._peek
        if piece.kind == "number":
            self._take()
            return _finite(piece, float, piece.text)
        if piece.kind == "name":
            self._take()
            return self._called(piece) if self._peek.kind == "(" else self._named(piece)
        if piece.kind != "(":
            self._unexpected("a number, a name or a parenthesis")
        self._deeper(self._take().at)
        value = self._sum()
        self._expect(")")
        self._depth -= 1
        return value

    def _named(self, piece: Token) -> Scalar:
        if piece.text in FUNCTIONS or piece.text in self._scope.functions():
            raise GrammarError(f"{quoted(piece.text)} is a function: give its argument in parentheses", piece.at)
        with _at(piece):
            return self._scope.name(piece.text)

    def _called(self, piece: Token) -> Value:
        self._deeper(self._take().at)
        arguments = self._listed(")", self._argument)
        self._depth -= 1
        function = FUNCTIONS.get(piece.text)
        if function is not None:
            return _applied(piece, function, arguments)
        with _at(piece):
            value = self._scope.call(piece.text, arguments)
        if value is None:
            raise GrammarError(_no_function(piece.text, [*self._scope.functions(), *FUNCTIONS]), piece.at)
        return value

    def _argument(self) -> Argument:
        if self._peek.kind != "text":
            return self._sum()
        return unquoted(self._take().text)

    def _index(self) -> int:
        piece = self._peek
        value = self._sum()
        if not isinstance(value, float) or value != int(value):
            raise GrammarError("an index must be a whole number", piece.at)
        return int(value)

    def _listed(self, end: str, read: Callable[[], T]) -> list[T]:
        """Read a list with commas up to its end."""
        found: list[T] = []
        while self._peek.kind != end:
            if found:
                self._expect(",")
            found.append(read())
        self._take()
        return found

    def _deeper(self, at: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise GrammarError(f"the expression is nested too deeply: at most {MAX_DEPTH} levels", at)


class _at:  # noqa: N801 - reads as a statement: with _at(piece)
    """Within it, an error about names is at that piece of the expression."""

    def __init__(self, piece: Token) -> None:
        self._piece = piece

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ModelError):
            raise GrammarError(str(error), self._piece.at) from None


def _combined(sign: Token, a: Scalar, b: Scalar) -> Scalar:
    """Return a sum, difference, product, quotient or power."""
    if not isinstance(a, float) or not isinstance(b, float):
        return _OPERATIONS[sign.kind].symbolic(a, b)
    return _finite(sign, _OPERATIONS[sign.kind].plain, a, b)


_OPERATIONS = {
    "+": Function(operator.add, _two(ca.OP_ADD)),
    "-": Function(operator.sub, _two(ca.OP_SUB)),
    "*": Function(operator.mul, _two(ca.OP_MUL)),
    "/": Function(operator.truediv, _two(ca.OP_DIV)),
    "**": Function(math.pow, _two(ca.OP_POW)),
}


def _applied(piece: Token, function: Function, arguments: list[Argument]) -> Scalar:
    """Return the value of a function of the grammar."""
    numbers = [argument for argument in arguments if not isinstance(argument, str)]
    if len(numbers) != len(arguments):
        raise GrammarError(f"{piece.text} takes numbers, not text", piece.at)
    if not function.fewest <= len(numbers) <= function.most:
        wanted = f"at least {function.fewest}" if function.most > function.fewest else f"{function.fewest}"
        plural = "" if wanted == "1" else "s"
        raise GrammarError(f"{piece.text} takes {wanted} argument{plural}, not {len(numbers)}", piece.at)
    if all(isinstance(number, float) for number in numbers):
        return _finite(piece, function.plain, *numbers)
    return function.symbolic(*numbers)


def _finite(piece: Token, compute: Callable[..., float], *given: object) -> float:
    """Return a number if it can be computed and is finite."""
    try:
        value = float(compute(*given))
    except ZeroDivisionError:
        raise GrammarError("this divides by zero", piece.at) from None
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise GrammarError(f"{quoted(piece.text)} gives no finite number here", piece.at)
    return value


def _entry_of(value: Value, places: list[int], at: int) -> Scalar:
    """Return an entry of a column or matrix."""
    if not isinstance(value, ca.SX) or value.shape == (1, 1):
        raise GrammarError("this is one number and has no entries", at)
    sizes = list(value.shape) if value.shape[1] > 1 else [value.shape[0]]
    if len(places) != len(sizes) or not all(0 <= k < size for k, size in zip(places, sizes, strict=True)):
        last = ", ".join(str(size - 1) for size in sizes)
        raise GrammarError(f"there is no such entry: the last one is [{last}]", at)
    entry: ca.SX = value[tuple(places)] if len(places) > 1 else value[places[0]]
    return float(entry) if entry.is_constant() else entry


def _sizes(value: ca.SX) -> str:
    rows, columns = value.shape
    return f"{rows}" if columns == 1 else f"{rows} x {columns}"


def _example(start: Token, value: ca.SX) -> str:
    return f"{start.text}(...){'[0]' if value.shape[1] == 1 else '[0, 0]'}"


def _no_function(name: str, known: Sequence[str]) -> str:
    """Return the message about an unknown function."""
    close = get_close_matches(name, known, n=1)
    if close:
        return f'there is no function {quoted(name)}; did you mean "{close[0]}"?'
    return f"there is no function {quoted(name)}; there are {', '.join(known)}"


def _unknown(text: str, at: int) -> str:
    """Return the message about a character that begins no piece."""
    char = text[at]
    if char in "\"'":
        return "this quote is not closed"
    number = re.match(r"[0-9.]+\w*[\w.]*", text[at:])
    if number and char != ".":
        return f"{quoted(number.group())} is no number"
    hint = _HINTS.get(char)
    return f"{quoted(char)} is not understood here" + (f": {hint}" if hint else "")
