"""The time loop of explicit methods in machine code: it calls kernels by address, and Python is not entered in it.

A kernel is handed over as six addresses: of its code, its inputs' and outputs' pointers, its scratch memory, its
constants and its tables. All arrays that it reads and writes belong to the caller (`KernelBuffers`).

State: q (nq), and y = [u, v, z, w]: the displacement u from q within a step, velocities, states of elements, and work
(put in, dissipated). A step begins at u = 0 and integrates

    u' = T(u) v,      v' = a(q + u, v, t),      z' = z'(q + u, v, z, t),      w' = powers

as one vector, by any explicit Runge-Kutta method; quaternions stay on the sphere because u is a rotation vector. Where
there are loops, each accepted state is brought back onto the closures.

A step: evaluate where it begins; look out for singular positions; take it, smaller if need be; put its end on the
closures; deliver outputs and events.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.simulate.kernel_calls import (
    CHANGES,
    NEGATIVE,
    NEGATIVE_FIRST,
    PIVOT,
    SMALLEST,
    SMALLEST_AT,
    ZERO,
    KernelBuffers,
    close_loops,
    copy,
    displace,
    longest_step,
    nearly_closed,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import address, bare, by_address, entry, inner
from whippletree.simulate.native_structs import Numbers
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    CROSS_BELOW,
    EVALUATIONS,
    GOOD_STEP,
    KEEP_PLAN,
    LAST_PIVOT,
    LAST_PIVOT_AT,
    LOOPS,
    NEXT_STEP,
    OUTPUTS,
    RATES_GIVEN,
    REFUSED,
    STEPS,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.runge_kutta_stages import Method, error, stages, step
from whippletree.simulate.singular_positions import StepWork, approach_singular, leave_singular
from whippletree.simulate.singularity_log import (
    keep_pivot_signs,
    keep_step,
    locate_singular,
    log_passage,
    log_singular,
    pivots_changed_sign,
    recall_step,
)
from whippletree.simulate.state_rates import (
    CLOSE_ENOUGH,
    POOR_SHARE,
    TIGHT,
    UNTRUSTED_SHARE,
    evaluate,
    evaluate_end,
    evaluate_first,
)
from whippletree.simulate.step_output import asked_within, deliver, full, write_present
from whippletree.simulate.zero_crossings import EventWatch, polynomial

__all__ = ["addresses", "advance"]

_FAR_SHARE = 2e-2  # a step that can choose its size keeps its stages as far away as it can, at first by this share
_NEAR_SHARE = 4e-3  # below: accelerations are not good to the tolerance
_RELAXED = 1e-9  # the tolerance of a step whose stages are nearer than that, unless that of the run is larger
_MOST_TRIES = 60
_MOST_HALVINGS = 20  # to end before a singular position

_DONE, _PAUSED, _UNTRUSTED, _POOR = Status.DONE, Status.PAUSED, Status.UNTRUSTED, Status.POOR
_OPEN, _TOO_SMALL, _NOT_FINITE, _EVENT = Status.OPEN, Status.TOO_SMALL, Status.NOT_FINITE, Status.EVENT


def addresses() -> list[int]:
    """Return the addresses of all routines, as `KernelBuffers` has them.

    >>> len(addresses()) == sum(kind == "Address" for kind in Buffers.fields.values())
    True
    """
    return [address(name) for name, kind in KernelBuffers.fields.items() if kind == "Address"]


@entry
def advance(
    b: Any,
    method: Any,
    run: Any,
    w: Any,
    a: Any,
    tolerance: float,
    smallest: float,
    until: Any,
    rows: Any,
    most: int,
) -> int:
    """Go on with a run until all outputs `until` (times) are written to `rows`, or something is to be decided.

    `run_state` says where the run is and is kept up to date: it is always at the end of a good step. Events that `w`
    watches are recorded in it; one that acts ends the step that it is in.
    """
    y, times, counts, options = run.y, run.times, run.counts, run.options
    nq, nv, adaptive = b.q.size, b.v.size, method.e.size > 0
    copy(a.q, ZERO, b.q, ZERO, nq)
    copy(a.reached, ZERO, a.q, ZERO, nq)
    copy(a.reached, nq, y, nv, y.size - nv)
    write_present(run, a.reached, until, rows)
    status, taken, last = _DONE, 0, until[until.size - 1]
    while status == _DONE and counts[OUTPUTS] < until.size:
        if taken >= most or full(run, w):
            status = _PAUSED
            break
        taken += 1
        t, h = times[TIME], times[NEXT_STEP]
        whole = h
        if t + h > last - 1e-6 * h:
            h = last - t
        first = _begin(b, method, run, a)
        status, h, crossed = _choose_size(b, run, w, a, first, h, tolerance, adaptive, until)
        shrunk = 0
        if status == _DONE and not crossed:
            status, h, shrunk = attempt_step(b, method, run, w, a, first, h, tolerance, smallest, until)
        if status != _DONE:
            break
        grow = 1.0
        if adaptive and not crossed:
            grow = _growth(method, run, a, h, tolerance, first == _POOR, shrunk)
        status = _close_end(b, run, a, t + h, crossed)
        if status == _OPEN and adaptive and h > 100 * smallest:
            times[NEXT_STEP] = 0.25 * h
            counts[REFUSED] += 1
            status = _DONE
            continue
        if status != _DONE:
            break
        end = t + h
        if w.side.size or until[counts[OUTPUTS]] <= end:
            P = a.across
            if not crossed and asked_within(run, w, t, h, until):
                P = polynomial(method, h, y, a.new, a.k)
            status, end = deliver(b, run, w, P, t, h, a.q, a.reached, until, rows)
            if status != _DONE:
                break
        pivot = a.pivots[PIVOT]
        if options[LOOPS]:
            keep_step(b, run, t, h, a.q, a.new)
        copy(a.q, ZERO, a.reached, ZERO, nq)
        copy(y, nv, a.reached, nq, y.size - nv)
        times[LAST_PIVOT], times[LAST_PIVOT_AT] = (0.0, t) if crossed else (pivot, t)
        times[TIME] = end
        times[NEXT_STEP] = h * grow if adaptive and not crossed else whole
        counts[STEPS] += 1
        options[RATES_GIVEN] = 0
        if crossed:
            locate_singular(b, run, a.across, t, h, b.base, end)
        else:
            copy(b.q, ZERO, a.q, ZERO, nq)
            log_passage(b, run)
        if w.counts[1]:
            status = _EVENT
    if options[LOOPS] and status in (_DONE, _PAUSED, _EVENT) and evaluate_end(b, run, a.q):
        look_back(b, method, run)
    copy(b.q, ZERO, a.q, ZERO, nq)
    return status


@inner
def _begin(b: Any, method: Any, run: Any, a: Any) -> int:
    """Evaluate where a step begins, into `a.k[0]` and `a.least`, and look back at the last one; say how good it is."""
    not_inlined()
    options = run.options
    copy(b.q, ZERO, a.q, ZERO, b.q.size)
    copy(b.base, ZERO, a.q, ZERO, b.q.size)
    b.pivots[SMALLEST] = np.inf
    first = int(evaluate_first(b, run.times[TIME], run.y, a.k[0], options, a.stage))
    run.counts[EVALUATIONS] += 1
    copy(a.pivots, ZERO, b.pivots, ZERO, b.pivots.size)
    if options[LOOPS] and first != _UNTRUSTED and not options[RATES_GIVEN]:
        look_back(b, method, run)
    return first


@inner
def _choose_size(
    b: Any, run: Any, w: Any, a: Any, first: int, h: float, tolerance: float, adaptive: bool, until: Any
) -> tuple[int, float, bool]:
    """Choose the size of a step by what is ahead; return a status, the size, and whether it has been taken."""
    not_inlined()
    y, times, options = run.y, run.times, run.options
    t, last, asked = times[TIME], until[until.size - 1], tolerance if adaptive else 0.0
    if first != _DONE and not options[KEEP_PLAN]:
        return _POOR, h, False
    if first != _DONE:
        part = leave_singular(b, run, a, last, asked)
        options[CLOSE_STAGES] = 1
        if part > 0.0:
            return _DONE, part, True
        if first == _UNTRUSTED:
            return _UNTRUSTED, h, False
    else:
        options[CLOSE_STAGES] = 0
        options[KEEP_PLAN] = 0
        times[GOOD_STEP] = max(h, 0.5 * times[GOOD_STEP])
    if options[LOOPS] and adaptive:
        h = min(h, longest_step(y, b.v.size, run.scale))
    if first == _POOR and adaptive:
        # near a singular position accelerations are less exact: go across it without crawling
        return _DONE, min(max(h, times[GOOD_STEP]), last - t), False
    if options[LOOPS] and not options[RATES_GIVEN] and first == _DONE:
        status, h, taken = approach_singular(b, run, w, a, h, asked, adaptive, until)
        return status, h, taken
    return _DONE, h, False


@by_address
def attempt_step(
    b: KernelBuffers,
    method: Method,
    run: RunState,
    w: EventWatch,
    a: StepWork,
    first: int,
    h: float,
    tolerance: float,
    smallest: float,
    until: Numbers,
) -> tuple[int, float, int]:
    """Take a step, again and smaller until it is good; return a status, its size, and how often it was made smaller.

    It is good if its error is within the tolerance, if it ends before a singular position that is to be crossed, and if
    no stage comes near one: then it is tried at another distance, and after that as well as it can be done.
    """
    not_inlined()
    y, times, counts, options = run.y, run.times, run.counts, run.options
    t, adaptive = times[TIME], method.e.size > 0
    to_be_crossed = adaptive and first == _DONE and abs(a.pivots[PIVOT]) > times[CROSS_BELOW] > 2 * POOR_SHARE
    floor = 0.2 * times[GOOD_STEP] if first == _POOR else 0.0
    near = _FAR_SHARE if adaptive else UNTRUSTED_SHARE
    whole, shrunk = h, 0
    while True:
        ends_before = to_be_crossed and shrunk < _MOST_HALVINGS
        copy(b.q, ZERO, a.q, ZERO, b.q.size)
        b.pivots[SMALLEST], b.pivots[SMALLEST_AT], b.pivots[CHANGES] = a.pivots[SMALLEST], a.pivots[SMALLEST_AT], 0.0
        b.pivots[NEGATIVE_FIRST] = a.pivots[NEGATIVE]
        good = step(b, method, t, h, y, a.k, a.stage, options, near, a.new)
        counts[EVALUATIONS] += max(method.b.size - 1, 0)
        share = 0.93  # if a stage came too near to a singular position: pass it at another distance
        if good == _POOR and ends_before:
            good, share = _DONE, 0.5
        elif good == _DONE:
            off = error(method, h, y, a.new, a.k, run.scale, tolerance) if adaptive else 0.0
            if not off <= (1.0 if near > UNTRUSTED_SHARE else max(1.0, _RELAXED / tolerance)):
                share = max(0.2, 0.9 * off ** (-1.0 / method.order)) if np.isfinite(off) else 0.2
            elif ends_before and not options[CLOSE_STAGES] and b.pivots[CHANGES] > 0.0:
                share = 0.5  # it goes over a singular position
            else:
                good = _dense_stages(b, method, run, w, a, h, near, until)
                if good == _DONE:
                    return _DONE, h, shrunk
        if good == _POOR:
            options[CLOSE_STAGES] = 1  # a stage is near a singular position: again, with stages on the closures
            continue
        counts[REFUSED] += 1
        shrunk += 1
        h = max(h * share, min(floor, 0.9 * h))
        if options[CLOSE_STAGES] and near > UNTRUSTED_SHARE and h < 0.4 * whole:
            # no size keeps the stages away: go across as well as it can be done
            near = 0.6 * near if good == _UNTRUSTED and near > _NEAR_SHARE else UNTRUSTED_SHARE
            h, shrunk = whole, 1
        if h < smallest or shrunk > _MOST_TRIES:
            return _TOO_SMALL, h, shrunk


@bare
def _dense_stages(b: Any, method: Any, run: Any, w: Any, a: Any, h: float, near: float, until: Any) -> int:
    """Evaluate the further stages of the dense output, if something is asked for within the step."""
    t, further = run.times[TIME], method.dense.shape[0] - method.b.size
    if further <= 0 or not asked_within(run, w, t, h, until):
        return _DONE
    copy(b.q, ZERO, a.q, ZERO, b.q.size)
    run.counts[EVALUATIONS] += further
    begin, end = method.b.size, method.dense.shape[0]
    return int(stages(b, method, begin, end, t, h, run.y, a.k, a.stage, run.options, near))


@bare
def _growth(method: Any, run: Any, a: Any, h: float, tolerance: float, poor: bool, shrunk: int) -> float:
    """Return by how much the next step may be larger than this one."""
    off = error(method, h, run.y, a.new, a.k, run.scale, tolerance)
    grow = min(5.0, max(0.2, 0.9 * max(off, 1e-10) ** (-1.0 / method.order)))
    if poor:
        grow = max(grow, 1.0)
    return float(min(grow, 1.0) if shrunk else grow)


@bare
def _close_end(b: Any, run: Any, a: Any, end: float, crossed: bool) -> int:
    """Put the end of a step on the closures, as the row `reached`; after a crossing only if that improves it."""
    nq, nv, new, reached = b.q.size, b.v.size, a.new, a.reached
    for n in range(new.size):
        if not np.isfinite(new[n]):
            return _NOT_FINITE
    copy(b.q, ZERO, a.q, ZERO, nq)
    displace(b, new, nv, a.stage)
    copy(reached, ZERO, b.here, ZERO, nq)
    normalize(b, reached, ZERO)
    copy(reached, nq, new, nv, new.size - nv)
    if run.options[LOOPS] and not (crossed and nearly_closed(b, end, reached)):
        enough = TIGHT if run.options[CLOSE_STAGES] else CLOSE_ENOUGH
        if not close_loops(b, end, reached, ZERO, reached, nq, enough):
            return _OPEN
        copy(new, nv, reached, nq, nv)
    return _DONE


@by_address
def look_back(b: KernelBuffers, method: Method, run: RunState) -> None:
    """Note a singular position that the last step went over; the present state is just evaluated.

    The step is taken again, to know what was within it; if that fails, the present state is taken for the position.
    """
    not_inlined()
    if pivots_changed_sign(b, run):
        size, options, closing = run.y.size, run.options, run.options[CLOSE_STAGES]
        now, pivots, q = b.q.copy(), b.pivots.copy(), np.empty(b.q.size)
        y, new, stage = np.empty(size), np.empty(size), np.empty(size)
        k = np.empty((max(method.b.size, method.dense.shape[0], 1), size))
        t, h = run.kept[0], run.kept[1]
        recall_step(b, run, q, y, new)
        copy(b.q, ZERO, q, ZERO, q.size)
        copy(b.base, ZERO, q, ZERO, q.size)
        options[CLOSE_STAGES] = 1
        good = evaluate(b, t, y, k[0], options, 0.0)
        if good != _UNTRUSTED and method.b.size:
            good = stages(b, method, ZERO + 1, k.shape[0], t, h, y, k, stage, options, 0.0)
        if good != _UNTRUSTED:
            locate_singular(b, run, polynomial(method, h, y, new, k), t, h, q, np.inf)
        else:
            log_singular(b, run, run.times[TIME], now, ZERO)
        options[CLOSE_STAGES] = closing
        run.counts[EVALUATIONS] += k.shape[0]
        copy(b.q, ZERO, now, ZERO, q.size)
        copy(b.base, ZERO, now, ZERO, q.size)
        copy(b.pivots, ZERO, pivots, ZERO, pivots.size)
    keep_pivot_signs(b, run)
