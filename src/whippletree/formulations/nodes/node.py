"""Nodes, over which the sweeps walk.

A node has a joint map H, a shift phi from its parent, an inertia M, and velocity-dependent accelerations a and forces
b. The sweeps do not tell kinds of nodes apart. This is the first kind, a body behind a joint; the other, a group of
loops, is in `aggregates`.

Accelerations are [angular acceleration; acceleration of the material point at the node's origin], in node
axes. With them, neither a nor b needs a linear velocity:

    alpha = phi* alpha_parent + H v' + a          f = M alpha + b                                        (1)

A body with own coordinates eta (`elements.bodies.kind`) is several nodes, its *unit*, whose first node, the *home* of
eta, is behind the joint by which the tree reaches the body. The others share eta as if it were their joint's
coordinates: the body itself, which is where the unit's inertia is, and one node for each moving frame. Such a node may
have inertia in the directions of its own rates too,

    f = M alpha + C v' + b,          tau = H^T f + C^T alpha + E v' + e                                  (2)

with the coupling C (6, nv), the own inertia E (nv, nv) and own velocity forces e. The armature of a joint is such an
own inertia, too: E is diagonal and constant, C and e are zero. For all other nodes they are nothing. What nodes that
share a freedom bring to it adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import casadi as ca

from whippletree.elements.bodies.kind import BodyKind, OwnInertia, OwnVelocityForces
from whippletree.elements.joints import Joint
from whippletree.elements.joints.base import SplitJoint
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node_interface import (
    NO_COMBINATIONS,
    AngularState,
    Articulated,
    Carried,
    HingeFactors,
    JointOutcome,
    NodeTerms,
    VelocityTerms,
)
from whippletree.formulations.nodes.operation_stages import record_step
from whippletree.spatial import (
    ArticulatedInertia,
    RigidInertia,
    Rotation,
    Shift,
    Translation,
    centripetal,
    cross,
    stack,
)
from whippletree.spatial.vectors import is_zero
from whippletree.symbolic.arithmetic import minus, plus, product, times

__all__ = ["AngularState", "Node", "NodeLoad"]

T = TypeVar("T")


@dataclass(frozen=True)
class NodeLoad:
    """A wrench [moment; force] in ground axes at a point of the node."""

    point: ca.SX
    wrench: ca.SX


@dataclass(frozen=True)
class Node:
    """A rigid body behind a joint, with its constants and its share of the state.

    The node's frame is the joint frame on the node's side. `rotation` and `point` place the joint frame of
    the other side in the parent node's frame.
    """

    joint: Joint
    rotation: ca.SX
    point: ca.SX
    inertia: RigidInertia
    q: ca.SX
    v: ca.SX
    tau: ca.SX
    acceleration: ca.SX
    prescribed: bool = False
    loads: tuple[NodeLoad, ...] = field(default=())
    push: ca.SX | None = None  # a wrench at the origin, in node axes
    shared: bool = False  # its freedoms are a body's own: they are eliminated at the home of these
    on_frame: bool = False  # it is a moving frame of that body; the body's own node speaks for the freedoms
    body: BodyKind | None = None  # the body with own coordinates whose inertia this node has
    least_inertia: ca.SX | None = None  # hinge inertias (nv) below which nothing but rounding is left
    watched: bool = False  # they may come to that
    new_reference: bool = False  # a reference point in the ground is chosen anew at this joint
    armature: ca.SX | None = None  # inertia (nv) of the joint's own rates, if it has any
    combinations: ca.SX = NO_COMBINATIONS  # B, if xi'' with eta'' = B xi'' is eliminated for own coordinates eta
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """Cached values at a configuration; copies of a node with another motion or other loads share them."""

    def idle(self) -> Node:
        """Return the node at the same place, without mass, motion, effort and loads."""
        n = self.v.shape[0]
        none = ca.SX.zeros(n)
        still = replace(self, v=none, tau=none, acceleration=none, loads=(), push=None)
        return replace(still, inertia=RigidInertia.zero(), body=None, armature=None)

    def configuration(self) -> ca.SX:
        """Return the values that the sweeps need of the joint's coordinates."""
        return self._once("configuration", self.joint.configuration, self.q)

    def shift(self, x: ca.SX) -> Shift:
        """Return phi, the shift from the parent node to this one."""
        return self._once("shift", self._shift, x)

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return H (6, nv)."""
        return self._once("map", self.joint.joint_map, x)

    def joint_bias(self, x: ca.SX) -> ca.SX:
        """Return the acceleration that the joint's velocities alone give (6)."""
        return self._once("bias", self.joint.joint_bias, x, self.v)

    def split(self, x: ca.SX) -> SplitJoint | None:
        """Return the moving frame that this node is, up to its own rotation; nothing for other nodes."""
        return self._once("split", self._split, x, self.v) if self.on_frame else None

    def _split(self, x: ca.SX, v: ca.SX) -> SplitJoint | None:
        found = self.joint.split(x, v, self.combinations)
        if found is None:
            return None
        record_step("pose and map of the interface", found)
        return found._replace(shift=Shift.of(Translation(self.point), Rotation(self.rotation), *found.shift.factors))

    def _shift(self, x: ca.SX) -> Shift:
        return Shift.of(Translation(self.point), Rotation(self.rotation), *self.joint.shift(x).factors)

    def _once(self, name: str, found: Callable[..., T], *given: ca.SX) -> T:
        """Return the cached result of a function for these very symbols; compute it on first use."""
        key = (name, *map(id, given))
        if key not in self.memory:
            self.memory[key] = found(*given), given  # what is given is kept, so that nothing else has its identity
        value: T = self.memory[key][0]
        return value

    def carry(self, x: ca.SX, parent: AngularState, alpha: ca.SX) -> tuple[AngularState, ca.SX]:
        """Return this node's motion, and its acceleration phi* alpha + a at zero joint acceleration."""
        H, shift = self.joint_map(x), self.shift(x)
        relative = product(H, self.v)
        turning = relative[0:3]
        rate, carried = shift.carry(parent.rate, alpha)
        motion = AngularState(plus(rate, turning), product(parent.axes, shift.rotation()))
        if not is_zero(rate) and not is_zero(relative):
            carried = plus(carried, stack(cross(rate, turning), 2 * cross(rate, relative[3:6])))
        return motion, plus(carried, self.joint_bias(x))

    def own_inertia(self) -> OwnInertia | None:
        """Return the inertia in the directions of the node's own rates, if it has any (2)."""
        if self.body is None:
            return None if self.armature is None else OwnInertia.of_rates(self.armature)
        found = self._once("own inertia", self.body.inertia, self.q)
        record_step("inertia of the body", found)
        return found

    def own_velocity_forces(self, rate: ca.SX) -> OwnVelocityForces:
        """Return the velocity forces beside the gyroscopic ones, for a turning rate in node axes."""
        assert self.body is not None
        found = self._once("own velocity forces", self.body.velocity_forces, self.q, self.v, rate)
        record_step("velocity forces of the body", found)
        return found

    def own_effort(self, motion: AngularState, alpha: ca.SX) -> ca.SX:
        """Return C^T alpha + E v' + e, the efforts that the node's own rates need beside H^T f (2); else nothing."""
        own = self.own_inertia()
        if own is None:
            return ca.SX(0, 1)
        if self.body is None:
            return own.own @ self.acceleration
        forces = self.own_velocity_forces(motion.rate)
        return own.coupling.T @ alpha + own.own @ self.acceleration + forces.own

    def bias_force(self, motion: AngularState) -> ca.SX:
        """Return b: the force needed at zero acceleration, gyroscopic and applied loads."""
        b = self.inertia.gyroscopic(centripetal(motion.rate)) - self.load(motion)
        return b if self.body is None else b + self.own_velocity_forces(motion.rate).frame

    def inertial_force(self, motion: AngularState, alpha: ca.SX) -> ca.SX:
        """Return M alpha + C v' + b, grouped so that the first moment is multiplied once."""
        inertia, W = self.inertia, centripetal(motion.rate)
        gyroscopic = inertia.gyroscopic(W)[0:3]
        U = centripetal(motion.rate, alpha[0:3])
        moment = plus(plus(product(inertia.J, alpha[0:3]), cross(inertia.h, alpha[3:6])), gyroscopic)
        f = minus(stack(moment, plus(times(inertia.m, alpha[3:6]), product(U, inertia.h))), self.load(motion))
        own = self.own_inertia()
        if own is None or self.body is None:
            return f
        return f + own.coupling @ self.acceleration + self.own_velocity_forces(motion.rate).frame

    def load(self, motion: AngularState) -> ca.SX:
        """Return the applied wrenches at the node's origin, in node axes."""
        total = ca.SX.zeros(6)
        for load in self.loads:
            local = Rotation(motion.axes.T).force(load.wrench)
            total = total + Translation(load.point).force(local)
        return total if self.push is None else total + self.push

    # ------------------------------------------------------------------ for the articulated-body sweeps

    def locate(self, parent: AngularState) -> tuple[AngularState, VelocityTerms]:
        """Place the node, and find its velocity-dependent acceleration and force."""
        x = self.configuration()
        split = self.split(x)
        if split is not None:
            return self._locate_split(x, split, parent)
        motion, a = self.carry(x, parent, ca.SX.zeros(6))
        own = ca.SX(0, 1) if self.body is None else self.own_velocity_forces(motion.rate).own
        return motion, VelocityTerms(x, a, self.bias_force(motion), motion.axes, own)

    def _locate_split(self, x: ca.SX, split: SplitJoint, parent: AngularState) -> tuple[AngularState, VelocityTerms]:
        """Place a moving frame, in the axes before its own rotation."""
        rate, carried = split.shift.carry(parent.rate, ca.SX.zeros(6))
        turning = split.velocity[0:3]
        if not is_zero(rate):
            carried = plus(carried, stack(cross(rate, turning), 2 * cross(rate, split.velocity[3:6])))
        a = plus(carried, split.joint_bias)
        axes = product(product(parent.axes, split.shift.rotation()), split.turn.R)
        motion = AngularState(product(split.turn.R.T, plus(rate, turning)), axes)
        terms = VelocityTerms(x, split.turn.motion(a), self.bias_force(motion), axes, before_turn=a)
        return motion, terms

    def bias(self, place: VelocityTerms) -> ca.SX:
        """Return a, plus the acceleration of a prescribed joint."""
        return place.a + self.joint_map(place.x) @ self.acceleration if self.prescribed else place.a

    def terms(self, children: Articulated, place: VelocityTerms) -> NodeTerms:
        """Return P, z, P H*, H P H* and T - H z (Jain 7, 13); a prescribed joint has no unknowns.

        Freedoms that the children share come first among the unknowns, or are this node's own if it shares them.
        """
        H = self.joint_map(place.x)
        P = children.P + self.inertia.articulated()
        z = children.z + place.b
        if self.shared:
            return self._shared_terms(children, place, H, P, z)
        if self.prescribed or H.shape[1] == 0:
            least = self.least_pivots(children.D)
            return NodeTerms(P, z, children.U, children.D, children.eps, least=least, combinations=self.combinations)
        U, eps = P.times(H), self.tau - H.T @ z
        D = H.T @ U if self.armature is None else H.T @ U + ca.diag(self.armature)
        armed = self.armature is not None
        if children.eps.numel():
            C = children.U
            D = ca.SX(ca.blockcat([[children.D, C.T @ H], [H.T @ C, D]]))
            U, eps = ca.horzcat(C, U), ca.vertcat(children.eps, eps)
        least = self.least_pivots(D)
        return NodeTerms(P, z, U, D, eps, H, least=least, combinations=self.combinations, armed=armed)

    def least_pivots(self, D: ca.SX) -> ca.SX | None:
        """Return the pivots of D, of own coordinates and then of the joint, below which nothing but rounding is left.

        None if they are larger everywhere.
        """
        if not D.numel() or not self.watched:
            return None
        n_own = D.shape[0] - (0 if self.prescribed else self.joint.nv)
        own = [LEAST_OF_DIAGONAL * D[i, i] for i in range(n_own)]
        joint = ca.SX(0, 1) if self.prescribed or self.least_inertia is None else self.least_inertia
        return ca.SX(ca.vertcat(ca.SX(0, 1), *own, joint))

    def _shared_terms(
        self, children: Articulated, place: VelocityTerms, H: ca.SX, P: ArticulatedInertia, z: ca.SX
    ) -> NodeTerms:
        """Return the terms of freedoms that are eliminated elsewhere, with those of nodes beyond that share them."""
        n = H.shape[1]
        B = self.combinations if self.combinations.numel() else ca.SX.eye(n)
        H = ca.sparsify(H @ B)
        PH, effort = P.times(H), self.tau
        C, D = ca.SX(6, n), H.T @ PH
        own = self.own_inertia()
        if own is not None:
            C, D, effort = C + own.coupling @ B, D + B.T @ own.own @ B, effort - place.own
        eps = B.T @ effort - H.T @ z
        if children.eps.numel():
            C, D, eps = C + children.U, D + children.D, eps + children.eps
        D = D + H.T @ C + C.T @ H
        return NodeTerms(P, z, ca.densify(PH + C), ca.sparsify(D), eps, shared=True)

    def recover(
        self, alpha: ca.SX, y: ca.SX, place: VelocityTerms, hinge: HingeFactors
    ) -> tuple[Carried, JointOutcome]:
        """Return the node's acceleration, that of its joint, the force across the joint, and its effort (13, 18)."""
        H = self.joint_map(place.x)
        if self.shared:
            if self.split(place.x) is None:
                alpha = alpha + H @ self._uncombined(y)
            return self._recover_shared(alpha, y, hinge)
        free = not self.prescribed and H.shape[1] > 0
        n = y.shape[0] - (H.shape[1] if free else 0)  # shared freedoms that are eliminated here
        own = y[:n] if n else ca.SX(0, 1)
        if free:
            alpha = alpha + H @ (y[n:] if n else y)
        f = hinge.P.times(alpha) + hinge.z
        if n:
            f = f + hinge.U @ own
        return Carried(alpha, own), JointOutcome(self._found(y[n:] if n else y), f, self._needed(H, f))

    def _found(self, y: ca.SX) -> ca.SX:
        return self.acceleration if self.prescribed else y

    def _needed(self, H: ca.SX, f: ca.SX) -> ca.SX:
        if not self.prescribed:
            return self.tau
        return H.T @ f if self.armature is None else H.T @ f + self.armature * self.acceleration

    def _recover_shared(self, alpha: ca.SX, y: ca.SX, hinge: HingeFactors) -> tuple[Carried, JointOutcome]:
        """Return the outcome of a node that shares its freedoms, whose accelerations the body's node finds."""
        f = hinge.P.times(alpha) + hinge.z
        none = ca.SX.zeros(y.shape[0])
        if self.on_frame:
            return Carried(alpha, y), JointOutcome(none, f, none)
        return Carried(alpha, y), JointOutcome(self._uncombined(y), f, self.tau)

    def _uncombined(self, y: ca.SX) -> ca.SX:
        """Return the accelerations of own coordinates from those of their combinations."""
        return self.combinations @ y if self.combinations.numel() else y
