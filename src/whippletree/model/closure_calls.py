"""The calls that add closures with any number of coordinates: couplings, and written constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import casadi as ca

from whippletree.elements.closures import Coupling
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.any_element import AnyElement
from whippletree.model.element_registry import CoordinateLike
from whippletree.model.expression_closure import read_closure
from whippletree.model.handles import ClosureHandle
from whippletree.model.names import called
from whippletree.spatial.scalars import Scalar, scalar, shown

__all__ = ["ClosureCalls"]


@user_facing
class ClosureCalls(AnyElement):
    """The calls of a mechanism for gears and written constraints."""

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
