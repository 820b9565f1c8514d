"""A massless rod between two points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.closures.base import DeclaredClosure, Rows, Side
from whippletree.elements.closures.basic import ss
from whippletree.elements.declaration import quantity
from whippletree.spatial.scalars import Scalar

__all__ = ["Distance"]


@dataclass(frozen=True, eq=False)
class Distance(DeclaredClosure):
    """Keeps the origins of its two sides at a distance: a massless rod with ball joints at its ends.

    >>> Distance(1.2).labels
    ('force along the rod',)
    """

    word: ClassVar[str] = "distance"
    n_sides: ClassVar[int] = 2

    length: Scalar = quantity(unit="m", sign="positive", why="points that coincide are held by a spherical joint")

    @property
    def labels(self) -> tuple[str, ...]:
        """What the row transmits."""
        return ("force along the rod",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; its multiplier is the rod's force, positive in compression."""
        return ss(self.length, sides)
