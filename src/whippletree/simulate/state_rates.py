"""Derivatives of a state, by the kernel `derivatives`, and whether they are to be trusted."""

from __future__ import annotations

import numpy as np

from whippletree.simulate.kernel_calls import (
    CHANGES,
    NEGATIVE,
    NEGATIVE_FIRST,
    PIVOT,
    RATES,
    SMALLEST,
    SMALLEST_AT,
    ZERO,
    KernelBuffers,
    call,
    close_loops,
    coordinates_to_blame,
    copy,
    displace,
    not_inlined,
)
from whippletree.simulate.native_functions import bare, by_address
from whippletree.simulate.native_structs import Numbers, Words
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    EVALUATIONS,
    KEEP_PLAN,
    LOOPS,
    POWERS,
    RATES_GIVEN,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import CLOSE_ENOUGH, COORDINATES_TO_BLAME, POOR_SHARE, TIGHT, UNTRUSTED_SHARE

__all__ = ["evaluate", "evaluate_end", "evaluate_first", "poor_coordinates"]

_DONE, _UNTRUSTED, _POOR = Status.DONE, Status.UNTRUSTED, Status.POOR


@by_address
def evaluate(b: KernelBuffers, t: float, y: Numbers, k: Numbers, flags: Words, near: float) -> int:
    """Evaluate the derivatives of y into k; say whether they are to be trusted, by the share `near` of the pivots."""
    nv, nz = b.v.size, b.z.size
    displace(b, y, nv, k)
    if flags[CLOSE_STAGES]:
        # near a singular position what is off the closures by little is far off in its acceleration
        copy(b.spare_q, ZERO, b.here, ZERO, b.q.size)
        copy(b.spare_v, ZERO, b.v, ZERO, nv)
        enough = TIGHT if flags[CLOSE_STAGES] == 1 else CLOSE_ENOUGH
        closed = close_loops(b, t, b.spare_q, ZERO, b.spare_v, ZERO, enough)
        copy(b.q, ZERO, b.base, ZERO, b.q.size)
        if not closed:
            return _UNTRUSTED
        copy(b.here, ZERO, b.spare_q, ZERO, b.q.size)
        copy(b.v, ZERO, b.spare_v, ZERO, nv)
    b.t[0] = t
    for i in range(nz):
        b.z[i] = y[2 * nv + i]
    call(b.kernels[RATES])
    at = nv + nz
    for i in range(at):
        k[nv + i] = b.rates[i]
    status = _DONE
    if flags[LOOPS]:
        status = _trust(b, t, at, near)
        at += 2
    power = 0.0
    for i in range(nv):
        power += b.tau[i] * y[nv + i]
    if flags[POWERS]:
        k[2 * nv + nz] = power + b.rates[at + 1]
        k[2 * nv + nz + 1] = b.rates[at]
    else:
        k[2 * nv + nz] = power
        k[2 * nv + nz + 1] = 0.0
    return status


@bare
def _trust(b: KernelBuffers, t: float, at: int, near: float) -> int:
    """Say how far rates just evaluated are to be trusted, and keep where pivots were smallest.

    Where the choice of coordinates alone is to blame for a small share, accelerations lose few digits.
    """
    b.pivots[PIVOT], b.pivots[NEGATIVE] = b.rates[at], b.rates[at + 1]
    b.pivots[CHANGES] += abs(b.pivots[NEGATIVE] - b.pivots[NEGATIVE_FIRST])
    share = abs(b.rates[at])
    if share < POOR_SHARE and share > UNTRUSTED_SHARE and coordinates_to_blame(b, share):
        return _DONE
    if share < b.pivots[SMALLEST]:
        b.pivots[SMALLEST], b.pivots[SMALLEST_AT] = share, t
        if share < POOR_SHARE:
            copy(b.nearest, ZERO, b.here, ZERO, b.q.size)
    if not share > near:
        return _UNTRUSTED
    return _POOR if share < POOR_SHARE else _DONE


@bare
def evaluate_first(b: KernelBuffers, run: RunState, k: Numbers) -> int:
    """Evaluate at the beginning of a step, from `run.q`; the accelerations may be given (`run.given`)."""
    copy(b.q, ZERO, run.q, ZERO, b.q.size)
    copy(b.base, ZERO, run.q, ZERO, b.q.size)
    b.pivots[SMALLEST] = np.inf
    run.counts[EVALUATIONS] += 1
    status = evaluate(b, run.times[TIME], run.y, k, run.flags, UNTRUSTED_SHARE)
    if run.flags[RATES_GIVEN]:
        copy(k, b.v.size, run.given, ZERO, run.given.size)
        return _DONE
    if status == _DONE:
        if not poor_coordinates(b, run):
            run.flags[KEEP_PLAN] = 0
        elif not run.flags[KEEP_PLAN]:
            return _POOR
    return int(status)


@bare
def poor_coordinates(b: KernelBuffers, run: RunState) -> bool:
    """Tell whether another choice of coordinates would be better at the state just evaluated."""
    share = abs(b.pivots[PIVOT])
    return bool(run.flags[LOOPS] and share < COORDINATES_TO_BLAME and coordinates_to_blame(b, share))


@by_address
def evaluate_end(b: KernelBuffers, run: RunState) -> bool:
    """Evaluate the end of the last step, if no other step will; tell whether that is to be trusted."""
    not_inlined()
    unused, closing = np.empty(run.y.size), run.flags[CLOSE_STAGES]
    copy(b.q, ZERO, run.q, ZERO, b.q.size)
    run.flags[CLOSE_STAGES] = 0
    good = evaluate(b, run.times[TIME], run.y, unused, run.flags, UNTRUSTED_SHARE) != _UNTRUSTED
    run.flags[CLOSE_STAGES] = closing
    return bool(good)
