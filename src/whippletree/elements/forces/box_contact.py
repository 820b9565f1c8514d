"""A sphere or a capsule on one body that touches a box on another.

For a point at q in the axes of the box, whose half sizes are h, let o_i = max(|q_i| - h_i, 0), with the sign of q_i, be
the way from the box to the point. The points of a capsule's line are q(s) = c + s a, and as for two capsules

    D^2 = min over s of |o|^2 + e s^2                                                          (1)

is the squared distance, a small number e keeping the nearest point from jumping where the line is parallel to a face.
Its derivative is monotone in s and made of straight pieces, with corners where q(s) passes |q_i| = h_i: the minimum is
between two of these, and is found without a search. D changes with the motion as if s were held, D' = n . q' with
n = o / D: the normal force along n, on the line through the nearest point, does just the work that the depth r - D
takes. Where the line itself has come into the box, D is less by the distance to the nearest face, which is where n then
points; the nearest point of a capsule is held there, and the balance of energy is not exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from whippletree.elements.declaration import quantity, unit_axis
from whippletree.elements.element_tolerances import COINCIDENT_POINTS, PARALLEL_CAPSULES
from whippletree.elements.forces.base import ElementForces, ElementState, Force
from whippletree.elements.forces.capsule_contact import Sliding, between, unit, within
from whippletree.elements.forces.smooth import stopped
from whippletree.spatial.orientation import Direction
from whippletree.spatial.scalars import Scalar, Vector3
from whippletree.spatial.vectors import cross

__all__ = ["BoxContact", "from_box", "nearest_to_box"]


@dataclass(frozen=True, eq=False)
class BoxContact(Force):
    """Pushes a sphere or a capsule on its first side out of a box on the second.

    The capsule has its middle at the origin of its side and lies along its `axis`; without `length` it is a sphere. The
    box has its middle at the origin of the second side, and its edges, of the lengths `size`, along the axes there.
    Normal force and friction are as those of `CapsuleContact`.

    >>> BoxContact(1e5, 0.1, (1.0, 1.0, 0.2)).length
    0.0
    """

    word: ClassVar[str] = "contact_between"
    n_sides: ClassVar[int] = 2
    has_method: ClassVar[bool] = False

    stiffness: Scalar = quantity(unit="N/m", sign="not negative")
    radius: Scalar = quantity(unit="m", sign="not negative")
    size: Vector3 = quantity(unit="m", sign="positive", size=3)
    length: Scalar = quantity(0.0, unit="m", sign="not negative")
    axis: Direction = unit_axis()
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")
    friction: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, unit="m/s", sign="positive")
    width: Scalar = quantity(1e-3, unit="m", sign="positive")

    def told(self) -> dict[str, Any]:
        """Return the numbers before the axis, and the size as that of the child."""
        own = super().told()
        last = {"axis": own.pop("axis"), "size_child": own.pop("size")}
        return own | last

    def act(self, seen: ElementState) -> ElementForces:
        """Return the two wrenches, the stored energy and the dissipated power."""
        near, box = seen.sides
        a = near.R @ unit(self.axis)
        s = nearest_to_box(box.R.T @ (near.p - box.p), box.R.T @ a, self.length / 2, self.size)
        arm = s * a
        point = near.p + arm
        D, along = from_box(box.R.T @ (point - box.p), self.size, s)
        n = box.R @ along
        leaving = ca.dot(n, near.u + cross(near.w, arm) - box.u - cross(box.w, point - box.p))
        stop = stopped(self.radius - D, -leaving, self.stiffness, self.damping, self.width)
        across = n / ca.sqrt(ca.sumsqr(n) + COINCIDENT_POINTS**2)
        sliding = Sliding(point - self.radius * across, -across, stop.force, self.friction, self.speed)
        wrenches, lost = between(near, box, point, -stop.force * n, sliding)
        return ElementForces(wrenches, ca.SX(0, 1), stop.stored, stop.dissipated + lost, ca.SX(0))


def nearest_to_box(c: ca.SX, a: ca.SX, half: Scalar, size: Vector3) -> ca.SX:
    """Return s of (1), at most `half` in size, for a line through c along the unit vector a.

    >>> x, z = ca.SX([1, 0, 0]), ca.SX([0, 0, 3])
    >>> [round(float(nearest_to_box(z + ca.SX([offset, 0, 0]), x, 2.0, (2.0, 2.0, 2.0))), 3) for offset in (0, 2.5)]
    [0.0, -1.5]
    """
    if isinstance(half, float) and half == 0.0:
        return ca.SX(0)
    h = ca.SX(ca.vertcat(*size)) / 2

    def slope(s: ca.SX) -> ca.SX:
        q = c + s * a
        return ca.dot(a, ca.fmax(q - h, 0) - ca.fmax(-q - h, 0)) + PARALLEL_CAPSULES * s

    ways = [(side - c[i], a[i]) for i in range(3) for side in (h[i], -h[i])]
    corners = [within(way * slant / (slant**2 + COINCIDENT_POINTS**2), half) for way, slant in ways]
    low, high = ca.SX(-half), ca.SX(half)
    for corner in corners:
        rising = slope(corner)
        low = ca.fmax(low, ca.if_else(rising <= 0, corner, low))
        high = ca.fmin(high, ca.if_else(rising >= 0, corner, high))
    below, above = slope(low), slope(high)
    return within(low - below * (high - low) / (above - below + COINCIDENT_POINTS**2), half)


def from_box(q: ca.SX, size: Vector3, s: ca.SX | float = 0.0) -> tuple[ca.SX, ca.SX]:
    """Return the distance D of a point from the surface of a box, negative inside, and its direction n.

    >>> D, n = from_box(ca.SX([3.0, 0.2, 0.0]), (2.0, 2.0, 2.0))
    >>> float(D), ca.DM(n)
    (2.0, DM([1, 0, 0]))
    >>> float(from_box(ca.SX([0.9, 0.2, 0.0]), (2.0, 2.0, 2.0))[0])
    -0.09999999999999998
    """
    h = ca.SX(ca.vertcat(*size)) / 2
    beyond = ca.fabs(q) - h
    over = ca.fmax(beyond, 0)
    outside = ca.sqrt(ca.sumsqr(over) + PARALLEL_CAPSULES * (s * s) + COINCIDENT_POINTS**2)
    nearest_face = ca.fmax(ca.fmax(beyond[0], beyond[1]), beyond[2])
    first = beyond[0] >= nearest_face
    second = ca.logic_and(ca.logic_not(first), beyond[1] >= nearest_face)
    third = ca.logic_not(ca.logic_or(first, second))
    inside, sign = nearest_face < 0, ca.if_else(q >= 0, 1, -1)
    face = ca.vertcat(first, second, third)
    return ca.if_else(inside, nearest_face, outside), ca.if_else(inside, face, over / outside) * sign
