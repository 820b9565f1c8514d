"""The calls that prescribe motions."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from whippletree.elements.drivers import CurveByPieces, Motion
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.any_element import AnyElement
from whippletree.model.element_registry import JointLike, PlaceLike
from whippletree.model.expression_symbols import check_smooth, names_in, operations_of
from whippletree.model.handles import ClosureHandle
from whippletree.model.names import called
from whippletree.spatial.scalars import VectorLike, scalar, shown

__all__ = ["DriveCalls"]

_AXES = "xyz"


@user_facing
class DriveCalls(AnyElement):
    """The calls of a mechanism for prescribed motions."""

    def drive(self, name: str, joint: JointLike, *, position: object, index: int = 0) -> ClosureHandle:
        """Prescribe a joint coordinate over time; the effort of the drive comes out by its name.

        `position` is an expression in `time` and parameters, a `Spline`, or a `Table` of kind "pchip". Any coordinate
        of any joint can be driven, in a tree or in a loop; `index` says which, if the joint has several.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("crank"))
        >>> m.drive("motor", hinge, position=2 * m.time).name
        'motor'
        """
        with called("closure", name):
            coordinate = joint_name, k = self._coordinate((joint, index))
            if self._joints[joint_name].prescribed:
                raise ModelError(
                    f'joint "{joint_name}" is declared with prescribed=True: its acceleration is an input of each '
                    "call; leave that out to drive it"
                )
            for use in self._closures.values():
                if isinstance(use.closure, Motion) and coordinate in use.coordinates:
                    which = f"coordinate {k} of joint" if k else "joint"
                    raise ModelError(f'{which} "{joint_name}" is driven already, by "{use.name}"')
            return self._close(name, self._motion([position], ["position"]), (), (coordinate,))

    def drive_point(
        self, name: str, place: PlaceLike, *, position: Sequence[object], at: VectorLike | None = None
    ) -> ClosureHandle:
        """Prescribe the motion of a point of a body, in ground axes; the driving force comes out by its name.

        `position` has three entries, each an expression, a `Spline`, a `Table` of kind "pchip", a number, or None for a
        direction that is free. `at` is the point in the frame of the body or frame, its origin unless given.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> table = m.planar("table", m.ground, m.body("puck"))
        >>> m.drive_point("hand", "puck", at=(0.1, 0, 0), position=(ca.sin(m.time), None, None)).name
        'hand'
        """
        with called("closure", name):
            side = self._moving_side(place, at, "a drive")
            try:
                x, y, z = position
            except Exception:
                raise ModelError(
                    f"position must have three entries, None where the point is free, got {shown(position)}"
                ) from None
            given = {c: entry for c, entry in enumerate((x, y, z)) if entry is not None}
            if not given:
                raise ModelError("all of position is None: the drive holds nothing")
            words = [f"position[{c}] ({_AXES[c]})" for c in given]
            return self._close(name, self._motion([*given.values()], words, tuple(given)), (side,), ())

    def _motion(self, positions: Sequence[object], words: Sequence[str], components: tuple[int, ...] = ()) -> Motion:
        """Return the motion by expressions in time and parameters."""
        t = self._symbols.time
        entries = []
        for position, what in zip(positions, words, strict=True):
            given = position(t) if isinstance(position, CurveByPieces) else position
            read = self._formula(given, 1, what)
            foreign = [*read.coordinates, *read.places, *read.states]
            if foreign:
                first = foreign[0][0] if isinstance(foreign[0], tuple) else foreign[0]
                raise ModelError(
                    f'{what} depends on "{first}": a drive follows time and parameters alone; what depends on '
                    "positions is written with .closure"
                )
            entry = ca.SX(scalar(given, what))
            check_smooth(operations_of(entry), what, of_velocity=False)
            entries.append(entry)
        column = ca.densify(ca.vertcat(*entries))
        rate = ca.jacobian(column, t)
        start = ca.substitute(ca.vertcat(column, rate, ca.jacobian(rate, t)), t, ca.SX(0))
        names = " and ".join(words)
        self._parameters.check(
            [start[k] for k in range(start.numel())], f"{names}, its rate or its acceleration at t = 0"
        )
        return Motion.written(column, t, self._parameters.among(names_in(column)), components)
