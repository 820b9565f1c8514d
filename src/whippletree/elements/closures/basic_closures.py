"""The basic functions d1, d2 and s as closures by themselves; ss is `Distance`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.closures.base import DeclaredClosure, Rows, Side
from whippletree.elements.closures.basic import d1, d2, s
from whippletree.elements.declaration import quantity, unit_axis
from whippletree.spatial.orientation import Direction
from whippletree.spatial.scalars import Scalar

__all__ = ["Coincident", "InPlane", "Perpendicular"]


@dataclass(frozen=True, eq=False)
class Perpendicular(DeclaredClosure):
    """An axis of the parent at a right angle to an axis of the child (d1 of the basic functions).

    Each axis is given in its body's own axes.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.perpendicular("square", m.ground, m.body("plate"), axis="z", axis_child="x").name
    'square'
    """

    word: ClassVar[str] = "perpendicular"
    n_sides: ClassVar[int] = 2
    placed_by: ClassVar[tuple[str, ...]] = ()
    of_bodies: ClassVar[bool] = True

    axis: Direction = unit_axis()
    axis_child: Direction = unit_axis()

    @property
    def labels(self) -> tuple[str, ...]:
        """The force or moment that the row transmits."""
        return ("moment normal to both axes",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row."""
        return d1(ca.SX(ca.vertcat(*self.axis)), ca.SX(ca.vertcat(*self.axis_child)), sides)


@dataclass(frozen=True, eq=False)
class InPlane(DeclaredClosure):
    """A point of the child in a plane of the parent (d2 of the basic functions).

    The plane is normal to `normal`, given in the parent's axes, at an `offset` along it from the point `at`.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.in_plane("table", m.ground, m.body("ball"), offset=0.05).name
    'table'
    """

    word: ClassVar[str] = "in_plane"
    n_sides: ClassVar[int] = 2
    of_bodies: ClassVar[bool] = True

    normal: Direction = unit_axis()
    offset: Scalar = quantity(0.0, unit="m")

    @property
    def labels(self) -> tuple[str, ...]:
        """The force or moment that the row transmits."""
        return ("force along the normal",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; its multiplier is the force on the second side along the normal."""
        through_origin = d2(ca.SX(ca.vertcat(*self.normal)), sides)
        return through_origin._replace(phi=through_origin.phi - self.offset)


@dataclass(frozen=True, eq=False)
class Coincident(DeclaredClosure):
    """Two points together: the rows of a ball joint, without coordinates (s of the basic functions).

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.coincident("pivot", m.ground, m.body("top"), at=(0, 0, 1)).name
    'pivot'
    """

    word: ClassVar[str] = "coincident"
    n_sides: ClassVar[int] = 2
    of_bodies: ClassVar[bool] = True

    @property
    def labels(self) -> tuple[str, ...]:
        """The forces or moments that the rows transmit."""
        return ("force along x", "force along y", "force along z")

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows; their multipliers are the force on the second side, in the axes of the loop's base."""
        return s(sides)
