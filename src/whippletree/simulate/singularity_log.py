"""Singular positions are noted as they are passed: time and configuration.

A passage is seen by the signs of the pivots, which at the end of a step are not those at its beginning: it is looked
for in between. If stages were as good as at a singular position and no sign changes, it is noted when the motion has
left it.

What is noted may also be a position where only the choice of coordinates is singular. That is sorted out afterwards.
"""

from __future__ import annotations

import numpy as np

from whippletree.simulate.kernel_calls import (
    NEGATIVE,
    PIVOT,
    RATES,
    SMALLEST,
    SMALLEST_AT,
    ZERO,
    KernelBuffers,
    call,
    coordinates_to_blame,
    copy,
    not_inlined,
    regularity,
)
from whippletree.simulate.native_functions import bare, by_address, inner
from whippletree.simulate.native_structs import Numbers, NumberTable
from whippletree.simulate.run_state import (
    CROSS_BELOW,
    EVALUATIONS,
    LAST_PIVOT,
    NEGATIVE_PIVOTS,
    PENDING,
    PENDING_AT,
    SINGULAR_FOUND,
    TIME,
    RunState,
)
from whippletree.simulate.run_tolerances import (
    CROSSING_SHARE,
    DECIDING_LOOKS,
    LOCATING_HALVINGS,
    POOR_SHARE,
    TURNED_AT_SHARE,
)
from whippletree.simulate.zero_crossings import state_within

__all__ = [
    "keep_pivot_signs",
    "keep_step",
    "locate_singular",
    "log_passage",
    "log_singular",
    "look_back_along",
    "only_coordinates",
    "over_singular",
    "parabola",
    "pivots_changed_sign",
    "recall_step",
    "singular_ahead",
]


@bare
def log_singular(b: KernelBuffers, run: RunState, t: float, q: Numbers, at: int) -> None:
    """Note a singular position, once; until the next step, the signs of pivots tell nothing new."""
    row = run.singular_found[run.counts[SINGULAR_FOUND]]
    row[0] = t
    copy(row, ZERO + 1, q, at, b.q.size)
    run.counts[SINGULAR_FOUND] += 1
    run.times[PENDING] = -1.0 if min(run.times[PENDING], b.pivots[SMALLEST]) < POOR_SHARE else np.inf
    run.times[NEGATIVE_PIVOTS] = -1.0


@bare
def log_passage(b: KernelBuffers, run: RunState) -> None:
    """Note a singular position that stages of a step were near, when the motion has left it, unless it is noted."""
    times, kept = run.times, run.last_step
    at = kept.size - b.q.size
    if b.pivots[SMALLEST] < POOR_SHARE:
        if b.pivots[SMALLEST] < times[PENDING]:
            times[PENDING], times[PENDING_AT] = b.pivots[SMALLEST], b.pivots[SMALLEST_AT]
            copy(kept, at, b.nearest, ZERO, b.q.size)
    else:
        if 0.0 <= times[PENDING] < TURNED_AT_SHARE:
            log_singular(b, run, times[PENDING_AT], kept, at)
        times[PENDING] = np.inf


@bare
def keep_step(run: RunState, t: float, h: float, new: Numbers) -> None:
    """Keep a step from `run.q` and `run.y` to `new`, to look back at it from the next one."""
    nq, y, kept = run.q.size, run.y, run.last_step
    kept[0], kept[1] = t, h
    copy(kept, ZERO + 2, run.q, ZERO, nq)
    copy(kept, 2 + nq, y, ZERO, y.size)
    copy(kept, 2 + nq + y.size, new, ZERO, y.size)


@bare
def recall_step(run: RunState, q: Numbers, y: Numbers, new: Numbers) -> tuple[float, float]:
    """Put the last step into q, y and new; return its time and its size."""
    nq, kept = run.q.size, run.last_step
    copy(q, ZERO, kept, ZERO + 2, nq)
    copy(y, ZERO, kept, 2 + nq, y.size)
    copy(new, ZERO, kept, 2 + nq + y.size, y.size)
    return kept[0], kept[1]


@bare
def pivots_changed_sign(b: KernelBuffers, run: RunState) -> bool:
    """Tell whether pivots have changed their signs since they were last seen."""
    return bool(run.times[NEGATIVE_PIVOTS] >= 0.0 and b.pivots[NEGATIVE] != run.times[NEGATIVE_PIVOTS])


@bare
def keep_pivot_signs(b: KernelBuffers, run: RunState) -> None:
    """Keep the signs of pivots at the present state, just evaluated, to compare others with."""
    run.times[NEGATIVE_PIVOTS] = b.pivots[NEGATIVE]


@bare
def _rates_within(b: KernelBuffers, P: NumberTable, t: float, h: float, s: float, q: Numbers, row: Numbers) -> None:
    """Evaluate the rates at a share s of a step; for P and q see `zero_crossings`."""
    nq, nv, nz = b.q.size, b.v.size, b.z.size
    state_within(b, P, t, h, s, q, ZERO, row)
    copy(b.here, ZERO, row, ZERO, nq)
    copy(b.v, ZERO, row, nq, nv)
    copy(b.z, ZERO, row, nq + nv, nz)
    b.t[0] = t + s * h
    call(b.kernels[RATES])


@by_address
def only_coordinates(
    b: KernelBuffers, run: RunState, P: NumberTable, t: float, h: float, q: Numbers, negative: float
) -> bool:
    """Tell whether signs of pivots change within a step because of the choice of coordinates alone.

    `negative` pivots are below zero at its beginning. The place of the change is looked for until the closures are seen
    to be regular there. For P and q see `zero_crossings`.
    """
    not_inlined()
    nq, nv, nz = b.q.size, b.v.size, b.z.size
    row, at = np.empty(nq + run.y.size - nv), nv + nz
    low, high, below, above = 0.0, 1.0, 0.0, 0.0
    for i in range(DECIDING_LOOKS):
        s = 0.5 * (low + high)
        if below * above < 0.0 and i % 2 == 0:
            s = (low * above - high * below) / (above - below)
        _rates_within(b, P, t, h, s, q, row)
        run.counts[EVALUATIONS] += 1
        share = b.rates[at]
        if coordinates_to_blame(b, share):
            return True
        if b.rates[at + 1] == negative:
            low, below = s, share
        else:
            high, above = s, share
    return False


@by_address
def locate_singular(
    b: KernelBuffers, run: RunState, P: NumberTable, t: float, h: float, q: Numbers, end: float
) -> None:
    """Note where in a step pivots change their signs, by halving, if they do and not after its end.

    For P and q see `zero_crossings`.
    """
    not_inlined()
    nq, nv, nz, before = b.q.size, b.v.size, b.z.size, -1.0
    row = np.empty(nq + run.y.size - nv)
    low, high = 0.0, 1.0
    for i in range(LOCATING_HALVINGS + 2):
        s = float(i) if i < 2 else 0.5 * (low + high)
        _rates_within(b, P, t, h, s, q, row)
        if i == 0:
            before = b.rates[nv + nz + 1]
        elif b.rates[nv + nz + 1] != before:
            high = s
        elif i == 1:
            return
        else:
            low = s
    run.counts[EVALUATIONS] += LOCATING_HALVINGS
    when = t + 0.5 * (low + high) * h
    if when <= end:
        log_singular(b, run, when, row, ZERO)


@inner
def parabola(h: float, y: Numbers, new: Numbers, nv: int) -> NumberTable:
    """Return the states within a step as a polynomial: displacements by a parabola, the rest straight on."""
    not_inlined()
    P = np.zeros((3, y.size))
    for i in range(y.size):
        P[0, i] = y[i] if i >= nv else 0.0
        P[1, i] = h * y[nv + i] if i < nv else new[i] - y[i]
        P[2, i] = new[i] - P[1, i] if i < nv else 0.0
    return P


@bare
def singular_ahead(b: KernelBuffers, run: RunState, before: float, nearest: float) -> bool:
    """Tell whether a step, whose end is just evaluated, comes near to a singular position of the mechanism.

    `before` is the share of a pivot at its beginning, `nearest` the one up to which the method goes. Where it hands
    over does not depend on its steps, so that it keeps its order: what is left of the way is crossed at once.
    """
    now, times = b.pivots[PIVOT], run.times
    if abs(before) > 1.2 * CROSSING_SHARE:
        times[CROSS_BELOW] = CROSSING_SHARE
    if not (now * before > 0.0 and abs(now) < min(nearest, abs(before))):
        return False
    times[LAST_PIVOT] = 0.0
    return bool(regularity(b) < 2.0 * abs(now))


@inner
def over_singular(b: KernelBuffers, run: RunState, h: float, new: Numbers) -> bool:
    """Tell whether a step to `new`, just evaluated, goes over a singular position of the mechanism."""
    not_inlined()
    if not pivots_changed_sign(b, run):
        return False
    P = parabola(h, run.y, new, b.v.size)
    return not only_coordinates(b, run, P, run.times[TIME], h, run.q, run.times[NEGATIVE_PIVOTS])


@inner
def look_back_along(b: KernelBuffers, run: RunState) -> None:
    """Log a singular position that the last step went over, by its parabola; the present state is just evaluated."""
    not_inlined()
    if pivots_changed_sign(b, run):
        now, q = b.q.copy(), np.empty(b.q.size)
        y, new = np.empty(run.y.size), np.empty(run.y.size)
        t, h = recall_step(run, q, y, new)
        P = parabola(h, y, new, b.v.size)
        if not only_coordinates(b, run, P, t, h, q, run.times[NEGATIVE_PIVOTS]):
            locate_singular(b, run, P, t, h, q, np.inf)
        copy(b.q, ZERO, now, ZERO, q.size)
    keep_pivot_signs(b, run)
