"""A wrench on a body, written as an expression."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.elements.declaration import part
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula
from whippletree.spatial.vectors import stack

__all__ = ["Load"]


@dataclass(frozen=True, eq=False)
class Load(Force):
    """Acts on its first side with a written wrench [moment; force]; the other sides and all coordinates are read.

    The wrench is in ground axes, or, if it `follows`, in those of the side.

    >>> none = ca.SX(0, 1)
    >>> seen = ElementState((), none, none, none, ca.SX.sym("t"))
    >>> Load(Formula.written(ca.SX([0, 0, 0, 0, 0, 5]), seen, none, ()), False).timed
    False
    """

    wrench: Formula = part(Formula)
    follows: bool = part(bool)

    @property
    def timed(self) -> bool:
        """Whether time is in the wrench."""
        return self.wrench.timed

    @property
    def n_loads(self) -> int:
        """Six if the wrench depends on reactions: its components."""
        return 6 if "more" in self.wrench.used else 0

    def loads(self, seen: ElementState) -> ca.SX:
        """Return the wrench for what joints transmit."""
        return self.wrench.value(seen.beyond(1, 0), seen.r)

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the wrench."""
        return (SeenFormula(self.wrench, seen.beyond(1, 0), seen.r),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the wrench, whose power is input."""
        side, others = seen.sides[0], seen.beyond(1, 0)
        wrench = seen.load if self.n_loads else self.wrench.value(others, seen.r)
        if self.follows:
            wrench = stack(side.R @ wrench[0:3], side.R @ wrench[3:6])
        power = ca.dot(wrench, stack(side.w, side.u))
        wrenches = (wrench, *(ca.SX.zeros(6) for _ in others.sides))
        return ElementForces(wrenches, ca.SX.zeros(seen.q.shape[0]), ca.SX(0), ca.SX(0), power)
