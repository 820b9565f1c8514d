"""Constraint embedding: groups of loops become nodes, and the articulated-body sweeps run over a tree (Jain 47-69).

Every group of loops (`groups`) is one node (`aggregate`), whose closures are solved inside. What is left is a tree of
rigid bodies and groups, and the sweeps of `articulated` run over it unchanged. The cost grows with the number of
groups, and with the cube of what is independent in one (5.6).

The multipliers follow from the outcome. With f' the forces that the bodies of a group need (68), and H phi f' - T what
the joints lack without the closures' forces,

    C* lambda = H phi f' - T                                                             (69, corrected)

of which the dependent freedoms' rows are solved with the factors that gave X.

Each group may be solved in a way of its own (`METHODS`), so that recursive and non-recursive methods serve different
branches of one mechanism: the rest only sees its articulated inertia and bias force. `piece` is one group with the
branches that hang on it, apart from the rest, so that the ways can be compared.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, cast

import casadi as ca

from whippletree.formulations.closures.aggregates import Augmented, Embedded
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState, jacobian_rows
from whippletree.formulations.closures.contracted_trees import (
    GroupNode,
    base_acceleration,
    contracted_tree,
    joint_accelerations,
    subtree,
)
from whippletree.formulations.closures.loop_groups import NodeGroup, node_groups, with_branches
from whippletree.formulations.closures.loop_solution import Solution
from whippletree.formulations.closures.partition import Choice, at_rest, eliminate
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem, LoopSizes
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_interface import (
    AngularState,
    Articulated,
    Carried,
    HingeFactors,
    JointOutcome,
    NodeTerms,
)
from whippletree.formulations.nodes.sweeps import StepRecord, Unrolled
from whippletree.formulations.recursions import articulated_body as articulated
from whippletree.spatial import ArticulatedInertia, Shift, mirror, stack
from whippletree.symbolic.sparse_factors import add_to

__all__ = ["BY_GROUP", "CONSTRAINT_EMBEDDING", "METHODS", "piece", "solve"]

METHODS = ("embedded", "composite", "branches", "augmented")
"""How a group can be solved: its closures embedded, by its bodies' own maps; by composite inertias, without or with the
branches that hang on it; or with multipliers."""

Row = dict[int, ca.SX]


def solve(walk: Unrolled, closure_set: ClosureSet, choice: Choice, methods: Sequence[str] = ()) -> Solution:
    """Return accelerations and multipliers."""
    groups = node_groups(walk.tree, closure_set.attachments, closure_set.keep, walk.units)
    chosen = list(methods) or ["embedded"] * len(groups)
    grouped = [
        _grouped(
            walk, closure_set, choice, with_branches(walk.parents, groups, g) if method == "branches" else group, method
        )
        for g, (group, method) in enumerate(zip(groups, chosen, strict=True))
    ]
    tree, at = contracted_tree(walk, grouped)
    result = articulated.sweep(tree)
    a = joint_accelerations(tree, grouped, at, result.outcome)
    pivots = [p for one in grouped if one.factors for p in one.factors.pivots]
    pivots += [p for k, g in at.items() if grouped[g].factors is None for p in result.hinge.at(k).kept.pivots]

    @functools.cache
    def multipliers() -> list[ca.SX]:
        return _multipliers(closure_set, grouped, at, result)

    embedded = all(isinstance(one.node, Embedded) for one in grouped) and not walk.homes
    forces = functools.partial(_forces, walk, closure_set, grouped, tree, at, result, multipliers)
    return Solution(a, multipliers, tuple(pivots), forces=forces if embedded else None)


def piece(
    walk: Unrolled, closure_set: ClosureSet, choice: Choice, groups: Sequence[NodeGroup], g: int, method: str
) -> list[ca.SX]:
    """Return the outputs of a group and its branches, found by a method, over symbols for its inputs.

    These are articulated inertia and bias force at the base, joint accelerations, and the accelerations of what hangs
    on the group and has groups of its own.
    """
    whole = with_branches(walk.parents, groups, g)
    grouped = [_grouped(walk, closure_set, choice, whole if method == "branches" else groups[g], method)]
    scope = list(whole.nodes)
    beyond = [k for k, p in enumerate(walk.parents) if p in set(scope) and k not in set(scope)]
    place = {k: m for m, k in enumerate([*scope, *beyond])}
    nodes: list[object] = [walk.nodes[k] for k in scope] + [Boundary.of_symbols() for _ in beyond]
    parents = [place.get(walk.parents[k], -1) for k in place]
    slices = [walk.v_slices[k] for k in place]
    local = grouped[0].group._replace(nodes=tuple(place[k] for k in grouped[0].group.nodes), base=-1)
    homes = {place[k]: own for k, own in walk.homes.items() if k in place}
    small = Unrolled(cast(Sequence[Node], nodes), parents, slices, walk.nv, walk.gravity, homes=homes)
    tree, _ = contracted_tree(small, [grouped[0]._replace(group=local)])
    motion, alpha = AngularState.rest(), stack(ca.SX.zeros(3), -walk.gravity)
    if whole.base >= 0:
        motion = AngularState(ca.SX.sym("rate", 3), ca.SX.sym("axes", 3, 3))
        alpha = ca.SX.sym("alpha", 6)
    where = tree.outward(articulated.locate, motion)
    total, hinge = tree.inward(articulated.eliminate_joint, Articulated.nothing(), where)
    outcome = tree.outward(articulated.find_acceleration, Carried(alpha), where, hinge)
    results = [one.acceleration for one in outcome.records]
    return [*results, total.P.matrix(), total.z] if whole.base >= 0 else results


@dataclass(frozen=True)
class Boundary:
    """Stands for the mechanism beyond a piece: an articulated inertia and a bias force."""

    P: ArticulatedInertia
    z: ca.SX
    shared: ClassVar[bool] = False

    @staticmethod
    def of_symbols() -> Boundary:
        """Return one over new symbols."""
        J, B, M = (ca.SX.sym(name, 3, 3) for name in "JBM")
        return Boundary(ArticulatedInertia(mirror(J), B, mirror(M)), ca.SX.sym("z", 6))

    def locate(self, parent: AngularState) -> tuple[AngularState, BoundaryMotion]:
        """Keep the motion."""
        return parent, BoundaryMotion(parent)

    def shift(self, x: ca.SX) -> Shift:
        """Return no shift."""
        return Shift(())

    def bias(self, place: object) -> ca.SX:
        """Return zero."""
        return ca.SX.zeros(6)

    def terms(self, children: object, place: object) -> NodeTerms:
        """Return inertia and bias force, and no unknowns."""
        return NodeTerms(self.P, self.z, ca.SX(6, 0), ca.SX(0, 0), ca.SX(0, 1))

    def recover(
        self, alpha: ca.SX, y: ca.SX, place: BoundaryMotion, hinge: HingeFactors
    ) -> tuple[StepRecord, JointOutcome]:
        """Return the acceleration, and the motion, that arrive."""
        return Carried(alpha), JointOutcome(
            ca.vertcat(alpha, place.motion.rate, ca.vec(place.motion.axes)), alpha, alpha
        )


class BoundaryMotion(NamedTuple):
    """Where a piece ends."""

    motion: AngularState
    x: tuple[()] = ()


def _grouped(walk: Unrolled, closure_set: ClosureSet, choice: Choice, group: NodeGroup, method: str) -> GroupNode:
    """Return a group as a node."""
    if method == "augmented":
        return _augmented(walk, closure_set, group)
    return _embedded(at_rest(walk), closure_set, choice, group, method != "embedded")


def _embedded(still: Unrolled, closure_set: ClosureSet, choice: Choice, group: NodeGroup, composite: bool) -> GroupNode:
    """Return a group with its closures solved for its dependent freedoms (53, 58); `still` has given accelerations."""
    tree, freedoms = subtree(still, group)
    closure_states = closure_set.evaluate(still, group.attachments)
    numbers = _row_numbers(closure_set, group)
    rows = dict(zip(numbers, jacobian_rows(still, closure_states), strict=True))
    mine = set(freedoms)
    own = Choice(tuple(i for i in choice.independent if i in mine), tuple(p for p in choice.pivots if p[0] in rows))
    factors, E = eliminate(rows, own)
    seconds = [one.second[i] for one in closure_states for i in range(one.n_rows)]
    g: Row = factors.solve({r: -value for r, value in zip(numbers, seconds, strict=True)})
    for node, where in zip(tree.nodes, tree.v_slices, strict=True):
        if node.prescribed:
            g |= {freedoms[i]: node.acceleration[i - where.start] for i in range(where.start, where.stop)}
    place = {i: c for c, i in enumerate(own.independent)}
    X, drift = [], []
    for where in tree.v_slices:
        block = ca.SX(where.stop - where.start, len(place))
        for r, i in enumerate(range(where.start, where.stop)):
            for independent, value in E.get(freedoms[i], {}).items():
                block[r, place[independent]] = value
        X.append(block)
        drift.append(ca.SX(ca.vertcat(ca.SX(0, 1), *(g.get(freedoms[i], 0) for i in range(where.start, where.stop)))))
    embedded = Embedded(tree, base_acceleration(still, group), tuple(X), tuple(drift), len(place), composite)
    return GroupNode(group, embedded, numbers, freedoms, factors)


def _augmented(walk: Unrolled, closure_set: ClosureSet, group: NodeGroup) -> GroupNode:
    """Return a group that keeps its multipliers."""
    tree, freedoms = subtree(walk, group)
    local = {k: m for m, k in enumerate(group.nodes)}

    def evaluate(a: ca.SX) -> list[ClosureState]:
        nodes = list(walk.nodes)
        for k, where in zip(group.nodes, tree.v_slices, strict=True):
            nodes[k] = replace(nodes[k], acceleration=a[where, :])
        return [_localised(one, local) for one in closure_set.evaluate(walk.with_nodes(nodes), group.attachments)]

    return GroupNode(
        group,
        Augmented(tree, base_acceleration(walk, group), evaluate),
        _row_numbers(closure_set, group),
        freedoms,
        None,
    )


def _localised(closure_states: ClosureState, local: Mapping[int, int]) -> ClosureState:
    """Return a closure with the nodes' numbers in its group; nodes outside it are the base, -1."""
    node_forces = tuple(p._replace(node=local.get(p.node, -1)) for p in closure_states.node_forces)
    return closure_states._replace(
        node_forces=node_forces, joint_forces=tuple(h._replace(node=local[h.node]) for h in closure_states.joint_forces)
    )


def _row_numbers(closure_set: ClosureSet, group: NodeGroup) -> tuple[int, ...]:
    """Return the numbers of a group's rows among all kept ones."""
    starts = list(itertools.accumulate(map(len, closure_set.keep), initial=0))
    return tuple(starts[c] + i for c in group.attachments for i in range(len(closure_set.keep[c])))


def _multipliers(
    closure_set: ClosureSet, grouped: Sequence[GroupNode], at: Mapping[int, int], result: articulated.Dynamics
) -> list[ca.SX]:
    """Return the multipliers of every closure: the unknowns of its group, or by one gather over its bodies (69)."""
    values: Row = {}
    for k, g in at.items():
        one, spread = grouped[g], result.outcome.at(k)
        if isinstance(one.node, Embedded) and one.factors is not None:
            gathered = one.node.gathered(result.place.at(k), result.hinge.at(k), spread)
            lacking = one.node.tree.gather(gathered, "tau")
            dependent = {column for _, column in one.factors.places}
            right = {d: lacking[i] for i, d in enumerate(one.freedoms) if d in dependent}
            values |= one.factors.solve_transposed(right)
        else:
            found = ca.vertcat(*spread.multipliers)
            values |= {r: found[i] for i, r in enumerate(one.rows)}
    columns, start = [], 0
    for keep in closure_set.keep:
        columns.append(ca.SX(ca.vertcat(ca.SX(0, 1), *(values.get(start + i, 0) for i in range(len(keep))))))
        start += len(keep)
    return columns


def _forces(
    walk: Unrolled,
    closure_set: ClosureSet,
    grouped: Sequence[GroupNode],
    tree: Unrolled,
    at: Mapping[int, int],
    result: articulated.Dynamics,
    multipliers: Callable[[], Sequence[ca.SX]],
) -> list[ca.SX]:
    """Return the force across every joint from by-products: P alpha + z of rigid nodes (18), and inside of groups

    f_S = phi_S (f'_S - J_c* lambda)                                                     (69, corrected)

    of which phi_S f'_S was gathered to find lambda.
    """
    forces: list[ca.SX | None] = [None] * len(walk.nodes)
    rigid = iter(k for k in range(len(walk.nodes)) if not any(k in one.group.nodes for one in grouped))
    values = multipliers()
    for k in range(len(tree.nodes)):
        if k not in at:
            forces[next(rigid)] = result.outcome.at(k).f  # not empty: as many as nodes that are in no group
            continue
        one = grouped[at[k]]
        node = cast(Embedded, one.node)
        gathered = node.gathered(result.place.at(k), result.hinge.at(k), result.outcome.at(k))
        push: dict[int, ca.SX] = {}
        for c, state in zip(one.group.attachments, closure_set.evaluate(walk, one.group.attachments), strict=True):
            for on_node in state.node_forces:
                add_to(push, on_node.node, on_node.F @ values[c])
        for m in reversed(range(len(one.group.nodes))):
            own = one.group.nodes[m]
            f = gathered.at(m).f
            if own in push:
                f = f - push[own]
                up = node.tree.parents[m]
                if up >= 0:
                    x = result.place.at(k).bodies.at(m).x
                    add_to(push, one.group.nodes[up], walk.nodes[own].shift(x).force(push[own]))
            forces[own] = f
    return cast(list[ca.SX], forces)


def _solve(problem: LoopProblem) -> Solution:
    """Solve every group in the same way, or each in the one that was chosen for it."""
    return solve(problem.walk, problem.closure_set, problem.decisions.choice, problem.decisions.group_methods)


def _at_least(sizes: LoopSizes) -> int:
    """Two operations for each pair of a group's independent freedoms, in each of its bodies' maps."""
    return sum(2 * nodes * independent**2 for nodes, independent in sizes.groups)


BY_GROUP = register(
    Formulation(
        "by_group",
        solve=_solve,
        needs=("group_methods",),
        linear=True,
        by_groups=True,
        candidacy=Candidacy(order=15),
    )
)
"""Every group of loops by the method that is cheapest for it."""

CONSTRAINT_EMBEDDING = register(
    Formulation(
        "constraint_embedding",
        solve=_solve,
        linear=True,
        by_groups=True,
        candidacy=Candidacy(order=20, at_least=_at_least),
    )
)
