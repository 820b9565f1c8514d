"""Smooth one-sided forces, of which stops and contacts are made.

A stop takes hold over a width w. With s = x / w, cut off at 0 and 1, and the depth x positive inside,

    gate    h(x) = 3 s^2 - 2 s^3                                 0 outside, 1 beyond w, C1
    ramp    r(x) = w (s^3 - s^4 / 2) + max(x - w, 0)             its integral, C2; x - w/2 beyond w
    energy  e(x), the integral of r, C3

A spring k r(x) and a damper c h(x) together would pull while the depth shrinks fast. With A = k r >= 0 the elastic
force, and y = c h x' the damper's,

    N = A + y                 where y >= -A / 2
    N = A^2 / (-4 y)          beyond: fading to zero, and never negative                      (1)

which is C1, and takes energy out whatever the rate: (N - A) x' >= 0.

Where surfaces slide along each other at the velocity u, friction is -mu N u / sqrt(|u|^2 + speed^2): it takes energy
out as well, and is smooth where they do not slide.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from whippletree.elements.element_tolerances import LEAST_ELASTIC_FORCE
from whippletree.spatial.scalars import Scalar

__all__ = ["Rubbing", "Stop", "gate", "ramp", "ramp_energy", "rubbed", "stopped"]


class Stop(NamedTuple):
    """A one-sided force: its size, its stored energy, and the power that it dissipates."""

    force: ca.SX
    stored: ca.SX
    dissipated: ca.SX


class Rubbing(NamedTuple):
    """Friction on a surface: the force on the sliding side, and the power that it dissipates."""

    force: ca.SX  # (3,)
    dissipated: ca.SX


def gate(x: ca.SX, width: Scalar) -> ca.SX:
    """Return h(x).

    >>> [float(gate(ca.SX(x), 2.0)) for x in (-1, 1, 3)]
    [0.0, 0.5, 1.0]
    """
    s = _share(x, width)
    return s * s * (3 - 2 * s)


def ramp(x: ca.SX, width: Scalar) -> ca.SX:
    """Return r(x).

    >>> [float(ramp(ca.SX(x), 2.0)) for x in (-1, 2, 5)]
    [0.0, 1.0, 4.0]
    """
    s = _share(x, width)
    return width * s * (s * s) * (1 - s / 2) + ca.fmax(x - width, 0)


def ramp_energy(x: ca.SX, width: Scalar) -> ca.SX:
    """Return e(x).

    >>> [round(float(ramp_energy(ca.SX(x), 1.0)), 12) for x in (-1, 1, 2)]
    [0.0, 0.15, 1.15]
    """
    s, beyond = _share(x, width), ca.fmax(x - width, 0)
    rising = width * (s * s)
    return rising * rising * (0.25 - s / 10) + beyond * (width + beyond) / 2


def stopped(x: ca.SX, rate: ca.SX, stiffness: Scalar, damping: Scalar, width: Scalar) -> Stop:
    """Return the one-sided force (1) at a depth that grows at a rate.

    >>> stopped(ca.SX(2), ca.SX(0), 10.0, 1.0, 2.0).force
    SX(10)
    """
    A = stiffness * ramp(x, width)
    y = damping * gate(x, width) * rate
    # both parts are never negative: A^2 / 4 max(-y, A/2), and y + A/2 where that is positive
    force = A * (A / (4 * ca.fmax(ca.fmax(-y, A / 2), LEAST_ELASTIC_FORCE))) + ca.fmax(y + A / 2, 0)
    dissipated = ca.fmax((force - A) * rate, 0)  # which it is but for rounding
    return Stop(force, stiffness * ramp_energy(x, width), dissipated)


def rubbed(normal_force: ca.SX, n: ca.SX, u: ca.SX, friction: Scalar, speed: Scalar) -> Rubbing:
    """Return the friction on a point with the velocity u over a surface with the normal n, pressed by a normal force.

    >>> float(rubbed(ca.SX(10), ca.SX([0, 0, 1]), ca.SX([3, 0, 7]), 0.5, 4.0).force[0])
    -3.0
    """
    slip = u - n * ca.dot(n, u)
    drag = friction * normal_force / ca.sqrt(ca.sumsqr(slip) + speed**2)
    return Rubbing(-drag * slip, drag * ca.sumsqr(slip))


def _share(x: ca.SX, width: Scalar) -> ca.SX:
    return ca.fmin(ca.fmax(x / width, 0), 1)
