"""Fronts: the equations that a subtree imposes on a node and on variables of loops that leave it; their elimination.

Inward, every node hands its parent a front, in which A^ is the node's acceleration beyond what the state gives,

    f   = P A^ + F w + z                                                                                    (1)
    0   = F^T A^ + S w + e      for each variable, with the terms of the other fronts that share it

P is the reduced inertia, z the reduced force, F the reduced closure map. A front variable is the multiplier of a row
(the row is *carried*) or, once a dependent speed was eliminated with the row, what the rest of the loop adds to it (the
row is *reduced*). With A^ = phi* A^+ + H u the joint's speeds enter as variables, and leave again by a pivot. A front
has as many variables as rows cross the edge. `methods/coordinate_reduction.py` says how this is the paper's recursion,
and both the straight line and the loop over work items (`rolled/rolled_reduction.py`) are made of these steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import casadi as ca

from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_interface import unit_rows
from whippletree.spatial import ArticulatedInertia, mirror
from whippletree.symbolic.arithmetic import minus, plus, product
from whippletree.symbolic.sparse_factors import trusted

__all__ = [
    "EliminatedVariables",
    "Front",
    "FrontVariable",
    "Pairs",
    "annihilated",
    "body_front",
    "complete_front",
    "eliminate_joint",
    "eliminated",
    "end_loop",
    "force_front",
    "merged",
    "own_front",
    "recover",
    "recover_node",
    "with_speeds",
]

FrontVariable: TypeAlias = tuple[str, int]
"""("row", r): the multiplier of row r; ("rest", r): the rest of the loop's contribution to it; ("speed", i): u_i."""

Pairs: TypeAlias = Mapping[int, int]
"""The row with which each dependent freedom is eliminated."""


@dataclass(frozen=True)
class Front:
    """The equations (1) of a subtree for a node and its variables; `P` is None where nothing moves with the node."""

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


def own_front(node: Node, speeds: Sequence[FrontVariable], effort: ca.SX) -> Front:
    """Return the front of the speeds that have own inertia: coupling, own inertia, and own efforts."""
    own = node.own_inertia()
    assert own is not None
    return Front(tuple(speeds), None, own.coupling, ca.SX.zeros(6), own.own, effort)


def body_front(node: Node, f: ca.SX) -> Front:
    """Return the front of a node's own body: its inertia, and the force f that it needs without A^."""
    return Front((), node.inertia.articulated(), ca.SX(6, 0), f, ca.SX(0, 0), ca.SX(0, 1))


def complete_front(variables: tuple[FrontVariable, ...], second: ca.SX) -> Front:
    """Return the front of a complete closure: its second derivative vanishes."""
    n = len(variables)
    return Front(variables, None, ca.SX.zeros(6, n), ca.SX.zeros(6), ca.SX.zeros(n, n), -second)


def force_front(variables: tuple[FrontVariable, ...], F: ca.SX) -> Front:
    """Return the front of a closure for a node on which it acts by force columns F (6, m)."""
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
    """Eliminate one variable, or two together; return the remaining front, the way back, and the pivot.

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
    """Return the inverse of a symmetric matrix (1, 1) or (2, 2), and the pivot or determinant that must not vanish.

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
    """Return the front with one more variable: the rest of a loop's contribution to row r."""
    n = len(front.variables)
    S = ca.SX.zeros(n + 1, n + 1)
    S[:n, :n] = front.S
    i = front.variables.index(("row", r))
    S[i, n] = S[n, i] = 1
    F = ca.SX(ca.horzcat(front.F, ca.SX.zeros(6)))
    return Front((*front.variables, ("rest", r)), front.P, F, front.z, S, ca.SX(ca.vertcat(front.e, 0)))


def annihilated(front: Front, H: ca.SX, tau: ca.SX) -> Front:
    """Put in the entries that are known while tracing: along the hinge only its effort is passed on."""
    assert front.P is not None
    P, z = front.P.matrix(), ca.SX(front.z)
    for row in unit_rows(H):
        P[row, :] = 0
        P[:, row] = 0
        column = next(j for j in range(H.shape[1]) if not H[row, j].is_zero())  # not empty: unit rows have one entry
        z[row] = H[row, column] * tau[column]
    return Front(front.variables, ArticulatedInertia.of_matrix(P), front.F, z, front.S, front.e)


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
    """Find the values of the eliminated variables, last first."""
    for one in reversed(released):
        x = one.nu
        if alpha is not None:
            x = minus(x, product(one.on_node.T, alpha))
        if one.left:
            x = x - one.on_variables.T @ ca.SX(ca.vertcat(*(values[variable] for variable in one.left)))
        for i, variable in enumerate(one.gone):
            values[variable] = x[i]
