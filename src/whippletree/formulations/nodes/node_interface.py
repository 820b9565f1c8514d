"""The node interface of the articulated-body sweeps, for every kind of node.

A node is reached from its parent by a shift, and meets it in a frame of six components. There it brings its
articulated inertia P and bias force z with its unknowns held at zero, the forces U (6, k) that unit unknowns need, the
inertia D (k, k) of the unknowns among themselves, and the residual eps that drives them:

    f = P alpha + U y + z,          U* alpha + D y = eps                                     (1)

for an acceleration alpha of that frame. A step of the sweeps eliminates y and passes f = P+ alpha + z+ on. For a rigid
body y is the acceleration of its joint, U = P H* and D = H P H* (Jain 7). For a group of loops y holds the
accelerations of its independent freedoms, or the multipliers of its closures (see `aggregates`).

The nodes of a body with own coordinates share these freedoms. There y is not eliminated: (1) is passed on as it is, and
what arrives from several nodes adds up, until the *home* node of the freedoms eliminates them with its joint's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import casadi as ca

from whippletree.elements.joints.base import SplitJoint
from whippletree.spatial import ArticulatedInertia, Shift
from whippletree.symbolic.dense_factors import (
    Factors,
    backward,
    elimination_order,
    factor,
    factored,
    solve_factored,
)

__all__ = [
    "NO_COMBINATIONS",
    "AngularState",
    "Articulated",
    "ArticulatedNode",
    "Carried",
    "HingeFactors",
    "JointOutcome",
    "NodeTerms",
    "VelocityTerms",
]


NO_COMBINATIONS = ca.SX(0, 0)
"""Of own coordinates that are eliminated as they are."""


class AngularState(NamedTuple):
    """The motion that a body hands to its children: its turning rate in its own axes, its axes in the ground frame."""

    rate: ca.SX  # (3,)
    axes: ca.SX  # (3, 3)

    @staticmethod
    def rest() -> AngularState:
        """Return the motion of the ground."""
        return AngularState(ca.SX.zeros(3), ca.densify(ca.SX.eye(3)))


class VelocityTerms(NamedTuple):
    """Kept by the first sweep: configuration, velocity-dependent terms, axes in the ground."""

    x: ca.SX
    a: ca.SX
    b: ca.SX
    axes: ca.SX
    own: ca.SX = ca.SX(0, 1)  # velocity forces on the own rates of a body, if it is one with such
    before_turn: ca.SX = ca.SX(0, 1)  # a in the axes before the joint's last turn, if the joint is split


class Carried(NamedTuple):
    """Handed outward: the acceleration (6) of a node, and those of shared freedoms that were eliminated there."""

    alpha: ca.SX
    own: ca.SX = ca.SX(0, 1)


class Articulated(NamedTuple):
    """Handed inward: the articulated inertia and bias force, at the parent.

    `U`, `D` and `eps` are those of shared freedoms that are still to be eliminated, as in (1); most nodes hand on none.
    """

    P: ArticulatedInertia
    z: ca.SX
    U: ca.SX = ca.SX(6, 0)
    D: ca.SX = ca.SX(0, 0)
    eps: ca.SX = ca.SX(0, 1)

    @staticmethod
    def nothing() -> Articulated:
        """Return the record that arrives at a tip."""
        return Articulated(ArticulatedInertia.zero(), ca.SX.zeros(6))


class NodeTerms(NamedTuple):
    """A node's terms in the second sweep, as in (1).

    `H` is the joint map if the last columns of U are P H*, so that what the hinge annihilates is known while tracing;
    `kept` is what the node wants to find again in its `HingeFactors`; `factors` are those of D, if they are there
    already. `armed` says that the joint has armature, so that the hinge annihilates nothing. `shared` says that the
    unknowns are eliminated at another node. `least` are the pivots of D (k) below which nothing but rounding is left,
    if they may come to that. `combinations` are B, if the first unknowns are xi'' with eta'' = B xi'' for the own
    coordinates eta of a body.
    """

    P: ArticulatedInertia
    z: ca.SX
    U: ca.SX
    D: ca.SX
    eps: ca.SX
    H: ca.SX | None = None
    kept: Any = ()
    factors: Factors | None = None
    shared: bool = False
    least: ca.SX | None = None
    combinations: ca.SX = NO_COMBINATIONS
    armed: bool = False

    def known_rows(self) -> list[int]:
        """Return the rows of P+ that the hinge annihilates, as far as they are known while tracing."""
        return [] if self.H is None or self.armed else unit_rows(self.H)

    def factored(self) -> Factors:
        """Return the factors of D."""
        return factored(self.D, self.least) if self.factors is None else self.factors


class HingeFactors(NamedTuple):
    """Kept by the second sweep: the node's own terms, and the factors that solve for its unknowns.

    With D = L d L*, the unknowns are L^-* (nu - S alpha) - K alpha, S = d^-1 L^-1 U* (k, 6) and nu = d^-1 L^-1 eps; if
    no L is known, S is the gain's transpose itself. Half of a solution with D is so done for one column where it is
    needed, and not for the six of U. K (k, 6) are those columns of the gain's transpose that are known while tracing;
    they are zero in S.

    With `combinations` B, the first unknowns are xi'' and not the accelerations eta'' = B xi'' of own coordinates:
    `unknowns` are those, `gain` and `solver` are for eta''.
    """

    S: ca.SX
    nu: ca.SX
    P: ArticulatedInertia
    z: ca.SX
    pivot: ca.SX
    D: ca.SX
    kept: Any
    U: ca.SX = ca.SX(6, 0)  # forces of unit accelerations of shared freedoms that are eliminated here
    L: ca.SX = ca.SX(0, 0)
    K: ca.SX = ca.SX(0, 6)
    combinations: ca.SX = NO_COMBINATIONS

    def unknowns(self, alpha: ca.SX) -> ca.SX:
        """Return the accelerations of the node's unknowns, from the acceleration of its frame without them."""
        return self._backward(self.nu - self.S @ alpha) - self.K @ alpha

    def gain(self) -> ca.SX:
        """Return G = P H* D^-1 (6, k)."""
        return self._uncombined(self._backward(self.S) + self.K).T

    def solver(self, least: ca.SX | None) -> Callable[[ca.SX], ca.SX]:
        """Return a function that solves D x = h, with pivots trusted above `least`."""
        factors, B = factor(self.D, least), self.combinations
        n = B.shape[0]
        if n == 0:
            return lambda h: solve_factored(factors, h)
        return lambda h: self._uncombined(solve_factored(factors, ca.vertcat(B.T @ h[:n, :], h[n:, :])))

    def _uncombined(self, y: ca.SX) -> ca.SX:
        n = self.combinations.shape[0]
        return ca.densify(ca.vertcat(self.combinations @ y[:n, :], y[n:, :])) if n else y

    def _backward(self, y: ca.SX) -> ca.SX:
        if self.L.shape[0] < 2:
            return y
        return ca.densify(backward(self.L, elimination_order(self.D), y))


def unit_rows(H: ca.SX) -> list[int]:
    """Return the rows of H that pick out one column, and that column nothing else (up to sign).

    Then that row of H* P+ = 0 is a row of P+ itself.
    """
    rows = []
    for column in range(H.shape[1]):
        entries = [(r, H[r, column]) for r in range(H.shape[0]) if not H[r, column].is_zero()]
        if len(entries) == 1:
            row, entry = entries[0]
            alone = all(H[row, other].is_zero() for other in range(H.shape[1]) if other != column)
            if alone and entry.is_constant() and abs(float(entry)) == 1.0:
                rows.append(row)
    return rows


class JointOutcome(NamedTuple):
    """Kept by the third sweep: joint acceleration, force across the joint (in node axes), its effort."""

    acceleration: ca.SX
    f: ca.SX
    effort: ca.SX


class ArticulatedNode(Protocol):
    """A node as the articulated-body sweeps see it; a node of several bodies hands outward a record for each."""

    @property
    def shared(self) -> bool:
        """Whether its unknowns are eliminated at another node."""
        ...

    def locate(self, parent: AngularState) -> tuple[Any, Any]:
        """Return the motion for the children, and the record of the place: at least `x`."""
        ...

    def split(self, x: Any) -> SplitJoint | None:
        """Return the joint up to its last turn, if it is split; asked only of nodes that share their unknowns."""
        ...

    def shift(self, x: Any) -> Shift:
        """Return the shift from the parent to the frame in which the node meets it."""
        ...

    def bias(self, place: Any) -> ca.SX:
        """Return the acceleration (6) to be added to the parent's, carried to that frame."""
        ...

    def terms(self, children: Any, place: Any) -> NodeTerms:
        """Return the node's terms, with those that arrive from its children."""
        ...

    def recover(self, alpha: ca.SX, y: ca.SX, place: Any, hinge: HingeFactors) -> tuple[Any, Any]:
        """Return the children's accelerations and the outcome, from the frame's acceleration and the unknowns."""
        ...
