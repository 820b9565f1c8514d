"""Spherical joint: any rotation, as a unit quaternion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from whippletree.elements.joints.base import Joint
from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.foundation.late_imports import imported
from whippletree.spatial import (
    Rotation,
    Shift,
    cross,
    displacement_series,
    exponential_series,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    rotation_of_quaternion,
)
from whippletree.spatial.scalars import shown

__all__ = ["Spherical", "quaternion_rates", "random_quaternion", "with_coordinates"]

_BY = {"quaternion": "", "euler": "Euler", "bryant": "Bryant"}


def quaternion_rates(e: ca.SX) -> ca.SX:
    """Return the (4, 3) map from angular velocity in child axes to quaternion rates.

    >>> quaternion_rates(ca.SX([1, 0, 0, 0]))[1, 0]
    SX(0.5)
    """
    w, x, y, z = e[0], e[1], e[2], e[3]
    return 0.5 * ca.blockcat([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def random_quaternion(rng: np.random.Generator) -> Array:
    """Return a unit quaternion drawn uniformly over all rotations.

    >>> float(np.linalg.norm(random_quaternion(np.random.default_rng(0)))).__round__(12)
    1.0
    """
    e = rng.normal(size=4)
    return np.asarray(e / np.linalg.norm(e))


def with_coordinates(usual: type[Joint], coordinates: str) -> Joint:
    """Return the joint that moves like the usual one and has such coordinates.

    >>> with_coordinates(Spherical, "euler").nq
    3
    """
    if not isinstance(coordinates, str) or coordinates not in _BY:
        known = ", ".join(f'"{name}"' for name in _BY)
        raise ModelError(f"coordinates must be one of {known}, got {shown(coordinates)}")
    if coordinates == "quaternion":
        return usual()
    found: Joint = imported("whippletree.elements.joints", usual.__name__ + _BY[coordinates])()
    return found


@dataclass(frozen=True)
class Spherical(Joint):
    """A ball: the child turns every way about a point; a unit quaternion (w, x, y, z) of child in parent.

    Velocities are the angular velocity in child axes. With `coordinates="euler"` or `"bryant"` there are three angles
    instead, and velocities are their rates: about z, x, z or x, y, z, each axis as turned by those before. They lock
    where the first axis and the third fall together: Euler's where the joint frames coincide, Bryant's after a quarter
    turn about y.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.spherical("ball", m.ground, m.body("arm")).name
    'ball'
    >>> m.spherical("gimbals", m.ground, m.body("rotor"), coordinates="bryant").name
    'gimbals'
    """

    kind: ClassVar[str] = "spherical"
    n_configuration: ClassVar[int] = 9
    position_labels: ClassVar[tuple[str, ...]] = tuple(f"quaternion {c}" for c in "wxyz")
    velocity_labels: ClassVar[tuple[str, ...]] = tuple(f"angular velocity about {c}" for c in "xyz")
    quaternion: ClassVar[bool] = True
    along_child: ClassVar[bool] = True
    n_axes: ClassVar[int] = 0
    holds: ClassVar[tuple[str, ...] | None] = ("point",)

    @classmethod
    def given(cls, *, coordinates: str = "quaternion") -> Joint:
        """Return the joint with such coordinates."""
        return with_coordinates(cls, coordinates)

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the rotation matrix, column by column."""
        return ca.vec(rotation_of_quaternion(q))

    def shift(self, x: ca.SX) -> Shift:
        """Rotate."""
        return Shift((Rotation(ca.reshape(x, 3, 3)),))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the three rotations."""
        return ca.densify(ca.vertcat(ca.SX.eye(3), ca.SX.zeros(3, 3)))

    def rate_map(self, q: ca.SX) -> ca.SX:
        """Return the quaternion rates."""
        return quaternion_rates(q)

    def integrate(self, q: ca.SX, dq: ca.SX) -> ca.SX:
        """Follow the rotation vector `dq` from `q`."""
        return quaternion_product(q, quaternion_exp(dq))

    def difference(self, q0: ca.SX, q1: ca.SX) -> ca.SX:
        """Return the shortest rotation vector from `q0` to `q1`."""
        back = ca.vertcat(q0[0], -q0[1:4])
        return quaternion_log(quaternion_product(back, q1))

    def displacement_rate(self, u: ca.SX, v: ca.SX) -> ca.SX:
        """Return the rate of the rotation vector for the angular velocity `v`."""
        return displacement_series(u, v, cross)

    def displacement_map(self, u: ca.SX) -> ca.SX:
        """Return the series of the exponential map's derivative."""
        return exponential_series(u, cross)

    def neutral(self) -> Array:
        """Return the identity."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> Array:
        """Return a rotation drawn uniformly."""
        return random_quaternion(rng)
