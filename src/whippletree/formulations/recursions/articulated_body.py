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

The steps take P, z, U = P H*, D and eps from what a node brings (`node_interface`), and let the node recover the
accelerations of its bodies. So they run unchanged over rigid bodies and over groups of loops (Jain 62-67).

Nodes that share freedoms, those of a body with own coordinates, pass U, D and eps on instead of eliminating: with
alpha = phi* alpha_parent + a,

    U_parent = phi U,      D_parent = D,      eps_parent = eps - U* a,      z_parent = phi (z + P a)         (2)

and the home of these freedoms eliminates them together with its joint. At a moving frame U = P H* and eps = -H z, so
that eps_parent = -H (z + P a).

Where several unknowns are eliminated, with D = L d L*, only half of a solution is needed inward,

    W = L^-1 U*,   e = L^-1 eps,   P+ = P - W* d^-1 W,   z+ = z + P+ a + W* d^-1 e                            (3)

and the other half once, outward: v' = L^-* d^-1 (e - W (alpha+ + a)). Where H picks out a row, that row of G is known
to be H's; it stays out of W, and acts as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.joints.base import SplitJoint
from whippletree.formulations.nodes.node_interface import (
    AngularState,
    Articulated,
    ArticulatedNode,
    Carried,
    HingeFactors,
    NodeTerms,
)
from whippletree.formulations.nodes.operation_stages import record_stage, record_step
from whippletree.formulations.nodes.sweeps import Walk
from whippletree.formulations.recursions.joint_wrenches import joint_wrenches
from whippletree.spatial import ArticulatedInertia, stack
from whippletree.symbolic.dense_factors import Factors, elimination_order, forward

__all__ = [
    "Dynamics",
    "driving_forces",
    "eliminate_joint",
    "find_acceleration",
    "forward_dynamics",
    "hinge_inertias",
    "locate",
    "reactions",
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
    _, hinge = walk.inward(eliminate_joint, Articulated.nothing(), place)
    base = Carried(stack(ca.SX.zeros(3), -walk.gravity))
    record_stage("position and velocity", place.records)
    record_stage("articulated inertia", hinge.records)
    outcome = walk.outward(find_acceleration, base, place, hinge)
    return Dynamics(place, hinge, outcome)


def forward_dynamics(walk: Walk) -> ca.SX:
    """Return the joint accelerations (nv)."""
    return walk.gather(sweep(walk).outcome, "acceleration")


def driving_forces(walk: Walk) -> ca.SX:
    """Return the joint efforts (nv): those given, and those that prescribed hinges need."""
    return walk.gather(sweep(walk).outcome, "effort")


def reactions(walk: Walk) -> ca.SX:
    """Return the reaction of every joint, node after node (n * 6), from (18)."""
    result = sweep(walk)
    return joint_wrenches(walk, result.place, result.outcome)


def hinge_inertias(walk: Walk) -> ca.SX:
    """Return each hinge's smallest pivot over the least that is trusted (n): not above one if it moves nothing."""
    place = walk.outward(locate, AngularState.rest())
    _, hinge = walk.inward(eliminate_joint, Articulated.nothing(), place)
    return walk.stacked(hinge, "pivot", 1)


def locate(node: ArticulatedNode, parent: AngularState) -> tuple[Any, Any]:
    """Place the node, and find its velocity-dependent acceleration and force."""
    found = node.locate(parent)
    record_step("velocities, a", found)
    return found


def eliminate_joint(node: ArticulatedNode, children: Any, place: Any) -> tuple[Articulated, HingeFactors]:
    """Eliminate the node's unknowns, and pass inertia and bias force on to the parent (7, 13 as regrouped in (1)).

    Freedoms that the node shares with others are passed on as they are (2).
    """
    split = node.split(place.x) if node.shared else None
    if split is not None:
        return _pass_on(split, node, children, place)
    shift, a = node.shift(place.x), node.bias(place)
    terms = node.terms(children, place)
    record_step("P, z, U, D added up", terms)
    P, z, U = terms.P, terms.z, terms.U
    if terms.shared:
        passed = Articulated(
            shift.inertia(P), shift.force(z + P.times(a)), shift.force(U), terms.D, terms.eps - U.T @ a
        )
        return passed, HingeFactors(ca.SX(0, 6), ca.SX(0, 1), P, z, ca.SX(2), terms.D, terms.kept)
    if U.shape[1] == 0:
        z_plus = z + P.times(a)
        still = HingeFactors(ca.SX(0, 6), terms.eps, P, z, ca.SX(2), terms.D, terms.kept)
        return Articulated(shift.inertia(P), shift.force(z_plus)), still
    factors = terms.factored()
    record_step("D = L d L*", [terms.D, factors.reciprocals, factors.L])
    W, S, e, nu = _halfway(factors, terms)
    P_plus = inertia_beyond(P, W, S, terms)
    record_step("W = L^-1 U*, P+ = P - W* d^-1 W", [W, S, P_plus])
    K = _known_gain(U.shape[1], terms)
    z_plus = z + P_plus.times(a) + S.T @ e + K.T @ terms.eps
    record_step("eps, z+", [nu, z_plus])
    pivot = _smallest_pivot(factors, terms)
    n_shared = U.shape[1] - (0 if terms.H is None else terms.H.shape[1])
    L = ca.SX(0, 0) if factors.L is None else factors.L
    kept = HingeFactors(S, nu, P, z, pivot, terms.D, terms.kept, U[:, :n_shared], L, K, terms.combinations)
    passed = Articulated(shift.inertia(P_plus), shift.force(z_plus))
    record_step("P+, z+ turned by the hinge and shifted", passed)
    return passed, kept


def _halfway(factors: Factors, terms: NodeTerms) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return W = L^-1 U*, S = d^-1 W, e = L^-1 eps and d^-1 e (3); where no L is known, all for D itself.

    Columns of S that belong to known rows of the gain are zero.
    """
    U, eps, L = terms.U, terms.eps, factors.L
    known = terms.known_rows()
    if L is None:
        S = factors.solve(U.T)
        S[:, known] = 0
        return U.T, S, eps, factors.solve(eps)
    scale = ca.vertcat(*factors.reciprocals)
    order = elimination_order(terms.D)
    W, e = forward(L, order, ca.densify(U.T)), forward(L, order, ca.densify(eps))
    S = ca.horzcat(*(scale * W[:, c] for c in range(W.shape[1])))
    S[:, known] = 0
    return W, S, e, scale * e


def _pass_on(
    split: SplitJoint, node: ArticulatedNode, children: Articulated, place: Any
) -> tuple[Articulated, HingeFactors]:
    """Pass the records that arrive at a moving frame to its body (2), in the axes before its own rotation."""
    terms = node.terms(children, place)
    P, z = split.turn.inertia(terms.P), split.turn.force(terms.z)
    record_step("P, z turned into the body's axes", [P, z])
    H, z = split.joint_map, z + P.times(place.before_turn)
    record_step("P a", z)
    U = P.times(H)
    D, eps = ca.sparsify(ca.sparsify(H).T @ U), -(H.T @ z)
    record_step("U = P H*, D = H U at the interface", [U, D, eps])
    passed = Articulated(split.shift.inertia(P), split.shift.force(z), split.shift.force(U), D, eps)
    record_step("P, z, U shifted to the body's frame", passed)
    return passed, HingeFactors(ca.SX(0, 6), ca.SX(0, 1), terms.P, terms.z, ca.SX(2), ca.SX(0, 0), ())


def find_acceleration(node: ArticulatedNode, parent: Carried, place: Any, hinge: HingeFactors) -> tuple[Any, Any]:
    """Find the joint acceleration, the node's acceleration, and the force across the joint (13, 18)."""
    split = node.split(place.x) if node.shared else None
    if split is not None:
        alpha = split.shift.motion(parent.alpha) + place.before_turn + split.joint_map @ parent.own
        alpha = split.turn.motion(alpha)
        record_step("accelerations carried outward", alpha)
        return node.recover(alpha, parent.own, place, hinge)
    alpha = node.shift(place.x).motion(parent.alpha) + node.bias(place)
    record_step("accelerations carried outward", alpha)
    y = parent.own if node.shared else hinge.unknowns(alpha)
    record_step("unknowns", y)
    return node.recover(alpha, y, place, hinge)


def inertia_beyond(P: ArticulatedInertia, W: ca.SX, S: ca.SX, terms: NodeTerms) -> ArticulatedInertia:
    """Return P+ = P - S* W, with the rows that the hinge annihilates set to zero while tracing."""
    P_plus = P.matrix() - S.T @ W
    for row in terms.known_rows():
        P_plus[row, :] = 0
        P_plus[:, row] = 0
    return ArticulatedInertia.of_matrix(P_plus)


def _known_gain(n: int, terms: NodeTerms) -> ca.SX:
    """Return (n, 6) the columns of G* known while tracing: H* G is the identity, after zeros for shared freedoms."""
    K = ca.SX(n, 6)
    for row in terms.known_rows():
        assert terms.H is not None
        K[n - terms.H.shape[1] :, row] = terms.H[row, :].T
    return K


def _smallest_pivot(factors: Factors, terms: NodeTerms) -> ca.SX:
    """Return the smallest pivot of D over the least that is trusted; two if they are always above it."""
    smallest = ca.SX(2)
    for i, reciprocal in enumerate(factors.reciprocals if terms.least is not None else ()):
        pivot, least = 1 / reciprocal, terms.least[i]  # type: ignore[index]
        smallest = ca.fmin(smallest, ca.if_else(pivot > 0, pivot / least, -1))
    return smallest
