"""The closure of a cut joint: rows for the directions in which the joint transmits forces.

A joint type may state what it holds in the words of `PARTS`, each of which stands for rows made of the basic functions
(`basic`); these depend on the sides alone and are exact wherever the sides are. For a joint type that states nothing,
the rows follow from its joint map: see `annihilator_rows` in `annihilator`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures.annihilator import annihilator_labels, annihilator_rows
from whippletree.elements.closures.base import Closure, Rows, Side
from whippletree.elements.closures.basic import X, Y, Z, d1, d2, s
from whippletree.elements.joints import Joint
from whippletree.spatial.orientation import Direction

__all__ = ["PARTS", "JointClosure"]


class Part(NamedTuple):
    """A part of a joint's closure: the labels of its rows, and a function that makes them for a joint and its sides."""

    labels: tuple[str, ...]
    rows: Callable[[Any, tuple[Side, ...]], Rows]


@dataclass(frozen=True)
class JointClosure(Closure):
    """The closure of a joint between its frame on the parent (side 0) and that on the child (side 1): 6 - nv rows.

    Forces "along x" are along the axes of the loop's base, since a point that is held is held in base axes; what
    is "of the joint" is in the axes of the joint's frame on the parent, unless it is said to be the child's.

    >>> from whippletree.elements.joints import Revolute
    >>> JointClosure(Revolute()).n_rows
    5
    """

    joint: Joint

    @property
    def labels(self) -> tuple[str, ...]:
        """The force or moment that each row transmits."""
        if self.joint.holds is None:
            return annihilator_labels(self.joint)
        return tuple(label for word in self.joint.holds for label in PARTS[word].labels)

    @property
    def of_joint_state(self) -> bool:
        """Whether the rows follow from the joint map."""
        return self.joint.holds is None

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows; q and v are the joint's own, which a joint that states `holds` does not need."""
        if self.joint.holds is None:
            return annihilator_rows(self.joint, self.joint.configuration(q), v, sides)
        parts = [PARTS[word].rows(self.joint, sides) for word in self.joint.holds]
        return Rows.stacked(parts) if parts else _NOTHING


def _normal(a: Direction, b: Direction, label: str) -> Part:
    """Axis `a` of the parent normal to axis `b` of the child."""
    return Part((label,), lambda joint, sides: d1(a, b, sides))


def _level(a: Direction, label: str) -> Part:
    """The origins in one plane normal to axis `a` of the parent."""
    return Part((label,), lambda joint, sides: d2(a, sides))


def _lead(joint: Any, sides: tuple[Side, ...]) -> Rows:
    """Return the row of a screw with an `advance` per radian: it has turned by as much as it has advanced.

    Whole turns do not count.
    With c and s the sums of dot products that are 2 cos and 2 sin of the angle where the axes agree, the angle's
    rate is (c s' - s c') / (c^2 + s^2). Each of c, s and the displacement is made of basic functions, so that the
    rate is exact at any state.
    """
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

PARTS: dict[str, Part] = {
    "point": Part(("force along x", "force along y", "force along z"), lambda joint, sides: s(sides)),
    # rows normal to z of the child keep the two z parallel
    "about x": _normal(Y, Z, "moment about the joint's x"),
    "about y": _normal(X, Z, "moment about the joint's y"),
    "about z": _normal(X, Y, "moment about the joint's z"),
    "along x": _level(X, "force along the joint's x"),
    "along y": _level(Y, "force along the joint's y"),
    "along z": _level(Z, "force along the joint's z"),
    "cross": _normal(X, Z, "moment normal to both axes of the joint"),
    "lead": Part(("force along the joint's axis with the moment of its lead",), _lead),
}
"""Parts of joint closures, by the words in which joint types state them (`Joint.holds`)."""
