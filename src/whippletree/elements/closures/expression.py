"""A closure that a user writes as an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as ca

from whippletree.elements.closures.base import DeclaredClosure, Rows, Side
from whippletree.elements.user_functions import UserFunction, Written, flow, side_arrays

__all__ = ["Expression"]


@dataclass(frozen=True, eq=False)
class Expression(UserFunction, DeclaredClosure):
    """A written column that must be zero, with its derivatives taken by CasADi; made by `written`.

    `function` computes the column from the sides' R (9, n), p, w and u (3, n), the joint coordinates q and their
    rates v, the time t and the parameters, which are `arguments`. If it depends on w, u or v, it is a velocity-only
    closure, and affine in them.

    >>> x = ca.SX.sym("x")
    >>> circle = Expression.written(x * x - 1, (), x, ca.SX.sym("v"), ca.SX.sym("t"), ())
    >>> circle.holonomic, circle.rows((), ca.SX(3), ca.SX(0), ca.SX(0)).K
    (True, SX(6))
    """

    inputs: ClassVar[tuple[str, ...]] = ("R", "p", "w", "u", "q", "v", "t", "parameter")

    @staticmethod
    def written(
        expression: ca.SX, sides: Sequence[Side], q: ca.SX, v: ca.SX, t: ca.SX, parameters: Sequence[ca.SX]
    ) -> Expression:
        """Return the closure of an expression in these symbols, none of which is repeated."""
        symbols = [*side_arrays(sides), *map(_column, (q, v)), t, _column(*parameters)]
        return Expression(Written("closure", expression, symbols), tuple(parameters))

    @property
    def labels(self) -> tuple[str, ...]:
        """The multiplier of each row."""
        m = self.function.size1_out(0)
        return ("effort of the expression",) if m == 1 else tuple(f"effort of expression[{k}]" for k in range(m))

    @property
    def holonomic(self) -> bool:
        """Whether neither velocities nor rates are in the expression."""
        return not self.used & {"w", "u", "v"}

    @property
    def absolute(self) -> bool:
        """Whether the expression has sides: they are meant in the ground frame."""
        return self.function.size2_in(0) > 0

    @property
    def timed(self) -> bool:
        """Whether time is in the expression."""
        return "t" in self.used

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows, with derivatives exact at any state."""
        inputs = [*side_arrays(sides), q, v, t, ca.vertcat(*map(ca.SX, self.arguments))]
        phi, K, drift, bias, *D = (ca.densify(part) for part in self._rows.call(inputs))
        return Rows(phi, tuple(D), K, drift, bias)

    @cached_property
    def _rows(self) -> ca.Function:
        """The function of phi, K, drift, bias and the D of each side.

        Positions change with R' = w x R, p' = u, q' = v and t' = 1. A condition on positions is differentiated
        once along this; from there on it and a velocity-only one are treated alike, as psi.
        """
        _, _, w, u, _, v, _, _ = symbols = self.fresh()
        positions, rates = flow(*symbols[:-1])
        column = self.function(*symbols)
        psi = ca.jtimes(column, positions, rates) if self.holonomic else column
        phi = column if self.holonomic else ca.SX.zeros(*column.shape)
        D = [ca.jacobian(psi, ca.vertcat(w[:, k], u[:, k])) for k in range(w.shape[1])]
        speeds = ca.vertcat(ca.vec(w), ca.vec(u), v)
        drift = ca.substitute(psi, speeds, ca.SX.zeros(speeds.shape[0]))
        return ca.Function("rows", symbols, [phi, ca.jacobian(psi, v), drift, ca.jtimes(psi, positions, rates), *D])


def _column(*parts: ca.SX) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *parts)
