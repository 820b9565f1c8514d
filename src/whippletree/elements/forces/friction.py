"""Friction in a joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, on_coordinate
from whippletree.spatial.scalars import Scalar

__all__ = ["Friction"]


@dataclass(frozen=True, eq=False)
class Friction(Force):
    """Acts against the rate v of a joint coordinate with the effort -coulomb tanh(v / speed) - viscous v.

    >>> Friction(1.0, 0.1, 0.01).entries()
    (1.0, 0.1, 0.01)
    """

    word: ClassVar[str] = "friction"
    n_coordinates: ClassVar[int] = 1

    coulomb: Scalar = quantity(0.0, sign="not negative")
    viscous: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, sign="positive")

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort, all of whose power is dissipated."""
        against = self.coulomb * ca.tanh(seen.v / self.speed) + self.viscous * seen.v
        return on_coordinate(-against, dissipated=against * seen.v)
