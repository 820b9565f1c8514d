"""Numbers as people give them: plain or in parameters, in lists, tuples, arrays or symbolic matrices.

What is read here is a `float` or a 1x1 CasADi expression, finite as far as it is known, and never a NumPy
object. Anything else is a `ModelError` that says which argument it was.
"""

from __future__ import annotations

import math
import numbers
import reprlib
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias, cast

import casadi as ca
import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.foundation.arrays import AnyArray
from whippletree.symbolic.arithmetic import copied

__all__ = [
    "Matrix3",
    "Rotation3",
    "Scalar",
    "SquareLike",
    "Vector3",
    "VectorLike",
    "dimensions_of",
    "expressions",
    "listed",
    "masked",
    "number",
    "place_among",
    "product",
    "read_column",
    "read_matrix",
    "read_matrix_or_diagonal",
    "same_key",
    "scalar",
    "shown",
    "symbol",
    "truth",
    "vector",
    "why_nan",
]

Scalar: TypeAlias = float | ca.SX
Vector3: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix3: TypeAlias = tuple[Vector3, Vector3, Vector3]
Rotation3: TypeAlias = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
VectorLike: TypeAlias = Sequence[object] | AnyArray | ca.SX
SquareLike: TypeAlias = Sequence[object] | AnyArray
"""A square matrix, or its diagonal."""

_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = _SHORT.maxlong = 80


def shown(value: object) -> str:
    """Return a short one-line picture of anything, for messages.

    >>> shown([1.0, None])
    '[1.0, None]'
    """
    try:
        return " ".join(_SHORT.repr(value).split())
    except Exception:  # a message must come out whatever the object does
        return f"an object of type {type(value).__name__}"


def listed(given: object) -> list[Any] | None:
    """Return the items of a list that a person gave; None for a text, and for anything that is no list.

    >>> listed(("A", "B")), listed("AB"), listed(3)
    (['A', 'B'], None, None)
    """
    items: Any = given
    try:
        return None if isinstance(given, str) else list(items)
    except Exception:  # whatever it raises, it is no list
        return None


def masked(value: object) -> bool:
    """Return True if an array has masked entries: the number behind a mask was not given by the user.

    >>> masked(np.ma.array([1.0, 2.0], mask=[False, True])), masked(np.ma.array([1.0])), masked([1.0])
    (True, False, False)
    """
    if "numpy.ma" not in sys.modules:  # then there are no such arrays, and it need not be imported
        return False
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def truth(value: object, what: str) -> bool:
    """Read True or False; nothing else says whether something shall be done, and text least of all.

    >>> truth(True, "check=")
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise StateError(f"{what} must be True or False, not {shown(value)}")
    return bool(value)


def symbol(name: str, *shape: int) -> ca.SX:
    """Return a new symbol of any name: CasADi takes one that begins with a bracket for a list of names.

    >>> symbol("[a, b]").shape, symbol("x", 3).shape
    ((1, 1), (3, 1))
    """
    return ca.SX.sym(f" {name}" if name.startswith("[") else name, *shape)


def scalar(value: object, what: str) -> Scalar:
    """Read one finite number, or one expression in parameters.

    >>> scalar(2, "mass"), scalar(ca.SX(2), "mass")
    (2.0, 2.0)
    """
    if type(value) is float:
        plain = value
    elif issubclass(type(value), ca.SX):
        return _expression(value, what)
    else:
        plain = _plain(value, what)
    if not math.isfinite(plain):
        raise ModelError(f"{what} must be finite, got {shown(value)}{why_nan(plain)}")
    return plain + 0.0  # -0.0 and 0.0 are the same number


def why_nan(value: float) -> str:
    """Say where a nan in a formula may come from: functions of numbers get it from CasADi in place of a symbol.

    >>> why_nan(math.inf)
    ''
    """
    return " (math.sin of a formula and the like are nan: write casadi.sin)" if math.isnan(value) else ""


def number(value: object, what: str) -> float:
    """Read one finite number; a parameter is refused.

    >>> number(3, "value")
    3.0
    """
    read = scalar(value, what)
    if not isinstance(read, float):
        raise ModelError(f"{what} must be a plain number, not an expression in parameters: got {shown(value)}")
    return read


def place_among(value: object, count: int, what: str) -> int:
    """Read a place among so many, the first of which is 0, or counted from the end, the last of which is -1.

    >>> place_among(2, 3, "index"), place_among(-1, 3, "index")
    (2, 2)
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not -count <= int(cast(int, value)) < count:
        raise StateError(f"{what} must be a whole number below {count}, not {shown(value)}")
    return int(cast(int, value)) % count


def vector(value: object, what: str) -> Vector3:
    """Read three numbers or expressions.

    >>> vector([1, 2, 3], "at")
    (1.0, 2.0, 3.0)
    """
    x, y, z = read_column(value, 3, what)
    return x, y, z


def read_column(value: object, count: int, what: str) -> tuple[Scalar, ...]:
    """Read so many numbers or expressions.

    >>> read_column((1, ca.SX(2)), 2, "gains")
    (1.0, 2.0)
    """
    items = _items(value, count)
    if items is None:
        raise ModelError(f"{what} must be {count} numbers, got {shown(value)}")
    return _scalars(items, what)


def read_matrix(value: object, size: int, what: str) -> tuple[tuple[Scalar, ...], ...]:
    """Read a square matrix of numbers or expressions, as a tuple of rows.

    >>> read_matrix([[1, 2], [3, 4]], 2, "gain")
    ((1.0, 2.0), (3.0, 4.0))
    """
    rows = _square_rows(value, size)
    if rows is None:
        raise ModelError(f"{what} must be {size} x {size} numbers, got {shown(value)}")
    return _matrix_of(rows, what)


def read_matrix_or_diagonal(value: object, size: int, what: str) -> tuple[tuple[Scalar, ...], ...]:
    """Read a square matrix, given whole or by its diagonal, as a tuple of rows.

    >>> read_matrix_or_diagonal([1, 2], 2, "inertia")
    ((1.0, 0.0), (0.0, 2.0))
    """
    rows = _square_rows(value, size)
    if rows is not None:
        return _matrix_of(rows, what)
    items = _items(value, size)
    if items is None or not all(_is_one_number(item) for item in items):
        raise ModelError(f"{what} must be {size} numbers or a {size} x {size} matrix, got {shown(value)}")
    diagonal = _scalars(items, what)
    return tuple(tuple(d if i == j else 0.0 for j in range(size)) for i, d in enumerate(diagonal))


def product(a: Scalar, b: Scalar) -> Scalar:
    """Multiply, keeping zeros plain numbers.

    >>> product(0.0, ca.SX.sym("x"))
    0.0
    """
    if (type(a) is float and a == 0.0) or (type(b) is float and b == 0.0):
        return 0.0
    return a * b


def expressions(entries: Iterable[Scalar]) -> list[ca.SX]:
    """Return the entries that are expressions.

    >>> expressions((1.0, ca.SX.sym("x")))
    [SX(x)]
    """
    return [entry for entry in entries if not isinstance(entry, float)]


def same_key(entries: Iterable[Scalar]) -> tuple[object, ...]:
    """Return a key that is equal for equal numbers and for the same expressions (`==` of SX is symbolic).

    >>> x = ca.SX.sym("x")
    >>> same_key((1.0, x)) == same_key((1.0, x)), same_key((x,)) == same_key((ca.SX.sym("x"),))
    (True, False)
    """
    return tuple(entry if isinstance(entry, float) else ("expression", hash(entry)) for entry in entries)


def _matrix_of(rows: Sequence[Sequence[object]], what: str) -> tuple[tuple[Scalar, ...], ...]:
    """Read each row."""
    return tuple([_scalars(row, what, f"{i}, ") for i, row in enumerate(rows)])


def _scalars(items: Sequence[object], what: str, row: str = "") -> tuple[Scalar, ...]:
    """Read each item; a label is made only for those that need a closer look."""
    return tuple(
        [
            item + 0.0 if type(item) is float and math.isfinite(item) else scalar(item, f"{what}[{row}{i}]")
            for i, item in enumerate(items)
        ]
    )


def _expression(value: Any, what: str) -> Scalar:
    """Check that an SX is one entry, and return a constant as a number."""
    if value.shape != (1, 1):
        raise ModelError(f"{what} must be one number, got a symbolic matrix of shape {value.shape}")
    if not value.is_constant():
        return value if type(value) is ca.SX else copied(value)
    plain = float(value)
    if not math.isfinite(plain):
        raise ModelError(f"{what} must be finite, got {shown(value)}")
    return plain + 0.0


def _plain(value: object, what: str) -> float:
    """Turn a real number of any type into a float; infinite if it is too large for one."""
    try:
        if _is_real(value):
            return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf
    except Exception:  # whatever a foreign number type raises, it is not a number for us
        pass
    raise ModelError(f"{what} must be a number, got {shown(value)}")


def _is_real(value: object) -> bool:
    """Tell whether a value stands for one real number. Truth values, text and time spans do not."""
    kind = type(value)
    if issubclass(kind, bool | np.timedelta64) or masked(value):
        return False
    if issubclass(kind, numbers.Real | Decimal):
        return True
    if issubclass(kind, np.ndarray):
        return value.shape == () and value.dtype.kind in "fiu"  # type: ignore[attr-defined]
    return issubclass(kind, ca.DM) and value.shape == (1, 1)  # type: ignore[attr-defined]


def _is_one_number(value: object) -> bool:
    """Tell whether a value stands for one number or expression."""
    return _is_real(value) or (issubclass(type(value), ca.SX) and value.shape == (1, 1))  # type: ignore[attr-defined]


def _square_rows(value: object, size: int) -> list[Sequence[object]] | None:
    """Return the rows of anything like a square matrix; None if it is not."""
    rows = [row for row in (_items(row, size) for row in _rows(value, size)) if row is not None]
    return rows if len(rows) == size else None


def _rows(value: object, size: int) -> Sequence[object]:
    """Return the rows of anything like a matrix; no rows if it is not."""
    if issubclass(type(value), ca.SX | ca.DM):
        matrix: Any = value
        return [matrix[i, :] for i in range(size)] if matrix.shape == (size, size) else []
    return _items(value, size) or []


def _items(value: object, count: int) -> Sequence[Any] | None:
    """Return the items of anything like a list of that length; None if it is not."""
    kind = type(value)
    try:
        if kind is tuple or kind is list:
            items: Any = value
        elif issubclass(kind, ca.SX | ca.DM):
            items = _entries(value)
        elif masked(value):
            return None
        elif hasattr(kind, "__array__"):
            array = np.asarray(value)
            items = array.tolist() if array.shape[:1] == (count,) else ()
        elif issubclass(kind, Sequence) and not issubclass(kind, str | bytes | bytearray | memoryview):
            items = tuple(value) if len(value) == count else ()  # type: ignore[arg-type]
        else:
            return None
        return items if len(items) == count else None
    except Exception:  # whatever a foreign sequence raises, it is not a list of numbers
        return None


def _entries(value: Any) -> list[Any]:
    """Return the entries of a symbolic or CasADi column or row."""
    return [value[i] for i in range(value.numel())] if 1 in value.shape else []


def dimensions_of(value: object) -> int:
    """Return how many dimensions a value has as an array; none if it cannot be one.

    >>> dimensions_of([[1.0, 2.0]]), dimensions_of([[1.0], [1.0, 2.0]])
    (2, 0)
    """
    try:
        return np.ndim(value)  # type: ignore[arg-type]  # anything may be asked
    except Exception:  # whatever it raises, it is told where the value is read
        return 0
