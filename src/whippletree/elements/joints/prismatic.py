"""Prismatic joint: a displacement along z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.base import Joint
from whippletree.spatial import Shift, Translation

__all__ = ["Prismatic"]


@dataclass(frozen=True)
class Prismatic(Joint):
    """A slide: the child moves along an axis; the coordinate is the displacement.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.prismatic("slide", m.ground, m.body("piston"), axis="x").name
    'slide'
    """

    kind: ClassVar[str] = "prismatic"
    n_configuration: ClassVar[int] = 1
    position_labels: ClassVar[tuple[str, ...]] = ("displacement",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("velocity",)
    holds: ClassVar[tuple[str, ...] | None] = ("about x", "about y", "about z", "along x", "along y")

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the displacement."""
        return q

    def shift(self, x: ca.SX) -> Shift:
        """Translate along z."""
        return Shift((Translation(ca.vertcat(0, 0, x[0])),))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the axis."""
        return ca.SX([0, 0, 0, 0, 0, 1])
