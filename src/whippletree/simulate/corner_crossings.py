"""Corners of formulas within a step: a step that goes over one is taken again, up to it, and a short one leads across.

A step hands over its dense output (see `zero_crossings`). The expressions of the corners are sampled along it. One that
is on another side of zero than at the beginning, or beyond a whole number, has a corner on the way; so has one that
dips through zero and comes back. The first is located, and all expressions are looked at again there: what lies before
it counts. Then the step is taken again so that it ends just before the corner, with all its stages on one side, and a
step of the size `HOP` leads across. So methods keep their order, and what is narrower than a step is not passed over.
"""

from __future__ import annotations

import numpy as np

from whippletree.simulate.kernel_calls import ZERO, KernelBuffers, copy, not_inlined
from whippletree.simulate.native_functions import bare, by_address, cast_to, inner
from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable, Words
from whippletree.simulate.run_state import (
    AT_CORNER,
    CROSSED,
    CUT_STEP,
    GRID_NEXT,
    HOP,
    HOP_SHARE,
    MISSED,
    NEXT_STEP,
    REFUSED,
    RESUMED_STEP,
    STOP_AT,
    TIME,
    RunState,
)
from whippletree.simulate.run_tolerances import (
    CORNER_HOP_GROWTH,
    CORNER_LOOKS,
    CORNER_RECHECKS,
    CORNER_ROUNDING,
    LARGEST_HOP,
    MOST_CUTS,
    SAMPLE_AT_ENDS,
    TIME_ROUNDING,
)
from whippletree.simulate.zero_crossings import EventWatch, dip, evaluate_row, sample

__all__ = ["CornerWatch", "at_corner", "first_corner", "shorten_for_corner", "step_again"]

_NOWHERE = 2.0
_SAMPLES = np.array([0.0, SAMPLE_AT_ENDS, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0 - SAMPLE_AT_ENDS, 1.0])


class CornerWatch(NativeStruct):
    """The expressions whose zeros, or whole numbers, are corners."""

    kernel: Words  # (6,) the kernel that evaluates them at `here`, v, z, t
    values: Numbers  # (n,) what it writes
    whole: Words  # (n,) 1 if corners are at whole numbers
    muted: Words  # (n,) 1 if it is not looked at any more
    last: Words  # (2,) the one that the last step went across, and how often steps were cut for it


corners_at = cast_to(CornerWatch)


@bare
def at_corner(run: RunState) -> bool:
    """Tell whether the last step has come to a corner in time, or went across another."""
    t = run.times[TIME]
    return bool(run.flags[AT_CORNER] or t + TIME_ROUNDING * abs(t) >= run.times[STOP_AT])


@bare
def _side(value: float, whole: int) -> float:
    """Return on which side of zero a value is, or which whole number it is beyond."""
    if whole:
        return float(np.floor(value))
    return float(np.sign(value))


@inner
def _located(
    b: KernelBuffers,
    c: CornerWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    i: int,
    side: float,
    low: float,
    high: float,
) -> float:
    """Return where expression i has just left its side, between a share where it has not and one where it has."""
    not_inlined()
    shortest = 4.0 * max(1.1e-16, 1.1e-16 * abs(t) / h)
    for _ in range(CORNER_LOOKS):
        if high - low <= shortest:
            break
        s = 0.5 * (low + high)
        sample(b, c, P, t, h, s, q, ZERO, row)
        found = _side(c.values[i], c.whole[i])
        if found != side and (c.whole[i] or found != 0.0):
            high = s
        else:
            low = s
    return float(high)


@by_address
def first_corner(
    b: KernelBuffers, w: EventWatch, P: NumberTable, t: float, h: float, q: Numbers, end: Numbers
) -> float:
    """Return the share of a step, which ends at the row `end`, where it has just passed its first corner; two if none.

    The corner's number is then in `CornerWatch.last`.
    """
    not_inlined()
    c = corners_at(w.corners)
    count, n, row = c.values.size, _SAMPLES.size, np.empty(end.size)
    G, side, near, around = np.empty((n, count)), np.empty(count), np.empty(3), np.empty(3)
    for k in range(n):
        if k == n - 1:
            evaluate_row(b, c, t + h, end)
        else:
            sample(b, c, P, t, h, _SAMPLES[k], q, ZERO, row)
        copy(G[k], ZERO, c.values, ZERO, count)
    first = _NOWHERE
    for i in range(count):
        side[i] = _side(G[0, i], c.whole[i])
        if c.muted[i]:
            continue
        known = 0
        while known < n - 1 and not c.whole[i] and side[i] == 0.0:  # it begins on the corner itself
            known += 1
            side[i] = _side(G[known, i], ZERO)
        for k in range(known + 1, n):
            if _SAMPLES[k - 1] >= first:
                break
            found, at = _side(G[k, i], c.whole[i]), -1.0
            if found != side[i] and (c.whole[i] or found != 0.0):
                at = _SAMPLES[k]
            elif not c.whole[i] and k < n - 1 and _nearest(G, k, i):
                for j in range(3):
                    near[j], around[j] = _SAMPLES[k - 1 + j], G[k - 1 + j, i]
                at = dip(b, c, P, t, h, q, row, i, near, around)
            if at >= 0.0:
                s = _located(b, c, P, t, h, q, row, i, side[i], _SAMPLES[k - 1], at)
                if s < first:
                    first, c.last[0] = s, i
                break
    for _ in range(CORNER_RECHECKS):
        if first >= _NOWHERE or not _earlier(b, c, P, t, h, q, row, side, first):
            break
        first = _located(b, c, P, t, h, q, row, c.last[0], side[c.last[0]], 0.0, first)
    return first


@bare
def _nearest(G: NumberTable, k: int, i: int) -> bool:
    """Tell whether a value is nearer to zero than its neighbours, all on the same side."""
    before, value, after = G[k - 1, i], G[k, i], G[k + 1, i]
    same = (value > 0 and before > 0 and after > 0) or (value < 0 and before < 0 and after < 0)
    return bool(same and abs(value) <= abs(before) and abs(value) <= abs(after))


@inner
def _earlier(
    b: KernelBuffers,
    c: CornerWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    side: Numbers,
    s: float,
) -> bool:
    """Tell whether another expression has left its side at a share too; its number is then the last."""
    not_inlined()
    sample(b, c, P, t, h, s, q, ZERO, row)
    for i in range(side.size):
        found = _side(c.values[i], c.whole[i])
        if i != c.last[0] and not c.muted[i] and side[i] != 0.0 and found != side[i] and (c.whole[i] or found != 0.0):
            c.last[0] = i
            return True
    return False


@bare
def step_again(
    b: KernelBuffers, run: RunState, w: EventWatch, P: NumberTable, t: float, h: float, q: Numbers, end: Numbers
) -> bool:
    """Tell whether a step goes over a corner and is to be taken again; its size is then `CUT_STEP`."""
    times = run.times
    s = first_corner(b, w, P, t, h, q, end)
    if s > 1.0:
        if times[CUT_STEP] > 0.0:
            largest = LARGEST_HOP * times[RESUMED_STEP]
            times[CUT_STEP] = times[HOP] if h > largest else max(times[HOP], CORNER_HOP_GROWTH * h)
            if times[CUT_STEP] > largest:  # the corner is not there any more
                times[HOP] = times[CUT_STEP] = 0.0
                run.flags[AT_CORNER] = MISSED
        return False
    if times[HOP] > 0.0 and h <= 2.0 * times[HOP]:
        times[HOP] = times[CUT_STEP] = 0.0
        run.flags[AT_CORNER] = CROSSED
        return False
    return bool(shorten_for_corner(run, w, s * h, t, h))


@bare
def shorten_for_corner(run: RunState, w: EventWatch, to_corner: float, t: float, h: float) -> bool:
    """Let a step of size h be taken again, up to a corner so far ahead, unless that was done too often for one."""
    times, cuts = run.times, corners_at(w.corners).last
    cuts[1] = cuts[1] + 1 if times[HOP] > 0.0 else 0
    if cuts[1] > MOST_CUTS:
        times[HOP] = times[CUT_STEP] = 0.0
        run.flags[AT_CORNER] = MISSED
        return False
    if times[HOP] == 0.0:
        times[HOP] = max(times[HOP_SHARE] * h, CORNER_ROUNDING * TIME_ROUNDING * abs(t))
        times[RESUMED_STEP], times[GRID_NEXT] = max(times[NEXT_STEP], h), t + h
    times[CUT_STEP] = max(to_corner - 0.5 * times[HOP], times[HOP])
    run.counts[REFUSED] += 1
    return True
