"""Nodes: what the sweeps walk over.

A node offers its joint map H, its shift phi from the parent, its inertia M, and its velocity-dependent
accelerations a and forces b. The sweeps do not tell kinds of nodes apart. This is the first kind, a rigid body
behind a joint; the other, a group of loops, is in `aggregate`.

Accelerations are [angular acceleration; acceleration of the material point at the node's origin], in node
axes. With them, neither a nor b needs a linear velocity:

    alpha = phi* alpha_parent + H v' + a          f = M alpha + b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import casadi as ca

from whippletree.elements.joints import Joint
from whippletree.formulations.nodes.node_interface import (
    AngularState,
    Articulated,
    HingeFactors,
    JointOutcome,
    NodeTerms,
    VelocityTerms,
)
from whippletree.spatial import RigidInertia, Rotation, Shift, Translation, centripetal, cross, stack

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
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was found at a configuration; copies of a node that move or are loaded otherwise share it."""

    def idle(self) -> Node:
        """Return the node at the same place, without mass, motion, effort and loads."""
        n = self.v.shape[0]
        none = ca.SX.zeros(n)
        return replace(self, inertia=RigidInertia.zero(), v=none, tau=none, acceleration=none, loads=(), push=None)

    def configuration(self) -> ca.SX:
        """Return what the sweeps need of the joint's coordinates."""
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

    def _shift(self, x: ca.SX) -> Shift:
        return Shift.of(Translation(self.point), Rotation(self.rotation), *self.joint.shift(x).factors)

    def _once(self, name: str, found: Callable[..., T], *given: ca.SX) -> T:
        """Return what a function finds for these very symbols, which it is asked for only once."""
        key = (name, *map(id, given))
        if key not in self.memory:
            self.memory[key] = found(*given), given  # what is given is kept, so that nothing else has its identity
        value: T = self.memory[key][0]
        return value

    def carry(self, x: ca.SX, parent: AngularState, alpha: ca.SX) -> tuple[AngularState, ca.SX]:
        """Return this node's motion, and its acceleration phi* alpha + a at zero joint acceleration."""
        H, shift = self.joint_map(x), self.shift(x)
        relative = H @ self.v
        rate, carried = shift.carry(parent.rate, alpha)
        coriolis = stack(cross(rate, relative[0:3]), 2 * cross(rate, relative[3:6]))
        motion = AngularState(rate + relative[0:3], parent.axes @ shift.rotation())
        return motion, carried + coriolis + self.joint_bias(x)

    def bias_force(self, motion: AngularState) -> ca.SX:
        """Return b: the force needed at zero acceleration, gyroscopic and applied loads."""
        return self.inertia.gyroscopic(centripetal(motion.rate)) - self.load(motion)

    def inertial_force(self, motion: AngularState, alpha: ca.SX) -> ca.SX:
        """Return M alpha + b, grouped so that the first moment is multiplied once."""
        inertia, W = self.inertia, centripetal(motion.rate)
        gyroscopic = inertia.gyroscopic(W)[0:3]
        U = centripetal(motion.rate, alpha[0:3])
        moment = inertia.J @ alpha[0:3] + cross(inertia.h, alpha[3:6]) + gyroscopic
        return stack(moment, inertia.m * alpha[3:6] + U @ inertia.h) - self.load(motion)

    def load(self, motion: AngularState) -> ca.SX:
        """Return the applied wrenches at the node's origin, in node axes."""
        total = ca.SX.zeros(6)
        for load in self.loads:
            local = Rotation(motion.axes.T).force(load.wrench)
            total = total + Translation(load.point).force(local)
        return total if self.push is None else total + self.push

    # ------------------------------------------------------------------ what the articulated-body sweeps ask for

    def locate(self, parent: AngularState) -> tuple[AngularState, VelocityTerms]:
        """Place the node, and find its velocity-dependent acceleration and force."""
        x = self.configuration()
        motion, a = self.carry(x, parent, ca.SX.zeros(6))
        return motion, VelocityTerms(x, a, self.bias_force(motion), motion.axes)

    def offset(self, place: VelocityTerms) -> ca.SX:
        """Return a, and what a prescribed joint adds."""
        return place.a + self.joint_map(place.x) @ self.acceleration if self.prescribed else place.a

    def offer(self, children: Articulated, place: VelocityTerms) -> NodeTerms:
        """Return P, z, P H*, H P H* and T - H z (Jain 7, 13); a prescribed joint has no unknowns."""
        H = self.joint_map(place.x)
        P = children.P + self.inertia.articulated()
        z = children.z + place.b
        if self.prescribed or H.shape[1] == 0:
            return NodeTerms(P, z, ca.SX(6, 0), ca.SX(0, 0), ca.SX(0, 1))
        U = P.times(H)
        return NodeTerms(P, z, U, H.T @ U, self.tau - H.T @ z, H)

    def spread(
        self, alpha: ca.SX, y: ca.SX, place: VelocityTerms, hinge: HingeFactors
    ) -> tuple[tuple[ca.SX], JointOutcome]:
        """Return the node's acceleration, that of its joint, the force across the joint, and its effort (13, 18)."""
        H = self.joint_map(place.x)
        free = not self.prescribed
        if free:
            alpha = alpha + H @ y
        f = hinge.P.times(alpha) + hinge.z
        return (alpha,), JointOutcome(y if free else self.acceleration, f, self.tau if free else H.T @ f)
