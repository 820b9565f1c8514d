"""A spring between two points whose force law is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import casadi as ca
import numpy as np

from whippletree.elements.declaration import ElementAround, Several, part, quantity
from whippletree.elements.element_tolerances import ENERGY_SLOPE
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula, pure_force, stretch
from whippletree.elements.forces.formula import Formula
from whippletree.errors import ModelError
from whippletree.spatial.scalars import Scalar

__all__ = ["LawSpring"]


@dataclass(frozen=True, eq=False)
class LawSpring(Force):
    """Pulls the origins of its two sides together with a force f(x, x', ...), x being the elongation.

    `law` is a formula of x and x' and whatever else an expression may hold; its second entry, if there is one, is the
    energy of f(x, 0). Without that, the work of f(x, 0) is counted as input. The power of the rest, f(x, x') - f(x, 0),
    is dissipated where it takes energy out, and input where it brings energy in.

    >>> x, none = ca.SX.sym("x", 2), ca.SX(0, 1)
    >>> seen = ElementState((), none, none, none, ca.SX.sym("t"))
    >>> cubic = LawSpring(Formula.written(5 * x[0] ** 3, seen, x, ()), 1.0)
    >>> LawSpring.of(cubic.text, cubic.entries()) == cubic
    True
    """

    word: ClassVar[str] = "spring"
    n_sides: ClassVar[int] = 2
    has_method: ClassVar[bool] = False
    drawn: ClassVar[str] = "spring"

    law: Formula = part(Formula, of="length")
    free_length: Scalar = quantity(unit="m", sign="not negative")

    @classmethod
    def written(cls, law: object, energy: object, free_length: Scalar) -> Self:
        """Return the spring with a law, and its energy unless that is None, which are read when it is described."""
        both: Any = Several(1, {"law": law} if energy is None else {"law": law, "energy": energy})
        return cls(both, free_length)

    def told(self) -> dict[str, Any]:
        """Return the length before the law."""
        return {"free_length": self.free_length, "law": self.law}

    def fitted(self, around: ElementAround) -> Self:
        """Check at some elongations that the law at rest is the derivative of its energy."""
        if self.law.size == 1:
            return self
        if not self.law.own:
            raise ModelError("energy goes with a law that depends on elongation, its rate and parameters alone")
        x, none = ca.SX.sym("x"), ca.SX(0, 1)
        values = around.values_of(self.law.arguments, "a parameter")
        column = self.law.function(ca.SX(9, 0), *[ca.SX(3, 0)] * 3, none, none, none, ca.vertcat(x, 0), 0, values)
        both = ca.Function("both", [x], [column[0], ca.gradient(column[1], x)])
        sizes = np.geomspace(1e-3, 1.0, 7)
        for point in (*sizes, *-sizes):
            force, slope = (float(each) for each in both(point))
            if np.isfinite([force, slope]).all() and abs(force - slope) > ENERGY_SLOPE * (abs(force) + abs(slope)):
                raise ModelError(
                    f"energy does not belong to the law: at the elongation {point:g} and at rest the law gives "
                    f"{force:g}, but the derivative of the energy is {slope:g}"
                )
        return self

    @property
    def timed(self) -> bool:
        """Whether time is in the law."""
        return self.law.timed

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the law, of elongation and rate."""
        line = stretch(seen.sides[:2], ca.SX(self.free_length))
        return (SeenFormula(self.law, seen.beyond(2, 0), ca.vertcat(line.elongation, line.rate)),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the pair of forces, and the law's energy and power."""
        x, rate, n = stretch(seen.sides[:2], ca.SX(self.free_length))
        others = seen.beyond(2, 0)
        f = self.law.value(others, ca.vertcat(x, rate))
        elastic = self.law.value(others, ca.vertcat(x, 0))
        pull, none = pure_force(f[0] * n), ca.SX.zeros(6)
        lost = (f[0] - elastic[0]) * rate
        supplied = ca.fmax(-lost, 0)
        stored = ca.SX(0)
        if self.law.size > 1:
            stored = elastic[1]
        else:
            supplied = supplied - elastic[0] * rate
        wrenches = (pull, -pull, *(none for _ in others.sides))
        return ElementForces(wrenches, ca.SX.zeros(seen.q.shape[0]), stored, ca.fmax(lost, 0), supplied)
