"""Spheres and capsules of two bodies that touch each other.

A capsule is all that is nearer than its radius to a piece of a line; without length it is a sphere. With the lines'
points c_0(s) = p_0 + s a_0 and c_1(t) = p_1 + t a_1, the distance is

    D^2 = min over s, t of |c_1 - c_0|^2 + e (s^2 + t^2)                                       (1)

where e, a small number, makes the nearest points unique and keeps them from jumping where capsules are parallel: those
nearest to the middle are taken. In general position D is the plain distance but for e. The minimum does not change with
s and t, so that D' = n . (c_1' - c_0') with s and t held and n = (c_1 - c_0) / D: a force along n at the nearest
points does just the work that the depth r_0 + r_1 - D takes (`base`, (1)). Where a nearest point comes to an end of its
capsule, the force has a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import casadi as ca

from whippletree.elements.closures.base import Side
from whippletree.elements.declaration import quantity, unit_axis
from whippletree.elements.element_tolerances import COINCIDENT_POINTS, PARALLEL_CAPSULES
from whippletree.elements.forces.base import ElementForces, ElementState, Force
from whippletree.elements.forces.smooth import rubbed, stopped
from whippletree.errors import ModelError
from whippletree.spatial.orientation import Direction
from whippletree.spatial.scalars import Scalar, Vector3, VectorLike, vector
from whippletree.spatial.vectors import cross, stack

__all__ = ["CapsuleContact", "Sliding", "between", "nearest", "unit", "within"]


@dataclass(frozen=True, eq=False)
class CapsuleContact(Force):
    """A contact that keeps a sphere or capsule of the parent out of a sphere, capsule or box of the child.

    A sphere has a `radius`, and its middle at `at`; a capsule has a `length` besides, which is without its round
    ends, and lies along `axis`. Those of the child are `radius_child`, `length_child` and so on; with `size_child`
    it has a box instead, with its middle at `at_child` and its edges along the axes of the place. Normal force and
    friction are as for `contact`, and the same on both. A pair touches at one point, which moves smoothly.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> one, other = m.body("one", mass=1.0), m.body("other", mass=1.0)
    >>> m.contact_between("hit", one, other, radius=0.1, radius_child=0.2, stiffness=1e5).name
    'hit'
    """

    word: ClassVar[str] = "contact_between"
    n_sides: ClassVar[int] = 2

    stiffness: Scalar = quantity(unit="N/m", sign="not negative")
    radius: Scalar = quantity(0.0, unit="m", sign="not negative")
    radius_child: Scalar = quantity(0.0, unit="m", sign="not negative")
    length: Scalar = quantity(0.0, unit="m", sign="not negative")
    length_child: Scalar = quantity(0.0, unit="m", sign="not negative")
    axis: Direction = unit_axis()
    axis_child: Direction = unit_axis()
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")
    friction: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, unit="m/s", sign="positive")
    width: Scalar = quantity(1e-3, unit="m", sign="positive")

    @classmethod
    def given(cls, *, size_child: VectorLike | None = None, **own: Any) -> Force:
        """Return the contact of two capsules, or of one and a box."""
        if size_child is None:
            return cls(**own)
        from whippletree.elements.forces.box_contact import BoxContact  # which is built on this module

        for what in ("radius_child", "length_child"):
            value = own.pop(what)
            if not isinstance(value, int | float) or value != 0:
                raise ModelError(f"give either size_child (a box) or {what}: a box has sharp edges")
        own.pop("axis_child")
        return BoxContact(size=vector(size_child, "size_child"), **own)

    def told(self) -> dict[str, Any]:
        """Return the numbers before the axes."""
        own = super().told()
        axes = {name: own.pop(name) for name in ("axis", "axis_child")}
        return own | axes

    def act(self, seen: ElementState) -> ElementForces:
        """Return the two wrenches, the stored energy and the dissipated power."""
        near, far = seen.sides
        a, b = near.R @ unit(self.axis), far.R @ unit(self.axis_child)
        s, t = nearest(far.p - near.p, a, b, self.length / 2, self.length_child / 2)
        arm, arm_child = s * a, t * b
        apart = far.p + arm_child - near.p - arm
        D = ca.sqrt(ca.sumsqr(apart) + PARALLEL_CAPSULES * (s * s + t * t) + COINCIDENT_POINTS**2)
        n = apart / D
        growing = ca.dot(n, far.u + cross(far.w, arm_child) - near.u - cross(near.w, arm))
        depth = self.radius + self.radius_child - D
        stop = stopped(depth, -growing, self.stiffness, self.damping, self.width)
        touch = near.p + arm + (self.radius - depth / 2) * n
        across = apart / ca.sqrt(ca.sumsqr(apart) + COINCIDENT_POINTS**2)  # n, but of unit length
        sliding = Sliding(touch, across, stop.force, self.friction, self.speed)
        wrenches, lost = between(near, far, near.p + arm, stop.force * n, sliding)
        return ElementForces(wrenches, ca.SX(0, 1), stop.stored, stop.dissipated + lost, ca.SX(0))


def unit(axis: Vector3) -> ca.SX:
    """Return the unit vector of an axis.

    >>> ca.DM(unit((0.0, 3.0, 4.0)))
    DM([0, 0.6, 0.8])
    """
    column = ca.SX(ca.vertcat(*axis))
    return column / ca.sqrt(ca.sumsqr(column))


class Sliding(NamedTuple):
    """The point where two surfaces touch, the unit normal, the size of the normal force, and the friction."""

    touch: ca.SX
    n: ca.SX
    force: ca.SX
    friction: Scalar
    speed: Scalar


def between(near: Side, far: Side, through: ca.SX, push: ca.SX, sliding: Sliding) -> tuple[tuple[ca.SX, ca.SX], ca.SX]:
    """Return the wrenches on two sides that touch, and the power that friction takes out.

    The normal force `push` on the far side acts along a line `through` a point, friction at the point of touch.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> here = ca.SX([1, 0, 0])
    >>> push = ca.SX([0, 0, 2])
    >>> pair, _ = between(rest, rest, here, push, Sliding(here, push / 2, ca.SX(2), 0.0, 1.0))
    >>> float(ca.norm_1(pair[0] + pair[1])), float(pair[1][1])
    (0.0, -2.0)
    """
    touch = sliding.touch
    u = far.u + cross(far.w, touch - far.p) - near.u - cross(near.w, touch - near.p)
    rubbing = rubbed(sliding.force, sliding.n, u, sliding.friction, sliding.speed)
    on_far, on_near = (
        stack(cross(through - side.p, push) + cross(touch - side.p, rubbing.force), push + rubbing.force)
        for side in (far, near)
    )
    return (-on_near, on_far), rubbing.dissipated


def nearest(p: ca.SX, a: ca.SX, b: ca.SX, half: Scalar, half_child: Scalar) -> tuple[ca.SX, ca.SX]:
    """Return s and t of (1), at most `half` and `half_child` in size, for unit vectors a and b and p = p_1 - p_0.

    First the best s within its bounds for whatever t; then the best t for it within its bounds; then, for that t, the
    best s again. If the first t is beyond its bounds, so is that of the whole minimum, which is convex in t.

    >>> x, y = ca.SX([1, 0, 0]), ca.SX([0, 1, 0])
    >>> [round(float(value), 3) for value in nearest(ca.SX([5, -0.25, 1]), x, y, 1.0, 1.0)]
    [1.0, 0.25]
    """
    stiff, c = 1 + PARALLEL_CAPSULES, ca.dot(a, b)
    pa, pb = ca.dot(p, a), ca.dot(p, b)
    s = within((stiff * pa - c * pb) / (stiff * stiff - c * c), half)
    t = within((c * s - pb) / stiff, half_child)
    return within((pa + c * t) / stiff, half), t


def within(x: ca.SX, bound: Scalar) -> ca.SX:
    """Return a number, cut off at a bound in both directions.

    >>> [float(within(ca.SX(x), 1.0)) for x in (-3, 0.5, 3)]
    [-1.0, 0.5, 1.0]
    """
    if isinstance(bound, float) and bound == 0.0:
        return ca.SX(0)
    return ca.fmin(ca.fmax(x, -bound), bound)
