"""A cubic spline through given knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whippletree.elements.drivers.curve import CurveByPieces, chosen, cubics, points
from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.programs.lookup import LookupTable

__all__ = ["ENDS", "Spline"]


ENDS = ("natural", "clamped", "periodic", "not_a_knot", "four_points")
"""The conditions that a spline can have at its ends."""


@user_facing
@readable
@dataclass(frozen=True, init=False)
class Spline(CurveByPieces):
    """The cubic curve through (time, value) knots with continuous first and second derivatives.

    `ends` says what holds at the first and the last knot, and how the curve goes on beyond them:

    - "natural": no second derivative; straight on, so that the acceleration has no jump there either;
    - "clamped": no slope; it stays where it is;
    - "periodic": value, slope and second derivative agree; it repeats itself;
    - "not_a_knot": the two outer pieces at each end are one cubic; straight on;
    - "four_points": the third derivative is that of the cubic through the four outer knots (none if there are less than
      four); straight on. So SIMM and OpenSim have it.

    Call it with numbers, or with a CasADi expression such as `m.time` to use it in a drive, a force or a closure. Knots
    cost memory, and next to no time.

    >>> lift = Spline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], ends="clamped")
    >>> lift(1.0), lift([0.5, 1.5, 7.0]).tolist()
    (1.0, [0.5, 0.5, 0.0])
    >>> import casadi as ca
    >>> lift(ca.SX.sym("t")).shape
    (1, 1)
    """

    word: ClassVar[str] = "spline"
    choices: ClassVar[tuple[str, ...]] = ENDS

    times: tuple[float, ...]
    values: tuple[float, ...]
    ends: str

    def __init__(self, times: Sequence[float], values: Sequence[float], ends: str = "natural") -> None:
        x, y = points(times, values, ("spline", "times", "values"))
        chosen(ends, "ends", ENDS)
        least = 4 if ends == "not_a_knot" else 3 if ends == "periodic" else 2
        if len(x) < least:
            raise ModelError(f'a spline with ends "{ends}" needs at least {least} knots, got {len(x)}')
        if ends == "periodic" and y[0] != y[-1]:
            raise ModelError(f"a periodic spline ends with the value it begins with, but {y[-1]:g} is not {y[0]:g}")
        self._keep(times=tuple(x.tolist()), values=tuple(y.tolist()), ends=ends)

    def _pieces(self) -> LookupTable:
        x, y = np.array(self.times), np.array(self.values)
        h = np.diff(x)
        found = cubics(x, y, _slopes(h, np.diff(y) / h, self.ends))
        if self._period:  # rounding may lead beyond the ends
            found.entries[0], found.entries[-1] = found.entries[-2], found.entries[1]
            found.entries[0, 0] -= self._period
            found.entries[-1, 0] += self._period
        return found

    @property
    def _period(self) -> float:
        return self.times[-1] - self.times[0] if self.ends == "periodic" else 0.0


def _slopes(h: Array, d: Array, ends: str) -> Array:
    """Return the slopes at the knots, for stretches of lengths h and mean slopes d."""
    n = len(h) + 1
    lower, middle, upper, right = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
    # the second derivative is continuous at inner knots
    lower[1:-1], upper[1:-1] = h[1:], h[:-1]
    middle[1:-1] = 2 * (h[:-1] + h[1:])
    right[1:-1] = 3 * (h[1:] * d[:-1] + h[:-1] * d[1:])
    if ends == "periodic":
        return _periodic(h, d)
    if ends == "natural":
        middle[0] = middle[-1] = 2
        upper[0] = lower[-1] = 1
        right[0], right[-1] = 3 * d[0], 3 * d[-1]
    elif ends == "not_a_knot":
        middle[0], upper[0] = h[1], h[0] + h[1]
        right[0] = ((h[0] + 2 * upper[0]) * h[1] * d[0] + h[0] ** 2 * d[1]) / upper[0]
        middle[-1], lower[-1] = h[-2], h[-2] + h[-1]
        right[-1] = (h[-1] ** 2 * d[-2] + (2 * lower[-1] + h[-1]) * h[-2] * d[-1]) / lower[-1]
    elif ends == "four_points":
        upper[0] = lower[-1] = 1.0
        right[0] = 2 * d[0] + h[0] ** 2 * _third_difference(h[:3], d[:3])
        right[-1] = 2 * d[-1] + h[-1] ** 2 * _third_difference(h[-3:], d[-3:])
        if n == 2:
            return np.array([d[0], d[0]])
    return _tridiagonal(lower, middle, upper, right[:, None])[:, 0]


def _third_difference(h: Array, d: Array) -> float:
    """Return the third divided difference of four knots, which is a sixth of their cubic's third derivative.

    >>> x = np.array([0.0, 1.0, 3.0, 4.0])
    >>> _third_difference(np.diff(x), np.diff(2 * x**3 - x) / np.diff(x))
    2.0
    """
    if len(h) < 3:
        return 0.0
    second = np.diff(d) / (h[:-1] + h[1:])
    return float((second[1] - second[0]) / h.sum())


def _periodic(h: Array, d: Array) -> Array:
    """Return the slopes of a curve that repeats itself: the first and the last knot are one."""
    before, after = np.roll(h, 1), h
    lower, middle, upper = after.copy(), 2 * (before + after), before.copy()
    right = 3 * (after * np.roll(d, 1) + before * d)
    # the two corners of the matrix are taken out, and put back by the formula of Sherman and Morrison
    corner, other = lower[0], upper[-1]
    g = -middle[0]
    middle[0] -= g
    middle[-1] -= corner * other / g
    u, w = np.zeros(len(h)), np.zeros(len(h))
    u[0], u[-1] = g, other
    w[0], w[-1] = 1.0, corner / g
    x, z = _tridiagonal(lower, middle, upper, np.column_stack([right, u])).T
    s = x - (w @ x) / (1 + w @ z) * z
    return np.append(s, s[0])


def _tridiagonal(lower: Array, middle: Array, upper: Array, right: Array) -> Array:
    """Solve a tridiagonal system for several right sides."""
    n = len(middle)
    pivots, x = middle.astype(np.float64), right.astype(np.float64)
    for i in range(1, n):
        factor = lower[i] / pivots[i - 1]
        pivots[i] -= factor * upper[i - 1]
        x[i] -= factor * x[i - 1]
    x[-1] /= pivots[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / pivots[i]
    return x
