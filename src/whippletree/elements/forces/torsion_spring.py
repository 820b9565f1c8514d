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
    """A spring and damper on a joint coordinate q, an angle or a displacement: -stiffness (q - rest) - damping q'.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
    >>> m.torsion_spring("return", hinge, stiffness=2.0, rest=0.1).name
    'return'
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
