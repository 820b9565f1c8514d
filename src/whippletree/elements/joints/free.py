"""Free joint: any rotation and any displacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from whippletree.elements.joints.base import Joint
from whippletree.elements.joints.spherical import Spherical, quaternion_rates, random_quaternion, with_coordinates
from whippletree.foundation.arrays import Array
from whippletree.spatial import (
    Rotation,
    Shift,
    Translation,
    cross,
    displacement_series,
    exponential_series,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    rotation_of_quaternion,
    screw_displacement,
    screw_velocity,
    twist_cross,
)

__all__ = ["Free"]


@dataclass(frozen=True)
class Free(Joint):
    """No hold: the child moves every way; a unit quaternion and a position in parent axes.

    Velocities are [angular; linear] in child axes. With `coordinates="euler"` or `"bryant"` there are three angles, as
    for `spherical`, and a position; velocities are the rates of these six.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.free("flight", m.ground, m.body("satellite")).name
    'flight'
    """

    kind: ClassVar[str] = "free"
    n_configuration: ClassVar[int] = 12
    position_labels: ClassVar[tuple[str, ...]] = (*Spherical.position_labels, *(f"position {c}" for c in "xyz"))
    velocity_labels: ClassVar[tuple[str, ...]] = (*Spherical.velocity_labels, *(f"velocity along {c}" for c in "xyz"))
    quaternion: ClassVar[bool] = True
    along_child: ClassVar[bool] = True
    n_axes: ClassVar[int] = 0
    holds: ClassVar[tuple[str, ...] | None] = ()

    @classmethod
    def given(cls, *, coordinates: str = "quaternion") -> Joint:
        """Return the joint with such coordinates."""
        return with_coordinates(cls, coordinates)

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the rotation matrix, column by column, and the position."""
        return ca.vertcat(ca.vec(rotation_of_quaternion(q[0:4])), q[4:7])

    def shift(self, x: ca.SX) -> Shift:
        """Translate, then rotate."""
        return Shift((Translation(x[9:12]), Rotation(ca.reshape(x[0:9], 3, 3))))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the identity."""
        return ca.densify(ca.SX.eye(6))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the acceleration that comes from measuring the velocity in turning axes."""
        return ca.vertcat(ca.SX.zeros(3), cross(v[0:3], v[3:6]))

    def rate_map(self, q: ca.SX) -> ca.SX:
        """Return quaternion rates, and the velocity turned into parent axes."""
        zero = ca.SX.zeros
        R = rotation_of_quaternion(q[0:4])
        return ca.densify(ca.blockcat([[quaternion_rates(q), zero(4, 3)], [zero(3, 3), R]]))

    def integrate(self, q: ca.SX, dq: ca.SX) -> ca.SX:
        """Follow a constant twist in child axes for a unit of time: a screw motion."""
        turned = quaternion_product(q[0:4], quaternion_exp(dq[0:3]))
        way = screw_displacement(dq[0:3], dq[3:6])
        return ca.vertcat(turned, q[4:7] + rotation_of_quaternion(q[0:4]) @ way)

    def difference(self, q0: ca.SX, q1: ca.SX) -> ca.SX:
        """Return the constant twist in child axes that leads from `q0` to `q1` in a unit of time."""
        back = ca.vertcat(q0[0], -q0[1:4])
        turn = quaternion_log(quaternion_product(back, q1[0:4]))
        way = rotation_of_quaternion(q0[0:4]).T @ (q1[4:7] - q0[4:7])
        return ca.vertcat(turn, screw_velocity(turn, way))

    def displacement_rate(self, u: ca.SX, v: ca.SX) -> ca.SX:
        """Return the rate of the screw displacement for the velocity `v`."""
        return displacement_series(u, v, twist_cross)

    def displacement_map(self, u: ca.SX) -> ca.SX:
        """Return the series of the exponential map's derivative."""
        return exponential_series(u, twist_cross)

    def neutral(self) -> Array:
        """Return the identity at the origin."""
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> Array:
        """Return a rotation drawn uniformly and a position within a metre in each direction."""
        return np.concatenate([random_quaternion(rng), rng.uniform(-1.0, 1.0, 3)])
