"""Rotations by three angles in a row: Euler's (z, x, z) and Bryant's (x, y, z), and where they lock.

The child is turned about its first axis, then about the second as turned so far, then about the third. With R1, R2, R3
these turns, the child's axes are R1 R2 R3, and its turning rate in its own axes is

    w = R3^T R2^T e1 a' + R3^T e2 b' + e3 c'                                                              (1)

for the angles a, b, c. Velocities are their rates. Where the first and the third axis fall together (*gimbal lock*) the
map in (1) loses a direction: the rates are not determined by w. Euler's angles lock at b = 0, where the joint frames
coincide, and at half a turn; Bryant's at b = a quarter turn to either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.joints.base import Joint
from whippletree.foundation.arrays import Array
from whippletree.spatial import Rotation, Turn

__all__ = [
    "BRYANT",
    "EULER",
    "AngleSequence",
    "ThreeAngles",
    "angle_labels",
    "angle_map",
    "angle_map_rate",
    "rate_labels",
    "turns",
]


class AngleSequence(NamedTuple):
    """Three axes, the names of the three angles, and where in the second angle's range they do not lock."""

    axes: tuple[int, int, int]
    names: tuple[str, str, str]
    free: Callable[[Any], Any]  # sine or cosine of the second angle: zero where the others lock
    regular: tuple[float, float]  # from which to which the second angle is drawn at random
    locked_at: str
    word: str  # what `coordinates=` is called


EULER = AngleSequence((2, 0, 2), ("precession", "nutation", "spin"), ca.sin, (0.4, 2.7), "0 or half a turn", "euler")
BRYANT = AngleSequence(
    (0, 1, 2), ("turn about x", "turn about y", "turn about z"), ca.cos, (-1.2, 1.2), "a quarter turn", "bryant"
)


def _about(axis: int, c: ca.SX, s: ca.SX) -> Rotation | Turn:
    """Return a turn about a coordinate axis."""
    if axis == 2:
        return Turn(c, s)
    one = ca.SX(1)
    return Rotation(
        ca.blockcat([[one, 0, 0], [0, c, -s], [0, s, c]] if axis == 0 else [[c, 0, s], [0, one, 0], [-s, 0, c]])
    )


def turns(sequence: AngleSequence, x: ca.SX) -> tuple[Rotation | Turn, Rotation | Turn, Rotation | Turn]:
    """Return the three turns for cosines and sines x (6).

    >>> turns(BRYANT, ca.SX([1, 0, 1, 0, 0, 1]))[2].R[1, 0]
    SX(1)
    """
    first, second, third = (_about(axis, x[2 * i], x[2 * i + 1]) for i, axis in enumerate(sequence.axes))
    return first, second, third


def _unit(axis: int) -> ca.SX:
    return ca.densify(ca.SX([float(i == axis) for i in range(3)]))


def angle_map(sequence: AngleSequence, x: ca.SX) -> ca.SX:
    """Return the map (3, 3) from the angles' rates to the turning rate in the child's axes (1).

    >>> ca.DM(angle_map(EULER, ca.SX([1, 0, 0, 1, 1, 0])))[:, 0]
    DM([0, 1, 0])
    """
    first, second, third = (_unit(axis) for axis in sequence.axes)
    _, R2, R3 = turns(sequence, x)
    back = R3.R.T
    return ca.densify(ca.horzcat(back @ (R2.R.T @ first), back @ second, third))


def angle_map_rate(sequence: AngleSequence, x: ca.SX, v: ca.SX) -> ca.SX:
    """Return the turning acceleration from the change of the map itself, for rates v (3).

    Each column is an axis that does not move in the frame before it, so it moves in the child's axes with less the
    turns that follow: h' = -w' x h, w' being the rate of these turns in the child's axes.
    """
    H = angle_map(sequence, x)
    after = H[:, 1] * v[1] + H[:, 2] * v[2]
    return ca.cross(H[:, 0], after) * v[0] + ca.cross(H[:, 1], H[:, 2]) * v[1] * v[2]


class ThreeAngles(Joint):
    """The base of joints by three angles: the angles come first, velocities are rates of the coordinates.

    >>> from whippletree.elements.joints import SphericalBryant
    >>> SphericalBryant().from_lock([0.0, 0.0, 0.0]), SphericalBryant().from_lock([0.0, math.pi / 2, 0.0]) < 1e-15
    (1.0, True)
    """

    sequence: ClassVar[AngleSequence]
    like: ClassVar[str]  # the word of the joint that moves as it does and has a quaternion
    locks: ClassVar[bool] = True

    def sines(self, q: ca.SX) -> ca.SX:
        """Return cosines and sines of the angles (6)."""
        return ca.vertcat(*(f(q[i]) for i in range(3) for f in (ca.cos, ca.sin)))

    def from_lock(self, q: Any) -> Any:
        """Return how far the angles are from gimbal lock: sine or cosine of the second."""
        return self.sequence.free(q[1])

    def lock_in_words(self, q: Any) -> str:
        """Say which angle locks."""
        name = self.sequence.names[1]
        return f"its angle of {name} is {math.degrees(float(q[1])):.6g} degrees; it locks at {self.sequence.locked_at}"

    def random(self, rng: np.random.Generator) -> Array:
        """Return random coordinates, the angles well away from gimbal lock."""
        q = super().random(rng)
        low, high = self.sequence.regular
        q[1] = low + (high - low) * (q[1] / math.pi + 1) / 2
        return q


def angle_labels(sequence: AngleSequence) -> tuple[str, ...]:
    """Return the labels of the three angles."""
    return tuple(f"angle of {name}" for name in sequence.names)


def rate_labels(sequence: AngleSequence) -> tuple[str, ...]:
    """Return the labels of their rates."""
    return tuple(f"angular velocity of {name}" for name in sequence.names)
