"""What a loop formulation gives: accelerations of the tree's joints, multipliers of the closures, a margin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closing import Held

__all__ = ["WATCHED", "Solution", "by_closure", "stacked"]

WATCHED = 1e-8
"""The share of a pivot's scale below which a solution is not trusted."""


class Solution(NamedTuple):
    """Accelerations (nv, zero at cut joints), the multipliers of each closure's kept rows, and a number to watch.

    The multipliers are worked out when they are asked for. `margin(share)` is positive as long as every pivot is more
    than that share of its scale.
    """

    a: ca.SX
    multipliers: Callable[[], list[ca.SX]]
    margin: Callable[[float], ca.SX]


def by_closure(values: Sequence[ca.SX], held: Sequence[Held]) -> list[ca.SX]:
    """Return numbers given row by row as one column for each closure."""
    columns, start = [], 0
    for one in held:
        columns.append(ca.SX(ca.vertcat(*values[start : start + one.n_rows])))
        start += one.n_rows
    return columns


def stacked(held: Sequence[Held], part: str) -> list[ca.SX]:
    """Return one part of all closures row by row."""
    return [getattr(one, part)[i] for one in held for i in range(one.n_rows)]
