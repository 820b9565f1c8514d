"""Decisions that numbers make: how many rows are independent, which to keep, where to pivot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whippletree.kernels.kernel import Array

__all__ = ["choose_columns", "choose_pivots", "choose_rows", "null_space", "rank_of", "smallest_pivot"]

SMALLEST = 1e-7
"""Singular values below this share of the largest are none."""

FAINT = 1e-2
"""A row that is asked for is not taken if less than this share of it is independent of those already chosen."""


def rank_of(A: Array, smallest: float = SMALLEST) -> int:
    """Return the numerical rank of a matrix whose rows and columns are scaled sensibly.

    >>> rank_of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    if not A.size:
        return 0
    s = np.linalg.svd(A, compute_uv=False)
    return int((s > smallest * s[0]).sum()) if s[0] > 0 else 0


def null_space(A: Array, smallest: float = SMALLEST) -> Array:
    """Return an orthonormal basis (n, k) of the null space.

    >>> null_space(np.array([[1.0, 0.0]])).shape
    (2, 1)
    """
    if not A.shape[0]:
        return np.eye(A.shape[1])
    _, s, Vt = np.linalg.svd(A)
    rank = int((s > smallest * s[0]).sum()) if s.size and s[0] > 0 else 0
    return np.ascontiguousarray(Vt[rank:].T)


def choose_rows(A: Array, count: int, first: Sequence[int] = (), *, tie: float = 1e-9) -> list[int]:
    """Return `count` rows that are as independent as possible, ascending: always the one farthest from those chosen.

    Rows that are equally far, up to `tie`, go in their order, so that the choice does not hang on rounding. Those in
    `first` come before all others as long as they are clearly independent.

    >>> choose_rows(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), 2)
    [1, 2]
    """
    left = np.array(A, dtype=np.float64)
    chosen: list[int] = []
    wanted = list(first)
    clear = FAINT**2 * np.einsum("ij,ij->i", left, left)
    for _ in range(count):
        size = np.einsum("ij,ij->i", left, left)
        size[chosen] = -1.0
        wanted = [k for k in wanted if size[k] > clear[k]]
        if wanted:
            size[[k for k in range(len(size)) if k not in wanted]] = -1.0
        k = int(np.flatnonzero(size >= size.max() * (1 - tie))[0])
        chosen.append(k)
        direction = left[k] / np.sqrt(size[k])
        left = left - np.outer(left @ direction, direction)
        left = left - np.outer(left @ direction, direction)  # twice is enough
    return sorted(chosen)


def choose_columns(A: Array, count: int, first: Sequence[int] = ()) -> list[int]:
    """Return `count` columns that are as independent as possible, ascending; see `choose_rows`.

    >>> choose_columns(np.array([[1.0, 3.0]]), 1)
    [1]
    """
    return choose_rows(A.T, count, first)


def choose_pivots(A: Array, pattern: npt.NDArray[np.bool_], *, share: float = 0.1) -> list[tuple[int, int]]:
    """Return pivots (row, column) of a square matrix, in their order of elimination.

    Of the entries that are at least `share` of the largest in their row, the next pivot is the one that fills in
    least (Markowitz). `pattern` tells which entries can ever be other than zero.

    >>> choose_pivots(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([[True, True], [False, True]]))
    [(0, 0), (1, 1)]
    """
    rows: dict[int, dict[int, float]] = {
        i: {int(j): float(A[i, j]) for j in np.flatnonzero(pattern[i])} for i in range(A.shape[0])
    }
    users: dict[int, set[int]] = {j: set() for j in range(A.shape[1])}
    for i, row in rows.items():
        for j in row:
            users[j].add(i)
    pivots: list[tuple[int, int]] = []
    while rows:
        i, j = _next_pivot(rows, users, share)
        pivots.append((i, j))
        own = rows.pop(i)
        for k in own:
            users[k].discard(i)
        value = own.pop(j)
        for other in sorted(users.pop(j)):
            gain = rows[other].pop(j) / value
            for k, entry in own.items():
                rows[other][k] = rows[other].get(k, 0.0) - gain * entry
                users[k].add(other)
    return pivots


def smallest_pivot(A: Array, pivots: Sequence[tuple[int, int]]) -> float:
    """Return the smallest size of the pivots that a given order of elimination meets.

    >>> smallest_pivot(np.array([[0.1, 1.0], [1.0, 0.0]]), [(0, 0), (1, 1)])
    0.1
    """
    left = np.array(A, dtype=np.float64)
    smallest = np.inf
    for row, column in pivots:
        pivot = left[row, column]
        smallest = min(smallest, abs(float(pivot)))
        if not smallest:
            break
        left = left - np.outer(left[:, column] / pivot, left[row])
    return smallest


def _next_pivot(rows: dict[int, dict[int, float]], users: dict[int, set[int]], share: float) -> tuple[int, int]:
    best: tuple[Any, ...] | None = None
    for i, row in rows.items():
        most = max((abs(x) for x in row.values()), default=0.0)
        if most == 0.0:
            continue
        for j, value in row.items():
            if abs(value) >= share * most:
                cost = (len(row) - 1) * (len(users[j]) - 1)
                key = (cost, -abs(value) / most, i, j)
                if best is None or key < best:
                    best = key
    if best is None:
        raise np.linalg.LinAlgError("the matrix is singular")
    return int(best[2]), int(best[3])
