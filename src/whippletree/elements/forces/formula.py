"""Expressions written by users: an effort, a load, a force law, the rate of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import casadi as ca

from whippletree.elements.forces.base import ElementState
from whippletree.elements.formula_corners import Corners, corners_of
from whippletree.elements.user_functions import NO_NUMBERS, UserFunction, Written, flow, side_arrays
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import dense

__all__ = ["Formula"]


class Inputs(NamedTuple):
    """The inputs of a formula: sides as R (9, n), p, w and u (3, n); the rest are columns."""

    R: ca.SX
    p: ca.SX
    w: ca.SX
    u: ca.SX
    q: ca.SX
    v: ca.SX
    z: ca.SX
    more: ca.SX
    t: ca.SX
    parameters: ca.SX


_SPEEDS = ("w", "u", "v")
_TIME = Inputs._fields.index("t")
_IN_TIME = frozenset({_TIME, Inputs._fields.index("parameters")})


@dataclass(frozen=True, eq=False)
class Formula(UserFunction):
    """A written column; made by `written`.

    `function` computes it from the sides' R (9, n), p, w and u (3, n), the joint coordinates q and rates v, auxiliary
    states z, further arguments of the element's own, time and the parameters, which are `arguments`.

    >>> q, v = ca.SX.sym("q"), ca.SX.sym("v")
    >>> none = ca.SX(0, 1)
    >>> law = Formula.written(-3 * q, ElementState((), q, v, none, ca.SX.sym("t")), none, ())
    >>> law.value(ElementState((), ca.SX(2), ca.SX(0), none, ca.SX(0)))
    SX(-6)
    """

    inputs: ClassVar[tuple[str, ...]] = Inputs._fields

    @classmethod
    def written(cls, expression: ca.SX, seen: ElementState, more: ca.SX, parameters: Sequence[ca.SX]) -> Self:
        """Return the formula of an expression in these symbols, none of which is repeated."""
        return cls(Written("formula", expression, _inputs(seen, more, parameters)), tuple(parameters))

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.function.size1_out(0))

    @property
    def timed(self) -> bool:
        """Whether time is in it."""
        return "t" in self.used

    @property
    def positional(self) -> bool:
        """Whether it depends on positions, time and parameters only."""
        return not self.used & {*_SPEEDS, "z", "more"}

    @property
    def own(self) -> bool:
        """Whether it depends on nothing but the element's own arguments and parameters."""
        return self.used <= {"more", "parameters"}

    def value(self, seen: ElementState, more: ca.SX | None = None) -> ca.SX:
        """Return the column in a situation."""
        inputs = _inputs(seen, NO_NUMBERS if more is None else more, self.arguments)
        return dense(*self.function.call(inputs))

    @cached_property
    def corners(self) -> Corners:
        """Where the formula is not smooth."""
        return corners_of(self.function)

    @cached_property
    def corners_in_time(self) -> Corners:
        """Those of its corners that time and parameters alone decide, as a function of these two."""
        own = [i for i, used in enumerate(self.corners.used) if used <= _IN_TIME and _TIME in used]
        found, symbols = self.corners.only(own), self.fresh()
        column = ca.SX(found.function(*symbols))
        function = ca.Function("corners", [Inputs(*symbols).t, Inputs(*symbols).parameters], [column])
        return found._replace(function=function)

    @cached_property
    def corners_in_state(self) -> Corners:
        """The others, apart from those of parameters alone."""
        return self.corners.only([i for i, used in enumerate(self.corners.used) if not used <= _IN_TIME])

    def corner_values(self, seen: ElementState, more: ca.SX) -> ca.SX:
        """Return the expressions of its corners in the state, in a situation."""
        return ca.densify(ca.SX(self.corners_in_state.function(*_inputs(seen, more, self.arguments))))

    def rate(self, seen: ElementState) -> ca.SX:
        """Return how fast a positional column changes in a situation: R' = w x R, p' = u, q' = v, t' = 1."""
        return ca.densify(ca.SX(self._rate(*_inputs(seen, ca.SX(0, 1), self.arguments))))

    @cached_property
    def _rate(self) -> ca.Function:
        x = Inputs(*self.fresh())
        positions, rates = flow(x.R, x.p, x.w, x.u, x.q, x.v, x.t)
        return ca.Function("rate", list(x), [ca.densify(ca.jtimes(self.function(*x), positions, rates))])


def _inputs(seen: ElementState, more: ca.SX, parameters: Sequence[Scalar]) -> Inputs:
    """Return a situation as a formula's inputs."""
    column = ca.vertcat(*map(ca.SX, parameters)) if parameters else NO_NUMBERS
    R, p, w, u = side_arrays(seen.sides)
    return Inputs(R, p, w, u, seen.q, seen.v, seen.z, more, seen.t, column)
