"""An effort on a joint coordinate, written as an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.declaration import part
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula
from whippletree.symbolic.arithmetic import times

__all__ = ["Actuator"]


@dataclass(frozen=True, eq=False)
class Actuator(Force):
    """An effort on a joint coordinate, a number or an expression: a motor, a controller.

    It acts on the first of its coordinates; the others and all sides are read by the expression.

    >>> import casadi as ca
    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("arm"))
    >>> m.actuator("servo", hinge, effort=20 * (ca.sin(m.time) - m.coordinate("hinge")) - 2 * m.rate("hinge")).name
    'servo'
    """

    word: ClassVar[str] = "actuator"
    n_coordinates: ClassVar[int] = 1
    on_rates: ClassVar[bool] = True

    effort: Formula = part(Formula, of="reactions")

    @property
    def timed(self) -> bool:
        """Whether time is in the effort."""
        return self.effort.timed

    @property
    def n_loads(self) -> int:
        """One if the effort depends on reactions: the effort itself."""
        return int("more" in self.effort.used)

    def loads(self, seen: ElementState) -> ca.SX:
        """Return the effort as a load, a function of the wrenches that joints transmit."""
        return self.effort.value(seen.beyond(0, 1), seen.r)

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the effort."""
        return (SeenFormula(self.effort, seen.beyond(0, 1), seen.r),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort, whose power is input."""
        effort = seen.load if self.n_loads else self.effort.value(seen.beyond(0, 1), seen.r)
        others = seen.q.shape[0] - 1
        efforts = ca.densify(ca.vertcat(effort, ca.SX(others, 1))) if others else effort
        wrenches = tuple(ca.SX.zeros(6) for _ in seen.sides)
        return ElementForces(wrenches, efforts, ca.SX(0.0), ca.SX(0.0), times(effort, seen.v[0]))
