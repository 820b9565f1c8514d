"""Planar joint: two displacements in a plane and a turn about its normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.base import Joint
from whippletree.spatial import Shift, Translation, Turn

__all__ = ["Planar"]


@dataclass(frozen=True)
class Planar(Joint):
    """A table: the child moves in the plane normal to `axis`; an angle and two displacements.

    The displacements are along x and y of the joint frame on the parent: for the axis "z" the parent's x and y, for "x"
    its y and z, for "y" its z and x; with a pose, the x and y of the pose.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.planar("table", m.ground, m.body("puck"), axis="z").name
    'table'
    """

    kind: ClassVar[str] = "planar"
    n_configuration: ClassVar[int] = 4
    position_labels: ClassVar[tuple[str, ...]] = ("angle", "displacement along x", "displacement along y")
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity", "velocity along x", "velocity along y")
    holds: ClassVar[tuple[str, ...] | None] = ("about x", "about y", "along z")

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return (cos, sin, x, y)."""
        return ca.vertcat(ca.cos(q[0]), ca.sin(q[0]), q[1], q[2])

    def shift(self, x: ca.SX) -> Shift:
        """Translate in the plane, then turn."""
        return Shift((Translation(ca.vertcat(x[2], x[3], 0)), Turn(x[0], x[1])))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return z, and the parent's x and y as the child sees them.

        The displacements are along axes that the parent holds, so they bring no bias.
        """
        c, s = x[0], x[1]
        return ca.blockcat([[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, c, s], [0, -s, c], [0, 0, 0]])
