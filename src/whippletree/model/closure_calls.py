"""The calls that add closures: what holds besides the joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca

from whippletree.elements.closures import Coincident, Coupling, DeclaredClosure, Distance, InPlane, Perpendicular
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.design_position import design_distance, moving_frames
from whippletree.model.element_registry import BodyLike, CoordinateLike, PlaceLike, Registry, SideLike
from whippletree.model.expression_closure import read_closure
from whippletree.model.fields import checked
from whippletree.model.handles import ClosureHandle
from whippletree.model.names import called
from whippletree.spatial.orientation import AxisLike, direction
from whippletree.spatial.scalars import (
    Scalar,
    VectorLike,
    scalar,
    shown,
)

if TYPE_CHECKING:
    pass

__all__ = ["ClosureCalls"]


@user_facing
class ClosureCalls(Registry):
    """What a mechanism can be told about rods, gears, basic conditions, and what one writes down."""

    def distance(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        length: Scalar | None = None,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
    ) -> ClosureHandle:
        """Keep two points at a distance: a massless rod with ball joints at its ends (ss of the basic functions).

        `at` and `at_child` are the points in the two bodies' frames, their origins unless given. Without a `length`,
        the rod is as long as the points are apart in the design position, where all coordinates are zero; the joints
        that connect the two bodies are added before.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.distance("tie", m.ground, m.body("ball"), length=1.2, at=(0, 0, 2)).name
        'tie'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, at, at_child, "a distance")
            if length is None:
                joints = [*self._joints.values(), *moving_frames(self._bodies.values())]
                length = design_distance(joints, bodies, placements, self._parameters.values_of)
            rod = checked(Distance(length), self._parameters)
            return self._close(name, rod, tuple(zip(bodies, placements, strict=True)), ())

    def coincident(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
    ) -> ClosureHandle:
        """Keep two points together: what a ball joint holds, without coordinates (s of the basic functions).

        `at` and `at_child` are the points in the two bodies' frames, their origins unless given.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.coincident("pivot", m.ground, m.body("top"), at=(0, 0, 1)).name
        'pivot'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, at, at_child, "a closure")
            return self._close(name, Coincident(), tuple(zip(bodies, placements, strict=True)), ())

    def in_plane(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        normal: AxisLike = "z",
        offset: Scalar = 0.0,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
    ) -> ClosureHandle:
        """Keep a point of the child in a plane of the parent (d2 of the basic functions).

        The plane is normal to `normal`, given in the parent's axes, at an `offset` along it from the point `at`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.in_plane("table", m.ground, m.body("ball"), offset=0.05).name
        'table'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, at, at_child, "a closure")
            plane = checked(InPlane(direction(normal, "normal"), offset), self._parameters)
            return self._close(name, plane, tuple(zip(bodies, placements, strict=True)), ())

    def perpendicular(
        self, name: str, parent: BodyLike, child: BodyLike, *, axis: AxisLike = "z", axis_child: AxisLike = "z"
    ) -> ClosureHandle:
        """Keep an axis of the parent at a right angle to an axis of the child (d1 of the basic functions).

        Each axis is given in its body's own axes.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.perpendicular("square", m.ground, m.body("plate"), axis="z", axis_child="x").name
        'square'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, None, None, "a closure")
            axes = Perpendicular(direction(axis, "axis"), direction(axis_child, "axis_child"))
            return self._close(name, axes, tuple(zip(bodies, placements, strict=True)), ())

    def coupling(self, name: str, ratios: Mapping[CoordinateLike, Scalar], *, offset: Scalar = 0.0) -> ClosureHandle:
        """Keep a weighted sum of joint coordinates at `offset`: differentials, racks, planetary gears.

        The keys of `ratios` are joints, by name or handle, or pairs of a joint and an index for joints with several
        coordinates (the first unless given). With one joint only, the coupling locks it.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("differential")
        >>> for name in ("left", "right", "cage"):
        ...     hinge = m.revolute(name, m.ground, m.body(name + " shaft"))
        >>> m.coupling("bevel", {"left": 1.0, "right": 1.0, "cage": -2.0}).name
        'bevel'
        """
        with called("closure", name):
            if not issubclass(type(ratios), Mapping) or not ratios:
                raise ModelError(
                    f'ratios must say which joints are coupled, as in {{"A": 1.0, "B": -2.0}}, got {shown(ratios)}'
                )
            return self._couple(name, ratios.items(), offset)

    def gear(
        self, name: str, first: CoordinateLike, second: CoordinateLike, *, ratio: Scalar, offset: Scalar = 0.0
    ) -> ClosureHandle:
        """Keep the second joint's coordinate at ratio times the first's plus `offset`.

        That is a gear pair between revolute joints, a rack between a revolute and a prismatic one (the ratio then
        is the pinion's radius), and a joint that mimics another. Joints are given as for `coupling`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> for name in ("A", "B"):
        ...     hinge = m.revolute(name, m.ground, m.body("wheel " + name))
        >>> m.gear("pair", "A", "B", ratio=-2.0).name
        'pair'
        """
        with called("closure", name):
            read = scalar(ratio, "ratio")
            if self._parameters.values_of([read], "ratio") == [0.0]:
                raise ModelError("ratio must not be zero: to hold the second joint where it is, couple it alone")
            return self._couple(name, [(first, -read), (second, 1.0)], offset)

    def constraint(
        self,
        name: str,
        closure: DeclaredClosure,
        *,
        on: Sequence[SideLike] | PlaceLike = (),
        coordinates: Sequence[CoordinateLike] | CoordinateLike = (),
    ) -> ClosureHandle:
        """Add a closure of any type, also of one that is not part of the package.

        It holds between the frames `on`, which are bodies or frames, or pairs of such and a point; and between joint
        `coordinates`, given as for `coupling`.

        >>> from whippletree.model import Mechanism
        >>> from whippletree.elements.closures import Distance
        >>> m = Mechanism("m")
        >>> m.constraint("tie", Distance(1.2), on=[(m.ground, (0, 0, 2)), m.body("ball")]).name
        'tie'
        """
        with called("closure", name):
            if not isinstance(closure, DeclaredClosure):
                raise ModelError(f"closure must be an instance of a type of closure, got {shown(closure)}")
            own = checked(closure, self._parameters)
            return self._close(name, own, *self._held(own, on, coordinates))

    def closure(self, name: str, expression: ca.SX) -> ClosureHandle:
        """Keep an expression at zero: one entry or a column, written in the mechanism's symbols.

        These are what `coordinate`, `rate`, `position`, `rotation`, `velocity`, `time` and `parameter` return. With a
        rate or a velocity in it, it is a condition on velocities only, such as rolling, and must be affine in
        them.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("cam")
        >>> shaft = m.revolute("shaft", m.ground, m.body("disc"))
        >>> follower = m.prismatic("follower", m.ground, m.body("tappet"))
        >>> lift = 0.02 * (1 - ca.cos(m.coordinate("shaft")))
        >>> m.closure("profile", m.coordinate("follower") - lift).name
        'profile'
        """
        with called("closure", name):
            orders = self._place_order, self._coordinate_order
            read = read_closure(expression, self._symbols, self._parameters, *orders)
            sides = tuple(self._placed(place) for place in read.places)
            return self._close(name, read.closure, sides, read.coordinates)

    def _couple(self, name: str, terms: Iterable[tuple[CoordinateLike, Scalar]], offset: Scalar) -> ClosureHandle:
        """Add a coupling, checked term by term."""
        ratios: dict[tuple[str, int], Scalar] = {}
        for key, given in terms:
            joint, index = coordinate = self._coordinate(key)
            if coordinate in ratios:
                raise ModelError(f'joint "{joint}" is given twice, at index {index}')
            ratios[coordinate] = scalar(given, f'the ratio of "{joint}"')
        if not any(self._parameters.values_of(ratios.values(), "a ratio")):
            raise ModelError("all ratios are zero: the coupling holds nothing")
        read = scalar(offset, "offset")
        self._parameters.check([read], "offset")
        return self._close(name, Coupling(tuple(ratios.values()), read), (), tuple(ratios))
