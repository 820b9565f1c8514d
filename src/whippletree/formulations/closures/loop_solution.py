"""What a loop formulation gives: accelerations of the tree's joints, multipliers, pivots; and what several use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import Held
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial.sparse import add_to

__all__ = ["Blocks", "Solution", "by_closure", "schur_complement", "stacked", "unit_loads"]

Blocks = dict[int, ca.SX]
"""Columns (k, m) by closure."""


class Solution(NamedTuple):
    """Accelerations (nv, zero at cut joints), the multipliers of each closure's kept rows, and numbers to watch.

    The multipliers are worked out when they are asked for. `pivots` are those of the elimination: one that is small
    compared with what it is elsewhere says that the solution is not to be trusted.
    """

    a: ca.SX
    multipliers: Callable[[], list[ca.SX]]
    pivots: tuple[ca.SX, ...]


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


def unit_loads(walk: Unrolled, held: Sequence[Held]) -> tuple[list[Blocks], list[Blocks]]:
    """Return what unit multipliers put on the nodes, the last being the base's, and the efforts at their hinges."""
    forces: list[Blocks] = [{} for _ in range(len(walk.nodes) + 1)]
    efforts: list[Blocks] = [{} for _ in walk.nodes]
    for c, one in enumerate(held):
        for pull in one.pulls:
            add_to(forces[pull.node], c, pull.F)
        for hinge in one.hinges:
            e = ca.SX.zeros(walk.nodes[hinge.node].v.shape[0], one.n_rows)
            e[hinge.component, :] = hinge.e.T
            add_to(efforts[hinge.node], c, e)
    return forces, efforts


def schur_complement(effects: Sequence[tuple[Blocks, Blocks]], held: Sequence[Held]) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of A = G M^-1 G^T on and below the diagonal: the sum of the hinges' shares h^T w.

    Every hinge has what unit multipliers do to it, h, and w = D^-1 h with its inertia D, for each closure that does.
    """
    start = list(itertools.accumulate((one.n_rows for one in held), initial=0))
    A: dict[tuple[int, int], ca.SX] = {}
    for h_of, w_of in effects:
        for c, h in h_of.items():
            for d, w in w_of.items():
                if d > c:
                    continue
                block = h.T @ w
                for i in range(block.shape[0]):
                    for j in range(block.shape[1] if d < c else i + 1):
                        if not block[i, j].is_zero():
                            add_to(A, (start[c] + i, start[d] + j), block[i, j])
    return A
