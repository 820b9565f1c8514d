"""The equations of motion in natural coordinates on a walk: M x'' + Phi_x^T lambda = Q, Phi_x x'' = -gamma.

x and x' follow from the walk's joint coordinates. A body's accelerations are linear in those of its elements,

    r'' = x'' w,          alpha = sum_e a_e x x''_e,          a_e = 1/2 A W_e^T                          (1)

since A'' A^T = skew(alpha) + skew(w)^2, of which the second part is symmetric. The same map takes forces to the
coordinates: a force f at a point and a moment n are Q_e = w_e f + n x a_e. So whatever holds, drives or loads frames of
bodies in joint coordinates does so here, and joint accelerations are those of the bodies they join.

There are no centrifugal forces, and gravity is constant: Q_e = g int w_e dm.

Armature a of a joint is inertia of its rate, v' = J x'' + b: it adds J^T a J to M and -J^T a b to Q, J being the rows
by which joint accelerations follow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures import JointClosure, Rows, Side, joint_rates
from whippletree.elements.joints import Joint, Reversed
from whippletree.errors import StateError
from whippletree.formulations.closures.closure_frames import ClosureAttachment
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.natural.element_opening import Opening
from whippletree.formulations.natural.natural_conditions import NaturalConditions, natural_conditions, unstated
from whippletree.formulations.natural.natural_model import (
    GROUND,
    NaturalBody,
    NaturalElement,
    NaturalJoint,
    NaturalModel,
    make_natural_model,
    turned_efforts,
)
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import kinematics
from whippletree.spatial import cross, skew
from whippletree.symbolic.arithmetic import entries, plus
from whippletree.symbolic.sparse_factors import add_to

__all__ = [
    "ElementRows",
    "NaturalEquations",
    "NaturalMotion",
    "RateRow",
    "add_rates",
    "closing_equations",
    "element_forces",
    "levers",
    "natural_equations",
    "natural_forces",
    "natural_joints",
    "refuse_own_coordinates",
    "walk_model",
]

Row = dict[int, ca.SX]


def natural_joints(
    walk: Unrolled, closure_set: ClosureSet | None, names: Sequence[str] = (), cut: Collection[int] = ()
) -> list[NaturalJoint]:
    """Return all joints, those of the tree first and then the cut ones, with their frames; some may share nothing."""
    eye, found = ca.densify(ca.SX.eye(3)), []
    for k, node in enumerate(walk.nodes):
        near, far = NodeFrame(walk.parents[k], node.rotation, node.point), NodeFrame(k, eye, ca.SX.zeros(3))
        name = names[k] if names else f"joint {k}"
        if isinstance(node.joint, Reversed):
            found.append(NaturalJoint(name, node.joint.joint, (far, near), armature=node.armature))
        else:
            found.append(NaturalJoint(name, node.joint, (near, far), armature=node.armature))
    for one in closure_set.attachments.cuts if closure_set else ():
        found.append(NaturalJoint(one.use.name, one.joint, one.frames))
    return [replace(joint, shares=k not in cut) for k, joint in enumerate(found)]


def refuse_own_coordinates(walk: Unrolled) -> None:
    """Refuse bodies that are not rigid."""
    if any(node.shared or node.body is not None for node in walk.nodes):
        raise StateError("natural coordinates are for rigid bodies: a body here has coordinates of its own")


def walk_model(walk: Unrolled, closure_set: ClosureSet | None = None, opening: Opening | None = None) -> NaturalModel:
    """Return the natural model of the bodies of a walk, its loops opened."""
    refuse_own_coordinates(walk)
    names = [f"body {k}" for k in range(len(walk.nodes))]
    joints = natural_joints(walk, closure_set, cut=opening.cut if opening else ())
    apart = opening.removed if opening else ()
    return make_natural_model(names, [node.inertia for node in walk.nodes], joints, apart=apart)


class NaturalMotion(NamedTuple):
    """Where a walk's bodies and elements are and how they move, in ground axes: axes, origins, twists; x, x'."""

    R: list[ca.SX]
    p: list[ca.SX]
    w: list[ca.SX]
    u: list[ca.SX]
    x: list[ca.SX]
    velocity: list[ca.SX]

    @staticmethod
    def of(walk: Unrolled, model: NaturalModel) -> NaturalMotion:
        """Return the motion of all bodies and elements, each element's with the body that is its home."""
        moving = kinematics.twists(walk)
        R = [kept.R for kept in moving.records]
        p = [kept.p for kept in moving.records]
        w = [kept.R @ kept.V[0:3] for kept in moving.records]
        u = [kept.R @ kept.V[3:6] for kept in moving.records]

        def place(one: NaturalElement) -> tuple[ca.SX, ca.SX]:
            k = model.home(one)
            if k == GROUND:
                return one.places[GROUND], ca.SX.zeros(3)
            arm = R[k] @ one.places[k]
            turning = cross(w[k], arm)
            return (p[k] + arm, u[k] + turning) if one.is_point else (arm, turning)

        both = [place(one) for one in model.elements]
        return NaturalMotion(R, p, w, u, [x for x, _ in both], [v for _, v in both])

    def side(self, frame: NodeFrame) -> Side:
        """Return a frame with its motion."""
        k = frame.node
        if k == GROUND:
            return Side(frame.rotation, frame.point, ca.SX.zeros(3), ca.SX.zeros(3))
        arm = self.R[k] @ frame.point
        return Side(self.R[k] @ frame.rotation, self.p[k] + arm, self.w[k], self.u[k] + cross(self.w[k], arm))


class ElementRows(NamedTuple):
    """Rows on the elements' accelerations: (m, 3) by element, and the bias (m), independent of accelerations."""

    on: dict[int, ca.SX]
    bias: ca.SX


class RateRow(NamedTuple):
    """The acceleration of a joint with armature: a row on the unknowns, its bias, and its inertia."""

    row: Row
    bias: ca.SX
    inertia: ca.SX


def add_rates(mass: dict[tuple[int, int], ca.SX], right: Row, rates: Sequence[RateRow]) -> None:
    """Add the inertias of joints' own rates to M, of which one half is kept, and the forces of their biases to Q."""
    for one in rates:
        for i, x in one.row.items():
            heavy = one.inertia * x
            right[i] = right[i] - heavy * one.bias
            for j, y in one.row.items():
                if j <= i:
                    add_to(mass, (i, j), heavy * y)


@dataclass(frozen=True)
class NaturalEquations:
    """M, Q, and the conditions as rows with gamma, by place in x; `joints` give joint accelerations from x''.

    `armed` are rates that have inertia of their own, as far as M is without it.
    """

    model: NaturalModel
    mass: dict[tuple[int, int], ca.SX]
    right: Row
    rows: list[Row]
    gamma: list[ca.SX]
    joints: list[tuple[slice, ElementRows]]
    nv: int
    armed: Sequence[RateRow] = ()

    def joint_accelerations(self, x: Row) -> ca.SX:
        """Return the accelerations (nv) of the tree's joints, zero at cut ones."""
        where = self.model.places()
        a = ca.densify(ca.SX(self.nv, 1))
        for place, rows in self.joints:
            total = rows.bias
            for e, block in rows.on.items():
                if e in where:
                    at = where[e].start
                    total = total + block @ ca.vertcat(*(x.get(at + i, ca.SX(0)) for i in range(3)))
            a[place] = total
        return a


def natural_forces(walk: Unrolled, model: NaturalModel) -> ca.SX:
    """Return Q (n) on a walk, whose nodes have their loads and efforts."""
    made = _Assembly(walk, model, NaturalMotion.of(walk, model))
    made.bodies()
    made.tree_joints(None)
    made.turned_joints()
    return ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *(made.right[i] for i in range(model.n_coordinates)))))


def natural_equations(walk: Unrolled, closure_set: ClosureSet | None) -> NaturalEquations:
    """Return the equations on a walk, whose nodes have their loads and efforts."""
    model = walk_model(walk, closure_set)
    motion = NaturalMotion.of(walk, model)
    made = _Assembly(walk, model, motion)
    made.bodies()
    made.described(natural_conditions(model), closure_set.t if closure_set else ca.SX(0))
    made.tree_joints(closure_set)
    if closure_set is not None:
        made.closures(closure_set)
    add_rates(made.mass, made.right, made.armed)
    return NaturalEquations(model, made.mass, made.right, made.rows, made.gamma, made.joints, walk.nv)


def closing_equations(
    walk: Unrolled, closure_set: ClosureSet, model: NaturalModel, motion: NaturalMotion, opening: Opening
) -> NaturalEquations:
    """Return the equations that open chains leave: the conditions that close them, and the forces of other joints.

    Masses and forces of bodies are not in it, and `joints` are those of the tree that are not on the chains.
    """
    made = _Assembly(walk, model, motion, opening)
    made.described(natural_conditions(model, opening=opening), closure_set.t)
    made.tree_joints(closure_set)
    made.closures(closure_set)
    return NaturalEquations(model, {}, made.right, made.rows, made.gamma, made.joints, walk.nv, made.armed)


def levers(body: NaturalBody, R: ca.SX) -> list[ca.SX]:
    """Return a_e of a body's elements (1)."""
    return [0.5 * R @ body.W[i, 0:3].T for i in range(4)]


def element_forces(model: NaturalModel, k: int, node: Node, motion: AngularState, gravity: ca.SX) -> dict[int, ca.SX]:
    """Return Q of one body by element: weight and loads, for its axes and turning rate."""
    body, R = model.bodies[k], motion.axes
    load = node.load(motion)
    moment, force, w = R @ load[0:3], R @ load[3:6], body.weights(ca.SX.zeros(3))
    carried = body.M @ ca.SX([1.0 if model.elements[e].is_point else 0.0 for e in body.basis])
    return {
        e: w[i] * force + cross(moment, a) + carried[i] * gravity
        for i, (e, a) in enumerate(zip(body.basis, levers(body, R), strict=True))
    }


class _Assembly:
    """The equations in the making."""

    def __init__(
        self, walk: Unrolled, model: NaturalModel, motion: NaturalMotion, opening: Opening | None = None
    ) -> None:
        self.walk, self.model, self.motion = walk, model, motion
        self.held: Collection[int] = opening.held if opening else ()
        self.where = model.places()
        self.mass: dict[tuple[int, int], ca.SX] = {}
        self.right: Row = {i: ca.SX(0) for i in range(model.n_coordinates)}
        self.rows: list[Row] = []
        self.gamma: list[ca.SX] = []
        self.joints: list[tuple[slice, ElementRows]] = []
        self.rates: dict[str, ElementRows] = {}
        self.armed: list[RateRow] = []

    def bodies(self) -> None:
        """Add the bodies' masses, weights and loads."""
        model, walk, R = self.model, self.walk, self.motion.R
        for k, (body, node) in enumerate(zip(model.bodies, walk.nodes, strict=True)):
            force = element_forces(model, k, node, AngularState(R[k].T @ self.motion.w[k], R[k]), walk.gravity)
            for i, e in enumerate(body.basis):
                self._push(e, force[e])
                for j, f in enumerate(body.basis):
                    if e >= f and not body.M[i, j].is_zero():
                        self._add_mass(e, f, body.M[i, j])

    def _add_mass(self, e: int, f: int, value: ca.SX) -> None:
        if e in self.where and f in self.where:
            a, b = self.where[e].start, self.where[f].start
            for c in range(3):
                add_to(self.mass, (a + c, b + c), value)

    def _push(self, element: int, force: ca.SX) -> None:
        if element in self.where:
            at = self.where[element].start
            for c, part in enumerate(entries(ca.densify(force))):
                self.right[at + c] = plus(self.right[at + c], part)

    def on_elements(self, rows: Rows, frames: Sequence[NodeFrame]) -> ElementRows:
        """Bring rows on the motion of frames to the elements' accelerations (1)."""
        on: dict[int, ca.SX] = {}
        for D, frame in zip(rows.D, frames, strict=True):
            if frame.node == GROUND:
                continue
            body = self.model.bodies[frame.node]
            w = body.weights(frame.point)
            for i, (e, a) in enumerate(zip(body.basis, levers(body, self.motion.R[frame.node]), strict=True)):
                add_to(on, e, D[:, 3:6] * w[i] + D[:, 0:3] @ skew(a))
        return ElementRows(on, rows.bias)

    def described(self, conditions: NaturalConditions, t: ca.SX) -> None:
        """Add the conditions on positions."""
        free = self.model.free
        x = ca.SX(ca.vertcat(ca.SX(0, 1), *(self.motion.x[one.index] for one in free)))
        v = ca.SX(ca.vertcat(ca.SX(0, 1), *(self.motion.velocity[one.index] for one in free)))
        at = conditions.at(x, v, t)
        self.rows += at.rows
        self.gamma += entries(at.bias)

    def hold(self, rows: ElementRows) -> None:
        """Add rows on accelerations as conditions."""
        self.rows += self._by_place(rows)
        self.gamma += entries(ca.densify(rows.bias))

    def _by_place(self, rows: ElementRows) -> list[Row]:
        """Return rows by place in x."""
        blocks = {self.where[e].start: entries(ca.densify(block.T)) for e, block in rows.on.items() if e in self.where}
        found: list[Row] = []
        for r in range(rows.bias.shape[0]):
            row: Row = {}
            for at, block in blocks.items():
                row |= {at + c: x for c, x in enumerate(block[3 * r : 3 * r + 3]) if not x.is_zero()}
            found.append(row)
        return found

    def tree_joints(self, closure_set: ClosureSet | None) -> None:
        """Add the terms of the tree's joints: types that only conditions on accelerations hold, drives, efforts."""
        t = closure_set.t if closure_set else ca.SX(0)
        bare = unstated(self.model)
        for k, (node, where) in enumerate(zip(self.walk.nodes, self.walk.v_slices, strict=True)):
            joint = self.model.joints[k]
            if joint in bare and k not in self.held:
                closure = JointClosure(joint.joint)
                self.hold(self.on_elements(closure.rows(self._sides(joint.frames), node.q, node.v, t), joint.frames))
            if not joint.joint.nv:
                continue
            rate = self._joint_rate(joint.joint, node.q, node.v, joint.frames)
            self.rates[f"node {k}"] = rate
            if k in self.held:
                continue
            self.joints.append((where, rate))
            if node.prescribed:
                self.hold(ElementRows(rate.on, rate.bias - node.acceleration))
            else:
                for e, block in rate.on.items():
                    self._push(e, block.T @ node.tau)
                if node.armature is not None:
                    parts = (self._by_place(rate), entries(ca.densify(rate.bias)), entries(node.armature))
                    self.armed += map(RateRow, *parts)

    def turned_joints(self) -> None:
        """Add the efforts by which armature of balls and free joints is less than its masses in M make of it."""
        for k in self.model.turned:
            effort = turned_efforts(self.model.joints[k].armature, self.walk.nodes[k].v)
            for e, block in self.rates[f"node {k}"].on.items():
                self._push(e, block.T @ effort)

    def closures(self, closure_set: ClosureSet) -> None:
        """Add the closures that are not joints whose elements are shared."""
        for k, cut in enumerate(closure_set.attachments.cuts):
            if cut.joint.nv:
                q, v = closure_set.q[cut.q, :], closure_set.v[cut.v, :]
                self.rates[f"cut {k}"] = self._joint_rate(cut.joint, q, v, cut.frames)
        bare = {joint.name for joint in unstated(self.model)} - {self.model.joints[k].name for k in self.held}
        for attachment in closure_set.attachments.all:
            if attachment.cut is None or attachment.name in bare:
                self._closure(closure_set, attachment)

    def _closure(self, closure_set: ClosureSet, attachment: ClosureAttachment) -> None:
        """Add a closure's rows; those on joint coordinates by way of the joints' rates."""
        q, v, given = closure_set.coordinates(attachment)
        rows = attachment.closure.rows(self._sides(attachment.frames), q, v, closure_set.t)
        found = self.on_elements(rows, attachment.frames)
        on, bias = dict(found.on), found.bias - given
        for i, c in enumerate(attachment.coordinates):
            rate = self.rates[f"cut {c.cut}" if c.node is None else f"node {c.node}"]
            bias = bias + rows.K[:, i] * rate.bias[c.component]
            for e, block in rate.on.items():
                add_to(on, e, rows.K[:, i] @ block[c.component, :])
        self.hold(ElementRows(on, bias))

    def _joint_rate(self, joint: Joint, q: ca.SX, v: ca.SX, frames: Sequence[NodeFrame]) -> ElementRows:
        return self.on_elements(joint_rates(joint, joint.configuration(q), v, self._sides(frames)), frames)

    def _sides(self, frames: Sequence[NodeFrame]) -> tuple[Any, ...]:
        return tuple(self.motion.side(frame) for frame in frames)
