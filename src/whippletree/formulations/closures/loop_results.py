"""Mechanisms with loops: from a formulation's solution to accelerations, efforts, reactions and motions.

What the loop formulations share is here: they differ only in how they find the tree's accelerations and the closures'
multipliers (`Solution`). All forces follow from those two by one inward sweep.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures import left_inverse, pose_error, relative_motion
from whippletree.formulations.closures.closure_frames import CutJoint
from whippletree.formulations.closures.closure_set import (
    ClosureSet,
    ClosureState,
    NodeForceColumns,
    jacobian_rows,
    with_closure_forces,
)
from whippletree.formulations.closures.loop_solution import Solution
from whippletree.formulations.closures.partition import Choice, partition
from whippletree.formulations.nodes.frame_states import FrameState, NodeFrame, force_columns, with_accelerations
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.sweeps import Kept, Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.formulations.recursions.joint_wrenches import joint_wrench
from whippletree.foundation.once import made_once
from whippletree.spatial import Rotation, stack
from whippletree.symbolic.arithmetic import product

__all__ = [
    "Answer",
    "LengthOf",
    "Solve",
    "closure_gap",
    "cut_opening",
    "cut_reactions",
    "cut_terms",
    "described_rows",
    "described_states",
    "driving_forces",
    "full_residual",
    "full_rows",
    "full_seconds",
    "motion_basis",
    "reactions",
    "row_slices",
    "self_stresses",
    "static_reactions",
]

Solve = Callable[[Unrolled, ClosureSet], Solution]

LengthOf = Callable[[str], Any]
"""Gives the characteristic length of a cut joint or closure by its name."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A solution on a walk with closures; results for all joints follow from it on first use."""

    walk: Unrolled
    closure_set: ClosureSet
    solution: Solution
    baumgarte: tuple[float, float] = (0.0, 0.0)

    @made_once
    def a(self) -> ca.SX:
        """The accelerations (nv) of all joints, cut ones too."""
        a = self.closure_set.cut_accelerations(self.walk, self.solution.a)
        return a + cut_terms(self.walk, self.closure_set, self.baumgarte) if any(self.baumgarte) else a

    @made_once
    def multipliers(self) -> list[ca.SX]:
        """The multipliers of each closure's rows."""
        return self.solution.multipliers()


def _loaded(walk: Unrolled, closure_set: ClosureSet, tau: ca.SX, answer: Answer, still: Unrolled) -> Unrolled:
    """Return the walk with its accelerations, the efforts at cut joints and the closures' forces, which act at `still`.

    That is the walk itself, or the same configuration at rest: where forces act does not depend on the motion.
    """
    moving = with_accelerations(walk, answer.solution.a)
    acted = closure_set.efforts_at_cuts(moving, tau, still=still)
    return with_closure_forces(acted, closure_set.evaluate(still), answer.multipliers)


def driving_forces(walk: Unrolled, closure_set: ClosureSet, tau: ca.SX, answer: Answer) -> ca.SX:
    """Return the efforts (nv): those given, and those that prescribed hinges need, cut or not."""
    needed = composite.inverse_dynamics(_loaded(walk, closure_set, tau, answer, walk))
    efforts = ca.SX(tau)
    closure_states = closure_set.evaluate(walk)
    # a closure that holds a prescribed hinge's coordinate acts on it beside the drive
    helped = with_closure_forces(walk, closure_states, answer.multipliers)
    for node, other, where in zip(walk.nodes, helped.nodes, walk.v_slices, strict=True):
        if node.prescribed:
            efforts[where] = needed[where] - (other.tau - node.tau)
    for attachment, value in zip(closure_set.attachments.all, answer.multipliers, strict=True):
        if attachment.driven is not None:
            efforts[closure_set.attachments.cuts[attachment.driven].v] = value
    return efforts


def reactions(
    walk: Unrolled,
    closure_set: ClosureSet,
    tau: ca.SX,
    answer: Answer,
    order: Sequence[int],
    still: Unrolled,
    *,
    of_forces: bool = False,
) -> ca.SX:
    """Return the reaction of every joint (n_joints * 6), in the declared order.

    `order` gives the places of the tree's joints among all, then those of the cut ones. Forces act at `still`, the walk
    itself or the same configuration at rest. With `of_forces` they come from the forces across joints that the
    formulation has as by-products.
    """
    forces = answer.solution.forces if of_forces else None
    of_tree = (
        composite.reactions(_loaded(walk, closure_set, tau, answer, still))
        if forces is None
        else _tree_wrenches(still, forces())
    )
    of_cuts = cut_reactions(still, closure_set, closure_set.evaluate(still), tau, answer.multipliers)
    return _in_order(of_tree, of_cuts, order)


def _tree_wrenches(walk: Unrolled, forces: Sequence[ca.SX]) -> ca.SX:
    """Return the reactions (6 n, k) of the tree's joints, one after the other, from the forces (6, k) across them."""
    placed = zip(walk.nodes, _ground_axes(walk), forces, strict=True)
    kept = Kept([StaticForce(node.configuration(), axes, force) for node, axes, force in placed])
    wrenches = walk.outward(joint_wrench, (), kept, kept)
    at = {place: one.wrench for place, one in zip(walk.positions, wrenches.records, strict=True)}
    none = ca.SX(0, forces[0].shape[1] if forces else 1)
    return ca.SX(ca.vertcat(none, *(at[place] for place in sorted(p for p in at if p is not None))))


def _in_order(of_tree: ca.SX, of_cuts: Sequence[ca.SX], order: Sequence[int]) -> ca.SX:
    n_tree = of_tree.shape[0] // 6
    blocks = [of_tree[6 * k : 6 * k + 6, :] for k in range(n_tree)] + list(of_cuts)
    ordered: list[ca.SX] = [ca.SX.zeros(6)] * len(blocks)
    for position, block in zip(order, blocks, strict=True):
        ordered[position] = block
    return ca.densify(ca.SX(ca.vertcat(*ordered)))


def cut_reactions(
    walk: Unrolled,
    closure_set: ClosureSet,
    closure_states: Sequence[ClosureState],
    tau: ca.SX,
    multipliers: Sequence[ca.SX],
) -> list[ca.SX]:
    """Return the wrench on the described child of every cut joint, at its joint point, in ground axes.

    Efforts `tau` (nv, k) and multipliers (n_rows, k) may have several columns.
    """
    k = tau.shape[1]
    efforts = [
        tau[cut.v, :] if not cut.use.prescribed else ca.SX.zeros(cut.joint.nv, k)
        for cut in closure_set.attachments.cuts
    ]
    wrenches = [ca.SX.zeros(6, k) for _ in closure_set.attachments.cuts]
    for attachment, rows, keep, value in zip(
        closure_set.attachments.all, closure_set.side_rows(walk), closure_set.keep, multipliers, strict=True
    ):
        if attachment.cut is not None:
            wrenches[attachment.cut] = wrenches[attachment.cut] + rows.D[1][list(keep), :].T @ value
        if attachment.driven is not None:
            efforts[attachment.driven] = value
        for i, c in enumerate(attachment.coordinates):
            if c.cut is not None:
                more = ca.SX.zeros(closure_set.attachments.cuts[c.cut].joint.nv, k)
                more[c.component, :] = rows.K[list(keep), i].T @ value
                efforts[c.cut] = efforts[c.cut] + more
    axes = _ground_axes(walk)
    result = []
    for cut, wrench, effort, rates in zip(
        closure_set.attachments.cuts, wrenches, efforts, closure_set.cut_rows(walk), strict=True
    ):
        total = wrench + rates.D[1].T @ effort if cut.joint.nv else wrench
        if cut.base >= 0:
            total = Rotation(axes[cut.base] if cut.turn is None else axes[cut.base] @ ca.SX(ca.DM(cut.turn))).force(
                total
            )
        result.append(total)
    return result


def _ground_axes(walk: Unrolled) -> list[ca.SX]:
    """Return every node's axes in the ground frame."""
    axes: list[ca.SX] = []
    for k, node in enumerate(walk.nodes):
        own = node.shift(node.configuration()).rotation()
        axes.append(own if walk.parents[k] < 0 else product(axes[walk.parents[k]], own))
    return axes


def motion_basis(walk: Unrolled, closure_set: ClosureSet, choice: Choice) -> tuple[ca.SX, tuple[ca.SX, ...]]:
    """Return E (nv, n): every joint's velocity for a unit rate of each independent freedom; and the pivots."""
    parts = partition(walk, closure_set, choice)
    E = ca.densify(ca.SX(walk.nv, len(choice.independent)))
    place = {i: k for k, i in enumerate(choice.independent)}
    for d, row in parts.E.items():
        for i, value in row.items():
            E[d, place[i]] = value
    rates = closure_set.cut_rates(walk)
    rows = iter(jacobian_rows(walk, rates))
    for cut, closure_states in zip(closure_set.attachments.cuts, rates, strict=True):
        for component in range(closure_states.n_rows):
            for d, value in next(rows).items():  # not empty: the rows of all cut joints, one after another
                for i, entry in parts.E.get(d, {}).items():
                    E[cut.v.start + component, place[i]] += value * entry
    return E, parts.factors.pivots


def self_stresses(
    walk: Unrolled, kept: ClosureSet, whole: ClosureSet, choice: Choice, order: Sequence[int]
) -> tuple[ca.SX, tuple[ca.SX, ...]]:
    """Return the joint reactions (6 n_joints, n) that balance by themselves, one column for each row not kept.

    A unit multiplier of a row that is not kept, and those of the kept ones that undo it on the tree:
    C^T y = 0, by the same factors as the partition. On the walk nothing is welded, so that it has a node for each joint
    of the tree; `kept` and `whole` are the closures with the kept rows and with all of them.
    """
    parts = partition(walk, kept, choice)
    closure_states = whole.evaluate(walk)
    rows = jacobian_rows(walk, closure_states)
    kept_rows = whole.attachments.places(kept.keep)
    dependent = {column for _, column in choice.pivots}
    redundant = sorted(set(range(len(rows))) - set(kept_rows))
    values = ca.SX(len(rows), len(redundant))
    for column, r in enumerate(redundant):
        right = {d: -value for d, value in rows[r].items() if d in dependent}
        values[r, column] = 1
        for k, value in parts.factors.solve_transposed(right).items():
            values[kept_rows[k], column] = value
    multipliers = [values[where, :] for where in row_slices(closure_states)]
    return static_reactions(walk, whole, multipliers, order), parts.factors.pivots


def row_slices(closure_states: Sequence[ClosureState]) -> list[slice]:
    """Return where the rows of each closure are among those of all."""
    ends = list(itertools.accumulate((one.n_rows for one in closure_states), initial=0))
    return [slice(*pair) for pair in itertools.pairwise(ends)]


class StaticForce(NamedTuple):
    """Kept of a node at rest: its configuration, its axes in the ground, and the force columns across its joint."""

    x: ca.SX
    axes: ca.SX
    f: ca.SX


def static_reactions(
    walk: Unrolled, closure_set: ClosureSet, multipliers: Sequence[ca.SX], order: Sequence[int]
) -> ca.SX:
    """Return the reactions (6 n_joints, k) of the closures' forces alone: no mass, no motion, no effort.

    `multipliers` holds for each closure as many columns (n_rows, k); one sweep serves all of them.
    """
    still = walk.with_nodes([node.idle() for node in walk.nodes])
    closure_states = closure_set.evaluate(walk)
    k = multipliers[0].shape[1]
    push = [ca.SX(6, k)] * len(walk.nodes)
    for one, value in zip(closure_states, multipliers, strict=True):
        for on_node in one.node_forces:
            push[on_node.node] = push[on_node.node] + on_node.F @ value
    placed = zip(still.nodes, _ground_axes(walk), push, strict=True)
    loads = Kept([StaticForce(node.configuration(), axes, -force) for node, axes, force in placed])
    _, forces = still.inward(_pass_on, (ca.SX(6, k),), loads)
    of_tree = _tree_wrenches(still, [kept.f for kept in forces.records])
    none = ca.SX.zeros(walk.nv, k)
    return _in_order(of_tree, cut_reactions(walk, closure_set, closure_states, none, multipliers), order)


def _pass_on(node: Node, children: tuple[ca.SX], load: StaticForce) -> tuple[tuple[ca.SX], StaticForce]:
    """Add the forces of the nodes beyond, and hand the sum to the parent."""
    f = load.f + children[0]
    return (node.shift(load.x).force(f),), load._replace(f=f)


def closure_gap(walk: Unrolled, closure_set: ClosureSet, length_of: LengthOf) -> tuple[ca.SX, ca.SX]:
    """Return the squares of how far positions and velocities miss the closures: rotations, and lengths over a length.

    `length_of` gives that length by the name of a cut joint or closure.
    """
    gap, slip = ca.SX(0), ca.SX(0)
    for cut in closure_set.attachments.cuts:
        length = length_of(cut.use.name)
        frame_states = closure_set.frame_states(walk, cut)
        parent, child = frame_states[0].side, frame_states[1].side
        x = cut.joint.configuration(closure_set.q[cut.q, :])
        shift = cut.joint.shift(x)
        turned = parent.R @ shift.rotation() - child.R
        missed = (parent.p + parent.R @ shift.position() - child.p) / length
        gap = gap + ca.sumsqr(turned[:, 0:2]) + ca.sumsqr(missed)
        V = cut_opening(walk, closure_set, cut)
        slip = slip + ca.sumsqr(V[0:3]) + ca.sumsqr(V[3:6] / length)
    for attachment, closure_states in zip(closure_set.attachments.all, closure_set.evaluate(walk), strict=True):
        if attachment.cut is None and attachment.driven is None:
            length = length_of(attachment.name)
            gap = gap + ca.sumsqr(closure_states.phi / length)
            slip = slip + ca.sumsqr(closure_states.rate / length)
    return gap, slip


def cut_opening(walk: Unrolled, closure_set: ClosureSet, cut: CutJoint) -> ca.SX:
    """Return the motion of a cut joint's child side in its parent side (6), minus that of its own velocities."""
    frame_states = closure_set.frame_states(walk, cut)
    rows = relative_motion(tuple(s.side for s in frame_states))
    x = cut.joint.configuration(closure_set.q[cut.q, :])
    total = -(cut.joint.joint_map(x) @ closure_set.v[cut.v, :]) if cut.joint.nv else ca.SX.zeros(6)
    for D, state in zip(rows.D, frame_states, strict=True):
        total = total + D @ stack(state.side.w, state.side.u)
    return ca.SX(total)


def cut_terms(walk: Unrolled, closure_set: ClosureSet, baumgarte: tuple[float, float]) -> ca.SX:
    """Return Baumgarte's terms (nv) on the coordinates of cut joints, which no closure's row holds.

    Let N V be how fast the joint opens in the directions of its own freedoms, and N e by how far: its coordinates
    follow its bodies with a = a_rel + 2 alpha N V + beta^2 N e.
    """
    alpha, beta = baumgarte
    terms = ca.SX.zeros(walk.nv)
    for cut in closure_set.attachments.cuts:
        if cut.joint.nv and not cut.use.prescribed:
            x = cut.joint.configuration(closure_set.q[cut.q, :])
            sides = tuple(s.side for s in closure_set.frame_states(walk, cut))
            missed = 2 * alpha * cut_opening(walk, closure_set, cut) + beta**2 * pose_error(cut.joint, x, sides)
            terms[cut.v] = product(left_inverse(cut.joint.joint_map(x)), missed)
    return terms


def full_residual(walk: Unrolled, closure_set: ClosureSet) -> ca.SX:
    """Return how far the closures are from closed: six rows for each cut joint, then those of described closures."""
    parts = []
    for cut in closure_set.attachments.cuts:
        sides = tuple(s.side for s in closure_set.frame_states(walk, cut))
        parts.append(pose_error(cut.joint, cut.joint.configuration(closure_set.q[cut.q, :]), sides))
    return ca.SX(ca.vertcat(ca.SX(0, 1), *parts, *(state.phi for state in described_states(walk, closure_set))))


def described_states(walk: Unrolled, closure_set: ClosureSet) -> list[ClosureState]:
    """Return the closures that are neither cut joints nor drives of such."""
    return closure_set.evaluate(walk, closure_set.attachments.described)


def full_rows(walk: Unrolled, closure_set: ClosureSet) -> tuple[list[dict[int, ca.SX]], ca.SX]:
    """Return the closures' rows on the velocities of all joints, and their drift.

    A cut joint has six rows here: the motion of its child side in its parent side, less what its own velocities give;
    then come the rows of the described closures. Nothing depends on where a loop is cut.
    """
    rows: list[dict[int, ca.SX]] = []
    drift: list[ca.SX] = []
    for cut in closure_set.attachments.cuts:
        frame_states = closure_set.frame_states(walk, cut)
        motion = relative_motion(tuple(s.side for s in frame_states))
        H = cut.joint.joint_map(cut.joint.configuration(closure_set.q[cut.q, :]))
        six = ca.SX.zeros(6)
        closure_states = ClosureState(
            six, six, six, _node_force_columns(cut.frames, cut.base, frame_states, motion.D), ()
        )
        for i, row in enumerate(jacobian_rows(walk, [closure_states])):
            own = {cut.v.start + j: -H[i, j] for j in range(cut.joint.nv) if not H[i, j].is_zero()}
            rows.append({**row, **own})
        drift.append(six)
    described, moved = described_rows(walk, closure_set)
    return rows + described, ca.SX(ca.vertcat(*drift, moved))


def described_rows(walk: Unrolled, closure_set: ClosureSet) -> tuple[list[dict[int, ca.SX]], ca.SX]:
    """Return the last of `full_rows`: those of described closures, and their drift."""
    rows: list[dict[int, ca.SX]] = []
    drift: list[ca.SX] = []
    some = closure_set.attachments.described
    for k, side_rows in zip(some, closure_set.side_rows(walk, some), strict=True):
        attachment = closure_set.attachments.all[k]
        frame_states = closure_set.frame_states(walk, attachment)
        n = attachment.closure.n_rows
        none = ca.SX.zeros(n)
        closure_states = ClosureState(
            none, none, none, _node_force_columns(attachment.frames, attachment.base, frame_states, side_rows.D), ()
        )
        for i, row in enumerate(jacobian_rows(walk, [closure_states])):
            for j, c in enumerate(attachment.coordinates):
                row[c.v] = row.get(c.v, ca.SX(0)) + side_rows.K[i, j]
            rows.append(row)
        drift.append(side_rows.drift)
    return rows, ca.SX(ca.vertcat(ca.SX(0, 1), *drift))


def full_seconds(walk: Unrolled, closure_set: ClosureSet) -> ca.SX:
    """Return the second derivatives of the rows of `full_rows` for the nodes' accelerations and those of `closing`."""
    parts: list[ca.SX] = []
    for cut in closure_set.attachments.cuts:
        frame_states = closure_set.frame_states(walk, cut)
        motion = relative_motion(tuple(s.side for s in frame_states))
        x, v = cut.joint.configuration(closure_set.q[cut.q, :]), closure_set.v[cut.v, :]
        total = motion.bias - cut.joint.joint_bias(x, v)
        for D, state in zip(motion.D, frame_states, strict=True):
            total = total + D @ state.acceleration
        if cut.joint.nv:
            total = total - cut.joint.joint_map(x) @ closure_set.a[cut.v, :]
        parts.append(total)
    some = closure_set.attachments.described
    for c, rows in zip(some, closure_set.side_rows(walk, some), strict=True):
        attachment = closure_set.attachments.all[c]
        total = rows.bias
        for D, state in zip(rows.D, closure_set.frame_states(walk, attachment), strict=True):
            total = total + D @ state.acceleration
        for k, coordinate in enumerate(attachment.coordinates):
            total = total + rows.K[:, k] * closure_set.a[coordinate.v]
        parts.append(total)
    return ca.SX(ca.vertcat(*parts))


def _node_force_columns(
    frames: Sequence[NodeFrame], base: int, frame_states: Sequence[FrameState], D: Sequence[ca.SX]
) -> tuple[NodeForceColumns, ...]:
    return tuple(
        NodeForceColumns(frame.node, base, force_columns(frame, state, d))
        for frame, state, d in zip(frames, frame_states, D, strict=True)
        if frame.node >= 0
    )
