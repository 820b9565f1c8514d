"""What all time loops share: outputs and events of a step, and what ends a stretch of a run."""

from __future__ import annotations

from typing import Any

from whippletree.simulate.bundles import Numbers, NumberTable
from whippletree.simulate.course import CLOSING, LOOPS, OUTPUTS, PASSED, TIME, Course, Status
from whippletree.simulate.crossings import CLOSED, CLOSED_IF_NEEDED, Crossings, crossings, state_within
from whippletree.simulate.moves import ZERO, Buffers, apart, copy
from whippletree.simulate.routines import bare, routine

__all__ = ["asked_within", "deliver", "full", "write_present"]

_DONE, _OPEN = Status.DONE, Status.OPEN
_AT_END = 1.0 - 1e-12  # from this share of a step on, an output is its end


@bare
def write_present(course: Any, row: Any, until: Any, rows: Any) -> None:
    """Write the outputs that are asked for at the present time, or before it."""
    while course.counts[OUTPUTS] < until.size and until[course.counts[OUTPUTS]] <= course.times[TIME]:
        copy(rows[course.counts[OUTPUTS]], ZERO, row, ZERO, row.size)
        course.counts[OUTPUTS] += 1


@bare
def asked_within(course: Any, w: Any, t: float, h: float, until: Any) -> bool:
    """Tell whether an output or an event may lie within a step."""
    return bool(w.side.size > 0 or _before_end(until[course.counts[OUTPUTS]], t, h))


@bare
def _before_end(when: float, t: float, h: float) -> bool:
    """Tell whether a time is before the end of a step, and not only by rounding."""
    return bool(when < t + h * _AT_END)


@routine
def deliver(
    b: Buffers,
    course: Course,
    w: Crossings,
    P: NumberTable,
    t: float,
    h: float,
    q: Numbers,
    reached: Numbers,
    until: Numbers,
    rows: NumberTable,
) -> tuple[int, float]:
    """Record the events of a step that ends at the row `reached`, and write its outputs; for P and q see `crossings`.

    Return a status, and when the step ends: an event that acts may end it before, and then its state is `reached`.
    """
    apart()
    counts, options, end = course.counts, course.options, t + h
    closed = 0 if not options[LOOPS] else (CLOSED_IF_NEEDED if options[CLOSING] else CLOSED)
    if w.side.size:
        if crossings(b, w, P, t, h, q, reached, CLOSED_IF_NEEDED if options[LOOPS] else 0) < 0.0:
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
def full(course: Any, w: Any) -> bool:
    """Tell whether there is no room for what the next step may find: two singular positions, and events."""
    return bool(course.counts[PASSED] >= course.passed.shape[0] - 1 or 2 * w.counts[0] > w.found.shape[0])
