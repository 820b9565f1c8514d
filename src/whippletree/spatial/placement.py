"""Where a frame is on a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.orientation import IDENTITY, matmul, rotation_matrix, transpose, without_rounding
from whippletree.spatial.scalars import (
    Rotation3,
    Scalar,
    Vector3,
    expressions,
    product,
    read_matrix,
    same_key,
    shown,
    vector,
)

__all__ = ["Placement"]


@user_facing
@dataclass(frozen=True, eq=False)
class Placement:
    """A frame on a body: coordinates in the placed frame become coordinates in the body's, x_body = R x + p.

    `rotation` is R, 3 x 3 plain numbers, orthonormal and right-handed; `point` is p, whose entries may be
    expressions in parameters. Both are tuples, whatever they were given as.

    >>> tip = Placement(point=(1, 0, 0))
    >>> (tip @ tip).point
    (2.0, 0.0, 0.0)
    """

    rotation: Rotation3 = IDENTITY
    point: Vector3 = (0.0, 0.0, 0.0)

    __array_ufunc__ = None  # `placement @ array` is refused instead of left to NumPy

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", rotation_matrix(self.rotation))
        object.__setattr__(self, "point", vector(self.point, "point"))

    @staticmethod
    def identity() -> Placement:
        """Return the body's own frame.

        >>> Placement.identity().point
        (0.0, 0.0, 0.0)
        """
        return Placement()

    @staticmethod
    def computed(rotation: Rotation3, point: Vector3) -> Placement:
        """Return a placement whose rotation was computed from others: only rounding is removed from it.

        >>> Placement.computed(IDENTITY, (1.0, 0.0, 0.0)) == Placement(point=(1, 0, 0))
        True
        """
        made = object.__new__(Placement)
        object.__setattr__(made, "rotation", without_rounding(rotation))
        object.__setattr__(made, "point", vector(point, "point"))
        return made

    @staticmethod
    def from_matrix(matrix: object, what: str = "pose") -> Placement:
        """Read a pose, a 4 x 4 matrix [[R, p], [0 0 0 1]].

        >>> Placement.from_matrix(np.eye(4)) == Placement.identity()
        True
        """
        rows = read_matrix(matrix, 4, what)
        if expressions(rows[3]) or not _is_last_row(cast(tuple[float, ...], rows[3])):
            raise ModelError(f"{what} must have the last row 0, 0, 0, 1, got {shown(rows[3])}")
        rotation = rotation_matrix([row[:3] for row in rows[:3]], f"the rotation in {what}")
        return Placement.computed(rotation, (rows[0][3], rows[1][3], rows[2][3]))

    def matrix(self) -> Array:
        """Return the 4 x 4 matrix of a placement in plain numbers.

        >>> Placement(point=(1, 2, 3)).matrix()[:3, 3].tolist()
        [1.0, 2.0, 3.0]
        """
        if expressions(self.point):
            raise ModelError(f"a placement with parameters has no numeric matrix: its point is {shown(self.point)}")
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation
        matrix[:3, 3] = self.point
        return matrix

    def inverse(self) -> Placement:
        """Return the body's frame as seen in the placed frame.

        >>> Placement(point=(1, 2, 3)).inverse().point
        (-1.0, -2.0, -3.0)
        """
        rotation = transpose(self.rotation)
        x, y, z = _turned(rotation, self.point)
        return Placement.computed(rotation, (-x, -y, -z))

    def __matmul__(self, inner: Placement) -> Placement:
        """Return a frame placed on the placed frame, as placed on the body."""
        if not isinstance(inner, Placement):
            return NotImplemented
        x, y, z = _turned(self.rotation, inner.point)
        px, py, pz = self.point
        return Placement.computed(matmul(self.rotation, inner.rotation), (px + x, py + y, pz + z))

    def entries(self) -> tuple[Scalar, ...]:
        """Return the twelve entries: the rotation row by row, then the point.

        >>> Placement().entries()[9:]
        (0.0, 0.0, 0.0)
        """
        first, second, third = self.rotation
        return (*first, *second, *third, *self.point)

    @staticmethod
    def of_entries(entries: tuple[Scalar, ...]) -> Placement:
        """Return the placement with these twelve entries.

        >>> Placement.of_entries(Placement().entries()) == Placement()
        True
        """
        rotation = cast(Rotation3, (entries[0:3], entries[3:6], entries[6:9]))
        return Placement(rotation, cast(Vector3, entries[9:12]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        return same_key(self.entries()) == same_key(other.entries())

    def __hash__(self) -> int:
        return hash(same_key(self.entries()))


def _is_last_row(row: tuple[float, ...]) -> bool:
    return all(abs(entry - meant) <= 1e-12 for entry, meant in zip(row, (0.0, 0.0, 0.0, 1.0), strict=True))


def _turned(rotation: Rotation3, point: Vector3) -> Vector3:
    """Return R p, in which zeros stay plain zeros."""
    if rotation == IDENTITY:
        return point
    x, y, z = (product(row[0], point[0]) + product(row[1], point[1]) + product(row[2], point[2]) for row in rotation)
    return x, y, z
