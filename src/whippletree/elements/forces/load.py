"""A wrench on a body, written as an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import casadi as ca

from whippletree.elements.forces.base import Applied, Force, Situation
from whippletree.elements.forces.formula import Formula
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import stack

__all__ = ["Load"]


@dataclass(frozen=True, eq=False)
class Load(Force):
    """Acts on its first side with a written wrench [moment; force]; the other sides and all coordinates are read.

    The wrench is in ground axes, or, if it `follows`, in those of the side.

    >>> none = ca.SX(0, 1)
    >>> seen = Situation((), none, none, none, ca.SX.sym("t"))
    >>> Load(Formula.written(ca.SX([0, 0, 0, 0, 0, 5]), seen, none, ()), False).timed
    False
    """

    wrench: Formula
    follows: bool

    @property
    def timed(self) -> bool:
        """Whether time is in the wrench."""
        return self.wrench.timed

    def act(self, seen: Situation) -> Applied:
        """Return the wrench, whose power is input."""
        side, others = seen.sides[0], seen.beyond(1, 0)
        wrench = self.wrench.value(others)
        if self.follows:
            wrench = stack(side.R @ wrench[0:3], side.R @ wrench[3:6])
        power = ca.dot(wrench, stack(side.w, side.u))
        wrenches = (wrench, *(ca.SX.zeros(6) for _ in others.sides))
        return Applied(wrenches, ca.SX.zeros(seen.q.shape[0]), ca.SX(0), ca.SX(0), power)

    @property
    def text(self) -> str:
        """The axes and the formula."""
        return f"{'body' if self.follows else 'ground'} {self.wrench.text}"

    def entries(self) -> tuple[Scalar, ...]:
        """Return the formula's parameters."""
        return self.wrench.entries()

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the load with this formula and these parameters."""
        axes, formula = text.split(" ", 1)
        return cls(Formula.of(formula, entries), axes == "body")
