"""Points or spheres of a body that touch a plane of the ground: a ball, the ends of a capsule, the corners of a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures.base import Side
from whippletree.elements.declaration import ANY, part, quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula
from whippletree.elements.forces.smooth import Stop, rubbed, stopped
from whippletree.spatial.scalars import Scalar, Vector3
from whippletree.spatial.vectors import cross, stack

__all__ = ["Contact"]


@dataclass(frozen=True, eq=False)
class Contact(Force):
    """Pushes spheres on its first side out of the plane normal . x = height.

    Their centres are `points` in the axes of that side, three numbers each; with none, there is one sphere around its
    origin. `normal` is a unit vector in ground axes, in plain numbers. The normal force N grows with the depth, takes
    hold over `width`, and never pulls (see `smooth`). Friction acts at the lowest point of the sphere against the
    velocity u that it has along the plane: -friction N u / sqrt(|u|^2 + speed^2).

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
    points: tuple[Scalar, ...] = quantity((), unit="m", size=ANY)

    @property
    def timed(self) -> bool:
        """Whether the ground moves with time."""
        return self.height.timed

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the height."""
        return (SeenFormula(self.height, seen.beyond(1, 0), ca.SX(0, 1)),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the wrench on the body, the sum over the spheres."""
        ground = seen.beyond(1, 0)
        height, rise = self.height.value(ground), self.height.rate(ground)
        wrench, stored, dissipated, supplied = ca.SX.zeros(6), ca.SX(0), ca.SX(0), ca.SX(0)
        for centre in self._centres(seen.sides[0]):
            stop, push = self._sphere(seen.sides[0], centre, height, rise)
            wrench, stored, dissipated = wrench + push.wrench, stored + stop.stored, dissipated + stop.dissipated
            dissipated, supplied = dissipated + push.rubbed, supplied + stop.force * rise
        wrenches = (wrench, *(ca.SX.zeros(6) for _ in ground.sides))
        return ElementForces(wrenches, ca.SX.zeros(seen.q.shape[0]), stored, dissipated, supplied)

    def _centres(self, side: Side) -> list[ca.SX]:
        """Return the centres of the spheres, from the origin of the side, in ground axes."""
        triples = [self.points[i : i + 3] for i in range(0, len(self.points), 3)]
        return [side.R @ ca.SX(ca.vertcat(*point)) for point in triples] or [ca.SX.zeros(3)]

    def _sphere(self, side: Side, centre: ca.SX, height: ca.SX, rise: ca.SX) -> tuple[Stop, _Push]:
        """Return what a sphere's spring and damper do, and what acts on the side."""
        n = ca.SX(ca.vertcat(*self.normal))
        depth = height + self.radius - ca.dot(n, side.p + centre)
        sinking = rise - ca.dot(n, side.u + cross(side.w, centre))
        stop = stopped(depth, sinking, self.stiffness, self.damping, self.width)
        arm = centre - self.radius * n
        rubbing = rubbed(stop.force, n, side.u + cross(side.w, arm), self.friction, self.speed)
        force = stop.force * n + rubbing.force
        return stop, _Push(stack(cross(centre, stop.force * n) + cross(arm, rubbing.force), force), rubbing.dissipated)


class _Push(NamedTuple):
    """What acts on a side at a sphere: the wrench at the side's origin, and what friction takes out per second."""

    wrench: ca.SX
    rubbed: ca.SX
