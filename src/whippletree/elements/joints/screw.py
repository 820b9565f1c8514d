"""Screw joint: a turn about z that advances along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.joints.base import Joint
from whippletree.spatial import Shift, Translation, Turn

__all__ = ["Screw"]


@dataclass(frozen=True)
class Screw(Joint):
    """A thread: the child turns about an axis and advances by `lead` metres per turn.

    The coordinate is the angle. A negative lead is a left-handed thread.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.screw("spindle", m.ground, m.body("nut"), lead=0.005).name
    'spindle'
    """

    lead: float | ca.SX = quantity(unit="m", sign="not zero", why="a screw without advance is a revolute joint")

    kind: ClassVar[str] = "screw"
    n_configuration: ClassVar[int] = 3
    position_labels: ClassVar[tuple[str, ...]] = ("angle",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity",)
    holds: ClassVar[tuple[str, ...] | None] = ("about x", "about y", "along x", "along y", "lead")

    @property
    def advance(self) -> float | ca.SX:
        """The advance in metres per radian."""
        return self.lead / (2 * math.pi)

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return (cos, sin, displacement)."""
        return ca.vertcat(ca.cos(q), ca.sin(q), self.advance * q)

    def shift(self, x: ca.SX) -> Shift:
        """Translate along z, then turn about it."""
        return Shift((Translation(ca.vertcat(0, 0, x[2])), Turn(x[0], x[1])))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the screw axis."""
        return ca.SX(ca.vertcat(0, 0, 1, 0, 0, self.advance))
