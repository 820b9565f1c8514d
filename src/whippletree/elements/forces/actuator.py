"""An effort on a joint coordinate, written as an expression."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.elements.declaration import part
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula

__all__ = ["Actuator"]


@dataclass(frozen=True, eq=False)
class Actuator(Force):
    """Acts on its first joint coordinate with a written effort; the other coordinates and all sides are read.

    >>> none = ca.SX(0, 1)
    >>> seen = ElementState((), none, none, none, ca.SX.sym("t"))
    >>> Actuator(Formula.written(ca.sin(seen.t), seen, none, ())).timed
    True
    """

    effort: Formula = part(Formula)

    @property
    def timed(self) -> bool:
        """Whether time is in the effort."""
        return self.effort.timed

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the effort."""
        return (SeenFormula(self.effort, seen.beyond(0, 1), ca.SX(0, 1)),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort, whose power is input."""
        effort = self.effort.value(seen.beyond(0, 1))
        efforts = ca.vertcat(effort, ca.SX(seen.q.shape[0] - 1, 1))
        none = ca.SX.zeros(6)
        return ElementForces(
            tuple(none for _ in seen.sides), ca.densify(efforts), ca.SX(0), ca.SX(0), effort * seen.v[0]
        )
