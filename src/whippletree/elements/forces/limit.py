"""The stops of a joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, on_coordinate
from whippletree.elements.forces.smooth import stopped
from whippletree.spatial.scalars import Scalar

__all__ = ["Limit"]


@dataclass(frozen=True, eq=False)
class Limit(Force):
    """Pushes a joint coordinate back below `upper` and above `lower`, each None if there is no such stop.

    A stop takes hold over a width, is stiff beyond, and never pulls: see `smooth`.

    >>> Limit(None, 1.5, 1e4, 10.0, 1e-3).entries()
    (1.5, 10000.0, 10.0, 0.001)
    """

    word: ClassVar[str] = "limit"
    n_coordinates: ClassVar[int] = 1

    lower: Scalar | None = quantity(optional=True)
    upper: Scalar | None = quantity(optional=True)
    stiffness: Scalar = quantity(sign="not negative")
    damping: Scalar = quantity(0.0, sign="not negative")
    width: Scalar = quantity(1e-3, sign="positive")

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort; what the stops store and dissipate."""
        effort, stored, dissipated = ca.SX(0), ca.SX(0), ca.SX(0)
        for bound, way in ((self.upper, 1.0), (self.lower, -1.0)):
            if bound is not None:
                stop = stopped(way * (seen.q - bound), way * seen.v, self.stiffness, self.damping, self.width)
                effort = effort - way * stop.force
                stored, dissipated = stored + stop.stored, dissipated + stop.dissipated
        return on_coordinate(effort, stored, dissipated)
