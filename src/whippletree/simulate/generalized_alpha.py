"""Implicit methods as data: the trapezoidal rule and the generalised-alpha method.

Both are one family. With a the accelerations that satisfy the equations of motion at the end of a step, and A an
average of them that the method keeps,

    (1 - am) A1 + am A0 = (1 - af) a1 + af a0
    u = h v0 + h^2 ((1/2 - b) A0 + b A1),         v1 = v0 + h ((1 - g) A0 + g A1)

(Chung and Hulbert 1993; Arnold and Bruls 2007, as u is a rotation vector where there are quaternions and closures hold
at the end of each step). am, af, b and g follow from the spectral radius r at infinite frequency: the share of an
oscillation too fast for the step that is left after it. The trapezoidal rule is am = af = 1/2, b = 1/4, g = 1/2, begun
anew at every step: A0 = a0 are the accelerations of the state.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.spatial.scalars import number, shown

__all__ = ["IMPLICIT", "Alpha", "implicit_method"]

GENERALIZED_ALPHA = "generalized_alpha"
TRAPEZOIDAL = "trapezoidal"
IMPLICIT = (TRAPEZOIDAL, GENERALIZED_ALPHA)
"""The implicit methods by name."""

_RADIUS = 0.8
"""The spectral radius unless one is given."""


@dataclass(frozen=True)
class Alpha:
    """The numbers of an implicit method; `fresh` says that it begins anew at every step.

    >>> Alpha.of_radius(1.0).b
    0.25
    """

    name: str
    am: float
    af: float
    b: float
    g: float
    fresh: bool

    @staticmethod
    def of_radius(r: float) -> Alpha:
        """Return the generalised-alpha method with a spectral radius at infinity.

        >>> method = Alpha.of_radius(0.5)
        >>> method.g == 0.5 + method.af - method.am
        True
        """
        am, af = (2 * r - 1) / (r + 1), r / (r + 1)
        return Alpha(GENERALIZED_ALPHA, am, af, (1 - am + af) ** 2 / 4, 0.5 - am + af, False)

    @property
    def errors(self) -> tuple[float, float]:
        """The error of a step: these numbers times h^3 a' in displacements, and h^3 a'' in velocities.

        For the trapezoidal rule both are a twelfth.

        >>> [round(12 * x, 12) for x in implicit_method("trapezoidal", None).errors]
        [1.0, 1.0]
        """
        lag = self.am - self.af
        second = (1 - self.af) / 2 - (1 - self.am) * (0.5 + lag)
        return abs(lag / 2 + self.b - 1 / 6), abs(second + self.g * (lag + 0.5) - 1 / 6)

    def numbers(self) -> np.ndarray:
        """Return the method as machine code takes it."""
        return np.array([self.am, self.af, self.b, self.g, float(self.fresh), *self.errors])


def implicit_method(name: str, spectral_radius: float | None) -> Alpha:
    """Return an implicit method, its spectral radius checked.

    >>> implicit_method("generalized_alpha", 0.0).am
    -1.0
    """
    if name == TRAPEZOIDAL:
        if spectral_radius is not None:
            raise StateError(f'spectral_radius= belongs to method "{GENERALIZED_ALPHA}"; that of "{name}" is one')
        return Alpha(TRAPEZOIDAL, 0.5, 0.5, 0.25, 0.5, True)
    r = np.nan
    with contextlib.suppress(ModelError):
        r = _RADIUS if spectral_radius is None else number(spectral_radius, "spectral_radius=")
    if not 0.0 <= r <= 1.0:
        raise StateError(
            f"spectral_radius= must be a number from 0 (fast oscillations vanish in a step) to 1 (they never do), "
            f"not {shown(spectral_radius)}"
        )
    return Alpha.of_radius(r)
