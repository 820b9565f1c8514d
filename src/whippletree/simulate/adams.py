"""An Adams predictor-corrector of variable order and step, in machine code.

It evaluates twice in a step, whatever the order: predict, evaluate, correct, evaluate. Formulas are those of Krogh and
of Shampine and Gordon, as in Hairer, Norsett and Wanner, section III.5 (equation numbers are theirs): Phi_j are scaled
divided differences of the derivatives at the last points, g_j the integrals of their factors. The predictor of order k
uses k points, the corrector one more; the difference of correctors of orders k and k - 1 is the error of the step.

The vector is Y = [q, v, z, work]: coordinates themselves and no displacements, so that history means the same at every
step. Quaternions are brought to unit length after each step and before each evaluation, and where there are loops the
state is put on the closures: both change it by less than the step's error, and the derivatives that are kept are those
at the state so improved. Where the numeric plan is not to be trusted, `simulation` lets a Runge-Kutta method go across.

`memory` is what a run keeps from step to step: whether there is anything, the order, how many steps had this size,
whether the order is still being raised, the share of a pivot at the present state, the times of the last points, and
Phi.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.kernel_calls import (
    PIVOT,
    SMALLEST,
    ZERO,
    KernelBuffers,
    call,
    close_loops,
    copy,
    longest_step,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import bare, by_address, cast_to, inner
from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable, Words
from whippletree.simulate.packed_forms import COUNT, FLAG, NumberForm
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    EVALUATIONS,
    KEEP_PLAN,
    LONGEST_STEP,
    LOOPS,
    NEGATIVE_PIVOTS,
    NEXT_STEP,
    RATES_GIVEN,
    REFUSED,
    STEPS,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import (
    ADAMS_ERROR,
    CLOSE_ENOUGH,
    HANDED_OVER,
    LAST_STEP_SLACK,
    LEAST_GROWTH,
    OPEN_STEP_FACTOR,
    ROUNDED_STEP,
    UNTRUSTED_SHARE,
)
from whippletree.simulate.singularity_log import (
    keep_pivot_signs,
    locate_singular,
    log_passage,
    only_coordinates,
    pivots_changed_sign,
    singular_ahead,
)
from whippletree.simulate.state_rates import evaluate, poor_coordinates
from whippletree.simulate.step_output import asked_within, deliver, last_time, record_closing
from whippletree.simulate.steppers import CompiledStepper
from whippletree.simulate.time_loop import SMALLEST_ALLOWED, TOLERANCE, StepperCode
from whippletree.simulate.zero_crossings import EventWatch

__all__ = ["HIGHEST", "Adams"]

_DONE, _UNTRUSTED, _POOR, _SINGULAR = Status.DONE, Status.UNTRUSTED, Status.POOR, Status.SINGULAR
_OPEN, _TOO_SMALL, _NOT_FINITE = Status.OPEN, Status.TOO_SMALL, Status.NOT_FINITE
_ARRIVED = -1  # a step is delivered, and not yet in the history
_OWN, _LOWER, _LOWEST = 0, 1, 2  # in `AdamsWork.errors`: of the order of the step, one less, two less

HIGHEST = 12
"""The highest order."""

# in `memory`
_POINTS = HIGHEST + 2
_KNOWN, _ORDER, _SAME, _RAISING, _SHARE, _TIMES = 0, 1, 2, 3, 4, 5
_PHI = _TIMES + _POINTS
# errors of Adams-Moulton formulas with constant steps, gamma*_j
_GAMMA = np.array(
    [
        1.0,
        0.5,
        1 / 12,
        1 / 24,
        19 / 720,
        3 / 160,
        863 / 60480,
        275 / 24192,
        33953 / 3628800,
        8183 / 1036800,
        3250433 / 479001600,
        4671 / 788480,
        13695779093 / 2615348736000,
        2224234463 / 475517952000,
    ]
)


class AdamsWork(NativeStruct):
    """What a step works with."""

    kernel: Words  # (6,) of the coordinates' rates
    rates: Numbers  # (nq,) what it writes
    sizes: Numbers  # what each entry of Y is measured by
    memory: Numbers
    Y: Numbers
    new: Numbers
    F: Numbers
    predicted: Numbers
    stage: Numbers
    k: Numbers
    star: NumberTable
    last: Numbers
    g: Numbers
    beta: Numbers
    c: Numbers
    errors: Numbers  # of the step, and those that lower orders would have
    no_q: Numbers  # empty: the dense output is of coordinates themselves


work_at = cast_to(AdamsWork)


@bare
def _derivatives(b: KernelBuffers, run: RunState, a: AdamsWork, t: float, Y: Numbers) -> int:
    """Evaluate the derivatives F of Y; say whether they are to be trusted."""
    not_inlined()
    nq, nv, F, y, k = b.q.size, b.v.size, a.F, a.stage, a.k
    run.counts[EVALUATIONS] += 1
    normalize(b, Y, ZERO)
    copy(b.q, ZERO, Y, ZERO, nq)
    for i in range(nv):
        y[i] = 0.0
    copy(y, nv, Y, nq, Y.size - nq)
    status = int(evaluate(b, t, y, k, run.flags, UNTRUSTED_SHARE))
    if b.quaternions.size:
        call(a.kernel)
        copy(F, ZERO, a.rates, ZERO, nq)
    else:
        copy(F, ZERO, k, ZERO, nq)
    copy(F, nq, k, nv, Y.size - nq)
    return status


@bare
def _coefficients(h: float, t: float, past: Numbers, k: int, g: Numbers, beta: Numbers, c: Numbers) -> None:
    """Put g_j (5.10) and beta_j (5.9) for a step from t, the times of the points before it being known."""
    not_inlined()
    for m in range(k + 2):
        c[m] = 1.0 / (m + 1)
    g[0], beta[0] = 1.0, 1.0
    for j in range(1, k + 2):
        ahead = t + h - past[_TIMES + j - 1]
        for m in range(k + 2 - j):
            if j == 1:
                c[m] = 1.0 / ((m + 1) * (m + 2))
            else:
                c[m] -= c[m + 1] * h / ahead
        g[j] = c[0]
        back = t - past[_TIMES + j]
        beta[j] = beta[j - 1] * ahead / back if j <= k and back > 0.0 else 0.0


@bare
def _size(
    x: Numbers, at: int, Y: Numbers, new: Numbers, sizes: Numbers, nq: int, factor: float, tolerance: float
) -> float:
    """Return the size of an error as a share of the tolerance: a mean over all but the work, which is often zero."""
    not_inlined()
    total = 0.0
    for n in range(Y.size):
        size = sizes[n] if n < sizes.size else 1.0
        if n >= nq:
            size += max(abs(Y[n]), abs(new[n]))
        total += (factor * x[at + n] / (tolerance * size)) ** 2
    return float(np.sqrt(total / max(Y.size - 2, 1)))


@inner
def _polynomial(a: AdamsWork, t: float, h: float) -> NumberTable:
    """Return the corrector within the step, as a polynomial in the share of it: it meets both ends."""
    not_inlined()
    past, k, Y = a.memory, int(a.memory[_ORDER]), a.Y
    P = np.zeros((k + 2, Y.size))
    factor = np.zeros(k + 2)
    factor[0] = 1.0
    for n in range(Y.size):
        P[0, n] = Y[n]
    for j in range(k + 1):
        for p in range(j + 1):
            for n in range(Y.size):
                P[p + 1, n] += h * factor[p] / (p + 1) * (a.star[j, n] if j < k else a.last[n])
        # times (s + back) / (1 + back)
        back = (t - past[_TIMES + j]) / h
        for p in range(j + 1, -1, -1):
            factor[p] = (factor[p] * back + (factor[p - 1] if p > 0 else 0.0)) / (1.0 + back)
    return P


@bare
def _begin(
    b: KernelBuffers, run: RunState, a: AdamsWork, t: float, tolerance: float, smallest: float
) -> tuple[int, float]:
    """Begin with order one; say whether the start is to be trusted, and return a step that is small enough for it."""
    not_inlined()
    past, N = a.memory, a.F.size
    b.pivots[SMALLEST] = np.inf
    first = int(_derivatives(b, run, a, t, a.Y))
    h = min(run.times[NEXT_STEP], run.times[LONGEST_STEP])
    if first != _DONE:
        return first, h
    if run.flags[LOOPS]:
        keep_pivot_signs(b, run)
    past[_SHARE] = b.pivots[PIVOT]
    past[_KNOWN], past[_ORDER], past[_SAME], past[_RAISING] = 1.0, 1.0, 0.0, 1.0
    for j in range(_POINTS):
        past[_TIMES + j] = t
    for n in range(_POINTS * N):
        past[_PHI + n] = a.F[n] if n < N else 0.0
    fast = _size(a.F, ZERO, a.Y, a.Y, a.sizes, b.q.size, 1.0, tolerance)
    return _DONE, max(min(h, 0.25 / np.sqrt(max(fast, 1e-200))), smallest)


@bare
def _predict(a: AdamsWork, t: float, h: float) -> None:
    """Predict Y at the end of a step, and keep the factors of that."""
    not_inlined()
    past, N, k = a.memory, a.F.size, int(a.memory[_ORDER])
    _coefficients(h, t, past, k, a.g, a.beta, a.c)
    for n in range(N):
        total = 0.0
        for j in range(k + 1):
            a.star[j, n] = a.beta[j] * past[_PHI + j * N + n]
            if j < k:
                total += a.g[j] * a.star[j, n]
        a.predicted[n] = a.Y[n] + h * total


@bare
def _correct(a: AdamsWork, h: float, nq: int, tolerance: float) -> None:
    """Correct Y by the derivatives at the predicted one, and find the errors of this order and of those below."""
    not_inlined()
    N, k, g, last, errors = a.F.size, int(a.memory[_ORDER]), a.g, a.last, a.errors
    copy(last, ZERO, a.F, ZERO, N)
    errors[_LOWER], errors[_LOWEST] = np.inf, np.inf
    for j in range(k):
        for n in range(N):
            last[n] -= a.star[j, n]
        if j == k - 3:
            errors[_LOWEST] = _size(last, ZERO, a.Y, a.predicted, a.sizes, nq, h * (g[k - 2] - g[k - 3]), tolerance)
        if j == k - 2:
            errors[_LOWER] = _size(last, ZERO, a.Y, a.predicted, a.sizes, nq, h * (g[k - 1] - g[k - 2]), tolerance)
    for n in range(N):
        a.new[n] = a.predicted[n] + h * g[k] * last[n]
    errors[_OWN] = _size(last, ZERO, a.Y, a.new, a.sizes, nq, h * (g[k] - g[k - 1]), tolerance)


@inner
def _over_singular(b: KernelBuffers, run: RunState, a: AdamsWork, t: float, h: float) -> bool:
    """Tell whether a step, whose end is just evaluated, goes over a singular position of the mechanism."""
    not_inlined()
    if not pivots_changed_sign(b, run):
        return False
    P = np.empty((2, a.Y.size))
    for n in range(a.Y.size):
        P[0, n], P[1, n] = a.Y[n], a.predicted[n] - a.Y[n]
    return not only_coordinates(b, run, P, t, h, a.no_q, run.times[NEGATIVE_PIVOTS])


@inner
def _attempt(
    b: KernelBuffers, run: RunState, a: AdamsWork, t: float, h: float, tolerance: float, smallest: float, last: float
) -> tuple[int, float, int]:
    """Predict and correct, smaller and of lower order until it is good; return a status, the size, and the refusals."""
    not_inlined()
    past, errors, fails = a.memory, a.errors, 0
    while True:
        if t + h > last - LAST_STEP_SLACK * h:
            h = last - t
        elif abs((t + h) - t - h) > ROUNDED_STEP * h:
            h = (t + h) - t
        k = int(past[_ORDER])
        _predict(a, t, h)
        good = _derivatives(b, run, a, t + h, a.predicted)
        nearest = min(HANDED_OVER, 0.75 * abs(past[_SHARE]))  # and within some three steps
        if run.flags[LOOPS] and (
            good != _DONE or singular_ahead(b, run, past[_SHARE], nearest) or _over_singular(b, run, a, t, h)
        ):
            past[_KNOWN] = 0.0
            return _SINGULAR if good == _DONE else _POOR, h, fails  # others go across singular positions
        error = np.inf
        if good != _UNTRUSTED:
            _correct(a, h, b.q.size, tolerance)
            error = errors[_OWN]
            if error <= 1.0:
                return _DONE, h, fails
        run.counts[REFUSED] += 1
        fails += 1
        past[_RAISING] = 0.0
        past[_SAME] = 0.0
        if k > 1 and min(errors[_LOWER], 1e300) <= errors[_OWN] and np.isfinite(error):
            past[_ORDER] = k - 1.0
        if fails > 3:
            past[_ORDER] = 1.0
        h *= 0.5 if fails <= 3 else 0.2
        if h < smallest:
            return _UNTRUSTED if good == _UNTRUSTED else (_TOO_SMALL if np.isfinite(error) else _NOT_FINITE), h, fails


@by_address
def adams_step(
    s: StepperCode, b: KernelBuffers, run: RunState, w: EventWatch, until: Numbers, rows: NumberTable
) -> int:
    """Take a step of the Adams method."""
    a, nq, nv, past = work_at(s.work), b.q.size, b.v.size, work_at(s.work).memory
    t, tolerance, smallest = run.times[TIME], ADAMS_ERROR * s.limits[TOLERANCE], s.limits[SMALLEST_ALLOWED]
    rest = a.Y.size - nq
    copy(a.Y, ZERO, run.q, ZERO, nq)
    copy(a.Y, nq, run.y, nv, rest)
    run.flags[CLOSE_STAGES] = 0
    status, h, fails = _DONE, min(run.times[NEXT_STEP], run.times[LONGEST_STEP]), 0
    if past[_KNOWN] == 0.0:
        status, h = _begin(b, run, a, t, tolerance, smallest)
    if run.flags[LOOPS]:
        h = min(h, longest_step(a.Y, nq, run.scale))
    whole = h
    if status == _DONE:
        a.errors[0] = a.errors[1] = a.errors[2] = 0.0
        status, h, fails = _attempt(b, run, a, t, h, tolerance, smallest, last_time(run, until))
    if status == _DONE:
        status = _arrive(b, run, w, a, t, h, smallest, until, rows)
    if status == _ARRIVED:
        status = _renew(b, run, w, a, t, h, whole if fails == 0 else h, tolerance)
    copy(run.q, ZERO, a.Y, ZERO, nq)
    copy(run.y, nv, a.Y, nq, rest)
    return int(status)


@inner
def _arrive(
    b: KernelBuffers,
    run: RunState,
    w: EventWatch,
    a: AdamsWork,
    t: float,
    h: float,
    smallest: float,
    until: Numbers,
    rows: NumberTable,
) -> int:
    """Close the end of a step and deliver it; a step whose end cannot be closed is tried again, smaller."""
    not_inlined()
    past, new, P = a.memory, a.new, np.empty((0, a.new.size))
    if asked_within(run, w, t, h, until):
        P = _polynomial(a, t, h)
    normalize(b, new, ZERO)
    copy(b.spare_q, ZERO, new, ZERO, b.q.size)
    if run.flags[LOOPS] and not close_loops(b, t + h, new, ZERO, new, b.q.size, CLOSE_ENOUGH):
        run.counts[REFUSED] += 1
        past[_KNOWN] = 0.0
        run.times[NEXT_STEP] = 0.25 * h
        return _OPEN if h < OPEN_STEP_FACTOR * smallest else _DONE
    if run.flags[LOOPS]:
        record_closing(b, run, new)
    status, end = deliver(b, run, w, P, t, h, a.no_q, new, until, rows)
    if status != _DONE:
        return int(status)
    run.counts[STEPS] += 1
    run.times[TIME] = end
    run.flags[RATES_GIVEN] = 0
    return _ARRIVED


@inner
def _renew(
    b: KernelBuffers, run: RunState, w: EventWatch, a: AdamsWork, t: float, h: float, whole: float, tolerance: float
) -> int:
    """Evaluate the end of a step, log a singular position that it went over, and take it into the history."""
    not_inlined()
    past, end = a.memory, run.times[TIME]
    b.pivots[SMALLEST] = np.inf
    good = _derivatives(b, run, a, end, a.new)
    if run.flags[LOOPS] and good != _UNTRUSTED:
        if _over_singular(b, run, a, t, h):
            locate_singular(b, run, _polynomial(a, t, h), t, h, a.no_q, np.inf)
        log_passage(b, run)
        keep_pivot_signs(b, run)
        past[_SHARE] = b.pivots[PIVOT]
    if w.counts[1]:  # an event has ended the step: the run begins anew there
        past[_KNOWN] = 0.0
        run.times[NEXT_STEP] = h
        copy(a.Y, ZERO, a.new, ZERO, a.Y.size)
        return _DONE
    following = _next_step(a, h, end, b.q.size, tolerance)
    run.times[NEXT_STEP] = max(following, whole) if h < whole else following  # the last step was cut short
    copy(a.Y, ZERO, a.new, ZERO, a.Y.size)
    if good != _DONE:
        past[_KNOWN] = 0.0
        if good == _UNTRUSTED or not run.flags[KEEP_PLAN]:
            return int(good)
    return _POOR if poor_coordinates(b, run) and not run.flags[KEEP_PLAN] else _DONE


@by_address
def adams_look_back(s: StepperCode, b: KernelBuffers, run: RunState) -> None:
    """Do nothing: a step has looked at its end already."""


@bare
def _next_step(a: AdamsWork, h: float, end: float, nq: int, tolerance: float) -> float:
    """Take the new point into the history, choose the next order, and return the next step."""
    not_inlined()
    past, N, k = a.memory, a.F.size, int(a.memory[_ORDER])
    erk, lower, lowest = a.errors[_OWN], a.errors[_LOWER], a.errors[_LOWEST]
    same = past[_SAME] if abs(h - (past[_TIMES] - past[_TIMES + 1])) <= 1e-9 * h else 0.0
    past[_SAME] = same + 1.0
    # (5.7): differences of the new point
    copy(past, _PHI, a.F, ZERO, N)
    for j in range(min(k + 1, _POINTS - 1)):
        for n in range(N):
            at = _PHI + j * N + n
            past[at + N] = past[at] - a.star[j, n]
    for j in range(_POINTS - 1, 0, -1):
        past[_TIMES + j] = past[_TIMES + j - 1]
    past[_TIMES] = end
    order = k
    if k > 1 and max(lower, lowest if k > 2 else 0.0) <= erk:
        past[_RAISING] = 0.0
        order = k - 1
        erk = lower
    elif past[_RAISING] and k < HIGHEST:
        past[_ORDER] = k + 1.0
        return 2.0 * h
    elif k < HIGHEST and past[_SAME] >= k + 1:
        higher = _size(past, _PHI + (k + 1) * N, a.Y, a.new, a.sizes, nq, h * _GAMMA[k + 1], tolerance)
        if (k == 1 and higher < 0.5 * erk) or (k > 1 and lower > min(erk, higher) and higher < erk):
            order, erk = k + 1, higher
        elif k > 1 and lower <= min(erk, higher):
            order, erk = k - 1, lower
    past[_RAISING] = 0.0
    past[_ORDER] = float(order)
    if erk * 2.0 ** (order + 1) <= 0.5:
        return 2.0 * h
    growth = (0.5 / erk) ** (1.0 / (order + 1))
    if erk <= 0.5:  # after as many equal steps as the differences reach back over, which tell the error well
        return float(h * growth if growth >= LEAST_GROWTH and past[_SAME] > order else h)
    return float(h * min(max(growth, 0.5), 0.9))


class Adams(CompiledStepper):
    """The Adams method of orders one to twelve."""

    estimates_error = True
    takes_fixed_steps = False
    adaptive_by_default = True
    resumes_own_step = False
    step_function = "adams_step"
    look_back_function = "adams_look_back"
    evaluates_end = True

    def memory_size(self, bindings: KernelBindings) -> int:
        """Return how many numbers the method keeps: times and differences of the last points."""
        return _PHI + _POINTS * bindings.row_size

    def memory_entries(self, nv: int) -> Mapping[int, NumberForm]:
        """Return what the order and the counts in the memory may be."""
        return {_KNOWN: FLAG, _ORDER: NumberForm(0, HIGHEST, whole=True), _SAME: COUNT, _RAISING: FLAG}

    def unpack_from_file(self, arrays: Mapping[str, Array], nv: int) -> None:
        """Take over a memory; one that is known has an order."""
        super().unpack_from_file(arrays, nv)
        if self.memory.size > _ORDER and self.memory[_KNOWN] > self.memory[_ORDER]:
            raise StateError("its memory has points, but no order")

    def structs(self, bindings: KernelBindings) -> tuple[NativeStruct, NativeStruct]:
        """Bind the kernel of the coordinates' rates, and make room for a step."""
        N, nq, ny = bindings.row_size, bindings.system.nq, bindings.y_size
        kernel, rates = np.zeros(6, dtype=np.int64), bindings.array("coordinate rates", nq)
        if bindings.quaternions.size:
            kernel[:] = bindings.bind("coordinate_rates", {"q": "here"}, "coordinate rates")
        work = AdamsWork(
            kernel,
            rates,
            _sizes(bindings),
            self.memory,
            *(np.zeros(N) for _ in range(4)),
            *(np.zeros(ny) for _ in range(2)),
            np.zeros((_POINTS, N)),
            np.zeros(N),
            *(np.zeros(_POINTS + 1) for _ in range(3)),
            np.zeros(3),
            np.zeros(0),
        )
        return work, work


def _sizes(bindings: KernelBindings) -> Array:
    """Return what each coordinate and velocity is measured by."""
    return np.concatenate([bindings.coordinate_scale, bindings.scale])
