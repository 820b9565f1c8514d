"""Steps of explicit Runge-Kutta methods: stages, the error, and states within a step."""

from __future__ import annotations

import numpy as np

from whippletree.simulate.kernel_calls import (
    PROJECT,
    RATES,
    ZERO,
    KernelBuffers,
    call,
    close_loops,
    copy,
    displace,
    nearly_closed,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import bare, by_address, inner
from whippletree.simulate.native_structs import NativeStruct, Number, Numbers, NumberTable, Words
from whippletree.simulate.run_state import CLOSE_STAGES, LOOPS, PLAIN, Status
from whippletree.simulate.run_tolerances import LEAST_ALONG, TIGHT
from whippletree.simulate.state_rates import evaluate

__all__ = ["Method", "along_closures", "dense", "error", "euler", "stages", "step", "write"]

_DONE, _UNTRUSTED, _POOR = Status.DONE, Status.UNTRUSTED, Status.POOR


class Method(NativeStruct):
    """A tableau; `order` is what the step control goes by. A method without stages is semi-implicit Euler."""

    A: NumberTable
    b: Numbers
    c: Numbers
    e: Numbers
    e3: Numbers
    dense: NumberTable
    order: Number


@bare
def _combine(y: Numbers, h: float, weights: Numbers, count: int, k: NumberTable, result: Numbers) -> None:
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
def _plain_stages(
    b: KernelBuffers, method: Method, begin: int, end: int, t: float, h: float, y: Numbers, k: NumberTable
) -> None:
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
        call(b.kernels[RATES])
        power = 0.0
        for i in range(nv):
            own[i] = v[i]
            own[nv + i] = rates[i]
            power += tau[i] * v[i]
        own[2 * nv] = power
        own[2 * nv + 1] = 0.0


@by_address
def stages(
    b: KernelBuffers,
    method: Method,
    begin: int,
    end: int,
    t: float,
    h: float,
    y: Numbers,
    k: NumberTable,
    stage: Numbers,
    flags: Words,
    near: float,
) -> int:
    """Evaluate some stages after the first."""
    if flags[PLAIN]:
        _plain_stages(b, method, begin, end, t, h, y, k)
        return _DONE
    for i in range(begin, end):
        _combine(y, h, method.A[i], i, k, stage)
        status = evaluate(b, t + method.c[i] * h, stage, k[i], flags, near)
        if status == _UNTRUSTED or (status == _POOR and not flags[CLOSE_STAGES]):
            return int(status)
    return _DONE


@bare
def step(
    b: KernelBuffers,
    method: Method,
    t: float,
    h: float,
    y: Numbers,
    k: NumberTable,
    stage: Numbers,
    flags: Words,
    near: float,
    new: Numbers,
) -> int:
    """Take a step of size h into `new`; say whether its stages are to be trusted."""
    if method.b.size == 0:
        euler(b, h, y, new, k)
        return _DONE
    good = stages(b, method, ZERO + 1, method.b.size, t, h, y, k, stage, flags, near)
    _combine(y, h, method.b, method.b.size, k, new)
    return int(good)


@bare
def euler(b: KernelBuffers, h: float, y: Numbers, new: Numbers, k: NumberTable) -> None:
    """Take a semi-implicit Euler step: the new velocities move the configuration."""
    nv = b.v.size
    for n in range(nv, y.size):
        new[n] = y[n] + h * k[0, n]
    for i in range(nv):
        new[i] = h * new[nv + i]


@bare
def error(
    method: Method, h: float, y: Numbers, new: Numbers, k: NumberTable, scale: Numbers, tolerance: float
) -> float:
    """Return the estimated error of a step as a share of the tolerance: one is just right.

    Work is among what is watched: where drives give the whole motion, nothing else would be.
    """
    not_inlined()
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


@inner
def along_closures(
    b: KernelBuffers, method: Method, h: float, end: float, y: Numbers, new: Numbers, k: NumberTable, scale: Numbers
) -> float:
    """Return the share of a step's estimated error that is along the closures: closing the end takes off the rest.

    The step begins at `b.q`. Its end and that of the method of lower order are both put on the closures, by a step of
    Newton's method; velocities are, where the step ends.
    """
    not_inlined()
    nv = scale.size
    off, lower, along = np.zeros(2 * nv), new.copy(), np.empty(nv)
    for j in range(method.e.size):
        for n in range(2 * nv):
            off[n] += h * method.e[j] * k[j, n]
    displace(b, new, nv, along)
    copy(b.v, ZERO, off, nv, nv)
    b.t[0] = end
    call(b.kernels[PROJECT])
    closed = b.projected.copy()
    for i in range(nv):
        lower[i] -= off[i]
    displace(b, lower, nv, along)
    for i in range(nv):
        b.v[i] = 0.0
    call(b.kernels[PROJECT])
    whole, left = 0.0, 0.0
    for i in range(nv):
        size = scale[i]
        whole += (off[i] / size) ** 2
        left += ((off[i] + closed[i] - b.projected[i]) / size) ** 2
        size = scale[i] + max(abs(y[nv + i]), abs(new[nv + i]))
        whole += (off[nv + i] / size) ** 2
        left += ((closed[nv + i] - b.projected[nv + i]) / size) ** 2
    if not left < whole:  # nor if that is not a number
        return 1.0
    return float(max(np.sqrt(left / whole), LEAST_ALONG))


@bare
def dense(method: Method, h: float, share: float, y: Numbers, new: Numbers, k: NumberTable, here: Numbers) -> None:
    """Interpolate within a step; straight on if the method has no dense output."""
    not_inlined()
    copy(here, ZERO, y, ZERO, y.size)
    if method.dense.shape[0] == 0:
        for n in range(y.size):
            here[n] += share * (new[n] - y[n])
    for j in range(method.dense.shape[0]):
        weight = 0.0
        for p in range(method.dense.shape[1] - 1, -1, -1):
            weight = (weight + method.dense[j, p]) * share
        for n in range(y.size):
            here[n] += h * weight * k[j, n]


@inner
def write(b: KernelBuffers, t: float, q: Numbers, here: Numbers, flags: Words, row: Numbers) -> bool:
    """Write a state that is `here` from q into a row [q, v, z, work], on the closures."""
    nq, nv = q.size, b.v.size
    copy(b.q, ZERO, q, ZERO, nq)
    unused = np.empty(nv)
    displace(b, here, nv, unused)
    copy(row, ZERO, b.here, ZERO, nq)
    normalize(b, row, ZERO)
    copy(row, nq, here, nv, here.size - nv)
    if flags[LOOPS] and not (flags[CLOSE_STAGES] and nearly_closed(b, t, row)):
        return bool(close_loops(b, t, row, ZERO, row, nq, TIGHT))
    return True
