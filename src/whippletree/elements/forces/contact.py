"""A point or a sphere of a body that touches a plane of the ground."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.elements.declaration import part, quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula
from whippletree.elements.forces.smooth import stopped
from whippletree.spatial.scalars import Scalar, Vector3
from whippletree.spatial.vectors import cross, stack

__all__ = ["Contact"]


@dataclass(frozen=True, eq=False)
class Contact(Force):
    """Pushes a sphere around the origin of its first side out of the plane normal . x = height.

    `normal` is a unit vector in ground axes, in plain numbers. The normal force N grows with the depth, takes hold
    over `width`, and never pulls (see `smooth`). Friction acts at the lowest point of the sphere against the velocity
    u that it has along the plane: -friction N u / sqrt(|u|^2 + speed^2).

    The height is a formula of positions and time: a ground that moves does work, and so does a profile, whose force
    keeps the direction of `normal`.

    >>> none = ca.SX(0, 1)
    >>> flat = Formula.written(ca.SX(0), ElementState((), none, none, none, ca.SX.sym("t")), none, ())
    >>> Contact(flat, (0.0, 0.0, 1.0), 0.3, 1e5, 100.0, 0.8, 0.01, 1e-3).timed
    False
    """

    height: Formula = part(Formula)
    normal: Vector3 = quantity(size=3)
    radius: Scalar = quantity(unit="m", sign="not negative")
    stiffness: Scalar = quantity(unit="N/m", sign="not negative")
    damping: Scalar = quantity(unit="N s/m", sign="not negative")
    friction: Scalar = quantity(sign="not negative")
    speed: Scalar = quantity(unit="m/s", sign="positive")
    width: Scalar = quantity(unit="m", sign="positive")

    @property
    def timed(self) -> bool:
        """Whether the ground moves with time."""
        return self.height.timed

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the height."""
        return (SeenFormula(self.height, seen.beyond(1, 0), ca.SX(0, 1)),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the wrench on the body at the sphere's centre."""
        side, ground = seen.sides[0], seen.beyond(1, 0)
        n = ca.SX(ca.vertcat(*self.normal))
        rise = self.height.rate(ground)
        depth = self.height.value(ground) + self.radius - ca.dot(n, side.p)
        stop = stopped(depth, rise - ca.dot(n, side.u), self.stiffness, self.damping, self.width)
        arm = -self.radius * n
        u = side.u + cross(side.w, arm)
        slip = u - n * ca.dot(n, u)
        drag = self.friction * stop.force / ca.sqrt(ca.sumsqr(slip) + self.speed**2)
        along = -drag * slip
        wrench = stack(cross(arm, along), stop.force * n + along)
        wrenches = (wrench, *(ca.SX.zeros(6) for _ in ground.sides))
        dissipated = stop.dissipated + drag * ca.sumsqr(slip)
        return ElementForces(wrenches, ca.SX.zeros(seen.q.shape[0]), stop.stored, dissipated, stop.force * rise)
