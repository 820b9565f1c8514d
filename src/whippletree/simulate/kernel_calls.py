"""What every time loop is made of: calls of kernels by address, displacements, and the way back onto the closures."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.simulate.native_functions import bare, by_address, instruction
from whippletree.simulate.native_structs import Address, NativeStruct, Numbers, Words, WordTable
from whippletree.simulate.run_tolerances import (
    CLEARLY_REGULAR,
    CLOSING_ITERATIONS,
    COORDINATES_TO_BLAME,
    GAP_BESIDE_SINGULAR,
    GAP_CLOSED,
    GAP_ROUNDING,
    GAP_SETTLED,
    LONGEST_TURN,
    NOT_CLOSED_SHARE,
)

__all__ = [
    "CHANGES",
    "DISPLACE",
    "NEGATIVE",
    "NEGATIVE_FIRST",
    "PIVOT",
    "PROJECT",
    "RATES",
    "SMALLEST",
    "SMALLEST_AT",
    "ZERO",
    "KernelBuffers",
    "call",
    "close_loops",
    "coordinates_to_blame",
    "copy",
    "displace",
    "largest_velocity",
    "longest_step",
    "nearly_closed",
    "normalize",
    "not_inlined",
    "regularity",
]

DISPLACE, RATES, PROJECT = 0, 1, 2
"""The kernels in `KernelBuffers.kernels`."""

ZERO: Any = np.int64(0)
"""Zero as any other number: for a plain one, functions would be compiled apart."""


class KernelBuffers(NativeStruct):
    """What kernels read and write; `kernels` has six addresses for each of the kernels displace, rates, project."""

    kernels: WordTable  # (3, 6)
    q: Numbers
    u: Numbers
    v: Numbers
    z: Numbers
    t: Numbers
    tau: Numbers
    here: Numbers
    displaced: Numbers
    rates: Numbers
    projected: Numbers
    base: Numbers  # q at the beginning of the step
    spare_q: Numbers
    q_scale: Numbers
    spare_v: Numbers
    quaternions: Words  # where unit quaternions begin in q
    pivots: Numbers  # what is known of pivots
    nearest: Numbers  # the configuration of the smallest share, if it is poor
    # what machine code calls by its address (see `native_functions`)
    close_loops: Address
    evaluate: Address
    evaluate_end: Address
    stages: Address
    state_within: Address
    find_crossings: Address
    first_corner: Address
    locate_singular: Address
    only_coordinates: Address
    deliver: Address


# in `KernelBuffers.pivots`
SMALLEST = 0  # the smallest share of a pivot in the present step
SMALLEST_AT = 1  # and when that was
PIVOT = 2  # the last one, with its sign
NEGATIVE = 3  # how many were below zero then
NEGATIVE_FIRST = 4  # how many were at the beginning
CHANGES = 5  # the difference, summed over stages


@instruction
def call(kernel: Words) -> None:
    """Call a kernel: an array of six addresses."""


@instruction
def not_inlined() -> None:
    """Keep the function that this is called in from being copied into its callers: that takes long to compile."""


@bare
def copy(target: Numbers, start: int, source: Numbers, begin: int, count: int) -> None:
    """Copy numbers; loops compile several times as fast as slices."""
    for i in range(count):
        target[start + i] = source[begin + i]


@bare
def displace(b: KernelBuffers, y: Numbers, nv: int, du: Numbers) -> None:
    """Put the configuration q + u into `here`, and the rate of u into `du`."""
    if b.quaternions.size:
        copy(b.u, ZERO, y, ZERO, nv)
        copy(b.v, ZERO, y, nv, nv)
        call(b.kernels[DISPLACE])
        copy(b.here, ZERO, b.displaced, ZERO, b.q.size)
        copy(du, ZERO, b.displaced, b.q.size, nv)
    else:
        for i in range(nv):
            b.here[i] = b.q[i] + y[i]
            b.v[i] = y[nv + i]
            du[i] = y[nv + i]


@bare
def largest_velocity(v: Numbers, at: int, scale: Numbers) -> float:
    """Return the largest velocity, in radians or characteristic lengths."""
    largest = 0.0
    for i in range(scale.size):
        largest = max(largest, abs(v[at + i]) / scale[i])
    return largest


@bare
def longest_step(v: Numbers, at: int, scale: Numbers) -> float:
    """Return the longest step of a mechanism with loops: in a longer one signs of pivots might change twice."""
    return float(LONGEST_TURN / max(largest_velocity(v, at, scale), 1e-300))


@bare
def normalize(b: KernelBuffers, q: Numbers, at: int) -> None:
    """Take out of quaternions what rounding has put in."""
    for n in range(b.quaternions.size):
        start = at + b.quaternions[n]
        square = 0.0
        for i in range(start, start + 4):
            square += q[i] * q[i]
        for i in range(start, start + 4):
            q[i] /= np.sqrt(square)


@bare
def _speed(v: Numbers, at: int, nv: int) -> float:
    """Return what the square of a slip is measured by."""
    speed = 1.0
    for i in range(at, at + nv):
        speed += v[i] * v[i]
    return speed


@by_address
def close_loops(b: KernelBuffers, t: float, q: Numbers, at_q: int, v: Numbers, at_v: int, enough: float) -> bool:
    """Bring a state back onto the closures, in place; tell whether that was possible.

    If the gap has to be very small, next to a singular position, a state that is closed up to rounding stays as it is:
    there a step of Newton's method would bring in more than it takes out.
    """
    not_inlined()
    nq, nv = b.q.size, b.v.size
    b.t[0] = t
    before = np.inf
    for _ in range(CLOSING_ITERATIONS):
        copy(b.here, ZERO, q, at_q, nq)
        copy(b.v, ZERO, v, at_v, nv)
        call(b.kernels[PROJECT])
        gap, slip = b.projected[2 * nv], b.projected[2 * nv + 1]
        if not np.isfinite(gap + slip):
            return False
        if enough < GAP_CLOSED and gap <= GAP_ROUNDING and slip <= GAP_ROUNDING * _speed(v, at_v, nv):
            return True
        copy(v, at_v, b.projected, nv, nv)
        if b.quaternions.size:
            copy(b.q, ZERO, q, at_q, nq)
            copy(b.u, ZERO, b.projected, ZERO, nv)
            call(b.kernels[DISPLACE])
            copy(q, at_q, b.displaced, ZERO, nq)
            normalize(b, q, at_q)
        else:
            for i in range(nv):
                q[at_q + i] += b.projected[i]
        if gap <= enough and slip <= enough * _speed(v, at_v, nv):
            return True
        if gap <= GAP_SETTLED and gap > 0.1 * before:
            return True
        if gap > 16 * before:
            return bool(before < GAP_CLOSED)
        before = gap
    return bool(before < GAP_CLOSED)


@bare
def regularity(b: KernelBuffers) -> float:
    """Return how regular the closures are at the state in the buffers: zero at a singular position, one elsewhere."""
    call(b.kernels[PROJECT])
    return float(b.projected[2 * b.v.size + 2])


@bare
def coordinates_to_blame(b: KernelBuffers, share: float) -> bool:
    """Tell whether a small share of a pivot at the state in the buffers is that of the choice of coordinates alone."""
    regular = regularity(b)
    return bool(regular > CLEARLY_REGULAR and abs(share) < COORDINATES_TO_BLAME * regular)


@bare
def nearly_closed(b: KernelBuffers, t: float, row: Numbers) -> bool:
    """Tell whether a state is as good as on the closures: next to a singular position it is not improved by them."""
    nq, nv = b.q.size, b.v.size
    b.t[0] = t
    copy(b.here, ZERO, row, ZERO, nq)
    copy(b.v, ZERO, row, nq, nv)
    call(b.kernels[RATES])
    if abs(b.rates[nv + b.z.size]) > NOT_CLOSED_SHARE:
        return False
    call(b.kernels[PROJECT])
    speed = 1.0
    for i in range(nv):
        speed += b.v[i] * b.v[i]
    return bool(b.projected[2 * nv] <= GAP_BESIDE_SINGULAR and b.projected[2 * nv + 1] <= GAP_BESIDE_SINGULAR * speed)
