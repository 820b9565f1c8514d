"""Orientations in plain numbers: axes as people name them, and the right-handed frames around them.

Rotations are tuples of rows. Coordinate axes give signed permutations, exactly, so that the zeros survive
into the equations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations, product
from typing import TypeAlias, cast

from whippletree.errors import ModelError
from whippletree.spatial.scalars import Rotation3, VectorLike, expressions, read_matrix, shown, vector

__all__ = [
    "IDENTITY",
    "AxisLike",
    "Direction",
    "axis_rotation",
    "direction",
    "matmul",
    "perpendicular_frame",
    "rotation_between",
    "rotation_matrix",
    "transpose",
    "without_rounding",
]

AxisLike: TypeAlias = str | VectorLike
Direction: TypeAlias = tuple[float, float, float]

IDENTITY: Rotation3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ROUNDING = 2.3e-16  # an entry this close to 0 or 1 is meant to be just that
TOLERANCE = 1e-6  # what single precision leaves of a rotation; beyond it the numbers are wrong
_POLISHED = 2e-15
"""Error of R^T R below which nothing but rounding is left."""

_X, _Y, _Z = IDENTITY
_NAMED: dict[str, Direction] = {
    "x": _X,
    "y": _Y,
    "z": _Z,
    "+x": _X,
    "+y": _Y,
    "+z": _Z,
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}


def direction(axis: object, what: str = "axis") -> Direction:
    """Return the unit vector of an axis: a name such as "x" or "-z", or three numbers of any length.

    >>> direction("-y"), direction((0, 0, 5))
    ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0))
    """
    if isinstance(axis, str):
        if axis not in _NAMED:
            raise ModelError(f'{what} must be "x", "y", "z", "-x", "-y", "-z" or 3 numbers, got {shown(axis)}')
        return _NAMED[axis]
    read = vector(axis, what)
    if expressions(read):
        raise ModelError(
            f"{what} must be plain numbers, but it holds a parameter: axes are fixed when the mechanism is "
            "described. Parameters can go into at, mass, com, inertia, lead and gravity"
        )
    return _unit(cast(Direction, read), what)


def axis_rotation(axis: Direction) -> Rotation3:
    """Return a right-handed frame whose z is the unit vector `axis`, with as many zeros as there can be.

    The frame of "x" has the columns (y, z, x), that of "y" (z, x, y), that of "z" is the identity.

    >>> axis_rotation((1.0, 0.0, 0.0))
    ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    """
    x = _perpendicular(axis)
    return transpose((x, cross(axis, x), axis))


def perpendicular_frame(x: Direction, z: Direction, what: str) -> Rotation3:
    """Return the frame with these x and z; they must be perpendicular.

    >>> perpendicular_frame((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), "axes") == IDENTITY
    True
    """
    slant = _dot(x, z)
    if abs(slant) > TOLERANCE:
        angle = math.degrees(math.acos(max(-1.0, min(1.0, slant))))
        raise ModelError(f"{what} must be perpendicular, but are {angle:.6g} degrees apart")
    z = _unit((z[0] - slant * x[0], z[1] - slant * x[1], z[2] - slant * x[2]), what)
    return transpose((x, cross(z, x), z))


def rotation_between(a: Direction, b: Direction) -> Rotation3:
    """Return the smallest rotation that takes the unit vector `a` to `b`.

    With k the axis of rotation, c and s the cosine and sine of the angle, it is c 1 + s skew(k) + (1 - c) k
    k^T. For opposite vectors it is half a turn about the x of `axis_rotation(a)`.

    >>> rotation_between((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    v = cross(a, b)
    c, s = _dot(a, b), math.hypot(*v)
    if s < ROUNDING:
        if c > 0.0:
            return IDENTITY
        k = _perpendicular(a)
    else:
        k = _normal_to(a, (v[0] / s, v[1] / s, v[2] / s))
    size = math.hypot(c, s)
    return _rodrigues(k, c / size, s / size)


def rotation_matrix(value: object, what: str = "rotation") -> Rotation3:
    """Read a rotation: 3 x 3 numbers, orthonormal and right-handed. Rounding in the last digits is removed.

    >>> rotation_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    rows = read_matrix(value, 3, what)
    if any(expressions(row) for row in rows):
        raise ModelError(f"{what} must be plain numbers, but it holds a parameter")
    return without_rounding(cast(Rotation3, rows), what)


def without_rounding(rotation: Rotation3, what: str = "rotation") -> Rotation3:
    """Return a rotation of plain numbers that is orthonormal to the last digit; one that is far from it is refused.

    >>> without_rounding(((1.0, 1e-17, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))) == IDENTITY
    True
    """
    aligned = _ALIGNED.get(rotation)
    return aligned if aligned is not None else _polished(rotation, what)


def matmul(a: Rotation3, b: Rotation3) -> Rotation3:
    """Return the product of two rotations.

    >>> matmul(IDENTITY, IDENTITY) == IDENTITY
    True
    """
    (p, q, r), (x, y, z) = a, transpose(b)
    return (
        (_dot(p, x), _dot(p, y), _dot(p, z)),
        (_dot(q, x), _dot(q, y), _dot(q, z)),
        (_dot(r, x), _dot(r, y), _dot(r, z)),
    )


def transpose(a: Rotation3) -> Rotation3:
    """Return the transposed matrix, which is the opposite rotation.

    >>> transpose(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    (a00, a01, a02), (a10, a11, a12), (a20, a21, a22) = a
    return ((a00, a10, a20), (a01, a11, a21), (a02, a12, a22))


def cross(a: Direction, b: Direction) -> Direction:
    """Return the cross product.

    >>> cross((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    (0.0, 0.0, 1.0)
    """
    # adding zero turns -0.0 into 0.0
    return (
        a[1] * b[2] - a[2] * b[1] + 0.0,
        a[2] * b[0] - a[0] * b[2] + 0.0,
        a[0] * b[1] - a[1] * b[0] + 0.0,
    )


def _dot(a: Direction, b: Direction) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _square(rows: list[list[float]]) -> Rotation3:
    return cast(Rotation3, tuple(tuple(row) for row in rows))


def _unit(v: Direction, what: str) -> Direction:
    """Scale to length one. Dividing by the largest entry first keeps huge and tiny vectors in range."""
    largest = max(abs(v[0]), abs(v[1]), abs(v[2]))
    if largest == 0.0:
        raise ModelError(f"{what} must not be zero: give a direction such as (0, 0, 1)")
    x, y, z = v[0] / largest, v[1] / largest, v[2] / largest
    length = math.hypot(x, y, z)
    return _snapped(x / length), _snapped(y / length), _snapped(z / length)


def _snapped(entry: float) -> float:
    """Take away rounding about 0, 1 and -1."""
    if abs(entry) < ROUNDING:
        return 0.0
    if abs(abs(entry) - 1.0) < ROUNDING:
        return math.copysign(1.0, entry)
    return entry


def _perpendicular(axis: Direction) -> Direction:
    """Return a unit vector perpendicular to `axis`: a coordinate axis if one is, else one with a zero."""
    named = _FIRST_COLUMN.get(axis)
    if named is not None:
        return named
    k = min(range(3), key=lambda i: abs(axis[i]))
    if axis[k] == 0.0:
        return IDENTITY[k]
    i, j = (k + 1) % 3, (k + 2) % 3
    length = math.hypot(axis[i], axis[j])
    entries = [0.0, 0.0, 0.0]
    entries[i], entries[j] = -axis[j] / length, axis[i] / length
    return entries[0], entries[1], entries[2]


def _normal_to(a: Direction, k: Direction) -> Direction:
    """Make `k` exactly perpendicular to `a`: the cross product of nearly opposite vectors is not."""
    along = _dot(k, a)
    return _unit((k[0] - along * a[0], k[1] - along * a[1], k[2] - along * a[2]), "axis")


def _rodrigues(k: Direction, c: float, s: float) -> Rotation3:
    """Return the rotation about the unit vector `k` with cosine `c` and sine `s`."""
    x, y, z = k
    d = 1.0 - c
    return (
        (c + d * x * x, d * x * y - s * z, d * x * z + s * y),
        (d * x * y + s * z, c + d * y * y, d * y * z - s * x),
        (d * x * z - s * y, d * y * z + s * x, c + d * z * z),
    )


@lru_cache(maxsize=256)  # a joint has the same rotation on both sides more often than not
def _polished(given: Rotation3, what: str) -> Rotation3:
    """Return the nearest rotation, if there is one near. R (3 - R^T R) / 2 squares the error each time."""
    error, gram = _error_of(given)
    if not error <= TOLERANCE:
        raise ModelError(
            f"{what} must be orthonormal (columns of length 1, perpendicular to each other), "
            f"got {shown([list(row) for row in given])}"
        )
    if _dot(given[0], cross(given[1], given[2])) < 0.0:
        raise ModelError(f"{what} must be right-handed, but it mirrors: change the sign of one column")
    rotation = given
    for _ in range(4):
        if error <= _POLISHED:
            break
        step = [[((3.0 if i == j else 0.0) - gram[i][j]) / 2.0 for j in range(3)] for i in range(3)]
        rotation = matmul(rotation, _square(step))
        error, gram = _error_of(rotation)
    return _square([[_snapped(entry) for entry in row] for row in rotation])


def _error_of(rotation: Rotation3) -> tuple[float, Rotation3]:
    """Return the largest entry of R^T R - 1, and R^T R; infinite when the numbers overflow."""
    gram = matmul(transpose(rotation), rotation)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = gram
    errors = (xx - 1.0, yy - 1.0, zz - 1.0, xy, xz, yz)
    # not empty: there are six numbers
    return (max(map(abs, errors)) if all(map(math.isfinite, errors)) else math.inf), gram


def _aligned() -> dict[Rotation3, Rotation3]:
    """Return the 24 signed permutations that are rotations, by themselves."""
    found: dict[Rotation3, Rotation3] = {}
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            rows = _square([[signs[i] if order[i] == j else 0.0 for j in range(3)] for i in range(3)])
            if _dot(rows[0], cross(rows[1], rows[2])) > 0.0:
                found[rows] = rows
    return found


_ALIGNED = _aligned()
# For -x, -y, -z the first two columns change places: (z, y, -x), (x, z, -y), (y, x, -z).
_FIRST_COLUMN: dict[Direction, Direction] = {
    _X: _Y,
    _Y: _Z,
    _Z: _X,
    _NAMED["-x"]: _Z,
    _NAMED["-y"]: _X,
    _NAMED["-z"]: _Y,
}
