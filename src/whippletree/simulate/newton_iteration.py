"""Newton's method for a step of an implicit method, in machine code (see `generalized_alpha` for the methods).

The unknowns are the accelerations a at the end of the step, the closures' multipliers and the rates of the elements'
states. The equations of motion (inverse dynamics: no mass matrix is inverted) are solved together with the closures on
positions, by the kernels `newton_residual` and `newton_matrix` (see `system.newton_equations`). The matrix is the exact
derivative. It is made at the beginning of a step, and again whenever convergence is slow.
"""

from __future__ import annotations

import numpy as np

from whippletree.simulate.kernel_calls import ZERO, KernelBuffers, call, copy, displace, not_inlined
from whippletree.simulate.native_functions import bare, inner
from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable, Words, WordTable
from whippletree.simulate.run_state import EVALUATIONS, RunState
from whippletree.simulate.run_tolerances import (
    DAMPED_ITERATIONS,
    NEWTON_CONVERGED,
    NEWTON_ITERATIONS,
    NEWTON_STALLED,
    SHORTEST_CORRECTION,
    SLOW_CONVERGENCE,
)

__all__ = [
    "CUT",
    "DRIVEN",
    "MOTION",
    "POSITION",
    "STATE",
    "VELOCITY",
    "Newton",
    "average",
    "iterate_newton",
    "put_on_closures",
]

MOTION, CUT, DRIVEN, POSITION, VELOCITY, STATE = range(6)
"""What a row is: of motion, a cut joint's, a driven freedom's, a closure's on positions or velocities, a state's."""


class Newton(NativeStruct):
    """What Newton's method works on: two kernels, their arrays, and what each row is."""

    coefficients: Numbers  # of the method (see `generalized_alpha`)
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


@bare
def _factor(n: Newton) -> bool:
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


@bare
def _solve(n: Newton, right: Numbers, x: Numbers) -> None:
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


@bare
def average(method: Numbers, a1: float, a0: float, A0: float) -> float:
    """Return A1."""
    am, af = method[0], method[1]
    return float(((1.0 - af) * a1 + af * a0 - am * A0) / (1.0 - am))


@bare
def _forecast(
    b: KernelBuffers, method: Numbers, h: float, y: Numbers, rates: Numbers, start: Numbers, mean: Numbers, new: Numbers
) -> None:
    """Put the displacements, velocities and states that these rates at the end of a step lead to into `new`."""
    not_inlined()
    nv, nz = b.v.size, b.z.size
    bb, g = method[2], method[3]
    for i in range(nv + nz):
        A1 = average(method, rates[i], start[i], mean[i])
        if i < nv:
            new[i] = h * y[nv + i] + h * h * ((0.5 - bb) * mean[i] + bb * A1)
        new[nv + i] = y[nv + i] + h * ((1.0 - g) * mean[i] + g * A1)


@inner
def _move(b: KernelBuffers, n: Newton, cu: float, cv: float, none: Numbers, new: Numbers, rates: Numbers) -> None:
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


@bare
def _apply(b: KernelBuffers, n: Newton, cu: float, cv: float, part: float, x: Numbers, new: Numbers) -> None:
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


@bare
def _right_side(n: Newton, cu: float, cv: float, rates: Numbers, right: Numbers) -> None:
    """Put the residual, each row in the units of its unknowns, into `right`."""
    not_inlined()
    nm = n.multipliers.size
    for i in range(n.kinds.size):
        kind = n.kinds[i]
        value = -n.residual[i]
        if kind in (CUT, POSITION):
            value /= cu
        elif kind == VELOCITY:
            value /= cv
        elif kind == STATE:
            value = n.residual[i] - rates[i - nm]
        right[i] = value


@bare
def _largest_move(b: KernelBuffers, n: Newton, cu: float, cv: float, scale: Numbers, x: Numbers) -> tuple[float, int]:
    """Return by how much a correction moves the mechanism, and which freedom most; minus one if it is zero."""
    not_inlined()
    nv, nm, size_of, worst = b.v.size, n.multipliers.size, 0.0, -1
    for i in range(n.kinds.size):
        moved = 0.0
        if i < nv:
            moved = cu * abs(x[i]) / scale[i]
        elif i >= nv + nm:
            moved = cv * abs(x[i]) / (1.0 + abs(b.z[i - nv - nm]))
        if not np.isfinite(x[i]):
            moved = np.inf
        if moved > size_of:
            size_of, worst = moved, min(i, nv - 1)
    return size_of, worst


@inner
def iterate_newton(
    b: KernelBuffers,
    n: Newton,
    h: float,
    t: float,
    start: Numbers,
    mean: Numbers,
    rates: Numbers,
    new: Numbers,
    run: RunState,
    go_on: bool,
    damped: bool,
) -> int:
    """Solve a step that begins at b.q; return the number of iterations, or minus one more than the worst row.

    The first guess is that the accelerations stay as they are, or (`go_on`) the velocities. If it is `damped`, only so
    much of a correction is made that the next one, by the same matrix, is smaller.
    """
    not_inlined()
    y, method, nv, nz, size = run.y, n.coefficients, b.v.size, b.z.size, n.kinds.size
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
    for iteration in range(DAMPED_ITERATIONS if damped else NEWTON_ITERATIONS):
        _move(b, n, cu, cv, none, new, rates)
        call(n.kernels[0])
        run.counts[EVALUATIONS] += 1
        if make:
            copy(n.displacement, ZERO, new, ZERO, nv)
            n.step[0], n.step[1] = cv, cu
            call(n.kernels[1])
            if not _factor(n):
                return -1 - worst
        _right_side(n, cu, cv, rates, right)
        _solve(n, right, x)
        size_of, farthest = _largest_move(b, n, cu, cv, run.scale, x)
        worst = farthest if farthest >= 0 else worst
        if trying:  # half as far, until the matrix of the beginning says that it is nearer to the solution there
            if size_of <= (1.0 - 0.5 * part) * before:
                trying, make, part = False, True, min(1.0, 2.0 * part)
                continue
            _apply(b, n, cu, cv, -0.5 * part, way, new)
            part *= 0.5
            if part < SHORTEST_CORRECTION:
                break
            continue
        if not np.isfinite(size_of):
            break
        ratio = size_of / before if iteration > 0 else 1.0
        done = size_of <= NEWTON_CONVERGED or (
            ratio < 0.5 and ratio / (1.0 - ratio) * size_of <= 0.1 * NEWTON_CONVERGED
        )
        if done or (iteration > 3 and ratio > 0.5 and size_of <= NEWTON_STALLED):
            _apply(b, n, cu, cv, 1.0, x, new)
            _move(b, n, cu, cv, none, new, rates)
            return iteration + 1
        make = ratio > SLOW_CONVERGENCE and iteration > 0
        if damped:
            copy(way, ZERO, x, ZERO, size)
            trying, make = True, False
        _apply(b, n, cu, cv, part, x, new)
        before = size_of
    return -1 - worst


@inner
def put_on_closures(b: KernelBuffers, n: Newton, t: float, q: Numbers, v: Numbers, at: int) -> bool:
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
        if n.kinds[i] == CUT:
            right[i] = -n.residual[after + i]
    for i in range(nm):
        right[nv + i] = -n.residual[after + nv + i]
    _solve(n, right, x)
    for i in range(nv):
        if not np.isfinite(x[i]):
            return False
        v[at + i] += x[i]
    return True
