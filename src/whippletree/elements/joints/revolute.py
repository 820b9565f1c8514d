"""Revolute joint: a turn about z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.base import Joint
from whippletree.spatial import Shift, Turn

__all__ = ["Revolute"]


@dataclass(frozen=True)
class Revolute(Joint):
    """A hinge: the child turns about an axis; the coordinate is the angle.

    `at` is a point and `axis` a direction in the parent's frame, its origin and "z" unless given: "x", "-y", or three
    numbers. `at_child` and `axis_child` are the same in the child's frame, its origin and the same axis unless given.
    Instead, `pose` and `pose_child` place the joint frame, whose z is the axis. `pose` alone is the pose of the child's
    frame in the parent's at zero coordinates. If `prescribed`, the acceleration is given and the driving force comes
    out.

    `armature` is the inertia of the joint's own rate, such as that of a motor's rotor times the square of its gear
    ratio, in kg m^2 or kg: one number, or one for each freedom. Its kinetic energy is a q'^2 / 2, and it does nothing
    else: it has no weight, no momentum, and turns no body.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.revolute("A", m.ground, m.body("crank"), axis="y").name
    'A'
    """

    kind: ClassVar[str] = "revolute"
    n_configuration: ClassVar[int] = 2
    position_labels: ClassVar[tuple[str, ...]] = ("angle",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity",)
    holds: ClassVar[tuple[str, ...] | None] = ("point", "about x", "about y")

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return (cos q, sin q)."""
        return ca.vertcat(ca.cos(q), ca.sin(q))

    def shift(self, x: ca.SX) -> Shift:
        """Turn about z."""
        return Shift((Turn(x[0], x[1]),))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the axis."""
        return ca.SX([0, 0, 1, 0, 0, 0])
