"""Rank decisions loop after loop: sparse elimination of the closures of large mechanisms.

Each closure's rows are reduced by the pivots found so far, and then eliminated by themselves, the largest entries
first, columns that few closures use preferred. What is left of a row that depends on others is rounding. Time and
memory grow with the number of loops, where singular values of everything at once would take its cube.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.system.loop_families import Block
from whippletree.system.tolerances import ELIMINATED, LARGE_ENTRY

__all__ = ["Elimination", "eliminate"]

RIGHT = -1
"""The column of the right-hand side."""


@dataclass
class Elimination:
    """Pivots (row, column) in their order, the rows at which they were found, and the smallest of them, scaled."""

    pivots: list[tuple[int, int]] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    smallest: float = 1.0

    @property
    def rank(self) -> int:
        """The number of independent rows."""
        return len(self.pivots)

    def solved(self, free: Mapping[int, float], size: int) -> Array:
        """Return all columns' values (size) for those of the columns without a pivot; what is not given is zero."""
        x = np.zeros(size)
        for j, value in free.items():
            x[j] = value
        for (_, column), row in zip(reversed(self.pivots), reversed(self.rows), strict=True):
            total = row.get(RIGHT, 0.0)
            for j, value in row.items():
                if j not in (column, RIGHT):
                    total -= value * x[j]
            x[column] = total / row[column]
        return x


def eliminate(
    blocks: Sequence[Block],
    right: Array | None = None,
    leave: Iterable[int] = (),
    wanted: Iterable[int] = (),
    smallest: float = ELIMINATED,
) -> Elimination:
    """Eliminate the rows of closures, given one after the other; `right` is the right-hand side of all rows.

    Columns in `leave` are known to be zero; those in `wanted` become pivots before others if they are large enough.
    Entries below the share `smallest` of a row's size are none after elimination.

    >>> found = eliminate([Block(np.array([0, 1]), np.array([[1.0, 2.0], [2.0, 4.0]]))])
    >>> found.pivots
    [(1, 1)]
    """
    found = Elimination()
    gone, first = frozenset(leave), frozenset(wanted)
    users: dict[int, int] = {}
    for block in blocks:
        for j in block.columns.tolist():
            users[j] = users.get(j, 0) + 1
    place: dict[int, int] = {}  # of columns among the pivots
    start = 0
    for block in blocks:
        columns = block.columns.tolist()
        left: dict[int, dict[int, float]] = {}
        for i, numbers in enumerate(block.rows.tolist()):
            row = {j: x for j, x in zip(columns, numbers, strict=True) if x != 0.0 and j not in gone}
            size = max(map(abs, row.values()), default=0.0)
            if right is not None:
                row[RIGHT] = float(right[start + i])
            if size > 0.0:
                left[start + i] = _reduced(row, found, place, smallest * size)
        start += len(block.rows)
        _eliminate_block(left, found, place, users, first, smallest)
    return found


def _reduced(row: dict[int, float], found: Elimination, place: Mapping[int, int], tiny: float) -> dict[int, float]:
    """Return a row without the columns that have pivots."""
    while True:
        known = [place[j] for j in row if j in place]
        if not known:
            return {j: x for j, x in row.items() if abs(x) > tiny or j == RIGHT}
        k = min(known)  # not empty: looked at above
        _subtract(row, found.rows[k], found.pivots[k][1])


def _subtract(row: dict[int, float], pivot: Mapping[int, float], column: int) -> None:
    gain = row[column] / pivot[column]
    for j, x in pivot.items():
        row[j] = row.get(j, 0.0) - gain * x
    del row[column]


def _eliminate_block(
    left: dict[int, dict[int, float]],
    found: Elimination,
    place: dict[int, int],
    users: Mapping[int, int],
    first: frozenset[int],
    smallest: float,
) -> None:
    """Find the pivots of one closure's rows."""
    while left:
        entries = [(abs(x), i, j) for i, row in left.items() for j, x in row.items() if j != RIGHT]
        largest = max(entries, default=(0.0, -1, -1))[0]
        if largest <= smallest:
            return
        found.smallest = min(found.smallest, largest)
        candidates = [(j not in first, users[j], -x, i, j) for x, i, j in entries if x >= LARGE_ENTRY * largest]
        *_, i, j = min(candidates)  # not empty: the largest entry is one
        row = left.pop(i)
        place[j] = len(found.pivots)
        found.pivots.append((i, j))
        found.rows.append(row)
        for other in left.values():
            if j in other:
                _subtract(other, row, j)
