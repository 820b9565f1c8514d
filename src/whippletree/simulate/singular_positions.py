"""Singular positions ahead of a run: found, and crossed in one step (see `collocation_crossing` for how).

What is followed is the share of a pivot's size where the plan was made, with its sign: it is zero at a singular
position, and where only the choice of coordinates is singular.
"""

from __future__ import annotations

import numpy as np

from whippletree.simulate.collocation_crossing import RULE, first_guess, integrals_to, iterate, resample
from whippletree.simulate.kernel_calls import (
    NEGATIVE,
    PIVOT,
    SMALLEST,
    SMALLEST_AT,
    ZERO,
    KernelBuffers,
    coordinates_to_blame,
    copy,
    displace,
    largest_velocity,
    not_inlined,
    regularity,
)
from whippletree.simulate.native_functions import bare, by_address, inner
from whippletree.simulate.native_structs import Address, NativeStruct, Numbers, NumberTable
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    CROSS_BELOW,
    EVALUATIONS,
    LAST_PIVOT,
    LAST_PIVOT_AT,
    OUTPUTS,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import (
    AVERAGED_ITERATIONS,
    COARSE_CHANGE,
    CROSSING_ITERATIONS,
    CROSSING_NOISE,
    CROSSING_SHARE,
    EXACT_CROSSING,
    FAR_FROM_SINGULAR,
    LEAST_CROSSING_SHARE,
    LEAST_NODE_SHARE,
    MOST_CROSSING_NOISE,
    NODE_SHARE,
    SLOPE_NUDGE,
    SOON_POOR,
    TOLERANCE_WITHIN_CROSSING,
)
from whippletree.simulate.state_rates import evaluate
from whippletree.simulate.step_output import last_time
from whippletree.simulate.zero_crossings import EventWatch

__all__ = ["CROSSING_SHARE", "StepWork", "approach_singular", "leave_singular"]


_DONE, _UNTRUSTED, _POOR = Status.DONE, Status.UNTRUSTED, Status.POOR


class StepWork(NativeStruct):
    """What one step works with."""

    new: Numbers  # y where it ends
    reached: Numbers  # the state there as a row [q, v, z, work]
    stage: Numbers
    pivots: Numbers  # `KernelBuffers.pivots` where it begins
    k: NumberTable  # rates at its stages
    across: NumberTable  # states at the nodes of a step across a singular position
    k_across: NumberTable  # and rates there
    # what machine code calls by its address (see `native_functions`)
    cross_singular: Address
    leave_singular: Address
    approach_singular: Address
    attempt_step: Address


@bare
def _expected(b: KernelBuffers, times: Numbers) -> float:
    """Return how far ahead in time a singular position is expected, straight on from the last step."""
    before, now = times[LAST_PIVOT], b.pivots[PIVOT]
    if now * before > 0 and abs(now) < abs(before):
        return float((times[TIME] - times[LAST_PIVOT_AT]) * now / (before - now))
    return np.inf


@bare
def _found(b: KernelBuffers, run: RunState, ahead: float, k: NumberTable, stage: Numbers, unused: Numbers) -> float:
    """Return how far ahead a singular position is, by secants, with accelerations that stay as they are.

    It is infinitely far if only the choice of coordinates is singular there.
    """
    y, nv, flags = run.y, b.v.size, run.flags
    kept = (b.pivots[SMALLEST], b.pivots[SMALLEST_AT], b.pivots[PIVOT])
    left, here, at = 0.0, kept[2], ahead
    for _ in range(4):
        for n in range(y.size):
            stage[n] = y[n] + at * k[n]
        for i in range(nv):
            stage[i] += 0.5 * at * at * k[nv + i]
        b.t[0] = run.times[TIME] + at
        displace(b, stage, nv, unused)
        if regularity(b) > FAR_FROM_SINGULAR:
            at = np.inf
            break
        evaluate(b, run.times[TIME] + at, stage, unused, flags, 0.0)
        there = b.pivots[PIVOT]
        if not np.isfinite(there):  # just there
            break
        run.counts[EVALUATIONS] += 1
        if coordinates_to_blame(b, there):
            at = np.inf
            break
        if there == here:
            at = np.inf
            break
        left, here, at = at, there, at - there * (at - left) / (there - here)
        if not 0 < at < 2 * ahead:
            at = np.inf
            break
    b.pivots[SMALLEST], b.pivots[SMALLEST_AT], b.pivots[PIVOT] = kept
    return at


@bare
def _slope(b: KernelBuffers, run: RunState, stage: Numbers, unused: Numbers) -> tuple[float, float]:
    """Return the pivot, which at a singular position is no number, and how fast it changes along the velocities."""
    y, nv = run.y, b.v.size
    speed = largest_velocity(y, nv, run.scale)
    if speed == 0.0:
        return 0.0, 0.0
    ends = (0.0, 0.0)
    for side in range(2):
        dt = (2 * side - 1) * SLOPE_NUDGE / speed
        copy(stage, ZERO, y, ZERO, y.size)
        for i in range(nv):
            stage[i] = dt * y[nv + i]
        evaluate(b, run.times[TIME] + dt, stage, unused, run.flags, 0.0)
        ends = (ends[1], b.pivots[PIVOT])
    run.counts[EVALUATIONS] += 2
    return 0.5 * (ends[0] + ends[1]), (ends[1] - ends[0]) * speed / (2 * SLOPE_NUDGE)


@bare
def _straight_on(b: KernelBuffers, run: RunState, stage: Numbers, unused: Numbers) -> float:
    """Return how far ahead a singular position is along the velocities."""
    kept = (b.pivots[SMALLEST], b.pivots[SMALLEST_AT], b.pivots[PIVOT], b.pivots[NEGATIVE])
    run.flags[CLOSE_STAGES] = 0
    _, slope = _slope(b, run, stage, unused)
    b.pivots[SMALLEST], b.pivots[SMALLEST_AT], b.pivots[PIVOT], b.pivots[NEGATIVE] = kept
    return -kept[2] / slope if kept[2] * slope < 0.0 else np.inf


@bare
def _sweep(
    b: KernelBuffers, run: RunState, h: float, c0: float, start: float, first: bool, k: NumberTable, Y: NumberTable
) -> bool:
    """Evaluate the rates at the nodes of a crossing; tell whether all are on the side where they should be."""
    nodes = RULE.c.size
    for j in range(1 if c0 == 0.0 else 0, nodes):
        if first and c0 == 0.0:
            first_guess(RULE, h, k, b.v.size, j, Y)
        t = run.times[TIME] + (RULE.c[j] - c0) * h
        status = evaluate(b, t, Y[j], k[j], run.flags, 0.1 * abs(start))
        run.counts[EVALUATIONS] += 1
        if status == _UNTRUSTED or (b.pivots[PIVOT] * start > 0) != (2 * j < nodes):
            return False
    return True


@by_address
def cross_singular(
    a: StepWork,
    b: KernelBuffers,
    run: RunState,
    h: float,
    c0: float,
    start: float,
    tolerance: float,
    noise: float,
    most: float,
    k: NumberTable,
    Y: NumberTable,
) -> float:
    """Cross a singular position in one step; return its estimated error, which is infinite if it does not converge.

    The present state is at the share c0 of the step, and the pivot at its beginning is `start`. If the state is at the
    beginning, `k[0]` holds the rates there. The states at the nodes are left in Y. Noise is what rounding may move
    states by from one iteration to the next. A crossing whose error is larger than `most` is not worth finishing.
    """
    y, nv, flags = run.y, b.v.size, run.flags
    size = np.ones(y.size)
    for i in range(nv):
        size[i] = run.scale[i]
        size[nv + i] = run.scale[i] + abs(y[nv + i])
    nodes, before, settled = RULE.c.size, np.inf, False
    integrals = np.zeros(nodes)
    copy(Y[0], ZERO, y, ZERO, y.size)
    if c0 > 0.0:
        integrals_to(RULE, c0, integrals)
        for j in range(nodes):
            copy(Y[j], ZERO, y, ZERO, y.size)
            for i in range(nv):
                Y[j, i] = (RULE.c[j] - c0) * h * y[nv + i]
    for iteration in range(CROSSING_ITERATIONS):
        # closed to the last digit at the end: before, that would be good for nothing
        flags[CLOSE_STAGES] = 1 if before < COARSE_CHANGE else 2
        if not _sweep(b, run, h, c0, start, iteration == 0, k, Y):
            return np.inf
        change = iterate(RULE, h, y, k, size, integrals, Y)
        settled = change < 0.01 * tolerance or (change < noise and change > 0.8 * before) or change < 1e-14
        if settled or not change < 4 * before:
            break
        before = change
    flags[CLOSE_STAGES] = 1
    error = _crossing_error(h, k, size) if settled else np.inf
    if error <= most and tolerance < noise:
        # what still changes is rounding, another one each time: take the mean
        mean = np.zeros(k.shape)
        for _ in range(AVERAGED_ITERATIONS):
            if not _sweep(b, run, h, c0, start, False, k, Y):
                return np.inf
            for j in range(nodes):
                for n in range(y.size):
                    mean[j, n] += k[j, n] / AVERAGED_ITERATIONS
            iterate(RULE, h, y, k, size, integrals, Y)
        for j in range(nodes):
            copy(k[j], ZERO, mean[j], ZERO, y.size)
        iterate(RULE, h, y, k, size, integrals, Y)
    return error


@bare
def _crossing_error(h: float, k: NumberTable, size: Numbers) -> float:
    """Return the estimated error of a crossing, by a rule with a node less."""
    error = 0.0
    for n in range(size.size - 2):
        total = 0.0
        for j in range(k.shape[0]):
            total += RULE.e[j] * k[j, n]
        error = max(error, abs(h * total) / size[n])
    return error


@by_address
def leave_singular(a: StepWork, b: KernelBuffers, run: RunState, last: float, tolerance: float) -> float:
    """Leave a singular position that the state is next to: by a step that reaches back from it and on across it.

    Return the size of the step, or zero if that does not go. Its end is left in `a.new`, the states within it in
    `a.across`; `a.pivots` is what is known of the present state.
    """
    not_inlined()
    t, k, Y = run.times[TIME], a.k_across, a.across
    asked = min(tolerance, TOLERANCE_WITHIN_CROSSING)
    run.flags[CLOSE_STAGES] = 0
    pivot, slope = _slope(b, run, a.stage, k[0])
    share, h, noise = NODE_SHARE, 0.0, CROSSING_NOISE
    while h == 0.0 and slope != 0.0 and np.isfinite(slope) and noise < MOST_CROSSING_NOISE:
        half, ahead = share / abs(slope), -pivot / slope
        c0, start, most = 0.5 * (1.0 - ahead / half), -share * np.sign(slope), max(asked, 10 * noise)
        run.flags[CLOSE_STAGES] = 1
        if 0.0 < c0 < 1.0 and cross_singular(a, b, run, 2 * half, c0, start, asked, noise, most, k, Y) <= most:
            h = min((1.0 - c0) * 2 * half, last - t)
            resample(RULE, c0, h / (2 * half), Y, a.stage)
            copy(a.new, ZERO, Y[Y.shape[0] - 1], ZERO, a.new.size)
        share *= 0.5
        if not 0.0 < c0 < 1.0 or share < LEAST_NODE_SHARE:  # again, content with less
            share, noise = NODE_SHARE, 30 * noise
    copy(b.pivots, ZERO, a.pivots, ZERO, b.pivots.size)
    return h


@by_address
def approach_singular(
    a: StepWork,
    b: KernelBuffers,
    run: RunState,
    w: EventWatch,
    h: float,
    tolerance: float,
    adaptive: bool,
    until: Numbers,
) -> tuple[int, float, bool]:
    """Look out for a singular position ahead: end before it, or cross it in one step if it is next.

    Return a status, the size of the step to take, and whether it has been taken: then its end is in `a.new` and the
    states within it in `a.across`. The rates at the present state are in `a.k[0]`, its pivot in `a.pivots`.
    """
    not_inlined()
    times, t, last, pivot = run.times, run.times[TIME], last_time(run, until), abs(a.pivots[PIVOT])
    ahead = _expected(b, times)
    if pivot <= times[CROSS_BELOW] and times[LAST_PIVOT] == 0.0:  # nothing is known of the step before
        ahead = _straight_on(b, run, a.stage, a.new)
    if pivot > 1.2 * CROSSING_SHARE:
        times[CROSS_BELOW] = CROSSING_SHARE
    if pivot > times[CROSS_BELOW]:
        if adaptive and h > 0.5 * ahead:  # end where the crossing is to begin
            ahead = _found(b, run, ahead, a.k[0], a.stage, a.new)
            h = min(h, ahead * (1 - 0.75 * times[CROSS_BELOW] / pivot))
        return _DONE, h, False
    if not ahead < last - t:
        return _DONE, h, False
    soon = ahead < 2 * h
    ahead = _found(b, run, ahead, a.k[0], a.stage, a.new)
    if ahead == np.inf:
        times[CROSS_BELOW] = 0.5 * pivot
        return _POOR if soon and pivot < SOON_POOR else _DONE, h, False
    if not 0.9 * ahead < last - t:
        return _DONE, h, False
    error, most, usable = _cross(b, run, w, a, 2 * ahead, tolerance, until)
    if error <= most:
        return _DONE, min(2 * ahead, last - t), True
    run.flags[CLOSE_STAGES] = 0
    if error <= usable:  # begin nearer: the error falls with the order of the rule
        times[CROSS_BELOW] = pivot * max(0.5, 0.9 * (most / error) ** (1.0 / RULE.c.size))
        return _DONE, min(h, ahead * (1 - 0.75 * times[CROSS_BELOW] / pivot)) if adaptive else h, False
    once, times[CROSS_BELOW] = times[CROSS_BELOW] > 0.99 * CROSSING_SHARE, 0.5 * pivot
    # perhaps it is nothing but the choice of coordinates: ask for another one, once
    return _POOR if once else _DONE, h, False


@inner
def _cross(
    b: KernelBuffers, run: RunState, w: EventWatch, a: StepWork, h: float, tolerance: float, until: Numbers
) -> tuple[float, float, float]:
    """Cross a singular position in the middle of a step of size h, or of what is left of the run.

    Return its error, the largest one that is good enough here, and the largest one that is if no crossing that begins
    nearer is better.
    """
    t, last = run.times[TIME], last_time(run, until)
    inside = w.side.size > 0 or until[run.counts[OUTPUTS]] < t + h or last < t + h
    good, pivot = min(tolerance, TOLERANCE_WITHIN_CROSSING) if inside else tolerance, a.pivots[PIVOT]
    copy(a.k_across[0], ZERO, a.k[0], ZERO, a.new.size)
    usable = max(good, 10 * CROSSING_NOISE)
    most = min(max(tolerance, EXACT_CROSSING), usable) if abs(pivot) > LEAST_CROSSING_SHARE else usable
    error = cross_singular(a, b, run, h, 0.0, pivot, good, CROSSING_NOISE, most, a.k_across, a.across)
    if inside and not error <= usable:
        most = usable = max(good, 300 * CROSSING_NOISE)
        error = cross_singular(a, b, run, h, 0.0, pivot, good, 30 * CROSSING_NOISE, most, a.k_across, a.across)
    if not error <= most:
        return error, most, usable
    if last - t < h:
        resample(RULE, 0.0, (last - t) / h, a.across, a.stage)
    copy(a.new, ZERO, a.across[a.across.shape[0] - 1], ZERO, a.new.size)
    return error, most, usable
