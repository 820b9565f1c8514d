"""Times at which formulas of time have corners: they are found before a run comes there.

Between the corners that are known already, an expression of time is often a straight line: then its zero, or all its
whole numbers, are known by two of its values. So are the knots of a spline or a table that is asked at a straight line.
Otherwise it is sampled, and corners that lie closer together than the samples may be missed; `Timetable.spacing` tells
how far these are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from whippletree.elements.formula_corners import before_knots
from whippletree.kernels.kernel import Array
from whippletree.model.formula_corner_lists import CornersInTime
from whippletree.simulate.run_tolerances import MOST_CORNER_TIMES, TIME_ROUNDING, TIME_SAMPLES

__all__ = ["Timetable", "corner_times"]

_PROBES = np.array([0.02, 0.13, 0.29, 0.5, 0.71, 0.87, 0.98])
_STRAIGHT = 1e-9
"""The share of its range by which a straight line may miss a value."""

_HALVINGS = 80
"""Halvings of a step that reach neighbouring numbers."""


class Timetable(NamedTuple):
    """Corners in time up to a horizon: the last before each time and the first behind it, and the unknown ones."""

    before: Array
    behind: Array
    spacing: float  # of the samples where an expression is not straight; zero if all are
    too_many: tuple[str, ...]  # elements with more corners than can be listed


def corner_times(uses: Sequence[CornersInTime], parameters: Array, begin: float, end: float) -> Timetable:
    """Return the corners after `begin` and not after `end`.

    >>> t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
    >>> both = ca.Function("f", [t, p], [ca.vertcat(t - 5, t - 5.01)])
    >>> pulse = CornersInTime("pulse", both, (False, False), ((), ()))
    >>> corner_times([pulse], np.zeros(0), 0.0, 100.0).behind.round(6).tolist()
    [5.0, 5.01]
    """
    found: list[Array] = []
    spacing, too_many = 0.0, []
    for use in uses:
        own = np.zeros(0)
        for i, (whole, knots) in enumerate(zip(use.whole, use.knots, strict=True)):
            one = _TimeExpression(use.function, i, parameters, whole, np.array(knots))
            times, apart = _of_one(one, _pieces(own, begin, end))
            spacing = max(spacing, apart)
            own = np.unique(np.append(own, times))
            if own.size > MOST_CORNER_TIMES:
                too_many.append(use.name)
                own = np.zeros(0)
                break
        found.append(own)
    times = np.unique(np.concatenate([np.zeros(0), *found]))
    margin = TIME_ROUNDING * np.abs(times) + 1e-300
    kept = np.append(True, np.diff(times) > 4 * margin[1:])[: times.size]
    return Timetable((times - margin)[kept], (times + margin)[kept], spacing, tuple(too_many))


class _TimeExpression(NamedTuple):
    """One expression of time: its values, and on which side of its corners these are."""

    function: ca.Function
    entry: int
    parameters: Array
    whole: bool
    knots: Array

    def values(self, t: Array) -> Array:
        flat = t.ravel()
        columns = self.function(ca.DM(flat[None, :]), ca.DM(np.repeat(self.parameters[:, None], flat.size, axis=1)))
        return np.asarray(np.asarray(columns)[self.entry].reshape(t.shape), dtype=np.float64)

    def sides(self, values: Array) -> Array:
        return np.asarray(np.floor(values) if self.whole else np.sign(values))


def _pieces(corners: Array, begin: float, end: float) -> Array:
    """Return where the stretches between corners begin and end (n, 2)."""
    edges = np.concatenate([[begin], corners[(corners > begin) & (corners < end)], [end]])
    return np.column_stack([edges[:-1], edges[1:]])


def _of_one(one: _TimeExpression, pieces: Array) -> tuple[Array, float]:
    """Return the corners of one expression, and how far apart it was sampled."""
    low, length = pieces[:, :1], np.diff(pieces, axis=1)
    values = one.values(low + length * _PROBES)
    if one.knots.size:
        values = before_knots(values, one.knots)
    slope = (values[:, -1:] - values[:, :1]) / (_PROBES[-1] - _PROBES[0])
    line = values[:, :1] + slope * (_PROBES - _PROBES[0])
    size = np.abs(values).max(axis=1) + np.abs(slope[:, 0])
    with np.errstate(invalid="ignore"):
        straight = np.abs(values - line).max(axis=1) <= _STRAIGHT * np.maximum(size, 1e-300)
    found = [_straight_corners(one, pieces[straight], line[straight], slope[straight, 0])]
    if straight.all():
        return np.concatenate(found), 0.0
    curved = pieces[~straight]
    each = max(16, TIME_SAMPLES // len(curved))
    shares = np.linspace(0.0, 1.0, each + 1)
    found += [_sampled_corners(one, a + (b - a) * shares) for a, b in curved]
    return np.concatenate(found), float((curved[:, 1] - curved[:, 0]).max() / each)


def _straight_corners(one: _TimeExpression, pieces: Array, line: Array, slope: Array) -> Array:
    """Return the corners of an expression on stretches on which it is straight."""
    moving = slope != 0.0
    (low, high), slope = pieces[moving].T, slope[moving]
    start = line[moving, 0] - _PROBES[0] * slope
    if one.knots.size:
        which = np.repeat(np.arange(len(slope)), one.knots.size)
        wanted = np.tile(one.knots, len(slope))
    elif not one.whole:
        wanted, which = np.zeros(len(slope)), np.arange(len(slope))
    else:
        first, last = np.ceil(np.minimum(start, start + slope)), np.floor(np.maximum(start, start + slope))
        count = np.maximum(last - first + 1, 0)
        if count.sum() > MOST_CORNER_TIMES:
            return np.arange(MOST_CORNER_TIMES + 1.0)
        which = np.repeat(np.arange(len(slope)), count.astype(np.int64))
        wanted = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count.astype(np.int64))
    share = (wanted - start[which]) / slope[which]
    inside = (share > 0.0) & (share <= 1.0)
    which, share = which[inside], share[inside]
    length = (high - low)[which]
    t, room = low[which] + share * length, 1e-9 * length
    return _narrowed(one, np.maximum(t - room, low[which]), np.minimum(t + room, high[which]))


def _sampled_corners(one: _TimeExpression, t: Array) -> Array:
    """Return the corners between samples of which two neighbours are on different sides."""
    sides = one.sides(one.values(t))
    k = np.flatnonzero(sides[1:] != sides[:-1])
    return _narrowed(one, t[k], t[k + 1])


def _narrowed(one: _TimeExpression, low: Array, high: Array) -> Array:
    """Return the first numbers at which an expression has left the side that it is on at `low`."""
    if not low.size:
        return low
    side = one.sides(one.values(low))
    gone = one.sides(one.values(high)) != side
    low, high, side = low[gone], high[gone], side[gone]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not ((middle > low) & (middle < high)).any():
            break
        left: npt.NDArray[np.bool_] = one.sides(one.values(middle)) != side
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    return high
