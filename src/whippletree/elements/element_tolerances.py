"""Small numbers of the elements: tolerances of their data, and bounds that keep them smooth and finite everywhere."""

from __future__ import annotations

__all__ = [
    "COINCIDENT",
    "COINCIDENT_POINTS",
    "ENERGY_SLOPE",
    "LEAST_ELASTIC_FORCE",
    "LEAST_LOAD",
    "LEAST_SINE",
    "LEAST_SLIDING",
    "PARALLEL_CAPSULES",
    "SYMMETRIC",
    "TYRE_LOAD_SHARE",
    "UPRIGHT",
]

COINCIDENT = 1e-9
"""Points nearer than this share of a free length have no direction: lost in rounding as soon as they are apart."""

COINCIDENT_POINTS = 1e-12
"""The same in metres where there is no free length."""

UPRIGHT = 1e-9
"""Least sine between a wheel's axis and the road's normal: a wheel that lies flat does not roll."""

TYRE_LOAD_SHARE = 0.25
"""A tyre's friction is that of sqrt(N^2 + N0^2), N0 being this share of its stiffness times the width over which it
takes hold: so it is finite where the tyre leaves the road, and more by 1e-4 at a hundred times that load."""

PARALLEL_CAPSULES = 1e-4
"""The share of the squared distances from the middles that counts when nearest points of capsules are found, so that
these do not jump where capsules are parallel. Of capsules of length l with lines at a distance d, nearest points move
from one end to the other as they turn by 2e-4 l / d, and at the ends the depth is less by 2.5e-5 l^2 / d."""

LEAST_SINE = 1e-10
"""Least sine of a bushing's rotation: its square is below the rounding of one."""

LEAST_ELASTIC_FORCE = 1e-300
"""Least divisor of a stop's force, in newtons or newton metres: it only keeps 0 / 0 away."""

LEAST_LOAD = 1e-12
"""Least force on a bearing, in newtons: where the force vanishes, its direction does too."""

LEAST_SLIDING = 1e-9
"""Least sliding in several directions, as a share of the speed at which friction takes hold."""

SYMMETRIC = 1e-9
"""Largest skew part of a matrix, and largest negative eigenvalue, as a share of its largest entry: ten digits of a
file keep it below."""

ENERGY_SLOPE = 1e-6
"""How far a force law may be from the derivative of its energy: a law may be given in few digits."""
