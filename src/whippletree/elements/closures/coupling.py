"""A linear relation between joint coordinates: gears, differentials, racks, mimic joints."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.elements.closures.base import DeclaredClosure, Rows, Side
from whippletree.elements.declaration import ANY, quantity
from whippletree.spatial.scalars import Scalar

__all__ = ["Coupling"]


@dataclass(frozen=True, eq=False)
class Coupling(DeclaredClosure):
    """Keeps the sum of ratio times coordinate at `offset`.

    >>> Coupling((2.0, 1.0), 0.5).rows((), ca.SX([1, 0]), ca.SX([0, 0]), ca.SX(0)).phi
    SX(1.5)
    """

    ratios: tuple[Scalar, ...] = quantity(size=ANY)
    offset: Scalar = quantity(0.0)

    @property
    def n_coordinates(self) -> int:  # type: ignore[override]
        """The number of coordinates that are coupled."""
        return len(self.ratios)

    @property
    def labels(self) -> tuple[str, ...]:
        """The effort that the row transmits."""
        return ("effort through the coupling",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the row; the effort on each coordinate is its ratio times the multiplier."""
        ratios = ca.densify(ca.horzcat(*map(ca.SX, self.ratios)))
        return Rows(ratios @ q - self.offset, (), ratios, ca.SX.zeros(1), ca.SX.zeros(1))
