"""Articulated-body forward dynamics and inter-body forces (Jain, eqs. 7-14, 18).

Solves M(q) v' + C(q, v) = tau for v' in O(n), and gives the force across every joint from its by-products.

Symbols (Jain's, with * the transpose):

    P, P+       articulated inertia of a node, before and after its hinge is released   (7)
    D, G        hinge inertia H P H*, and gain P H* D^-1                                  (7)
    z, z+       articulated bias force, before and after                                  (13)
    eps, nu     hinge residual T - H z, and D^-1 eps                                      (13)
    alpha+      the parent's acceleration carried to the node                             (13)
    a, b        velocity-dependent acceleration and force of the node

Here z leaves out P a until the hinge is released, which is the same sum grouped anew. From (13),
z+ = z + P a + G (T - H (z + P a)), and with P+ = P - G H P

    z+ = z + P+ a + G eps,    eps = T - H z,    v' = nu - G* (alpha+ + a),    f = P alpha + z,         (1)

where alpha = alpha+ + a + H* v'. P+ has zero rows along the hinge, so P+ a is cheaper than P a.

At a prescribed hinge v' is given: P+ = P, z+ = z + P (a + H* v'), and (18) yields the driving force H f.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.node import Motion, Node
from whippletree.formulations.reactions import described
from whippletree.formulations.sweeps import Walk
from whippletree.spatial import ArticulatedInertia, factor, solve_factored, stack

__all__ = ["Dynamics", "driving_forces", "forward_dynamics", "hinge_inertias", "reactions"]


class Place(NamedTuple):
    """Kept by the first sweep: configuration, velocity-dependent terms, axes in the ground."""

    x: ca.SX
    a: ca.SX
    b: ca.SX
    axes: ca.SX


class Articulated(NamedTuple):
    """Handed inward: the articulated inertia and bias force, at the parent."""

    P: ArticulatedInertia
    z: ca.SX

    @staticmethod
    def nothing() -> Articulated:
        """Return what arrives at a tip."""
        return Articulated(ArticulatedInertia.zero(), ca.SX.zeros(6))


class Hinge(NamedTuple):
    """Kept by the second sweep."""

    G: ca.SX
    nu: ca.SX
    P: ArticulatedInertia
    z: ca.SX
    pivot: ca.SX
    D: ca.SX


class Outcome(NamedTuple):
    """Kept by the third sweep: joint acceleration, force across the joint (in node axes), its effort."""

    acceleration: ca.SX
    f: ca.SX
    effort: ca.SX


class Dynamics(NamedTuple):
    """The three sweeps' results."""

    place: Any
    hinge: Any
    outcome: Any


def sweep(walk: Walk) -> Dynamics:
    """Run the three sweeps."""
    place = walk.outward(locate, Motion.rest())
    _, hinge = walk.inward(absorb_hinge, Articulated.nothing(), place)
    base = (stack(ca.SX.zeros(3), -walk.gravity),)
    outcome = walk.outward(release_hinge, base, place, hinge)
    return Dynamics(place, hinge, outcome)


def forward_dynamics(walk: Walk) -> Any:
    """Return the joint accelerations (nv)."""
    return walk.gather(sweep(walk).outcome, "acceleration")


def driving_forces(walk: Walk) -> Any:
    """Return the joint efforts (nv): those given, and those that prescribed hinges need."""
    return walk.gather(sweep(walk).outcome, "effort")


def reactions(walk: Walk) -> Any:
    """Return the reaction of every joint, node after node (n * 6), from (18)."""
    result = sweep(walk)
    return described(walk, result.place, result.outcome)


def hinge_inertias(walk: Walk) -> Any:
    """Return each hinge's smallest pivot relative to what hangs on it (n): tiny if it moves nothing."""
    place = walk.outward(locate, Motion.rest())
    _, hinge = walk.inward(absorb_hinge, Articulated.nothing(), place)
    return walk.stacked(hinge, "pivot", 1)


def locate(node: Node, parent: Motion) -> tuple[Motion, Place]:
    """Place the node, and find its velocity-dependent acceleration and force."""
    x = node.configuration()
    motion, a = node.carry(x, parent, ca.SX.zeros(6))
    return motion, Place(x, a, node.bias_force(motion), motion.axes)


def absorb_hinge(node: Node, children: Articulated, place: Place) -> tuple[Articulated, Hinge]:
    """Release the hinge and pass inertia and bias force on to the parent (7, 13 as regrouped in (1))."""
    H, shift = node.joint_map(place.x), node.shift(place.x)
    P = children.P + node.inertia.articulated()
    z = children.z + place.b
    if node.prescribed or H.shape[1] == 0:
        z_plus = z + P.times(place.a + H @ node.acceleration)
        return Articulated(shift.inertia(P), shift.force(z_plus)), Hinge(
            H, node.acceleration, P, z, ca.SX(1), ca.SX(H.shape[1], H.shape[1])
        )
    PH = P.times(H)
    D = H.T @ PH
    factors = factor(D)
    G = solve_factored(factors, PH.T).T
    G = _known_gain(G, H)
    eps = node.tau - H.T @ z
    nu = solve_factored(factors, eps)
    P_plus = release(P, PH, G, H)
    z_plus = z + P_plus.times(place.a) + G @ eps
    pivot = _smallest_pivot(factors[1], P, H)
    return Articulated(shift.inertia(P_plus), shift.force(z_plus)), Hinge(G, nu, P, z, pivot, D)


def release_hinge(node: Node, parent: tuple[ca.SX], place: Place, hinge: Hinge) -> tuple[tuple[ca.SX], Outcome]:
    """Find the joint acceleration, the node's acceleration, and the force across the joint (13, 18)."""
    H = node.joint_map(place.x)
    alpha = node.shift(place.x).motion(parent[0]) + place.a
    free = not node.prescribed
    acceleration = hinge.nu - hinge.G.T @ alpha if free else node.acceleration
    alpha = alpha + H @ acceleration
    f = hinge.P.times(alpha) + hinge.z
    effort = node.tau if free else H.T @ f
    return (alpha,), Outcome(acceleration, f, effort)


def release(P: ArticulatedInertia, PH: ca.SX, G: ca.SX, H: ca.SX) -> ArticulatedInertia:
    """Return P+ = P - G (P H)*, with the rows that the hinge annihilates set to zero while tracing."""
    P_plus = P.matrix() - G @ PH.T
    for row in _unit_rows(H):
        P_plus[row, :] = 0
        P_plus[:, row] = 0
    return ArticulatedInertia.of_matrix(P_plus)


def _known_gain(G: ca.SX, H: ca.SX) -> ca.SX:
    """Set what is known of the gain while tracing: H* G is the identity."""
    rows = _unit_rows(H)
    for row in rows:
        G[row, :] = H[row, :]
    return G


def _unit_rows(H: ca.SX) -> list[int]:
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


def _smallest_pivot(reciprocals: list[ca.SX], P: ArticulatedInertia, H: ca.SX) -> ca.SX:
    """Return the smallest pivot of D, each relative to the inertia that its own column of H could feel."""
    smallest = ca.SX(1)
    for i, reciprocal in enumerate(reciprocals):
        scale = ca.sumsqr(H[0:3, i]) * ca.trace(P.J) + ca.sumsqr(H[3:6, i]) * ca.trace(P.M)
        pivot = 1 / reciprocal
        # a parameter may cancel from the share, but not from the question
        smallest = ca.fmin(smallest, ca.if_else(pivot > 0, pivot / scale, -1))
    return smallest
