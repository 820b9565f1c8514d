"""Small numbers of the force elements: what they keep from zero, so that elements are smooth and finite everywhere."""

from __future__ import annotations

__all__ = [
    "COINCIDENT",
    "COINCIDENT_POINTS",
    "LEAST_ELASTIC_FORCE",
    "LEAST_LOAD",
    "LEAST_SINE",
    "LEAST_SLIDING",
]

COINCIDENT = 1e-9
"""Points nearer than this share of a free length have no direction: lost in rounding as soon as they are apart."""

COINCIDENT_POINTS = 1e-12
"""The same in metres where there is no free length."""

LEAST_SINE = 1e-10
"""What the sine of a bushing's rotation is kept from zero by: its square is below what rounding leaves of one."""

LEAST_ELASTIC_FORCE = 1e-300
"""What a stop divides by at least, in newtons or newton metres: it only keeps 0 / 0 away."""

LEAST_LOAD = 1e-12
"""What forces on a bearing are kept from zero by, in newtons: where one vanishes, its direction does too."""

LEAST_SLIDING = 1e-9
"""What sliding in several directions is kept from zero by, as a share of the speed at which friction takes hold."""
