"""The one form of a description from which its fingerprint and its pickle are made.

It has two parts: an outline (names, types, what is joined to what) and a flat sequence of numbers.
Expressions in parameters leave a NaN among the numbers, which are finite otherwise, and go together into
one CasADi function. What a user wrote for a closure or a force is a function of its own, in the outline as text.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, TypeAlias

import casadi as ca

from whippletree.elements.bodies import BodyKind
from whippletree.elements.joints import Joint
from whippletree.spatial.scalars import Scalar, Vector3

__all__ = [
    "ActingOutline",
    "BodyOutline",
    "Outline",
    "UseOutline",
    "digest",
    "evaluated",
    "packed",
    "take",
    "take_vector",
    "unpacked",
]

BodyOutline: TypeAlias = tuple[str, type[BodyKind] | None, str, int]  # name, kind, its text and count of numbers
UseOutline: TypeAlias = tuple[str, type[Joint], str, str, bool, int]  # the last: how many numbers of armature
ActingOutline: TypeAlias = tuple[Any, ...]
"""Of a closure or a force its name, type, text and count of numbers, the bodies of its sides, and the rest; of a
state or an event the same but for the type, of its formula."""
Outline: TypeAlias = tuple[
    str,
    tuple[BodyOutline, ...],
    tuple[UseOutline, ...],
    tuple[ActingOutline, ...],
    tuple[tuple[str, str], ...],
    tuple[str, ...],
    tuple[ActingOutline, ...],
    tuple[ActingOutline, ...],
    tuple[ActingOutline, ...],
]

FORMAT = "whippletree description 5"


def packed(numbers: Iterable[Scalar], symbols: list[ca.SX]) -> tuple[bytes, str | None]:
    """Return the numbers as bytes, with NaN for expressions, and the expressions as a serialised function.

    >>> len(packed([1.0, 2.0], [])[0])
    16
    """
    entries = list(numbers)
    plain = array("d", [entry if type(entry) is float else math.nan for entry in entries]).tobytes()
    found = [entry for entry in entries if type(entry) is not float]
    if not found:
        return plain, None
    return plain, ca.Function("e", symbols, [ca.vertcat(*found)]).serialize()


def unpacked(data: bytes, expressions: str | None, symbols: list[ca.SX]) -> Iterator[Scalar]:
    """Yield the numbers again, the expressions in these symbols.

    >>> list(unpacked(packed([1.0, 2.0], [])[0], None, []))
    [1.0, 2.0]
    """
    column: Any = None if expressions is None else ca.Function.deserialize(expressions)(*symbols)
    k = 0
    for number in array("d", data):
        if math.isnan(number):
            yield column[k]
            k += 1
        else:
            yield number


def evaluated(numbers: Iterable[Scalar], symbols: list[ca.SX], values: Iterable[float]) -> list[Scalar]:
    """Return the numbers with the expressions replaced by their values at those of the symbols.

    >>> x = ca.SX.sym("x")
    >>> evaluated([1.0, 2 * x], [x], [3.0])
    [1.0, 6.0]
    """
    entries = list(numbers)
    found = [entry for entry in entries if type(entry) is not float]
    if not found:
        return entries
    results = iter(ca.Function("e", symbols, [ca.vertcat(*found)])(*values).full().ravel().tolist())
    return [entry if type(entry) is float else next(results) for entry in entries]  # not empty: one for each expression


def digest(
    outline: Outline, numbers: Iterable[Scalar], symbols: list[ca.SX], implementations: tuple[str, ...] = ()
) -> str:
    """Return the sha256 of a description in hexadecimal digits; `implementations` are those of types from outside.

    >>> len(digest(("empty", (), (), (), (), (), (), (), ()), [0.0, 0.0, -9.81], []))
    64
    """
    name, bodies, uses, closures, frames, parameters, forces, states, events = outline
    joints = [(use, kind.__name__, *rest) for use, kind, *rest in uses]
    closed = [(use, kind.__name__, *rest) for use, kind, *rest in closures]
    loaded = [(use, kind.__name__, *rest) for use, kind, *rest in forces]
    text = repr((FORMAT, name, bodies, joints, closed, frames, parameters, loaded, states, events))
    data, expressions = packed(numbers, symbols)
    # each part is preceded by its length, so that no two descriptions run together into the same bytes
    result = sha256()
    for part in (text.encode(), data, (expressions or "").encode(), " ".join(implementations).encode()):
        result.update(f"{len(part)}:".encode())
        result.update(part)
    return result.hexdigest()


def take(numbers: Iterator[Scalar], count: int) -> tuple[Scalar, ...]:
    """Return the next few numbers.

    >>> take(iter([1.0, 2.0, 3.0]), 2)
    (1.0, 2.0)
    """
    return tuple(islice(numbers, count))


def take_vector(numbers: Iterator[Scalar]) -> Vector3:
    """Return the next three numbers.

    >>> take_vector(iter([1.0, 2.0, 3.0]))
    (1.0, 2.0, 3.0)
    """
    return next(numbers), next(numbers), next(numbers)  # not empty: as many as the outline has
