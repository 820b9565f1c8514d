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

The steps take P, z, U = P H*, D and eps from what a node offers (`offers`), and let the node spread the accelerations
to its bodies. So they run unchanged over rigid bodies and over groups of loops (Jain 62-67).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.nodes.node_interface import AngularState, Articulated, ArticulatedNode, HingeFactors
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Walk
from whippletree.formulations.recursions.joint_wrenches import joint_wrenches
from whippletree.spatial import ArticulatedInertia, stack

__all__ = [
    "Dynamics",
    "absorb_hinge",
    "driving_forces",
    "forward_dynamics",
    "hinge_inertias",
    "locate",
    "reactions",
    "release_hinge",
    "sweep",
]


class Dynamics(NamedTuple):
    """The three sweeps' results."""

    place: Any
    hinge: Any
    outcome: Any


def sweep(walk: Walk) -> Dynamics:
    """Run the three sweeps."""
    place = walk.outward(locate, AngularState.rest())
    _, hinge = walk.inward(absorb_hinge, Articulated.nothing(), place)
    base = (stack(ca.SX.zeros(3), -walk.gravity),)
    record_stage("position and velocity", place.records)
    record_stage("articulated inertia", hinge.records)
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
    return joint_wrenches(walk, result.place, result.outcome)


def hinge_inertias(walk: Walk) -> Any:
    """Return each hinge's smallest pivot relative to what hangs on it (n): tiny if it moves nothing."""
    place = walk.outward(locate, AngularState.rest())
    _, hinge = walk.inward(absorb_hinge, Articulated.nothing(), place)
    return walk.stacked(hinge, "pivot", 1)


def locate(node: ArticulatedNode, parent: AngularState) -> tuple[Any, Any]:
    """Place the node, and find its velocity-dependent acceleration and force."""
    return node.locate(parent)


def absorb_hinge(node: ArticulatedNode, children: Any, place: Any) -> tuple[Articulated, HingeFactors]:
    """Release the hinge and pass inertia and bias force on to the parent (7, 13 as regrouped in (1))."""
    shift, a = node.shift(place.x), node.offset(place)
    offer = node.offer(children, place)
    P, z, U = offer.P, offer.z, offer.U
    if U.shape[1] == 0:
        z_plus = z + P.times(a)
        still = HingeFactors(U, offer.eps, P, z, ca.SX(1), offer.D, offer.kept)
        return Articulated(shift.inertia(P), shift.force(z_plus)), still
    factors = offer.factored()
    G = _known_gain(factors.solve(U.T).T, offer.H)
    nu = factors.solve(offer.eps)
    P_plus = release(P, U, G, offer.H)
    z_plus = z + P_plus.times(a) + G @ offer.eps
    pivot = _smallest_pivot(factors.reciprocals, P, offer.H)
    return Articulated(shift.inertia(P_plus), shift.force(z_plus)), HingeFactors(
        G, nu, P, z, pivot, offer.D, offer.kept
    )


def release_hinge(node: ArticulatedNode, parent: tuple[ca.SX], place: Any, hinge: HingeFactors) -> tuple[Any, Any]:
    """Find the joint acceleration, the node's acceleration, and the force across the joint (13, 18)."""
    alpha = node.shift(place.x).motion(parent[0]) + node.offset(place)
    return node.spread(alpha, hinge.nu - hinge.G.T @ alpha, place, hinge)


def release(P: ArticulatedInertia, PH: ca.SX, G: ca.SX, H: ca.SX | None) -> ArticulatedInertia:
    """Return P+ = P - G (P H)*, with the rows that the hinge annihilates set to zero while tracing."""
    P_plus = P.matrix() - G @ PH.T
    for row in unit_rows(H) if H is not None else ():
        P_plus[row, :] = 0
        P_plus[:, row] = 0
    return ArticulatedInertia.of_matrix(P_plus)


def _known_gain(G: ca.SX, H: ca.SX | None) -> ca.SX:
    """Set what is known of the gain while tracing: H* G is the identity."""
    if H is not None:
        for row in unit_rows(H):
            G[row, :] = H[row, :]
    return G


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


def _smallest_pivot(reciprocals: Sequence[ca.SX], P: ArticulatedInertia, H: ca.SX | None) -> ca.SX:
    """Return the smallest pivot of D, each relative to the inertia that its own column of H could feel."""
    smallest = ca.SX(1)
    if H is None:
        return smallest
    for i, reciprocal in enumerate(reciprocals):
        scale = ca.sumsqr(H[0:3, i]) * ca.trace(P.J) + ca.sumsqr(H[3:6, i]) * ca.trace(P.M)
        pivot = 1 / reciprocal
        # a parameter may cancel from the share, but not from the question
        smallest = ca.fmin(smallest, ca.if_else(pivot > 0, pivot / scale, -1))
    return smallest
