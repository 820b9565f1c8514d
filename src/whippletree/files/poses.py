"""Poses as files write them: roll, pitch and yaw, quaternions, Euler angles; all become `Placement`s."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whippletree.spatial.orientation import axis_rotation, direction, matmul
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Rotation3

__all__ = ["about_axis", "from_quaternion", "from_rpy", "from_turns", "quaternion_of", "rpy_of", "with_axis"]

ORIGIN = (0.0, 0.0, 0.0)


def from_rpy(xyz: Sequence[float] = ORIGIN, rpy: Sequence[float] = ORIGIN) -> Placement:
    """Return a pose from a point and the angles about the fixed x, y and z axes, in that order.

    >>> import math
    >>> from_rpy((1, 0, 0), (0, 0, math.pi / 2)).rotation[1]
    (1.0, 0.0, 0.0)
    """
    return Placement(from_turns("zyx", (rpy[2], rpy[1], rpy[0])), tuple(xyz))  # type: ignore[arg-type]


def from_turns(axes: str, angles: Sequence[float]) -> Rotation3:
    """Return the rotation of turns one after another about moving axes.

    >>> from_turns("x", [0.0])[0]
    (1.0, 0.0, 0.0)
    """
    R: Rotation3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    for axis, angle in zip(axes, angles, strict=True):
        R = matmul(R, _turn(axis, angle))
    return R


def _turn(axis: str, angle: float) -> Rotation3:
    c, s = _cosine_and_sine(angle)
    if axis == "x":
        return ((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c))
    if axis == "y":
        return ((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c))
    return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))


def _cosine_and_sine(angle: float) -> tuple[float, float]:
    """Return both, exact zeros and ones where the angle is a quarter of a turn but for its last digit.

    >>> _cosine_and_sine(math.pi / 2)
    (0.0, 1.0)
    """
    c, s = math.cos(angle), math.sin(angle)
    if abs(c) < _QUARTER:
        return 0.0, math.copysign(1.0, s)
    if abs(s) < _QUARTER:
        return math.copysign(1.0, c), 0.0
    return c, s


_QUARTER = 4 * np.finfo(float).eps
"""The cosine of a quarter of a turn as a double, and a few of its last digits."""


def from_quaternion(wxyz: Sequence[float], xyz: Sequence[float] = ORIGIN) -> Placement:
    """Return a pose from a quaternion of any length, its scalar first, and a point.

    >>> from_quaternion((2, 0, 0, 0), (1, 2, 3)).point
    (1.0, 2.0, 3.0)
    """
    w, x, y, z = (entry / math.hypot(*wxyz) for entry in wxyz)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return Placement(rows, tuple(xyz))  # type: ignore[arg-type]


def quaternion_of(R: Rotation3) -> tuple[float, float, float, float]:
    """Return the unit quaternion of a rotation, scalar first and not negative.

    >>> quaternion_of(((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    (1.0, 0.0, 0.0, 0.0)
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    t = a + e + i
    columns = (
        (1 + t, h - f, c - g, d - b),
        (h - f, 1 + 2 * a - t, b + d, c + g),
        (c - g, b + d, 1 + 2 * e - t, f + h),
        (d - b, c + g, f + h, 1 + 2 * i - t),
    )
    k = max(range(4), key=lambda n: columns[n][n])
    size = math.copysign(math.hypot(*columns[k]), columns[k][0] or 1.0)
    w, x, y, z = (entry / size for entry in columns[k])
    return w, x, y, z


def rpy_of(R: Rotation3) -> tuple[float, float, float]:
    """Return the angles about the fixed x, y and z axes that `from_rpy` takes.

    >>> [round(angle, 12) for angle in rpy_of(from_rpy(rpy=(0.1, 0.2, 0.3)).rotation)]
    [0.1, 0.2, 0.3]
    """
    yaw = math.atan2(R[1][0], R[0][0])
    c, s = math.cos(yaw), math.sin(yaw)
    # what is left after the yaw is taken back: near 90 degrees of pitch it tells the roll that belongs to this yaw
    ahead = c * R[0][0] + s * R[1][0]
    across = [c * R[1][k] - s * R[0][k] for k in range(3)]
    return math.atan2(-across[2], across[1]), math.atan2(-R[2][0], ahead), yaw


def with_axis(axis: Sequence[float]) -> Placement:
    """Return a frame whose z is along an axis.

    >>> with_axis((0, 0, 2)) == Placement()
    True
    """
    return Placement(axis_rotation(direction(tuple(axis))))


def about_axis(angle: float, shift: float = 0.0) -> Placement:
    """Return a turn about z and a shift along it.

    >>> about_axis(0.0, 2.0).point
    (0.0, 0.0, 2.0)
    """
    return Placement(_turn("z", angle), (0.0, 0.0, shift))
