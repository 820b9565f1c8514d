"""A linear relation between joint coordinates: gears, differentials, racks, mimic joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import casadi as ca

from whippletree.elements.closures.base import Rows, Side
from whippletree.elements.closures.declared import DeclaredClosure
from whippletree.spatial.scalars import Scalar

__all__ = ["Coupling"]


@dataclass(frozen=True, eq=False)
class Coupling(DeclaredClosure):
    """Keeps the sum of ratio times coordinate at `offset`.

    >>> Coupling((2.0, 1.0), 0.5).rows((), ca.SX([1, 0]), ca.SX([0, 0]), ca.SX(0)).phi
    SX(1.5)
    """

    ratios: tuple[Scalar, ...]
    offset: Scalar

    @property
    def labels(self) -> tuple[str, ...]:
        """What the row transmits."""
        return ("effort through the coupling",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; the effort on each coordinate is its ratio times the multiplier."""
        ratios = ca.densify(ca.horzcat(*map(ca.SX, self.ratios)))
        return Rows(ratios @ q - self.offset, (), ratios, ca.SX.zeros(1), ca.SX.zeros(1))

    def entries(self) -> tuple[Scalar, ...]:
        """Return the ratios and the offset."""
        return (*self.ratios, self.offset)

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the coupling with these ratios and, last, its offset."""
        return cls(entries[:-1], entries[-1])
