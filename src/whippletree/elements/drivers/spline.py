"""A cubic spline through given knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import casadi as ca
import numpy as np

from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.programs.lookup import LookupTable, lookup, picked
from whippletree.spatial.scalars import masked, shown

__all__ = ["ENDS", "Spline", "spline_of"]


ENDS = ("natural", "clamped", "periodic", "not_a_knot", "four_points")
"""What can be asked of the ends."""

_PIECES: dict[tuple[Spline, int], tuple[ca.SX, ca.SX]] = {}
"""Pieces at expressions, which are kept with them: equal splines of one expression are one call in a trace."""

_KEPT = 256


@dataclass(frozen=True, init=False)
class Spline:
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
    >>> lift(ca.SX.sym("t")).shape
    (1, 1)
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    ends: str

    def __init__(self, times: Sequence[float], values: Sequence[float], ends: str = "natural") -> None:
        x, y = _numbers(times, "times"), _numbers(values, "values")
        if len(x) != len(y):
            raise ModelError(f"a spline has a value for each time, but there are {len(x)} times and {len(y)} values")
        back = np.flatnonzero(np.diff(x) <= 0)
        if back.size:
            i = int(back[0])
            raise ModelError(f"the times of a spline must increase, but {x[i + 1]:g} comes after {x[i]:g}")
        if not isinstance(ends, str) or ends not in ENDS:
            raise ModelError(f"ends must be one of {', '.join(ENDS)}, got {shown(ends)}")
        least = 4 if ends == "not_a_knot" else 3 if ends == "periodic" else 2
        if len(x) < least:
            raise ModelError(f'a spline with ends "{ends}" needs at least {least} knots, got {len(x)}')
        if ends == "periodic" and y[0] != y[-1]:
            raise ModelError(f"a periodic spline ends with the value it begins with, but {y[-1]:g} is not {y[0]:g}")
        object.__setattr__(self, "times", tuple(x.tolist()))
        object.__setattr__(self, "values", tuple(y.tolist()))
        object.__setattr__(self, "ends", ends)
        with np.errstate(all="ignore"):
            finite = np.isfinite(self.table.numbers).all()
        if not finite:
            raise ModelError("the spline through these knots is not finite: they are too close or too far apart")

    def __reduce__(self) -> tuple[object, ...]:
        return Spline, (self.times, self.values, self.ends)

    @overload
    def __call__(self, x: ca.SX) -> ca.SX: ...
    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: Sequence[float] | Array) -> Array: ...
    def __call__(self, x: object) -> object:
        """Return the value at a time: of an expression an expression, of numbers numbers."""
        if isinstance(x, ca.SX):
            return self._expression(x)
        if isinstance(x, ca.MX):
            raise ModelError("a spline takes expressions of CasADi's type SX, not MX")
        at = np.asarray(x, dtype=np.float64)
        table = self.table
        within = at - self._period * np.floor((at - table.knots[0]) / self._period) if self._period else at
        o, c0, c1, c2, c3 = np.moveaxis(table.entries[np.searchsorted(table.knots, within, "right")], -1, 0)
        s = within - o
        found = c0 + s * (c1 + s * (c2 + s * c3))
        return float(found) if found.ndim == 0 else found

    @cached_property
    def table(self) -> LookupTable:
        """The knots, and for each stretch its origin and the four coefficients of its cubic."""
        x, y = np.array(self.times), np.array(self.values)
        h = np.diff(x)
        d = np.diff(y) / h
        s = _slopes(h, d, self.ends)
        c2 = (3 * d - 2 * s[:-1] - s[1:]) / h
        c3 = (s[:-1] + s[1:] - 2 * d) / h**2
        pieces = np.column_stack([x[:-1], y[:-1], s[:-1], c2, c3])
        if self.ends == "periodic":  # rounding may lead beyond the ends
            below, above = pieces[-1].copy(), pieces[0].copy()
            below[0] -= self._period
            above[0] += self._period
        else:
            below, above = np.array([x[0], y[0], s[0], 0, 0]), np.array([x[-1], y[-1], s[-1], 0, 0])
        return LookupTable(x, np.vstack([below, pieces, above]))

    @property
    def _period(self) -> float:
        return self.times[-1] - self.times[0] if self.ends == "periodic" else 0.0

    def _expression(self, x: ca.SX) -> ca.SX:
        if x.shape != (1, 1):
            raise ModelError(f"a spline takes one expression, not one of shape {x.shape}")
        if self._period:
            x = x - self._period * ca.floor((x - self.times[0]) / self._period)
        o, c0, c1, c2, c3 = ca.vertsplit(self.piece(x))
        s = x - o
        return ca.SX(c0 + s * (c1 + s * (c2 + s * c3)))

    def piece(self, x: ca.SX) -> ca.SX:
        """Return origin and coefficients (5) of the piece at an expression, which a periodic spline takes as it is.

        >>> Spline([0.0, 1.0], [2.0, 5.0]).piece(ca.SX.sym("t")).shape
        (5, 1)
        """
        key = self, hash(x)
        if key not in _PIECES:
            while len(_PIECES) >= _KEPT:
                del _PIECES[next(iter(_PIECES))]  # it is full
            _PIECES[key] = x, picked(self._lookup, x)
        return _PIECES[key][1]

    @cached_property
    def _lookup(self) -> ca.Function:
        return lookup(self.table)


def spline_of(table: LookupTable) -> Spline | None:
    """Return the spline that a table belongs to, if there is one.

    >>> spline_of(Spline([0, 1, 3], [2, 0, 1]).table)
    Spline(times=(0.0, 1.0, 3.0), values=(2.0, 0.0, 1.0), ends='natural')
    """
    if table.entries.shape[1] != 5:
        return None
    values = table.entries[1:, 1].tolist()
    for ends in ENDS:
        last = values[0] if ends == "periodic" else values[-1]
        try:
            found = Spline(table.knots.tolist(), [*values[:-1], last], ends)
        except ModelError:
            continue
        if found.table.numbers.tobytes() == table.numbers.tobytes():
            return found
    return None


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


def _numbers(given: object, what: str) -> Array:
    try:
        array = np.array(None) if masked(given) else np.asarray(given)
    except Exception:
        array = np.array(None)
    if array.dtype.kind not in "fiu" or array.ndim != 1:
        raise ModelError(f"the {what} of a spline must be numbers in a row, got {shown(given)}")
    if not np.isfinite(array).all():
        raise ModelError(f"the {what} of a spline must be finite")
    return array.astype(np.float64)
