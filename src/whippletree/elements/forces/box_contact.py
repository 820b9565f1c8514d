"""A sphere or the two ends of a capsule on one body that touch a box on another.

For a centre at q in the axes of the box, whose half sizes are h, let b be the point of the box nearest to q. Then

    D = |q - b|                         outside, in the direction n = (q - b) / D
    D = max_i (|q_i| - h_i) < 0         inside, in the direction of the nearest face                      (1)

is the distance from the surface; it depends on q alone, so that the normal force along n, on the line through the
centre, does just the work that the depth r - D takes. As long as a centre has not come into the box, the force is
continuous; inside it changes its direction where another face becomes the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.element_tolerances import COINCIDENT_POINTS
from whippletree.elements.forces.base import ElementForces, ElementState, Force
from whippletree.elements.forces.capsule_contact import Sliding, between, refuse_no_direction, unit
from whippletree.elements.forces.smooth import stopped
from whippletree.spatial.scalars import Scalar, Vector3
from whippletree.spatial.vectors import cross

__all__ = ["BoxContact", "from_box"]


@dataclass(frozen=True, eq=False)
class BoxContact(Force):
    """Pushes a sphere, or both ends of a capsule, on its first side out of a box on the second.

    The capsule has its middle at the origin of its side and lies along its `axis`; without `length` it is a sphere. The
    box has its middle at the origin of the second side, and its edges, of the lengths `size`, along the axes there. Its
    edges do not touch the capsule between its ends. Normal force and friction are as those of `CapsuleContact`.

    >>> BoxContact(1e5, 0.1, (1.0, 1.0, 0.2)).length
    0.0
    """

    word: ClassVar[str] = "box_contact"
    n_sides: ClassVar[int] = 2

    stiffness: Scalar = quantity(unit="N/m", sign="not negative")
    radius: Scalar = quantity(unit="m", sign="not negative")
    size: Vector3 = quantity(unit="m", sign="positive", size=3)
    length: Scalar = quantity(0.0, unit="m", sign="not negative")
    axis: Vector3 = quantity((0.0, 0.0, 1.0), size=3)
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")
    friction: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, unit="m/s", sign="positive")
    width: Scalar = quantity(1e-3, unit="m", sign="positive")

    def __post_init__(self) -> None:
        refuse_no_direction(self, ("axis",))

    def act(self, seen: ElementState) -> ElementForces:
        """Return the two wrenches, what is stored and what is dissipated: sums over the ends."""
        half = (self.length / 2) * (seen.sides[0].R @ unit(self.axis))
        single = isinstance(self.length, float) and self.length == 0.0
        ends = [self._end(seen, arm) for arm in ([ca.SX.zeros(3)] if single else [half, -half])]
        first, *others = ends
        for end in others:
            wrenches = tuple(a + b for a, b in zip(first.wrenches, end.wrenches, strict=True))
            stored, lost = first.stored + end.stored, first.dissipated + end.dissipated
            first = ElementForces(wrenches, first.efforts, stored, lost, first.supplied)
        return first

    def _end(self, seen: ElementState, arm: ca.SX) -> ElementForces:
        """Return what a sphere does whose centre is at `arm` from the origin of the first side."""
        ball, box = seen.sides
        centre = ball.p + arm
        D, along = from_box(box.R.T @ (centre - box.p), self.size)
        n = box.R @ along
        leaving = ca.dot(n, ball.u + cross(ball.w, arm) - box.u - cross(box.w, centre - box.p))
        stop = stopped(self.radius - D, -leaving, self.stiffness, self.damping, self.width)
        sliding = Sliding(centre - self.radius * n, -n, stop.force, self.friction, self.speed)
        wrenches, lost = between(ball, box, centre, -stop.force * n, sliding)
        return ElementForces(wrenches, ca.SX(0, 1), stop.stored, stop.dissipated + lost, ca.SX(0))


def from_box(q: ca.SX, size: Vector3) -> tuple[ca.SX, ca.SX]:
    """Return the distance (1) of a point from the surface of a box, negative inside, and its direction.

    >>> D, n = from_box(ca.SX([3.0, 0.2, 0.0]), (2.0, 2.0, 2.0))
    >>> float(D), ca.DM(n)
    (2.0, DM([1, 0, 0]))
    >>> float(from_box(ca.SX([0.9, 0.2, 0.0]), (2.0, 2.0, 2.0))[0])
    -0.09999999999999998
    """
    h = ca.SX(ca.vertcat(*size)) / 2
    beyond = ca.fabs(q) - h
    over = ca.fmax(beyond, 0)
    outside = ca.sqrt(ca.sumsqr(over) + COINCIDENT_POINTS**2)
    nearest_face = ca.fmax(ca.fmax(beyond[0], beyond[1]), beyond[2])
    first = beyond[0] >= nearest_face
    second = ca.logic_and(ca.logic_not(first), beyond[1] >= nearest_face)
    third = ca.logic_not(ca.logic_or(first, second))
    inside, sign = nearest_face < 0, ca.if_else(q >= 0, 1, -1)
    face = ca.vertcat(first, second, third)
    return ca.if_else(inside, nearest_face, outside), ca.if_else(inside, face, over / outside) * sign
