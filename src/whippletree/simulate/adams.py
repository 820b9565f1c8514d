"""An Adams predictor-corrector of variable order and step, in machine code.

It evaluates twice in a step, whatever the order: predict, evaluate, correct, evaluate. Formulas are those of Krogh and
of Shampine and Gordon, as in Hairer, Norsett and Wanner, section III.5 (equation numbers are theirs): Phi_j are scaled
divided differences of the derivatives at the last points, g_j the integrals of their factors. The predictor of order k
uses k points, the corrector one more; the difference of correctors of orders k and k - 1 is the error of the step.

The vector is Y = [q, v, z, work]: coordinates themselves and no displacements, so that history means the same at every
step. Quaternions are brought to unit length after each step and before each evaluation, and where there are loops the
state is put on the closures: both change it by less than the step's error, and the derivatives that are kept are those
at the state so improved. Where the numeric plan is not to be trusted, `simulation` lets a Runge-Kutta method go across.

`past` is what a run keeps from step to step: whether there is anything, the order, how many steps had this size,
whether the order is still being raised, the times of the last points, and Phi.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.kernel_calls import (
    SMALLEST,
    ZERO,
    call,
    close_loops,
    copy,
    longest_step,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import entry, inner
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    EVALUATIONS,
    KEEP_PLAN,
    LOOPS,
    NEXT_STEP,
    OUTPUTS,
    RATES_GIVEN,
    REFUSED,
    STEPS,
    TIME,
    Status,
)
from whippletree.simulate.singularity_log import keep_pivot_signs, locate_singular, log_passage, pivots_changed_sign
from whippletree.simulate.state_rates import CLOSE_ENOUGH, UNTRUSTED_SHARE, evaluate
from whippletree.simulate.step_output import asked_within, deliver, full, write_present

__all__ = ["ADAMS", "advance", "bind", "past_size"]

ADAMS = "adams"
_DONE, _PAUSED, _UNTRUSTED, _POOR = Status.DONE, Status.PAUSED, Status.UNTRUSTED, Status.POOR
_OPEN, _TOO_SMALL, _NOT_FINITE, _EVENT = Status.OPEN, Status.TOO_SMALL, Status.NOT_FINITE, Status.EVENT
HIGHEST = 12
_POINTS = HIGHEST + 2
_KNOWN, _ORDER, _SAME, _RAISING, _TIMES = 0, 1, 2, 3, 4
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


def past_size(bindings: KernelBindings) -> int:
    """Return how many numbers a run keeps from step to step."""
    return _PHI + _POINTS * (bindings.system.nq + bindings.system.nv + bindings.system.nz + 2)


def bind(bindings: KernelBindings) -> tuple[Any, Any]:
    """Return the kernel of the coordinates' rates, and what each entry of Y is measured by."""
    system = bindings.system
    rates = np.zeros(6, dtype=np.int64)
    bindings.arrays["coordinate rates"] = np.zeros(system.nq)
    if bindings.quaternions.size:
        kernel = system._engine.kernel_of("coordinate_rates")
        rates[:] = bindings.bind(kernel, {"q": "here"}, "coordinate rates")
    scale = system._engine.loops.numbers.column_scale
    sizes = np.concatenate([np.empty(system.nq), scale])
    for use in system.description.joints:
        q, v = system.q_slice(use.name), system.v_slice(use.name)
        turned = 4 if use.joint.quaternion else 0
        sizes[q.start : q.start + turned] = 0.5
        sizes[q.start + turned : q.stop] = scale[v.start + (3 if turned else 0) : v.stop]
    return rates, sizes


@inner
def _derivatives(b: Any, rates_kernel: Any, rates: Any, t: float, Y: Any, F: Any, y: Any, k: Any, options: Any) -> int:
    """Evaluate the derivatives F of Y; say whether they are to be trusted."""
    not_inlined()
    nq, nv = b.q.size, b.v.size
    normalize(b, Y, ZERO)
    copy(b.q, ZERO, Y, ZERO, nq)
    for i in range(nv):
        y[i] = 0.0
    copy(y, nv, Y, nq, Y.size - nq)
    status = int(evaluate(b, t, y, k, options, UNTRUSTED_SHARE))
    if b.quaternions.size:
        call(rates_kernel)
        copy(F, ZERO, rates, ZERO, nq)
    else:
        copy(F, ZERO, k, ZERO, nq)
    copy(F, nq, k, nv, Y.size - nq)
    return status


@inner
def _coefficients(h: float, t: float, times: Any, k: int, g: Any, beta: Any) -> None:
    """Put g_j (5.10) and beta_j (5.9) for a step from t, the times of the points before it being known."""
    not_inlined()
    c = np.empty(k + 3)
    for m in range(k + 2):
        c[m] = 1.0 / (m + 1)
    g[0], beta[0] = 1.0, 1.0
    for j in range(1, k + 2):
        ahead = t + h - times[j - 1]
        for m in range(k + 2 - j):
            if j == 1:
                c[m] = 1.0 / ((m + 1) * (m + 2))
            else:
                c[m] -= c[m + 1] * h / ahead
        g[j] = c[0]
        back = t - times[j]
        beta[j] = beta[j - 1] * ahead / back if j <= k and back > 0.0 else 0.0


@inner
def _size(x: Any, Y: Any, new: Any, sizes: Any, nq: int, factor: float, tolerance: float) -> float:
    """Return the size of an error as a share of the tolerance."""
    not_inlined()
    total = 0.0
    for n in range(x.size):
        size = sizes[n] if n < sizes.size else 1.0
        if n >= nq:
            size += max(abs(Y[n]), abs(new[n]))
        total += (factor * x[n] / (tolerance * size)) ** 2
    return float(np.sqrt(total / x.size))


@inner
def _polynomial(h: float, t: float, times: Any, k: int, Y: Any, star: Any, last: Any) -> Any:
    """Return the corrector within the step, as a polynomial in the share of it: it meets both ends."""
    not_inlined()
    P = np.zeros((k + 2, Y.size))
    factor = np.zeros(k + 2)
    factor[0] = 1.0
    for n in range(Y.size):
        P[0, n] = Y[n]
    for j in range(k + 1):
        for p in range(j + 1):
            for n in range(Y.size):
                P[p + 1, n] += h * factor[p] / (p + 1) * (star[j, n] if j < k else last[n])
        # times (s + a) / (1 + a)
        a = (t - times[j]) / h
        for p in range(j + 1, -1, -1):
            factor[p] = (factor[p] * a + (factor[p - 1] if p > 0 else 0.0)) / (1.0 + a)
    return P


@inner
def _begin(past: Any, times: Any, Phi: Any, F: Any, t: float) -> None:
    """Begin with order one."""
    past[_KNOWN], past[_ORDER], past[_SAME], past[_RAISING] = 1.0, 1.0, 0.0, 1.0
    for j in range(_POINTS):
        times[j] = t
        for n in range(F.size):
            Phi[j, n] = 0.0
    copy(Phi[0], ZERO, F, ZERO, F.size)


@entry
def advance(
    b: Any,
    rates_kernel: Any,
    rates: Any,
    sizes: Any,
    run: Any,
    w: Any,
    past: Any,
    tolerance: float,
    smallest: float,
    until: Any,
    rows: Any,
    most: int,
) -> int:
    """Go on with a run, as `runge_kutta.advance` does."""
    y, clock, counts, options = run.y, run.times, run.counts, run.options
    nq, nv = b.q.size, b.v.size
    N = nq + y.size - nv
    Y, new, F, predicted = np.empty(N), np.empty(N), np.empty(N), np.empty(N)
    z, k_ = np.empty(y.size), np.empty(y.size)
    star, last, row, nowhere = np.empty((_POINTS, N)), np.empty(N), np.empty(N), np.empty(0)
    g, beta = np.empty(_POINTS + 1), np.empty(_POINTS + 1)
    times = past[_TIMES:_PHI]
    Phi = past[_PHI:].reshape((_POINTS, N))
    copy(Y, ZERO, b.q, ZERO, nq)
    copy(Y, nq, y, nv, N - nq)
    status, taken = _DONE, 0
    options[CLOSE_STAGES] = 0
    write_present(run, Y, until, rows)
    while counts[OUTPUTS] < until.size:
        if taken >= most or full(run, w):
            status = _PAUSED
            break
        t, h, end_of_all = clock[TIME], clock[NEXT_STEP], until[until.size - 1]
        if past[_KNOWN] == 0.0:
            b.pivots[SMALLEST] = np.inf
            counts[EVALUATIONS] += 1
            first = _derivatives(b, rates_kernel, rates, t, Y, F, z, k_, options)
            if first != _DONE:
                status = first
                break
            if options[LOOPS]:
                keep_pivot_signs(b, run)
            _begin(past, times, Phi, F, t)
            h = max(min(h, 0.25 / np.sqrt(max(_size(F, Y, Y, sizes, nq, 1.0, tolerance), 1e-200))), smallest)
        if options[LOOPS]:
            h = min(h, longest_step(Y, nq, run.scale))
        fails, k = 0, int(past[_ORDER])
        err, erk, lower, lowest = 0.0, 0.0, 0.0, 0.0
        whole = h
        while True:
            if t + h > end_of_all - 1e-6 * h:
                h = end_of_all - t
            k = int(past[_ORDER])
            _coefficients(h, t, times, k, g, beta)
            for n in range(N):
                total = 0.0
                for j in range(k + 1):
                    star[j, n] = beta[j] * Phi[j, n]
                    if j < k:
                        total += g[j] * star[j, n]
                predicted[n] = Y[n] + h * total
            good = _derivatives(b, rates_kernel, rates, t + h, predicted, F, z, k_, options)
            counts[EVALUATIONS] += 1
            if options[LOOPS] and (good != _DONE or pivots_changed_sign(b, run)):
                status = _POOR  # others go across singular positions
                past[_KNOWN] = 0.0
                break
            # Phi_k, and those of orders k - 1 and k - 2, from the predicted derivatives
            err = np.inf
            if good != _UNTRUSTED:
                copy(last, ZERO, F, ZERO, N)
                lower, lowest = np.inf, np.inf
                for j in range(k):
                    for n in range(N):
                        last[n] -= star[j, n]
                    if j == k - 3:
                        lowest = _size(last, Y, predicted, sizes, nq, h * (g[k - 2] - g[k - 3]), tolerance)
                    if j == k - 2:
                        lower = _size(last, Y, predicted, sizes, nq, h * (g[k - 1] - g[k - 2]), tolerance)
                for n in range(N):
                    new[n] = predicted[n] + h * g[k] * last[n]
                err = _size(last, Y, new, sizes, nq, h * (g[k] - g[k - 1]), tolerance)
                erk = err
                if err <= 1.0:
                    break
            counts[REFUSED] += 1
            fails += 1
            past[_RAISING] = 0.0
            past[_SAME] = 0.0
            if k > 1 and min(lower, 1e300) <= erk and np.isfinite(err):
                past[_ORDER] = k - 1.0
            if fails > 3:
                past[_ORDER] = 1.0
            h *= 0.5 if fails <= 3 else 0.2
            if h < smallest:
                status = _UNTRUSTED if good == _UNTRUSTED else (_TOO_SMALL if np.isfinite(err) else _NOT_FINITE)
                break
        if status != _DONE:
            break
        P = np.empty((0, N))
        if asked_within(run, w, t, h, until):
            P = _polynomial(h, t, times, k, Y, star, last)
        normalize(b, new, ZERO)
        if options[LOOPS] and not close_loops(b, t + h, new, ZERO, new, nq, CLOSE_ENOUGH):
            counts[REFUSED] += 1
            taken += 1
            past[_KNOWN] = 0.0
            clock[NEXT_STEP] = 0.25 * h
            if h < 100 * smallest:
                status = _OPEN
                break
            continue
        status, end = deliver(b, run, w, P, t, h, nowhere, new, until, rows)
        if status != _DONE:
            break
        counts[STEPS] += 1
        taken += 1
        clock[TIME] = end
        options[RATES_GIVEN] = 0
        b.pivots[SMALLEST] = np.inf
        good = _derivatives(b, rates_kernel, rates, end, new, F, z, k_, options)
        counts[EVALUATIONS] += 1
        if options[LOOPS] and good != _UNTRUSTED:
            if pivots_changed_sign(b, run):
                locate_singular(b, run, _polynomial(h, t, times, k, Y, star, last), t, h, nowhere, np.inf)
            log_passage(b, run)
            keep_pivot_signs(b, run)
        if w.counts[1]:
            copy(Y, ZERO, new, ZERO, N)
            past[_KNOWN] = 0.0
            clock[NEXT_STEP] = h
            status = _EVENT
            break
        copy(row, ZERO, new, ZERO, N)
        clock[NEXT_STEP] = _renewed(
            past, times, Phi, star, F, Y, row, sizes, nq, k, h, end, erk, lower, lowest, tolerance, g
        )
        if h < whole and fails == 0:  # the last step was cut short
            clock[NEXT_STEP] = max(clock[NEXT_STEP], whole)
        copy(Y, ZERO, new, ZERO, N)
        if good != _DONE:
            past[_KNOWN] = 0.0
            if good == _UNTRUSTED or not options[KEEP_PLAN]:
                status = good
                break
    copy(b.q, ZERO, Y, ZERO, nq)
    copy(y, nv, Y, nq, N - nq)
    return status


@inner
def _renewed(
    past: Any,
    times: Any,
    Phi: Any,
    star: Any,
    F: Any,
    Y: Any,
    new: Any,
    sizes: Any,
    nq: int,
    k: int,
    h: float,
    end: float,
    erk: float,
    lower: float,
    lowest: float,
    tolerance: float,
    g: Any,
) -> float:
    """Take the new point into the history, choose the next order, and return the next step."""
    not_inlined()
    N = F.size
    same = past[_SAME] if abs(h - (times[0] - times[1])) <= 1e-9 * h else 0.0
    past[_SAME] = same + 1.0
    # (5.7): differences of the new point
    copy(Phi[0], ZERO, F, ZERO, N)
    for j in range(min(k + 1, _POINTS - 1)):
        for n in range(N):
            Phi[j + 1, n] = Phi[j, n] - star[j, n]
    for j in range(_POINTS - 1, 0, -1):
        times[j] = times[j - 1]
    times[0] = end
    order = k
    if k > 1 and max(lower, lowest if k > 2 else 0.0) <= erk:
        past[_RAISING] = 0.0
        order = k - 1
        erk = lower
    elif past[_RAISING] and k < HIGHEST:
        past[_ORDER] = k + 1.0
        return 2.0 * h
    elif k < HIGHEST and past[_SAME] >= k + 1:
        higher = _size(Phi[k + 1], Y, new, sizes, nq, h * _GAMMA[k + 1], tolerance)
        if (k == 1 and higher < 0.5 * erk) or (k > 1 and lower > min(erk, higher) and higher < erk):
            order, erk = k + 1, higher
        elif k > 1 and lower <= min(erk, higher):
            order, erk = k - 1, lower
    past[_RAISING] = 0.0
    past[_ORDER] = float(order)
    if erk * 2.0 ** (order + 1) <= 0.5:
        return 2.0 * h
    if erk <= 0.5:
        return h
    return float(h * min(max((0.5 / erk) ** (1.0 / (order + 1)), 0.5), 0.9))
