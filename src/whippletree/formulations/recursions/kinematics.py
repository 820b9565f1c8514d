"""Kinematics: poses, twists, accelerations and Jacobians of frames; centre of mass, momentum and energy.

Symbols: R, p axes and origin of a node in the ground frame; V = [w; u] twist of a node at its origin, in node
axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.sweeps import Kept, Unrolled, Walk
from whippletree.spatial import RigidInertia, Rotation, Translation, centripetal, cross, stack

__all__ = [
    "Pose",
    "energies",
    "frame_acceleration",
    "frame_jacobian",
    "frame_pose",
    "frame_twist",
    "joint_axes",
    "momentum",
    "pose_rows",
    "poses",
    "twist_rates",
    "twists",
    "wrench_efforts",
]


class Pose(NamedTuple):
    """Axes and origin of a node in the ground frame."""

    R: ca.SX
    p: ca.SX

    @staticmethod
    def ground() -> Pose:
        """Return the ground's pose."""
        return Pose(ca.densify(ca.SX.eye(3)), ca.SX.zeros(3))


class Placed(NamedTuple):
    """Kept by the pose sweep."""

    R: ca.SX
    p: ca.SX


class PlacedRows(NamedTuple):
    """Kept where all poses are the result: the rows of [R, p]."""

    rows: ca.SX


class Twist(NamedTuple):
    """Handed outward and kept: pose and twist."""

    pose: Pose
    V: ca.SX


class Moving(NamedTuple):
    """Kept by the twist sweep."""

    R: ca.SX
    p: ca.SX
    V: ca.SX


class Accelerating(NamedTuple):
    """Kept by the acceleration sweep: axes, turning rate, and acceleration of the origin, in node axes."""

    R: ca.SX
    w: ca.SX
    alpha: ca.SX


def poses(walk: Walk) -> Kept[Placed]:
    """Return every node's pose."""
    return walk.outward(place, Pose.ground())


def pose_rows(walk: Walk) -> ca.SX:
    """Return the rows of [R, p], node after node (n * 12)."""
    return walk.stacked(walk.outward(place_in_rows, Pose.ground()), "rows", 12, every=True)


def twists(walk: Walk) -> Kept[Moving]:
    """Return every node's pose and twist."""
    return walk.outward(move, Twist(Pose.ground(), ca.SX.zeros(6)))


def twist_rates(walk: Walk) -> Kept[Accelerating]:
    """Return every node's axes, turning rate and acceleration, without gravity."""
    return walk.outward(accelerate, (AngularState.rest(), ca.SX.zeros(6)))


def energies(walk: Walk) -> tuple[ca.SX, ca.SX]:
    """Return kinetic and potential energy, the latter zero at the ground's origin."""
    moving = twists(walk)
    (kinetic, moment), _ = walk.inward(add_energy, (ca.SX.zeros(1), ca.SX.zeros(3)), moving)
    return kinetic, -ca.dot(walk.gravity, moment)


def momentum(walk: Walk) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return mass, first moment, and momentum [angular about the ground's origin; linear], in ground axes."""
    moving = twists(walk)
    empty = (ca.SX.zeros(1), ca.SX.zeros(3), ca.SX.zeros(6))
    return walk.inward(add_momentum, empty, moving)[0]


def place(node: Node, parent: Pose) -> tuple[Pose, Placed]:
    """Place a node."""
    pose = _advance(node, node.configuration(), parent)
    return pose, Placed(pose.R, pose.p)


def place_in_rows(node: Node, parent: Pose) -> tuple[Pose, PlacedRows]:
    """Place a node, and keep its pose as rows."""
    pose = _advance(node, node.configuration(), parent)
    return pose, PlacedRows(ca.vec(ca.densify(ca.SX(ca.horzcat(pose.R, pose.p))).T))


def move(node: Node, parent: Twist) -> tuple[Twist, Moving]:
    """Place a node and find its twist."""
    x = node.configuration()
    pose = _advance(node, x, parent.pose)
    V = node.shift(x).motion(parent.V) + node.joint_map(x) @ node.v
    return Twist(pose, V), Moving(pose.R, pose.p, V)


def accelerate(node: Node, parent: tuple[AngularState, ca.SX]) -> tuple[tuple[AngularState, ca.SX], Accelerating]:
    """Find a node's acceleration from its parent's and the joint's."""
    x = node.configuration()
    motion, alpha = node.carry(x, parent[0], parent[1])
    alpha = alpha + node.joint_map(x) @ node.acceleration
    return (motion, alpha), Accelerating(motion.axes, motion.rate, alpha)


def add_energy(node: Node, beyond: tuple[ca.SX, ca.SX], kept: Moving) -> tuple[tuple[ca.SX, ca.SX], tuple[()]]:
    """Add a node's kinetic energy and first moment of mass to those beyond it."""
    kinetic = 0.5 * ca.dot(kept.V, node.inertia.times(kept.V))
    own = node.own_inertia()
    if own is not None:
        kinetic = kinetic + ca.dot(node.v, own.coupling.T @ kept.V + 0.5 * (own.own @ node.v))
    return (beyond[0] + kinetic, beyond[1] + _first_moment(node.inertia, kept)), ()


def add_momentum(
    node: Node, beyond: tuple[ca.SX, ca.SX, ca.SX], kept: Moving
) -> tuple[tuple[ca.SX, ca.SX, ca.SX], tuple[()]]:
    """Add a node's mass, first moment and momentum to those beyond it."""
    local, inside = node.inertia.times(kept.V), node.own_inertia()
    if inside is not None:
        local = local + inside.coupling @ node.v
    own = Translation(kept.p).force(Rotation(kept.R).force(local))
    moment = beyond[1] + _first_moment(node.inertia, kept)
    return (beyond[0] + node.inertia.m, moment, beyond[2] + own), ()


def _advance(node: Node, x: ca.SX, parent: Pose) -> Pose:
    """Return a node's pose from its parent's."""
    shift = node.shift(x)
    return Pose(parent.R @ shift.rotation(), parent.p + parent.R @ shift.position())


def _first_moment(inertia: RigidInertia, kept: Moving) -> ca.SX:
    """Return mass times centre of a node, in the ground frame."""
    return inertia.m * kept.p + kept.R @ inertia.h


def frame_pose(kept: Any, rotation: ca.SX, point: ca.SX) -> ca.SX:
    """Return a frame's pose as a 4 x 4 matrix."""
    bottom = ca.SX([[0, 0, 0, 1]])
    return ca.densify(ca.vertcat(ca.horzcat(kept.R @ rotation, kept.p + kept.R @ point), bottom))


def frame_twist(kept: Moving, point: ca.SX) -> ca.SX:
    """Return the twist of a point of a node, in ground axes."""
    w, u = kept.V[0:3], kept.V[3:6]
    return stack(kept.R @ w, kept.R @ (u + cross(w, point)))


def frame_acceleration(kept: Accelerating, point: ca.SX) -> ca.SX:
    """Return the acceleration [angular; linear] of a point of a node, in ground axes."""
    U = centripetal(kept.w, kept.alpha[0:3])
    return stack(kept.R @ kept.alpha[0:3], kept.R @ (kept.alpha[3:6] + U @ point))


class NodeWrench(NamedTuple):
    """Kept by the outward sweep of `wrench_efforts`: configuration, and applied wrenches."""

    x: ca.SX
    f: ca.SX


class WrenchEffort(NamedTuple):
    """Kept by its inward sweep."""

    tau: ca.SX


def wrench_efforts(walk: Walk) -> ca.SX:
    """Return J^T w (nv): the joint efforts that the applied wrenches amount to."""
    loaded = walk.outward(collect_wrenches, AngularState.rest())
    return walk.gather(walk.inward(project_wrenches, (ca.SX.zeros(6),), loaded)[1], "tau")


def collect_wrenches(node: Node, parent: AngularState) -> tuple[AngularState, NodeWrench]:
    """Place a node and find the wrenches on it."""
    x = node.configuration()
    motion, _ = node.carry(x, parent, ca.SX.zeros(6))
    return motion, NodeWrench(x, node.load(motion))


def project_wrenches(node: Node, beyond: tuple[ca.SX], kept: NodeWrench) -> tuple[tuple[ca.SX], WrenchEffort]:
    """Add the wrenches from beyond, project on the joint, pass on to the parent."""
    f = kept.f + beyond[0]
    return (node.shift(kept.x).force(f),), WrenchEffort(node.joint_map(kept.x).T @ f)


class Axes(NamedTuple):
    """Kept by the Jacobian sweep: the joint map in ground axes, and the node's origin."""

    H: ca.SX
    R: ca.SX
    p: ca.SX


def joint_axes(walk: Walk) -> Kept[Axes]:
    """Return every joint's map in ground axes, with the node's pose."""
    return walk.outward(turn_axes, Pose.ground())


def turn_axes(node: Node, parent: Pose) -> tuple[Pose, Axes]:
    """Place a node and turn its joint map into ground axes."""
    x = node.configuration()
    pose = _advance(node, x, parent)
    return pose, Axes(Rotation(pose.R).force(node.joint_map(x)), pose.R, pose.p)


def frame_jacobian(walk: Unrolled, index: int, point: ca.SX) -> ca.SX:
    """Return the Jacobian (6, nv) of a point of node `index`, [angular; linear] in ground axes."""
    axes = joint_axes(walk)
    J = ca.densify(ca.SX(6, walk.nv))
    if index < 0:
        return J
    tip = axes.at(index)
    place = tip.p + tip.R @ point
    for k in walk.tree.path(index):
        record, where = axes.at(k), walk.v_slices[k]
        if record.H.shape[1]:
            column = Translation(place - record.p).motion(record.H)
            J[:, where] = J[:, where] + column if walk.nodes[k].shared else column
    return J
