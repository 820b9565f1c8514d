"""Back onto the closures: one Newton step of least displacement for positions and velocities that have drifted off.

Of all displacements that close the loops to first order it is the smallest, and likewise the change of velocities:

    u = -S C^T (C S C^T)^-1 phi,          dv = -S C^T (C S C^T)^-1 (C v + drift)                              (1)

with S the squares of what displacements are measured by, so that lengths compare with angles. No freedom is singled
out: next to a position that is regular the matrix in (1) is positive definite, whichever freedoms are independent.
Prescribed joints stay where they are, and the coordinates of cut joints follow from the bodies they join.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures.relative import left_inverse
from whippletree.formulations.closures.closure_frames import CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet, jacobian_rows
from whippletree.formulations.closures.loop_results import LengthOf
from whippletree.formulations.closures.loop_solution import stacked_rows
from whippletree.formulations.closures.partition import given_accelerations
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial import stack
from whippletree.symbolic.sparse_factors import add_to, factor_symmetric, minimum_degree

__all__ = ["Projected", "kept_gap", "missed", "project"]

Row = dict[int, ca.SX]


class Projected(NamedTuple):
    """A displacement (nv) that closes the loops, velocities (nv) that keep them closed, and the pivots of (1)."""

    u: ca.SX
    v: ca.SX
    pivots: tuple[ca.SX, ...]


def project(walk: Unrolled, closure_set: ClosureSet, scale: Sequence[float]) -> Projected:
    """Take one Newton step; `scale` (nv) holds the unit of each displacement."""
    held, given = closure_set.evaluate(walk), given_accelerations(walk)
    rows = [{j: x for j, x in row.items() if j not in given} for row in jacobian_rows(walk, held)]
    gram = _gram(rows, scale)
    factors = factor_symmetric(gram, minimum_degree(gram, range(len(rows))))
    off, speed = stacked_rows(held, "phi"), stacked_rows(held, "rate")
    for row, cut, component in _driven(closure_set):
        off[row], speed[row] = (
            missed(walk, closure_set, cut)[component],
            speed[row] - closure_set.v[cut.v.start + component],
        )
    u, v = ca.densify(ca.SX(walk.nv, 1)), ca.SX(closure_set.v)
    for j, value in _combined(rows, factors.solve(dict(enumerate(off))), scale).items():
        u[j] = -value
    for j, value in _combined(rows, factors.solve(dict(enumerate(speed))), scale).items():
        v[j] = v[j] - value
    moved, rates = closure_set.cut_rates(_with_velocities(walk, u)), closure_set.cut_rates(_with_velocities(walk, v))
    for k, cut in enumerate(closure_set.attachments.cuts):
        if cut.joint.nv:
            u[cut.v] = moved[k].rate + missed(walk, closure_set, cut)
            v[cut.v] = rates[k].rate
    return Projected(u, v, factors.pivots)


def _gram(rows: Sequence[Row], scale: Sequence[float]) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of C S C^T on and below the diagonal."""
    by_freedom: dict[int, list[tuple[int, ca.SX]]] = {}
    for r, row in enumerate(rows):
        for j, entry in row.items():
            by_freedom.setdefault(j, []).append((r, entry))
    gram: dict[tuple[int, int], ca.SX] = {}
    for j, column in sorted(by_freedom.items()):
        for n, (r, entry) in enumerate(column):
            for other, x in column[: n + 1]:
                add_to(gram, (r, other), scale[j] ** 2 * entry * x)
    return gram


def _combined(rows: Sequence[Row], multipliers: Mapping[int, ca.SX], scale: Sequence[float]) -> Row:
    """Return S C^T of multipliers."""
    total: Row = {}
    for r, value in sorted(multipliers.items()):
        for j, entry in rows[r].items():
            add_to(total, j, entry * value)
    return {j: scale[j] ** 2 * value for j, value in total.items()}


def _driven(closure_set: ClosureSet) -> Iterator[tuple[int, CutJoint, int]]:
    """Return the kept rows that drive prescribed cut joints: the bodies follow the joint's coordinates there."""
    first = 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        if attachment.driven is not None:
            for i, component in enumerate(keep):
                yield first + i, closure_set.attachments.cuts[attachment.driven], component
        first += len(keep)


def kept_gap(walk: Unrolled, closure_set: ClosureSet, length_of: LengthOf) -> tuple[ca.SX, ca.SX]:
    """Return the squares of how far positions and velocities miss the kept rows, and cut joints' coordinates theirs.

    Angles count as they are, and lengths over a length, which `length_of` gives by cut joint or closure.
    """
    gap, slip = ca.SX(0), ca.SX(0)
    for attachment, keep, state in zip(
        closure_set.attachments.all, closure_set.keep, closure_set.evaluate(walk), strict=True
    ):
        if attachment.driven is not None:
            continue
        for i, row in enumerate(keep):
            angular = attachment.closure.labels[row].startswith("moment")
            length = 1.0 if angular else length_of(attachment.name)
            gap, slip = gap + (state.phi[i] / length) ** 2, slip + (state.rate[i] / length) ** 2
    for cut, rates in zip(closure_set.attachments.cuts, closure_set.cut_rates(walk), strict=True):
        if cut.joint.nv:
            labels, length = cut.joint.velocity_labels, length_of(cut.use.name)
            lengths = ca.DM([1.0 if "angular" in label else length for label in labels])
            gap = gap + ca.sumsqr(missed(walk, closure_set, cut) / lengths)
            slip = slip + ca.sumsqr((rates.rate - closure_set.v[cut.v, :]) / lengths)
    return gap, slip


def _with_velocities(walk: Unrolled, v: ca.SX) -> Unrolled:
    nodes = [replace(node, v=v[where, :]) for node, where in zip(walk.nodes, walk.v_slices, strict=True)]
    return walk.with_nodes(nodes)


def missed(walk: Unrolled, closure_set: ClosureSet, cut: CutJoint) -> ca.SX:
    """Return the displacement of a cut joint's coordinates to where its bodies are, to first order."""
    parent, child = (state.side for state in closure_set.frame_states(walk, cut))
    x = cut.joint.configuration(closure_set.q[cut.q, :])
    shift = cut.joint.shift(x)
    turned = (parent.R @ shift.rotation()).T @ child.R
    turn = ca.vertcat(turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]) / 2
    way = child.R.T @ (child.p - parent.p - parent.R @ shift.position())
    return left_inverse(cut.joint.joint_map(x)) @ stack(turn, way)
