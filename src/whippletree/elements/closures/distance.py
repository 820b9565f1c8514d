"""A massless rod between two points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import casadi as ca

from whippletree.elements.closures.base import DeclaredClosure, Rows, Side
from whippletree.elements.closures.basic import ss
from whippletree.elements.declaration import ElementAround, quantity
from whippletree.spatial.scalars import Scalar

__all__ = ["Distance"]


@dataclass(frozen=True, eq=False)
class Distance(DeclaredClosure):
    """A distance between two points: a massless rod with ball joints at its ends (ss of the basic functions).

    Without a `length`, the rod is as long as the points are apart in the design position, where all coordinates are
    zero; the joints that connect the two bodies are added before.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.distance("tie", m.ground, m.body("ball"), length=1.2, at=(0, 0, 2)).name
    'tie'
    """

    word: ClassVar[str] = "distance"
    n_sides: ClassVar[int] = 2
    of_bodies: ClassVar[bool] = True
    drawn: ClassVar[str] = "rod"

    length: Scalar = quantity(
        unit="m", sign="positive", why="points that coincide are held by a spherical joint", optional=True
    )

    @property
    def noun(self) -> str:
        """The noun for it in messages."""
        return "a distance"

    def fitted(self, around: ElementAround) -> Self:
        """Return the rod with the length that it has in the design position, unless it has one."""
        return self if self.length is not None else replace(self, length=around.distance())

    @property
    def labels(self) -> tuple[str, ...]:
        """The force that the row transmits."""
        return ("force along the rod",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; its multiplier is the rod's force, positive in compression."""
        return ss(self.length, sides)
