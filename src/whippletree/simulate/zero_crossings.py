"""Events within a step: zero crossings of the watched expressions, looked for and located in machine code.

A step hands over its dense output as a polynomial P in the share s of the step: y(s) = sum_p P[p] s^p, from the
configuration q at its beginning. If it is across a singular position, P has its values at the nodes (see
`collocation_crossing`), of which there are more than any other polynomial has coefficients.

The expressions are sampled at seven places, both ends and next to them among these. Where a sample is nearer to zero
than its neighbours, a parabola says whether a closer look is worth while: so two crossings in one step are found as
well. A change of sign is located by the Illinois method until the bracket is as short as rounding allows, with states
that are closed onto the loops, and crossings count in the order of their times.

Every expression is on a side of zero, which changes only by a crossing. So it is known also for one that is zero to
rounding where a step begins, since an event has just ended the step before: if it turns back at once, it crosses at
once, and that counts. Only what is zero where a run begins is on no side until the first sample after it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from whippletree.simulate.collocation_crossing import RULE, interpolate
from whippletree.simulate.kernel_calls import (
    ZERO,
    KernelBuffers,
    call,
    close_loops,
    copy,
    displace,
    nearly_closed,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import by_address, inner
from whippletree.simulate.native_structs import Address, NativeStruct, Numbers, NumberTable, Words
from whippletree.simulate.run_tolerances import (
    BEGINNING_HALVINGS,
    CLOSED_WITHIN_STEP,
    DIP_LOOKS,
    DIP_SHARE,
    NUMBER_HALVINGS,
    SAMPLE_AT_ENDS,
    SIMULTANEOUS,
)
from whippletree.simulate.runge_kutta_stages import Method

__all__ = [
    "AT_ZERO",
    "CLOSED",
    "CLOSED_IF_NEEDED",
    "NO_NUMBER",
    "EventWatch",
    "dip",
    "evaluate_row",
    "find_crossings",
    "polynomial",
    "sample",
    "state_within",
]

CLOSED = 1
"""States within a step are put on the closures."""

CLOSED_IF_NEEDED = 2
"""The same, but those that are as good as on them, next to a singular position, stay as they are."""

NO_NUMBER = 2
"""The side of an expression that is not a number any more: the run ends there."""

AT_ZERO = 2
"""What passes zero together with an event that ends a step: its side is known, its value is rounding."""

_SAMPLES = np.array([0.0, SAMPLE_AT_ENDS, 0.25, 0.5, 0.75, 1.0 - SAMPLE_AT_ENDS, 1.0])


class Watched(Protocol):
    """Expressions that are evaluated within a step: of events, or of corners."""

    @property
    def kernel(self) -> Words: ...
    @property
    def values(self) -> Numbers: ...


class EventWatch(NativeStruct):
    """What is watched, and what was found.

    A row of `found` is [which, t, q, v, z, work]. `counts`: rows filled, and whether an acting event ended the step.
    """

    kernel: Words  # (6,) the kernel that evaluates the expressions at `here`, v, z, t
    values: Numbers  # (n,) what it writes
    side: Words  # (n,) 1 above zero, -1 below, 0 not known yet, or NO_NUMBER
    fresh: Words  # (n,) 1 in the first step of a run; AT_ZERO where an event has just ended a step
    wanted: Words  # (n,) 1 rising, -1 falling, 0 both
    acts: Words  # (n,) 1 if the run does not simply go on
    counts: Words  # (2,)
    found: NumberTable
    corners: Address  # of the struct `CornerWatch`, or zero


@inner
def polynomial(method: Method, h: float, y: Numbers, new: Numbers, k: NumberTable) -> NumberTable:
    """Return the dense output of a Runge-Kutta step as a polynomial; without one, the straight line."""
    not_inlined()
    stages, powers = method.dense.shape
    P = np.zeros((max(powers, 1) + 1, y.size))
    for n in range(y.size):
        P[0, n] = y[n]
        if stages == 0:
            P[1, n] = new[n] - y[n]
        for p in range(powers):
            total = 0.0
            for j in range(stages):
                total += method.dense[j, p] * k[j, n]
            P[p + 1, n] = h * total
    return P


@by_address
def state_within(
    b: KernelBuffers, P: NumberTable, t: float, h: float, s: float, q: Numbers, closed: int, row: Numbers
) -> bool:
    """Write the state at a share of the step into a row [q, v, z, work], and tell whether its loops could be closed.

    Without q, P is of coordinates themselves; `closed` says what is done about the loops, zero is nothing.
    """
    not_inlined()
    nq, nv, size = b.q.size, b.v.size, P.shape[1]
    y, unused = np.empty(size), np.empty(nv)
    if P.shape[0] == RULE.c.size:
        interpolate(RULE, s, P, y)
    else:
        for n in range(size):
            total = 0.0
            for p in range(P.shape[0] - 1, -1, -1):
                total = total * s + P[p, n]
            y[n] = total
    if q.size:
        copy(b.q, ZERO, q, ZERO, nq)
        displace(b, y, nv, unused)
        copy(row, ZERO, b.here, ZERO, nq)
        copy(row, nq, y, nv, size - nv)
    else:
        copy(row, ZERO, y, ZERO, size)
    normalize(b, row, ZERO)
    if closed == CLOSED or (closed == CLOSED_IF_NEEDED and not nearly_closed(b, t + s * h, row)):
        return bool(close_loops(b, t + s * h, row, ZERO, row, nq, CLOSED_WITHIN_STEP))
    return True


@inner
def evaluate_row(b: KernelBuffers, w: Watched, t: float, row: Numbers) -> None:
    """Evaluate the expressions at a row."""
    not_inlined()
    nq, nv = b.q.size, b.v.size
    copy(b.here, ZERO, row, ZERO, nq)
    copy(b.v, ZERO, row, nq, nv)
    copy(b.z, ZERO, row, nq + nv, b.z.size)
    b.t[0] = t
    call(w.kernel)


@inner
def sample(
    b: KernelBuffers, w: Watched, P: NumberTable, t: float, h: float, s: float, q: Numbers, closed: int, row: Numbers
) -> bool:
    """Evaluate the expressions at a share of the step."""
    not_inlined()
    good = bool(state_within(b, P, t, h, s, q, closed, row))
    evaluate_row(b, w, t + s * h, row)
    return good


@inner
def dip(
    b: KernelBuffers,
    w: Watched,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    i: int,
    x: Numbers,
    g: Numbers,
) -> float:
    """Return a share between x[0] and x[2] at which expression i is beyond zero, or -1; it is nearest to it at x[1]."""
    not_inlined()
    a, m, c = x[0], x[1], x[2]
    sign = 1.0 if g[1] > 0 else -1.0
    ga, gm, gc = sign * g[0], sign * g[1], sign * g[2]
    for _ in range(DIP_LOOKS):
        # the vertex of the parabola through three points
        left, right = (gm - ga) / (m - a), (gc - gm) / (c - m)
        bend = (right - left) / (c - a)
        if not bend > 0:
            return -1.0
        s = 0.5 * (a + m) - 0.5 * left / bend
        low = gm + (s - m) * (left + bend * (s - a)) if s != m else gm
        if not (a < s < c) or low > DIP_SHARE * gm or abs(s - m) < 1e-9 * (c - a):
            return -1.0
        sample(b, w, P, t, h, s, q, ZERO, row)
        gs = sign * w.values[i]
        if gs < 0:
            return float(s)
        if not gs < gm:
            if s < m:
                a, ga = s, gs
            else:
                c, gc = s, gs
        elif s < m:
            c, gc, m, gm = m, gm, s, gs
        else:
            a, ga, m, gm = m, gm, s, gs
    return -1.0


@inner
def _shortest(t: float, h: float) -> float:
    """Return the smallest share of a step that rounding of times leaves."""
    return 4.0 * max(1.1e-16, 1.1e-16 * abs(t) / h)


@inner
def _locate_zero(
    b: KernelBuffers,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    i: int,
    low: float,
    high: float,
    closed: int,
) -> float:
    """Return the share at which expression i has just passed zero between two shares, or -1 if it does not."""
    not_inlined()
    shortest = _shortest(t, h)
    at_low, at_high, kept, s = 0.0, 0.0, 0, low
    for count in range(200):
        # one call for both ends and everything between them
        if not sample(b, w, P, t, h, s, q, closed, row):
            return -2.0
        value = w.values[i]
        if count == 0:
            at_low, s = value, high
            continue
        if count == 1:
            at_high = value
            if at_low == 0.0:
                return low
            if (at_low > 0) == (at_high > 0) and at_high != 0.0:
                return -1.0
        elif value != 0.0 and (value > 0) == (at_low > 0):
            low, at_low = s, value
            at_high *= 0.5 if kept == 1 else 1.0  # an end that stays twice counts half
            kept = 1
        else:
            high, at_high = s, value
            at_low *= 0.5 if kept == -1 else 1.0
            kept = -1
        if high - low <= shortest or at_high == 0.0:
            break
        s = (low * at_high - high * at_low) / (at_high - at_low)
        if count % 4 == 3 or not (low < s < high):
            s = 0.5 * (low + high)
        s = min(max(s, low + 0.25 * shortest), high - 0.25 * shortest)
    return high


@by_address
def find_crossings(
    b: KernelBuffers, w: EventWatch, P: NumberTable, t: float, h: float, q: Numbers, end: Numbers, closed: int
) -> float:
    """Record what happens within a step that ends at the row `end`; return the share of it that counts.

    That is one, unless an acting event ends the step before; minus one if the loops could not be closed.
    """
    not_inlined()
    count = w.side.size
    row = np.empty(end.size)
    most = _SAMPLES.size + 2 * count * _SAMPLES.size
    x, G = np.empty(most), np.empty((most, count))
    n = _SAMPLES.size
    for k in range(n):
        x[k] = _SAMPLES[k]
        sample(b, w, P, t, h, x[k], q, ZERO, row)
        if k == n - 1:
            evaluate_row(b, w, t + h, end)
        copy(G[k], ZERO, w.values, ZERO, count)
    n = _insert_dips(b, w, P, t, h, q, row, x, G, n)
    where, passed = np.empty(count), np.empty(count)
    for k in range(1, n):
        where[:] = np.inf
        passed[:] = np.inf
        for i in range(count):
            high, side = x[k], 0
            if G[k, i] > 0:
                side = 1
            elif G[k, i] < 0:
                side = -1
            elif np.isnan(G[k, i]) and w.side[i] != 0:
                high = _beyond_zero(b, w, P, t, h, q, row, i, x[k - 1], x[k])
                side = -w.side[i] if high > 0.0 else 0
            if side == 0 or side == w.side[i]:
                continue
            if w.side[i] == 0:
                w.side[i] = side
                continue
            if k == 1 and G[0, i] * w.side[i] <= 0.0:
                s = _locate_return(b, w, P, t, h, q, row, i, high, closed)
            else:
                s = _locate_zero(b, w, P, t, h, q, row, i, x[k - 1], high, closed)
            if s < -1.5:
                return -1.0
            if s < 0.0 and k < n - 1:
                continue  # the closed states do not cross: the sample was off by rounding
            passed[i] = high if s < 0.0 else s
            late = passed[i] * h > 1e-10 * h and passed[i] * h > 1e-13 * abs(t)
            if (w.wanted[i] == 0 or w.wanted[i] == side) and (late or not w.fresh[i]):
                where[i] = passed[i]
        share = _record(b, w, P, t, h, q, row, where, passed, closed)
        if share != 1.0 or w.counts[1]:
            return float(share)
        if _not_numbers(w, G[k]):
            return 1.0
    for i in range(count):
        w.fresh[i] = 0
    return 1.0


@inner
def _not_numbers(w: EventWatch, values: Numbers) -> bool:
    """Mark expressions that are not numbers at a sample; tell whether there are any."""
    found = False
    for i in range(values.size):
        if np.isnan(values[i]):
            w.side[i] = NO_NUMBER
            found = True
    return found


@inner
def _beyond_zero(
    b: KernelBuffers,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    i: int,
    low: float,
    high: float,
) -> float:
    """Return a share at which expression i is beyond zero, before it is not a number at `high`; -1 if there is none."""
    not_inlined()
    for _ in range(NUMBER_HALVINGS):
        s = 0.5 * (low + high)
        sample(b, w, P, t, h, s, q, ZERO, row)
        if w.values[i] * w.side[i] < 0.0:
            return float(s)
        if np.isnan(w.values[i]):
            high = s
        else:
            low = s
    return -1.0


@inner
def _locate_return(
    b: KernelBuffers,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    i: int,
    high: float,
    closed: int,
) -> float:
    """Return the share at which expression i, zero to rounding where the step begins, comes back from its own side.

    At the share `high` it has. A share at which it is on its own side is looked for, nearer and nearer to the
    beginning. If there is none, it has never left: it passes zero at the beginning.
    """
    not_inlined()
    for _ in range(BEGINNING_HALVINGS):
        low = 0.5 * high
        sample(b, w, P, t, h, low, q, ZERO, row)
        if w.values[i] * w.side[i] > 0.0:
            return float(_locate_zero(b, w, P, t, h, q, row, i, low, high, closed))
        high = low
    return 0.0


@inner
def _insert_dips(
    b: KernelBuffers,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    x: Numbers,
    G: NumberTable,
    n: int,
) -> int:
    """Insert samples where an expression goes beyond zero and comes back between two others."""
    not_inlined()
    count = G.shape[1]
    near, values = np.empty(3), np.empty(3)
    for i in range(count):
        k = 1
        while k < n - 1:
            g = G[k, i]
            same = (g > 0 and G[k - 1, i] > 0 and G[k + 1, i] > 0) or (g < 0 and G[k - 1, i] < 0 and G[k + 1, i] < 0)
            if same and abs(g) <= abs(G[k - 1, i]) and abs(g) <= abs(G[k + 1, i]):
                for j in range(3):
                    near[j], values[j] = x[k - 1 + j], G[k - 1 + j, i]
                s = dip(b, w, P, t, h, q, row, i, near, values)
                if s >= 0.0 and n < x.size:
                    at = k if s < x[k] else k + 1
                    for j in range(n, at, -1):
                        x[j] = x[j - 1]
                        copy(G[j], ZERO, G[j - 1], ZERO, count)
                    sample(b, w, P, t, h, s, q, ZERO, row)
                    x[at] = s
                    copy(G[at], ZERO, w.values, ZERO, count)
                    n += 1
                    k += 1
            k += 1
    return n


@inner
def _record(
    b: KernelBuffers,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    row: Numbers,
    where: Numbers,
    passed: Numbers,
    closed: int,
) -> float:
    """Record the crossings at these shares in order, up to the first that acts; return the share that counts.

    `where` is of those that are events, `passed` of all; up to there, expressions change their sides.
    """
    not_inlined()
    together = max(SIMULTANEOUS, 2.0 * _shortest(t, h))
    stop = np.inf
    for i in range(where.size):
        if w.acts[i]:
            stop = min(stop, where[i])
    first = stop
    for i in range(where.size):
        if passed[i] <= first + together:  # what happens at once happens when the last of it does
            stop = max(stop, passed[i])
    while True:
        earliest = 0
        for i in range(where.size):
            if where[i] < where[earliest]:
                earliest = i
        s = where[earliest]
        if s == np.inf or s > stop:
            break
        where[earliest] = np.inf
        if s >= first - together:
            s = stop
        if not state_within(b, P, t, h, s, q, closed, row):
            return -1.0
        place_ = w.counts[0]
        w.found[place_, 0], w.found[place_, 1] = earliest, t + s * h
        copy(w.found[place_], 2, row, ZERO, row.size)
        w.counts[0] += 1
    for i in range(where.size):
        if passed[i] < np.inf and passed[i] <= stop:
            w.side[i] = -w.side[i]
        if stop < np.inf:
            w.fresh[i] = AT_ZERO if first - together <= passed[i] <= stop else 0
    if stop == np.inf:
        return 1.0
    w.counts[1] = 1
    return stop
