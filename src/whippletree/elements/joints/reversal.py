"""A joint walked from its described child to its described parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.joints.base import Joint
from whippletree.foundation.arrays import Array
from whippletree.spatial import Shift, cross, stack
from whippletree.spatial.scalars import Scalar

__all__ = ["Reversed"]


@dataclass(frozen=True)
class Reversed(Joint):
    """The same joint seen from the other side: coordinates and velocities keep their described meaning.

    With R and r = R^T p the described child's axes and origin (in child axes), w and v its relative velocity,
    and dw and a its relative acceleration, the described parent moves relative to the child, in parent axes,
    with

        w' = -R w,     v' = R (-v + w x r),
        dw' = -R dw,   a' = R (-a + dw x r + 2 w x v - w x (w x r)).

    >>> from whippletree.elements.joints import Revolute
    >>> Reversed(Revolute()).joint_map(ca.SX([1, 0]))[2]
    SX(-1)
    """

    joint: Joint

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The described joint's kind."""
        return self.joint.kind

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.joint.nq

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of velocities."""
        return self.joint.nv

    @property
    def n_configuration(self) -> int:  # type: ignore[override]
        """Size of the configuration."""
        return self.joint.n_configuration

    def constants(self) -> tuple[Scalar, ...]:
        """Return the described joint's own numbers."""
        return self.joint.constants()

    def with_constants(self, values: Sequence[Scalar]) -> Self:
        """Return the reversal of the described joint with other numbers."""
        return type(self)(self.joint.with_constants(values))

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the described joint's configuration."""
        return self.joint.configuration(q)

    def shift(self, x: ca.SX) -> Shift:
        """Return the shift from the described child to the described parent."""
        return self.joint.shift(x).inverse()

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the map to the described parent's twist relative to the child."""
        H, R, r = self._described(x)
        return stack(-(R @ H[0:3, :]), R @ (-H[3:6, :] - cross(r, H[0:3, :])))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the described parent's acceleration relative to the child at zero joint accelerations."""
        H, R, r = self._described(x)
        bias, twist = self.joint.joint_bias(x, v), H @ v
        w, u, dw, a = twist[0:3], twist[3:6], bias[0:3], bias[3:6]
        return stack(-(R @ dw), R @ (-a + cross(dw, r) + 2 * cross(w, u) - cross(w, cross(w, r))))

    def _described(self, x: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the described joint map, the child's axes, and its origin in child axes."""
        shift = self.joint.shift(x)
        R = shift.rotation()
        return self.joint.joint_map(x), R, R.T @ shift.position()

    def rate_map(self, q: ca.SX) -> ca.SX:
        """Return the described joint's rate map."""
        return self.joint.rate_map(q)

    def integrate(self, q: ca.SX, dq: ca.SX) -> ca.SX:
        """Integrate as described."""
        return self.joint.integrate(q, dq)

    def difference(self, q0: ca.SX, q1: ca.SX) -> ca.SX:
        """Take the difference as described."""
        return self.joint.difference(q0, q1)

    def displacement_rate(self, u: ca.SX, v: ca.SX) -> ca.SX:
        """Return the described joint's rate."""
        return self.joint.displacement_rate(u, v)

    def displacement_map(self, u: ca.SX) -> ca.SX:
        """Return the described joint's map."""
        return self.joint.displacement_map(u)

    @property
    def locks(self) -> bool:  # type: ignore[override]
        """Whether the described joint locks somewhere."""
        return self.joint.locks

    def from_lock(self, q: ArrayLike) -> Any:
        """Return how far the described joint is from that."""
        return self.joint.from_lock(q)

    def neutral(self) -> Array:
        """Return the described neutral coordinates."""
        return self.joint.neutral()

    def random(self, rng: np.random.Generator) -> Array:
        """Return the described joint's random coordinates."""
        return self.joint.random(rng)
