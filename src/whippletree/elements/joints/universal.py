"""Universal joint: a turn about the parent's axis, then one about the child's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.base import Joint
from whippletree.spatial import Rotation, Shift, Turn

__all__ = ["Universal"]


@dataclass(frozen=True)
class Universal(Joint):
    """A cardan joint: the child turns about an axis of the parent, then about an axis of its own; two angles.

    `axis` is fixed in the parent, "x" unless given; `axis_child` is fixed in the child, "y" unless given, and
    perpendicular to it at zero coordinates, when the bodies are parallel. In a `pose`, x is the first axis and z the
    second, which are those of the joint frame.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.universal("cardan", m.ground, m.body("shaft"), axis="x", axis_child="y").name
    'cardan'
    """

    kind: ClassVar[str] = "universal"
    n_configuration: ClassVar[int] = 4
    position_labels: ClassVar[tuple[str, ...]] = (
        "angle about the parent's axis",
        "angle about the child's axis",
    )
    velocity_labels: ClassVar[tuple[str, ...]] = (
        "angular velocity about the parent's axis",
        "angular velocity about the child's axis",
    )
    n_axes: ClassVar[int] = 2
    holds: ClassVar[tuple[str, ...] | None] = ("point", "cross")

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return both cosines and sines."""
        return ca.vertcat(ca.cos(q[0]), ca.sin(q[0]), ca.cos(q[1]), ca.sin(q[1]))

    def shift(self, x: ca.SX) -> Shift:
        """Turn about x, then about z."""
        c, s = x[0], x[1]
        about_x = ca.blockcat([[1, 0, 0], [0, c, -s], [0, s, c]])
        return Shift((Rotation(about_x), Turn(x[2], x[3])))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the parent's axis as the child sees it, and z."""
        first = ca.vertcat(x[2], -x[3], 0, 0, 0, 0)
        return ca.densify(ca.horzcat(first, ca.SX([0, 0, 1, 0, 0, 0])))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the rate of the first axis in the child times its speed."""
        rate = v[0] * v[1]
        return ca.vertcat(-x[3] * rate, -x[2] * rate, 0, 0, 0, 0)
