"""Back onto the closures: one Newton step for positions and velocities that have drifted off.

The independent coordinates stay as they are. The dependent ones follow from the closures (Nikravesh 26; 16, 17):

    C_d u_d = -phi,          C_d (v_d + dv_d) = -C_i v_i - drift

and the coordinates of cut joints from the bodies they join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures.relative import left_inverse
from whippletree.formulations.closures.closure_frames import CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_results import LengthOf
from whippletree.formulations.closures.loop_solution import stacked_rows
from whippletree.formulations.closures.partition import Choice, partition
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial import stack

__all__ = ["Projected", "kept_gap", "missed", "project"]


class Projected(NamedTuple):
    """A displacement (nv) that closes the loops, and velocities (nv) that keep them closed."""

    u: ca.SX
    v: ca.SX


def project(walk: Unrolled, closure_set: ClosureSet, choice: Choice) -> Projected:
    """Take one Newton step."""
    parts = partition(walk, closure_set, choice)
    u = ca.densify(ca.SX(walk.nv, 1))
    v = ca.SX(closure_set.v)
    off, speed = stacked_rows(parts.closure_states, "phi"), stacked_rows(parts.closure_states, "rate")
    for row, cut, component in _driven(closure_set):
        off[row], speed[row] = (
            missed(walk, closure_set, cut)[component],
            speed[row] - closure_set.v[cut.v.start + component],
        )
    for d, value in parts.factors.solve(_negative(off)).items():
        u[d] = value
    for d, value in parts.factors.solve(_negative(speed)).items():
        v[d] = v[d] + value
    moved, rates = closure_set.cut_rates(_with_velocities(walk, u)), closure_set.cut_rates(_with_velocities(walk, v))
    for k, cut in enumerate(closure_set.attachments.cuts):
        if cut.joint.nv:
            u[cut.v] = moved[k].rate + missed(walk, closure_set, cut)
            v[cut.v] = rates[k].rate
    return Projected(u, v)


def _driven(closure_set: ClosureSet) -> Iterator[tuple[int, CutJoint, int]]:
    """Return the kept rows that drive prescribed cut joints: the bodies follow the joint's coordinates there."""
    first = 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        if attachment.driven is not None:
            for i, component in enumerate(keep):
                yield first + i, closure_set.attachments.cuts[attachment.driven], component
        first += len(keep)


def _negative(values: list[ca.SX]) -> dict[int, ca.SX]:
    return {r: -value for r, value in enumerate(values)}


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
