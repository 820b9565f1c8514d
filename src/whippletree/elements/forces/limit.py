"""The stops of a joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import casadi as ca

from whippletree.elements.forces.base import Applied, Force, Situation, on_coordinate
from whippletree.elements.forces.smooth import stopped
from whippletree.spatial.scalars import Scalar

__all__ = ["Limit"]


@dataclass(frozen=True, eq=False)
class Limit(Force):
    """Pushes a joint coordinate back below `upper` and above `lower`, each None if there is no such stop.

    A stop takes hold over a width, is stiff beyond, and never pulls: see `smooth`.

    >>> Limit(None, 1.5, 1e4, 10.0, 1e-3).text
    'upper'
    """

    lower: Scalar | None
    upper: Scalar | None
    stiffness: Scalar
    damping: Scalar
    width: Scalar

    def act(self, seen: Situation) -> Applied:
        """Return the effort; what the stops store and dissipate."""
        effort, stored, dissipated = ca.SX(0), ca.SX(0), ca.SX(0)
        for bound, way in ((self.upper, 1.0), (self.lower, -1.0)):
            if bound is not None:
                stop = stopped(way * (seen.q - bound), way * seen.v, self.stiffness, self.damping, self.width)
                effort = effort - way * stop.force
                stored, dissipated = stored + stop.stored, dissipated + stop.dissipated
        return on_coordinate(effort, stored, dissipated)

    @property
    def text(self) -> str:
        """Which stops there are."""
        return " ".join(word for word in ("lower", "upper") if getattr(self, word) is not None)

    def entries(self) -> tuple[Scalar, ...]:
        """Return the stops there are, stiffness, damping and width."""
        stops = tuple(stop for stop in (self.lower, self.upper) if stop is not None)
        return (*stops, self.stiffness, self.damping, self.width)

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the stops that the text names, with these numbers."""
        words = text.split()
        stops = dict(zip(words, entries, strict=False))
        return cls(stops.get("lower"), stops.get("upper"), *entries[len(words) :])
