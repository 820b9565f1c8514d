"""The basic functions d1, d2 and s as closures by themselves; ss is `Distance`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.closures.base import DeclaredClosure, Rows, Side
from whippletree.elements.closures.basic import d1, d2, s
from whippletree.elements.declaration import quantity
from whippletree.spatial.orientation import Direction
from whippletree.spatial.scalars import Scalar

__all__ = ["Coincident", "InPlane", "Perpendicular"]

_Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Perpendicular(DeclaredClosure):
    """Keeps an axis of its first side at a right angle to an axis of its second side (d1); axes are unit vectors.

    >>> Perpendicular((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)).labels
    ('moment normal to both axes',)
    """

    word: ClassVar[str] = "perpendicular"
    n_sides: ClassVar[int] = 2

    axis: Direction = quantity(_Z, size=3)
    axis_child: Direction = quantity(_Z, size=3)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the row transmits."""
        return ("moment normal to both axes",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row."""
        return d1(ca.SX(ca.vertcat(*self.axis)), ca.SX(ca.vertcat(*self.axis_child)), sides)


@dataclass(frozen=True, eq=False)
class InPlane(DeclaredClosure):
    """Keeps the origin of its second side in a plane of its first (d2), at an offset along its unit normal.

    >>> InPlane((0.0, 0.0, 1.0), 0.2).labels
    ('force along the normal',)
    """

    word: ClassVar[str] = "in_plane"
    n_sides: ClassVar[int] = 2

    normal: Direction = quantity(_Z, size=3)
    offset: Scalar = quantity(0.0, unit="m")

    @property
    def labels(self) -> tuple[str, ...]:
        """What the row transmits."""
        return ("force along the normal",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; its multiplier is the force on the second side along the normal."""
        through_origin = d2(ca.SX(ca.vertcat(*self.normal)), sides)
        return through_origin._replace(phi=through_origin.phi - self.offset)


@dataclass(frozen=True, eq=False)
class Coincident(DeclaredClosure):
    """Keeps the origins of its two sides together (s): a ball joint that is only a closure, without coordinates.

    >>> Coincident().n_rows
    3
    """

    word: ClassVar[str] = "coincident"
    n_sides: ClassVar[int] = 2

    @property
    def labels(self) -> tuple[str, ...]:
        """What the rows transmit."""
        return ("force along x", "force along y", "force along z")

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows; their multipliers are the force on the second side, in the axes of the loop's base."""
        return s(sides)
