"""Derivatives of a state, by the kernel `derivatives`, and whether they are to be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.simulate.bundles import Numbers, Words
from whippletree.simulate.course import CLOSING, GIVEN, LOOPS, POWERS, TIME, Course, Status
from whippletree.simulate.moves import (
    CHANGES,
    LEAST,
    LEAST_AT,
    NEGATIVE,
    NEGATIVE_FIRST,
    PIVOT,
    RATES,
    ZERO,
    Buffers,
    apart,
    call,
    close,
    copy,
    place,
)
from whippletree.simulate.routines import bare, routine

__all__ = ["CLOSE_ENOUGH", "POOR_SHARE", "TIGHT", "UNTRUSTED_SHARE", "evaluate", "evaluate_end", "evaluate_first"]

CLOSE_ENOUGH = 1e-14
"""The square of a gap that one more Newton step takes to rounding."""

TIGHT = 1e-30
"""The same near a singular position, where it takes more steps."""

# Shares of a pivot's size where the plan was made. Accelerations lose about the cube of the share in digits.

POOR_SHARE = 3e-2
"""Below it the choice of coordinates is poor."""

UNTRUSTED_SHARE = 5e-4
"""Below it accelerations are never used."""

_DONE, _UNTRUSTED, _POOR = Status.DONE, Status.UNTRUSTED, Status.POOR


@routine
def evaluate(b: Buffers, t: float, y: Numbers, k: Numbers, options: Words, near: float) -> int:
    """Evaluate the derivatives of y into k; say whether they are to be trusted, by the share `near` of the pivots."""
    nv, nz = b.v.size, b.z.size
    place(b, y, nv, k)
    if options[CLOSING]:
        # near a singular position what is off the closures by little is far off in its acceleration
        copy(b.spare_q, ZERO, b.here, ZERO, b.q.size)
        copy(b.spare_v, ZERO, b.v, ZERO, nv)
        enough = TIGHT if options[CLOSING] == 1 else CLOSE_ENOUGH
        closed = close(b, t, b.spare_q, ZERO, b.spare_v, ZERO, enough)
        copy(b.q, ZERO, b.base, ZERO, b.q.size)
        if not closed:
            return _UNTRUSTED
        copy(b.here, ZERO, b.spare_q, ZERO, b.q.size)
        copy(b.v, ZERO, b.spare_v, ZERO, nv)
    b.t[0] = t
    for i in range(nz):
        b.z[i] = y[2 * nv + i]
    call(b.wires[RATES])
    at = nv + nz
    for i in range(at):
        k[nv + i] = b.rates[i]
    status = _DONE
    if options[LOOPS]:
        status = _trust(b, t, at, near)
        at += 2
    power = 0.0
    for i in range(nv):
        power += b.tau[i] * y[nv + i]
    if options[POWERS]:
        k[2 * nv + nz] = power + b.rates[at + 1]
        k[2 * nv + nz + 1] = b.rates[at]
    else:
        k[2 * nv + nz] = power
        k[2 * nv + nz + 1] = 0.0
    return status


@bare
def _trust(b: Any, t: float, at: int, near: float) -> int:
    """Say how far rates just evaluated are to be trusted, and keep where pivots were smallest."""
    b.least[PIVOT], b.least[NEGATIVE] = b.rates[at], b.rates[at + 1]
    b.least[CHANGES] += abs(b.least[NEGATIVE] - b.least[NEGATIVE_FIRST])
    share = abs(b.rates[at])
    if share < b.least[LEAST]:
        b.least[LEAST], b.least[LEAST_AT] = share, t
        if share < POOR_SHARE:
            copy(b.nearest, ZERO, b.here, ZERO, b.q.size)
    if not share > near:
        return _UNTRUSTED
    return _POOR if share < POOR_SHARE else _DONE


@bare
def evaluate_first(b: Any, t: float, y: Any, k: Any, options: Any, kept: Any) -> int:
    """Evaluate at the beginning of a step; the accelerations may have been given in `rates`."""
    if options[GIVEN]:
        nv, nz = b.v.size, b.z.size
        copy(kept, ZERO, b.rates, ZERO, nv + nz)
        evaluate(b, t, y, k, options, UNTRUSTED_SHARE)
        copy(k, nv, kept, ZERO, nv + nz)
        return _DONE
    return int(evaluate(b, t, y, k, options, UNTRUSTED_SHARE))


@routine
def evaluate_end(b: Buffers, course: Course, q: Numbers) -> bool:
    """Evaluate the end of the last step, if no other step will; tell whether that is to be trusted."""
    apart()
    unused, closing = np.empty(course.y.size), course.options[CLOSING]
    copy(b.q, ZERO, q, ZERO, b.q.size)
    course.options[CLOSING] = 0
    good = evaluate(b, course.times[TIME], course.y, unused, course.options, UNTRUSTED_SHARE) != _UNTRUSTED
    course.options[CLOSING] = closing
    return bool(good)
