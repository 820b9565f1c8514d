"""Formulation A with loops: open chains in natural coordinates, closed by the omitted bodies (8.3, 8.108-8.114).

Some bodies are left out, so that all others are open chains (`element_opening`). z' are the velocities of the joints on
these chains, and the coordinates of the points and vectors that bodies have which are left out, and no others. Then

    x' = R z',          x'' = R z'' + S                                                           (8.110, 8.111)

element by element as on a tree. Masses and forces of all bodies are in the equations, those that are left out too; the
conditions Phi2 of these bodies, of their joints, and of described closures bring the loops together:

    R^T M R z'' + R^T Phi2^T lambda = R^T (Q - M S),          Phi2 R z'' = -gamma - Phi2 S                 (8.114)

A joint moves what is behind it as its child moves from its parent, with R_b, p_b axes and origin of its frame on the
child, H its map and w_ij, u_ij the relative velocities in ground axes:

    alpha_j = alpha_i + R_b H_w v' + c_w,          c_w = w_i x w_ij + R_b bias_w
    a_j(p_b) = a_i(p_b) + R_b H_u v' + c_u,        c_u = 2 w_i x u_ij + R_b bias_u                              (1)

and with the opposite sign where the chain goes from child to parent. Of a ball or a floating base z'' is the whole
difference, in ground axes: nothing is multiplied, and v' = R_b^T (z'' - c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.natural.element_opening import Opening, OpenJoint, open_loops
from whippletree.formulations.natural.natural_equations import (
    NaturalEquations,
    NaturalMotion,
    RateRow,
    add_rates,
    closing_equations,
    element_forces,
    natural_joints,
    walk_model,
)
from whippletree.formulations.natural.natural_model import GROUND, NaturalModel
from whippletree.formulations.natural.natural_transformation import ElementBlocks, pair_products, weighed_rows
from whippletree.formulations.nodes.node import AngularState
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.ground_axes import by_threes
from whippletree.spatial import cross, mirror, skew
from whippletree.symbolic.sparse_factors import add_to

__all__ = ["OpenedEquations", "chain_opening", "opened_equations", "opened_rows"]

Row = dict[int, ca.SX]


class JointMotion(NamedTuple):
    """How a joint moves its child (1), in ground axes: where, columns (3, n), and terms of velocities."""

    at: ca.SX
    turn: ca.SX
    slide: ca.SX
    c_turn: ca.SX
    c_slide: ca.SX
    axes: ca.SX | None  # of a level joint: R_b


class CarriedField(NamedTuple):
    """Accelerations of a body's points while z'' is zero: a(r) = origin'' + U (r - origin), U of vectors alike."""

    origin: ca.SX
    second: ca.SX
    alpha: ca.SX
    U: ca.SX


@dataclass(frozen=True)
class OpenedEquations:
    """R^T M R and R^T (Q - M S) by place in z, Phi2 R with gamma + Phi2 S, and the way back to joint accelerations.

    `easy` says how easily each condition moves, for weights: its entries on x over the masses there; `usual` is that of
    one entry of one at the mean mass.
    """

    mass: dict[tuple[int, int], ca.SX]
    right: Row
    rows: list[Row]
    gamma: list[ca.SX]
    easy: list[ca.SX]
    usual: ca.SX
    given: Row
    chains: OpenChains
    closing: NaturalEquations
    R: list[ElementBlocks]
    S: list[ca.SX]

    @property
    def size(self) -> int:
        """How many z there are."""
        return self.chains.size

    def joint_accelerations(self, z: Row) -> ca.SX:
        """Return the accelerations (nv) of the tree's joints, zero at cut ones."""
        z = {**z, **self.given}
        model, needed = self.closing.model, {e for _, rows in self.closing.joints for e in rows.on}
        x: Row = {}
        for e, where in model.places().items():
            if e in needed:
                total = self.S[e] + sum(
                    (block @ self.chains.column(group, z) for group, block in self.R[e].items()), ca.SX.zeros(3)
                )
                x |= {where.start + c: total[c] for c in range(3)}
        a = self.closing.joint_accelerations(x)
        for joint in self.chains.opening.joints:
            if joint.joint < len(self.chains.walk.nodes):
                a[self.chains.walk.v_slices[joint.joint]] = self.chains.own_accelerations(joint, z)
        return a


def chain_opening(walk: Unrolled, closure_set: ClosureSet) -> Opening:
    """Return how the loops of a walk are opened."""
    joints = natural_joints(walk, closure_set)
    ends = [(joint.frames[0].node, joint.frames[1].node) for joint in joints]
    return open_loops(len(walk.nodes), ends)


def opened_rows(walk: Unrolled, closure_set: ClosureSet) -> tuple[list[Row], int, int]:
    """Return the rows Phi2 R, the number of z, and the number of unknown ones, from which pivots are chosen."""
    opening = chain_opening(walk, closure_set)
    model = walk_model(walk, closure_set, opening)
    chains = OpenChains(walk, closure_set, model, opening)
    closing = closing_equations(walk, closure_set, model, chains.motion, opening)
    still = [ca.SX.zeros(3)] * len(model.elements)
    rows, _ = chains.on_joints(closing.rows, closing.gamma, chains.velocity_map(), still)
    given = chains.given()
    return [{i: x for i, x in row.items() if i not in given} for row in rows], chains.size, chains.size - len(given)


def opened_equations(walk: Unrolled, closure_set: ClosureSet) -> OpenedEquations:
    """Return the equations of the open chains and the conditions that close them (8.114)."""
    opening = chain_opening(walk, closure_set)
    model = walk_model(walk, closure_set, opening)
    chains = OpenChains(walk, closure_set, model, opening)
    motion = chains.motion
    record_stage("position", [motion.R, motion.p])
    record_stage("velocity", [motion.w, motion.u])
    S = chains.accelerations()
    record_stage("S", S)
    R = chains.velocity_map()
    record_stage("R", R)
    mass = chains.mass(R)
    record_stage("R^T M R", mass)
    closing = closing_equations(walk, closure_set, model, motion, opening)
    right = chains.right(closing, R, S)
    record_stage("R^T (Q - M S)", right)
    rows, gamma = chains.on_joints(closing.rows, closing.gamma, R, S)
    add_rates(mass, right, chains.armed(closing, R, S))
    given = chains.given()
    _take_given(given, mass, right, rows, gamma)
    record_stage("closures", [rows, gamma])
    return OpenedEquations(mass, right, rows, gamma, *_easy(model, closing), given, chains, closing, R, S)


def _take_given(
    given: Row, mass: dict[tuple[int, int], ca.SX], right: Row, rows: Sequence[Row], gamma: list[ca.SX]
) -> None:
    """Take prescribed accelerations out of the unknowns."""
    for (i, j), value in list(mass.items()):
        for a, b in ((i, j), (j, i)):
            if b in given and a not in given:
                right[a] = right[a] - value * given[b]
        if i in given or j in given:
            del mass[i, j]
    for i, value in given.items():
        del right[i]
        for r, row in enumerate(rows):
            if i in row:
                gamma[r] = gamma[r] + row.pop(i) * value


def _easy(model: NaturalModel, closing: NaturalEquations) -> tuple[list[ca.SX], ca.SX]:
    """Return how easily conditions move: the sum of their entries squared over the masses of the elements."""
    total: dict[int, ca.SX] = {}
    for body in model.bodies:
        for i, e in enumerate(body.basis):
            add_to(total, e, body.M[i, i])
    where = {at.start + c: e for e, at in model.places().items() for c in range(3)}
    mean = sum(total.values(), ca.SX(0)) / max(len(total), 1)
    lightness = {e: 1 / ca.fmax(value, _LIGHT * mean) for e, value in total.items()}
    usual = 1 / mean
    easy = [sum((x * x * lightness.get(where[j], usual) for j, x in row.items()), ca.SX(0)) for row in closing.rows]
    return easy, usual


_LIGHT = 0.01
"""The least mass by which weights go, as a share of the mean: massless vectors have none."""


class OpenChains:
    """The open chains at a state: where z has its groups, and the parts of the equations."""

    def __init__(self, walk: Unrolled, closure_set: ClosureSet, model: NaturalModel, opening: Opening) -> None:
        self.walk, self.closure_set, self.model, self.opening = walk, closure_set, model, opening
        self.motion = NaturalMotion.of(walk, model)
        self.joints = {joint.joint: self._joint_motion(joint) for joint in opening.joints}
        self.groups: dict[tuple[str, int], slice] = {}
        self.size = 0
        for joint in opening.joints:
            self._group(("joint", joint.joint), self.joints[joint.joint].turn.shape[1])
        self.homes = [opening.home(one.places) for one in model.elements]
        for one, home in zip(model.elements, self.homes, strict=True):
            if home is None:
                self._group(("element", one.index), 3)

    def _group(self, key: tuple[str, int], size: int) -> None:
        if size:
            self.groups[key] = slice(self.size, self.size + size)
            self.size += size

    def column(self, group: tuple[str, int], z: Row) -> ca.SX:
        """Return the part of z of one group."""
        where = self.groups[group]
        return ca.SX(ca.vertcat(*(z.get(i, ca.SX(0)) for i in range(where.start, where.stop))))

    # ------------------------------------------------------------------ motion

    def _state(self, joint: int) -> tuple[ca.SX, ca.SX, bool]:
        """Return a joint's coordinates and velocities, and whether its accelerations are given."""
        if joint < len(self.walk.nodes):
            node = self.walk.nodes[joint]
            return node.q, node.v, bool(node.prescribed)
        cut = self.closure_set.attachments.cuts[joint - len(self.walk.nodes)]
        return self.closure_set.q[cut.q, :], self.closure_set.v[cut.v, :], bool(cut.use.prescribed)

    def _joint_motion(self, joint: OpenJoint) -> JointMotion:
        """Return how a joint moves its child."""
        described = self.model.joints[joint.joint]
        parent, child = (self.motion.side(frame) for frame in described.frames)
        q, v, given = self._state(joint.joint)
        x = described.joint.configuration(q)
        H, bias = described.joint.joint_map(x), described.joint.joint_bias(x, v)
        turn, slide = child.R @ H[0:3, :], child.R @ H[3:6, :]
        c_turn = cross(parent.w, turn @ v) + child.R @ bias[0:3]
        c_slide = 2 * cross(parent.w, slide @ v) + child.R @ bias[3:6]
        if described.joint.along_child and not given:
            return JointMotion(child.p, H[0:3, :], H[3:6, :], c_turn, c_slide, child.R)
        return JointMotion(child.p, turn, slide, c_turn, c_slide, None)

    def _sign(self, joint: OpenJoint) -> float:
        """Return 1 where the chain goes from the described parent to the child."""
        return 1.0 if self.model.joints[joint.joint].frames[1].node == joint.far else -1.0

    def accelerations(self) -> list[ca.SX]:
        """Return S: the elements' accelerations while z'' is zero."""
        zero = ca.SX.zeros(3)
        fields = {GROUND: CarriedField(zero, zero, zero, ca.SX.zeros(3, 3))}
        for joint in self.opening.joints:
            how, near, sign = self.joints[joint.joint], fields[joint.near], self._sign(joint)
            alpha, second = near.alpha, near.second + near.U @ (how.at - near.origin)
            if how.axes is None:
                alpha, second = alpha + sign * how.c_turn, second + sign * how.c_slide
            turning = skew(self.motion.w[joint.far])
            fields[joint.far] = CarriedField(how.at, second, alpha, turning @ turning + skew(alpha))
        found = []
        for one, home in zip(self.model.elements, self.homes, strict=True):
            if home is None or home == GROUND:
                found.append(zero)
                continue
            body, x = fields[home], self.motion.x[one.index]
            found.append(body.second + body.U @ (x - body.origin) if one.is_point else body.U @ x)
        return found

    def velocity_map(self) -> list[ElementBlocks]:
        """Return R element by element: blocks (3, n) by group of z."""
        return [
            self._columns(one.index, one.is_point, home)
            for one, home in zip(self.model.elements, self.homes, strict=True)
        ]

    def _columns(self, index: int, is_point: bool, home: int | None) -> ElementBlocks:
        if home is None:
            return {("element", index): ca.densify(ca.SX.eye(3))}
        found: ElementBlocks = {}
        x = self.motion.x[index]
        for joint in self.opening.paths[home]:
            how, sign = self.joints[joint.joint], self._sign(joint)
            block = how.slide - skew(x - how.at) @ how.turn if is_point else -(skew(x) @ how.turn)
            block = block if sign > 0 else -block
            if block.numel() and not block.is_zero():
                found["joint", joint.joint] = ca.densify(block)
        return found

    # ------------------------------------------------------------------ equations

    def mass(self, R: Sequence[ElementBlocks]) -> dict[tuple[int, int], ca.SX]:
        """Return the entries of R^T M R, body by body (8.107)."""
        mass: dict[tuple[int, int], ca.SX] = {}
        for body in self.model.bodies:
            rows = [R[e] for e in body.basis]
            pairs = pair_products(rows, weighed_rows(body.M, rows), lambda group: self.groups[group].start)
            for (first, second), product in pairs.items():
                a, b = self.groups[first], self.groups[second]
                whole = mirror(product) if first == second else product
                for i in range(a.start, a.stop):
                    for j in range(b.start, b.stop):
                        value = whole[i - a.start, j - b.start]
                        if i <= j and not value.is_zero():
                            add_to(mass, (j, i), value)
        return mass

    def right(self, closing: NaturalEquations, R: Sequence[ElementBlocks], S: Sequence[ca.SX]) -> Row:
        """Return R^T (Q - M S), with the efforts of joints."""
        force, where = [ca.SX.zeros(3)] * len(self.model.elements), self.model.places()
        for e, at in where.items():
            force[e] = ca.SX(ca.vertcat(*(closing.right[at.start + c] for c in range(3))))
        for k, body in enumerate(self.model.bodies):
            A = self.motion.R[k]
            turning = AngularState(A.T @ self.motion.w[k], A)
            pushed = element_forces(self.model, k, self.walk.nodes[k], turning, self.walk.gravity)
            for i, e in enumerate(body.basis):
                heavy = sum((body.M[i, j] * S[f] for j, f in enumerate(body.basis)), ca.SX.zeros(3))
                force[e] = force[e] + pushed[e] - heavy
        total = self._efforts()
        for e, blocks in enumerate(R):
            for group, block in blocks.items():
                on = block.T @ force[e]
                for i in range(on.shape[0]):
                    total[self.groups[group].start + i] += on[i]
        return total

    def _efforts(self) -> Row:
        """Return the efforts of the joints on the chains, by place in z."""
        total = {i: ca.SX(0) for i in range(self.size)}
        for joint in self.opening.joints:
            if joint.joint >= len(self.walk.nodes) or self.walk.nodes[joint.joint].prescribed:
                continue
            how, tau = self.joints[joint.joint], self.walk.nodes[joint.joint].tau
            tau = tau if how.axes is None else by_threes(how.axes, tau)
            for i in range(tau.shape[0]):
                total[self.groups["joint", joint.joint].start + i] += tau[i]
        return total

    def on_joints(
        self, on_elements: Sequence[Row], biases: Sequence[ca.SX], R: Sequence[ElementBlocks], S: Sequence[ca.SX]
    ) -> tuple[list[Row], list[ca.SX]]:
        """Return rows Phi2 on elements as Phi2 R, and gamma + Phi2 S."""
        place = {at.start + c: (e, c) for e, at in self.model.places().items() for c in range(3)}
        rows, gamma = [], []
        for row, second in zip(on_elements, biases, strict=True):
            bias, found = second, Row()
            for e, part in self._by_element(row, place).items():
                bias = bias + ca.dot(part, S[e])
                for group, block in R[e].items():
                    product = block.T @ part
                    for i in range(product.shape[0]):
                        if not product[i].is_zero():
                            add_to(found, self.groups[group].start + i, product[i])
            rows.append(found)
            gamma.append(bias)
        return rows, gamma

    def armed(self, closing: NaturalEquations, R: Sequence[ElementBlocks], S: Sequence[ca.SX]) -> list[RateRow]:
        """Return the rates of joints with armature, as rows on z''."""
        over = closing.armed
        rows, biases = self.on_joints([one.row for one in over], [one.bias for one in over], R, S)
        found = [RateRow(row, bias, one.inertia) for row, bias, one in zip(rows, biases, over, strict=True)]
        for joint in self.opening.joints:
            node = self.walk.nodes[joint.joint] if joint.joint < len(self.walk.nodes) else None
            if node is None or node.armature is None or node.prescribed:
                continue
            where, how, n = self.groups["joint", joint.joint], self.joints[joint.joint], node.armature.shape[0]
            bias = self._in_own_axes(how, ca.SX.zeros(n))
            axes = ca.SX.eye(n) if how.axes is None else by_threes(how.axes.T, ca.densify(ca.SX.eye(n)))
            for i in range(n):
                row = {where.start + j: axes[i, j] for j in range(n) if not axes[i, j].is_zero()}
                found.append(RateRow(row, bias[i], node.armature[i]))
        return found

    def given(self) -> Row:
        """Return the accelerations that are prescribed on the chains, by place in z."""
        found: Row = {}
        for joint in self.opening.joints:
            if joint.joint < len(self.walk.nodes) and self.walk.nodes[joint.joint].prescribed:
                value, at = self.walk.nodes[joint.joint].acceleration, self.groups.get(("joint", joint.joint))
                if at is not None:
                    found |= {at.start + i: value[i] for i in range(value.shape[0])}
        return found

    @staticmethod
    def _by_element(row: Mapping[int, ca.SX], place: Mapping[int, tuple[int, int]]) -> dict[int, ca.SX]:
        on: dict[int, ca.SX] = {}
        for j, value in row.items():
            e, c = place[j]
            part = on.setdefault(e, ca.SX(3, 1))
            part[c] = value
        return on

    def own_accelerations(self, joint: OpenJoint, z: Row) -> ca.SX:
        """Return the accelerations of a joint on the chains, in its own axes."""
        how = self.joints[joint.joint]
        if ("joint", joint.joint) not in self.groups:
            return ca.SX(0, 1)
        return self._in_own_axes(how, self.column(("joint", joint.joint), z))

    @staticmethod
    def _in_own_axes(how: JointMotion, found: ca.SX) -> ca.SX:
        """Return a joint's v' for its part of z''."""
        if how.axes is None:
            return found
        c = how.c_turn if found.shape[0] == 3 else ca.vertcat(how.c_turn, how.c_slide)
        return by_threes(how.axes.T, found - c)
