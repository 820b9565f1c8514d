"""The stops of a joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import casadi as ca

from whippletree.elements.declaration import ElementAround, quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, on_coordinate
from whippletree.elements.forces.smooth import stopped
from whippletree.errors import ModelError
from whippletree.spatial.scalars import Scalar

__all__ = ["Limit"]


@dataclass(frozen=True, eq=False)
class Limit(Force):
    """Stops that keep a joint coordinate above `lower` and below `upper`, either of which may be left out.

    A stop takes hold smoothly over `width`, and is a spring with a damper beyond; it never pulls.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
    >>> m.limit("stop", hinge, lower=-0.5, upper=1.2, stiffness=1e4, damping=20).name
    'stop'
    """

    word: ClassVar[str] = "limit"
    n_coordinates: ClassVar[int] = 1

    lower: Scalar | None = quantity(optional=True)
    upper: Scalar | None = quantity(optional=True)
    stiffness: Scalar = quantity(sign="not negative")
    damping: Scalar = quantity(0.0, sign="not negative")
    width: Scalar = quantity(1e-3, sign="positive")

    def fitted(self, around: ElementAround) -> Self:
        """Check that there is a stop, and room between two."""
        if self.lower is None and self.upper is None:
            raise ModelError("give lower, upper, or both")
        if self.lower is not None and self.upper is not None:
            a, b = around.values_of([self.lower, self.upper], "a limit")
            if a >= b:
                raise ModelError(f"lower must be less than upper, got {a:g} and {b:g}")
        return self

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort, and the energy and power that the stops store and dissipate."""
        effort, stored, dissipated = ca.SX(0), ca.SX(0), ca.SX(0)
        for bound, way in ((self.upper, 1.0), (self.lower, -1.0)):
            if bound is not None:
                stop = stopped(way * (seen.q - bound), way * seen.v, self.stiffness, self.damping, self.width)
                effort = effort - way * stop.force
                stored, dissipated = stored + stop.stored, dissipated + stop.dissipated
        return on_coordinate(effort, stored, dissipated)
