"""A spring with a damper on a joint coordinate, both linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whippletree.elements.declaration import quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, on_coordinate
from whippletree.spatial.scalars import Scalar

__all__ = ["TorsionSpring"]


@dataclass(frozen=True, eq=False)
class TorsionSpring(Force):
    """Acts on a joint coordinate q with the effort -stiffness (q - rest) - damping q'.

    >>> TorsionSpring(2.0, 0.5, 0.1).kind
    'TorsionSpring'
    """

    word: ClassVar[str] = "torsion_spring"
    n_coordinates: ClassVar[int] = 1

    stiffness: Scalar = quantity(sign="not negative")
    rest: Scalar = quantity(0.0)
    damping: Scalar = quantity(0.0, sign="not negative")

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort; the spring's energy is stored, the damper's power dissipated."""
        x, rate = seen.q - self.rest, seen.v
        effort = -self.stiffness * x - self.damping * rate
        return on_coordinate(effort, self.stiffness * x**2 / 2, self.damping * rate**2)
