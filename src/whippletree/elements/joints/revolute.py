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
    """One angle about the axis.

    >>> Revolute().joint_map(ca.SX([1, 0]))[2]
    SX(1)
    """

    kind: ClassVar[str] = "revolute"
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
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
