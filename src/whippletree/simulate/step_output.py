"""What the steps of all methods share: outputs and events within them, and the run at their end."""

from __future__ import annotations

import numpy as np

from whippletree.simulate.corner_crossings import step_again
from whippletree.simulate.kernel_calls import (
    ZERO,
    KernelBuffers,
    close_loops,
    copy,
    displace,
    nearly_closed,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import bare, by_address
from whippletree.simulate.native_structs import Numbers, NumberTable
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    CLOSING_LARGEST,
    CLOSING_TOTAL,
    CUT_STEP,
    GRID_NEXT,
    GRID_TIME,
    HOP,
    KEEP_EVERY,
    KEEP_NEXT,
    KEPT,
    LONGEST_STEP,
    LOOPS,
    NEXT_STEP,
    OUTPUTS,
    RATES_GIVEN,
    RESUMED_STEP,
    SINGULAR_FOUND,
    STEPS,
    STOP_AT,
    TIME,
    WAY,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import (
    AT_END_OF_STEP,
    CLOSE_ENOUGH,
    CLOSED_WITHIN_STEP,
    GAP_CLOSED,
    LAST_STEP_SLACK,
    TIGHT,
    TIME_ROUNDING,
)
from whippletree.simulate.singularity_log import keep_step
from whippletree.simulate.zero_crossings import CLOSED, CLOSED_IF_NEEDED, EventWatch, find_crossings, state_within

__all__ = [
    "asked_within",
    "close_end",
    "complete_step",
    "deliver",
    "full",
    "keep_present",
    "last_time",
    "record_closing",
    "size_to_end",
    "write_present",
]

_DONE, _OPEN, _NOT_FINITE, _AGAIN = Status.DONE, Status.OPEN, Status.NOT_FINITE, Status.AGAIN


@bare
def write_present(run: RunState, until: Numbers, rows: NumberTable) -> None:
    """Write the outputs that are asked for at the present time, or before it."""
    nq, nv = run.q.size, run.tau.size
    while run.counts[OUTPUTS] < until.size and until[run.counts[OUTPUTS]] <= run.times[TIME]:
        row = rows[run.counts[OUTPUTS]]
        copy(row, ZERO, run.q, ZERO, nq)
        copy(row, nq, run.y, nv, run.y.size - nv)
        run.counts[OUTPUTS] += 1


@bare
def size_to_end(run: RunState, until: Numbers) -> float:
    """Return the size of the next step, cut to what is allowed and to what is left of the stretch."""
    times = run.times
    t, h, last = times[TIME], min(times[NEXT_STEP], times[LONGEST_STEP]), last_time(run, until)
    if t + h > last - LAST_STEP_SLACK * h:
        if times[CUT_STEP] == 0.0:
            times[GRID_NEXT], times[RESUMED_STEP] = t + h, times[NEXT_STEP]
        return float(last - t)
    return float(h)


@bare
def last_time(run: RunState, until: Numbers) -> float:
    """Return the time that the next step must not go beyond: the end of the stretch, or a corner before that.

    On the way to a corner that the state decides, the step that was cut for it ends there. If the corner is at the end,
    a hop is left between the two, or the next step is a hop to the end: so it is never as long as the one before.
    """
    times = run.times
    t, last = times[TIME], min(until[until.size - 1], times[STOP_AT])
    if times[GRID_TIME] > t + TIME_ROUNDING * abs(t):
        last = min(last, times[GRID_TIME])
    if times[CUT_STEP] > 0.0 and t + times[CUT_STEP] < last:
        if last - t - times[CUT_STEP] >= times[HOP]:
            last = t + times[CUT_STEP]
        elif last - t > 2.0 * times[HOP]:
            last -= times[HOP]
    return float(last)


@bare
def asked_within(run: RunState, w: EventWatch, t: float, h: float, until: Numbers) -> bool:
    """Tell whether an output or an event may lie within a step."""
    return bool(w.side.size > 0 or w.corners != 0 or _before_end(until[run.counts[OUTPUTS]], t, h))


@bare
def _before_end(when: float, t: float, h: float) -> bool:
    """Tell whether a time is before the end of a step, and not only by rounding."""
    return bool(when < t + h * AT_END_OF_STEP)


@by_address
def deliver(
    b: KernelBuffers,
    run: RunState,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    reached: Numbers,
    until: Numbers,
    rows: NumberTable,
) -> tuple[int, float]:
    """Record the events of a step that ends at the row `reached`, and write its outputs.

    P and q are the dense output of the step (see `zero_crossings`). Return a status, and when the step ends: an event
    that acts may end it before, and then its state is `reached`.
    """
    not_inlined()
    counts, flags, end = run.counts, run.flags, t + h
    if w.corners != 0 and step_again(b, run, w, P, t, h, q, reached):
        return _AGAIN, end
    late = bool(flags[LOOPS] and not flags[CLOSE_STAGES] and b.projected[2 * b.v.size] > GAP_CLOSED)
    closed = 0 if not flags[LOOPS] else (CLOSED_IF_NEEDED if flags[CLOSE_STAGES] else CLOSED)
    if w.side.size:
        if find_crossings(b, w, P, t, h, q, reached, CLOSED_IF_NEEDED if flags[LOOPS] else 0) < 0.0:
            return _OPEN, end
        if w.counts[1]:
            end = w.found[w.counts[0] - 1, 1]
    while counts[OUTPUTS] < until.size and until[counts[OUTPUTS]] <= end:
        row, when = rows[counts[OUTPUTS]], until[counts[OUTPUTS]]
        if not _before_end(when, t, h):
            copy(row, ZERO, reached, ZERO, reached.size)
            if late:  # velocities were put on the closures before positions were: the last correction is not in them
                close_loops(b, t + h, row, ZERO, row, b.q.size, CLOSED_WITHIN_STEP)
        elif not state_within(b, P, t, h, (when - t) / h, q, closed, row):
            return _OPEN, end
        counts[OUTPUTS] += 1
    if w.counts[1]:
        copy(reached, ZERO, w.found[w.counts[0] - 1], ZERO + 2, reached.size)
    return _DONE, end


@bare
def close_end(
    b: KernelBuffers, run: RunState, new: Numbers, reached: Numbers, unused: Numbers, end: float, crossed: bool
) -> int:
    """Put the end of a step on the closures, as the row `reached`; after a crossing only if that improves it."""
    nq, nv = b.q.size, b.v.size
    for n in range(new.size):
        if not np.isfinite(new[n]):
            return _NOT_FINITE
    copy(b.q, ZERO, run.q, ZERO, nq)
    displace(b, new, nv, unused)
    copy(reached, ZERO, b.here, ZERO, nq)
    normalize(b, reached, ZERO)
    copy(reached, nq, new, nv, new.size - nv)
    if run.flags[LOOPS] and not (crossed and nearly_closed(b, end, reached)):
        enough = TIGHT if run.flags[CLOSE_STAGES] else CLOSE_ENOUGH
        copy(b.spare_q, ZERO, reached, ZERO, nq)
        if not close_loops(b, end, reached, ZERO, reached, nq, enough):
            return _OPEN
        record_closing(b, run, reached)
        copy(new, nv, reached, nq, nv)
    return _DONE


@bare
def record_closing(b: KernelBuffers, run: RunState, reached: Numbers) -> None:
    """Record the displacement that closing the end of a step has made, from `b.spare_q`."""
    square, way = 0.0, 0.0
    for i in range(b.q.size):
        square += ((reached[i] - b.spare_q[i]) / b.q_scale[i]) ** 2
        way += ((reached[i] - run.q[i]) / b.q_scale[i]) ** 2
    far = np.sqrt(square)
    run.times[WAY] += np.sqrt(way)
    run.times[CLOSING_LARGEST] = max(run.times[CLOSING_LARGEST], far)
    run.times[CLOSING_TOTAL] += far


@bare
def complete_step(
    b: KernelBuffers,
    run: RunState,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    new: Numbers,
    reached: Numbers,
    until: Numbers,
    rows: NumberTable,
) -> int:
    """Deliver a step from `run.q` that ends at `new`, as a row `reached`, and let the run be at its end."""
    nq, nv, y, end = run.q.size, run.tau.size, run.y, t + h
    if w.side.size or w.corners != 0 or until[run.counts[OUTPUTS]] <= end:
        status, end = deliver(b, run, w, P, t, h, run.q, reached, until, rows)
        if status != _DONE:
            return int(status)
    if run.flags[LOOPS]:
        keep_step(run, t, h, new)
    copy(run.q, ZERO, reached, ZERO, nq)
    copy(y, nv, reached, nq, y.size - nv)
    run.times[TIME] = end
    run.counts[STEPS] += 1
    run.flags[RATES_GIVEN] = 0
    return _DONE


@bare
def keep_present(run: RunState) -> None:
    """Keep the present state, the end of a step, if its turn has come; every second one goes when there is no room."""
    counts, kept = run.counts, run.kept
    if counts[STEPS] < counts[KEEP_NEXT]:
        return
    row, nq, nv, rest = kept[counts[KEPT]], run.q.size, run.tau.size, run.y.size - run.tau.size
    row[0] = run.times[TIME]
    copy(row, ZERO + 1, run.q, ZERO, nq)
    copy(row, nq + 1, run.y, nv, rest)
    copy(row, nq + 1 + rest, run.tau, ZERO, nv)
    counts[KEPT] += 1
    if counts[KEPT] == kept.shape[0]:
        half = kept.shape[0] // 2
        for k in range(half):
            copy(kept[k], ZERO, kept[2 * k + 1], ZERO, kept.shape[1])
        counts[KEPT] = half
        counts[KEEP_EVERY] *= 2
    counts[KEEP_NEXT] += counts[KEEP_EVERY]


@bare
def full(run: RunState, w: EventWatch) -> bool:
    """Tell whether there is no room for what the next step may find: two singular positions, and events."""
    return bool(run.counts[SINGULAR_FOUND] >= run.singular_found.shape[0] - 1 or 2 * w.counts[0] > w.found.shape[0])
