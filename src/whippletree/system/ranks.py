"""Decisions that numbers make: how many rows are independent, which to keep, where to pivot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from whippletree.foundation.arrays import Indices, Mask
from whippletree.kernels.kernel import Array
from whippletree.system.tolerances import EQUALLY_FAR, FAINT_ROW, PIVOT_SHARE, RANK, ROUNDING

__all__ = [
    "RowBlock",
    "choose_columns",
    "choose_held_rows",
    "choose_independent_rows",
    "choose_pivots",
    "choose_rows",
    "connected_blocks",
    "largest_pivots",
    "least_norm",
    "null_space",
    "pivots_met",
    "rank_of",
    "ranks_of_blocks",
    "smallest_share",
]


class RowBlock(NamedTuple):
    """Rows and columns of a matrix that have nothing to do with the others."""

    rows: Indices
    columns: Indices


def connected_blocks(pattern: Mask) -> tuple[RowBlock, ...]:
    """Return the rows that share columns, directly or by way of others, with their columns; empty rows are in none.

    >>> [block.rows.tolist() for block in connected_blocks(np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0]], dtype=bool))]
    [[0, 2], [1]]
    """
    left = [i for i in range(len(pattern)) if pattern[i].any()]
    blocks = []
    while left:
        columns = pattern[left[0]]
        while True:
            rows: Mask = np.asarray(pattern[:, columns].any(axis=1))
            wider: Mask = np.asarray(pattern[rows].any(axis=0))
            if (wider == columns).all():
                break
            columns = wider
        blocks.append(RowBlock(np.flatnonzero(rows), np.flatnonzero(columns)))
        left = [i for i in left if not rows[i]]
    return tuple(blocks)


def ranks_of_blocks(A: Array, blocks: Sequence[RowBlock], smallest: float = RANK) -> list[int]:
    """Return the numerical rank of each block: none if the block is nothing but rounding beside the others.

    >>> ranks_of_blocks(np.diag([1.0, 1e-9, 1e-17]), connected_blocks(np.eye(3, dtype=bool)))
    [1, 1, 0]
    """
    return [0 if _is_rounding(A, block) else rank_of(A[np.ix_(*block)], smallest) for block in blocks]


def _is_rounding(A: Array, block: RowBlock) -> bool:
    """Tell whether a block of a matrix, scaled sensibly, is nothing but rounding."""
    return bool(np.abs(A[np.ix_(*block)]).max(initial=0.0) <= ROUNDING * np.abs(A).max(initial=0.0))


def smallest_share(A: Array, blocks: Sequence[RowBlock], ranks: Sequence[int]) -> float:
    """Return the least singular value that counts with given ranks of the blocks, as a share of its block's largest."""
    shares = [1.0]
    for block, rank in zip(blocks, ranks, strict=True):
        if rank:
            s = np.linalg.svd(A[np.ix_(*block)], compute_uv=False)
            shares.append(float(s[rank - 1] / s[0]) if s[0] > 0 else 0.0)
    return min(shares)  # not empty: 1 is one


def least_norm(A: Array, right: Array, blocks: Sequence[RowBlock], free: Mask, smallest: float) -> Array:
    """Return the x of least norm, and zero where it is not `free`, with A x nearest to the right-hand side.

    Singular values below the share `smallest` of their block's largest are left out.

    >>> least_norm(np.eye(2), np.ones(2), connected_blocks(np.eye(2, dtype=bool)), np.array([True, False]), 1e-9)
    array([1., 0.])
    """
    x = np.zeros(A.shape[1])
    for block in blocks:
        columns = block.columns[free[block.columns]]
        if columns.size and not _is_rounding(A, block):
            x[columns] = np.linalg.lstsq(A[np.ix_(block.rows, columns)], right[block.rows], rcond=smallest)[0]
    return x


def choose_independent_rows(
    A: Array, blocks: Sequence[RowBlock], ranks: Sequence[int], positional: Mask, smallest: float
) -> list[int]:
    """Return the most independent rows of each block, as many as its rank; see `choose_held_rows`."""
    chosen: list[int] = []
    for block, rank in zip(blocks, ranks, strict=True):
        rows = choose_held_rows(A[np.ix_(*block)], rank, positional[block.rows], smallest)
        chosen += block.rows[rows].tolist()
    return sorted(chosen)


def choose_held_rows(A: Array, count: int, positional: Mask, smallest: float) -> list[int]:
    """Return `count` independent rows, ascending: all that positions need before any on velocities only.

    A row on velocities that follows from rows on positions must not take the place of one of them: it does not keep
    closed what they close. Singular values below the share `smallest` are none; for the rest see `choose_rows`.

    >>> choose_held_rows(np.array([[3.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), 2, np.array([False, True, False]), 1e-9)
    [1, 2]
    """
    if positional.all():
        return choose_rows(A, count)
    stack = A if A.ndim == 3 else A[None]
    first, later = np.flatnonzero(positional), np.flatnonzero(~positional)
    held = min(count, rank_of(stack[0][first], smallest))
    kept = first[choose_rows(stack[:, first], held)]
    Q = np.linalg.qr(stack[:, kept].swapaxes(1, 2))[0]
    left = stack[:, later]
    for _ in range(2):  # twice is enough
        left = left - (left @ Q) @ Q.swapaxes(1, 2)
    return sorted([*kept.tolist(), *later[choose_rows(left, count - held)].tolist()])


def rank_of(A: Array, smallest: float = RANK) -> int:
    """Return the numerical rank of a matrix whose rows and columns are scaled sensibly.

    >>> rank_of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    if not A.size:
        return 0
    s = np.linalg.svd(A, compute_uv=False)
    return int((s > smallest * s[0]).sum()) if s[0] > 0 else 0


def null_space(A: Array, blocks: Sequence[RowBlock], smallest: float = RANK) -> Array:
    """Return an orthonormal basis (n, k) of the null space, found block by block.

    >>> null_space(np.array([[1.0, 0.0]]), connected_blocks(np.array([[True, False]]))).shape
    (2, 1)
    """
    n = A.shape[1]
    apart = np.setdiff1d(np.arange(n), np.concatenate([np.zeros(0, dtype=np.intp), *(b.columns for b in blocks)]))
    found = [np.eye(n)[:, apart]]
    for block in blocks:
        _, s, Vt = np.linalg.svd(A[np.ix_(*block)])
        rank = 0 if _is_rounding(A, block) else int((s > smallest * s[0]).sum())
        basis = np.zeros((n, len(block.columns) - rank))
        basis[block.columns] = Vt[rank:].T
        found.append(basis)
    return np.hstack(found)


def choose_rows(A: Array, count: int, first: Sequence[int] = (), *, tie: float = EQUALLY_FAR) -> list[int]:
    """Return `count` rows that are as independent as possible, ascending: always the one farthest from those chosen.

    Rows that are equally far, up to `tie`, go in their order, so that the choice does not depend on rounding. Those in
    `first` come before all others as long as they are clearly independent. Of several matrices (n, rows, columns) the
    one counts where a row is nearest to those chosen.

    >>> choose_rows(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), 2)
    [1, 2]
    >>> choose_rows(np.array([[[3.0], [1.0]], [[0.0], [1.0]]]), 1)
    [1]
    """
    left = np.array(A if A.ndim == 3 else A[None], dtype=np.float64)
    chosen: list[int] = []
    wanted = list(first)
    whole = np.einsum("nij,nij->ni", left, left)
    for _ in range(count):
        sizes = np.einsum("nij,nij->ni", left, left)
        size = sizes.min(axis=0)
        size[chosen] = -1.0
        wanted = [k for k in wanted if k not in chosen and (sizes[:, k] > FAINT_ROW**2 * whole[:, k]).all()]
        if wanted:
            size[[k for k in range(len(size)) if k not in wanted]] = -1.0
        k = int(np.flatnonzero(size >= size.max() * (1 - tie))[0])
        chosen.append(k)
        if not size[k] > 0.0:
            raise np.linalg.LinAlgError("there are not so many independent rows")
        direction = left[:, k] / np.sqrt(sizes[:, k])[:, None]
        for _ in range(2):  # twice is enough
            left = left - (left @ direction[:, :, None]) * direction[:, None, :]
    return sorted(chosen)


def choose_columns(A: Array, count: int, first: Sequence[int] = ()) -> list[int]:
    """Return `count` columns that are as independent as possible, ascending; see `choose_rows`.

    >>> choose_columns(np.array([[1.0, 3.0]]), 1)
    [1]
    """
    return choose_rows(A.swapaxes(-1, -2), count, first)


def choose_pivots(A: Array, pattern: Mask, *, share: float = PIVOT_SHARE) -> list[tuple[int, int]]:
    """Return pivots (row, column) of a square matrix, in their order of elimination.

    Of the entries that are at least `share` of the largest in their row, the next pivot is the one that fills in
    least (Markowitz). `pattern` tells which entries can ever be other than zero. Of several matrices (n, rows, columns)
    the one counts where an entry is worst, and entries of both signs count nothing: somewhere in between they are zero.
    If none is good enough, the best one is taken.

    >>> choose_pivots(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([[True, True], [False, True]]))
    [(0, 0), (1, 1)]
    >>> choose_pivots(np.array([[[1.0, 0.9], [1.0, -1.0]], [[-0.1, 0.9], [1.0, -1.0]]]), np.ones((2, 2), dtype=bool))
    [(1, 0), (0, 1)]
    """
    of_row = np.moveaxis(A, 0, -1) if A.ndim == 3 else A
    rows: dict[int, dict[int, int | float]] = {
        i: {int(j): of_row[i, j] if A.ndim == 3 else float(A[i, j]) for j in np.flatnonzero(pattern[i])}
        for i in range(A.shape[-2])
    }
    users: dict[int, set[int]] = {j: set() for j in range(A.shape[-1])}
    for i, row in rows.items():
        for j in row:
            users[j].add(i)
    shares = {i: _shares(row) for i, row in rows.items()}
    pivots: list[tuple[int, int]] = []
    while rows:
        i, j = _next_pivot(shares, users, share)
        pivots.append((i, j))
        own = rows.pop(i)
        del shares[i]
        for k in own:
            users[k].discard(i)
        value = own.pop(j)
        for other in sorted(users.pop(j)):
            gain = rows[other].pop(j) / value
            for k, entry in own.items():
                rows[other][k] = rows[other].get(k, 0.0) - gain * entry
                users[k].add(other)
            shares[other] = _shares(rows[other])
    return pivots


def largest_pivots(A: Array, count: int, least: float) -> list[tuple[int, int]]:
    """Return up to so many pivots (row, column) of any matrix, each the largest entry that is left, rows scaled.

    Rows that are shorter than `least`, and pivots below it, do not count.

    >>> largest_pivots(np.array([[1.0, 2.0], [0.5, 1.0], [1.0, 0.0]]), 2, 1e-9)
    [(0, 1), (2, 0)]
    """
    size = np.abs(A).max(axis=1, initial=0.0, keepdims=True)
    left = np.where(size > least, A / np.where(size > least, size, 1.0), 0.0)
    pivots: list[tuple[int, int]] = []
    while len(pivots) < count and left.size:
        i, j = (int(k) for k in np.unravel_index(np.abs(left).argmax(), left.shape))
        if abs(left[i, j]) < least:
            break
        pivots.append((i, j))
        left = left - np.outer(left[:, j] / left[i, j], left[i])
        left[i], left[:, j] = 0.0, 0.0
    return pivots


def pivots_met(A: Array, pivots: Sequence[tuple[int, int]]) -> Array:
    """Return the pivots that a given order of elimination meets; after one that is zero, all are.

    >>> pivots_met(np.array([[0.1, 1.0], [1.0, 0.0]]), [(0, 0), (1, 1)])
    array([  0.1, -10. ])
    """
    left, met = np.array(A, dtype=np.float64), np.zeros(len(pivots))
    for n, (row, column) in enumerate(pivots):
        pivot = met[n] = left[row, column]
        if pivot == 0.0:
            break
        left = left - np.outer(left[:, column] / pivot, left[row])
    return met


def _shares(row: dict[int, int | float]) -> dict[int, float]:
    """Return the size of each entry as a share of the largest in its row, in the matrix where that is least.

    An entry that has another sign in another matrix counts as zero.
    """
    if not any(isinstance(x, np.ndarray) for x in row.values()):
        most = max((abs(x) for x in row.values()), default=0.0)
        return {j: abs(x) / most for j, x in row.items()} if most else {}
    values = np.stack(list(row.values()))
    most = np.abs(values).max(axis=0)
    worst = np.abs(values / np.where(most > 0, most, np.inf)).min(axis=1)
    worst[np.abs(np.sign(values).sum(axis=1)) < values.shape[1]] = 0.0
    return dict(zip(row, worst.tolist(), strict=True))


def _next_pivot(shares: dict[int, dict[int, float]], users: dict[int, set[int]], share: float) -> tuple[int, int]:
    """Return the entry that fills in least of those that are large enough, or else the largest."""
    best: tuple[float, ...] | None = None
    for i, row in shares.items():
        for j, value in row.items():
            if value >= share:
                cost = (len(row) - 1) * (len(users[j]) - 1)
                key = (cost, -value, i, j)
                if best is None or key < best:
                    best = key
    if best is None:
        largest = min(((-value, i, j) for i, row in shares.items() for j, value in row.items()), default=(0.0, 0, 0))
        if not largest[0] < 0.0:
            raise np.linalg.LinAlgError("the matrix is singular")
        best = (0, *largest)
    return int(best[2]), int(best[3])
