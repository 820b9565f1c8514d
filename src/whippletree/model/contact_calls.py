"""What touches: the calls that declare contacts with the ground and between bodies, and tyres."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from whippletree.elements.forces import BoxContact, CapsuleContact, Contact, Tyre
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.element_registry import PlaceLike
from whippletree.model.fields import checked
from whippletree.model.force_calls import ExpressionLike, ForceCalls
from whippletree.model.formulas import Read
from whippletree.model.handles import ForceHandle
from whippletree.model.joint_frames import AlignedSides
from whippletree.model.names import called
from whippletree.spatial.orientation import AxisLike, direction
from whippletree.spatial.scalars import Scalar, VectorLike, listed, scalar, vector

__all__ = ["ContactCalls"]

_UP = (0.0, 0.0, 1.0)


@user_facing
class ContactCalls(ForceCalls):
    """The calls of a mechanism that are about what touches.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.contact("floor", m.body("crate", mass=10.0), size=(0.4, 0.3, 0.2), stiffness=1e5, friction=0.5).name
    'floor'
    """

    def contact(
        self,
        name: str,
        place: PlaceLike,
        *,
        stiffness: Scalar,
        damping: Scalar = 0.0,
        friction: Scalar = 0.0,
        radius: Scalar = 0.0,
        length: Scalar | None = None,
        axis: AxisLike = "z",
        size: VectorLike | None = None,
        points: Sequence[object] = (),
        at: VectorLike | None = None,
        normal: AxisLike = _UP,
        offset: ExpressionLike = 0.0,
        speed: Scalar = 0.01,
        width: Scalar = 1e-3,
    ) -> ForceHandle:
        """Keep a part of a body out of the ground plane normal . x = offset.

        It is a point, at `at`, or a sphere of some `radius` around it. With a `length` it is a capsule that lies along
        `axis`, its length without the round ends; with a `size`, the eight corners of a box with its middle there; or
        all `points` that are listed, measured from there. All are in the axes of the place.

        The normal force takes hold smoothly over `width`, is a spring with a damper beyond, and never pulls. Friction
        is at most `friction` times that, and less where the point slides slower than `speed`. `offset` may be an
        expression in positions and time: a ground that moves, or a profile, on which the force keeps the direction of
        `normal`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.contact("tyre", m.body("wheel"), radius=0.3, stiffness=2e5, damping=500, friction=0.9).name
        'tyre'
        """
        with called("force", name):
            side = self._moving_side(place, at, "a contact")
            read = self._height(offset)
            centres = _centres(length, axis, size, points)
            numbers = (radius, stiffness, damping, friction, speed, width, centres)
            force = Contact(read.formula, direction(normal, "normal"), *numbers)
            return self._act(name, checked(force, self._parameters), (side,), (), read)

    def contact_between(
        self,
        name: str,
        parent: PlaceLike,
        child: PlaceLike,
        *,
        stiffness: Scalar,
        damping: Scalar = 0.0,
        friction: Scalar = 0.0,
        radius: Scalar = 0.0,
        radius_child: Scalar = 0.0,
        length: Scalar = 0.0,
        length_child: Scalar = 0.0,
        axis: AxisLike = "z",
        axis_child: AxisLike = "z",
        size_child: VectorLike | None = None,
        at: VectorLike | None = None,
        at_child: VectorLike | None = None,
        speed: Scalar = 0.01,
        width: Scalar = 1e-3,
    ) -> ForceHandle:
        """Keep a sphere or capsule of the parent out of a sphere, capsule or box of the child.

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
        with called("force", name):
            sides = self._two_sides(parent, child, AlignedSides(at=at, at_child=at_child), "a contact")
            own: dict[str, Any] = {"stiffness": stiffness, "radius": radius, "length": length, "axis": direction(axis)}
            own |= {"damping": damping, "friction": friction, "speed": speed, "width": width}
            if size_child is not None:
                _no_capsule(radius_child, length_child)
                box = BoxContact(size=vector(size_child, "size_child"), **own)
                return self._act(name, checked(box, self._parameters), sides, ())
            own |= {"radius_child": radius_child, "length_child": length_child}
            pair = CapsuleContact(**own, axis_child=direction(axis_child, "axis_child"))
            return self._act(name, checked(pair, self._parameters), sides, ())

    def tyre(
        self,
        name: str,
        wheel: PlaceLike,
        *,
        radius: Scalar,
        stiffness: Scalar,
        cornering_stiffness: Scalar,
        slip_stiffness: Scalar | None = None,
        damping: Scalar = 0.0,
        friction: Scalar | None = None,
        relaxation: Scalar | None = None,
        lateral_relaxation: Scalar | None = None,
        trail: Scalar = 0.0,
        rolling_resistance: Scalar = 0.0,
        axis: AxisLike = "y",
        at: VectorLike | None = None,
        normal: AxisLike = _UP,
        offset: ExpressionLike = 0.0,
        speed: Scalar = 0.01,
        width: Scalar = 1e-3,
        initial: Sequence[float] = (),
    ) -> ForceHandle:
        """Carry a wheel on the road normal . x = offset by a tyre that slips, relaxes and slides.

        The wheel turns about `axis` through the point `at`. `stiffness` and `damping` are vertical; forces along the
        road are `slip_stiffness` times the longitudinal slip (as `cornering_stiffness` unless given) and
        `cornering_stiffness` times the slip angle for little slip, once the wheel has rolled a few times the lengths
        `relaxation` and `lateral_relaxation` (the radius, and as the other, unless given). With `friction` the force is
        never more than that times the normal force; without, the tyre is linear. `trail` is the pneumatic trail,
        `rolling_resistance` the moment against rolling over normal force and radius. Slower than `speed` the tyre
        creeps. `offset` is as for `contact`. Its two deflections are auxiliary states, zero at the start unless
        `initial` is given. The equations are in `whippletree.elements.forces.tyre`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.tyre("front", m.body("wheel", mass=20.0), radius=0.3, stiffness=2e5, cornering_stiffness=6e4).name
        'front'
        """
        with called("force", name):
            side = self._moving_side(wheel, at, "a tyre")
            read = self._height(offset)
            along = radius if relaxation is None else relaxation
            tyre = Tyre(
                read.formula,
                direction(normal, "normal"),
                direction(axis),
                radius,
                stiffness,
                damping,
                cornering_stiffness,
                cornering_stiffness if slip_stiffness is None else slip_stiffness,
                along,
                along if lateral_relaxation is None else lateral_relaxation,
                friction,
                trail,
                rolling_resistance,
                speed,
                width,
            )
            return self._act(name, checked(tyre, self._parameters), (side,), (), read, initial)

    def _height(self, offset: object) -> Read:
        """Return the formula of the height of the ground."""
        read = self._formula(offset, 1, "offset")
        if not read.formula.positional:
            raise ModelError("offset may depend on positions, coordinates, time and parameters, but on no velocity")
        return read


def _centres(length: object, axis: object, size: object, points: object) -> tuple[Scalar, ...]:
    """Return the points of a body that touch the ground, given in one of three ways; none is the point itself."""
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


def _no_capsule(radius: object, length: object) -> None:
    """Refuse what a box does not have."""
    for what, value in (("radius_child", radius), ("length_child", length)):
        if not isinstance(value, int | float) or value != 0:
            raise ModelError(f"give either size_child (a box) or {what}: a box has sharp edges")
