"""A spring with a damper on a joint coordinate, both linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from whippletree.elements.forces.base import Applied, Force, Situation, on_coordinate
from whippletree.spatial.scalars import Scalar

__all__ = ["TorsionSpring"]


@dataclass(frozen=True, eq=False)
class TorsionSpring(Force):
    """Acts on a joint coordinate q with the effort -stiffness (q - rest) - damping q'.

    >>> TorsionSpring(2.0, 0.5, 0.1).kind
    'TorsionSpring'
    """

    stiffness: Scalar
    rest: Scalar
    damping: Scalar

    def act(self, seen: Situation) -> Applied:
        """Return the effort; the spring's energy is stored, the damper's power dissipated."""
        x, rate = seen.q - self.rest, seen.v
        effort = -self.stiffness * x - self.damping * rate
        return on_coordinate(effort, self.stiffness * x**2 / 2, self.damping * rate**2)

    def entries(self) -> tuple[Scalar, ...]:
        """Return stiffness, rest and damping."""
        return self.stiffness, self.rest, self.damping

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the spring with these numbers."""
        return cls(*entries)
