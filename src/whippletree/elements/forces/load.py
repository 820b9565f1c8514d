"""A wrench on a body, written as an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import casadi as ca

from whippletree.elements.declaration import Several, part
from whippletree.elements.forces.base import ElementForces, ElementState, ExpressionVector, Force, SeenFormula, refused
from whippletree.elements.forces.formula import Formula
from whippletree.errors import ModelError
from whippletree.spatial.scalars import shown
from whippletree.spatial.vectors import stack

__all__ = ["Load"]


@dataclass(frozen=True, eq=False)
class Load(Force):
    """A force and a moment, or a wrench [moment; force], on a body or frame at the point `at`.

    These are numbers or expressions, in the axes of the ground, or with `frame="body"` of the place itself, which the
    load then `follows`. It acts on the first of its sides; the others and all coordinates are read by the expressions.

    >>> import casadi as ca
    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.load("thrust", m.body("rocket"), force=(0, 0, 100 * ca.exp(-m.time)), frame="body").name
    'thrust'
    """

    word: ClassVar[str] = "load"
    n_sides: ClassVar[int] = 1

    wrench: Formula = part(Formula, size=6, of="reactions")
    follows: bool = part(bool)

    @classmethod
    def given(
        cls,
        *,
        force: ExpressionVector | None = None,
        moment: ExpressionVector | None = None,
        wrench: ExpressionVector | None = None,
        frame: str = "ground",
    ) -> Self:
        """Return the load that a person describes so."""
        if not isinstance(frame, str) or frame not in ("ground", "body"):
            raise ModelError(f'frame must be "ground" or "body", got {shown(frame)}')
        both: Any = wrench
        if wrench is not None:
            refused("wrench", "it holds both", force=force, moment=moment)
        elif force is None and moment is None:
            raise ModelError("give force, moment, or wrench = [moment; force]")
        else:
            none = (0.0, 0.0, 0.0)
            both = Several(3, {"moment": none if moment is None else moment, "force": none if force is None else force})
        return cls(both, frame == "body")

    def told(self) -> dict[str, Any]:
        """Return the wrench, and whose axes it is in."""
        return {"wrench": self.wrench, **({"frame": "body"} if self.follows else {})}

    @property
    def timed(self) -> bool:
        """Whether time is in the wrench."""
        return self.wrench.timed

    @property
    def n_loads(self) -> int:
        """Six if the wrench depends on reactions: its components."""
        return 6 if "more" in self.wrench.used else 0

    def loads(self, seen: ElementState) -> ca.SX:
        """Return the wrench as a load, a function of the wrenches that joints transmit."""
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
