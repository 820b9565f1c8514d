"""What a loop formulation gives: accelerations of the tree's joints, multipliers, pivots; and what several use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureState

__all__ = ["Solution", "by_closure", "stacked_rows"]


class Solution(NamedTuple):
    """Accelerations (nv, zero at cut joints), the multipliers of each closure's kept rows, and numbers to watch.

    The multipliers are worked out when they are asked for. `pivots` are those of the elimination: one that is small
    compared with what it is elsewhere says that the solution is not to be trusted. `error` is the estimated error
    relative to the largest acceleration, of a formulation that is not exact.
    """

    a: ca.SX
    multipliers: Callable[[], list[ca.SX]]
    pivots: tuple[ca.SX, ...]
    error: ca.SX | None = None


def by_closure(values: Sequence[ca.SX], closure_states: Sequence[ClosureState]) -> list[ca.SX]:
    """Return numbers given row by row as one column for each closure."""
    columns, start = [], 0
    for one in closure_states:
        columns.append(ca.SX(ca.vertcat(*values[start : start + one.n_rows])))
        start += one.n_rows
    return columns


def stacked_rows(closure_states: Sequence[ClosureState], part: str) -> list[ca.SX]:
    """Return one part of all closures row by row."""
    return [getattr(one, part)[i] for one in closure_states for i in range(one.n_rows)]
