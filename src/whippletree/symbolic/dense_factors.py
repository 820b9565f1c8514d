"""Unrolled solves of small symmetric positive definite systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from whippletree.symbolic.sparse_factors import factor_symmetric, minimum_degree, trusted

__all__ = ["Factors", "factor", "factored", "solve_factored"]

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
    """A factored symmetric matrix: how to solve with it, and the reciprocals of its pivots."""

    solve: Callable[[ca.SX], ca.SX]
    reciprocals: Sequence[ca.SX]


def factored(A: ca.SX, least: ca.SX | None = None, share: float = 0.0) -> Factors:
    """Factor a symmetric matrix of any size without pivoting; a large one in an order that makes few new entries.

    Pivots are `trusted` as by `factor`.

    >>> factored(ca.SX([[4.0, 0.0], [0.0, 2.0]])).solve(ca.SX([4.0, 4.0]))
    SX([1, 2])
    """
    n = A.shape[0]
    if n <= _SMALL:
        factors = factor(A, least, share)
        return Factors(lambda b: solve_factored(factors, b), factors[1])
    entries = {(i, j): A[i, j] for i in range(n) for j in range(i + 1) if i == j or not A[i, j].is_zero()}
    limits = {} if least is None else {i: least[i] for i in range(n)}
    sparse = factor_symmetric(entries, minimum_degree(entries, range(n)), limits, share)

    def solve(b: ca.SX) -> ca.SX:
        result = ca.SX(*b.shape)
        for c in range(b.shape[1]):
            column = {i: b[i, c] for i in range(n) if not b[i, c].is_zero()}
            for i, value in sparse.solve(column).items():
                result[i, c] = value
        return ca.densify(result)

    return Factors(solve, [sparse.reciprocal[i] for i in range(n)])
