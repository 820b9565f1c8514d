"""Recursive coordinate reduction of loops (Critchley and Anderson), for any selection of dependent coordinates.

Solves M a + C = tau + G^T lambda, G a + gamma = 0 in one inward and one outward sweep, at a cost that is linear in
bodies and closures. Accelerations are split as in (1)-(4) of the paper into what the state gives and the rest,
A = A_t + A^, and A^ is zero at the ground. Inward, every node hands its parent a *front*: what the whole subtree
asks of the node's A^ and of its *front variables*, for closures' rows that reach out of the subtree,

    f   = P A^ + F w + z                                                                                    (1)
    0   = F^T A^ + S w + e      for each variable, with the terms of the other fronts that share it

P is the reduced inertia, z the reduced force, F the reduced closure map. A front variable is the multiplier of a row
(the row is *carried*) or, once a dependent speed was eliminated with the row, what the rest of the loop adds to it (the
row is *reduced*; the paper carries the whole acceleration of the loop's base instead, 47-57). With
A^ = phi* A^+ + H u the joint's speeds enter, and leave again by a pivot:

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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import casadi as ca

from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.node_interface import unit_rows
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.foundation.once import made_once
from whippletree.spatial import ArticulatedInertia, mirror, stack
from whippletree.symbolic.arithmetic import minus, plus, product
from whippletree.symbolic.sparse_factors import minimum_degree, trusted
from whippletree.topology import Tree

__all__ = [
    "COORDINATE_REDUCTION",
    "ClosureExtent",
    "EliminatedVariables",
    "Front",
    "body_front",
    "closure_extents",
    "complete_front",
    "eliminate_joint",
    "end_loop",
    "force_front",
    "merged",
    "own_front",
    "recover",
    "recover_node",
    "solve",
]

FrontVariable: TypeAlias = tuple[str, int]
"""("row", r): the multiplier of row r; ("rest", r): what the rest of the loop adds to it; ("speed", i): u_i."""

Pairs: TypeAlias = Mapping[int, int]
"""The row with which each dependent freedom is eliminated."""


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
class Front:
    """What a subtree asks of a node and of its variables, as in (1); `P` is None where nothing moves with the node."""

    variables: tuple[FrontVariable, ...]
    P: ArticulatedInertia | None
    F: ca.SX
    z: ca.SX
    S: ca.SX
    e: ca.SX

    def shifted(self, node: Node, x: ca.SX) -> Front:
        """Return the front at the parent."""
        shift = node.shift(x)
        P = None if self.P is None else shift.inertia(self.P)
        F = shift.force(self.F) if self.variables else self.F
        return Front(self.variables, P, F, shift.force(self.z), self.S, self.e)

    def grounded(self) -> Front:
        """Return the front on the ground, where only its variables are left."""
        return Front(self.variables, None, ca.SX.zeros(6, len(self.variables)), ca.SX.zeros(6), self.S, self.e)

    def renamed(self, variables: tuple[FrontVariable, ...]) -> Front:
        """Return the front with other names for its variables."""
        return Front(variables, self.P, self.F, self.z, self.S, self.e)


class EliminatedVariables(NamedTuple):
    """Variables that were eliminated, x = nu - G^T [A^; w]: gains on the node and on the variables that are left."""

    gone: tuple[FrontVariable, ...]
    nu: ca.SX
    on_node: ca.SX  # (6, k)
    left: tuple[FrontVariable, ...]
    on_variables: ca.SX  # (n, k)


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
    """What a node's reduction leaves for the way back: the loops that end there, and its joint."""

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
        inside = [own_front(node, speeds, forces[k].own)] if node.body is not None else []
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


def own_front(node: Node, speeds: Sequence[FrontVariable], effort: ca.SX) -> Front:
    """Return what a body with own coordinates asks of their speeds: coupling, own inertia, and own efforts."""
    own = node.own_inertia()
    assert own is not None
    return Front(tuple(speeds), None, own.coupling, ca.SX.zeros(6), own.own, effort)


def _of_closure(reduction: _Reduction, c: int, closure_states: ClosureState) -> Iterable[tuple[int, Front]]:
    """Return what a closure itself asks: its forces on nodes, and where it is complete its second derivative."""
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


def body_front(node: Node, f: ca.SX) -> Front:
    """Return what a node's own body asks of it: its inertia, and the force f that it needs without A^."""
    return Front((), node.inertia.articulated(), ca.SX(6, 0), f, ca.SX(0, 0), ca.SX(0, 1))


def complete_front(variables: tuple[FrontVariable, ...], second: ca.SX) -> Front:
    """Return what a closure asks where it is complete: that its second derivative vanishes."""
    n = len(variables)
    return Front(variables, None, ca.SX.zeros(6, n), ca.SX.zeros(6), ca.SX.zeros(n, n), -second)


def force_front(variables: tuple[FrontVariable, ...], F: ca.SX) -> Front:
    """Return what a closure asks of a node that it holds on to by force columns F (6, m)."""
    n = len(variables)
    return Front(variables, None, -F, ca.SX.zeros(6), ca.SX.zeros(n, n), ca.SX.zeros(n))


def merged(fronts: Sequence[Front]) -> Front:
    """Return the sum of fronts on one node."""
    if len(fronts) == 1:
        return fronts[0]
    variables = tuple(dict.fromkeys(variable for front in fronts for variable in front.variables))
    place = {variable: i for i, variable in enumerate(variables)}
    n = len(variables)
    P: ArticulatedInertia | None = None
    F, S, e, z = ca.SX.zeros(6, n), ca.SX.zeros(n, n), ca.SX.zeros(n), ca.SX.zeros(6)
    for front in fronts:
        if front.P is not None:
            P = front.P if P is None else P + front.P
        z = plus(z, front.z)
        at = [place[variable] for variable in front.variables]
        if at:
            F[:, at] = plus(F[:, at], front.F)
            S[at, at] = plus(S[at, at], front.S)
            e[at, :] = plus(e[at, :], front.e)
    return Front(variables, P, F, z, S, e)


def eliminated(
    front: Front, gone: Sequence[FrontVariable], *, on_node: bool = True, least: ca.SX | None = None
) -> tuple[Front, EliminatedVariables, ca.SX]:
    """Eliminate one variable, or two together; return what is left, the way back, and the pivot.

    The pivot of a single variable, positive for a speed and negative for a row, is `trusted` only if it is farther from
    zero than `least`, if that is given.
    """
    i = [front.variables.index(variable) for variable in gone]
    rest = [j for j in range(len(front.variables)) if j not in i]
    inverse, pivot = _inverse(front.S[i, i], least, negative=gone[0][0] == "row")
    K_w = front.S[i, rest]
    G_w = product(inverse, K_w).T
    nu = -product(inverse, front.e[i, :])
    e = plus(front.e[rest, :], product(K_w.T, nu))
    S = mirror(minus(front.S[rest, rest], product(G_w, K_w))) if rest else ca.SX(0, 0)
    left = tuple(front.variables[j] for j in rest)
    P, F, z = front.P, front.F[:, rest], front.z
    G_a = ca.SX(6, len(i))
    if on_node:
        K_a = front.F[:, i]
        G_a = product(K_a, inverse)
        z = plus(z, product(K_a, nu))
        F = minus(F, product(G_a, K_w))
        change = product(-G_a, K_a.T)
        P = ArticulatedInertia.of_matrix(change if P is None else plus(P.matrix(), change))
    return Front(left, P, F, z, S, e), EliminatedVariables(tuple(gone), nu, G_a, left, G_w), pivot


def _inverse(A: ca.SX, least: ca.SX | None, *, negative: bool) -> tuple[ca.SX, ca.SX]:
    """Return the inverse of a symmetric matrix (1, 1) or (2, 2), and what must not vanish for it.

    Of two variables one is a row, or what is added to it: no inertia is divided by, and nothing cancels in the
    determinant, since the diagonal entries of speeds and of rows have opposite signs.
    """
    if A.shape[0] == 1:
        pivot = A[0, 0]
        return 1 / trusted(pivot, least, negative=negative), pivot
    a, h, b = A[0, 0], A[1, 0], A[1, 1]
    if a.is_zero() or b.is_zero():
        r = 1 / h
        rr = r * r
        return ca.densify(ca.blockcat([[-b * rr, r], [r, -a * rr]])), h
    d = a * b - h * h
    r = 1 / d
    off = -h * r
    return ca.densify(ca.blockcat([[b * r, off], [off, a * r]])), ca.sqrt(ca.fabs(d))


def _close(
    reduction: _Reduction, k: int, fronts: list[Front], *, on_node: bool
) -> tuple[list[Front], list[EliminatedVariables]]:
    """Eliminate what ends at a node, closure after closure; fronts meet only where they share one."""
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


def end_loop(
    fronts: list[Front],
    own: Collection[FrontVariable],
    going: Callable[[Front], Sequence[tuple[FrontVariable, ...]]],
    *,
    on_node: bool,
) -> tuple[list[Front], list[EliminatedVariables], list[tuple[ca.SX, ca.SX]]]:
    """Merge the fronts that have variables of a loop, and eliminate those that `going` finds in the merged one.

    Return also each pivot, with what it was before the loop ended.
    """
    sharing = [front for front in fronts if any(variable in own for variable in front.variables)]
    if not sharing:
        return fronts, [], []
    front = merged(sharing)
    before = {variable: front.S[i, i] for i, variable in enumerate(front.variables)}
    found: list[EliminatedVariables] = []
    pivots: list[tuple[ca.SX, ca.SX]] = []
    for n, gone in enumerate(going(front)):
        # from the first row's pivot nothing has been subtracted yet
        least = None if n == 0 or len(gone) > 1 else LEAST_OF_DIAGONAL * before[gone[0]]
        front, released, pivot = eliminated(front, gone, on_node=on_node, least=least)
        found.append(released)
        pivots.append((pivot, before[gone[0]]))
    return [*(f for f in fronts if not any(f is o for o in sharing)), front], found, pivots


def _going(reduction: _Reduction, k: int, c: int, front: Front) -> list[tuple[FrontVariable, ...]]:
    """Return what leaves a front when closure c is complete or ends at node k: rows with their rest, then others."""
    rows = [r for r in reduction.rows[c] if ("row", r) in front.variables]
    going: list[tuple[FrontVariable, ...]] = []
    if reduction.where.complete[c] == k:
        going += [(("rest", r), ("row", r)) for r in rows if ("rest", r) in front.variables]
    if reduction.where.end[c] == k:
        going += [(("row", r),) for r in rows if ("rest", r) not in front.variables]
    return going


def eliminate_joint(
    front: Front,
    node: Node,
    x: ca.SX,
    speeds: Sequence[FrontVariable],
    pairs: Pairs = MappingProxyType({}),
    reduced: Collection[int] = (),
    own: Sequence[FrontVariable] = (),
    *,
    grounded: bool,
) -> tuple[Front, list[EliminatedVariables], list[ca.SX]]:
    """Let the joint's speeds in and eliminate them, the dependent ones each with its row; return these ones' pivots.

    Speeds that are shared with other nodes stay in the front until their home eliminates them; there they are `own`.
    """
    H = node.joint_map(x)
    if node.shared:
        return with_speeds(front, H, node.tau, speeds), [], []
    if node.prescribed or H.shape[1] == 0:
        keep = [i for i, variable in enumerate(front.variables) if variable not in speeds]
        variables = tuple(front.variables[i] for i in keep)
        front = Front(variables, front.P, front.F[:, keep], front.z, front.S[keep, keep], front.e[keep, :])
        return _eliminate_speeds(front, own, pairs, reduced, _least_pivots(front, node, own, ()), on_node=not grounded)
    along_hinge = any(variable in speeds for variable in front.variables)  # closures act along the hinge, too
    front = with_speeds(front, H, node.tau, speeds)
    least = _least_pivots(front, node, own, speeds)
    front, found, pivots = _eliminate_speeds(front, [*own, *speeds], pairs, reduced, least, on_node=not grounded)
    return (front if grounded or along_hinge else annihilated(front, H, node.tau)), found, pivots


def _least_pivots(
    front: Front, node: Node, own: Sequence[FrontVariable], speeds: Sequence[FrontVariable]
) -> dict[FrontVariable, ca.SX]:
    """Return the pivots of speeds below which nothing but rounding is left, where they may come to that."""
    if not node.watched:
        return {}
    at = {variable: i for i, variable in enumerate(front.variables)}
    least = {speed: LEAST_OF_DIAGONAL * front.S[at[speed], at[speed]] for speed in own}
    if node.least_inertia is not None:
        least |= {speed: node.least_inertia[i] for i, speed in enumerate(speeds)}
    return least


def _eliminate_speeds(
    front: Front,
    speeds: Sequence[FrontVariable],
    pairs: Pairs,
    reduced: Collection[int],
    least: Mapping[FrontVariable, ca.SX],
    *,
    on_node: bool,
) -> tuple[Front, list[EliminatedVariables], list[ca.SX]]:
    """Eliminate speeds one after the other, the dependent ones each with its row."""
    found: list[EliminatedVariables] = []
    pivots: list[ca.SX] = []
    for speed in speeds:
        gone: tuple[FrontVariable, ...] = (speed,)
        r = pairs.get(speed[1])
        if r is not None:
            gone = (speed, ("row", r))
            if r in reduced:
                front = _with_rest(front, r)
        front, released, pivot = eliminated(front, gone, on_node=on_node, least=least.get(speed))
        found.append(released)
        if r is not None:
            pivots.append(pivot)
    return front, found, pivots


def with_speeds(front: Front, H: ca.SX, tau: ca.SX, speeds: Sequence[FrontVariable]) -> Front:
    """Return the front with the joint's speeds as variables: A^ becomes that of the parent, carried to the node."""
    assert front.P is not None
    across = H.T
    PH, e = front.P.times(H), minus(product(across, front.z), tau)
    known = [
        i for i, variable in enumerate(front.variables) if variable in speeds
    ]  # closures that hold this joint's speeds
    other = [i for i in range(len(front.variables)) if i not in known]
    variables = (*speeds, *(front.variables[i] for i in other))
    D, h = product(across, PH), product(across, front.F[:, other])
    if known:  # the variable is the speed itself: w_k = E u
        E = ca.SX.zeros(len(known), len(speeds))
        for n, i in enumerate(known):
            E[n, list(speeds).index(front.variables[i])] = 1
        felt = front.F[:, known] @ E
        D = D + across @ felt + felt.T @ H + E.T @ front.S[known, known] @ E
        PH, e = PH + felt, e + E.T @ front.e[known, :]
        h = h + E.T @ front.S[known, other]
    D = mirror(D)
    S = ca.densify(ca.blockcat([[D, h], [h.T, front.S[other, other]]])) if other else D
    F = ca.SX(ca.horzcat(PH, front.F[:, other]))
    return Front(variables, front.P, F, front.z, S, ca.SX(ca.vertcat(e, front.e[other, :])))


def _with_rest(front: Front, r: int) -> Front:
    """Return the front with one more variable: what the rest of a loop adds to row r."""
    n = len(front.variables)
    S = ca.SX.zeros(n + 1, n + 1)
    S[:n, :n] = front.S
    i = front.variables.index(("row", r))
    S[i, n] = S[n, i] = 1
    F = ca.SX(ca.horzcat(front.F, ca.SX.zeros(6)))
    return Front((*front.variables, ("rest", r)), front.P, F, front.z, S, ca.SX(ca.vertcat(front.e, 0)))


def annihilated(front: Front, H: ca.SX, tau: ca.SX) -> Front:
    """Set what is known while tracing: along the hinge nothing but its effort is passed on."""
    assert front.P is not None
    P, z = front.P.matrix(), ca.SX(front.z)
    for row in unit_rows(H):
        P[row, :] = 0
        P[:, row] = 0
        column = next(j for j in range(H.shape[1]) if not H[row, j].is_zero())
        z[row] = H[row, column] * tau[column]
    return Front(front.variables, ArticulatedInertia.of_matrix(P), front.F, z, front.S, front.e)


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


def recover_node(
    node: Node,
    x: ca.SX,
    parent: ca.SX | None,
    speeds: Sequence[FrontVariable],
    joint: Sequence[EliminatedVariables],
    loops: Sequence[EliminatedVariables],
    values: dict[FrontVariable, ca.SX],
) -> ca.SX | None:
    """Find the speeds' derivatives of a joint, its node's A^, and then the multipliers of the loops that end there."""
    alpha = None if parent is None else node.shift(x).motion(parent)
    recover(joint, alpha, values)
    if speeds and not node.prescribed:
        u = ca.SX(ca.vertcat(*(values[speed] for speed in speeds)))
        own = node.joint_map(x) @ u
        alpha = own if alpha is None else alpha + own
    recover(loops, alpha, values)
    return alpha


def recover(released: Sequence[EliminatedVariables], alpha: ca.SX | None, values: dict[FrontVariable, ca.SX]) -> None:
    """Find the values of what was eliminated, last first."""
    for one in reversed(released):
        x = one.nu
        if alpha is not None:
            x = minus(x, product(one.on_node.T, alpha))
        if one.left:
            x = x - one.on_variables.T @ ca.SX(ca.vertcat(*(values[variable] for variable in one.left)))
        for i, variable in enumerate(one.gone):
            values[variable] = x[i]


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
