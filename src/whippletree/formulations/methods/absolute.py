"""Absolute coordinates with multipliers (Nikravesh 1-4).

Every node is a body of its own, with six accelerations; every joint, in the tree or cut, is a closure. Solves

    [ M   D^T ] [ alpha   ]   [ g      ]
    [ D    0  ] [ -lambda ] = [ -gamma ]                                                    (1-4)

by sparse elimination. The matrix is symmetric but not definite, and M may be singular (thin rods, massless bodies), so
the pivots are chosen by numbers and given to the trace.

alpha is the acceleration of a node's material origin, in node axes. Joint accelerations follow from those of the
bodies they join. Own coordinates eta of bodies are unknowns beside alpha, with the coupling C and own inertia E of
their body (see `node`); what shares them is led by the six rows alpha = phi* alpha_parent + H eta'' + a.

In a tree the order of elimination follows from the joints, from the tips inward, and needs no numbers. The rows of a
joint are written in the axes of its node, where the directions that it holds are mostly axes: such a row gives one
component of alpha, the force along it gives the multiplier, both with pivots of one, and what the joint lets move is
left, with the hinge's inertia as pivot (`held_axes`). A joint whose map is not made of axes, such as a universal joint,
has six rows and its own accelerations beside alpha, as own coordinates have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures import JointClosure, Rows, Side, joint_rates
from whippletree.elements.joints import Joint, Reversed
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.formulations.methods.formulation import Formulation, LoopProblem, TreeMethod
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import kinematics
from whippletree.spatial import Rotation, Translation, cross, stack
from whippletree.symbolic.sparse_factors import Column, factor_lu

__all__ = [
    "ABSOLUTE",
    "UNKNOWN_OF",
    "Bodies",
    "bodies",
    "cut_rows",
    "forward_dynamics",
    "held_axes",
    "held_joints",
    "solve",
    "tree_rows",
]

Key = tuple[str, int, int]

UNKNOWN_OF = {"force": "alpha", "effort": "own", "closure": "lambda"}
"""The unknown that belongs to each row: bodies' accelerations, own coordinates', multipliers."""


class Anchor(NamedTuple):
    """A frame in the ground frame: its side, the acceleration its node's turning gives it, its node's axes."""

    frame: NodeFrame
    side: Side
    centripetal: ca.SX
    axes: ca.SX


class BodyRows(NamedTuple):
    """Rows on the bodies: columns F (6, m) by node, and the part of phi'' that no body's acceleration contributes."""

    node_forces: dict[int, ca.SX]
    bias: ca.SX
    own: Mapping[int, ca.SX] = MappingProxyType({})  # columns (m) by own coordinate


@dataclass(frozen=True)
class Bodies:
    """The equations: entries of the matrix by row, right-hand sides, and the places of results in the solution."""

    rows: dict[Key, dict[Key, ca.SX]]
    right: dict[Key, ca.SX]
    joints: list[tuple[slice, BodyRows]]
    own: list[int]
    n_closure_rows: int
    first_closure_row: int


def solve(walk: Unrolled, closure_set: ClosureSet, pivots: Sequence[tuple[Key, Key]]) -> Solution:
    """Return accelerations of all joints and the closures' multipliers."""
    equations = bodies(walk, closure_set)
    record_stage("bodies and joints", equations.rows)
    record_stage("right-hand side", equations.right)
    factors = factor_lu(equations.rows, pivots)
    x = factors.solve(dict(equations.right))
    a = _joint_accelerations(equations, x, walk.nv)
    for i in equations.own:
        a[i] = x.get(("own", 0, i), ca.SX(0))
    first = equations.first_closure_row
    values = [-x.get(("lambda", first + r, 0), ca.SX(0)) for r in range(equations.n_closure_rows)]
    return Solution(a, lambda: by_closure(values, closure_set.evaluate(walk)), factors.pivots)


def _joint_accelerations(equations: Bodies, x: Column, nv: int) -> ca.SX:
    """Return the accelerations (nv) of joints that follow from those of the bodies; others are zero."""
    a = ca.densify(ca.SX(nv, 1))
    for where, row in equations.joints:
        total = row.bias
        for k, F in row.node_forces.items():
            total = total + F.T @ ca.vertcat(*(x.get(("alpha", k, i), 0) for i in range(6)))
        a[where] = total
    return a


def bodies(walk: Unrolled, closure_set: ClosureSet) -> Bodies:
    """Set up the equations of all bodies and all joints."""
    moving = kinematics.twists(walk)
    motions = [AngularState(kept.V[0:3], kept.R) for kept in moving.records]
    rates = _rates(walk, closure_set, moving)
    joints: list[tuple[slice, BodyRows]] = []
    constraints: list[BodyRows] = []
    armed: dict[int, ca.SX] = {}
    forces = [_force(walk, node, motion) for node, motion in zip(walk.nodes, motions, strict=True)]
    for k, (node, where) in enumerate(zip(walk.nodes, walk.v_slices, strict=True)):
        if node.shared:
            constraints.append(_led(walk, motions, k))
            continue
        constraints.append(_tree_row(walk, moving, k, closure_set.t))
        if node.joint.nv:
            rate = rates[f"node {k}"]
            joints.append((where, rate))
            if node.prescribed:
                constraints.append(BodyRows(rate.node_forces, rate.bias - node.acceleration))
            else:
                _push(forces, rate, node.tau)
                armed.update(_with_rates(constraints, rate, where, node.armature))
    for k, cut in enumerate(closure_set.attachments.cuts):
        if cut.joint.nv:
            joints.append((cut.v, rates[f"cut {k}"]))
            # efforts at cut joints are in the nodes' loads already
            if not cut.use.prescribed and cut.use.armature:
                armed.update(_with_rates(constraints, rates[f"cut {k}"], cut.v, ca.SX(ca.vertcat(*cut.use.armature))))
    first = sum(row.bias.shape[0] for row in constraints)
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        constraints.append(_closure(closure_set, moving, attachment, keep, rates))
    free = dict.fromkeys(armed, ca.SX(0))
    return _assembled(walk, motions, constraints, forces, joints, first, free, armed)


def _with_rates(constraints: list[BodyRows], rate: BodyRows, where: slice, armature: ca.SX | None) -> dict[int, ca.SX]:
    """Make the accelerations of a joint with armature unknowns of their own: a row each, whose effort is a q''."""
    if armature is None:
        return {}
    units = {i: -ca.SX([float(i == j) for j in _places(where)]) for i in _places(where)}
    constraints.append(BodyRows(rate.node_forces, rate.bias, units))
    return dict(zip(_places(where), ca.vertsplit(armature), strict=True))


def held_joints(walk: Unrolled) -> list[tuple[int, Joint]]:
    """Return the joints of the tree as they were described, each with its node."""
    return [(k, _described(node)) for k, node in enumerate(walk.nodes) if not node.shared]


def tree_rows(walk: Unrolled) -> list[tuple[int, BodyRows]]:
    """Return the constraint rows of the tree's joints on the bodies: D of Nikravesh (2), in node axes, by node."""
    moving = kinematics.twists(walk)
    return [(k, _tree_row(walk, moving, k, ca.SX(0))) for k, _ in held_joints(walk)]


def _tree_row(walk: Unrolled, moving: object, k: int, t: ca.SX) -> BodyRows:
    """Return the constraint rows of a node's joint on the bodies."""
    node, anchors = walk.nodes[k], _tree_anchors(walk, moving, k)
    return _rows(JointClosure(_described(node)).rows(_sides(anchors), node.q, node.v, t), anchors)


def cut_rows(walk: Unrolled, closure_set: ClosureSet) -> list[BodyRows]:
    """Return the rows of all closures on the bodies: D* of Nikravesh (11), in node axes at the nodes' origins."""
    moving = kinematics.twists(walk)
    rates = _rates(walk, closure_set, moving)
    pairs = zip(closure_set.attachments.all, closure_set.keep, strict=True)
    return [_closure(closure_set, moving, attachment, keep, rates) for attachment, keep in pairs]


def _rates(walk: Unrolled, closure_set: ClosureSet, moving: object) -> dict[str, BodyRows]:
    """Return the rates of all joints' coordinates as rows on the bodies, by node and by cut."""
    rates: dict[str, BodyRows] = {}
    for k, (node, where) in enumerate(zip(walk.nodes, walk.v_slices, strict=True)):
        joint = _described(node)
        if node.shared:
            units = {i: ca.SX([float(i == j) for j in _places(where)]) for i in _places(where)}
            rates[f"node {k}"] = BodyRows({}, ca.SX.zeros(joint.nv), units)
        elif joint.nv:
            rates[f"node {k}"] = _joint_rates(joint, node.q, node.v, _tree_anchors(walk, moving, k))
    for k, cut in enumerate(closure_set.attachments.cuts):
        if cut.joint.nv:
            anchors = tuple(_anchor(moving, frame) for frame in cut.frames)
            q, v = closure_set.q[cut.q, :], closure_set.v[cut.v, :]
            rates[f"cut {k}"] = _joint_rates(cut.joint, q, v, anchors)
    return rates


def _described(node: Node) -> Joint:
    """Return a node's joint as it was described."""
    return node.joint.joint if isinstance(node.joint, Reversed) else node.joint


def _assembled(
    walk: Unrolled,
    motions: Sequence[AngularState],
    constraints: Sequence[BodyRows],
    forces: Sequence[ca.SX],
    joints: list[tuple[slice, BodyRows]],
    first: int,
    free: Mapping[int, ca.SX] = MappingProxyType({}),
    armed: Mapping[int, ca.SX] = MappingProxyType({}),
) -> Bodies:
    """Return the equations; `free` are efforts of freedoms that have accelerations of their own among the unknowns.

    `armed` are the inertias of those among them that have some of their own.
    """
    rows: dict[Key, dict[Key, ca.SX]] = {("effort", 0, i): {} for i in free}
    for i, inertia in armed.items():
        rows["effort", 0, i]["own", 0, i] = inertia
    right: dict[Key, ca.SX] = {("effort", 0, i): tau for i, tau in free.items()}
    for k, node in enumerate(walk.nodes):
        M = node.inertia.articulated().matrix()
        for i in range(6):
            rows["force", k, i] = {("alpha", k, j): M[i, j] for j in range(6) if not M[i, j].is_zero()}
            right["force", k, i] = forces[k][i]
    own = [i for k, node in enumerate(walk.nodes) if node.body is not None for i in _places(walk.v_slices[k])]
    for k, node in enumerate(walk.nodes):
        if node.body is not None:
            _add_own(walk, k, motions[k], rows, right)
    r = 0
    for row in constraints:
        for i in range(row.bias.shape[0]):
            entries: dict[Key, ca.SX] = {}
            for k, F in row.node_forces.items():
                for j in range(6):
                    if not F[j, i].is_zero():
                        entries["alpha", k, j] = F[j, i]
                        rows["force", k, j]["lambda", r, 0] = F[j, i]
            for i_own, column in row.own.items():
                if not column[i].is_zero():
                    entries["own", 0, i_own] = column[i]
                    rows["effort", 0, i_own]["lambda", r, 0] = column[i]
            rows["closure", r, 0] = entries
            right["closure", r, 0] = -row.bias[i]
            r += 1
    return Bodies(rows, right, joints, own, r - first, first)


def _places(where: slice) -> range:
    return range(where.start, where.stop)


def _led(walk: Unrolled, motions: Sequence[AngularState], k: int) -> BodyRows:
    """Return the six rows of a node that shares own coordinates: alpha - phi* alpha_parent - H eta'' - a = 0."""
    node, parent, where = walk.nodes[k], walk.parents[k], walk.v_slices[k]
    x = node.configuration()
    _, a = node.carry(x, motions[parent], ca.SX.zeros(6))
    eye, H = ca.densify(ca.SX.eye(6)), node.joint_map(x)
    own = {i: -H[:, n] for n, i in enumerate(_places(where))}
    return BodyRows({k: eye, parent: -node.shift(x).force(eye)}, -a, own)


def _add_own(
    walk: Unrolled, k: int, motion: AngularState, rows: dict[Key, dict[Key, ca.SX]], right: dict[Key, ca.SX]
) -> None:
    """Add the equations of a body's own coordinates: C^T alpha + E eta'' + e = tau, with their weight."""
    node, places = walk.nodes[k], _places(walk.v_slices[k])
    own = node.own_inertia()
    assert own is not None
    weight = own.coupling[3:6, :].T @ (motion.axes.T @ walk.gravity)
    effort = node.tau + weight - node.own_velocity_forces(motion.rate).own
    for n, i in enumerate(places):
        entries = {("own", 0, j): own.own[n, m] for m, j in enumerate(places) if not own.own[n, m].is_zero()}
        for j in range(6):
            if not own.coupling[j, n].is_zero():
                entries["alpha", k, j] = own.coupling[j, n]
                rows["force", k, j]["own", 0, i] = own.coupling[j, n]
        rows["effort", 0, i] = entries
        right["effort", 0, i] = effort[n]


def _force(walk: Unrolled, node: Node, motion: AngularState) -> ca.SX:
    """Return the force on a node at zero acceleration: its loads and weight, less the gyroscopic force."""
    weight = node.inertia.times(stack(ca.SX.zeros(3), motion.axes.T @ walk.gravity))
    return weight - node.bias_force(motion)


def _tree_anchors(walk: Unrolled, moving: object, k: int) -> tuple[Anchor, ...]:
    """Return the two sides of a node's joint, described parent first."""
    node, eye = walk.nodes[k], ca.densify(ca.SX.eye(3))
    near = _anchor(moving, NodeFrame(walk.parents[k], node.rotation, node.point))
    far = _anchor(moving, NodeFrame(k, eye, ca.SX.zeros(3)))
    return (far, near) if isinstance(node.joint, Reversed) else (near, far)


def _anchor(moving: Any, frame: NodeFrame) -> Anchor:
    """Return a frame in the ground frame."""
    zero = ca.SX.zeros(3)
    if frame.node < 0:
        return Anchor(frame, Side(frame.rotation, frame.point, zero, zero), zero, ca.densify(ca.SX.eye(3)))
    R, p, V = moving.at(frame.node)
    w, u = V[0:3], V[3:6]
    side = Side(R @ frame.rotation, p + R @ frame.point, R @ w, R @ (u + cross(w, frame.point)))
    return Anchor(frame, side, R @ cross(w, cross(w, frame.point)), R)


def _turned(anchor: Anchor, moving: Any, base: int) -> Anchor:
    """Return an anchor in the axes of the loop's base: multipliers then have the same meaning as elsewhere."""
    if base < 0:
        return anchor
    back = moving.at(base).R.T
    side = Side(*(back @ part for part in anchor.side))
    return Anchor(anchor.frame, side, back @ anchor.centripetal, back @ anchor.axes)


def _sides(anchors: Sequence[Anchor]) -> tuple[Side, ...]:
    return tuple(anchor.side for anchor in anchors)


def _rows(rows: Rows, anchors: Sequence[Anchor]) -> BodyRows:
    """Bring rows on sides to the bodies."""
    node_forces: dict[int, ca.SX] = {}
    bias = rows.bias
    for anchor, D in zip(anchors, rows.D, strict=True):
        bias = bias + D[:, 3:6] @ anchor.centripetal
        if anchor.frame.node >= 0:
            F = Translation(anchor.frame.point).force(Rotation(anchor.axes.T).force(D.T))
            _add(node_forces, anchor.frame.node, F)
    return BodyRows(node_forces, bias)


def _joint_rates(joint: Joint, q: ca.SX, v: ca.SX, anchors: Sequence[Anchor]) -> BodyRows:
    return _rows(joint_rates(joint, joint.configuration(q), v, _sides(anchors)), anchors)


def _closure(
    closure_set: ClosureSet, moving: Any, attachment: Any, keep: Sequence[int], rates: dict[str, BodyRows]
) -> BodyRows:
    """Return a closure's kept rows on the bodies; those on joint coordinates by way of the joints' rates."""
    anchors = tuple(_turned(_anchor(moving, frame), moving, attachment.base) for frame in attachment.frames)
    q, v, given = closure_set.coordinates(attachment)
    rows = attachment.closure.rows(_sides(anchors), q, v, closure_set.t)
    row = _rows(rows, anchors)
    node_forces, bias = dict(row.node_forces), row.bias - given
    own: dict[int, ca.SX] = {}
    for i, c in enumerate(attachment.coordinates):
        rate = rates[f"cut {c.cut}" if c.node is None else f"node {c.node}"]
        bias = bias + rows.K[:, i] * rate.bias[c.component]
        for k, F in rate.node_forces.items():
            _add(node_forces, k, F[:, c.component] @ rows.K[:, i].T)
        for j, column in rate.own.items():
            _add(own, j, rows.K[:, i] * column[c.component])
    chosen = list(keep)
    led = {j: column[chosen, :] for j, column in own.items()}
    return BodyRows({k: F[:, chosen] for k, F in node_forces.items()}, bias[chosen, :], led)


def _push(forces: list[ca.SX], rate: BodyRows, tau: ca.SX) -> None:
    """Add a joint's effort to the forces on its bodies."""
    for k, F in rate.node_forces.items():
        forces[k] = forces[k] + F @ tau


def _add(target: dict[int, ca.SX], key: int, value: ca.SX) -> None:
    target[key] = target[key] + value if key in target else value


# ---------------------------------------------------------------------------------------------------------
# Trees


def forward_dynamics(walk: Unrolled) -> ca.SX:
    """Return the joint accelerations (nv) of a tree."""
    equations, pivots, least = _tree(walk)
    record_stage("bodies and joints", equations.rows)
    record_stage("right-hand side", equations.right)
    x = factor_lu(equations.rows, pivots, least).solve(dict(equations.right))
    a = _joint_accelerations(equations, x, walk.nv)
    for k, node in enumerate(walk.nodes):
        if node.prescribed:
            a[walk.v_slices[k]] = node.acceleration
    for i in _own_unknowns(equations):
        a[i] = x.get(("own", 0, i), ca.SX(0))
    return a


def _own_unknowns(equations: Bodies) -> list[int]:
    return [i for kind, _, i in equations.rows if kind == "effort"]


def held_axes(H: ca.SX) -> list[int] | None:
    """Return the components that a joint with map H (6, nv) holds, if each of its freedoms moves along an axis.

    >>> held_axes(ca.SX([0, 0, 1, 0, 0, 0])), held_axes(ca.SX([0, 0, 1, 0, 0, 0.1]))
    ([0, 1, 3, 4, 5], None)
    """
    moved = []
    for column in ca.horzsplit(ca.densify(H)) if H.shape[1] else []:
        entries = [i for i in range(6) if not column[i].is_zero()]
        if len(entries) != 1 or not column[entries[0]].is_constant() or abs(float(column[entries[0]])) != 1.0:
            return None
        moved += entries
    return [i for i in range(6) if i not in moved] if len(set(moved)) == len(moved) else None


class _TreeJoint(NamedTuple):
    """A joint of a tree: its rows, the components they give, the rates of its freedoms, and those left as unknowns."""

    rows: BodyRows
    held: list[int]
    rate: BodyRows | None
    unknown: bool


def _tree_joint(walk: Unrolled, motions: Sequence[AngularState], k: int) -> _TreeJoint:
    """Return a joint's rows on alpha - phi* alpha_parent - a, the acceleration that the joint itself gives."""
    node, parent = walk.nodes[k], walk.parents[k]
    if node.shared:
        return _TreeJoint(_led(walk, motions, k), list(range(6)), None, False)
    x = node.configuration()
    before = motions[parent] if parent >= 0 else AngularState(ca.SX.zeros(3), ca.densify(ca.SX.eye(3)))
    _, a = node.carry(x, before, ca.SX.zeros(6))
    H, eye = node.joint_map(x), ca.densify(ca.SX.eye(6))
    on_parent = -node.shift(x).force(eye)

    def of(columns: ca.SX, given: ca.SX, own: Mapping[int, ca.SX] = MappingProxyType({})) -> BodyRows:
        """Return rows that weigh the six components by columns."""
        forces = {k: columns} if parent < 0 else {k: columns, parent: on_parent @ columns}
        return BodyRows(forces, columns.T @ given, own)

    if node.prescribed or not H.shape[1]:
        given = -a - H @ node.acceleration if node.prescribed else -a
        return _TreeJoint(of(eye, given), list(range(6)), None, False)
    held = held_axes(H)
    if held is not None and node.armature is None:
        return _TreeJoint(of(eye[:, held], -a), held, of(H, -a), False)
    own = {i: -H[:, n] for n, i in enumerate(_places(walk.v_slices[k]))}
    return _TreeJoint(of(eye, -a, own), list(range(6)), None, True)


def _tree(walk: Unrolled) -> tuple[Bodies, list[tuple[Key, Key]], dict[tuple[Key, Key], ca.SX]]:
    """Return the equations of a tree, the pivots in their order, and the least that some of these can be trusted at."""
    moving = kinematics.twists(walk)
    motions = [AngularState(kept.V[0:3], kept.R) for kept in moving.records]
    forces = [_force(walk, node, motion) for node, motion in zip(walk.nodes, motions, strict=True)]
    joints = [_tree_joint(walk, motions, k) for k in range(len(walk.nodes))]
    rates, free, armed = [], {}, {}
    for node, where, joint in zip(walk.nodes, walk.v_slices, joints, strict=True):
        if joint.rate is not None:
            rates.append((where, joint.rate))
            _push(forces, joint.rate, node.tau)
        elif joint.unknown:
            free.update({i: node.tau[n] for n, i in enumerate(_places(where))})
            if node.armature is not None:
                armed.update(dict(zip(_places(where), ca.vertsplit(node.armature), strict=True)))
    rows = [joint.rows for joint in joints]
    first = sum(one.bias.shape[0] for one in rows)
    pivots, least = _tree_pivots(walk, joints)
    return _assembled(walk, motions, rows, forces, rates, first, free, armed), pivots, least


def _tree_pivots(
    walk: Unrolled, joints: Sequence[_TreeJoint]
) -> tuple[list[tuple[Key, Key]], dict[tuple[Key, Key], ca.SX]]:
    """Return the order of elimination, from the tips inward: directions that joints hold, then their freedoms."""
    starts, r = [], 0
    for joint in joints:
        starts.append(r)
        r += len(joint.held)
    pivots: list[tuple[Key, Key]] = []
    least: dict[tuple[Key, Key], ca.SX] = {}
    for k in reversed(range(len(walk.nodes))):
        node, joint, where = walk.nodes[k], joints[k], walk.v_slices[k]
        own = [(("effort", 0, i), ("own", 0, i)) for i in _places(walk.homes.get(k, slice(0, 0)))]
        for pair in own:
            least[pair] = LEAST_OF_DIAGONAL * _own_diagonal(walk, pair[0][2])
        if not node.shared:  # before the home of own coordinates itself
            pivots += own
        for n, i in enumerate(joint.held):
            lam: Key = ("lambda", starts[k] + n, 0)
            pivots += [(("closure", *lam[1:]), ("alpha", k, i)), (("force", k, i), lam)]
        if node.shared:
            pivots += own
            continue
        if joint.unknown:
            moved = [(("effort", 0, i), ("own", 0, i)) for i in _places(where)]
        else:
            along = [i for i in range(6) if i not in joint.held]
            order = sorted(along, key=lambda i: _freedom_along(node, i))
            moved = [(("force", k, i), ("alpha", k, i)) for i in order]
        pivots += moved
        if node.watched and node.least_inertia is not None:
            least.update({pair: node.least_inertia[n] for n, pair in enumerate(moved)})
    return pivots, least


def _freedom_along(node: Node, component: int) -> int:
    """Return which of a joint's freedoms moves it along one of the six components."""
    H = node.joint_map(node.configuration())
    return next(n for n in range(H.shape[1]) if not H[component, n].is_zero())  # not empty: what is not held moves


def _own_diagonal(walk: Unrolled, i: int) -> ca.SX:
    """Return the own inertia of a freedom of a body with own coordinates."""
    for node, where in zip(walk.nodes, walk.v_slices, strict=True):
        if node.body is not None and i in _places(where):
            own = node.own_inertia()
            assert own is not None
            return own.own[i - where.start, i - where.start]
    return ca.SX(0)


def _solve(problem: LoopProblem) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.decisions.absolute_pivots)


ABSOLUTE = register(
    Formulation("absolute", tree=TreeMethod(forward_dynamics), solve=_solve, needs=("absolute_pivots",), linear=True)
)
