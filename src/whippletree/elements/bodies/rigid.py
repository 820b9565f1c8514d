"""Mass, centre of mass and inertia of a rigid body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from whippletree.elements.bodies.appearance import Shape
from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array, Mask
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.orientation import IDENTITY, rotation_matrix
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import (
    Matrix3,
    Rotation3,
    Scalar,
    Vector3,
    VectorLike,
    expressions,
    product,
    read_matrix_or_diagonal,
    same_key,
    scalar,
    vector,
)

__all__ = ["MassProperties", "can_be"]

ORIGIN: Vector3 = (0.0, 0.0, 0.0)
NO_INERTIA: Matrix3 = (ORIGIN, ORIGIN, ORIGIN)
TOLERANCE = 1e-9  # relative, of symmetry and of the triangle inequality
LARGEST = 1e305  # mass, and mass times the square of a distance


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass, centre of mass in the body's frame, and inertia about the centre of mass in the body's axes.

    Entries are numbers or expressions in a mechanism's parameters. The inertia is the matrix, so its
    off-diagonal entries are minus the integrals of x y, x z, y z; three numbers are its diagonal. Numbers are
    checked here; expressions are checked at the parameters' values when the mechanism takes them.

    `shapes` is what pictures show, and has no part in anything else: two properties are equal if their numbers are.

    >>> two = MassProperties(1.0, (1, 0, 0)) + MassProperties(1.0, (-1, 0, 0))
    >>> two.mass, two.com, two.inertia[2][2]
    (2.0, (0.0, 0.0, 0.0), 2.0)
    """

    mass: Scalar = 0.0
    com: Vector3 = ORIGIN
    inertia: Matrix3 = NO_INERTIA
    shapes: tuple[Shape, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        inertia = _read_inertia(self.inertia)
        if not any(expressions(row) for row in inertia):
            _check_realisable(cast(Rotation3, inertia))
        self._set(self.mass, self.com, inertia, self.shapes)

    def _set(self, mass: Scalar, com: VectorLike, inertia: Matrix3, shapes: Sequence[Shape]) -> None:
        """Set everything, with all but the inertia yet to be read and checked."""
        read, centre = scalar(mass, "mass"), vector(com, "com")
        if isinstance(read, float) and read < 0.0:
            raise ModelError(f"mass must not be negative, got {read:g}")
        _check_size(read, centre)
        object.__setattr__(self, "mass", read)
        object.__setattr__(self, "com", centre)
        object.__setattr__(self, "inertia", inertia)
        object.__setattr__(self, "shapes", _shapes(shapes))

    @staticmethod
    def as_given(
        mass: Scalar = 0.0, com: VectorLike = ORIGIN, inertia: VectorLike = NO_INERTIA, shapes: tuple[Shape, ...] = ()
    ) -> MassProperties:
        """Return properties whose inertia need not be one that a body can have, as model files hold at times.

        It must be symmetric all the same.

        >>> MassProperties.as_given(1.0, inertia=(0, 0, 2)).inertia[2][2]
        2.0
        """
        found = object.__new__(MassProperties)
        found._set(mass, com, _read_inertia(inertia), shapes)
        return found

    def __add__(self, other: MassProperties) -> MassProperties:
        """Return the properties of both together.

        With d between the centres of mass, I = I1 + I2 + m1 m2 / (m1 + m2) (d.d 1 - d d^T).
        """
        if not isinstance(other, MassProperties):
            return NotImplemented
        shapes = (*self.shapes, *other.shapes)
        if _is_zero(self.mass):
            return MassProperties.as_given(other.mass, other.com, _sum(self.inertia, other.inertia), shapes)
        if _is_zero(other.mass):
            return MassProperties.as_given(self.mass, self.com, _sum(self.inertia, other.inertia), shapes)
        mass = self.mass + other.mass
        share = other.mass / mass
        d = _difference(other.com, self.com)
        com = cast(Vector3, tuple(c + product(share, x) for c, x in zip(self.com, d, strict=True)))
        inertia = _sum(_sum(self.inertia, other.inertia), _parallel(product(self.mass, share), d))
        return MassProperties.as_given(mass, com, inertia, shapes)

    def __radd__(self, other: object) -> MassProperties:
        """Let `sum` begin with its zero."""
        return self if type(other) is int and other == 0 else NotImplemented

    def moved(self, *, at: VectorLike = (0.0, 0.0, 0.0), rotation: VectorLike = IDENTITY) -> MassProperties:
        """Return the properties of the same thing mounted elsewhere: its frame at `at`, turned by `rotation`.

        >>> quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
        >>> MassProperties(1.0, (1, 0, 0)).moved(at=(0, 2, 0), rotation=quarter).com
        (0.0, 3.0, 0.0)
        """
        R, point = rotation_matrix(rotation), vector(at, "at")
        if R == IDENTITY and not expressions(point) and point == ORIGIN:
            return self
        x, y, z = (_weighted(row, self.com) for row in R)
        onto = Placement.computed(R, point)
        px, py, pz = onto.point
        shapes = tuple(shape.moved(onto) for shape in self.shapes)
        return MassProperties.as_given(self.mass, (px + x, py + y, pz + z), _turned(R, self.inertia), shapes)

    def drawn_as(self, shapes: tuple[Shape, ...]) -> MassProperties:
        """Return the same properties with other shapes in pictures.

        >>> MassProperties(1.0).drawn_as(()).shapes
        ()
        """
        return MassProperties.as_given(self.mass, self.com, self.inertia, shapes)

    @property
    def possible(self) -> bool:
        """Whether a body can have this inertia; expressions are not looked into.

        >>> MassProperties(1.0).possible, MassProperties.as_given(1.0, inertia=(0, 0, 2)).possible
        (True, False)
        """
        try:
            MassProperties(self.mass, self.com, self.inertia)
        except ModelError:
            return False
        return True

    def about(self, point: VectorLike) -> Matrix3:
        """Return the inertia about a point of the body's frame, in the body's axes.

        >>> MassProperties(2.0, (3, 0, 0)).about((0, 0, 0))[1][1]
        18.0
        """
        d = _difference(self.com, vector(point, "point"))
        return _sum(self.inertia, _parallel(self.mass, d))

    def entries(self) -> tuple[Scalar, ...]:
        """Return the thirteen entries: mass, centre of mass, inertia row by row.

        >>> MassProperties(2.0).entries()[:4]
        (2.0, 0.0, 0.0, 0.0)
        """
        first, second, third = self.inertia
        return (self.mass, *self.com, *first, *second, *third)

    @staticmethod
    def of_entries(entries: tuple[Scalar, ...]) -> MassProperties:
        """Return the properties with these thirteen entries, as they were given: see `as_given`.

        >>> MassProperties.of_entries(MassProperties(2.0).entries()) == MassProperties(2.0)
        True
        """
        if len(entries) != 13:
            raise ModelError(f"mass properties have thirteen entries, not {len(entries)}")
        inertia = cast(Matrix3, (entries[4:7], entries[7:10], entries[10:13]))
        return MassProperties.as_given(entries[0], cast(Vector3, entries[1:4]), inertia)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MassProperties):
            return NotImplemented
        return same_key(self.entries()) == same_key(other.entries())

    def __hash__(self) -> int:
        return hash(same_key(self.entries()))


def _shapes(given: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return shapes as a tuple."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, Shape) for one in given):
        raise ModelError("shapes must be a list of Shape")
    return tuple(given)


def _is_zero(value: Scalar) -> bool:
    return isinstance(value, float) and value == 0.0


def _difference(a: Vector3, b: Vector3) -> Vector3:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _weighted(weights: tuple[Scalar, ...], entries: tuple[Scalar, ...]) -> Scalar:
    """Return the scalar product, in which zeros stay plain zeros."""
    total: Scalar = 0.0
    for weight, entry in zip(weights, entries, strict=True):
        total = total + product(weight, entry)
    return total


def _sum(a: Matrix3, b: Matrix3) -> Matrix3:
    return _matrix([[x + y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)])


def _matrix(rows: list[list[Scalar]]) -> Matrix3:
    return cast(Matrix3, tuple(tuple(row) for row in rows))


def _parallel(mass: Scalar, d: Vector3) -> Matrix3:
    """Return the inertia of a point mass at `d` about the origin: m (d.d 1 - d d^T)."""
    x, y, z = d
    mx, my, mz = product(mass, x), product(mass, y), product(mass, z)
    xx, yy, zz = product(mx, x), product(my, y), product(mz, z)
    xy, xz, yz = -product(mx, y), -product(mx, z), -product(my, z)
    return ((yy + zz, xy, xz), (xy, xx + zz, yz), (xz, yz, xx + yy))


def _turned(R: Rotation3, inertia: Matrix3) -> Matrix3:
    """Return R I R^T, each off-diagonal entry computed once."""
    if R == IDENTITY:
        return inertia
    columns = tuple(zip(*inertia, strict=True))
    half = [tuple(_weighted(row, column) for column in columns) for row in R]
    xx, xy, xz = (_weighted(half[0], R[j]) for j in range(3))
    yy, yz = (_weighted(half[1], R[j]) for j in (1, 2))
    zz = _weighted(half[2], R[2])
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def _read_inertia(given: VectorLike) -> Matrix3:
    """Read an inertia, the matrix or its diagonal; numbers are made exactly symmetric."""
    inertia = cast(Matrix3, read_matrix_or_diagonal(given, 3, "inertia"))
    return inertia if any(expressions(row) for row in inertia) else _symmetric(cast(Rotation3, inertia))


def _check_realisable(inertia: Rotation3) -> None:
    """Refuse a numeric inertia that no body can have."""
    largest = max(abs(entry) for row in inertia for entry in row)  # not empty: there are nine entries
    if largest > 0.0 and not _has_mass_behind(inertia, largest):
        _check_moments(_principal_moments(inertia, largest))


def _symmetric(inertia: Rotation3) -> Rotation3:
    """Return a numeric inertia, exactly symmetric, if it is so but for rounding."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = inertia
    largest = max(map(abs, (xx, xy, xz, yx, yy, yz, zx, zy, zz)))
    if largest == 0.0:
        return inertia
    if max(abs(xy - yx), abs(xz - zx), abs(yz - zy)) > TOLERANCE * largest:
        raise ModelError(f"inertia must be symmetric, got {[list(row) for row in inertia]}")
    xy, xz, yz = xy + (yx - xy) / 2.0, xz + (zx - xz) / 2.0, yz + (zy - yz) / 2.0
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def _check_size(mass: Scalar, com: Vector3) -> None:
    """Refuse numbers that would overflow when they are moved and added up."""
    far = max((abs(x) for x in com if isinstance(x, float)), default=0.0)
    if isinstance(mass, float) and not max(mass, mass * far * far) < LARGEST:
        raise ModelError(f"mass = {mass:g} at a distance of {far:g} is too large to compute with: choose other units")


def _has_mass_behind(inertia: Rotation3, largest: float) -> bool:
    """Tell whether trace(I) / 2 1 - I, the integrals of mass times x x, x y, ..., has no negative eigenvalue.

    That is the triangle inequality. With the tolerance added, the pivots of an elimination must be positive.
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
    xx, yy, zz, xy, xz, yz = (
        xx / largest,
        yy / largest,
        zz / largest,
        xy / largest,
        xz / largest,
        yz / largest,
    )
    a, b, c = (yy + zz - xx + TOLERANCE) / 2, (xx + zz - yy + TOLERANCE) / 2, (xx + yy - zz + TOLERANCE) / 2
    if a <= 0.0:
        return False
    b, c, d = b - xy * xy / a, c - xz * xz / a, yz + xy * xz / a
    return b > 0.0 and c - d * d / b > 0.0


def can_be(inertias: Array) -> Mask:
    """Tell of each of many inertias (..., 3, 3) whether a body can have it; the test is that of `_has_mass_behind`.

    >>> can_be(np.array([np.diag([1.0, 1.0, 1.0]), np.diag([5.0, 1.0, 1.0])])).tolist()
    [True, False]
    """
    largest = np.abs(inertias).max(axis=(-2, -1))
    I = inertias / np.where(largest > 0, largest, 1.0)[..., None, None]
    xx, yy, zz, xy, xz, yz = (I[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    a, b, c = (yy + zz - xx + TOLERANCE) / 2, (xx + zz - yy + TOLERANCE) / 2, (xx + yy - zz + TOLERANCE) / 2
    first = np.where(a > 0, a, 1.0)
    b, c, d = b - xy * xy / first, c - xz * xz / first, yz + xy * xz / first
    return np.asarray((a > 0) & (b > 0) & (c - d * d / np.where(b > 0, b, 1.0) > 0))


def _principal_moments(inertia: Rotation3, largest: float) -> list[float]:
    """Return the eigenvalues in rising order, of a matrix scaled so that nothing overflows."""
    scaled = [[entry / largest for entry in row] for row in inertia]
    return [float(moment) * largest for moment in np.linalg.eigvalsh(scaled)]


def _check_moments(moments: list[float]) -> None:
    """Check that principal moments a <= b <= c belong to a body: none negative, and c <= a + b."""
    a, b, c = moments
    slack = TOLERANCE * max(abs(a), abs(c))
    text = f"{a:.6g}, {b:.6g}, {c:.6g}"
    if a < -slack:
        raise ModelError(
            f"inertia has a negative principal moment ({text}): no body has one. Give it about the centre "
            "of mass, with the signs of the matrix: its entries off the diagonal are -sum m x y and so on"
        )
    if c - b - a > slack:
        raise ModelError(
            f"inertia breaks the triangle inequality: of its principal moments {text} the largest exceeds "
            "the sum of the other two, which no body can have. Give it about the centre of mass, in kg m^2"
        )
