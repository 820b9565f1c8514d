"""Time loops in machine code: they call kernels by address, and Python is not entered between outputs.

A kernel is handed over as six addresses: of its code, its inputs' and outputs' pointers, its scratch memory, its
constants and its tables. All arrays that it reads and writes belong to the caller (`Buffers`).

State: q (nq), and y = [u, v, z, w]: the displacement u from q within a step, velocities, states of elements, and work
(put in, dissipated). A step begins at u = 0 and integrates

    u' = T(u) v,      v' = a(q + u, v, t),      z' = z'(q + u, v, z, t),      w' = powers

as one vector, by any explicit Runge-Kutta method; quaternions stay on the sphere because u is a rotation vector. Where
there are loops, each accepted state is brought back onto the closures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from whippletree.simulate.bundles import Bundle, Number, Numbers, NumberTable, Words
from whippletree.simulate.crossings import crossings, polynomial
from whippletree.simulate.moves import RATES as _RATES
from whippletree.simulate.moves import ZERO, Buffers, apart, bare
from whippletree.simulate.moves import call as _call
from whippletree.simulate.moves import close as _closed
from whippletree.simulate.moves import copy as _copy
from whippletree.simulate.moves import fastest as _fastest
from whippletree.simulate.moves import longest as _longest
from whippletree.simulate.moves import near_enough as _near_enough
from whippletree.simulate.moves import normalize as _normalize
from whippletree.simulate.moves import place as _place
from whippletree.simulate.noting import POOR_SHARE as _POOR_SHARE
from whippletree.simulate.noting import locate as _locate
from whippletree.simulate.noting import note as _note
from whippletree.simulate.noting import note_passage as _note_passage
from whippletree.simulate.noting import recall as _recall
from whippletree.simulate.noting import remember as _remember
from whippletree.simulate.noting import seen as _seen
from whippletree.simulate.noting import stepped_over as _stepped_over
from whippletree.simulate.passage import RULE as _RULE
from whippletree.simulate.passage import between as _between
from whippletree.simulate.passage import guess as _guess
from whippletree.simulate.passage import iterate as _iterate
from whippletree.simulate.passage import resampled as _resampled
from whippletree.simulate.passage import upto as _upto

__all__ = ["CROSSING_SHARE", "Buffers", "Course", "Method", "Status", "advance", "evaluate_end"]


class Status:
    """How a stretch of a run ended."""

    DONE = 0  # all outputs are made
    PAUSED = 1  # as many steps as were allowed are taken
    UNTRUSTED = 2  # the solution at the present state is not to be trusted
    POOR = 3  # the choice of coordinates has become poor
    OPEN = 4  # the loops could not be closed again
    TOO_SMALL = 5  # the step became too small for the tolerance
    NOT_FINITE = 6  # a number is not finite
    EVENT = 7  # an event has happened that stops or switches
    STUCK = 20  # Newton's method does not converge


_DONE, _PAUSED, _UNTRUSTED, _POOR, _OPEN, _TOO_SMALL, _NOT_FINITE, _EVENT = range(8)
_CLOSE_ENOUGH = 1e-14  # square of a gap that one more Newton step takes to rounding
_TIGHT = 1e-30  # near a singular position it takes more steps
# Shares of a pivot's size where the plan was made. Accelerations lose about the cube of the share in digits.
_FAR_SHARE = 2e-2  # a step that can choose its size keeps its stages as far away as it can, at first by this share
_NEAR_SHARE = 4e-3  # below: accelerations are not good to the tolerance
_UNTRUSTED_SHARE = 5e-4  # below: never used
_CROSSING_ITERATIONS = 80
_CROSSING_NOISE = 1e-11  # at first; next to a position that a slow motion stays near it may be more
_MOST_NOISE = 1e-6
_CROSSING_COARSE = 1e-9  # as long as an iteration moves states by more than that, they are not closed to the last digit
_CROSSING_MEAN = 8  # iterations more that are averaged if the tolerance is smaller than that noise
_PASSING_SHARE = 0.3  # of the nodes of such a step, if it begins next to the position; less if that is too far
_LEAST_SHARE = 1e-4  # less than that is not tried
_NUDGE = 1e-5  # radians or characteristic lengths, by which slopes are found
CROSSING_SHARE = 0.6  # below, on the way to zero: crossed in one step
_WITHIN = 1e-12  # the tolerance of a crossing within which states are asked for: near the position none is closed
_RELAXED = 1e-9  # the tolerance of a step whose stages are nearer than that, unless that of the run is larger


class Method(Bundle):
    """A tableau; `order` is what the step control goes by. A method without stages is semi-implicit Euler."""

    A: NumberTable
    b: Numbers
    c: Numbers
    e: Numbers
    e3: Numbers
    dense: NumberTable
    order: Number


class Course(Bundle):
    """Where a run is, and what was counted: arrays, so that machine code can write them."""

    y: Numbers  # [u = 0, v, z, work in, work dissipated]
    times: Numbers  # t, step, the last step that was no trouble; smallest share of a pivot just now, and when that was;
    # share and time where the last step began; the share from which on a singular position is crossed in one step;
    # how many pivots were below zero where the last step began, or -1 if that tells nothing
    counts: Words  # outputs made, steps, refused, evaluations, singular positions passed
    scale: Numbers  # (nv,) what displacements are measured by
    options: Words  # loops, powers from the kernel, ignore poor choices, first rates are given, close stages,
    # nothing but a tree
    passed: NumberTable  # (n, 1 + nq) times and configurations of the singular positions passed
    kept: Numbers  # the last step (see `noting`)


@bare
def _evaluate(b: Any, t: float, y: Any, k: Any, options: Any, near: float) -> int:
    """Evaluate the derivatives of y into k; say whether they are to be trusted, by the share `near` of the pivots."""
    nv, nz = b.v.size, b.z.size
    _place(b, y, nv, k)
    if options[4]:
        # near a singular position what is off the closures by little is far off in its acceleration
        _copy(b.spare_q, 0, b.here, 0, b.q.size)
        _copy(b.spare_v, 0, b.v, 0, nv)
        closed = _closed(b, t, b.spare_q, ZERO, b.spare_v, ZERO, _TIGHT if options[4] == 1 else _CLOSE_ENOUGH)
        _copy(b.q, 0, b.base, 0, b.q.size)
        if not closed:
            return _UNTRUSTED
        _copy(b.here, 0, b.spare_q, 0, b.q.size)
        _copy(b.v, 0, b.spare_v, 0, nv)
    b.t[0] = t
    for i in range(nz):
        b.z[i] = y[2 * nv + i]
    _call(b.wires[_RATES])
    at = nv + nz
    for i in range(at):
        k[nv + i] = b.rates[i]
    status = _DONE
    if options[0]:
        b.least[2], b.least[3] = b.rates[at], b.rates[at + 1]
        share = abs(b.rates[at])
        if share < b.least[0]:
            b.least[0], b.least[1] = share, t
            if share < _POOR_SHARE:
                _copy(b.nearest, 0, b.here, 0, b.q.size)
        if not share > near:
            status = _UNTRUSTED
        elif share < _POOR_SHARE:
            status = _POOR
        at += 2
    power = 0.0
    for i in range(nv):
        power += b.tau[i] * y[nv + i]
    if options[1]:
        k[2 * nv + nz] = power + b.rates[at + 1]
        k[2 * nv + nz + 1] = b.rates[at]
    else:
        k[2 * nv + nz] = power
        k[2 * nv + nz + 1] = 0.0
    return status


@bare
def _first(b: Any, t: float, y: Any, k: Any, options: Any, kept: Any) -> int:
    """Evaluate at the beginning of a step; the accelerations may have been given in `rates`."""
    if options[3]:
        nv, nz = b.v.size, b.z.size
        _copy(kept, 0, b.rates, 0, nv + nz)
        _evaluate(b, t, y, k, options, _UNTRUSTED_SHARE)
        _copy(k, nv, kept, 0, nv + nz)
        return _DONE
    return int(_evaluate(b, t, y, k, options, _UNTRUSTED_SHARE))


@bare
def _combine(y: Any, h: float, weights: Any, count: int, k: Any, result: Any) -> None:
    """Return y and a weighted sum of the first rates, of which many weigh nothing."""
    size = y.size
    for n in range(size):
        result[n] = y[n]
    for j in range(count):
        if weights[j] != 0.0:
            weight, rates = h * weights[j], k[j]
            for n in range(size):
                result[n] += weight * rates[n]


@bare
def _plain_stages(b: Any, method: Any, begin: int, end: int, t: float, h: float, y: Any, k: Any) -> None:
    """Evaluate stages where there is nothing but a tree and its joints' efforts: few loops, because they are short."""
    nv = b.v.size
    q, here, v, rates, tau = b.q, b.here, b.v, b.rates, b.tau
    for s in range(begin, end):
        weights, own = method.A[s], k[s]
        for i in range(nv):
            u, w = y[i], y[nv + i]
            for j in range(s):
                if weights[j] != 0.0:
                    u += h * weights[j] * k[j, i]
                    w += h * weights[j] * k[j, nv + i]
            here[i] = q[i] + u
            v[i] = w
        b.t[0] = t + method.c[s] * h
        _call(b.wires[_RATES])
        power = 0.0
        for i in range(nv):
            own[i] = v[i]
            own[nv + i] = rates[i]
            power += tau[i] * v[i]
        own[2 * nv] = power
        own[2 * nv + 1] = 0.0


@bare
def _stages(
    b: Any, method: Any, begin: int, end: int, t: float, h: float, y: Any, k: Any, stage: Any, options: Any, near: float
) -> int:
    """Evaluate some stages after the first."""
    if options[5]:
        _plain_stages(b, method, begin, end, t, h, y, k)
        return _DONE
    for i in range(begin, end):
        _combine(y, h, method.A[i], i, k, stage)
        status = _evaluate(b, t + method.c[i] * h, stage, k[i], options, near)
        b.least[5] += abs(b.least[3] - b.least[4])
        if status == _UNTRUSTED or (status == _POOR and not options[4]):
            return int(status)
    return _DONE


@bare
def _error(method: Any, h: float, y: Any, new: Any, k: Any, scale: Any, tolerance: float) -> float:
    """Return the estimated error of a step as a share of the tolerance: one is just right.

    Work is among what is watched: where drives give the whole motion, nothing else would be.
    """
    apart()
    nv = scale.size
    total, lower = 0.0, 0.0
    for n in range(y.size):
        e, e3 = 0.0, 0.0
        for j in range(method.e.size):
            e += method.e[j] * k[j, n]
        for j in range(method.e3.size):
            e3 += method.e3[j] * k[j, n]
        if n < nv:
            size = scale[n]
        elif n < 2 * nv:
            size = scale[n - nv] + max(abs(y[n]), abs(new[n]))
        else:
            size = 1.0 + max(abs(y[n]), abs(new[n]))
        total += (h * e / (tolerance * size)) ** 2
        lower += (h * e3 / (tolerance * size)) ** 2
    count = max(y.size - 2, 1)
    if method.e3.size and total > 0:
        return float(total / np.sqrt((total + 0.01 * lower) * count))
    return float(np.sqrt(total / count))


@bare
def _dense(method: Any, h: float, share: float, y: Any, new: Any, k: Any, here: Any) -> None:
    """Interpolate within a step; straight on if the method has no dense output."""
    apart()
    _copy(here, 0, y, 0, y.size)
    if method.dense.shape[0] == 0:
        for n in range(y.size):
            here[n] += share * (new[n] - y[n])
    for j in range(method.dense.shape[0]):
        weight = 0.0
        for p in range(method.dense.shape[1] - 1, -1, -1):
            weight = (weight + method.dense[j, p]) * share
        for n in range(y.size):
            here[n] += h * weight * k[j, n]


@njit(cache=True)
def _write(b: Any, t: float, q: Any, here: Any, options: Any, row: Any) -> bool:
    """Write a state that is `here` from q into a row [q, v, z, work], on the closures."""
    nq, nv = q.size, b.v.size
    _copy(b.q, 0, q, 0, nq)
    unused = np.empty(nv)
    _place(b, here, nv, unused)
    _copy(row, 0, b.here, 0, nq)
    _normalize(b, row, ZERO)
    _copy(row, nq, here, nv, here.size - nv)
    if options[0] and not (options[4] and _near_enough(b, t, row)):
        return bool(_closed(b, t, row, ZERO, row, nq, _TIGHT))
    return True


@bare
def _euler(b: Any, h: float, y: Any, new: Any, k: Any) -> None:
    """Take a semi-implicit Euler step: the new velocities move the configuration."""
    nv = b.v.size
    for n in range(nv, y.size):
        new[n] = y[n] + h * k[0, n]
    for i in range(nv):
        new[i] = h * new[nv + i]


@bare
def _ahead(b: Any, times: Any) -> float:
    """Return how far ahead in time a singular position is expected, straight on from the last step."""
    before, now = times[5], b.least[2]
    if now * before > 0 and abs(now) < abs(before):
        return float((times[0] - times[6]) * now / (before - now))
    return np.inf


@bare
def _found(b: Any, course: Any, ahead: float, k: Any, stage: Any, unused: Any) -> float:
    """Return how far ahead a singular position is, by secants, with accelerations that stay as they are."""
    y, nv, options = course.y, b.v.size, course.options
    kept = (b.least[0], b.least[1], b.least[2])
    left, here, at = 0.0, kept[2], ahead
    for _ in range(4):
        for n in range(y.size):
            stage[n] = y[n] + at * k[n]
        for i in range(nv):
            stage[i] += 0.5 * at * at * k[nv + i]
        _evaluate(b, course.times[0] + at, stage, unused, options, 0.0)
        there = b.least[2]
        if not np.isfinite(there):  # just there
            break
        if there == here:
            at = np.inf
            break
        left, here, at = at, there, at - there * (at - left) / (there - here)
        if not 0 < at < 2 * ahead:
            at = np.inf
            break
    b.least[0], b.least[1], b.least[2] = kept
    course.counts[3] += 4
    return at


@bare
def _sweep(b: Any, rule: Any, course: Any, h: float, c0: float, start: float, first: bool, k: Any, Y: Any) -> bool:
    """Evaluate the rates at the nodes of a crossing; tell whether all are on the side where they should be."""
    nodes = rule.c.size
    for j in range(1 if c0 == 0.0 else 0, nodes):
        if first and c0 == 0.0:
            _guess(rule, h, k, b.v.size, j, Y)
        t = course.times[0] + (rule.c[j] - c0) * h
        status = _evaluate(b, t, Y[j], k[j], course.options, 0.1 * abs(start))
        course.counts[3] += 1
        if status == _UNTRUSTED or (b.least[2] * start > 0) != (2 * j < nodes):
            return False
    return True


@njit(cache=True)
def _cross(
    b: Any, rule: Any, course: Any, h: float, c0: float, start: float, tolerance: float, noise: float, k: Any, Y: Any
) -> bool:
    """Cross a singular position in one step; tell whether it is good to the tolerance, or to ten times the noise.

    The present state is at the share c0 of the step, and the pivot at its beginning is `start`. If the state is at the
    beginning, `k[0]` holds the rates there. The states at the nodes are left in Y. Noise is what rounding may move
    states by from one iteration to the next.
    """
    y, nv, options = course.y, b.v.size, course.options
    size = np.ones(y.size)
    for i in range(nv):
        size[i] = course.scale[i]
        size[nv + i] = course.scale[i] + abs(y[nv + i])
    nodes, before, settled = rule.c.size, np.inf, False
    integrals = np.zeros(nodes)
    _copy(Y[0], 0, y, 0, y.size)
    if c0 > 0.0:
        _upto(rule, c0, integrals)
        for j in range(nodes):
            _copy(Y[j], 0, y, 0, y.size)
            for i in range(nv):
                Y[j, i] = (rule.c[j] - c0) * h * y[nv + i]
    for iteration in range(_CROSSING_ITERATIONS):
        # closed to the last digit at the end: before, that would be good for nothing
        options[4] = 1 if before < _CROSSING_COARSE else 2
        if not _sweep(b, rule, course, h, c0, start, iteration == 0, k, Y):
            return False
        change = _iterate(rule, h, y, k, size, integrals, Y)
        settled = change < 0.01 * tolerance or (change < noise and change > 0.8 * before) or change < 1e-14
        if settled or not change < 4 * before:
            break
        before = change
    options[4] = 1
    if settled and tolerance < noise:
        # what still changes is rounding, another one each time: take the mean
        mean = np.zeros(k.shape)
        for _ in range(_CROSSING_MEAN):
            if not _sweep(b, rule, course, h, c0, start, False, k, Y):
                return False
            for j in range(nodes):
                for n in range(y.size):
                    mean[j, n] += k[j, n] / _CROSSING_MEAN
            _iterate(rule, h, y, k, size, integrals, Y)
        for j in range(nodes):
            _copy(k[j], 0, mean[j], 0, y.size)
        _iterate(rule, h, y, k, size, integrals, Y)
    error = 0.0
    for n in range(y.size - 2):
        total = 0.0
        for j in range(nodes):
            total += rule.e[j] * k[j, n]
        error = max(error, abs(h * total) / size[n])
    return settled and error <= max(tolerance, 10 * noise)


@bare
def _slope(b: Any, course: Any, stage: Any, unused: Any) -> tuple[float, float]:
    """Return the pivot, which at a singular position is no number, and how fast it changes along the velocities."""
    y, nv = course.y, b.v.size
    speed = _fastest(y, nv, course.scale)
    if speed == 0.0:
        return 0.0, 0.0
    ends = (0.0, 0.0)
    for side in range(2):
        dt = (2 * side - 1) * _NUDGE / speed
        _copy(stage, 0, y, 0, y.size)
        for i in range(nv):
            stage[i] = dt * y[nv + i]
        _evaluate(b, course.times[0] + dt, stage, unused, course.options, 0.0)
        ends = (ends[1], b.least[2])
    course.counts[3] += 2
    return 0.5 * (ends[0] + ends[1]), (ends[1] - ends[0]) * speed / (2 * _NUDGE)


@bare
def _straight_on(b: Any, course: Any, stage: Any, unused: Any) -> float:
    """Return how far ahead a singular position is along the velocities."""
    kept = (b.least[0], b.least[1], b.least[2], b.least[3])
    course.options[4] = 0
    _, slope = _slope(b, course, stage, unused)
    b.least[0], b.least[1], b.least[2], b.least[3] = kept
    return -kept[2] / slope if kept[2] * slope < 0.0 else np.inf


@njit(cache=True)
def _pass(b: Any, course: Any, last: float, asked: float, k: Any, Y: Any) -> float:
    """Leave a singular position that the state is next to: by a step that reaches back from it and on across it.

    Return the size of the step, or zero if that does not go. The states within it are left in Y.
    """
    apart()
    t, stage = course.times[0], np.empty(course.y.size)
    least = b.least.copy()
    course.options[4] = 0
    pivot, slope = _slope(b, course, stage, k[0])
    share, h, noise = _PASSING_SHARE, 0.0, _CROSSING_NOISE
    while h == 0.0 and slope != 0.0 and np.isfinite(slope) and noise < _MOST_NOISE:
        half, ahead = share / abs(slope), -pivot / slope
        c0, start = 0.5 * (1.0 - ahead / half), -share * np.sign(slope)
        course.options[4] = 1
        if 0.0 < c0 < 1.0 and _cross(b, _RULE, course, 2 * half, c0, start, asked, noise, k, Y):
            h = min((1.0 - c0) * 2 * half, last - t)
            _resampled(_RULE, c0, h / (2 * half), Y, stage)
        share *= 0.5
        if not 0.0 < c0 < 1.0 or share < _LEAST_SHARE:  # again, content with less
            share, noise = _PASSING_SHARE, 30 * noise
    _copy(b.least, 0, least, 0, least.size)
    return h


@njit(cache=True)
def _look_back(b: Any, method: Any, course: Any) -> None:
    """Note a singular position that the last step went over; the present state is just evaluated.

    The step is taken again, to know what was within it; if that fails, the present state is taken for the position.
    """
    apart()
    if _stepped_over(b, course):
        size, options, closing = course.y.size, course.options, course.options[4]
        now, least, q = b.q.copy(), b.least.copy(), np.empty(b.q.size)
        y, new, stage = np.empty(size), np.empty(size), np.empty(size)
        k = np.empty((max(method.b.size, method.dense.shape[0], 1), size))
        t, h = course.kept[0], course.kept[1]
        _recall(b, course, q, y, new)
        _copy(b.q, 0, q, 0, q.size)
        _copy(b.base, 0, q, 0, q.size)
        options[4] = 1
        good = _evaluate(b, t, y, k[0], options, 0.0)
        if good != _UNTRUSTED and method.b.size:
            good = _stages(b, method, ZERO + 1, k.shape[0], t, h, y, k, stage, options, 0.0)
        if good != _UNTRUSTED:
            _locate(b, course, polynomial(method, h, y, new, k), t, h, q, np.inf)
        else:
            _note(b, course, course.times[0], now, ZERO)
        options[4] = closing
        course.counts[3] += k.shape[0]
        _copy(b.q, 0, now, 0, q.size)
        _copy(b.base, 0, now, 0, q.size)
        _copy(b.least, 0, least, 0, least.size)
    _seen(b, course)


@njit(cache=True)
def evaluate_end(b: Any, course: Any, q: Any) -> bool:
    """Evaluate the end of the last step, if no other step will; tell whether that is to be trusted."""
    apart()
    unused, closing = np.empty(course.y.size), course.options[4]
    _copy(b.q, 0, q, 0, b.q.size)
    course.options[4] = 0
    good = _evaluate(b, course.times[0], course.y, unused, course.options, _UNTRUSTED_SHARE) != _UNTRUSTED
    course.options[4] = closing
    return bool(good)


@njit(cache=True)
def advance(
    b: Any, method: Any, course: Any, w: Any, tolerance: float, smallest: float, until: Any, rows: Any, most: int
) -> int:
    """Go on with a run until all outputs `until` (times) are written to `rows`, or something is to be decided.

    `course` says where the run is and is kept up to date: it is always at the end of a good step. Events that `w`
    watches are recorded in it; one that acts ends the step that it is in.
    """
    y, times, counts, options = course.y, course.times, course.counts, course.options
    nv, nq = b.v.size, b.q.size
    q, moved, unused = np.empty(nq), np.empty(nq), np.empty(nv)
    _copy(q, 0, b.q, 0, nq)
    adaptive, euler = method.e.size > 0, method.b.size == 0
    k = np.empty((max(method.b.size, method.dense.shape[0], 1), y.size))
    stage, new, reached = np.empty(y.size), np.empty(y.size), np.empty(nq + y.size - nv)
    across, k_across = np.empty((_RULE.c.size, y.size)), np.empty((_RULE.c.size, y.size))
    status = _DONE
    taken = 0
    good_step = times[2]
    while counts[0] < until.size and until[counts[0]] <= times[0]:
        _copy(rows[counts[0]], 0, q, 0, nq)
        _copy(rows[counts[0]], nq, y, nv, y.size - nv)
        counts[0] += 1
    while counts[0] < until.size:
        if taken >= most or 2 * w.counts[0] > w.found.shape[0]:
            status = _PAUSED
            break
        t, h = times[0], times[1]
        last = until[until.size - 1]
        whole = h
        if t + h > last - 1e-6 * h:
            h = last - t
        _copy(b.q, 0, q, 0, nq)
        _copy(b.base, 0, q, 0, nq)
        b.least[0] = np.inf
        first = _first(b, t, y, k[0], options, stage)
        least, when, pivot, signs = b.least[0], b.least[1], b.least[2], b.least[3]
        counts[3] += 1
        if options[0] and first != _UNTRUSTED and not options[3]:
            _look_back(b, method, course)
        if first != _DONE and not options[2]:
            status = _POOR
            break
        asked = tolerance if adaptive else 0.0
        crossed = False
        if first != _DONE:
            part = _pass(b, course, last, min(asked, _WITHIN), k_across, across)
            crossed = part > 0.0
            if crossed:
                h = part
                _copy(new, 0, across[across.shape[0] - 1], 0, y.size)
            elif first == _UNTRUSTED:
                status = _UNTRUSTED
                break
        options[4] = int(first != _DONE)
        if first == _DONE:
            options[2] = 0
            good_step = max(h, 0.5 * good_step)
        if options[0] and adaptive and not crossed:
            h = min(h, _longest(y, nv, course.scale))
        # near a singular position accelerations are less exact: go across it without crawling
        floor = 0.2 * good_step if first == _POOR else 0.0
        if first == _POOR and adaptive and not crossed:
            h = min(max(h, good_step), last - t)
        if options[0] and not options[3] and first == _DONE:
            ahead = _ahead(b, times)
            if abs(pivot) <= times[7] and times[5] == 0.0:  # nothing is known of the step before
                ahead = _straight_on(b, course, stage, new)
            if abs(pivot) > 1.2 * CROSSING_SHARE:
                times[7] = CROSSING_SHARE
            if abs(pivot) > times[7]:
                if adaptive and h > 0.5 * ahead:  # end where the crossing is to begin
                    ahead = _found(b, course, ahead, k[0], stage, new)
                    h = min(h, ahead * (1 - 0.75 * times[7] / abs(pivot)))
            elif ahead < last - t:
                _copy(k_across[0], 0, k[0], 0, y.size)
                ahead = _found(b, course, ahead, k[0], stage, new)
                inside = w.side.size > 0 or until[counts[0]] < t + 2 * ahead or last < t + 2 * ahead
                good = min(asked, _WITHIN) if inside else asked
                for noise in (_CROSSING_NOISE, 30 * _CROSSING_NOISE):
                    if 0.9 * ahead < last - t and not crossed and (inside or noise == _CROSSING_NOISE):
                        crossed = _cross(b, _RULE, course, 2 * ahead, 0.0, pivot, good, noise, k_across, across)
                if crossed:
                    h = 2 * ahead
                    if last - t < h:
                        _resampled(_RULE, 0.0, (last - t) / h, across, stage)
                        h = last - t
                    _copy(new, 0, across[across.shape[0] - 1], 0, y.size)
                elif 0.9 * ahead < last - t:
                    options[4] = 0
                    once, times[7] = times[7] > 0.99 * CROSSING_SHARE, 0.5 * abs(pivot)
                    if once:  # perhaps it is nothing but the choice of coordinates
                        status = _POOR
                        break
        near = _FAR_SHARE if adaptive else _UNTRUSTED_SHARE
        b.least[4] = signs
        whole_try, shrunk = h, 0
        while not crossed:
            b.least[0], b.least[1], b.least[5] = least, when, 0.0
            _copy(b.q, 0, q, 0, nq)
            if euler:
                _euler(b, h, y, new, k)
                good = _DONE
            else:
                good = _stages(b, method, ZERO + 1, method.b.size, t, h, y, k, stage, options, near)
                counts[3] += method.b.size - 1
                _combine(y, h, method.b, method.b.size, k, new)
            ends_before = adaptive and first == _DONE and abs(pivot) > times[7] > 2 * _POOR_SHARE and shrunk < 20
            if good == _POOR and ends_before:
                counts[2] += 1
                shrunk += 1
                h *= 0.5  # it goes to a singular position, which is to be crossed: end before it
                continue
            if good == _POOR:
                options[4] = 1  # a stage is near a singular position: again, with stages on the closures
                continue
            share = 0.93  # if a stage came too near to a singular position: pass it at another distance
            if good == _DONE:
                relaxed = 1.0 if near > _UNTRUSTED_SHARE else max(1.0, _RELAXED / tolerance)
                share = _error(method, h, y, new, k, course.scale, tolerance) if adaptive else 0.0
                if share <= relaxed and ends_before and not options[4] and b.least[5] > 0.0:
                    share = 0.5  # the same if it goes over one
                elif share <= relaxed:
                    inside = w.side.size > 0 or until[counts[0]] < t + h * (1.0 - 1e-12)
                    if not inside or method.dense.shape[0] <= method.b.size:
                        break
                    # an output or an event may lie within the step: the further stages of the dense output are needed
                    _copy(b.q, 0, q, 0, nq)
                    counts[3] += method.dense.shape[0] - method.b.size
                    last_stage = method.dense.shape[0]
                    good = _stages(b, method, method.b.size, last_stage, t, h, y, k, stage, options, near)
                    if good == _DONE:
                        break
                    if good == _POOR:
                        options[4] = 1
                        continue
                    share = 0.93
                elif np.isfinite(share):
                    share = max(0.2, 0.9 * share ** (-1.0 / method.order))
                else:
                    share = 0.2
            counts[2] += 1
            shrunk += 1
            h = max(h * share, min(floor, 0.9 * h))
            if options[4] and near > _UNTRUSTED_SHARE and h < 0.4 * whole_try:
                # no size keeps the stages away: go across as well as it can be done
                near = 0.6 * near if good == _UNTRUSTED and near > _NEAR_SHARE else _UNTRUSTED_SHARE
                h = whole_try
                shrunk = 1
            if h < smallest or shrunk > 60:
                status = _TOO_SMALL if np.isfinite(share) else _NOT_FINITE
                break
        if status != _DONE:
            break
        grow = 1.0
        if adaptive and not crossed:
            error = _error(method, h, y, new, k, course.scale, tolerance)
            grow = min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** (-1.0 / method.order)))
            if first == _POOR:
                grow = max(grow, 1.0)
            if shrunk:
                grow = min(grow, 1.0)
        finite = True
        for n in range(y.size):
            finite = finite and np.isfinite(new[n])
        if not finite:
            status = _NOT_FINITE
            break
        end = t + h
        _copy(b.q, 0, q, 0, nq)
        _place(b, new, nv, unused)
        _copy(moved, 0, b.here, 0, nq)
        _normalize(b, moved, ZERO)
        _copy(reached, 0, moved, 0, nq)
        _copy(reached, nq, new, nv, y.size - nv)
        fine = not options[0] or (crossed and _near_enough(b, end, reached))
        if not fine and not _closed(b, end, moved, ZERO, new, nv, _TIGHT if options[4] else _CLOSE_ENOUGH):
            if adaptive and h > 100 * smallest:
                times[1] = 0.25 * h
                counts[2] += 1
                taken += 1
                continue
            status = _OPEN
            break
        if w.side.size:
            _copy(reached, 0, moved, 0, nq)
            _copy(reached, nq, new, nv, y.size - nv)
            shape = across if crossed else polynomial(method, h, y, new, k)
            part = crossings(b, w, shape, t, h, q, reached, options[0])
            if part < 0.0:
                status = _OPEN
                break
            if w.counts[1]:
                end = w.found[w.counts[0] - 1, 1]
        while counts[0] < until.size and until[counts[0]] <= end:
            theta = (until[counts[0]] - t) / h
            row = rows[counts[0]]
            if theta >= 1.0 - 1e-12:
                _copy(row, 0, moved, 0, nq)
                _copy(row, nq, new, nv, y.size - nv)
            else:
                if crossed:
                    _between(_RULE, theta, across, stage)
                else:
                    _dense(method, h, theta, y, new, k, stage)
                if not _write(b, until[counts[0]], q, stage, options, row):
                    status = _OPEN
                    break
            counts[0] += 1
        if status != _DONE:
            break
        if options[0]:
            _remember(b, course, t, h, q, new)
        if w.counts[1]:  # go on from the event
            _copy(moved, 0, w.found[w.counts[0] - 1], 2, nq)
            _copy(new, nv, w.found[w.counts[0] - 1], 2 + nq, y.size - nv)
        _copy(q, 0, moved, 0, nq)
        _copy(y, nv, new, nv, y.size - nv)
        times[5], times[6] = (0.0, t) if crossed else (pivot, t)
        times[0] = end
        times[1] = h * grow if adaptive and not crossed else whole
        counts[1] += 1
        options[3] = 0
        taken += 1
        if crossed:
            _locate(b, course, across, t, h, b.base, end)
        else:
            _copy(b.q, 0, q, 0, nq)
            _note_passage(b, course)
        if w.counts[1]:
            status = _EVENT
            break
        if counts[4] >= course.passed.shape[0] - 1:  # the next step may note two
            status = _PAUSED
            break
    times[2] = good_step
    if options[0] and status in (_DONE, _PAUSED, _EVENT) and evaluate_end(b, course, q):
        _look_back(b, method, course)
    _copy(b.q, 0, q, 0, nq)
    return status
