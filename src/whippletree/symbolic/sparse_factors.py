"""Sparse factorisations over symbols: entries that are zero while tracing are never touched.

Matrices are given by their entries, rows and columns may be named by anything, and the order of elimination is the
caller's: tracing cannot choose pivots. Every factor keeps its pivots: one that has become small says that the order,
or the matrix itself, is bad at this state.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import casadi as ca

from whippletree.symbolic.arithmetic import minus, times

__all__ = [
    "Column",
    "SparseLU",
    "SymmetricFactor",
    "add_to",
    "factor_lu",
    "factor_symmetric",
    "minimum_degree",
    "nearest_zero",
    "shares_of_diagonal",
    "smallest",
    "trusted",
]

Key = TypeVar("Key", bound=Hashable)
Column: TypeAlias = dict[Any, ca.SX]
"""A sparse column: its entries that are not zero."""


def smallest(values: Iterable[ca.SX]) -> ca.SX:
    """Return the smallest of some expressions, or one if there is none.

    >>> smallest([ca.SX(3.0), ca.SX(2.0)])
    SX(2)
    """
    least: ca.SX | None = None
    for value in values:
        least = value if least is None else ca.fmin(least, value)
    return ca.SX(1) if least is None else least


def add_to(blocks: dict[Any, ca.SX], key: Hashable, value: ca.SX) -> None:
    """Add to an entry, which may not be there yet.

    >>> entries = {}
    >>> add_to(entries, (0, 0), ca.SX(2))
    >>> add_to(entries, (0, 0), ca.SX(3))
    >>> entries
    {(0, 0): SX(5)}
    """
    blocks[key] = blocks[key] + value if key in blocks else value


def _take_from(column: Column, key: Hashable, x: ca.SX, y: ca.SX) -> None:
    """Subtract x y from an entry, which may not be there yet."""
    column[key] = minus(column[key], times(x, y)) if key in column else times(-x, y)


def trusted(pivot: ca.SX, least: ca.SX | None, *, negative: bool = False) -> ca.SX:
    """Return a pivot, or zero if it is not above the least that can be trusted; or not below it, if both are negative.

    Dividing by zero makes all that follows infinite or not a number: whoever evaluates it finds out.

    >>> trusted(ca.SX(3.0), ca.SX(1.0)), trusted(ca.SX(0.5), ca.SX(1.0)), trusted(ca.SX(0.5), None)
    (SX(3), SX(0), SX(0.5))
    """
    if least is None:
        return pivot
    return ca.if_else(pivot < least if negative else pivot > least, pivot, 0)


def nearest_zero(values: Sequence[ca.SX]) -> ca.SX:
    """Return the one of some expressions that is nearest to zero, or one if there is none.

    >>> nearest_zero([ca.SX(3.0), ca.SX(-2.0)])
    SX(-2)
    """
    if not values:
        return ca.SX(1)
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    a, b = nearest_zero(values[:half]), nearest_zero(values[half:])
    return ca.if_else(ca.fabs(a) < ca.fabs(b), a, b)


def minimum_degree(pairs: Iterable[tuple[Key, Key]], keys: Sequence[Key]) -> list[Key]:
    """Return an order of elimination of a symmetric matrix with few new entries: always the least connected next.

    `pairs` are the places of its entries; ties go to the earlier key.

    >>> minimum_degree([(0, 1), (0, 2), (0, 3)], [0, 1, 2, 3])
    [1, 2, 0, 3]
    """
    near: dict[Key, set[Key]] = {key: set() for key in keys}
    for i, j in pairs:
        if i != j:
            near[i].add(j)
            near[j].add(i)
    rank = {key: k for k, key in enumerate(keys)}
    order: list[Key] = []
    left = set(keys)
    while left:
        best = min(left, key=lambda key: (len(near[key]), rank[key]))  # not empty: the loop ends before
        order.append(best)
        left.remove(best)
        for i in near[best]:
            near[i] |= near[best]
            near[i] -= {i, best}
        del near[best]
    return order


@dataclass(frozen=True)
class SymmetricFactor:
    """A = L diag(d) L^T, eliminated in `order`; `L[i]` holds column i below the diagonal."""

    order: Sequence[Any]
    L: Mapping[Any, Column]
    reciprocal: Mapping[Any, ca.SX]
    pivots: tuple[ca.SX, ...]

    def forward(self, b: Column) -> Column:
        """Return L^-1 b."""
        x = dict(b)
        for k in self.order:
            if k in x:
                for i, entry in self.L[k].items():
                    _take_from(x, i, entry, x[k])
        return x

    def backward(self, y: Column) -> Column:
        """Return L^-T y."""
        x = dict(y)
        for k in reversed(self.order):
            for i, entry in self.L[k].items():
                if i in x:
                    _take_from(x, k, entry, x[i])
        return x

    def scaled(self, y: Column) -> Column:
        """Return diag(d)^-1 y."""
        return {k: times(value, self.reciprocal[k]) for k, value in y.items()}

    def solve(self, b: Column) -> Column:
        """Return A^-1 b."""
        return self.backward(self.scaled(self.forward(b)))

    def inverse(self) -> dict[Any, Column]:
        """Return A^-1 by columns; each pair of mirrored entries is computed once.

        >>> f = factor_symmetric({(0, 0): ca.SX(2), (1, 0): ca.SX(1), (1, 1): ca.SX(1)}, [0, 1])
        >>> f.inverse()[0]
        {1: SX(-1), 0: SX(1)}
        """
        found: dict[object, Column] = {k: {} for k in self.order}
        for j in self.order:
            x = self.scaled(self.forward({j: ca.SX(1)}))
            for k in reversed(self.order):
                for i, entry in self.L[k].items():
                    if i in x:
                        _take_from(x, k, entry, x[i])
                if k in x:
                    found[j][k] = found[k][j] = x[k]
                if k == j:
                    break
        return found


def factor_symmetric(
    entries: Mapping[tuple[Key, Key], ca.SX],
    order: Sequence[Key],
    least: Mapping[Key, ca.SX] = MappingProxyType({}),
    share: float = 0.0,
) -> SymmetricFactor:
    """Factor a symmetric matrix without pivoting; of each pair (i, j), (j, i) one is enough.

    Pivots are `trusted` only above the `least` that is given for them, or above a `share` of the diagonal entry from
    which others have been subtracted.

    >>> f = factor_symmetric({(0, 0): ca.SX(4), (1, 0): ca.SX(2), (1, 1): ca.SX(3)}, [0, 1])
    >>> x = f.solve({0: ca.SX(8), 1: ca.SX(8)})
    >>> x[0], x[1]
    (SX(1), SX(2))
    """
    rank = {key: k for k, key in enumerate(order)}
    below: dict[Key, Column] = {key: {} for key in order}
    diagonal: dict[Key, ca.SX] = {}
    for (i, j), value in entries.items():
        if i == j:
            diagonal[i] = value
        elif not value.is_zero():
            first, second = (i, j) if rank[i] < rank[j] else (j, i)
            below[first][second] = value
    reciprocal: dict[Key, ca.SX] = {}
    L: dict[Key, Column] = {}
    for k in order:
        limit = least.get(k)
        pivot = diagonal.setdefault(k, ca.SX(0))  # what has neither inertia nor a condition gives no finite number
        if share and (k, k) in entries and pivot is not entries[k, k]:
            limit = share * entries[k, k]
        reciprocal[k] = 1 / trusted(pivot, limit)
        L[k] = {i: times(value, reciprocal[k]) for i, value in below[k].items()}
        rest = list(below[k].items())
        for n, (i, value) in enumerate(rest):
            _take_from(diagonal, i, L[k][i], value)
            for j, other in rest[n + 1 :]:
                first, second = (i, j) if rank[i] < rank[j] else (j, i)
                _take_from(below[first], second, L[k][i], other)
    return SymmetricFactor(tuple(order), L, reciprocal, tuple(diagonal[k] for k in order))


def shares_of_diagonal(
    entries: Mapping[tuple[Key, Key], ca.SX], factors: SymmetricFactor, share: float
) -> tuple[ca.SX | None, ...]:
    """Return a share of each diagonal entry, in the order of the pivots; None where nothing was subtracted from it.

    >>> A = {(0, 0): ca.SX(4), (1, 0): ca.SX(2), (1, 1): ca.SX(3)}
    >>> shares_of_diagonal(A, factor_symmetric(A, [0, 1]), 0.5)
    (None, SX(1.5))
    """
    diagonal = [entries[k, k] for k in factors.order]
    return tuple(None if p is x else share * x for p, x in zip(factors.pivots, diagonal, strict=True))


@dataclass(frozen=True)
class SparseLU:
    """A square matrix eliminated at given pivots (row, column), in their order."""

    places: Sequence[tuple[Any, Any]]
    lower: Sequence[Column]
    upper: Sequence[Column]
    reciprocal: Sequence[ca.SX]
    pivots: tuple[ca.SX, ...]

    def solve(self, b: Column) -> Column:
        """Return the solution by column, for a right-hand side by row."""
        x = dict(b)
        for (row, _), below in zip(self.places, self.lower, strict=True):
            if row in x:
                for i, entry in below.items():
                    _take_from(x, i, entry, x[row])
        result: Column = {}
        for (row, column), right, reciprocal in reversed(
            list(zip(self.places, self.upper, self.reciprocal, strict=True))
        ):
            for j, entry in right.items():
                if j in result:
                    _take_from(x, row, entry, result[j])
            if row in x:
                result[column] = times(x[row], reciprocal)
        return result

    def solve_transposed(self, b: Column) -> Column:
        """Return the solution by row of the transposed system, for a right-hand side by column."""
        x = dict(b)
        y: Column = {}
        for (row, column), right, reciprocal in zip(self.places, self.upper, self.reciprocal, strict=True):
            if column in x:
                y[row] = times(x[column], reciprocal)
                for j, entry in right.items():
                    _take_from(x, j, entry, y[row])
        for (row, _), below in reversed(list(zip(self.places, self.lower, strict=True))):
            for i, entry in below.items():
                if i in y:
                    _take_from(y, row, entry, y[i])
        return y


def factor_lu(
    rows: Mapping[Key, Column],
    pivots: Sequence[tuple[Key, Key]],
    least: Mapping[tuple[Key, Key], ca.SX] = MappingProxyType({}),
) -> SparseLU:
    """Eliminate a square matrix, given by its rows, at the given pivots, `trusted` only above the `least` of them.

    >>> f = factor_lu({"a": {"x": ca.SX(2)}, "b": {"x": ca.SX(1), "y": ca.SX(4)}}, [("a", "x"), ("b", "y")])
    >>> solution = f.solve({"a": ca.SX(2), "b": ca.SX(9)})
    >>> solution["x"], solution["y"]
    (SX(1), SX(2))
    """
    left = {row: {j: value for j, value in entries.items() if not value.is_zero()} for row, entries in rows.items()}
    lower: list[Column] = []
    upper: list[Column] = []
    reciprocals: list[ca.SX] = []
    values: list[ca.SX] = []
    for row, column in pivots:
        own = left.pop(row)
        value = own.pop(column, ca.SX(0))
        reciprocal = 1 / trusted(value, least.get((row, column)))
        values.append(value)
        below: Column = {}
        for i, entries in left.items():
            if column in entries:
                gain = below[i] = times(entries.pop(column), reciprocal)
                for j, entry in own.items():
                    _take_from(entries, j, gain, entry)
        lower.append(below)
        upper.append(own)
        reciprocals.append(reciprocal)
    return SparseLU(tuple(pivots), lower, upper, reciprocals, tuple(values))
