"""Explicit Runge-Kutta methods and semi-implicit Euler, in machine code.

State: q (nq), and y = [u, v, z, w]: the displacement u from q within a step, velocities, states of elements, and work
(put in, dissipated). A step begins at u = 0 and integrates

    u' = T(u) v,      v' = a(q + u, v, t),      z' = z'(q + u, v, z, t),      w' = powers

as one vector, by any explicit Runge-Kutta method; quaternions stay on the sphere because u is a rotation vector. Where
there are loops, each accepted state is brought back onto the closures.

A step: evaluate where it begins; look out for singular positions; take it, smaller if need be; put its end on the
closures; deliver outputs and events.
"""

from __future__ import annotations

import functools

import numpy as np

from whippletree.simulate.collocation_crossing import RULE
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.kernel_calls import (
    CHANGES,
    NEGATIVE,
    NEGATIVE_FIRST,
    PIVOT,
    SMALLEST,
    SMALLEST_AT,
    ZERO,
    KernelBuffers,
    copy,
    longest_step,
    not_inlined,
)
from whippletree.simulate.loop_code import address
from whippletree.simulate.native_functions import bare, by_address, cast_to, inner
from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    CROSS_BELOW,
    EVALUATIONS,
    GOOD_STEP,
    KEEP_PLAN,
    LAST_PIVOT,
    LAST_PIVOT_AT,
    LONGEST_STEP,
    LOOPS,
    NEGATIVE_PIVOTS,
    NEXT_STEP,
    RATES_GIVEN,
    REFUSED,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import (
    MOST_HALVINGS,
    MOST_TRIES,
    OPEN_STEP_FACTOR,
    POOR_SHARE,
    STAGE_SHARE_EXACT,
    STAGE_SHARE_WISHED,
    TOLERANCE_BESIDE_SINGULAR,
    UNTRUSTED_SHARE,
)
from whippletree.simulate.runge_kutta_stages import Method, along_closures, error, stages, step
from whippletree.simulate.singular_positions import StepWork, approach_singular, leave_singular
from whippletree.simulate.singularity_log import (
    keep_pivot_signs,
    locate_singular,
    log_passage,
    log_singular,
    only_coordinates,
    parabola,
    pivots_changed_sign,
    recall_step,
)
from whippletree.simulate.state_rates import evaluate, evaluate_first
from whippletree.simulate.step_output import asked_within, close_end, complete_step, last_time, size_to_end
from whippletree.simulate.steppers import CompiledStepper, MethodOptions
from whippletree.simulate.tableaus import Tableau
from whippletree.simulate.time_loop import SMALLEST_ALLOWED, TOLERANCE, StepperCode, look_back
from whippletree.simulate.zero_crossings import EventWatch, polynomial

__all__ = ["RungeKutta"]

_DONE, _UNTRUSTED, _POOR = Status.DONE, Status.UNTRUSTED, Status.POOR
_OPEN, _TOO_SMALL = Status.OPEN, Status.TOO_SMALL

method_at = cast_to(Method)
work_at = cast_to(StepWork)


@by_address
def runge_kutta_step(
    s: StepperCode, b: KernelBuffers, run: RunState, w: EventWatch, until: Numbers, rows: NumberTable
) -> int:
    """Take a step: choose its size by what is ahead, make it smaller if need be, close its end, deliver it."""
    method, a, times = method_at(s.method), work_at(s.work), run.times
    tolerance, smallest, adaptive = s.limits[TOLERANCE], s.limits[SMALLEST_ALLOWED], method.e.size > 0
    t, whole = times[TIME], times[NEXT_STEP]
    first = _begin(s, b, run, a)
    status, h, crossed = _choose_size(b, run, w, a, first, size_to_end(run, until), tolerance, adaptive, until)
    shrunk, off = 0, 0.0
    if status == _DONE and not crossed:
        status, h, shrunk, off = attempt_step(a, b, method, run, w, first, h, tolerance, smallest, until)
    if status != _DONE:
        return int(status)
    grow = 1.0
    if adaptive and not crossed:
        grow = _growth(method, off, first == _POOR, shrunk)
    status = close_end(b, run, a.new, a.reached, a.stage, t + h, crossed)
    if status == _OPEN and adaptive and h > OPEN_STEP_FACTOR * smallest:
        times[NEXT_STEP] = 0.25 * h
        run.counts[REFUSED] += 1
        return _DONE
    if status != _DONE:
        return int(status)
    P = a.across
    if not crossed and asked_within(run, w, t, h, until):
        P = polynomial(method, h, run.y, a.new, a.k)
    status = complete_step(b, run, w, P, t, h, a.new, a.reached, until, rows)
    if status != _DONE:
        return int(status)
    times[LAST_PIVOT], times[LAST_PIVOT_AT] = (0.0, t) if crossed else (a.pivots[PIVOT], t)
    times[NEXT_STEP] = h * grow if adaptive and not crossed else whole
    if crossed:
        locate_singular(b, run, a.across, t, h, b.base, times[TIME])
    else:
        copy(b.q, ZERO, run.q, ZERO, b.q.size)
        log_passage(b, run)
    return _DONE


@inner
def _begin(s: StepperCode, b: KernelBuffers, run: RunState, a: StepWork) -> int:
    """Evaluate where a step begins, into `a.k[0]` and `a.pivots`, and look back at the last one; say how good it is."""
    not_inlined()
    first = int(evaluate_first(b, run, a.k[0]))
    copy(a.pivots, ZERO, b.pivots, ZERO, b.pivots.size)
    if run.flags[LOOPS] and first != _UNTRUSTED and not run.flags[RATES_GIVEN]:
        look_back(s, b, run)
    return first


@inner
def _choose_size(
    b: KernelBuffers,
    run: RunState,
    w: EventWatch,
    a: StepWork,
    first: int,
    h: float,
    tolerance: float,
    adaptive: bool,
    until: Numbers,
) -> tuple[int, float, bool]:
    """Choose the size of a step by what is ahead; return a status, the size, and whether it has been taken."""
    not_inlined()
    y, times, flags = run.y, run.times, run.flags
    t, last, asked = times[TIME], last_time(run, until), tolerance if adaptive else 0.0
    if first != _DONE and not flags[KEEP_PLAN]:
        return _POOR, h, False
    if first != _DONE:
        part = leave_singular(a, b, run, last, asked)
        flags[CLOSE_STAGES] = 1
        if part > 0.0:
            return _DONE, part, True
        if first == _UNTRUSTED:
            return _UNTRUSTED, h, False
    else:
        flags[CLOSE_STAGES] = 0
        times[GOOD_STEP] = max(h, 0.5 * times[GOOD_STEP])
    if flags[LOOPS] and adaptive:
        h = min(h, longest_step(y, b.v.size, run.scale))
    if first == _POOR and adaptive:
        # near a singular position accelerations are less exact: go across it without crawling
        return _DONE, min(max(h, times[GOOD_STEP]), last - t, times[LONGEST_STEP]), False
    if flags[LOOPS] and not flags[RATES_GIVEN] and first == _DONE:
        status, h, taken = approach_singular(a, b, run, w, h, asked, adaptive, until)
        return status, h, taken
    return _DONE, h, False


@by_address
def attempt_step(
    a: StepWork,
    b: KernelBuffers,
    method: Method,
    run: RunState,
    w: EventWatch,
    first: int,
    h: float,
    tolerance: float,
    smallest: float,
    until: Numbers,
) -> tuple[int, float, int, float]:
    """Take a step, again and smaller until it is good; return a status, its size, how often it was made smaller, and
    its error as a share of the tolerance.

    It is good if its error is within the tolerance, if it ends before a singular position that is to be crossed, and if
    no stage comes near one: then it is tried at another distance, and after that as well as it can be done.
    """
    not_inlined()
    y, times, counts, flags = run.y, run.times, run.counts, run.flags
    t, adaptive = times[TIME], method.e.size > 0
    to_be_crossed = adaptive and first == _DONE and abs(a.pivots[PIVOT]) > times[CROSS_BELOW] > 2 * POOR_SHARE
    floor = 0.2 * times[GOOD_STEP] if first == _POOR else 0.0
    near = STAGE_SHARE_WISHED if adaptive else UNTRUSTED_SHARE
    whole, shrunk, off = h, 0, 0.0
    while True:
        ends_before = to_be_crossed and shrunk < MOST_HALVINGS
        copy(b.q, ZERO, run.q, ZERO, b.q.size)
        b.pivots[SMALLEST], b.pivots[SMALLEST_AT], b.pivots[CHANGES] = a.pivots[SMALLEST], a.pivots[SMALLEST_AT], 0.0
        b.pivots[NEGATIVE_FIRST] = a.pivots[NEGATIVE]
        good = step(b, method, t, h, y, a.k, a.stage, flags, near, a.new)
        counts[EVALUATIONS] += max(method.b.size - 1, 0)
        share = 0.93  # if a stage came too near to a singular position: pass it at another distance
        if good == _POOR and ends_before:
            good, share = _DONE, 0.5
        elif good == _DONE:
            off = _error(b, method, run, a, h, tolerance) if adaptive else 0.0
            if not off <= (1.0 if near > UNTRUSTED_SHARE else max(1.0, TOLERANCE_BESIDE_SINGULAR / tolerance)):
                share = max(0.2, 0.9 * off ** (-1.0 / method.order)) if np.isfinite(off) else 0.2
            elif ends_before and not flags[CLOSE_STAGES] and b.pivots[CHANGES] > 0.0 and _over_singular(b, run, a, h):
                share = 0.5
            else:
                good = _dense_stages(b, method, run, w, a, h, near, until)
                if good == _DONE:
                    return _DONE, h, shrunk, off
        if good == _POOR:
            flags[CLOSE_STAGES] = 1  # a stage is near a singular position: again, with stages on the closures
            continue
        counts[REFUSED] += 1
        shrunk += 1
        h = max(h * share, min(floor, 0.9 * h))
        if flags[CLOSE_STAGES] and near > UNTRUSTED_SHARE and h < 0.4 * whole:
            # no size keeps the stages away: go across as well as it can be done
            near = 0.6 * near if good == _UNTRUSTED and near > STAGE_SHARE_EXACT else UNTRUSTED_SHARE
            h, shrunk = whole, 1
        if h < smallest or shrunk > MOST_TRIES:
            return _TOO_SMALL, h, shrunk, off


@inner
def _over_singular(b: KernelBuffers, run: RunState, a: StepWork, h: float) -> bool:
    """Tell whether a step to `a.new` goes over a singular position of the mechanism."""
    not_inlined()
    P = parabola(h, run.y, a.new, b.v.size)
    return not only_coordinates(b, run, P, run.times[TIME], h, run.q, a.pivots[NEGATIVE])


@bare
def _dense_stages(
    b: KernelBuffers, method: Method, run: RunState, w: EventWatch, a: StepWork, h: float, near: float, until: Numbers
) -> int:
    """Evaluate the further stages of the dense output, if something is asked for within the step."""
    t, further = run.times[TIME], method.dense.shape[0] - method.b.size
    if further <= 0 or not asked_within(run, w, t, h, until):
        return _DONE
    copy(b.q, ZERO, run.q, ZERO, b.q.size)
    run.counts[EVALUATIONS] += further
    begin, end = method.b.size, method.dense.shape[0]
    return int(stages(b, method, begin, end, t, h, run.y, a.k, a.stage, run.flags, near))


@inner
def _error(b: KernelBuffers, method: Method, run: RunState, a: StepWork, h: float, tolerance: float) -> float:
    """Return the estimated error of a step to `a.new`, of what closing its end leaves, as a share of the tolerance."""
    off = error(method, h, run.y, a.new, a.k, run.scale, tolerance)
    if run.flags[LOOPS] and not run.flags[CLOSE_STAGES] and np.isfinite(off):
        copy(b.q, ZERO, run.q, ZERO, b.q.size)
        off *= along_closures(b, method, h, run.times[TIME] + h, run.y, a.new, a.k, run.scale)
    return float(off)


@bare
def _growth(method: Method, off: float, poor: bool, shrunk: int) -> float:
    """Return by how much the next step may be larger than one with this error."""
    grow = min(5.0, max(0.2, 0.9 * max(off, 1e-10) ** (-1.0 / method.order)))
    if poor:
        grow = max(grow, 1.0)
    return float(min(grow, 1.0) if shrunk else grow)


@by_address
def runge_kutta_look_back(s: StepperCode, b: KernelBuffers, run: RunState) -> None:
    """Log a singular position that the last step went over; the present state is just evaluated."""
    not_inlined()
    if pivots_changed_sign(b, run):
        size, now, pivots = run.y.size, b.q.copy(), b.pivots.copy()
        q, y, new = np.empty(b.q.size), np.empty(size), np.empty(size)
        t, h = recall_step(run, q, y, new)
        if not only_coordinates(b, run, parabola(h, y, new, b.v.size), t, h, q, run.times[NEGATIVE_PIVOTS]):
            _locate_again(b, run, method_at(s.method), t, h, q, y, new, now)
        copy(b.q, ZERO, now, ZERO, q.size)
        copy(b.base, ZERO, now, ZERO, q.size)
        copy(b.pivots, ZERO, pivots, ZERO, pivots.size)
    keep_pivot_signs(b, run)


@inner
def _locate_again(
    b: KernelBuffers,
    run: RunState,
    method: Method,
    t: float,
    h: float,
    q: Numbers,
    y: Numbers,
    new: Numbers,
    now: Numbers,
) -> None:
    """Take a step again, to know what was within it; if that fails, the state after it is taken for the position."""
    not_inlined()
    flags, closing, stage = run.flags, run.flags[CLOSE_STAGES], np.empty(y.size)
    k = np.empty((max(method.b.size, method.dense.shape[0], 1), y.size))
    copy(b.q, ZERO, q, ZERO, q.size)
    copy(b.base, ZERO, q, ZERO, q.size)
    flags[CLOSE_STAGES] = 1
    good = evaluate(b, t, y, k[0], flags, 0.0)
    if good != _UNTRUSTED and method.b.size:
        good = stages(b, method, ZERO + 1, k.shape[0], t, h, y, k, stage, flags, 0.0)
    if good != _UNTRUSTED:
        locate_singular(b, run, polynomial(method, h, y, new, k), t, h, q, np.inf)
    else:
        log_singular(b, run, run.times[TIME], now, ZERO)
    flags[CLOSE_STAGES] = closing
    run.counts[EVALUATIONS] += k.shape[0]


class RungeKutta(CompiledStepper):
    """An explicit Runge-Kutta method by its tableau; without one, semi-implicit Euler."""

    crosses_singular = True
    step_function = "runge_kutta_step"
    look_back_function = "runge_kutta_look_back"

    def __init__(self, tableau: Tableau | None, options: MethodOptions) -> None:
        self.estimates_error = self.adaptive_by_default = tableau is not None and tableau.adaptive
        super().__init__(options)
        self._method = _as_struct(tableau, self.adaptive)

    def amplification(self, rate: complex) -> float:
        """Return the size of the stability function: 1 + rate b (1 - rate A)^-1 1, or 1 + rate of Euler's method."""
        method, stages = self._method, self._method.b.size
        if not stages:
            return float(abs(1 + rate))
        inner = np.linalg.solve(np.eye(stages) - rate * method.A[:stages, :stages], np.ones(stages))
        return float(abs(1 + rate * (method.b @ inner)))

    def structs(self, bindings: KernelBindings) -> tuple[NativeStruct, NativeStruct]:
        """Return the tableau, and room for the stages of a step and for a crossing."""
        method, size, nodes = self._method, bindings.y_size, RULE.c.size
        stages = max(method.b.size, method.dense.shape[0], 1)
        vectors = (size, bindings.row_size, size, bindings.buffers.pivots.size)
        tables = ((stages, size), (nodes, size), (nodes, size))
        functions = (address(name) for name, kind in StepWork.fields.items() if kind == "Address")
        arrays = (*(np.zeros(n) for n in vectors), *(np.zeros(shape) for shape in tables))
        return method, StepWork(*arrays, *functions)


@functools.cache
def _as_struct(tableau: Tableau | None, adaptive: bool) -> Method:
    """Return a tableau as machine code takes it, without its errors unless it is adaptive; none is for Euler."""
    empty = np.zeros(0)
    if tableau is None:
        return Method(np.zeros((0, 0)), empty, empty, empty, empty, np.zeros((0, 0)), 1)
    errors = (tableau.e, tableau.e3) if adaptive else (empty, empty)
    return Method(tableau.A, tableau.b, tableau.c, *errors, tableau.dense, tableau.order)
