"""Cross-sections of beams: area, second moments, torsion constant and shear factors.

The section's y and z axes are its principal axes through the centroid. I_y is the integral of z^2 over the area, and
resists bending in the plane of x and z; I_z is the integral of y^2, and resists bending in the plane of x and y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, extent, positive
from whippletree.flexible_bodies.section_fibres import Fibres, given_fibres, rectangle_fibres, ring_fibres
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown

__all__ = ["Section", "circle", "outlines", "rectangle", "section", "tube"]

POISSON = 0.3
"""The Poisson ratio at which the ready sections have Cowper's shear factors (Journal of Applied Mechanics 33, 1966)."""


@readable
@user_facing
@dataclass(frozen=True)
class Section:
    """A cross-section, in metres: area, second moments, torsion constant, shear factors, and fibres for stresses.

    The shear area in y, say, is `shear_factor_y` times the area; only Timoshenko's theory uses it. `fibres` are where
    stresses are told; sections that are made as a `circle`, a `tube` or a `rectangle` know theirs.

    >>> circle(radius=0.1).area > circle(radius=0.05).area
    True
    """

    area: float
    second_moment_y: float
    second_moment_z: float
    torsion_constant: float
    shear_factor_y: float = 1.0
    shear_factor_z: float = 1.0
    fibres: Fibres = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for each in fields(self)[:6]:
            object.__setattr__(self, each.name, positive(getattr(self, each.name), f"section: {each.name}"))

    def numbers(self) -> tuple[float, ...]:
        """Return the numbers in the order of the fields, without the fibres.

        >>> len(circle(radius=0.1).numbers())
        6
        """
        return tuple(getattr(self, each.name) for each in fields(self)[:6])

    def with_fibres(self, fibres: Fibres) -> Section:
        """Return the same section with these fibres."""
        found = Section(*self.numbers())
        object.__setattr__(found, "fibres", fibres)
        return found


@user_facing
def section(
    *,
    area: float,
    second_moment_y: float,
    second_moment_z: float,
    torsion_constant: float,
    shear_factor_y: float = 5 / 6,
    shear_factor_z: float = 5 / 6,
    fibres: Sequence[Sequence[float]] | None = None,
    torsion_modulus: float | None = None,
) -> Section:
    """Return a section of any shape, given by its numbers about its principal axes y and z.

    A beam with `stress=True` needs its outermost `fibres` too, as places (y, z) in metres, and the `torsion_modulus` W
    in m^3: torsion makes a shear stress T / W in all of them. Shear forces have none there.

    >>> section(area=1e-3, second_moment_y=8e-8, second_moment_z=2e-8, torsion_constant=3e-8).area
    0.001
    """
    found = Section(area, second_moment_y, second_moment_z, torsion_constant, shear_factor_y, shear_factor_z)
    if fibres is None and torsion_modulus is None:
        return found
    if fibres is None or torsion_modulus is None:
        raise ModelError("section: for stresses give both fibres=[(y, z), ...] and torsion_modulus=, or none of them")
    return found.with_fibres(given_fibres(fibres, found.torsion_constant, torsion_modulus))


@user_facing
def circle(*, radius: float) -> Section:
    """Return a solid circular section.

    >>> s = circle(radius=0.1)
    >>> round(s.torsion_constant / s.second_moment_y, 12)
    2.0
    """
    return _ring("circle", extent(radius, "circle: radius"), 0.0)


@user_facing
def tube(*, radius: float, wall: float) -> Section:
    """Return a hollow circular section with this outer radius and thickness of the wall.

    >>> tube(radius=0.1, wall=0.1) == circle(radius=0.1)
    True
    """
    outer, thickness = extent(radius, "tube: radius"), extent(wall, "tube: wall")
    if thickness > outer:
        raise ModelError(f"tube: the wall is {shown(thickness)} m thick, but the radius is only {shown(outer)} m")
    return _ring("tube", outer, outer - thickness)


@user_facing
def rectangle(*, width: float, height: float) -> Section:
    """Return a solid rectangle, its width along y and its height along z.

    The torsion constant is Saint-Venant's series.

    >>> s = rectangle(width=0.1, height=0.2)
    >>> round(s.second_moment_y / s.second_moment_z, 12), round(s.torsion_constant / (0.2 * 0.1**3), 4)
    (4.0, 0.2287)
    """
    b, h = extent(width, "rectangle: width"), extent(height, "rectangle: height")
    short, long = min(b, h), max(b, h)
    terms = (math.tanh(n * math.pi * long / (2 * short)) / n**5 for n in range(1, 40, 2))
    torsion = long * short**3 / 3 * (1 - 192 * short / (math.pi**5 * long) * sum(terms))
    shear = 10 * (1 + POISSON) / (12 + 11 * POISSON)
    found = Section(b * h, b * h**3 / 12, h * b**3 / 12, torsion, shear, shear)
    return found.with_fibres(rectangle_fibres(b, h))


def _ring(what: str, outer: float, inner: float) -> Section:
    """Return the section between two circles."""
    moment = math.pi * (outer**4 - inner**4) / 4
    m = (inner / outer) ** 2
    shear = 6 * (1 + POISSON) * (1 + m) ** 2 / ((7 + 6 * POISSON) * (1 + m) ** 2 + (20 + 12 * POISSON) * m)
    area = math.pi * (outer + inner) * (outer - inner)
    try:
        found = Section(area, moment, moment, 2 * moment, shear, shear)
    except ModelError as error:  # a wall that is lost in rounding
        raise ModelError(f"{what}: {error}") from None
    return found.with_fibres(ring_fibres(outer, inner))


def outlines(numbers: Array) -> Array:
    """Return corners (S, K, 2), along y and z, of sections that have these numbers (S, 6), for pictures.

    Rings and circles have J = I_y + I_z, and are drawn as such; all else is drawn as the rectangle of its second
    moments and area.

    >>> outlines(np.array([rectangle(width=0.1, height=0.2).numbers()]))[0].round(3).tolist()
    [[-0.05, -0.1], [0.05, -0.1], [0.05, 0.1], [-0.05, 0.1]]
    >>> np.linalg.norm(outlines(np.array([tube(radius=0.1, wall=0.01).numbers()]))[0], axis=1).round(12).tolist()[:2]
    [0.1, 0.1]
    """
    area, I_y, I_z, J = np.maximum(numbers[:, :4], 1e-300).T
    if np.all(np.abs(I_y - I_z) < _ROUND * I_y) and np.all(np.abs(J - I_y - I_z) < _ROUND * J):
        angles = 2 * np.pi * np.arange(_SIDES) / _SIDES
        radius = np.sqrt((4 * I_y / area + area / np.pi) / 2)
        return np.asarray(radius[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    half = np.stack([np.sqrt(3 * I_z / area), np.sqrt(3 * I_y / area)], axis=1)
    return np.asarray(half[:, None] * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]))


_ROUND, _SIDES = 1e-6, 16
"""By which share moments of round sections may differ, and the corners that circles are drawn with."""
