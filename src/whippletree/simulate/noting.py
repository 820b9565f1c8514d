"""Singular positions are noted as they are passed: time and configuration.

A passage is seen by the signs of the pivots, which at the end of a step are not those at its beginning: it is looked
for in between. If stages were as good as at a singular position and no sign changes, it is noted when the motion has
left it.

What is noted may also be a position where only the choice of coordinates is singular. That is sorted out afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.simulate.bundles import Numbers, NumberTable
from whippletree.simulate.course import EVALUATIONS, PASSED, PENDING, PENDING_AT, SIGNS, Course
from whippletree.simulate.crossings import state_within
from whippletree.simulate.moves import LEAST, LEAST_AT, NEGATIVE, RATES, ZERO, Buffers, apart, call, copy
from whippletree.simulate.rates import POOR_SHARE
from whippletree.simulate.routines import bare, routine

__all__ = [
    "kept_size",
    "locate",
    "note",
    "note_passage",
    "recall",
    "remember",
    "seen",
    "stepped_over",
]

_AT_SHARE = 1e-5  # so near, and no change of signs: it was there and turned
_HALVINGS = 24  # to find where a step went over a singular position


def kept_size(nq: int, size: int) -> int:
    """Return how many numbers are kept of a step in which y has this size, and of where it was nearest.

    >>> kept_size(1, 4)
    12
    """
    return 2 + 2 * nq + 2 * size


@bare
def note(b: Any, course: Any, t: float, q: Any, at: int) -> None:
    """Note a singular position, once; until the next step, the signs of pivots tell nothing new."""
    row = course.passed[course.counts[PASSED]]
    row[0] = t
    copy(row, ZERO + 1, q, at, b.q.size)
    course.counts[PASSED] += 1
    course.times[PENDING] = -1.0 if min(course.times[PENDING], b.least[LEAST]) < POOR_SHARE else np.inf
    course.times[SIGNS] = -1.0


@bare
def note_passage(b: Any, course: Any) -> None:
    """Note a singular position that stages of a step were near, when the motion has left it, unless it is noted."""
    times, kept = course.times, course.kept
    at = kept.size - b.q.size
    if b.least[LEAST] < POOR_SHARE:
        if b.least[LEAST] < times[PENDING]:
            times[PENDING], times[PENDING_AT] = b.least[LEAST], b.least[LEAST_AT]
            copy(kept, at, b.nearest, ZERO, b.q.size)
    else:
        if 0.0 <= times[PENDING] < _AT_SHARE:
            note(b, course, times[PENDING_AT], kept, at)
        times[PENDING] = np.inf


@bare
def remember(b: Any, course: Any, t: float, h: float, q: Any, new: Any) -> None:
    """Keep a step [t, h, q, y, y at its end], to look back at it from the next one."""
    nq, y, kept = b.q.size, course.y, course.kept
    kept[0], kept[1] = t, h
    copy(kept, ZERO + 2, q, ZERO, nq)
    copy(kept, 2 + nq, y, ZERO, y.size)
    copy(kept, 2 + nq + y.size, new, ZERO, y.size)


@bare
def recall(b: Any, course: Any, q: Any, y: Any, new: Any) -> None:
    """Put what is kept of the last step into q, y and new."""
    nq, kept = b.q.size, course.kept
    copy(q, ZERO, kept, ZERO + 2, nq)
    copy(y, ZERO, kept, 2 + nq, y.size)
    copy(new, ZERO, kept, 2 + nq + y.size, y.size)


@bare
def stepped_over(b: Any, course: Any) -> bool:
    """Tell whether pivots have changed their signs since they were last seen."""
    return bool(course.times[SIGNS] >= 0.0 and b.least[NEGATIVE] != course.times[SIGNS])


@bare
def seen(b: Any, course: Any) -> None:
    """Keep the signs of pivots at the present state, just evaluated, to compare others with."""
    course.times[SIGNS] = b.least[NEGATIVE]


@routine
def locate(b: Buffers, course: Course, P: NumberTable, t: float, h: float, q: Numbers, end: float) -> None:
    """Note where in a step pivots change their signs, by halving, if they do and not after its end.

    For P and q see `crossings`.
    """
    apart()
    nq, nv, nz, before = b.q.size, b.v.size, b.z.size, -1.0
    row = np.empty(nq + course.y.size - nv)
    low, high = 0.0, 1.0
    for i in range(_HALVINGS + 2):
        s = float(i) if i < 2 else 0.5 * (low + high)
        state_within(b, P, t, h, s, q, ZERO, row)
        copy(b.here, ZERO, row, ZERO, nq)
        copy(b.v, ZERO, row, nq, nv)
        copy(b.z, ZERO, row, nq + nv, nz)
        b.t[0] = t + s * h
        call(b.wires[RATES])
        if i == 0:
            before = b.rates[nv + nz + 1]
        elif b.rates[nv + nz + 1] != before:
            high = s
        elif i == 1:
            return
        else:
            low = s
    course.counts[EVALUATIONS] += _HALVINGS
    when = t + 0.5 * (low + high) * h
    if when <= end:
        note(b, course, when, row, ZERO)
