"""Rigid shifts from a parent frame to a child frame, as products of simple factors.

A shift carries motions outward (parent to child), and forces and inertias inward (child to parent):

    motion:   V_child = phi* V_parent
    force:    f_parent = phi f_child
    inertia:  P_parent = phi P_child phi*

Kept as a product (translate, turn, turn about z, ...) each factor uses its own zeros, which is cheaper than
one 6 x 6 matrix and is how the operation count of the sweeps stays low.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import casadi as ca

from whippletree.spatial.inertia import ArticulatedInertia, RigidInertia
from whippletree.spatial.rotation import axis_angle
from whippletree.spatial.vectors import centripetal, cross, dense, is_zero, stack
from whippletree.symbolic.arithmetic import minus, plus, product

__all__ = ["Rotation", "Shift", "ShiftFactor", "Translation", "Turn"]

Inertia = TypeVar("Inertia", RigidInertia, ArticulatedInertia)


class ShiftFactor(Protocol):
    """One factor of a shift."""

    def motion(self, V: ca.SX) -> ca.SX:
        """Carry motion columns (6, k) from parent to child."""
        ...

    def force(self, f: ca.SX) -> ca.SX:
        """Carry force columns (6, k) from child to parent."""
        ...

    def inertia(self, P: Inertia) -> Inertia:
        """Carry an inertia from child to parent."""
        ...

    def carry(self, w: ca.SX, alpha: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Carry a turning rate (3) and an acceleration (6) of the parent, centripetal part included."""
        ...

    def inverse(self) -> ShiftFactor:
        """Return the factor from child to parent."""
        ...


@dataclass(frozen=True)
class Translation:
    """The child's origin is at `p` in the parent's frame.

    >>> ca.DM(Translation(ca.SX([1, 0, 0])).motion(ca.SX([0, 0, 1, 0, 0, 0])))
    DM([0, 0, 1, 0, 1, 0])
    """

    p: ca.SX

    def motion(self, V: ca.SX) -> ca.SX:
        """Return [w; v + w x p]."""
        if is_zero(self.p):
            return dense(V)
        w, v = V[0:3, :], V[3:6, :]
        return stack(w, minus(v, cross(self.p, w)))

    def force(self, f: ca.SX) -> ca.SX:
        """Return [n + p x f; f]."""
        if is_zero(self.p):
            return dense(f)
        n, f = f[0:3, :], f[3:6, :]
        return stack(plus(n, cross(self.p, f)), f)

    def inertia(self, P: Inertia) -> Inertia:
        """Move the reference point of `P` to the parent's origin."""
        return P.translated(self.p)

    def carry(self, w: ca.SX, alpha: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the acceleration of the material point at `p`."""
        turning = alpha[0:3]
        return w, stack(turning, plus(alpha[3:6], product(centripetal(w, turning), self.p)))

    def inverse(self) -> Translation:
        """Return the translation back."""
        return Translation(-self.p)


class _OtherAxes:
    """The child has other axes: `R` are these in the parent's frame, and `_back` is its transpose."""

    if TYPE_CHECKING:

        @property
        def R(self) -> ca.SX: ...

        @property
        def _back(self) -> ca.SX: ...

    @cached_property
    def _outward(self) -> ca.SX:
        return ca.diagcat(self._back, self._back)

    @cached_property
    def _inward(self) -> ca.SX:
        return ca.diagcat(self.R, self.R)

    def motion(self, V: ca.SX) -> ca.SX:
        """Express a motion in the child's axes."""
        return product(self._outward, V)

    def force(self, f: ca.SX) -> ca.SX:
        """Express a force in the parent's axes."""
        return product(self._inward, f)

    def carry(self, w: ca.SX, alpha: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Express rate and acceleration in the child's axes."""
        return product(self._back, w), self.motion(alpha)


@dataclass(frozen=True)
class Rotation(_OtherAxes):
    """The child's axes are the columns of `R` in the parent's frame.

    >>> Rotation(ca.SX.eye(3)).force(ca.SX([1, 2, 3, 4, 5, 6]))[0]
    SX(1)
    """

    R: ca.SX

    @cached_property
    def _back(self) -> ca.SX:
        return self.R.T

    def inertia(self, P: Inertia) -> Inertia:
        """Express an inertia in the parent's axes."""
        return P.rotated(self.R)

    def inverse(self) -> Rotation:
        """Return the rotation back."""
        return Rotation(self._back)


@dataclass(frozen=True)
class Turn(_OtherAxes):
    """The child is turned about the common z axis by an angle with cosine `c` and sine `s`.

    >>> ca.DM(Turn(ca.SX(0), ca.SX(1)).motion(ca.SX([0, 1, 0, 0, 0, 0])))
    DM([1, 0, 0, 0, 0, 0])
    """

    c: ca.SX
    s: ca.SX

    @cached_property
    def R(self) -> ca.SX:
        """The child's axes in the parent's frame."""
        return axis_angle(self.c, self.s)

    @cached_property
    def _back(self) -> ca.SX:
        return axis_angle(self.c, -self.s)

    def inertia(self, P: Inertia) -> Inertia:
        """Express an inertia in the parent's axes."""
        return P.turned(self.c, self.s)

    def inverse(self) -> Turn:
        """Return the turn back."""
        return Turn(self.c, -self.s)


@dataclass(frozen=True)
class Shift:
    """A product of factors, listed from the parent to the child.

    >>> Shift(()).motion(ca.SX([1, 2, 3, 4, 5, 6]))[5]
    SX(6)
    """

    factors: tuple[ShiftFactor, ...]

    @staticmethod
    def of(*factors: ShiftFactor) -> Shift:
        """Make a shift, leaving out the factors that do nothing."""
        return Shift(tuple(f for f in factors if not _idle(f)))

    def motion(self, V: ca.SX) -> ca.SX:
        """Carry motion columns outward."""
        if is_zero(V):
            return V
        for factor in self.factors:
            V = factor.motion(V)
        return V

    def force(self, f: ca.SX) -> ca.SX:
        """Carry force columns inward."""
        for factor in reversed(self.factors):
            f = factor.force(f)
        return f

    def inertia(self, P: Inertia) -> Inertia:
        """Carry an inertia inward."""
        for factor in reversed(self.factors):
            P = factor.inertia(P)
        return P

    def carry(self, w: ca.SX, alpha: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Carry a turning rate and an acceleration outward, centripetal part included."""
        if is_zero(w) and is_zero(alpha):
            return w, alpha
        for factor in self.factors:
            w, alpha = factor.carry(w, alpha)
        return w, alpha

    def rotation(self) -> ca.SX:
        """Return the child's axes in the parent's frame (3, 3)."""
        return self._rotation

    def position(self) -> ca.SX:
        """Return the child's origin in the parent's frame (3)."""
        return self._position

    @cached_property
    def _rotation(self) -> ca.SX:
        R = dense(ca.SX.eye(3))
        for factor in reversed(self.factors):
            if isinstance(factor, Rotation | Turn):
                R = product(factor.R, R)
        return R

    @cached_property
    def _position(self) -> ca.SX:
        R, p = dense(ca.SX.eye(3)), ca.SX.zeros(3)
        for factor in self.factors:
            if isinstance(factor, Translation):
                p = plus(p, product(R, factor.p))
            elif isinstance(factor, Rotation | Turn):
                R = product(R, factor.R)
        return p

    def inverse(self) -> Shift:
        """Return the shift from the child to the parent."""
        return Shift(tuple(f.inverse() for f in reversed(self.factors)))


_EYE = dense(ca.SX.eye(3))


def _idle(factor: ShiftFactor) -> bool:
    """Tell whether a factor is known to do nothing."""
    if isinstance(factor, Translation):
        return is_zero(factor.p)
    if isinstance(factor, Rotation):
        return bool(ca.is_equal(factor.R, _EYE, 1))
    return False
