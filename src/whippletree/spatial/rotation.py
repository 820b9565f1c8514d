"""Rotations: about an axis, and as unit quaternions (w, x, y, z) of child in parent."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import casadi as ca

__all__ = [
    "RotationVectorTerms",
    "axis_angle",
    "displacement_series",
    "exponential_series",
    "quaternion_exp",
    "quaternion_log",
    "quaternion_product",
    "rotation_of_quaternion",
    "rotation_vector_terms",
    "screw_displacement",
    "screw_velocity",
    "twist_cross",
]

_NEAR = 0.25
"""Squares of angles below this are answered by series, which are then exact to rounding."""


_TERMS = 10
"""Terms of the series of a rotation vector: with them, a quarter turn is exact to rounding."""


def axis_angle(c: ca.SX, s: ca.SX) -> ca.SX:
    """Return the rotation about z with cosine `c` and sine `s`.

    >>> axis_angle(ca.SX(1), ca.SX(0)).shape
    (3, 3)
    """
    R = ca.SX.zeros(3, 3)
    R[0], R[1], R[3], R[4], R[8] = c, s, -s, c, 1.0  # column by column
    return R


def rotation_of_quaternion(e: ca.SX) -> ca.SX:
    """Return the rotation matrix of a unit quaternion (w, x, y, z).

    >>> rotation_of_quaternion(ca.SX([1, 0, 0, 0]))[0, 0]
    SX(1)
    """
    w, x, y, z = e[0], e[1], e[2], e[3]
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return ca.blockcat(
        [
            [1 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1 - (xx + yy)],
        ]
    )


def quaternion_product(a: ca.SX, b: ca.SX) -> ca.SX:
    """Return the quaternion of the rotation `a` followed, in the turned frame, by `b`.

    >>> ca.DM(quaternion_product(ca.SX([1, 0, 0, 0]), ca.SX([0, 1, 0, 0])))
    DM([0, 1, 0, 0])
    """
    w = a[0] * b[0] - ca.dot(a[1:4], b[1:4])
    return ca.vertcat(w, a[0] * b[1:4] + b[0] * a[1:4] + ca.cross(a[1:4], b[1:4]))


def quaternion_exp(w: ca.SX) -> ca.SX:
    """Return the unit quaternion of the rotation vector `w`, exact also at and near zero.

    >>> ca.DM(quaternion_exp(ca.SX([0, 0, 0])))
    DM([1, 0, 0, 0])
    """
    square = ca.dot(w, w)
    small = square < 1e-8
    angle = ca.sqrt(ca.if_else(small, 1.0, square))
    series = 0.5 - square / 48
    scale = ca.if_else(small, series, ca.sin(angle / 2) / angle)
    cosine = ca.if_else(small, 1 - square / 8 + square * square / 384, ca.cos(angle / 2))
    return ca.vertcat(cosine, scale * w)


def quaternion_log(e: ca.SX) -> ca.SX:
    """Return the shortest rotation vector of a unit quaternion: the inverse of `quaternion_exp`.

    >>> ca.DM(quaternion_log(ca.SX([1, 0, 0, 0])))
    DM([0, 0, 0])
    """
    sign = ca.if_else(e[0] < 0, -1.0, 1.0)
    w, u = sign * e[0], sign * e[1:4]
    square = ca.dot(u, u)
    small = square < 1e-8
    length = ca.sqrt(ca.if_else(small, 1.0, square))
    # 2 asin(l) / l = 2 + l^2 / 3 + ..., and atan2 keeps its accuracy near half a turn.
    factor = ca.if_else(small, 2 + square / 3, 2 * ca.atan2(length, w) / length)
    return factor * u


class RotationVectorTerms(NamedTuple):
    """The rotation R = exp(a~) of a rotation vector a, and T = dR R^T: with a', it turns by T a' (axes before R).

    In the axes after R that is T^T a'.
    """

    vector: ca.SX
    rotation: ca.SX
    tangent: ca.SX
    slopes: tuple[ca.SX, ca.SX, ca.SX]

    def bias(self, rate: ca.SX) -> ca.SX:
        """Return T' a', the angular acceleration at zero a'', in the axes before R, for a rate a'."""
        a, (second, d_second, d_third) = self.vector, self.slopes
        across = ca.cross(a, rate)
        growing = 2 * ca.dot(a, rate)
        return growing * (d_second * across + d_third * ca.cross(a, across)) + second * ca.cross(rate, across)


def rotation_vector_terms(a: ca.SX) -> RotationVectorTerms:
    """Return the rotation matrix of a rotation vector and the map of its rate, both smooth everywhere.

    With s = a . a and the entire functions c_k(s) = 1 / k! - s / (k + 2)! + s^2 / (k + 4)! - ... (Stumpff's),

        R = 1 + c_1 a~ + c_2 a~^2,     T = 1 + c_2 a~ + c_3 a~^2,     2 dc_k/ds = k c_(k+2) - c_(k+1)

    c_4 and c_5 are polynomials, cut off where that leaves less than rounding for rotations up to a quarter turn, and
    the others follow from c_k = 1 / k! - s c_(k+2): nothing is divided by and nothing branches.

    >>> ca.DM(rotation_vector_terms(ca.SX([0, 0, 0])).rotation)[0, :]
    DM([[1, 0, 0]])
    """
    s = ca.dot(a, a)
    fourth, fifth = (_series(-s, tuple(factorial(k + 2 * j) for j in range(_TERMS))) for k in (4, 5))
    second, third = 1 / 2 - s * fourth, 1 / 6 - s * fifth
    first = 1 - s * third
    cross, square = ca.skew(a), a @ a.T - s * ca.SX.eye(3)
    R, T = (ca.SX.eye(3) + c * cross + d * square for c, d in ((first, second), (second, third)))
    slopes = (third, (2 * fourth - third) / 2, (3 * fifth - fourth) / 2)
    return RotationVectorTerms(a, ca.densify(R), ca.densify(T), slopes)


def screw_displacement(w: ca.SX, u: ca.SX) -> ca.SX:
    """Return how far a body gets that turns by `w` and advances by `u`, both in its own axes, in its first axes.

    u + (1 - cos t) / t^2 w x u + (t - sin t) / t^3 w x (w x u), with t the length of w.

    >>> screw_displacement(ca.SX([0, 0, 0]), ca.SX([1, 2, 3]))
    SX([1, 2, 3])
    """
    square = ca.dot(w, w)
    near = square < _NEAR
    angle = ca.sqrt(ca.if_else(near, 1.0, square))
    half = ca.sin(angle / 2) / angle
    first = ca.if_else(near, _series(square, (2, -24, 720, -40320, 3628800, -479001600)), 2 * half * half)
    series = _series(square, (6, -120, 5040, -362880, 39916800, -6227020800))
    second = ca.if_else(near, series, (angle - ca.sin(angle)) / (angle * angle * angle))
    across = ca.cross(w, u)
    return u + first * across + second * ca.cross(w, across)


def screw_velocity(w: ca.SX, d: ca.SX) -> ca.SX:
    """Return the advance `u` with which `screw_displacement(w, u)` is `d`, for turns of less than a full one.

    d - w x d / 2 + (1 - t / 2 cot(t / 2)) / t^2 w x (w x d).

    >>> screw_velocity(ca.SX([0, 0, 0]), ca.SX([1, 2, 3]))
    SX([1, 2, 3])
    """
    square = ca.dot(w, w)
    near = square < _NEAR
    angle = ca.sqrt(ca.if_else(near, 1.0, square))
    half = angle / 2
    series = _series(square, (12, 720, 30240, 1209600, 47900160, 1307674368000 / 691, 74724249600))
    factor = ca.if_else(near, series, (1 - half * ca.cos(half) / ca.sin(half)) / (angle * angle))
    across = ca.cross(w, d)
    return d - across / 2 + factor * ca.cross(w, across)


def _series(x: ca.SX, divisors: tuple[float, ...]) -> ca.SX:
    """Return the sum of x^k / divisors[k]."""
    value = ca.SX(1 / divisors[-1])
    for divisor in reversed(divisors[:-1]):
        value = value * x + 1 / divisor
    return value


_SERIES = ((2, 1 / 12), (4, -1 / 720), (6, 1 / 30240), (8, -1 / 1209600), (10, 1 / 47900160))


def displacement_series(u: ca.SX, v: ca.SX, bracket: Callable[[ca.SX, ca.SX], ca.SX]) -> ca.SX:
    """Return u' such that exp(u) moves with the velocity `v` in its own axes: v + [u, v] / 2 + [u, [u, v]] / 12 - ...

    The series (with Bernoulli's numbers) is cut off after the tenth bracket, which is exact to rounding for
    displacements up to about half a radian: as much as a step of an integrator takes.

    >>> from whippletree.spatial.vectors import cross
    >>> ca.DM(displacement_series(ca.SX([0, 0, 0.1]), ca.SX([0, 0, 2.0]), cross))
    DM([0, 0, 2])
    """
    term = bracket(u, v)
    total = v + 0.5 * term
    order = 1
    for power, factor in _SERIES:
        while order < power:
            term = bracket(u, term)
            order += 1
        total = total + factor * term
    return total


def exponential_series(u: ca.SX, bracket: Callable[[ca.SX, ca.SX], ca.SX]) -> ca.SX:
    """Return the matrix that gives exp(u)'s velocity in its own axes from u': 1 - [u, .] / 2 + [u, [u, .]] / 6 - ...

    It is the inverse of `displacement_series`. The series is cut off where that leaves less than rounding for
    displacements up to half a radian, and less than 1e-9 up to two.

    >>> from whippletree.spatial.vectors import cross
    >>> ca.DM(exponential_series(ca.SX([0, 0, 0.1]), cross))[:, 2]
    DM([0, 0, 1])
    """
    term = ca.SX.eye(u.shape[0])
    total = term
    for k in range(1, 17):
        term = ca.horzcat(*(bracket(u, column) for column in ca.horzsplit(term))) / -(k + 1)
        total = total + term
    return ca.densify(total)


def twist_cross(u: ca.SX, v: ca.SX) -> ca.SX:
    """Return the bracket of two twists [angular; linear].

    >>> ca.DM(twist_cross(ca.SX([0, 0, 1, 0, 0, 0]), ca.SX([0, 0, 0, 1, 0, 0])))
    DM([0, 0, 0, 0, 1, 0])
    """
    w, p = u[0:3], u[3:6]
    return ca.densify(ca.vertcat(ca.cross(w, v[0:3]), ca.cross(w, v[3:6]) + ca.cross(p, v[0:3])))
