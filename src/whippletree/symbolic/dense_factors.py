"""Unrolled solves of small symmetric positive definite systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca

from whippletree.symbolic.sparse_factors import factor_symmetric, minimum_degree, trusted

__all__ = ["Factors", "backward", "elimination_order", "factor", "factored", "forward", "solve_factored"]

_SMALL = 6
"""Up to this size the order of elimination is the given one; beyond, it is one of minimum degree."""


def factor(A: ca.SX, least: ca.SX | None = None, share: float = 0.0) -> tuple[ca.SX, list[ca.SX]]:
    """Factor A = L diag(d) L^T without pivoting; return the unit lower L and the reciprocals of d.

    Zeros that are known while tracing cost nothing. Pivots are `trusted` only above those of `least`, if it is given,
    or above a `share` of the diagonal entry from which others have been subtracted.

    >>> L, d = factor(ca.SX([[4.0, 2.0], [2.0, 3.0]]))
    >>> d[0]
    SX(0.25)
    """
    n = A.shape[0]
    L = ca.SX.eye(n)
    L = ca.densify(L)
    reciprocals: list[ca.SX] = []
    scaled = ca.densify(ca.SX(n, n))  # scaled[i, j] = L[i, j] d[j]
    for j in range(n):
        d, limit = A[j, j], None if least is None else least[j]
        for k in range(j):
            d = d - L[j, k] * scaled[j, k]
        if share and not all(L[j, k].is_zero() for k in range(j)):
            limit = share * A[j, j]
        reciprocals.append(1 / trusted(d, limit))
        for i in range(j + 1, n):
            entry = A[i, j]
            for k in range(j):
                entry = entry - L[i, k] * scaled[j, k]
            scaled[i, j] = entry
            L[i, j] = entry * reciprocals[j]
    return L, reciprocals


def solve_factored(factors: tuple[ca.SX, list[ca.SX]], b: ca.SX) -> ca.SX:
    """Solve A x = b for one or more columns, given `factor(A)`.

    >>> solve_factored(factor(ca.SX([[4.0, 0.0], [0.0, 2.0]])), ca.SX([4.0, 4.0]))
    SX([1, 2])
    """
    L, reciprocals = factors
    n = L.shape[0]
    if n == 1:
        return b * reciprocals[0]
    rows = [b[i, :] for i in range(n)]
    for i in range(n):
        for k in range(i):
            rows[i] = rows[i] - L[i, k] * rows[k]
    rows = [row * reciprocals[i] for i, row in enumerate(rows)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            rows[i] = rows[i] - L[k, i] * rows[k]
    return ca.vertcat(*rows)


@dataclass(frozen=True)
class Factors:
    """A factored symmetric matrix: how to solve with it, and the reciprocals of its pivots.

    `L`, if it is known, is the unit triangle of A = L diag(d) L^T in the places of A, eliminated in
    `elimination_order(A)`.
    """

    solve: Callable[[ca.SX], ca.SX]
    reciprocals: Sequence[ca.SX]
    L: ca.SX | None = None


def elimination_order(A: ca.SX) -> list[int]:
    """Return in which order a symmetric matrix is eliminated; it follows from where its zeros are.

    >>> elimination_order(ca.SX([[4.0, 2.0], [2.0, 3.0]]))
    [0, 1]
    """
    n = A.shape[0]
    return list(range(n)) if n <= _SMALL else minimum_degree(_lower_entries(A), range(n))


def _lower_entries(A: ca.SX) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of the lower half that are not always zero, and the diagonal."""
    rows, columns = A.sparsity().get_triplet()
    return {
        (i, j): x for i, j, x in zip(rows, columns, _nonzeros(A), strict=True) if i == j or (i > j and not _none(x))
    }


def _nonzeros(A: ca.SX) -> list[ca.SX]:
    return cast("list[ca.SX]", A.nonzeros())


def _none(x: ca.SX) -> bool:
    return bool(x.is_zero())


def forward(L: ca.SX, order: Sequence[int], b: ca.SX) -> ca.SX:
    """Return L^-1 b, for the triangle of `Factors` and one or more columns.

    >>> forward(ca.SX([[1.0, 0.0], [0.5, 1.0]]), [0, 1], ca.SX([4.0, 4.0]))
    SX([4, 2])
    """
    rows = [b[i, :] for i in range(b.shape[0])]
    below = _columns_below(L)
    for k in order:
        for i, entry in below[k]:
            rows[i] = rows[i] - entry * rows[k]
    return ca.vertcat(*rows)


def backward(L: ca.SX, order: Sequence[int], y: ca.SX) -> ca.SX:
    """Return L^-T y, for the triangle of `Factors` and one or more columns.

    >>> backward(ca.SX([[1.0, 0.0], [0.5, 1.0]]), [0, 1], ca.SX([4.0, 2.0]))
    SX([3, 2])
    """
    rows = [y[i, :] for i in range(y.shape[0])]
    below = _columns_below(L)
    for k in reversed(order):
        for i, entry in below[k]:
            rows[k] = rows[k] - entry * rows[i]
    return ca.vertcat(*rows)


def _columns_below(L: ca.SX) -> list[list[tuple[int, ca.SX]]]:
    """Return by columns the entries of a unit triangle beside its diagonal."""
    found: list[list[tuple[int, ca.SX]]] = [[] for _ in range(L.shape[1])]
    rows, columns = L.sparsity().get_triplet()
    for i, j, x in zip(rows, columns, _nonzeros(L), strict=True):
        if i != j and not _none(x):
            found[j].append((i, x))
    return found


def factored(A: ca.SX, least: ca.SX | None = None, share: float = 0.0) -> Factors:
    """Factor a symmetric matrix of any size without pivoting; a large one in an order that makes few new entries.

    Pivots are `trusted` as by `factor`.

    >>> factored(ca.SX([[4.0, 0.0], [0.0, 2.0]])).solve(ca.SX([4.0, 4.0]))
    SX([1, 2])
    """
    n = A.shape[0]
    if n <= _SMALL:
        factors = factor(A, least, share)
        return Factors(lambda b: solve_factored(factors, b), factors[1], factors[0])
    order = elimination_order(A)
    limits = {} if least is None else {i: least[i] for i in range(n)}
    sparse = factor_symmetric(_lower_entries(A), order, limits, share)
    L = _matrix(n, {(i, j): x for j, column in sparse.L.items() for i, x in column.items()})
    reciprocals = [sparse.reciprocal[i] for i in range(n)]
    scale = ca.vertcat(*reciprocals)

    def solve(b: ca.SX) -> ca.SX:
        y = forward(L, order, ca.densify(b))
        return ca.densify(backward(L, order, ca.horzcat(*(scale * y[:, c] for c in range(y.shape[1])))))

    return Factors(solve, reciprocals, L)


def _matrix(n: int, entries: dict[tuple[int, int], ca.SX]) -> ca.SX:
    """Return a sparse square matrix of these entries."""
    if not entries:
        return ca.SX(n, n)
    places = sorted(entries, key=lambda place: (place[1], place[0]))  # CasADi keeps entries column by column
    pattern = ca.Sparsity.triplet(n, n, [i for i, _ in places], [j for _, j in places])
    return ca.SX(pattern, ca.vertcat(*(entries[place] for place in places)))
