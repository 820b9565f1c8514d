"""Recursive coordinate reduction of loops (Critchley and Anderson), for any selection of dependent coordinates.

Solves M a + C = tau + G^T lambda, G a + gamma = 0 in one inward and one outward sweep, at a cost that is linear in
bodies and closures. Accelerations are split as in (1)-(4) of the paper into what the state gives and the rest,
A = A_t + A^, and A^ is zero at the ground. Inward, every node hands its parent a *front*: what the whole subtree asks
of the node's A^ and of its variables, for closures' rows that reach out of the subtree (`closures/fronts.py`). A row
that is *reduced* is told what the rest of the loop adds to it; the paper carries the whole acceleration of the loop's
base instead (47-57). With A^ = phi* A^+ + H u the joint's speeds enter, and leave again by a pivot:

    independent      u alone, pivot H^T P H:                 the tree's recursion (12-22), (59-64)
    dependent        u and the row that it closes, pivot h:  Q, R, W, X, Y, Z of (27-45) and (53-55), (65-81)
    base of a loop   the rows that are complete, with what their fronts have gathered

The last is where fronts of loops with one base or with different bases meet (103-111): a front has as many variables as
rows cross the edge, so the two and three terms of (52) and (111) need no case of their own, and an independent speed
between dependent ones (65-102) costs what any other costs. A phantom body is a closure's side on the base.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState
from whippletree.formulations.closures.fronts import (
    EliminatedVariables,
    Front,
    FrontVariable,
    Pairs,
    body_front,
    complete_front,
    eliminate_joint,
    end_loop,
    force_front,
    merged,
    own_front,
    recover,
    recover_node,
)
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.node import AngularState
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.foundation.once import made_once
from whippletree.spatial import stack
from whippletree.symbolic.sparse_factors import minimum_degree
from whippletree.topology import Tree

__all__ = ["COORDINATE_REDUCTION", "ClosureExtent", "closure_extents", "solve"]


class ClosureExtent(NamedTuple):
    """Where closures begin and end in the tree.

    A closure is `complete` at the node on which all that it holds on to hangs (-1 is the ground); its rows `end` where
    all joints that they depend on are farther out.
    """

    complete: tuple[int, ...]
    end: tuple[int, ...]


def closure_extents(
    attachments: ClosureAttachments, tree: Tree, homes: Mapping[int, int] = MappingProxyType({})
) -> ClosureExtent:
    """Return where closures begin and end; `homes` gives the home of nodes that share freedoms.

    >>> closure_extents(ClosureAttachments((), ()), Tree([-1]))
    ClosureExtent(complete=(), end=())
    """
    complete, end = [], []
    for attachment in attachments.all:
        nodes, ends = _reach(attachment, attachments, tree, homes)
        complete.append(tree.meet(nodes))
        end.append(tree.meet(ends))
    return ClosureExtent(tuple(complete), tuple(end))


def _reach(
    attachment: ClosureAttachment, attachments: ClosureAttachments, tree: Tree, homes: Mapping[int, int]
) -> tuple[set[int], set[int]]:
    """Return the nodes that a closure holds on to, and those beyond which its rows do not reach."""
    nodes = {frame.node for frame in attachment.frames}
    ends = {attachment.base} if attachment.frames else set()
    ways = [(frame.node, attachment.base) for frame in attachment.frames]
    for c in attachment.coordinates:
        if c.node is not None:
            nodes.add(c.node)
            ends.add(tree.parents[homes.get(c.node, c.node)])
        elif c.cut is not None:
            cut = attachments.cuts[c.cut]
            nodes |= {frame.node for frame in cut.frames}
            ends.add(cut.base)
            ways += [(frame.node, cut.base) for frame in cut.frames]
    for k, base in ways if homes else ():  # shared freedoms on the way are eliminated at their home only
        ends |= {tree.parents[homes[n]] for n in tree.path(k, base) if n in homes}
    return nodes - {-1}, ends


@dataclass(frozen=True)
class _Reduction:
    """A mechanism that is being reduced."""

    walk: Unrolled
    closure_states: Sequence[ClosureState]
    where: ClosureExtent
    pairs: Pairs
    pivots: list[ca.SX]

    @made_once
    def rows(self) -> list[range]:
        """The rows of each closure."""
        ends = list(itertools.accumulate(one.n_rows for one in self.closure_states))
        return [range(end - one.n_rows, end) for end, one in zip(ends, self.closure_states, strict=True)]

    @made_once
    def reduced(self) -> set[int]:
        """The rows that lose a dependent speed before they are complete."""
        return {r for i, r in self.pairs.items() if self.node_of[i] > self.complete[r]}

    @made_once
    def complete(self) -> dict[int, int]:
        """The node at which each row is complete."""
        return {r: at for rows, at in zip(self.rows, self.where.complete, strict=True) for r in rows}

    @made_once
    def node_of(self) -> dict[int, int]:
        """The node of each freedom."""
        walk = self.walk
        return {i: walk.home(k) for k, where in enumerate(walk.v_slices) for i in range(where.start, where.stop)}

    @made_once
    def ending(self) -> dict[int, list[int]]:
        """The closures that are complete or end at each node."""
        found: dict[int, list[int]] = {}
        for c, places in enumerate(zip(self.where.complete, self.where.end, strict=True)):
            for k in set(places):
                found.setdefault(k, []).append(c)
        return found


def solve(walk: Unrolled, closure_set: ClosureSet, pairs: Pairs) -> Solution:
    """Return accelerations and multipliers; the walk's accelerations are zero but at prescribed hinges."""
    given = ca.densify(ca.SX(ca.vertcat(*_given(walk))))
    still = with_accelerations(walk, given)
    base = composite.CarriedAcceleration(AngularState.rest(), stack(ca.SX.zeros(3), -walk.gravity))
    forces = still.outward(composite.accelerate, base)
    closure_states = closure_set.evaluate(still)
    homes = {k: walk.home(k) for k, node in enumerate(walk.nodes) if node.shared}
    extents = closure_extents(closure_set.attachments, walk.tree, homes)
    reduction = _Reduction(walk, closure_states, extents, pairs, [])
    inward = _inward(reduction, forces.records)
    speeds, rows = _outward(reduction, inward)
    a = ca.densify(ca.SX(ca.vertcat(*(speeds.get(i, given[i]) for i in range(walk.nv)))))
    multipliers = [rows[r] for r in range(sum(one.n_rows for one in closure_states))]
    return Solution(a, lambda: by_closure(multipliers, closure_states), tuple(reduction.pivots))


def _given(walk: Unrolled) -> list[ca.SX]:
    given = [ca.SX(0)] * walk.nv
    for node, where in zip(walk.nodes, walk.v_slices, strict=True):
        if node.prescribed:
            for i in range(where.start, where.stop):
                given[i] = node.acceleration[i - where.start]
    return given


class _Passed(NamedTuple):
    """Kept of a node's reduction for the way back: the loops that end there, and its joint."""

    loops: list[EliminatedVariables]
    joint: list[EliminatedVariables]
    x: ca.SX


def _inward(reduction: _Reduction, forces: Sequence[composite.BodyForce]) -> list[_Passed]:
    """Reduce from the tips to the ground; the last entry is the ground's."""
    walk = reduction.walk
    arriving: list[list[Front]] = [[] for _ in range(len(walk.nodes) + 1)]
    for c, one in enumerate(reduction.closure_states):
        for at, part in _of_closure(reduction, c, one):
            arriving[at].append(part)
    passed: list[_Passed] = []
    for k in reversed(range(len(walk.nodes))):
        node, x = walk.nodes[k], forces[k].x
        fronts, loops = _close(reduction, k, arriving[k], on_node=True)
        p, where = walk.parents[k], walk.v_slices[k]
        speeds = [("speed", i) for i in range(where.start, where.stop)]
        inside = [own_front(node, speeds, forces[k].own)] if node.own_inertia() is not None else []
        merged_front = merged([body_front(node, forces[k].f), *inside, *fronts])
        own = [("speed", i) for i in range(walk.homes[k].start, walk.homes[k].stop)] if k in walk.homes else []
        front, joint, pivots = eliminate_joint(
            merged_front, node, x, speeds, reduction.pairs, reduction.reduced, own, grounded=p < 0
        )
        reduction.pivots.extend(pivots)
        passed.append(_Passed(loops, joint, x))
        if p >= 0:
            arriving[p].append(front.shifted(node, x))
        elif front.variables:
            arriving[-1].append(front)
        arriving[k] = []
    _, loops = _close(reduction, -1, arriving[-1], on_node=False)
    passed.reverse()
    return [*passed, _Passed(loops, [], ca.SX(0, 1))]


def _of_closure(reduction: _Reduction, c: int, closure_states: ClosureState) -> Iterable[tuple[int, Front]]:
    """Return the fronts of a closure itself: its forces on nodes, and its second derivative where it is complete."""
    rows = reduction.rows[c]
    if not rows:
        return
    variables = tuple(("row", r) for r in rows)
    m, none = len(variables), ca.SX.zeros(6)
    at = reduction.where.complete[c]
    yield at, complete_front(variables, closure_states.second)
    for r in sorted(
        reduction.reduced.intersection(rows)
    ):  # a row that is reduced before it is complete: 0 = own part + rest
        S = ca.SX([[0, -1], [-1, 0]])
        yield at, Front((("row", r), ("rest", r)), None, ca.SX.zeros(6, 2), none, S, ca.SX.zeros(2))
    for on_node in closure_states.node_forces:
        yield on_node.node, force_front(variables, on_node.F)
    for hinge in closure_states.joint_forces:
        i = reduction.walk.v_slices[hinge.node].start + hinge.component
        S = ca.SX.zeros(m + 1, m + 1)
        S[m, :m] = -hinge.e.T
        S[:m, m] = -hinge.e
        yield hinge.node, Front((*variables, ("speed", i)), None, ca.SX.zeros(6, m + 1), none, S, ca.SX.zeros(m + 1))


def _close(
    reduction: _Reduction, k: int, fronts: list[Front], *, on_node: bool
) -> tuple[list[Front], list[EliminatedVariables]]:
    """Eliminate the variables that end at a node, closure after closure; fronts merge only where they share one."""
    found: list[EliminatedVariables] = []
    closures = reduction.ending.get(k, [])
    closure_of = {r: c for c in closures for r in reduction.rows[c]}
    near = [{closure_of[r] for kind, r in front.variables if kind != "speed" and r in closure_of} for front in fronts]
    edges = [(a, b) for group in near for a in group for b in group if a < b]
    for c in minimum_degree(edges, closures):
        own = {(kind, r) for kind in ("row", "rest") for r in reduction.rows[c]}
        fronts, gone, pivots = end_loop(fronts, own, functools.partial(_going, reduction, k, c), on_node=on_node)
        found += gone
        reduction.pivots.extend(pivot for pivot, _ in pivots)
    return fronts, found


def _going(reduction: _Reduction, k: int, c: int, front: Front) -> list[tuple[FrontVariable, ...]]:
    """Return the variables that leave a front when closure c is complete or ends at k: rows with rest, then others."""
    rows = [r for r in reduction.rows[c] if ("row", r) in front.variables]
    going: list[tuple[FrontVariable, ...]] = []
    if reduction.where.complete[c] == k:
        going += [(("rest", r), ("row", r)) for r in rows if ("rest", r) in front.variables]
    if reduction.where.end[c] == k:
        going += [(("row", r),) for r in rows if ("rest", r) not in front.variables]
    return going


def _outward(reduction: _Reduction, inward: Sequence[_Passed]) -> tuple[dict[int, ca.SX], dict[int, ca.SX]]:
    """Return the speeds' derivatives and the multipliers."""
    walk = reduction.walk
    values: dict[FrontVariable, ca.SX] = {}
    recover(inward[-1].loops, None, values)
    moved: list[ca.SX | None] = []
    for k, node in enumerate(walk.nodes):
        passed = inward[k]
        parent = moved[walk.parents[k]] if walk.parents[k] >= 0 else None
        where = walk.v_slices[k]
        of_joint = [("speed", i) for i in range(where.start, where.stop)]
        moved.append(recover_node(node, passed.x, parent, of_joint, passed.joint, passed.loops, values))
    speeds = {i: value for (kind, i), value in values.items() if kind == "speed"}
    return speeds, {r: value for (kind, r), value in values.items() if kind == "row"}


def _solve(problem: LoopProblem) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.decisions.reduction)


COORDINATE_REDUCTION = register(
    Formulation(
        "coordinate_reduction",
        solve=_solve,
        needs=("reduction",),
        linear=True,
        loops_roll=True,
        candidacy=Candidacy(order=10),
    )
)
