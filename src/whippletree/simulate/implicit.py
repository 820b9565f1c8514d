"""Time loops of the implicit methods, in machine code (see `generalized_alpha` for the methods).

The unknowns of a step are the accelerations a at its end, the closures' multipliers and the rates of the elements'
states; Newton's method solves the equations of motion (inverse dynamics: no mass matrix is inverted) together with the
closures on positions, by the kernels `newton_residual` and `newton_matrix` (see `system.newton_equations`). The matrix
is the exact derivative. It is made at the beginning of a step, and again whenever convergence is slow. Then the
velocities are put on the closures, with least kinetic energy of the change, so that neither method loses its order.

`past` is what a run keeps from step to step: the rates (accelerations and states' rates) of the last step's end and
their averages A, those computed from the state a step ago, and the multipliers to begin with. So a run that is cloned
or resumed goes on with the same bits.
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
    displace,
    longest_step,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import entry, inner
from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable, Words, WordTable
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    EVALUATIONS,
    LOOPS,
    NEXT_STEP,
    OUTPUTS,
    RATES_GIVEN,
    REFUSED,
    STEPS,
    TIME,
    Status,
)
from whippletree.simulate.singularity_log import (
    keep_pivot_signs,
    keep_step,
    locate_singular,
    log_passage,
    pivots_changed_sign,
    recall_step,
)
from whippletree.simulate.state_rates import (
    CLOSE_ENOUGH,
    TIGHT,
    UNTRUSTED_SHARE,
    evaluate,
    evaluate_end,
    evaluate_first,
)
from whippletree.simulate.step_output import deliver, full, write_present

__all__ = ["WORST", "Newton", "advance", "newton", "past_size"]

_DONE, _PAUSED, _UNTRUSTED, _POOR = Status.DONE, Status.PAUSED, Status.UNTRUSTED, Status.POOR
_OPEN, _TOO_SMALL, _NOT_FINITE, _EVENT, _STUCK = (
    Status.OPEN,
    Status.TOO_SMALL,
    Status.NOT_FINITE,
    Status.EVENT,
    Status.STUCK,
)
_CONVERGED = 1e-12  # radians or characteristic lengths, by which Newton's last correction moves the mechanism
_ROUNDING = 1e-10  # as good as it gets if corrections become no smaller
_ITERATIONS = 30
_FAST = 0.1  # the displacement by accelerations above which they are not a good first guess
_MANY = 200  # iterations of the damped method
_SHORTEST = 1e-4  # the smallest part of a correction that it tries
_SLOW = 0.1  # a matrix is made again if a correction is more than this share of the one before

# rows of the equations
_MOTION, _CUT, _GIVEN, _PLACE, _SPEED, _STATE = range(6)

# places in `past`: how many steps back it reaches, and the size of the last one
_DEPTH, _LAST, _WORST, _BEGIN = 0, 1, 2, 3
WORST = _WORST
"""Where `past` says which freedom is farthest off when Newton's method does not converge."""


class Newton(NativeStruct):
    """What Newton's method works on: two kernels, their arrays, and what each row is."""

    kernels: WordTable  # (2, 6) residual, matrix
    a: Numbers
    displacement: Numbers  # (nv) the displacement at which the matrix is made
    step: Numbers
    multipliers: Numbers
    residual: Numbers
    matrix: Numbers
    kinds: Words  # (n,)
    rows: Words  # (n,) the order of rows in the factors
    factors: NumberTable  # (n, n)


def past_size(bindings: KernelBindings) -> int:
    """Return how many numbers a run keeps from step to step."""
    system = bindings.system
    rates = system.nv + system.nz
    return _BEGIN + 3 * rates + _n_multipliers(bindings)


def _n_multipliers(bindings: KernelBindings) -> int:
    return bindings.system._engine.equations.loop_plan.n_rows if bindings.closed else 0


def newton(bindings: KernelBindings) -> Newton:
    """Wire the kernels of Newton's method."""
    system, engine = bindings.system, bindings.system._engine
    nv, nm, nz = system.nv, _n_multipliers(bindings), system.nz
    n = nv + nm + nz
    own = {
        "unknown": np.zeros(nv),
        "lean": np.zeros(nv),
        "step": np.zeros(2),
        "multipliers": np.zeros(nm),
        "residual": np.zeros(n + nv + nm),
        "matrix": np.zeros(n * n),
    }
    bindings.arrays.update(own)
    renamed = {"q": "here", "a": "unknown", "u": "lean"}
    kernels = np.zeros((2, 6), dtype=np.int64)
    for k, name in enumerate(("newton_residual", "newton_matrix")):
        kernels[k] = bindings.bind(engine.kernel_of(name), renamed, name.removeprefix("newton_"))
    kinds = _kinds(bindings, nm)
    order = np.zeros(n, dtype=np.int64)
    return Newton(
        kernels,
        own["unknown"],
        own["lean"],
        own["step"],
        own["multipliers"],
        own["residual"],
        own["matrix"],
        kinds,
        order,
        np.zeros((n, n)),
    )


def _kinds(bindings: KernelBindings, nm: int) -> Any:
    """Return what each row is."""
    system, equations = bindings.system, bindings.system._engine.equations
    kinds = np.full(system.nv + nm + system.nz, _STATE, dtype=np.int64)
    kinds[: system.nv] = np.where(equations.prescribed_mask, _GIVEN, _MOTION)
    if bindings.closed:
        held = equations.fastenings()
        for cut in held.cuts:
            if not cut.use.prescribed:
                kinds[cut.v] = _CUT
        at = system.nv
        for fastening, keep in zip(held.all, equations.loop_plan.keep, strict=True):
            speed = not fastening.closure.holonomic and fastening.driven is None
            kinds[at : at + len(keep)] = _SPEED if speed else _PLACE
            at += len(keep)
    return kinds


@inner
def _factor(n: Any) -> bool:
    """Factor the matrix with row pivots, rows scaled to one; tell whether it is regular."""
    not_inlined()
    size = n.kinds.size
    A = n.factors
    for i in range(size):
        n.rows[i] = i
        largest = 0.0
        for j in range(size):
            A[i, j] = n.matrix[i * size + j]
            largest = max(largest, abs(A[i, j]))
        if not (largest > 0.0 and np.isfinite(largest)):
            return False
        n.matrix[i * size] = 1.0 / largest  # the scale: the matrix itself is not needed any more
    for k in range(size):
        best, pivot = k, -1.0
        for i in range(k, size):
            value = abs(A[n.rows[i], k]) * n.matrix[n.rows[i] * size]
            if value > pivot:
                best, pivot = i, value
        if not pivot > 1e-300:
            return False
        n.rows[k], n.rows[best] = n.rows[best], n.rows[k]
        top = n.rows[k]
        for i in range(k + 1, size):
            row = n.rows[i]
            if A[row, k] != 0.0:
                gain = A[row, k] / A[top, k]
                A[row, k] = gain
                for j in range(k + 1, size):
                    A[row, j] -= gain * A[top, j]
    return True


@inner
def _solve(n: Any, right: Any, x: Any) -> None:
    """Solve with the factors."""
    not_inlined()
    size, A = n.kinds.size, n.factors
    for i in range(size):
        row = n.rows[i]
        total = right[row]
        for j in range(i):
            total -= A[row, j] * x[j]
        x[i] = total
    for i in range(size - 1, -1, -1):
        row = n.rows[i]
        total = x[i]
        for j in range(i + 1, size):
            total -= A[row, j] * x[j]
        x[i] = total / A[row, i]


@inner
def _average(method: Any, a1: float, a0: float, A0: float) -> float:
    """Return A1."""
    am, af = method[0], method[1]
    return float(((1.0 - af) * a1 + af * a0 - am * A0) / (1.0 - am))


@inner
def _forecast(b: Any, method: Any, h: float, y: Any, rates: Any, start: Any, mean: Any, new: Any) -> None:
    """Put the displacements, velocities and states that these rates at the end of a step lead to into `new`."""
    not_inlined()
    nv, nz = b.v.size, b.z.size
    bb, g = method[2], method[3]
    for i in range(nv + nz):
        A1 = _average(method, rates[i], start[i], mean[i])
        if i < nv:
            new[i] = h * y[nv + i] + h * h * ((0.5 - bb) * mean[i] + bb * A1)
        new[nv + i] = y[nv + i] + h * ((1.0 - g) * mean[i] + g * A1)


@inner
def _move(b: Any, n: Any, cu: float, cv: float, none: Any, new: Any, rates: Any) -> None:
    """Follow from displacements and states to velocities and rates, and put all into the kernels' arrays.

    `none` is where the step leads if the rates at its end are zero. Displacements are what is solved for: where springs
    are very stiff, accelerations that are good to rounding would not give them to rounding.
    """
    not_inlined()
    nv, nz = b.v.size, b.z.size
    for i in range(nv):
        rates[i] = (new[i] - none[i]) / cu
        new[nv + i] = none[nv + i] + cv * rates[i]
    for i in range(nv, nv + nz):
        rates[i] = (new[nv + i] - none[nv + i]) / cv
    unused = np.empty(nv)
    displace(b, new, nv, unused)
    copy(n.a, ZERO, rates, ZERO, nv)
    for i in range(nz):
        b.z[i] = new[2 * nv + i]


@inner
def _apply(b: Any, n: Any, cu: float, cv: float, part: float, x: Any, new: Any) -> None:
    """Make a part of a correction."""
    not_inlined()
    nv, nm = b.v.size, n.multipliers.size
    for i in range(n.kinds.size):
        if i < nv:
            new[i] += part * cu * x[i]
        elif i < nv + nm:
            n.multipliers[i - nv] += part * x[i]
        else:
            new[nv + i - nm] += part * cv * x[i]


@inner
def _newton(
    b: Any,
    n: Any,
    method: Any,
    t: float,
    h: float,
    start: Any,
    mean: Any,
    rates: Any,
    new: Any,
    run: Any,
    go_on: bool,
    damped: bool,
) -> int:
    """Solve a step that begins at b.q; return the number of iterations, or minus one more than the worst row.

    The first guess is that the accelerations stay as they are, or (`go_on`) the velocities. If it is `damped`, only so
    much of a correction is made that the next one, by the same matrix, is smaller.
    """
    not_inlined()
    y = run.y
    nv, nz, nm = b.v.size, b.z.size, n.multipliers.size
    size = n.kinds.size
    share = (1.0 - method[1]) / (1.0 - method[0])
    cu, cv = h * h * method[2] * share, h * method[3] * share
    right, x, way = np.empty(size), np.empty(size), np.empty(size)
    before, make = np.inf, True
    trying, part, worst = False, 1.0, 0
    b.t[0] = t + h
    none, zero = np.empty(new.size), np.zeros(nv + nz)
    _forecast(b, method, h, y, zero, start, mean, none)
    _forecast(b, method, h, y, start, start, mean, new)
    if go_on:
        for i in range(nv):
            new[i] = h * y[nv + i]
        copy(new, 2 * nv, y, 2 * nv, nz)
    for iteration in range(_MANY if damped else _ITERATIONS):
        _move(b, n, cu, cv, none, new, rates)
        call(n.kernels[0])
        run.counts[EVALUATIONS] += 1
        if make:
            copy(n.displacement, ZERO, new, ZERO, nv)
            n.step[0], n.step[1] = cv, cu
            call(n.kernels[1])
            if not _factor(n):
                return -1 - worst
        for i in range(size):
            kind = n.kinds[i]
            value = -n.residual[i]
            if kind in (_CUT, _PLACE):
                value /= cu
            elif kind == _SPEED:
                value /= cv
            elif kind == _STATE:
                value = n.residual[i] - rates[i - nm]
            right[i] = value
        _solve(n, right, x)
        size_of = 0.0
        for i in range(size):
            moved = 0.0
            if i < nv:
                moved = cu * abs(x[i]) / run.scale[i]
            elif i >= nv + nm:
                moved = cv * abs(x[i]) / (1.0 + abs(b.z[i - nv - nm]))
            if not np.isfinite(x[i]):
                moved = np.inf
            if moved > size_of:
                size_of, worst = moved, min(i, nv - 1)
        if trying:  # half as far, until the matrix of the beginning says that it is nearer to the solution there
            if size_of <= (1.0 - 0.5 * part) * before:
                trying, make, part = False, True, min(1.0, 2.0 * part)
                continue
            _apply(b, n, cu, cv, -0.5 * part, way, new)
            part *= 0.5
            if part < _SHORTEST:
                break
            continue
        if not np.isfinite(size_of):
            break
        ratio = size_of / before if iteration > 0 else 1.0
        done = size_of <= _CONVERGED or (ratio < 0.5 and ratio / (1.0 - ratio) * size_of <= 0.1 * _CONVERGED)
        if done or (iteration > 3 and ratio > 0.5 and size_of <= _ROUNDING):
            _apply(b, n, cu, cv, 1.0, x, new)
            _move(b, n, cu, cv, none, new, rates)
            return iteration + 1
        make = ratio > _SLOW and iteration > 0
        if damped:
            copy(way, ZERO, x, ZERO, size)
            trying, make = True, False
        _apply(b, n, cu, cv, part, x, new)
        before = size_of
    return -1 - worst


@inner
def _project_velocities_implicit(b: Any, n: Any, t: float, q: Any, v: Any, at: int) -> bool:
    """Put velocities on the closures at a configuration, with least kinetic energy of the change."""
    not_inlined()
    nq, nv, nm = b.q.size, b.v.size, n.multipliers.size
    size = n.kinds.size
    right, x = np.zeros(size), np.empty(size)
    b.t[0] = t
    copy(b.here, ZERO, q, ZERO, nq)
    copy(b.v, ZERO, v, at, nv)
    call(n.kernels[0])
    for i in range(nv):
        n.displacement[i] = 0.0
    n.step[0], n.step[1] = 0.0, 0.0
    call(n.kernels[1])
    if not _factor(n):
        return False
    after = size
    for i in range(nv):
        if n.kinds[i] == _CUT:
            right[i] = -n.residual[after + i]
    for i in range(nm):
        right[nv + i] = -n.residual[after + nv + i]
    _solve(n, right, x)
    for i in range(nv):
        if not np.isfinite(x[i]):
            return False
        v[at + i] += x[i]
    return True


@inner
def _estimate(
    method: Any, h: float, last: float, y: Any, new: Any, k0: Any, k1: Any, older: Any, scale: Any, tolerance: float
) -> float:
    """Return the error of a step as a share of the tolerance, from accelerations at its ends and a step before."""
    not_inlined()
    nv = scale.size
    count = y.size - 2 - nv
    total = 0.0
    for i in range(count):
        a0, a1 = k0[nv + i], k1[nv + i]
        if i < nv:
            total += (method[5] * h * h * (a1 - a0) / (tolerance * scale[i])) ** 2
            size = scale[i] + max(abs(y[nv + i]), abs(new[nv + i]))
        else:
            size = 1.0 + max(abs(y[nv + i]), abs(new[nv + i]))
        bend = (a1 - a0) / h  # with nothing older: too large, to be safe
        if last > 0.0:
            bend = 2.0 * h * ((a1 - a0) / h - (a0 - older[i]) / last) / (h + last)
        total += (method[6] * h * h * bend / (tolerance * size)) ** 2
    return float(np.sqrt(total / max(count + nv, 1)))


@inner
def _parabola(h: float, y: Any, new: Any, nv: int) -> Any:
    """Return the states within a step as a polynomial: displacements by a parabola, the rest straight on."""
    not_inlined()
    P = np.zeros((3, y.size))
    for i in range(y.size):
        P[0, i] = y[i] if i >= nv else 0.0
        P[1, i] = h * y[nv + i] if i < nv else new[i] - y[i]
        P[2, i] = new[i] - P[1, i] if i < nv else 0.0
    return P


@inner
def _step(
    b: Any, n: Any, method: Any, run: Any, past: Any, t: float, h: float, q: Any, k0: Any, moved: Any, new: Any
) -> int:
    """Take one step from q; leave its end in `moved` and `new`, and the rates in `past`'s place for them."""
    not_inlined()
    options = run.options
    nq, nv, nz = b.q.size, b.v.size, b.z.size
    m = nv + nz
    start, mean, rates = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        if past[_DEPTH] == 0.0 or method[4] > 0.0:
            start[i], mean[i] = k0[nv + i], k0[nv + i]
        else:
            start[i] = past[_BEGIN + i]
            # the average belongs to a time that is so many steps away: a step of another size, another time
            mean[i] = start[i] + h / past[_LAST] * (past[_BEGIN + m + i] - start[i])
    kept = past[_BEGIN + 3 * m :]
    found, fast = -1, False
    for i in range(nv):
        fast = fast or h * h * abs(start[i]) > _FAST * run.scale[i]
    for attempt in range(3):
        copy(n.multipliers, ZERO, kept, ZERO, n.multipliers.size)
        copy(b.q, ZERO, q, ZERO, nq)
        found = _newton(b, n, method, t, h, start, mean, rates, new, run, fast == (attempt != 1), attempt == 2)
        if found > 0:
            break
    if found <= 0:
        past[_WORST] = -1 - found
        return _STUCK
    copy(moved, ZERO, b.here, ZERO, nq)
    normalize(b, moved, ZERO)
    if options[LOOPS]:
        if not _project_velocities_implicit(b, n, t + h, moved, new, nv):
            return _OPEN
        if not close_loops(b, t + h, moved, ZERO, new, nv, TIGHT if options[CLOSE_STAGES] else CLOSE_ENOUGH):
            return _OPEN
    for i in range(nv, 2 * nv + nz):
        if not np.isfinite(new[i]):
            return _NOT_FINITE
    for i in range(m):
        past[_BEGIN + m + i] = _average(method, rates[i], start[i], mean[i])
        past[_BEGIN + i] = rates[i]
    copy(kept, ZERO, n.multipliers, ZERO, n.multipliers.size)
    return _DONE


@inner
def _finish(b: Any, t: float, q: Any, new: Any, k: Any, options: Any) -> int:
    """Evaluate the rates at a state that was reached; say whether they are to be trusted."""
    not_inlined()
    copy(b.q, ZERO, q, ZERO, b.q.size)
    copy(b.base, ZERO, q, ZERO, b.q.size)
    here = np.empty(new.size)
    copy(here, ZERO, new, ZERO, new.size)
    for i in range(b.v.size):
        here[i] = 0.0
    return int(evaluate(b, t, here, k, options, UNTRUSTED_SHARE))


@inner
def _look_back(b: Any, run: Any) -> None:
    """Note a singular position that the last step went over; the present state is just evaluated."""
    not_inlined()
    if pivots_changed_sign(b, run):
        now, q = b.q.copy(), np.empty(b.q.size)
        y, new = np.empty(run.y.size), np.empty(run.y.size)
        recall_step(b, run, q, y, new)
        t, h = run.kept[0], run.kept[1]
        locate_singular(b, run, _parabola(h, y, new, b.v.size), t, h, q, np.inf)
        copy(b.q, ZERO, now, ZERO, q.size)
    keep_pivot_signs(b, run)


@entry
def advance(
    b: Any,
    n: Any,
    method: Any,
    run: Any,
    w: Any,
    past: Any,
    tolerance: float,
    smallest: float,
    until: Any,
    rows: Any,
    most: int,
) -> int:
    """Go on with a run, as `runge_kutta.advance` does; a tolerance of zero takes steps of a fixed size."""
    not_inlined()
    y, times, counts, options = run.y, run.times, run.counts, run.options
    nv, nq = b.v.size, b.q.size
    q, moved, reached = np.empty(nq), np.empty(nq), np.empty(nq + y.size - nv)
    copy(q, ZERO, b.q, ZERO, nq)
    new, k0, k1 = np.empty(y.size), np.empty(y.size), np.empty(y.size)
    before = np.empty(past.size)
    m = nv + b.z.size
    adaptive = tolerance > 0.0
    status, taken = _DONE, 0
    copy(reached, ZERO, q, ZERO, nq)
    copy(reached, nq, y, nv, y.size - nv)
    write_present(run, reached, until, rows)
    while counts[OUTPUTS] < until.size:
        if taken >= most or full(run, w):
            status = _PAUSED
            break
        t, h = times[TIME], times[NEXT_STEP]
        whole = h
        last = until[until.size - 1]
        if t + h > last - 1e-6 * h:
            h = last - t
        copy(b.q, ZERO, q, ZERO, nq)
        copy(b.base, ZERO, q, ZERO, nq)
        b.pivots[SMALLEST] = np.inf
        options[CLOSE_STAGES] = 0
        first = evaluate_first(b, t, y, k0, options, new)
        counts[EVALUATIONS] += 1
        if options[LOOPS] and first != _UNTRUSTED and not options[RATES_GIVEN]:
            _look_back(b, run)
        if first != _DONE:
            status = first
            break
        if options[LOOPS] and adaptive:
            h = min(h, longest_step(y, nv, run.scale))
        copy(before, ZERO, past, ZERO, past.size)
        error, shrunk = 0.0, 0
        while True:
            status = _step(b, n, method, run, past, t, h, q, k0, moved, new)
            share = 0.25
            if status == _DONE:
                good = _finish(b, t + h, moved, new, k1, options)
                if options[LOOPS] and (good != _DONE or pivots_changed_sign(b, run)):
                    status = _POOR  # others go across singular positions
                    break
                if not adaptive:
                    break
                back = past[_LAST] if past[_DEPTH] > 0.0 else 0.0
                older = before[_BEGIN + 2 * m : _BEGIN + 3 * m]
                error = _estimate(method, h, back, y, new, k0, k1, older, run.scale, tolerance)
                if error <= 1.0:
                    break
                share = max(0.2, 0.9 * error ** (-1.0 / 3.0)) if np.isfinite(error) else 0.2
            elif not adaptive:
                break
            worst = past[_WORST]
            copy(past, ZERO, before, ZERO, past.size)
            past[_WORST] = worst
            counts[REFUSED] += 1
            shrunk += 1
            h *= share
            if h < smallest or shrunk > 60:
                status = _STUCK if status == _STUCK else _TOO_SMALL
                break
        if status != _DONE:
            copy(past, _BEGIN, before, _BEGIN, past.size - _BEGIN)
            break
        for i in range(y.size - 2, y.size):
            new[i] = y[i] + 0.5 * h * (k0[i] + k1[i])
        copy(reached, ZERO, moved, ZERO, nq)
        copy(reached, nq, new, nv, y.size - nv)
        status, end = deliver(b, run, w, _parabola(h, y, new, nv), t, h, q, reached, until, rows)
        if status != _DONE:
            copy(past, _BEGIN, before, _BEGIN, past.size - _BEGIN)
            break
        if options[LOOPS]:
            keep_step(b, run, t, h, q, new)
        copy(q, ZERO, reached, ZERO, nq)
        copy(y, nv, reached, nq, y.size - nv)
        for i in range(m):
            past[_BEGIN + 2 * m + i] = k0[nv + i]
        past[_DEPTH], past[_LAST] = 0.0 if w.counts[1] else 1.0, h
        times[TIME] = end
        times[NEXT_STEP] = whole
        if adaptive:
            grow = min(2.0, max(0.2, 0.9 * max(error, 1e-10) ** (-1.0 / 3.0)))
            size = h * grow if grow < 0.95 or (grow > 1.2 and not shrunk) else h
            times[NEXT_STEP] = max(size, whole) if h < whole and not shrunk else size
        counts[STEPS] += 1
        options[RATES_GIVEN] = 0
        taken += 1
        copy(b.q, ZERO, q, ZERO, nq)
        log_passage(b, run)
        if w.counts[1]:
            status = _EVENT
            break
    if options[LOOPS] and status in (_DONE, _PAUSED, _EVENT) and evaluate_end(b, run, q):
        _look_back(b, run)
    copy(b.q, ZERO, q, ZERO, nq)
    return status
