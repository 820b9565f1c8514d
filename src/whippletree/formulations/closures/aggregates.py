"""Aggregates: a group of loops as one node of the articulated-body sweeps (Jain 47-69).

The bodies of a group hang on one body, its base, and are held together by closures. Towards the base the group
has six components, like a rigid body (see `node_interface`), and what hangs on its bodies hangs on the node. The loops
are inside.

`Embedded` has as unknowns the accelerations of the independent freedoms, the closures being solved for the others:

    v' = X y + g                                                                         (53, 58)

g holds what (58) writes as X' v_R, and what depends on time and on prescribed joints. With a the accelerations of the
bodies at y = 0 (phi* a' in (59)), H the joint map of the group (56) and K = E phi the way from its bodies to the base,

    D = H P H*,   U = K P H*,   P_base = K P K*,   z_base = K (z + P a),   eps = X* T - H (z + P a)   (62-65)

All of it is found by sweeps over the group's own bodies. P has a block for each body, which is never put into one
matrix. D either from the bodies' own H (`composite=False`), or as X* M X, with M from composite inertias (63).

`Augmented` has as unknowns the multipliers: the group's tree is released hinge by hinge, its closures' forces correct
it. With F the closures' unit forces carried to the base through the articulated inertias, A = C M^-1 C^T of the group
alone, and e the closures' second derivative where the base does not accelerate,

    F* alpha + e + A lambda = 0,     f = P alpha + z - F lambda                                       (1)

which is what `node_interface` asks for with y = -lambda, U = F, D = -A and eps = -e.

A base that is the ground does not move but "accelerates" against gravity. That is put into a from the start, and taken
off again as the node's bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureState
from whippletree.formulations.closures.loop_solution import by_closure
from whippletree.formulations.closures.partition import reduced
from whippletree.formulations.closures.schur_complement import Blocks, absorb, correction, schur_complement
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_interface import AngularState, Articulated, Carried, HingeFactors, NodeTerms
from whippletree.formulations.nodes.sweeps import Kept, StepRecord, Unrolled, add_records
from whippletree.formulations.recursions import articulated_body as articulated
from whippletree.formulations.recursions.composite_body import JointEffort
from whippletree.spatial import ArticulatedInertia, RigidInertia, Shift, mirror
from whippletree.symbolic.dense_factors import Factors, factored
from whippletree.symbolic.sparse_factors import add_to

__all__ = ["Augmented", "Embedded", "GroupOutcome"]


class GroupOutcome(NamedTuple):
    """The outcome of a group: its joints' accelerations (in the order of its tree), and those of its bodies.

    `multipliers`, by closure, if they are the unknowns.
    """

    acceleration: ca.SX
    alpha: tuple[ca.SX, ...]
    multipliers: tuple[ca.SX, ...] | None = None


class CarriedBody(NamedTuple):
    """Handed outward within a group: motion, acceleration at zero unknowns, and joint map (6, k)."""

    motion: AngularState
    a: ca.SX
    H: ca.SX


class BodyTerms(NamedTuple):
    """Kept of a body of a group."""

    x: ca.SX
    a: ca.SX
    f: ca.SX  # M a + b
    H: ca.SX
    own: ca.SX = ca.SX(0, 1)  # own efforts of a body with own coordinates


class GroupPlace(NamedTuple):
    """Where a group's bodies are; `x` is there for the sweeps, and nothing."""

    bodies: Kept[StepRecord]
    x: tuple[()] = ()


class Accumulated(NamedTuple):
    """Handed inward within a group: force at zero unknowns, forces of unit unknowns, inertias of both kinds."""

    f: ca.SX
    F: ca.SX
    I: RigidInertia
    P: ArticulatedInertia


class JointResidual(NamedTuple):
    """Kept of the inward sweep: the residual efforts T - H f of a joint, a body's share of D, its joint's column."""

    residual: ca.SX
    D: ca.SX
    column: ca.SX


class ReleasedTree(NamedTuple):
    """Kept of a group's free tree: its sweeps, accelerations, closures, their effects at its hinges, and A's pivots."""

    free: articulated.Dynamics
    a: ca.SX
    closure_states: list[ClosureState]
    effects: list[tuple[Blocks, Blocks]]
    pivots: tuple[ca.SX, ...]


@dataclass(frozen=True)
class _AggregateNode:
    """A group of loops as a node on its base; `base` is the part of the base's acceleration that a already contains."""

    tree: Unrolled
    base: ca.SX
    shared: ClassVar[bool] = False

    def shift(self, x: ca.SX) -> Shift:
        """Return no shift: the group's terms are in the base's own frame."""
        return Shift(())

    def bias(self, place: GroupPlace) -> ca.SX:
        """Subtract the part of the base's acceleration that a already contains."""
        return -self.base


@dataclass(frozen=True)
class Embedded(_AggregateNode):
    """A group whose closures are embedded; `X` and `g` by body."""

    X: tuple[ca.SX, ...]
    g: tuple[ca.SX, ...]
    size: int
    composite: bool = False

    def locate(self, parent: AngularState) -> tuple[tuple[AngularState, ...], GroupPlace]:
        """Place the bodies; find H and a of each (56, 59)."""
        motions: list[AngularState] = []

        def ride(node: Node, parent: CarriedBody, X: ca.SX, g: ca.SX) -> tuple[CarriedBody, BodyTerms]:
            x = node.configuration()
            Hj = node.joint_map(x)
            motion, a = node.carry(x, parent.motion, parent.a)
            a = a + Hj @ g
            H = node.shift(x).motion(parent.H) + Hj @ X
            motions.append(motion)
            moving = replace(node, acceleration=g)
            own = moving.own_effort(motion, a)
            return CarriedBody(motion, a, H), BodyTerms(x, a, moving.inertial_force(motion, a), H, own)

        start = CarriedBody(parent, self.base, ca.SX.zeros(6, self.size))
        bodies = self.tree.outward(ride, start, Kept(self.X), Kept(self.g))
        return tuple(motions), GroupPlace(bodies)

    def terms(self, children: object, place: GroupPlace) -> NodeTerms:
        """Gather the bodies' inertias and forces at the base (62, 64)."""
        outer = _outboard(children)
        n = len(self.tree.nodes)

        def accumulate(
            node: Node, beyond: Accumulated, body: BodyTerms, own: Articulated | None, X: ca.SX
        ) -> tuple[Accumulated, JointResidual]:
            f, P, inertia = beyond.f + body.f, beyond.P, beyond.I + node.inertia
            if own is not None:
                f = f + own.z + own.P.times(body.a)
                P = P + own.P
            Hj, shift = node.joint_map(body.x), node.shift(body.x)
            residual, inside = node.tau - Hj.T @ f, node.own_inertia()
            if inside is not None:
                residual = residual - body.own
            if self.composite:
                column = inertia.times(Hj) + P.times(Hj)
                F, D = beyond.F, ca.SX(0, 0)
                if inside is not None:
                    column, D = column + inside.coupling, inside.coupling.T @ Hj + inside.own
            else:
                own_F = node.inertia.times(body.H)
                if own is not None:
                    own_F = own_F + own.P.times(body.H)
                column, F, D = ca.SX(6, 0), beyond.F + own_F, _lower(body.H, own_F)
                if inside is not None:
                    C, E = inside.coupling, inside.own
                    both = body.H.T @ (C @ X)
                    F, D = F + C @ X, D + mirror(both + both.T + X.T @ (E @ X))
            leaving = Accumulated(shift.force(f), shift.force(F), shift.inertia(inertia), shift.inertia(P))
            return leaving, JointResidual(residual, D, column)

        empty = Accumulated(ca.SX.zeros(6), ca.SX.zeros(6, self.size), RigidInertia.zero(), ArticulatedInertia.zero())
        outboard = Kept([outer.get(m) for m in range(n)])
        total, borne = self.tree.inward(accumulate, empty, place.bodies, outboard, Kept(self.X))
        D, U = self._from_columns(place, borne) if self.composite else (_sum(r.D for r in borne.records), total.F)
        eps = ca.SX.zeros(self.size)
        for X, one in zip(self.X, borne.records, strict=True):
            eps = eps + X.T @ one.residual
        P = total.I.articulated() + total.P
        return NodeTerms(P, total.f, U, D, eps, kept=outer, least=self._least_pivots())

    def _least_pivots(self) -> ca.SX | None:
        """Return the pivots of D below which nothing but rounding is left; None if they are larger everywhere."""
        if not any(node.watched for node in self.tree.nodes):
            return None
        least = ca.SX.zeros(self.size)
        for X, node in zip(self.X, self.tree.nodes, strict=True):
            if node.least_inertia is not None:
                least = least + (X * X).T @ node.least_inertia
        return least

    def recover(
        self, alpha: ca.SX, y: ca.SX, place: GroupPlace, hinge: HingeFactors
    ) -> tuple[tuple[StepRecord, ...], GroupOutcome]:
        """Return the accelerations of bodies and joints (58, 59, 66)."""
        joints = ca.SX(self.tree.nv, 1)
        for X, g, where in zip(self.X, self.g, self.tree.v_slices, strict=True):
            joints[where] = X @ y + g

        def follow(node: Node, parent: tuple[ca.SX], body: BodyTerms, X: ca.SX) -> tuple[tuple[ca.SX], ca.SX]:
            change = node.shift(body.x).motion(parent[0]) + node.joint_map(body.x) @ (X @ y)
            return (change,), body.a + change

        alphas = self.tree.outward(follow, (alpha,), place.bodies, Kept(self.X)).records
        return tuple(Carried(one) for one in alphas), GroupOutcome(joints, tuple(alphas))

    def gathered(self, place: GroupPlace, hinge: HingeFactors, spread: GroupOutcome) -> Kept[JointEffort]:
        """Return H_S phi_S f' - T_S by joint, its remainder without the closures' forces, and phi_S f' (69)."""
        outer: Mapping[int, Articulated] = hinge.kept

        def gather(
            node: Node, beyond: tuple[ca.SX], body: BodyTerms, alpha: ca.SX, own: Articulated | None, faster: ca.SX
        ) -> tuple[tuple[ca.SX], JointEffort]:
            change = alpha - body.a
            f = beyond[0] + body.f + node.inertia.times(change)
            if own is not None:
                f = f + own.P.times(alpha) + own.z
            inside = node.own_inertia()
            if inside is not None:
                f = f + inside.coupling @ faster
            effort = node.joint_map(body.x).T @ f - node.tau
            if inside is not None:
                effort = effort + body.own + inside.coupling.T @ change + inside.own @ faster
            return (node.shift(body.x).force(f),), JointEffort(effort, f)

        n = len(self.tree.nodes)
        beyond = Kept([outer.get(m) for m in range(n)])
        faster = Kept([spread.acceleration[where] - g for g, where in zip(self.g, self.tree.v_slices, strict=True)])
        alphas = Kept(spread.alpha)
        _, lacking = self.tree.inward(gather, (ca.SX.zeros(6),), place.bodies, alphas, beyond, faster)
        return lacking

    def _from_columns(self, place: GroupPlace, borne: Kept[JointResidual]) -> tuple[ca.SX, ca.SX]:
        """Return D = X* M X (63) and U, from the composite columns of the joints."""
        tree = self.tree
        mass: dict[tuple[int, int], ca.SX] = {}
        U = ca.SX.zeros(6, self.size)
        for k, start in enumerate(borne.records):
            F, j = start.column, k
            while j >= 0 and F.shape[1]:
                node, x = tree.nodes[j], place.bodies.at(j).x
                block = node.joint_map(x).T @ F
                if j == k and start.D.numel():
                    block = block + start.D
                same = tree.v_slices[j] == tree.v_slices[k]
                if same and j != k:  # two nodes that share freedoms
                    block = block + block.T
                for r in range(block.shape[0]):
                    for c in range(block.shape[1] if not same else r + 1):
                        if not block[r, c].is_zero():
                            place_of = (tree.v_slices[j].start + r, tree.v_slices[k].start + c)
                            add_to(mass, place_of, block[r, c])
                F, j = node.shift(x).force(F), tree.parents[j]
            U = U + F @ self.X[k]
        rows: dict[int, dict[int, ca.SX]] = {}
        for X, where in zip(self.X, tree.v_slices, strict=True):
            for r in range(X.shape[0]):
                rows[where.start + r] = {c: X[r, c] for c in range(self.size) if not X[r, c].is_zero()}
        D = ca.SX(self.size, self.size)
        for (i, j), value in reduced(mass, rows).items():
            D[i, j] = D[j, i] = value
        return D, U


@dataclass(frozen=True)
class Augmented(_AggregateNode):
    """A group whose closures keep their multipliers.

    `evaluate(a)` gives its closures for accelerations (nv of its tree) of its joints, by the tree's numbers; the base
    is -1.
    """

    evaluate: Callable[[ca.SX], list[ClosureState]]

    def locate(self, parent: AngularState) -> tuple[tuple[AngularState, ...], GroupPlace]:
        """Place the bodies, as the sweeps do."""
        motions: list[AngularState] = []

        def place(node: Node, parent: AngularState) -> tuple[AngularState, StepRecord]:
            motion, kept = node.locate(parent)
            motions.append(motion)
            return motion, kept

        bodies = self.tree.outward(place, parent)
        return tuple(motions), GroupPlace(bodies)

    def terms(self, children: StepRecord, place: GroupPlace) -> NodeTerms:
        """Release the group's tree, and compute the response of tree and base to unit forces of its closures (1)."""
        outer = _outboard(children)

        def join(
            node: Node, beyond: Articulated, body: StepRecord, own: Articulated | None
        ) -> tuple[Articulated, HingeFactors]:
            return articulated.eliminate_joint(node, beyond if own is None else add_records(beyond, own), body)

        own = Kept([outer.get(m) for m in range(len(self.tree.nodes))])
        total, hinges = self.tree.inward(join, Articulated.nothing(), place.bodies, own)
        outcome = self.tree.outward(articulated.find_acceleration, Carried(self.base), place.bodies, hinges)
        free = articulated.Dynamics(place.bodies, hinges, outcome)
        a_free = self.tree.gather(outcome, "acceleration")
        closure_states = self.evaluate(a_free)
        effects, arriving = absorb(self.tree, free, closure_states)
        m = sum(one.n_rows for one in closure_states)
        A = ca.SX(m, m)
        for (i, j), value in schur_complement(effects, closure_states).items():
            A[i, j] = A[j, i] = value
        F = ca.SX(ca.horzcat(*(arriving[-1].get(c, ca.SX(6, one.n_rows)) for c, one in enumerate(closure_states))))
        e = ca.SX(ca.vertcat(*(one.second for one in closure_states)))
        # the free tree includes the share of its base, which is given with z at the base
        z, factors = total.z + total.P.times(self.base), factored(A, share=LEAST_OF_DIAGONAL)
        pivots = tuple(1 / r for r in factors.reciprocals)
        opposite = Factors(lambda b: -factors.solve(b), factors.reciprocals)
        return NodeTerms(
            total.P, z, F, -A, -e, kept=ReleasedTree(free, a_free, closure_states, effects, pivots), factors=opposite
        )

    def recover(
        self, alpha: ca.SX, y: ca.SX, place: GroupPlace, hinge: HingeFactors
    ) -> tuple[tuple[StepRecord, ...], GroupOutcome]:
        """Return the accelerations of joints and bodies: those of the free tree, corrected."""
        free, a_free, closure_states, effects, _ = hinge.kept
        multipliers = by_closure(ca.vertsplit(-y), closure_states)
        a = a_free + correction(self.tree, free, effects, multipliers, alpha).joints

        def follow(node: Node, parent: tuple[ca.SX], body: StepRecord, a: ca.SX) -> tuple[tuple[ca.SX], ca.SX]:
            moved = node.shift(body.x).motion(parent[0]) + body.a + node.joint_map(body.x) @ a
            return (moved,), moved

        own = Kept([a[where, :] for where in self.tree.v_slices])
        alphas = self.tree.outward(follow, (alpha + self.base,), place.bodies, own).records
        return tuple(Carried(one) for one in alphas), GroupOutcome(a, tuple(alphas), tuple(multipliers))


def _outboard(children: object) -> Mapping[int, Articulated]:
    """Return the records that arrive from beyond the group, by body; at a tip there are none."""
    return children if isinstance(children, dict) else {}


def _lower(H: ca.SX, F: ca.SX) -> ca.SX:
    """Return H* F, which is symmetric, from its lower half."""
    k = H.shape[1]
    if k == 1:
        return H.T @ F
    D = ca.SX.zeros(k, k)
    for i in range(k):
        for j in range(i + 1):
            D[i, j] = ca.dot(H[:, i], F[:, j])
    return mirror(D) if k else ca.SX(0, 0)


def _sum(values: Iterable[ca.SX]) -> ca.SX:
    total: ca.SX | None = None
    for value in values:
        total = value if total is None else total + value
    return ca.SX(0, 0) if total is None else total
