"""A massless rod between two points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import casadi as ca

from whippletree.elements.closures.base import Rows, Side
from whippletree.elements.closures.basic import ss
from whippletree.elements.closures.declared import DeclaredClosure
from whippletree.spatial.scalars import Scalar

__all__ = ["Distance"]


@dataclass(frozen=True, eq=False)
class Distance(DeclaredClosure):
    """Keeps the origins of its two sides at a distance: a massless rod with ball joints at its ends.

    >>> Distance(1.2).labels
    ('force along the rod',)
    """

    length: Scalar

    @property
    def labels(self) -> tuple[str, ...]:
        """What the row transmits."""
        return ("force along the rod",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; its multiplier is the rod's force, positive in compression."""
        return ss(self.length, sides)

    def entries(self) -> tuple[Scalar, ...]:
        """Return the length."""
        return (self.length,)

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the distance of that length."""
        return cls(*entries)
