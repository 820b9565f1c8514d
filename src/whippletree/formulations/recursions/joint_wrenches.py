"""From the force across a node's joint to the reaction on the described child, at its joint point."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from whippletree.elements.joints import Reversed
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.sweeps import StepRecord, Walk
from whippletree.spatial import Rotation

__all__ = ["joint_wrench", "joint_wrenches"]


class JointWrench(NamedTuple):
    """Kept per node: [moment; force] on the described child, at the joint point on it, in ground axes."""

    wrench: ca.SX


def joint_wrenches(walk: Walk, place: StepRecord, force: StepRecord) -> ca.SX:
    """Return every joint's reaction, node after node (n * 6); `place` keeps x and axes, `force` keeps f."""
    return walk.stacked(walk.outward(joint_wrench, (), place, force), "wrench", 6)


def joint_wrench(node: Node, _: tuple[()], place: StepRecord, force: StepRecord) -> tuple[tuple[()], JointWrench]:
    """Turn f into ground axes; if the tree walks the joint backward, take the other side's."""
    if not isinstance(node.joint, Reversed):
        return (), JointWrench(Rotation(place.axes).force(force.f))
    # The described child is the tree parent: the opposite wrench, moved to its own joint frame.
    across = node.joint.shift(place.x)
    moved = across.force(-force.f)
    axes = place.axes @ across.rotation().T
    return (), JointWrench(Rotation(axes).force(moved))
