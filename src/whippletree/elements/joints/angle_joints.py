"""Spherical and free joints by three angles, Euler's or Bryant's, whose velocities are the angles' rates.

They are for those who want coordinates with a meaning of their own. The free joints have a position besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.angles import (
    BRYANT,
    EULER,
    AngleSequence,
    ThreeAngles,
    angle_labels,
    angle_map,
    angle_map_rate,
    rate_labels,
    turns,
)
from whippletree.spatial import Shift, Translation, stack

__all__ = ["FreeBryant", "FreeEuler", "SphericalBryant", "SphericalEuler"]

_POSITIONS = tuple(f"position {c}" for c in "xyz")
_VELOCITIES = tuple(f"velocity along {c} of the parent" for c in "xyz")


class _SphericalAngles(ThreeAngles):
    """A ball by three angles."""

    like: ClassVar[str] = "spherical"
    n_configuration: ClassVar[int] = 6
    n_axes: ClassVar[int] = 0
    holds: ClassVar[tuple[str, ...] | None] = ("point",)

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return cosines and sines."""
        return self.sines(q)

    def shift(self, x: ca.SX) -> Shift:
        """Turn three times."""
        return Shift(turns(self.sequence, x))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the three axes as the child sees them."""
        return stack(angle_map(self.sequence, x), ca.SX.zeros(3, 3))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the acceleration from the turning of the joint's axes."""
        return stack(angle_map_rate(self.sequence, x, v), ca.SX.zeros(3))


@dataclass(frozen=True)
class SphericalEuler(_SphericalAngles):
    """Precession about z, nutation about x as turned, spin about z as turned: Euler's angles.

    They lock where nutation is zero, that is, where the joint frames coincide: begin elsewhere.

    >>> SphericalEuler().joint_map(SphericalEuler().configuration(ca.SX([0, 1, 0]))).shape
    (6, 3)
    """

    kind: ClassVar[str] = "spherical_euler"
    sequence: ClassVar[AngleSequence] = EULER
    position_labels: ClassVar[tuple[str, ...]] = angle_labels(EULER)
    velocity_labels: ClassVar[tuple[str, ...]] = rate_labels(EULER)


@dataclass(frozen=True)
class SphericalBryant(_SphericalAngles):
    """Turns about x, then y as turned, then z as turned: Bryant's angles, also called Cardan's.

    They lock where the second is a quarter turn.

    >>> SphericalBryant().neutral()
    array([0., 0., 0.])
    """

    kind: ClassVar[str] = "spherical_bryant"
    sequence: ClassVar[AngleSequence] = BRYANT
    position_labels: ClassVar[tuple[str, ...]] = angle_labels(BRYANT)
    velocity_labels: ClassVar[tuple[str, ...]] = rate_labels(BRYANT)


class _FreeAngles(ThreeAngles):
    """A floating base by three angles and a position in parent axes."""

    like: ClassVar[str] = "free"
    n_configuration: ClassVar[int] = 9
    n_axes: ClassVar[int] = 0
    holds: ClassVar[tuple[str, ...] | None] = ()

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return cosines and sines, and the position."""
        return ca.vertcat(self.sines(q), q[3:6])

    def shift(self, x: ca.SX) -> Shift:
        """Translate, then turn three times."""
        return Shift((Translation(x[6:9]), *turns(self.sequence, x)))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the three axes, and those of the parent, as the child sees them."""
        first, second, third = turns(self.sequence, x)
        back = (first.R @ second.R @ third.R).T
        zero = ca.SX.zeros(3, 3)
        return ca.densify(ca.blockcat([[angle_map(self.sequence, x), zero], [zero, back]]))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the acceleration from the turning of the joint's axes; the parent's axes do not turn."""
        return stack(angle_map_rate(self.sequence, x, v), ca.SX.zeros(3))


@dataclass(frozen=True)
class FreeEuler(_FreeAngles):
    """Euler's angles (see `SphericalEuler`) and a position in parent axes.

    >>> FreeEuler().nv
    6
    """

    kind: ClassVar[str] = "free_euler"
    sequence: ClassVar[AngleSequence] = EULER
    position_labels: ClassVar[tuple[str, ...]] = (*angle_labels(EULER), *_POSITIONS)
    velocity_labels: ClassVar[tuple[str, ...]] = (*rate_labels(EULER), *_VELOCITIES)


@dataclass(frozen=True)
class FreeBryant(_FreeAngles):
    """Bryant's angles (see `SphericalBryant`) and a position in parent axes.

    >>> FreeBryant().neutral()
    array([0., 0., 0., 0., 0., 0.])
    """

    kind: ClassVar[str] = "free_bryant"
    sequence: ClassVar[AngleSequence] = BRYANT
    position_labels: ClassVar[tuple[str, ...]] = (*angle_labels(BRYANT), *_POSITIONS)
    velocity_labels: ClassVar[tuple[str, ...]] = (*rate_labels(BRYANT), *_VELOCITIES)
