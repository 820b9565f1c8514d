"""Fully recursive formulation with a reference point of choice (Kang and Yoon, eqs. 24-46).

Solves M(q) v' + C = tau for v' in O(n), and with closed loops M v' + C = tau + C^T lambda, C v' + gamma = 0, by three
sweeps over bodies in ground axes (`ground`), whose reference point is the centre of mass, the joint point or a
point of the ground ("origin"). The text is the same for the three: where bodies share a point of the ground B1 is the
identity, and what it would shift is not shifted.

Symbols (those of `ground` too):

    M, Q                inertia and force of a body with all that hangs on it              (29)
    M11, M21, M22       M seen through B1 and B2; M21 is kept transposed                   (28)
    Q1, Q2              Q - M D seen through B1 and B2                                     (28)
    G                   M21^T M22^-1, the gain
    Phi, Phi2           rows of the closures on Y', as columns, and on q''                 (39)
    L                   reduced matrix of the closures: L lambda = gamma                   (41, 42)

Inward, a joint is eliminated and the parent takes over M11 - G M21, Q1 - G Q2 (29) and Phi1 - G Phi2 (40); outward,
q'' = M22^-1 (Q2 - M21 Y'_parent + Phi2^T lambda) (30, 43). At a prescribed joint q'' is given and joins D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState
from whippletree.formulations.closures.ground_closures import closures_on_ground
from whippletree.formulations.closures.loop_solution import Solution, by_closure, stabilised
from whippletree.formulations.closures.schur_complement import Blocks, schur_complement, unit_loads
from whippletree.formulations.methods.formulation import Formulation, TreeMethod
from whippletree.formulations.methods.registry import read_mapping, register
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_interface import Carried
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Kept, Unrolled, Walk
from whippletree.formulations.recursions.ground_axes import (
    REFERENCES,
    GroundBody,
    Reference,
    armature_of,
    bodies,
    to_ground,
    to_own,
)
from whippletree.formulations.recursions.joint_wrenches import joint_wrenches
from whippletree.spatial import ArticulatedInertia, Rotation, Translation
from whippletree.spatial.scalars import shown
from whippletree.symbolic.dense_factors import factor, solve_factored
from whippletree.symbolic.sparse_factors import add_to, factor_symmetric, minimum_degree, shares_of_diagonal

__all__ = ["CENTROID", "JOINT", "ORIGIN", "driving_forces", "forward_dynamics", "reactions", "solve"]


class Reduced(NamedTuple):
    """Handed inward: inertia and force of a body with the tree beyond it, at the parent's reference point."""

    M: ArticulatedInertia
    Q: ca.SX
    U: ca.SX = ca.SX(6, 0)  # of shared freedoms that are still to be eliminated: M21, M22 and Q2
    K: ca.SX = ca.SX(0, 0)
    R: ca.SX = ca.SX(0, 1)

    @staticmethod
    def nothing() -> Reduced:
        """Return the record that arrives at a tip."""
        return Reduced(ArticulatedInertia.zero(), ca.SX.zeros(6))


class Eliminated(NamedTuple):
    """Kept by the inward sweep; M and Q are those with all that hangs on the body."""

    M21: ca.SX  # (6, nv)
    M22: ca.SX
    G: ca.SX  # (6, nv)
    Q2: ca.SX
    M: ArticulatedInertia
    Q: ca.SX
    U: ca.SX = ca.SX(6, 0)  # forces of unit accelerations of shared freedoms that are eliminated here


class JointSolution(NamedTuple):
    """Kept by the outward sweep: joint acceleration, force across the joint (in node axes, at its point), effort."""

    acceleration: ca.SX
    f: ca.SX
    effort: ca.SX


class NodeAxes(NamedTuple):
    """The axes of a node's forces: its configuration, and its axes in the ground."""

    x: ca.SX
    axes: ca.SX


def sweep(walk: Walk, reference: Reference) -> tuple[Kept[GroundBody], Kept[JointSolution]]:
    """Run the three sweeps and return the bodies and the outcome of every joint."""
    seen = bodies(walk, reference)
    _mark_bodies(seen)
    _, joints = walk.inward(eliminate, Reduced.nothing(), seen)
    _mark_joints(joints)
    return seen, walk.outward(accelerate, Carried(ca.SX.zeros(6)), seen, joints)


def forward_dynamics(walk: Walk, reference: Reference) -> ca.SX:
    """Return the joint accelerations (nv)."""
    return walk.gather(sweep(walk, reference)[1], "acceleration")


def driving_forces(walk: Walk, reference: Reference) -> ca.SX:
    """Return the joint efforts (nv): those given, and those that prescribed hinges need."""
    return walk.gather(sweep(walk, reference)[1], "effort")


def reactions(walk: Walk, reference: Reference) -> ca.SX:
    """Return the reaction of every joint, node after node (n * 6): M Y' - Q of the tree beyond it."""
    seen, outcome = sweep(walk, reference)
    return joint_wrenches(walk, walk.outward(turned, (), seen), outcome)


def eliminate(node: Node, children: Reduced, body: GroundBody) -> tuple[Reduced, Eliminated]:
    """Eliminate a joint and hand inertia and force on to the parent (28, 29)."""
    H, shift = body.B2, body.shift()
    M = children.M + body.M.articulated()
    D = body.D + H @ node.acceleration if node.prescribed else body.D
    Q = children.Q + body.Q
    left = Q - M.times(D)
    M11, Q1 = shift.inertia(M), shift.force(left)
    n = H.shape[1]
    if node.shared:
        return _passed_on(node, children, body, M, Q, Reduced(M11, Q1))
    if (node.prescribed or n == 0) and not children.R.numel():
        none = ca.SX.zeros(6, n)
        return Reduced(M11, Q1), Eliminated(none, ca.SX.zeros(n, n), none, ca.SX.zeros(n), M, Q)
    if node.prescribed or n == 0:
        M21, M22, Q2 = shift.force(children.U), children.K, children.R - children.U.T @ D
    else:
        MH = M.times(H)
        M21, M22 = shift.force(MH), H.T @ MH
        if node.armature is not None:
            M22 = M22 + armature_of(node, body.A)
        Q2 = H.T @ left + to_ground(node, body.A, node.tau)
        if children.R.numel():
            U = children.U
            M21 = ca.horzcat(shift.force(U), M21)
            M22 = ca.densify(ca.blockcat([[children.K, U.T @ H], [H.T @ U, M22]]))
            Q2 = ca.vertcat(children.R - U.T @ D, Q2)
    G = solve_factored(_factored(node, M22), M21.T).T
    reduced = Reduced(ArticulatedInertia.of_matrix(M11.matrix() - G @ M21.T), Q1 - G @ Q2)
    return reduced, Eliminated(M21, M22, G, Q2, M, Q, children.U)


def _factored(node: Node, M22: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """Factor the inertia that a joint's acceleration meets."""
    return factor(M22, node.least_pivots(M22))


def _passed_on(
    node: Node, children: Reduced, body: GroundBody, M: ArticulatedInertia, Q: ca.SX, at_parent: Reduced
) -> tuple[Reduced, Eliminated]:
    """Pass shared freedoms on, with those of nodes beyond that share them: U = M B2 + C, and their driving forces."""
    H, n = body.B2, body.B2.shape[1]
    MH = M.times(H)
    C, K, R = ca.SX(6, n), H.T @ MH, node.tau + H.T @ Q
    if node.body is not None:
        C, K, R = C + body.own.C, K + body.own.E, R - body.own.e
    if children.R.numel():
        C, K, R = C + children.U, K + children.K, R + children.R
    K, U = ca.densify(K + H.T @ C + C.T @ H), ca.densify(MH + C)
    R = R - U.T @ body.D
    kept = Eliminated(U, K, ca.SX(6, n), R, M, Q)
    return at_parent._replace(U=body.shift().force(U), K=K, R=R), kept


def accelerate(node: Node, parent: Carried, body: GroundBody, joint: Eliminated) -> tuple[Carried, JointSolution]:
    """Find the joint's acceleration and the body's (30)."""
    return _accelerated(node, parent, body, joint, None)


def _accelerated(
    node: Node, parent: Carried, body: GroundBody, joint: Eliminated, push: ca.SX | None
) -> tuple[Carried, JointSolution]:
    """Find the joint's acceleration under the closures' effort as well (43)."""
    own, found = parent.own, ca.SX(0, 1)
    if not node.shared:
        n_own = joint.U.shape[1]
        free = not (node.prescribed or body.B2.shape[1] == 0)
        if free or n_own:
            effort = joint.Q2 - joint.M21.T @ parent.alpha
            found = solve_factored(_factored(node, joint.M22), effort if push is None else effort + push)
        own = found[:n_own] if n_own else ca.SX(0, 1)
        acceleration = (found[n_own:] if n_own else found) if free else node.acceleration
    else:
        acceleration = own
    Y = body.shift().motion(parent.alpha) + body.B2 @ acceleration + body.D
    f = joint.M.times(Y) - joint.Q
    if own.numel() and not node.shared:
        f = f + joint.U @ own
    needed = body.B2.T @ f if node.prescribed else node.tau
    if node.prescribed and node.armature is not None:
        needed = needed + node.armature * acceleration
    local = Rotation(body.A.T).force(Translation(body.field.rho).force(f))
    told = ca.SX.zeros(acceleration.shape[0]) if node.on_frame else to_own(node, body.A, acceleration)
    return Carried(Y, own), JointSolution(told, local, needed)


def turned(node: Node, _: tuple[()], body: GroundBody) -> tuple[tuple[()], NodeAxes]:
    """Keep configuration and axes."""
    return (), NodeAxes(node.configuration(), body.A)


# ---------------------------------------------------------------------------------------------------------
# Closed loops


def solve(
    walk: Unrolled, closure_set: ClosureSet, reference: Reference, baumgarte: tuple[float, float] = (0.0, 0.0)
) -> Solution:
    """Return accelerations and multipliers."""
    seen = bodies(walk, reference)
    _mark_bodies(seen)
    closure_states = closures_on_ground(walk, closure_set, seen, reference)
    record_stage("closures", closure_states)
    _, joints = walk.inward(eliminate, Reduced.nothing(), seen)
    _mark_joints(joints)
    efforts, gamma = carried(walk, seen, joints, closure_states)
    gamma = stabilised(gamma, closure_states, baumgarte)
    L = reduced_matrix(walk.nodes, joints, efforts, closure_states)
    record_stage("reduced closures", [L, gamma])
    factors = factor_symmetric(L, minimum_degree(L, range(len(gamma))))
    solved = factors.solve({i: -value for i, value in enumerate(gamma)})
    multipliers = by_closure([solved[i] for i in range(len(gamma))], closure_states)
    record_stage("multipliers", multipliers)
    a = ca.densify(ca.SX(walk.nv, 1))
    left: list[Carried] = []
    for k, node in enumerate(walk.nodes):
        push: ca.SX | None = None
        for c, Phi2 in efforts[k].items():
            own = Phi2 @ multipliers[c]
            push = own if push is None else push + own
        parent = left[walk.parents[k]] if walk.parents[k] >= 0 else Carried(ca.SX.zeros(6))
        leaving, outcome = _accelerated(node, parent, seen.at(k), joints.at(k), push)
        left.append(leaving)
        if node.v.shape[0] and not node.on_frame:
            a[walk.v_slices[k]] = outcome.acceleration
    least = shares_of_diagonal(L, factors, LEAST_OF_DIAGONAL)
    return Solution(a, lambda: multipliers, factors.pivots, least=least)


def carried(
    walk: Unrolled, seen: Kept[GroundBody], joints: Kept[Eliminated], closure_states: Sequence[ClosureState]
) -> tuple[list[Blocks], list[ca.SX]]:
    """Carry the closures' rows inward; return Phi2 of every joint, and gamma row by row (39-41)."""
    arriving, efforts = unit_loads(walk, closure_states)
    waiting: list[Blocks] = [{} for _ in walk.nodes]  # rows on own coordinates, at their home
    gamma = [one.second for one in closure_states]
    for k in reversed(range(len(walk.nodes))):
        node, body, joint = walk.nodes[k], seen.at(k), joints.at(k)
        given = node.prescribed or body.B2.shape[1] == 0
        D = body.D + body.B2 @ node.acceleration if node.prescribed else body.D
        n_own = 0 if node.shared else joint.U.shape[1]
        factors = None if node.shared or (given and not n_own) else _factored(node, joint.M22)
        for c in sorted({*arriving[k], *efforts[k], *waiting[k]}):
            Phi, e, m = arriving[k].get(c), efforts[k].get(c), closure_states[c].n_rows
            if Phi is not None:
                gamma[c] = gamma[c] + Phi.T @ D
            passed = None if Phi is None else body.shift().force(Phi)
            if node.shared:
                efforts[k].pop(c, None)
                if Phi is not None or e is not None:
                    none = ca.SX(body.B2.shape[1], m)
                    felt = (none if e is None else e) + (none if Phi is None else body.B2.T @ Phi)
                    add_to(waiting[walk.home(k)], c, felt)
            elif factors is not None:
                Phi2 = ca.SX(0, m)
                if not given:
                    none = ca.SX(body.B2.shape[1], m)
                    Phi2 = (none if e is None else e) + (none if Phi is None else body.B2.T @ Phi)
                elif e is not None:
                    gamma[c] = gamma[c] + e.T @ node.acceleration
                if n_own:
                    Phi2 = ca.densify(ca.vertcat(waiting[k].get(c, ca.SX(n_own, m)), Phi2))
                efforts[k][c] = Phi2
                gamma[c] = gamma[c] + Phi2.T @ solve_factored(factors, joint.Q2)
                passed = -(joint.G @ Phi2) if passed is None else passed - joint.G @ Phi2
            elif e is not None:
                gamma[c] = gamma[c] + efforts[k].pop(c).T @ node.acceleration
            if passed is not None and walk.parents[k] >= 0:
                add_to(arriving[walk.parents[k]], c, passed)
    return efforts, [value[i] for one, value in zip(closure_states, gamma, strict=True) for i in range(one.n_rows)]


def reduced_matrix(
    nodes: Sequence[Node], joints: Kept[Eliminated], efforts: Sequence[Blocks], closure_states: Sequence[ClosureState]
) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of L on and below the diagonal: every joint adds Phi2^T M22^-1 Phi2 (41)."""
    effects = []
    for k, of_joint in enumerate(efforts):
        if of_joint:
            factors = _factored(nodes[k], joints.at(k).M22)
            effects.append((of_joint, {c: solve_factored(factors, Phi2) for c, Phi2 in of_joint.items()}))
    return schur_complement(effects, closure_states)


def _mark_bodies(seen: object) -> None:
    """Record the stages of position and velocity, for those who count operations."""
    if not isinstance(seen, Kept):
        return  # stages are counted in straight lines only
    records = seen.records
    record_stage("position", [(b.A, b.r, b.p) for b in records])
    record_stage("velocity", [(b.axes, b.w, b.v) for b in records])
    record_stage("velocity transformations", [(b.B2, b.D) for b in records])
    record_stage("mass and force", [(b.M, b.Q) for b in records])


def _mark_joints(joints: object) -> None:
    if not isinstance(joints, Kept):
        return
    record_stage("elimination", [(j.M21, j.M22, j.G, j.Q2) for j in joints.records])


def _formulation(reference: str) -> Formulation:
    """Return the formulation with bodies' velocities referred to one of three points."""
    return Formulation(
        "fully_recursive",
        options={"reference": reference},
        tree=TreeMethod(
            partial(forward_dynamics, reference=reference),
            partial(driving_forces, reference=reference),
            partial(reactions, reference=reference),
            rolled=frozenset({"forward_dynamics", "driving_forces", "reactions"}),
        ),
        solve=lambda problem: solve(problem.walk, problem.closure_set, reference, problem.baumgarte),
        takes_baumgarte=True,
        with_options=_by_body,
    )


def _by_body(options: Mapping[str, str]) -> Formulation:
    """Return the formulation with a reference point for each body, written as the text of a mapping."""
    chosen = read_mapping(options["reference"])
    for body, point in (chosen or {"": options["reference"]}).items():
        if point not in REFERENCES:
            listed = ", ".join(f'"{name}"' for name in REFERENCES)
            whose = f' of body "{body}"' if body else ""
            raise StateError(f"reference={whose} must be one of {listed}, not {shown(point)}")

    def per_node(walk: Unrolled) -> Reference:
        return _references(walk, chosen)

    def of_tree(function: Callable[[Walk, Reference], ca.SX]) -> Callable[[Walk], ca.SX]:
        def on_walk(walk: Walk) -> ca.SX:
            assert isinstance(walk, Unrolled)
            return function(walk, per_node(walk))

        return on_walk

    return Formulation(
        "fully_recursive",
        options=dict(options),
        tree=TreeMethod(of_tree(forward_dynamics), of_tree(driving_forces), of_tree(reactions)),
        solve=lambda problem: solve(problem.walk, problem.closure_set, per_node(problem.walk), problem.baumgarte),
        takes_baumgarte=True,
        bodies=tuple(chosen),
    )


def _references(walk: Unrolled, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Return the point of each node; bodies that are welded together are one node, and those not named "origin"."""
    found: dict[int, tuple[str, str]] = {}
    for body, point in chosen.items():
        k = walk.node_of[body]
        if k >= 0 and found.setdefault(k, (body, point))[1] != point:
            raise StateError(f'bodies "{found[k][0]}" and "{body}" are welded together: give both the same reference=')
    return tuple(found[k][1] if k in found else REFERENCES[0] for k in range(len(walk.nodes)))


ORIGIN, CENTROID, JOINT = (register(_formulation(reference)) for reference in REFERENCES)
