"""One step of fixed length over symbols: the same operations in every step, whatever the state.

A step starts from q, v, the elements' states z and the time t. With u the displacement from q, y = [u; v; z] has

    y' = f(t, y) = [displacement rate(u, v); a; z']                                                      (1)

where a and z' are what the formulation gives at the configuration that u leads to. The methods:

    semi_implicit       v1 = v + h a(q, v),  u1 = h v1                                        order 1
    rk2                 the explicit midpoint rule                                            order 2
    rk4                 the classical Runge-Kutta method                                      order 4
    linearly_implicit   Rosenbrock's with two stages, for stiff springs and controllers       order 2

The last solves, with W = I - g h J, J = df/dy at the start of the step and g = 1 - 1/sqrt(2),

    W k1 = f(t, y),    W k2 = f(t + h, y + h k1) - 2 k1,    y1 = y + h (3 k1 + k2) / 2                   (2)

Its order does not depend on J, so what a displacement's rate owes to the displacement itself is left out of J, and k's
first part follows from its second: k_u = r_u + g h k_v. What is left is as large as v and z.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import casadi as ca

__all__ = ["METHODS", "Increment", "StepRates", "rows_solved"]

_GAMMA = 1.0 - 1.0 / math.sqrt(2.0)


class Increment(NamedTuple):
    """The change over a step, or its rate: displacement, velocities, states of elements."""

    u: ca.SX
    v: ca.SX
    z: ca.SX

    def plus(self, other: Increment, factor: float) -> Increment:
        """Return this and a multiple of another."""
        return Increment(*(mine + factor * its for mine, its in zip(self, other, strict=True)))


class StepRates(Protocol):
    """f of (1)."""

    def __call__(self, after: float, y: Increment) -> Increment:
        """Return the rates at a time from the start of the step, for an increment since then."""
        ...

    def slopes(self, y: Increment) -> tuple[Increment, ca.SX, ca.SX]:
        """Return the rates at the start of the step, and how those of [v; z] depend on u and on [v; z]."""
        ...


def _semi_implicit(f: StepRates, y: Increment, h: float) -> Increment:
    k = f(0.0, y)
    v = y.v + h * k.v
    return Increment(h * v, v, y.z + h * k.z)


def _rk2(f: StepRates, y: Increment, h: float) -> Increment:
    return y.plus(f(h / 2, y.plus(f(0.0, y), h / 2)), h)


def _rk4(f: StepRates, y: Increment, h: float) -> Increment:
    k1 = f(0.0, y)
    k2 = f(h / 2, y.plus(k1, h / 2))
    k3 = f(h / 2, y.plus(k2, h / 2))
    k4 = f(h, y.plus(k3, h))
    return y.plus(k1, h / 6).plus(k2, h / 3).plus(k3, h / 3).plus(k4, h / 6)


def _linearly_implicit(f: StepRates, y: Increment, h: float) -> Increment:
    k0, by_u, by_rest = f.slopes(y)
    nv, gh = y.v.shape[0], _GAMMA * h
    W = ca.densify(ca.SX.eye(by_rest.shape[0]) - gh * by_rest)
    W[:, :nv] -= gh * gh * by_u

    def solved(r: Increment) -> Increment:
        k = rows_solved(W, ca.vertcat(r.v, r.z) + gh * (by_u @ r.u))
        return Increment(r.u + gh * k[:nv, :], k[:nv, :], k[nv:, :])

    k1 = solved(k0)
    k2 = solved(f(h, y.plus(k1, h)).plus(k1, -2.0))
    return y.plus(k1, 1.5 * h).plus(k2, 0.5 * h)


METHODS: dict[str, Callable[[StepRates, Increment, float], Increment]] = {
    "semi_implicit": _semi_implicit,
    "rk2": _rk2,
    "rk4": _rk4,
    "linearly_implicit": _linearly_implicit,
}
"""The methods by name."""


def rows_solved(A: ca.SX, b: ca.SX) -> ca.SX:
    """Solve A x = b by elimination without pivoting; entries that are zero while tracing cost nothing.

    >>> rows_solved(ca.SX([[2.0, 0.0], [4.0, 2.0]]), ca.SX([2.0, 8.0]))
    SX([1, 2])
    """
    n = A.shape[0]
    rows = [[A[i, j] for j in range(n)] + [b[i]] for i in range(n)]
    for k in range(n):
        inverse = 1 / rows[k][k]
        for i in range(k + 1, n):
            if rows[i][k].is_zero():
                continue
            factor = rows[i][k] * inverse
            for j in range(k + 1, n + 1):
                if not rows[k][j].is_zero():
                    rows[i][j] = rows[i][j] - factor * rows[k][j]
    x: list[ca.SX] = [ca.SX(0)] * n
    for i in reversed(range(n)):
        rest = sum((rows[i][j] * x[j] for j in range(i + 1, n) if not rows[i][j].is_zero()), ca.SX(0))
        x[i] = (rows[i][n] - rest) / rows[i][i]
    return ca.SX(ca.vertcat(*x))
