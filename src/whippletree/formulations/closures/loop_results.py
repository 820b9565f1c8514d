"""Mechanisms with loops: from a formulation's solution to accelerations, efforts, reactions and motions.

What the loop formulations share is here: they differ only in how they find the tree's accelerations and the closures'
multipliers (`Solution`). All forces follow from those two by one inward sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import relative_motion
from whippletree.formulations.closures.closure_frames import CutJoint, Grip
from whippletree.formulations.closures.closure_set import (
    Closing,
    Held,
    Pull,
    Station,
    columns,
    jacobian_rows,
    pushed,
    with_accelerations,
)
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.formulations.methods.independent_coordinates import Choice, partition
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite
from whippletree.spatial import Rotation, stack

__all__ = [
    "Solve",
    "accelerations",
    "closure_gap",
    "cut_opening",
    "cut_reactions",
    "driving_forces",
    "full_rows",
    "full_seconds",
    "motion_basis",
    "reactions",
    "self_stresses",
]

Solve = Callable[[Unrolled, Closing], Solution]


class Answer(NamedTuple):
    """A solution with the accelerations of cut joints, and the closures at the state."""

    a: ca.SX
    solution: Solution

    @property
    def multipliers(self) -> list[ca.SX]:
        """The multipliers of each closure's rows."""
        return self.solution.multipliers()


def accelerations(walk: Unrolled, closing: Closing, solution: Solution) -> Answer:
    """Return the accelerations (nv) of all joints, and the solution they come from."""
    return Answer(closing.cut_accelerations(walk, solution.a), solution)


def loaded(walk: Unrolled, closing: Closing, tau: ca.SX, answer: Answer) -> Unrolled:
    """Return the walk with its accelerations, the efforts at cut joints and the closures' forces."""
    moving = with_accelerations(closing.efforts_at_cuts(walk, tau), answer.a)
    return pushed(moving, closing.hold(walk), answer.multipliers)


def driving_forces(walk: Unrolled, closing: Closing, tau: ca.SX, answer: Answer) -> ca.SX:
    """Return the efforts (nv): those given, and those that prescribed hinges need, cut or not."""
    needed = composite.inverse_dynamics(loaded(walk, closing, tau, answer))
    efforts = ca.SX(tau)
    held = closing.hold(walk)
    # a closure that holds a prescribed hinge's coordinate acts on it beside the drive
    helped = pushed(walk, held, answer.multipliers)
    for node, other, where in zip(walk.nodes, helped.nodes, walk.v_slices, strict=True):
        if node.prescribed:
            efforts[where] = needed[where] - (other.tau - node.tau)
    for fastening, value in zip(closing.fastenings.all, answer.multipliers, strict=True):
        if fastening.driven is not None:
            efforts[closing.fastenings.cuts[fastening.driven].v] = value
    return efforts


def reactions(walk: Unrolled, closing: Closing, tau: ca.SX, answer: Answer, order: Sequence[int]) -> ca.SX:
    """Return the reaction of every joint (n_joints * 6), in the declared order.

    `order` gives the places of the tree's joints among all, then those of the cut ones.
    """
    of_tree = composite.reactions(loaded(walk, closing, tau, answer))
    of_cuts = cut_reactions(walk, closing, closing.hold(walk), tau, answer.multipliers)
    return _in_order(of_tree, of_cuts, order)


def _in_order(of_tree: ca.SX, of_cuts: Sequence[ca.SX], order: Sequence[int]) -> ca.SX:
    n_tree = of_tree.shape[0] // 6
    blocks = [of_tree[6 * k : 6 * k + 6] for k in range(n_tree)] + list(of_cuts)
    ordered: list[ca.SX] = [ca.SX.zeros(6)] * len(blocks)
    for position, block in zip(order, blocks, strict=True):
        ordered[position] = block
    return ca.SX(ca.vertcat(*ordered))


def cut_reactions(
    walk: Unrolled, closing: Closing, held: Sequence[Held], tau: ca.SX, multipliers: Sequence[ca.SX]
) -> list[ca.SX]:
    """Return the wrench on the described child of every cut joint, at its joint point, in ground axes."""
    efforts = [
        tau[cut.v, :] if not cut.use.prescribed else ca.SX.zeros(cut.joint.nv) for cut in closing.fastenings.cuts
    ]
    wrenches = [ca.SX.zeros(6) for _ in closing.fastenings.cuts]
    for fastening, rows, keep, value in zip(
        closing.fastenings.all, closing.side_rows(walk), closing.keep, multipliers, strict=True
    ):
        if fastening.cut is not None:
            wrenches[fastening.cut] = wrenches[fastening.cut] + rows.D[1][list(keep), :].T @ value
        if fastening.driven is not None:
            efforts[fastening.driven] = value
        for i, c in enumerate(fastening.coordinates):
            if c.cut is not None:
                more = ca.SX.zeros(closing.fastenings.cuts[c.cut].joint.nv)
                more[c.component] = ca.dot(rows.K[list(keep), i], value)
                efforts[c.cut] = efforts[c.cut] + more
    axes = _ground_axes(walk)
    result = []
    for cut, wrench, effort, rates in zip(
        closing.fastenings.cuts, wrenches, efforts, closing.cut_rows(walk), strict=True
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
        axes.append(own if walk.parents[k] < 0 else axes[walk.parents[k]] @ own)
    return axes


def motion_basis(walk: Unrolled, closing: Closing, choice: Choice) -> tuple[ca.SX, tuple[ca.SX, ...]]:
    """Return E (nv, n): every joint's velocity for a unit rate of each independent freedom; and the pivots."""
    parts = partition(walk, closing, choice)
    E = ca.densify(ca.SX(walk.nv, len(choice.independent)))
    place = {i: k for k, i in enumerate(choice.independent)}
    for d, row in parts.E.items():
        for i, value in row.items():
            E[d, place[i]] = value
    rates = closing.cut_rates(walk)
    rows = iter(jacobian_rows(walk, rates))
    for cut, held in zip(closing.fastenings.cuts, rates, strict=True):
        for component in range(held.n_rows):
            for d, value in next(rows).items():
                for i, entry in parts.E.get(d, {}).items():
                    E[cut.v.start + component, place[i]] += value * entry
    return E, parts.factors.pivots


def self_stresses(
    welded: tuple[Unrolled, Closing, Closing], unwelded: tuple[Unrolled, Closing], choice: Choice, order: Sequence[int]
) -> tuple[ca.SX, tuple[ca.SX, ...]]:
    """Return the joint reactions (6 n_joints, n) that balance by themselves, one column for each row not kept.

    A unit multiplier of a row that is not kept, and those of the kept ones that undo it on the tree:
    C^T y = 0, by the same factors as the partition. `welded` holds the walk, the closures with the kept rows and with
    all of them; `unwelded` the walk on which joint forces are found, and all closures on it.
    """
    walk, kept, whole = welded
    parts = partition(walk, kept, choice)
    held = whole.hold(walk)
    rows = jacobian_rows(walk, held)
    kept_rows = whole.fastenings.places(kept.keep)
    dependent = {column for _, column in choice.pivots}
    stresses = []
    for r in sorted(set(range(len(rows))) - set(kept_rows)):
        right = {d: -value for d, value in rows[r].items() if d in dependent}
        values = [ca.SX(0)] * len(rows)
        values[r] = ca.SX(1)
        for k, value in parts.factors.solve_transposed(right).items():
            values[kept_rows[k]] = value
        stresses.append(static_reactions(*unwelded, by_closure(values, held), order))
    return ca.densify(ca.SX(ca.horzcat(*stresses))), parts.factors.pivots


def static_reactions(walk: Unrolled, closing: Closing, multipliers: Sequence[ca.SX], order: Sequence[int]) -> ca.SX:
    """Return the reactions (6 n_joints) of the closures' forces alone: no mass, no motion, no effort."""
    still = walk.with_nodes([node.idle() for node in walk.nodes])
    held = closing.hold(still)
    none = ca.SX.zeros(walk.nv)
    bare = Unrolled(
        pushed(still, held, multipliers).nodes, walk.parents, walk.v_slices, walk.nv, ca.SX.zeros(3), walk.positions
    )
    return _in_order(composite.reactions(bare), cut_reactions(still, closing, held, none, multipliers), order)


def closure_gap(walk: Unrolled, closing: Closing, length: float) -> tuple[ca.SX, ca.SX]:
    """Return the squares of how far positions and velocities miss the closures, rotations and lengths / `length`."""
    gap, slip = ca.SX(0), ca.SX(0)
    for cut in closing.fastenings.cuts:
        stations = closing.stations(walk, cut)
        parent, child = stations[0].side, stations[1].side
        x = cut.joint.configuration(closing.q[cut.q, :])
        shift = cut.joint.shift(x)
        turned = parent.R @ shift.rotation() - child.R
        missed = (parent.p + parent.R @ shift.position() - child.p) / length
        gap = gap + ca.sumsqr(turned[:, 0:2]) + ca.sumsqr(missed)
        V = cut_opening(walk, closing, cut)
        slip = slip + ca.sumsqr(V[0:3]) + ca.sumsqr(V[3:6] / length)
    for fastening, held in zip(closing.fastenings.all, closing.hold(walk), strict=True):
        if fastening.cut is None and fastening.driven is None:
            gap = gap + ca.sumsqr(held.phi / length)
            slip = slip + ca.sumsqr(held.rate / length)
    return gap, slip


def cut_opening(walk: Unrolled, closing: Closing, cut: CutJoint) -> ca.SX:
    """Return the motion of a cut joint's child side in its parent side (6), less what its own velocities give."""
    stations = closing.stations(walk, cut)
    rows = relative_motion(tuple(s.side for s in stations))
    x = cut.joint.configuration(closing.q[cut.q, :])
    total = -(cut.joint.joint_map(x) @ closing.v[cut.v, :]) if cut.joint.nv else ca.SX.zeros(6)
    for D, station in zip(rows.D, stations, strict=True):
        total = total + D @ stack(station.side.w, station.side.u)
    return ca.SX(total)


def full_rows(walk: Unrolled, closing: Closing) -> tuple[list[dict[int, ca.SX]], ca.SX]:
    """Return the closures' rows on the velocities of all joints, and their drift.

    A cut joint has six rows here: the motion of its child side in its parent side, less what its own velocities give;
    then come the rows of the described closures. Nothing depends on where a loop is cut.
    """
    rows: list[dict[int, ca.SX]] = []
    drift: list[ca.SX] = []
    for cut in closing.fastenings.cuts:
        stations = closing.stations(walk, cut)
        motion = relative_motion(tuple(s.side for s in stations))
        H = cut.joint.joint_map(cut.joint.configuration(closing.q[cut.q, :]))
        six = ca.SX.zeros(6)
        held = Held(six, six, six, _pulls(cut.grips, cut.base, stations, motion.D), ())
        for i, row in enumerate(jacobian_rows(walk, [held])):
            own = {cut.v.start + j: -H[i, j] for j in range(cut.joint.nv) if not H[i, j].is_zero()}
            rows.append({**row, **own})
        drift.append(six)
    for fastening, side_rows in zip(closing.fastenings.all, closing.side_rows(walk), strict=True):
        if fastening.cut is not None or fastening.driven is not None:
            continue
        stations = closing.stations(walk, fastening)
        n = fastening.closure.n_rows
        none = ca.SX.zeros(n)
        held = Held(none, none, none, _pulls(fastening.grips, fastening.base, stations, side_rows.D), ())
        for i, row in enumerate(jacobian_rows(walk, [held])):
            for k, c in enumerate(fastening.coordinates):
                row[c.v] = row.get(c.v, ca.SX(0)) + side_rows.K[i, k]
            rows.append(row)
        drift.append(side_rows.drift)
    return rows, ca.SX(ca.vertcat(*drift))


def full_seconds(walk: Unrolled, closing: Closing) -> ca.SX:
    """Return the second derivatives of the rows of `full_rows` for the nodes' accelerations and those of `closing`."""
    parts: list[ca.SX] = []
    for cut in closing.fastenings.cuts:
        stations = closing.stations(walk, cut)
        motion = relative_motion(tuple(s.side for s in stations))
        x, v = cut.joint.configuration(closing.q[cut.q, :]), closing.v[cut.v, :]
        total = motion.bias - cut.joint.joint_bias(x, v)
        for D, station in zip(motion.D, stations, strict=True):
            total = total + D @ station.acceleration
        if cut.joint.nv:
            total = total - cut.joint.joint_map(x) @ closing.a[cut.v, :]
        parts.append(total)
    for fastening, rows in zip(closing.fastenings.all, closing.side_rows(walk), strict=True):
        if fastening.cut is not None or fastening.driven is not None:
            continue
        total = rows.bias
        for D, station in zip(rows.D, closing.stations(walk, fastening), strict=True):
            total = total + D @ station.acceleration
        for k, c in enumerate(fastening.coordinates):
            total = total + rows.K[:, k] * closing.a[c.v]
        parts.append(total)
    return ca.SX(ca.vertcat(*parts))


def _pulls(grips: Sequence[Grip], base: int, stations: Sequence[Station], D: Sequence[ca.SX]) -> tuple[Pull, ...]:
    return tuple(
        Pull(grip.node, base, columns(grip, station, d))
        for grip, station, d in zip(grips, stations, D, strict=True)
        if grip.node >= 0
    )
