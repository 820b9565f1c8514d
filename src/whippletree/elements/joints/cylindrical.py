"""Cylindrical joint: a turn about z and a displacement along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.base import Joint
from whippletree.spatial import Shift, Translation, Turn

__all__ = ["Cylindrical"]


@dataclass(frozen=True)
class Cylindrical(Joint):
    """A sleeve: the child turns about an axis and slides along it; an angle and a displacement.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.cylindrical("sleeve", m.ground, m.body("rod")).name
    'sleeve'
    """

    kind: ClassVar[str] = "cylindrical"
    n_configuration: ClassVar[int] = 3
    position_labels: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity", "velocity")
    holds: ClassVar[tuple[str, ...] | None] = ("about x", "about y", "along x", "along y")

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return (cos, sin, displacement)."""
        return ca.vertcat(ca.cos(q[0]), ca.sin(q[0]), q[1])

    def shift(self, x: ca.SX) -> Shift:
        """Translate along z, then turn about it."""
        return Shift((Translation(ca.vertcat(0, 0, x[2])), Turn(x[0], x[1])))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the two columns along z."""
        return ca.SX([[0, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 1]])
