"""Derivatives of inverse dynamics, taken step by step.

Moving a joint by a small displacement along its axis s_j moves everything beyond it like one rigid body, and besides
brings that body a velocity d_j and an acceleration e_j, which depend on the joint alone:

    dV_k = s_j x V_k + d_j,          dA_k = s_j x A_k + d_j x V_k + e_j

for all nodes k beyond j. So a column of the derivative is not found by carrying derivatives from node to node: the
composite inertia I and the composite of velocity terms B of everything beyond a joint give the change of the force on
it,

    dF = s_j x* F + B d_j + I e_j

and a pair of freedoms costs a few products: some seventy operations, whatever lies between them. For a velocity, d_j is
s_j and the displacement is none; for an acceleration, e_j is s_j: that column is the mass matrix.

What acts from outside is differentiated by itself (`applied_derivatives.py`).

Symbols: spatial vectors are in the axes of a base at rest, about a fixed point: the ground, about the origin of the
first node of each tree; or the base of a loop, about its own origin. R axes and x origin of a node, V and A its
velocity and acceleration, S the columns s_j of its joint, D and E those of d_j and e_j for a displacement, G those of
e_j for a velocity, F the force on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial import RigidInertia, cross, skew, stack, twist_cross

__all__ = [
    "Compound",
    "Derivatives",
    "DrivenMotion",
    "DrivenNode",
    "Matrix",
    "PairTerms",
    "SpatialMotion",
    "add_entry",
    "ancestors",
    "body_compound",
    "carry_motion",
    "differentiate",
    "drive",
    "driven_nodes",
    "paired",
]

Matrix = dict[tuple[int, int], ca.SX]
"""Entries that are not zero, by row and column."""


class SpatialMotion(NamedTuple):
    """A node seen from a base at rest: axes, place, velocity, and the motion of its joint per displacement.

    `moved` has for each freedom the change of the joint's axes that is not a rotation with the node, or nothing.
    """

    R: ca.SX
    x: ca.SX
    V: ca.SX
    S: ca.SX
    D: ca.SX
    moved: tuple[ca.SX, ...]


class DrivenMotion(NamedTuple):
    """Handed outward: a node's seat and its acceleration."""

    seat: SpatialMotion
    A: ca.SX


class DrivenNode(NamedTuple):
    """A node's seat and acceleration, and the latter's derivatives by its joint's displacement (E) and velocity (G)."""

    seat: SpatialMotion
    A: ca.SX
    E: ca.SX
    G: ca.SX


class NodeDerivativeTerms(NamedTuple):
    """Kept by the outward sweep: derivatives by a joint's displacement and velocity, and the terms of its own body."""

    seat: SpatialMotion
    E: ca.SX
    G: ca.SX
    body: Compound
    A: ca.SX


class Compound(NamedTuple):
    """Bodies taken as one: inertia, the velocity terms B = [N; -2 p~] on a turning rate, and the force on them.

    `own` (6, 3) is what bodies with own coordinates add to B.
    """

    inertia: RigidInertia
    N: ca.SX
    p: ca.SX
    F: ca.SX
    own: ca.SX = ca.SX(6, 3)

    def __add__(self, other: Compound) -> Compound:  # type: ignore[override]
        own = self.own + other.own
        return Compound(self.inertia + other.inertia, self.N + other.N, self.p + other.p, self.F + other.F, own)

    @staticmethod
    def nothing() -> Compound:
        """Return no bodies."""
        return Compound(RigidInertia.zero(), ca.SX.zeros(3, 3), ca.SX.zeros(3), ca.SX.zeros(6))


class Derivatives(NamedTuple):
    """The derivatives of efforts with respect to displacements, velocities and accelerations (the mass matrix)."""

    q: Matrix
    v: Matrix
    a: Matrix


def add_entry(matrix: Matrix, row: int, column: int, value: ca.SX) -> None:
    """Add to an entry, unless there is nothing to add."""
    if not value.is_zero():
        matrix[row, column] = matrix[row, column] + value if (row, column) in matrix else value


class PairTerms(NamedTuple):
    """A node's terms for the pairs of freedoms that it is in, a column or row for each of its own.

    As the one nearer to the ground it brings S, the turning part of D, E and G; as the one farther out what the
    composite beyond it makes of these: its efforts `on_rate` (n, 3) of turning rates and `on_motion` (n, 6) of
    accelerations, and the forces `for_q` and `for_v` (6, n) of its own displacements and velocities. `turned` (n, n)
    are its own efforts of forces whose axes have moved, if these are not fixed to the node.
    """

    S: ca.SX
    D: ca.SX
    E: ca.SX
    G: ca.SX
    on_rate: ca.SX
    on_motion: ca.SX
    for_q: ca.SX
    for_v: ca.SX
    turned: ca.SX | None


def differentiate(walk: Unrolled) -> Derivatives:
    """Differentiate the inverse dynamics of a walk's nodes; loads on them are not looked at."""
    laden, terms = _swept(walk)
    found = Derivatives({}, {}, {})
    for k in range(len(terms)):
        _add_rows(walk, found, terms, k)
        _add_columns(walk, found, terms, k)
        if walk.nodes[k].body is not None:
            _add_own(walk, found, laden, k)
        armature = walk.nodes[k].armature
        if armature is not None:
            _add_block(found.a, walk.v_slices[k], walk.v_slices[k], ca.diag(armature))
    return found


def driven_nodes(walk: Unrolled) -> Sequence[DrivenNode]:
    """Sweep outward over the nodes: their places and motions, and the derivatives of these by joints' motion."""

    def step(node: Node, parent: DrivenMotion) -> tuple[DrivenMotion, DrivenNode]:
        driven, E, G = drive(node, parent)
        return driven, DrivenNode(*driven, E, G)

    return walk.outward(step, _at_rest(walk)).records


def _at_rest(walk: Unrolled) -> DrivenMotion:
    """Return the motion of the ground, as if it went up so that there were no gravity."""
    still = SpatialMotion(ca.SX.eye(3), ca.SX(0, 1), *(ca.SX.zeros(6),) * 3, ())
    return DrivenMotion(still, stack(ca.SX.zeros(3), -walk.gravity))


def _swept(walk: Unrolled) -> tuple[Sequence[NodeDerivativeTerms], list[PairTerms]]:
    """Sweep outward and inward over the nodes."""
    laden = walk.outward(accelerate, _at_rest(walk))
    _, kept = walk.inward(gather, (Compound.nothing(),), laden)
    pairs = zip(laden.records, kept.records, strict=True)
    return laden.records, [paired(own, whole) for own, whole in pairs]


def paired(own: NodeDerivativeTerms | DrivenNode, w: Compound) -> PairTerms:
    """Return the terms of a node with everything beyond it for pairs of freedoms."""
    seat = own.seat
    on_rate = seat.S[0:3, :].T @ w.N - 2 * (seat.S[3:6, :].T @ skew(w.p))
    if w.own.nnz():
        on_rate = on_rate + seat.S.T @ w.own
    B = ca.vertcat(w.N, -2 * skew(w.p)) + w.own
    moved = [force_cross(s, w.F) for s in ca.horzsplit(seat.S)]
    return PairTerms(
        seat.S,
        seat.D[0:3, :],
        own.E,
        own.G,
        on_rate,
        w.inertia.times(seat.S).T,
        _columns(moved) + B @ seat.D[0:3, :] + w.inertia.times(own.E),
        B @ seat.S[0:3, :] + w.inertia.times(own.G),
        ca.horzcat(*(change.T @ w.F for change in seat.moved)) if seat.moved else None,
    )


def accelerate(node: Node, parent: DrivenMotion) -> tuple[DrivenMotion, NodeDerivativeTerms]:
    """Carry velocity and acceleration to the node, with the derivatives by its joint's motion."""
    driven, E, G = drive(node, parent)
    body = body_compound(node.inertia, driven.seat, driven.A)
    if node.body is not None:
        body = body + _inside(node, driven.seat)
    return driven, NodeDerivativeTerms(driven.seat, E, G, body, driven.A)


def drive(node: Node, parent: DrivenMotion) -> tuple[DrivenMotion, ca.SX, ca.SX]:
    """Carry velocity and acceleration to the node, and find their derivatives by its joint's motion: E and G."""
    seat, hinge = carry_motion(node, parent.seat)
    A = parent.A + seat.S @ node.acceleration
    E, G = [], []
    if not seat.moved:  # then d_j = V_parent x s_j, of which all else is made
        turn = seat.S @ node.v
        for d, s in zip(ca.horzsplit(seat.D), ca.horzsplit(seat.S), strict=True):
            E.append(-twist_cross(s, parent.A) - twist_cross(d, parent.seat.V))
            G.append(2 * d if node.joint.nv == 1 else 2 * d + twist_cross(turn, s))
        return DrivenMotion(seat, A + seat.D @ node.v), _columns(E), _columns(G)
    A = A + place(seat, hinge.bias) + twist_cross(seat.V, seat.V - parent.seat.V)
    for j, s in enumerate(ca.horzsplit(seat.S)):
        e = -twist_cross(s, parent.A) - twist_cross(seat.D[:, j], parent.seat.V)
        e = e + seat.moved[j] @ node.acceleration + place(seat, hinge.bias_moved[:, j])
        E.append(e + twist_cross(seat.V, seat.moved[j] @ node.v))
        G.append(twist_cross(seat.V + parent.seat.V, s) + place(seat, hinge.bias_rates[:, j]))
    return DrivenMotion(seat, A), _columns(E), _columns(G)


def gather(node: Node, beyond: tuple[Compound], laden: NodeDerivativeTerms) -> tuple[tuple[Compound], Compound]:
    """Add the terms of the node to those of everything beyond it."""
    whole = beyond[0] + laden.body
    return (whole,), whole


class Hinged(NamedTuple):
    """Of a joint in its own axes: the bias of its map's change, and its derivatives; nothing if the map is constant."""

    bias: ca.SX
    bias_moved: ca.SX
    bias_rates: ca.SX


def carry_motion(node: Node, parent: SpatialMotion) -> tuple[SpatialMotion, Hinged]:
    """Carry a seat outward; nodes on the ground itself are where their tree's reference point is."""
    configuration = node.configuration()
    shift, H = node.shift(configuration), node.joint_map(configuration)
    R = parent.R @ shift.rotation()
    x = parent.x + parent.R @ shift.position() if parent.x.numel() else ca.SX.zeros(3)
    bare = SpatialMotion(R, x, parent.V, ca.SX(), ca.SX(), ())
    S = place(bare, H)
    V = parent.V + S @ node.v
    nv = H.shape[1]
    maps = ca.jacobian(ca.vec(H), node.q) @ node.joint.rate_map(node.q) if nv else ca.SX(0, 0)
    constant = maps.nnz() == 0
    local = () if constant else tuple(ca.densify(ca.reshape(maps[:, j], 6, nv)) for j in range(nv))
    moved = tuple(place(bare, change) for change in local)
    D = [-twist_cross(s, parent.V) + (moved[j] @ node.v if moved else 0) for j, s in enumerate(ca.horzsplit(S))]
    seat = SpatialMotion(R, x, V, S, _columns(D), moved)
    if constant:
        return seat, Hinged(ca.SX.zeros(6), ca.SX(), ca.SX())
    bias = sum((change @ node.v * node.v[j] for j, change in enumerate(local)), ca.SX.zeros(6))
    turning = ca.jacobian(bias, node.q) @ node.joint.rate_map(node.q)
    return seat, Hinged(bias, ca.densify(turning), ca.densify(ca.jacobian(bias, node.v)))


def place(seat: SpatialMotion, motion: ca.SX) -> ca.SX:
    """Return motion columns (6, n), given in node axes at its origin, in base axes about the reference point."""
    turning = seat.R @ motion[0:3, :]
    return ca.densify(ca.vertcat(turning, seat.R @ motion[3:6, :] + skew(seat.x) @ turning))


def _columns(parts: Sequence[ca.SX]) -> ca.SX:
    return ca.densify(ca.horzcat(ca.SX(6, 0), *parts))


def body_compound(own: RigidInertia, seat: SpatialMotion, A: ca.SX) -> Compound:
    """Return the terms of a node's own body: with sigma = tr(J) / 2 - J, N = -2 w~ sigma - 2 h~ u~."""
    inertia = own.rotated(seat.R).translated(seat.x)
    w, u = seat.V[0:3], seat.V[3:6]
    J, h = inertia.J, inertia.h
    p = inertia.m * u + cross(w, h)
    momentum = stack(J @ w + cross(h, u), p)
    F = inertia.times(A) + force_cross(seat.V, momentum)
    sigma = ca.trace(J) / 2 * ca.SX.eye(3) - J
    N = -2 * (skew(w) @ sigma + skew(h) @ skew(u))
    return Compound(inertia, ca.densify(N), p, F)


def force_cross(s: ca.SX, F: ca.SX) -> ca.SX:
    """Return s x* F, the change of a force that moves with s."""
    return stack(cross(s[0:3], F[0:3]) + cross(s[3:6], F[3:6]), cross(s[0:3], F[3:6]))


def _add_rows(walk: Unrolled, found: Derivatives, terms: Sequence[PairTerms], k: int) -> None:
    """Add the efforts at node k for all freedoms on the way to it, its own included."""
    own, rows = terms[k], walk.v_slices[k]
    for n in ancestors(walk, k, -1):
        above, columns = terms[n], walk.v_slices[n]
        K = own.on_rate @ above.D + own.on_motion @ above.E
        Dv = own.on_rate @ above.S[0:3, :] + own.on_motion @ above.G
        M = own.on_motion @ above.S
        if n == k and own.turned is not None:
            K = K + own.turned
        for i in range(rows.stop - rows.start):
            for j in range(columns.stop - columns.start):
                row, column = rows.start + i, columns.start + j
                add_entry(found.q, row, column, K[i, j])
                add_entry(found.v, row, column, Dv[i, j])
                add_entry(found.a, row, column, M[max(i, j), min(i, j)] if n == k else M[i, j])
                if n != k:
                    add_entry(found.a, column, row, M[i, j])


def _add_columns(walk: Unrolled, found: Derivatives, terms: Sequence[PairTerms], k: int) -> None:
    """Add the efforts before node k for its own freedoms: the change of the force on everything beyond it."""
    own, columns = terms[k], walk.v_slices[k]
    for n in ancestors(walk, walk.parents[k], -1):
        S, rows = terms[n].S, walk.v_slices[n]
        K, Dv = S.T @ own.for_q, S.T @ own.for_v
        for i in range(rows.stop - rows.start):
            for j in range(columns.stop - columns.start):
                add_entry(found.q, rows.start + i, columns.start + j, K[i, j])
                add_entry(found.v, rows.start + i, columns.start + j, Dv[i, j])


# ---------------------------------------------------------------------- bodies with own coordinates


class OwnSlopes(NamedTuple):
    """Derivatives, in node axes, of the force on a body with own coordinates and of its own efforts, by own coordinates
    and by their rates; and of the own efforts by the turning rate."""

    force_q: ca.SX
    force_v: ca.SX
    effort_q: ca.SX
    effort_v: ca.SX
    effort_w: ca.SX


def _inside(node: Node, seat: SpatialMotion) -> Compound:
    """Return the terms of own coordinates in a node's force, and in its derivative by the turning rate."""
    own, w = node.own_inertia(), seat.R.T @ seat.V[0:3]
    assert own is not None
    turning = ca.SX.sym("w", 3)
    slope = ca.jacobian(node.own_velocity_forces(turning).frame, turning)
    on_rate = ca.substitute(ca.densify(slope), turning, ca.densify(w)) @ seat.R.T
    f = own.coupling @ node.acceleration + node.own_velocity_forces(w).frame
    zero = ca.SX.zeros(3)
    return Compound(RigidInertia.zero(), ca.SX.zeros(3, 3), zero, force_at(seat, f), force_at(seat, on_rate))


def force_at(seat: SpatialMotion, f: ca.SX) -> ca.SX:
    """Return force columns (6, n), given in node axes at its origin, in base axes about the reference point."""
    moment, force = seat.R @ f[0:3, :], seat.R @ f[3:6, :]
    return ca.densify(ca.vertcat(moment + skew(seat.x) @ force, force))


def _local(seat: SpatialMotion, motion: ca.SX) -> ca.SX:
    """Return motion columns in base axes about the reference point in node axes at its origin: undoes `place`."""
    turning = motion[0:3, :]
    return ca.densify(ca.vertcat(seat.R.T @ turning, seat.R.T @ (motion[3:6, :] - skew(seat.x) @ turning)))


def _own_slopes(node: Node, seat: SpatialMotion, A: ca.SX) -> OwnSlopes:
    """Differentiate the force on a body with own coordinates, and its own efforts, at a state."""
    assert node.body is not None
    n = node.body.n_own
    eta, rate, w, alpha = ca.SX.sym("eta", n), ca.SX.sym("rate", n), ca.SX.sym("w", 3), ca.SX.sym("alpha", 6)
    inertia = node.body.inertia(eta).rigid
    bare = replace(node, q=eta, v=rate, inertia=inertia, loads=(), push=None, memory={})
    motion = AngularState(w, ca.SX.eye(3))
    f, effort = bare.inertial_force(motion, alpha), bare.own_effort(motion, alpha)
    slopes = [ca.jacobian(f, eta), ca.jacobian(f, rate)]
    slopes += [ca.jacobian(effort, x) for x in (eta, rate, w)]
    V, accelerated = _local(seat, seat.V), _local(seat, A)
    material = accelerated + stack(ca.SX.zeros(3), cross(V[0:3], V[3:6]))
    values = [node.q, node.v, V[0:3], material]
    found = ca.substitute([ca.densify(s) for s in slopes], [eta, rate, w, alpha], [ca.densify(x) for x in values])
    return OwnSlopes(*found)


def _add_own(walk: Unrolled, found: Derivatives, laden: Sequence[NodeDerivativeTerms], k: int) -> None:
    """Add the rows and columns of a body's own coordinates, for the motion inside the body."""
    node, seat, own = walk.nodes[k], laden[k].seat, walk.v_slices[k]
    inertia = node.own_inertia()
    assert inertia is not None
    C, slopes = inertia.coupling, _own_slopes(node, seat, laden[k].A)
    V = _local(seat, seat.V)

    def moved(velocity: ca.SX, acceleration: ca.SX) -> ca.SX:
        """Return the change of the own efforts for columns d and e: the body's acceleration changes by e - V x d."""
        along = _columns([twist_cross(seat.V, d) for d in ca.horzsplit(velocity)])
        dV, dA = _local(seat, velocity), _local(seat, acceleration - along)
        centripetal = skew(V[0:3]) @ dV[3:6, :] - skew(V[3:6]) @ dV[0:3, :]
        return C.T @ (dA + ca.vertcat(ca.SX(3, dA.shape[1]), centripetal)) + slopes.effort_w @ dV[0:3, :]

    force_q, force_v = force_at(seat, slopes.force_q), force_at(seat, slopes.force_v)
    force_a = force_at(seat, C)
    for n in walk.tree.path(k):
        above, columns = laden[n], walk.v_slices[n]
        _add_block(found.q, own, columns, moved(above.seat.D, above.E))
        _add_block(found.v, own, columns, moved(above.seat.S, above.G))
        _add_block(found.q, columns, own, above.seat.S.T @ force_q)
        _add_block(found.v, columns, own, above.seat.S.T @ force_v)
        M = above.seat.S.T @ force_a
        _add_block(found.a, columns, own, M)
        _add_block(found.a, own, columns, M.T)
    _add_block(found.q, own, own, slopes.effort_q)
    _add_block(found.v, own, own, slopes.effort_v)
    _add_block(found.a, own, own, inertia.own)


def _add_block(matrix: Matrix, rows: slice, columns: slice, block: ca.SX) -> None:
    """Add a block of entries."""
    for i in range(rows.stop - rows.start):
        for j in range(columns.stop - columns.start):
            add_entry(matrix, rows.start + i, columns.start + j, block[i, j])


def ancestors(walk: Unrolled, k: int, base: int) -> Iterator[int]:
    """Walk from a node toward the base, the node first and the base left out."""
    while k != base and k >= 0:
        yield k
        k = walk.parents[k]
