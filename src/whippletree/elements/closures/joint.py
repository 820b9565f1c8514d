"""The closure of a cut joint: what the joint holds, composed of the basic functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures.base import Closure, Rows, Side
from whippletree.elements.closures.basic import X, Y, Z, d1, d2, s
from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from whippletree.spatial.orientation import Direction

__all__ = ["JointClosure"]


class Part(NamedTuple):
    """A part of a joint's closure: what its rows transmit, and the rows."""

    labels: tuple[str, ...]
    rows: Callable[[Joint, tuple[Side, ...]], Rows]


@dataclass(frozen=True)
class JointClosure(Closure):
    """What a joint holds between its frame on the parent (side 0) and that on the child (side 1): 6 - nv rows.

    Forces "along x" are along the axes of the loop's base, since a point that is held is held in base axes; what
    is "of the joint" is in the axes of the joint's frame on the parent.

    >>> JointClosure(Revolute()).n_rows
    5
    """

    joint: Joint

    @property
    def labels(self) -> tuple[str, ...]:
        """What each row transmits."""
        return tuple(label for part in _COMPOSITION[type(self.joint)] for label in part.labels)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows; they depend on the sides only."""
        parts = [part.rows(self.joint, sides) for part in _COMPOSITION[type(self.joint)]]
        return Rows.stacked(parts) if parts else _NOTHING


def _normal(a: Direction, b: Direction, label: str) -> Part:
    """Axis `a` of the parent normal to axis `b` of the child."""
    return Part((label,), lambda joint, sides: d1(a, b, sides))


def _level(a: Direction, label: str) -> Part:
    """The origins in one plane normal to axis `a` of the parent."""
    return Part((label,), lambda joint, sides: d2(a, sides))


def _lead(joint: Joint, sides: tuple[Side, ...]) -> Rows:
    """Return the row of a screw: it has turned by as much as it has advanced, whole turns aside.

    With c and s the sums of dot products that are 2 cos and 2 sin of the angle where the axes agree, the angle's
    rate is (c s' - s c') / (c^2 + s^2). Each of c, s and the displacement is made of basic functions, so that the
    rate is exact at any state.
    """
    assert isinstance(joint, Screw)
    advance = joint.advance
    c = _combined((1.0, d1(X, X, sides)), (1.0, d1(Y, Y, sides)))
    s = _combined((1.0, d1(Y, X, sides)), (-1.0, d1(X, Y, sides)))
    shift = d2(Z, sides)
    square = c.phi * c.phi + s.phi * s.phi
    turn = _combined((c.phi / square, s), (-s.phi / square, c))
    # the rate of c / square and s / square leaves -rate (square)' / square
    dc, ds, rate = _rate(c, sides), _rate(s, sides), _rate(turn, sides)
    bias = turn.bias - 2 * rate * (c.phi * dc + s.phi * ds) / square
    cosine, sine = ca.cos(shift.phi / advance), ca.sin(shift.phi / advance)
    behind = ca.atan2(sine * c.phi - cosine * s.phi, cosine * c.phi + sine * s.phi)
    row = _combined((1.0, shift), (-advance, turn._replace(bias=bias)))
    return row._replace(phi=advance * behind)


def _combined(*terms: tuple[float | ca.SX, Rows]) -> Rows:
    """Return a combination of single rows on the same sides, as if the factors were constant."""
    (f, a), (g, b) = terms
    D = tuple(f * of_a + g * of_b for of_a, of_b in zip(a.D, b.D, strict=True))
    return Rows(f * a.phi + g * b.phi, D, a.K, a.drift, f * a.bias + g * b.bias)


def _rate(row: Rows, sides: tuple[Side, ...]) -> ca.SX:
    """Return phi' of a single row."""
    return sum((D @ ca.vertcat(side.w, side.u) for D, side in zip(row.D, sides, strict=True)), ca.SX(0))


_NOTHING = Rows(ca.SX(0, 1), (ca.SX(0, 6), ca.SX(0, 6)), ca.SX(0, 0), ca.SX(0, 1), ca.SX(0, 1))

_POINT = Part(("force along x", "force along y", "force along z"), lambda joint, sides: s(sides))
# rows normal to z of the child keep the two z parallel
_ABOUT_X = _normal(Y, Z, "moment about the joint's x")
_ABOUT_Y = _normal(X, Z, "moment about the joint's y")
_ABOUT_Z = _normal(X, Y, "moment about the joint's z")
_ALONG_X = _level(X, "force along the joint's x")
_ALONG_Y = _level(Y, "force along the joint's y")
_ALONG_Z = _level(Z, "force along the joint's z")
_CROSS = _normal(X, Z, "moment normal to both axes of the joint")
_LEAD = Part(("force along the joint's axis with the moment of its lead",), _lead)

_COMPOSITION: dict[type[Joint], tuple[Part, ...]] = {
    Fixed: (_POINT, _ABOUT_X, _ABOUT_Y, _ABOUT_Z),
    Revolute: (_POINT, _ABOUT_X, _ABOUT_Y),
    Prismatic: (_ABOUT_X, _ABOUT_Y, _ABOUT_Z, _ALONG_X, _ALONG_Y),
    Cylindrical: (_ABOUT_X, _ABOUT_Y, _ALONG_X, _ALONG_Y),
    Screw: (_ABOUT_X, _ABOUT_Y, _ALONG_X, _ALONG_Y, _LEAD),
    Universal: (_POINT, _CROSS),
    Spherical: (_POINT,),
    Planar: (_ABOUT_X, _ABOUT_Y, _ALONG_Z),
    Free: (),
}
