"""What all time loops share: outputs and events of a step, and what ends a stretch of a run."""

from __future__ import annotations

from typing import Any

from whippletree.simulate.kernel_calls import ZERO, KernelBuffers, copy, not_inlined
from whippletree.simulate.native_functions import bare, by_address
from whippletree.simulate.native_structs import Numbers, NumberTable
from whippletree.simulate.run_state import CLOSE_STAGES, LOOPS, OUTPUTS, SINGULAR_FOUND, TIME, RunState, Status
from whippletree.simulate.zero_crossings import CLOSED, CLOSED_IF_NEEDED, EventWatch, find_crossings, state_within

__all__ = ["asked_within", "deliver", "full", "write_present"]

_DONE, _OPEN = Status.DONE, Status.OPEN
_AT_END = 1.0 - 1e-12  # from this share of a step on, an output is its end


@bare
def write_present(run: Any, row: Any, until: Any, rows: Any) -> None:
    """Write the outputs that are asked for at the present time, or before it."""
    while run.counts[OUTPUTS] < until.size and until[run.counts[OUTPUTS]] <= run.times[TIME]:
        copy(rows[run.counts[OUTPUTS]], ZERO, row, ZERO, row.size)
        run.counts[OUTPUTS] += 1


@bare
def asked_within(run: Any, w: Any, t: float, h: float, until: Any) -> bool:
    """Tell whether an output or an event may lie within a step."""
    return bool(w.side.size > 0 or _before_end(until[run.counts[OUTPUTS]], t, h))


@bare
def _before_end(when: float, t: float, h: float) -> bool:
    """Tell whether a time is before the end of a step, and not only by rounding."""
    return bool(when < t + h * _AT_END)


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

    P and q are those of `zero_crossings`. Return a status, and when the step ends: an event that acts may end it before, and then its state is `reached`.
    """
    not_inlined()
    counts, options, end = run.counts, run.options, t + h
    closed = 0 if not options[LOOPS] else (CLOSED_IF_NEEDED if options[CLOSE_STAGES] else CLOSED)
    if w.side.size:
        if find_crossings(b, w, P, t, h, q, reached, CLOSED_IF_NEEDED if options[LOOPS] else 0) < 0.0:
            return _OPEN, end
        if w.counts[1]:
            end = w.found[w.counts[0] - 1, 1]
    while counts[OUTPUTS] < until.size and until[counts[OUTPUTS]] <= end:
        row, when = rows[counts[OUTPUTS]], until[counts[OUTPUTS]]
        if not _before_end(when, t, h):
            copy(row, ZERO, reached, ZERO, reached.size)
        elif not state_within(b, P, t, h, (when - t) / h, q, closed, row):
            return _OPEN, end
        counts[OUTPUTS] += 1
    if w.counts[1]:
        copy(reached, ZERO, w.found[w.counts[0] - 1], ZERO + 2, reached.size)
    return _DONE, end


@bare
def full(run: Any, w: Any) -> bool:
    """Tell whether there is no room for what the next step may find: two singular positions, and events."""
    return bool(run.counts[SINGULAR_FOUND] >= run.singular_found.shape[0] - 1 or 2 * w.counts[0] > w.found.shape[0])
