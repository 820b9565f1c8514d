"""A closure that a user writes as an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import casadi as ca

from whippletree.elements.closures.base import Rows, Side
from whippletree.elements.closures.declared import DeclaredClosure
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross

__all__ = ["Expression"]


@dataclass(frozen=True, eq=False)
class Expression(DeclaredClosure):
    """A written column that must be zero, with its derivatives taken by CasADi; made by `written`.

    `function` computes the column from the sides' R (9, n), p, w and u (3, n), the joint coordinates q and their
    rates v, the time t and the parameters, which are `arguments`. It is written in symbols of its own, so that it
    is the same for the same text, whatever the symbols of the text were called. If it depends on w, u or v, it is
    a velocity-only closure, and affine in them.

    >>> x = ca.SX.sym("x")
    >>> circle = Expression.written(x * x - 1, (), x, ca.SX.sym("v"), ca.SX.sym("t"), ())
    >>> circle.holonomic, circle.rows((), ca.SX(3), ca.SX(0), ca.SX(0)).K
    (True, SX(6))
    """

    function: ca.Function
    arguments: tuple[Scalar, ...] = ()

    @staticmethod
    def written(
        expression: ca.SX, sides: Sequence[Side], q: ca.SX, v: ca.SX, t: ca.SX, parameters: Sequence[ca.SX]
    ) -> Expression:
        """Return the closure of an expression in these symbols, none of which is repeated."""
        symbols = [*_arrays(sides), q, v, t, ca.vertcat(*parameters)]
        given = ca.Function("given", symbols, [ca.densify(expression)])
        own = _symbols(len(sides), q.numel(), len(parameters))
        return Expression(ca.Function("closure", own, [ca.densify(given(*own))]), tuple(parameters))

    @property
    def labels(self) -> tuple[str, ...]:
        """What each row transmits."""
        m = self.function.size1_out(0)
        return ("effort of the expression",) if m == 1 else tuple(f"effort of expression[{k}]" for k in range(m))

    @property
    def holonomic(self) -> bool:
        """Whether neither velocities nor rates are in the expression."""
        return not self._used & {2, 3, 5}

    @property
    def absolute(self) -> bool:
        """Whether the expression has sides: they are meant in the ground frame."""
        return self.function.size2_in(0) > 0

    @property
    def timed(self) -> bool:
        """Whether time is in the expression."""
        return 6 in self._used

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows, with derivatives exact at any state."""
        inputs = [*_arrays(sides), q, v, t, ca.vertcat(*map(ca.SX, self.arguments))]
        phi, K, drift, bias, *D = (ca.densify(part) for part in self._rows.call(inputs))
        return Rows(phi, tuple(D), K, drift, bias)

    @property
    def text(self) -> str:
        """The function, serialised."""
        return str(self.function.serialize())

    def entries(self) -> tuple[Scalar, ...]:
        """Return the parameters."""
        return self.arguments

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the expression with this function and these parameters."""
        return cls(ca.Function.deserialize(text), entries)

    @cached_property
    def _rows(self) -> ca.Function:
        """The function of phi, K, drift, bias and the D of each side.

        Positions change with R' = w x R, p' = u, q' = v and t' = 1. A condition on positions is differentiated
        once along this; from there on it and a velocity-only one are treated alike, as psi.
        """
        R, p, w, u, q, v, t, _ = symbols = self._fresh()
        n = R.shape[1]
        turned = [cross(w[:, k], ca.reshape(R[:, k], 3, 3)) for k in range(n)]
        positions = ca.vertcat(ca.vec(R), ca.vec(p), q, t)
        flow = ca.vertcat(*map(ca.vec, turned), ca.vec(u), v, 1)
        column = self.function(*symbols)
        psi = ca.jtimes(column, positions, flow) if self.holonomic else column
        phi = column if self.holonomic else ca.SX.zeros(*column.shape)
        D = [ca.jacobian(psi, ca.vertcat(w[:, k], u[:, k])) for k in range(n)]
        speeds = ca.vertcat(ca.vec(w), ca.vec(u), v)
        drift = ca.substitute(psi, speeds, ca.SX.zeros(speeds.shape[0]))
        return ca.Function("rows", symbols, [phi, ca.jacobian(psi, v), drift, ca.jtimes(psi, positions, flow), *D])

    def _fresh(self) -> list[ca.SX]:
        """Return new symbols for the function's inputs."""
        return _symbols(self.function.size2_in(0), self.function.size1_in(4), self.function.size1_in(7))

    @cached_property
    def _used(self) -> set[int]:
        """The inputs that the function depends on, be it by a step."""
        symbols = self._fresh()
        found = {hash(symbol) for symbol in ca.symvar(self.function(*symbols))}
        return {k for k, given in enumerate(symbols) if any(hash(symbol) in found for symbol in ca.symvar(given))}


def _symbols(n_sides: int, n_coordinates: int, n_parameters: int) -> list[ca.SX]:
    """Return new symbols R, p, w, u, q, v, t and the parameters'."""
    sides = [ca.SX.sym("R", 9, n_sides), *(ca.SX.sym(name, 3, n_sides) for name in "pwu")]
    joints = [ca.SX.sym("q", n_coordinates), ca.SX.sym("v", n_coordinates)]
    return [*sides, *joints, ca.SX.sym("t"), ca.SX.sym("parameter", n_parameters)]


def _arrays(sides: Sequence[Side]) -> list[ca.SX]:
    """Return R (9, n), p, w and u (3, n) of the sides."""
    rows = {"R": 9, "p": 3, "w": 3, "u": 3}
    return [
        ca.horzcat(ca.SX(size, 0), *(ca.vec(ca.densify(getattr(side, name))) for side in sides))
        for name, size in rows.items()
    ]
