"""Mass properties of simple homogeneous shapes, which pictures show. Any dimension, mass or density may be a parameter.

A shape of mass zero is a picture only: `MassProperties(2.0, com, inertia) + box(size, mass=0.0)` is drawn as the box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from whippletree.elements.bodies.appearance import Shape
from whippletree.elements.bodies.rigid import NO_INERTIA, MassProperties
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.orientation import (
    AxisLike,
    Direction,
    axis_rotation,
    direction,
    perpendicular_frame,
    transpose,
)
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import (
    Matrix3,
    Rotation3,
    Scalar,
    Vector3,
    VectorLike,
    product,
    same_key,
    scalar,
    shown,
    vector,
)

__all__ = ["box", "cylinder", "point_mass", "point_masses", "rod", "sphere"]

ORIGIN = (0.0, 0.0, 0.0)


@user_facing
def rod(
    length: Scalar,
    mass: Scalar | None = None,
    *,
    mass_per_length: Scalar | None = None,
    axis: AxisLike = "x",
    at: VectorLike = ORIGIN,
) -> MassProperties:
    """Return the properties of a thin rod that begins at `at`, the origin, and goes along `axis`.

    >>> rod(length=2.0, mass=3.0).com, rod(length=2.0, mass=3.0).inertia[1][1]
    ((1.0, 0.0, 0.0), 1.0)
    """
    L = _size(length, "rod: length")
    m = _mass("rod", mass, mass_per_length, "mass_per_length", L)
    n = direction(axis, "rod: axis")
    x, y, z = vector(at, "rod: at")
    com = (x + product(n[0], L / 2.0), y + product(n[1], L / 2.0), z + product(n[2], L / 2.0))
    drawn = Shape("rod", (L,), Placement(axis_rotation(n), com))
    return _made("rod", m, com, _around(n, 0.0, m * L * L / 12.0), drawn)


@user_facing
def box(
    size: VectorLike,
    mass: Scalar | None = None,
    *,
    density: Scalar | None = None,
    axis: AxisLike = "x",
    across: AxisLike | None = None,
    at: VectorLike = ORIGIN,
) -> MassProperties:
    """Return the properties of a box with its centre at `at`: its edge lengths along x, y and z, or along other axes.

    The first edge is along `axis`, the second along `across`, perpendicular to it, and the third along both's normal.
    Along "y" the edges are those along y, z and x unless `across` says otherwise, and along "z" those along z, x and y.
    Along any other direction `across` may be left out only if the second and the third edge are equal.

    >>> box((1, 2, 3), mass=12.0).inertia[0][0]
    13.0
    >>> beam = box((3.0, 0.1, 0.1), mass=12.0, axis=(1, 0, 1))
    >>> round(beam.inertia[0][0], 6), round(beam.inertia[0][2], 6)
    (4.515, -4.495)
    """
    a, b, c = (_size(edge, f"box: size[{i}]") for i, edge in enumerate(vector(size, "box: size")))
    m = _mass("box", mass, density, "density", a * b * c)
    aa, bb, cc = m * a * a / 12.0, m * b * b / 12.0, m * c * c / 12.0
    own = _made("box", m, ORIGIN, _diagonal(bb + cc, aa + cc, aa + bb), Shape("box", (a, b, c)))
    return own.moved(at=vector(at, "box: at"), rotation=_edges(axis, across, same_key([b]) == same_key([c])))


@user_facing
def cylinder(
    radius: Scalar,
    length: Scalar,
    mass: Scalar | None = None,
    *,
    density: Scalar | None = None,
    axis: AxisLike = "z",
    at: VectorLike = ORIGIN,
) -> MassProperties:
    """Return the properties of a solid cylinder along `axis` with its centre at `at`.

    >>> cylinder(radius=2.0, length=3.0, mass=1.0).inertia[2][2]
    2.0
    """
    r, L = _size(radius, "cylinder: radius"), _size(length, "cylinder: length")
    m = _mass("cylinder", mass, density, "density", math.pi * r * r * L)
    n = direction(axis, "cylinder: axis")
    along, across = m * r * r / 2.0, m * (r * r / 4.0 + L * L / 12.0)
    centre = vector(at, "cylinder: at")
    drawn = Shape("cylinder", (r, L), Placement(axis_rotation(n), centre))
    return _made("cylinder", m, centre, _around(n, along, across), drawn)


@user_facing
def sphere(
    radius: Scalar,
    mass: Scalar | None = None,
    *,
    density: Scalar | None = None,
    at: VectorLike = ORIGIN,
) -> MassProperties:
    """Return the properties of a solid sphere with its centre at `at`.

    >>> sphere(radius=1.0, mass=5.0).inertia[0][0]
    2.0
    """
    r = _size(radius, "sphere: radius")
    m = _mass("sphere", mass, density, "density", 4.0 / 3.0 * math.pi * r * r * r)
    moment = 0.4 * m * r * r
    centre = vector(at, "sphere: at")
    drawn = Shape("sphere", (r,), Placement(point=centre))
    return _made("sphere", m, centre, _diagonal(moment, moment, moment), drawn)


@user_facing
def point_mass(mass: Scalar, at: VectorLike = ORIGIN) -> MassProperties:
    """Return the properties of a mass at one point.

    >>> point_mass(2.0, at=(1, 0, 0)).about((0, 0, 0))[2][2]
    2.0
    """
    point = vector(at, "point mass: at")
    return _made(
        "point mass", scalar(mass, "point mass: mass"), point, NO_INERTIA, Shape("point", (), Placement(point=point))
    )


@user_facing
def point_masses(masses: Sequence[Sequence[object]]) -> MassProperties:
    """Return the properties of several masses at points, given as pairs (mass, point).

    >>> point_masses([(1.0, (0, 0, 0)), (3.0, (4, 0, 0))]).com
    (3.0, 0.0, 0.0)
    """
    if not isinstance(masses, list | tuple):
        raise ModelError(f"point masses: give a list of pairs (mass, point), got {shown(masses)}")
    total = MassProperties()
    for i, pair in enumerate(masses):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ModelError(f"point masses: entry {i} must be a pair (mass, point), got {shown(pair)}")
        try:
            total = total + point_mass(pair[0], at=pair[1])
        except ModelError as error:
            raise ModelError(f"point masses: entry {i}: {error}") from None
    return total


def _edges(axis: AxisLike, across: AxisLike | None, square: bool) -> Rotation3:
    """Return the directions of a box's edges as columns; `square` tells whether the last two edges are equal."""
    first = direction(axis, "box: axis")
    if across is not None:
        second, third, first = transpose(
            perpendicular_frame(direction(across, "box: across"), first, "box: axis and across")
        )
        return transpose((first, second, third))
    aligned = first.count(0.0) == 2
    if not (aligned or square):
        raise ModelError(
            "box: its second and third edge differ, and the axis is not x, y or z: give across, the direction of the "
            "second edge"
        )
    x, y, z = first
    second, third, first = transpose(axis_rotation((abs(x), abs(y), abs(z)) if aligned else first))
    return transpose((first, second, third))


def _size(value: Scalar | None, what: str) -> Scalar:
    """Read a length; zero makes a disc, a plate or a point, and is fine."""
    read = scalar(value, what)
    if isinstance(read, float) and read < 0.0:
        raise ModelError(f"{what} must not be negative, got {read:g}")
    return read


def _mass(shape: str, mass: Scalar | None, density: Scalar | None, density_name: str, volume: Scalar) -> Scalar:
    """Return the mass, given itself or by a density."""
    if (mass is None) == (density is None):
        raise ModelError(f"{shape}: give either mass or {density_name}")
    if density is None:
        return _size(mass, f"{shape}: mass")
    return product(_size(density, f"{shape}: {density_name}"), volume)


def _diagonal(xx: Scalar, yy: Scalar, zz: Scalar) -> Matrix3:
    return ((xx, 0.0, 0.0), (0.0, yy, 0.0), (0.0, 0.0, zz))


def _around(n: Direction, along: Scalar, across: Scalar) -> Matrix3:
    """Return the inertia of a body of revolution: across 1 + (along - across) n n^T."""
    extra = along - across
    rows = [[product(n[i] * n[j], extra) for j in range(3)] for i in range(3)]
    for i in range(3):
        # of the parts (1 - n_i^2) across + n_i^2 along neither can be negative
        rows[i][i] = product(1.0 - n[i] * n[i], across) + product(n[i] * n[i], along)
    return cast(Matrix3, tuple(tuple(row) for row in rows))


def _made(shape: str, mass: Scalar, com: Vector3, inertia: Matrix3, drawn: Shape) -> MassProperties:
    try:
        return MassProperties(mass, com, inertia, (drawn,))
    except ModelError as error:
        raise ModelError(f"{shape}: {error}") from None
