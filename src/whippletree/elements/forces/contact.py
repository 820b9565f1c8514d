"""Points or spheres of a body that touch a plane of the ground: a ball, the ends of a capsule, the corners of a box."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import casadi as ca

from whippletree.elements.closures.base import Side
from whippletree.elements.declaration import ANY, part, quantity, unit_axis
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula
from whippletree.elements.forces.smooth import Stop, rubbed, stopped
from whippletree.errors import ModelError
from whippletree.spatial.orientation import AxisLike, Direction, direction
from whippletree.spatial.scalars import Scalar, VectorLike, listed, scalar, vector
from whippletree.spatial.vectors import cross, stack

__all__ = ["Contact"]


@dataclass(frozen=True, eq=False)
class Contact(Force):
    """A contact that keeps a part of a body out of the ground plane normal . x = offset.

    It is a point, at `at`, or a sphere of some `radius` around it. With a `length` it is a capsule that lies along
    `axis`, its length without the round ends; with a `size`, the eight corners of a box with its middle there; or all
    `points` that are listed, measured from there. All are in the axes of the place.

    The normal force N takes hold smoothly over `width`, is a spring with a damper beyond, and never pulls. Friction
    acts at the lowest point of each sphere against the velocity u that it has along the plane, as -friction N u /
    sqrt(|u|^2 + speed^2): less where the point slides slower than `speed`. `offset` may be an expression in positions
    and time: a ground that moves does work, and so does a profile, on which the force keeps the direction of `normal`.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.contact("tyre", m.body("wheel"), radius=0.3, stiffness=2e5, damping=500, friction=0.9).name
    'tyre'
    """

    word: ClassVar[str] = "contact"
    n_sides: ClassVar[int] = 1

    offset: Formula = part(Formula, 0.0, of="positions")
    normal: Direction = unit_axis()
    radius: Scalar = quantity(0.0, unit="m", sign="not negative")
    stiffness: Scalar = quantity(unit="N/m", sign="not negative", needed=True)
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")
    friction: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, unit="m/s", sign="positive")
    width: Scalar = quantity(1e-3, unit="m", sign="positive")
    points: tuple[Scalar, ...] = quantity((), unit="m", size=ANY)

    @classmethod
    def given(
        cls,
        *,
        length: Scalar | None = None,
        axis: AxisLike = "z",
        size: VectorLike | None = None,
        points: Sequence[VectorLike] = (),
        **own: Any,
    ) -> Self:
        """Return the contact whose spheres have their centres where a person says: none is the point itself."""
        return cls(points=_centres(length, axis, size, points), **own)

    def told(self) -> dict[str, Any]:
        """Return the numbers, and the centres point by point."""
        own = super().told()
        points = [self.points[i : i + 3] for i in range(0, len(own.pop("points")), 3)]
        return {"normal": own.pop("normal"), **own, **({"points": points} if points else {})}

    @property
    def timed(self) -> bool:
        """Whether the ground moves with time."""
        return self.offset.timed

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the height."""
        return (SeenFormula(self.offset, seen.beyond(1, 0), ca.SX(0, 1)),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the wrench on the body, the sum over the spheres."""
        ground = seen.beyond(1, 0)
        height, rise = self.offset.value(ground), self.offset.rate(ground)
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
        """Return the force of a sphere's spring and damper, and the wrench on the side."""
        n = ca.SX(ca.vertcat(*self.normal))
        depth = height + self.radius - ca.dot(n, side.p + centre)
        sinking = rise - ca.dot(n, side.u + cross(side.w, centre))
        stop = stopped(depth, sinking, self.stiffness, self.damping, self.width)
        arm = centre - self.radius * n
        rubbing = rubbed(stop.force, n, side.u + cross(side.w, arm), self.friction, self.speed)
        force = stop.force * n + rubbing.force
        return stop, _Push(stack(cross(centre, stop.force * n) + cross(arm, rubbing.force), force), rubbing.dissipated)


class _Push(NamedTuple):
    """The wrench of a sphere's contact at the origin of its side, and the power that friction dissipates."""

    wrench: ca.SX
    rubbed: ca.SX


def _centres(
    length: Scalar | None, axis: AxisLike, size: VectorLike | None, points: Sequence[VectorLike]
) -> tuple[Scalar, ...]:
    """Return the points of a body that touch the ground, given in one of three ways."""
    if sum(given is not None for given in (length, size)) + bool(listed(points)) > 1:
        raise ModelError("give either length (a capsule), size (a box) or points")
    if length is not None:
        half = scalar(length, "length") / 2
        return tuple(sign * half * entry for sign in (1.0, -1.0) for entry in direction(axis))
    if size is not None:
        a, b, c = (entry / 2 for entry in vector(size, "size"))
        corners = itertools.product((a, -a), (b, -b), (c, -c))
        return tuple(entry for corner in corners for entry in corner)
    if not isinstance(points, list | tuple):
        raise ModelError("points must be a list of points, three numbers each")
    return tuple(entry for point in points for entry in vector(point, "points"))
