"""A spring with a damper between two points, both linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, pure_force, stretch
from whippletree.spatial.scalars import Scalar

__all__ = ["Spring"]


@dataclass(frozen=True, eq=False)
class Spring(Force):
    """Pulls the origins of its two sides together with stiffness x + damping x', x being the elongation.

    Where the points coincide, the force has no direction and is none: see `stretch`.

    >>> Spring(100.0, 0.5, 2.0).entries()
    (100.0, 0.5, 2.0)
    """

    word: ClassVar[str] = "spring"
    n_sides: ClassVar[int] = 2

    stiffness: Scalar = quantity(0.0, unit="N/m", sign="not negative")
    free_length: Scalar = quantity(0.0, unit="m", sign="not negative")
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")

    def act(self, seen: ElementState) -> ElementForces:
        """Return the pair of forces; the spring's energy is stored, the damper's power dissipated."""
        x, rate, n = stretch(seen.sides, ca.SX(self.free_length))
        pull = pure_force((self.stiffness * x + self.damping * rate) * n)
        stored, dissipated = self.stiffness * x**2 / 2, self.damping * rate**2
        return ElementForces((pull, -pull), ca.SX(0, 1), ca.SX(stored), ca.SX(dissipated), ca.SX(0))
