"""Bodies in ground axes with a reference point of choice (Kang and Yoon 4-36; Garcia de Jalon and Bayo 8.39-8.98).

A body's velocity is Y = [w; u], with u the velocity of its material point at the reference point p, in ground axes:

    centroid    p is the centre of mass                                                    (22-27)
    joint       p is the joint point
    origin      p is a point of the ground, the same for many bodies: of each, the point
                that is there at the moment                                                (31-36)

Letters, most of them Kang and Yoon's:

    A, r        axes of the node, and its joint point                                      (9, 14)
    s           the joint point from that of the parent                                    (13)
    w, v        angular velocity of the node, velocity of its joint point                  (19, 21)
    rho         the reference point from the joint point
    B1, B2      velocity transformations: Y = B1 Y_parent + B2 q'                          (24, 25, 33)
    D           velocity square term: Y' = B1 Y'_parent + B2 q'' + D                       (26, 27, 35)
    M, Q        inertia and force at the reference point, Q = Q_applied - gyroscopic       (3, 36)

B1 is a translation by p - p_parent, and nothing at all where both have the same point of the ground. Kang and Yoon take
the global origin, but (31-36) hold for any point that is at rest. About the origin, an inertia m r^2 would hide that of
the body itself, and digits would be lost with the square of the distance. So the point is where a tree's first joint is
at the moment, and a joint that is too far from it, or may slide away, begins anew with its own point
(`Node.new_reference`, see `hinge_scales`).

Bodies may have different points. u' is the acceleration of a point that stays in the body, or, of one that stays in the
ground, w x u less. So where only one of two bodies has a point of the ground, D has the difference more:

    D = D of two points that stay in their bodies + [0; w_i x u_i] (parent in the ground) - [0; w_j x u_j] (this body)

and a body with a point of the ground behind one without begins anew, with the point where its own joint is.

With W = skew(w)^2 the terms of (27) are grouped
so that every body's W is used for all that hangs on it:

    D = [d; W_i (s - rho_i) + 2 w_i x v_ij + W_j rho_j + d x rho_j],   d = w_i x w_ij + ...              (1)

A ball or a floating base is *level*: its columns B2 are along the ground's axes, which costs no product, though its
velocities v are in its own axes A. With z' = T v, T made of A, equations are solved for z'' with the efforts T tau
(`to_ground`), and v' = T^T z'' (`to_own`). Closures do not depend on coordinates of level joints, only on their bodies.

The centre of a body without mass is its joint point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.sweeps import Kept, Unrolled, Walk
from whippletree.spatial import RigidInertia, Rotation, Shift, Translation, centripetal, cross, stack

__all__ = [
    "REFERENCES",
    "GroundBody",
    "Reference",
    "armature_of",
    "bodies",
    "by_threes",
    "is_level",
    "level_map",
    "reference_of",
    "to_ground",
    "to_own",
]

REFERENCES = ("origin", "centroid", "joint")
"""The points that velocities of bodies may refer to."""


class GroundState(NamedTuple):
    """Handed outward: pose, motion, and the reference point from the joint point."""

    A: ca.SX
    r: ca.SX
    w: ca.SX
    v: ca.SX
    W: ca.SX
    rho: ca.SX
    p: ca.SX

    @staticmethod
    def ground() -> GroundState:
        """Return the record that leaves the ground."""
        zero = ca.SX.zeros(3)
        return GroundState(ca.densify(ca.SX.eye(3)), zero, zero, zero, ca.SX.zeros(3, 3), zero, zero)


class Field(NamedTuple):
    """How a body's accelerations follow from its parent's, for a reference point that stays in it.

    With U = W + skew(w') of either body, u' = u'_i + U_i reach + U_j rho + own, and w' = w'_i + d.
    """

    W: ca.SX
    reach: ca.SX  # s - rho_i
    rho: ca.SX
    d: ca.SX
    own: ca.SX  # what the joint's velocities bring


class OwnGround(NamedTuple):
    """Terms of a body's own coordinates: their efforts are C^T Y' + E v' + e, and the body's force has C v' more.

    C (6, n) is at the reference point, in ground axes; all are nothing for other bodies.
    """

    C: ca.SX
    E: ca.SX
    e: ca.SX


_NO_OWN = OwnGround(ca.SX(6, 0), ca.SX(0, 0), ca.SX(0, 1))


class GroundBody(NamedTuple):
    """Kept for every body."""

    A: ca.SX
    r: ca.SX
    w: ca.SX
    v: ca.SX
    p: ca.SX
    step: ca.SX  # p less the parent's
    axes: ca.SX  # joint map (6, nv) at the joint point, in ground axes
    B2: ca.SX  # the same at the reference point, along the ground's axes if the joint is level
    D: ca.SX
    M: RigidInertia
    Q: ca.SX
    field: Field
    own: OwnGround = _NO_OWN

    def shift(self) -> Shift:
        """Return B1 as a shift from the parent's reference point."""
        return Shift.of(Translation(self.step))


Reference = str | tuple[str, ...]
"""The point that velocities refer to: one for all bodies, or one for each node of a walk."""


def reference_of(reference: Reference, k: int) -> str:
    """Return the reference point of node k; the ground's (-1) is that of all, if there is one.

    >>> reference_of("joint", 3), reference_of(("origin", "centroid"), 1), reference_of(("origin", "centroid"), -1)
    ('joint', 'centroid', 'origin')
    """
    if isinstance(reference, str):
        return reference
    return reference[k] if k >= 0 else "origin"


def bodies(walk: Walk, reference: Reference) -> Kept[GroundBody]:
    """Return every body; a walk remembers them."""
    memory: dict[Any, Any] = getattr(walk, "memory", {})
    key = ("bodies", reference)
    if key not in memory:
        memory[key] = _placed(walk, reference)
    found: Kept[GroundBody] = memory[key]
    return found


def _placed(walk: Walk, reference: Reference) -> Kept[GroundBody]:
    if isinstance(reference, str):
        return walk.outward(_locate(reference, reference, walk.gravity), GroundState.ground())
    assert isinstance(walk, Unrolled)
    pairs = [(own, reference_of(reference, parent)) for own, parent in zip(reference, walk.parents, strict=True)]
    steps = {pair: _locate(*pair, walk.gravity) for pair in pairs}

    def locate(node: Node, parent: GroundState, pair: tuple[str, str]) -> tuple[GroundState, GroundBody]:
        return steps[pair](node, parent)

    return walk.outward(locate, GroundState.ground(), Kept(pairs))


def _locate(reference: str, before: str, gravity: ca.SX) -> Callable[..., tuple[GroundState, GroundBody]]:
    """Return the step that places a body; everything but the choice of the point, and of its parent's, is common."""
    fixed = reference != "origin"  # the point stays in the body
    mixed = fixed != (before != "origin")

    def locate(node: Node, parent: GroundState) -> tuple[GroundState, GroundBody]:
        x = node.configuration()
        across = node.shift(x)
        A = parent.A @ across.rotation()
        s = parent.A @ across.position()
        r = parent.r + s
        axes = Rotation(A).force(node.joint_map(x))
        relative, more = axes @ node.v, Rotation(A).force(node.joint_bias(x))
        w_ij, v_ij = relative[0:3], relative[3:6]
        w, v = parent.w + w_ij, parent.v + cross(parent.w, s) + v_ij
        W = centripetal(w)
        local = center(node.inertia) if reference != "joint" else ca.SX.zeros(3)
        arm = A @ local
        if fixed:
            rho = arm
        elif node.new_reference or mixed:
            rho = ca.SX.zeros(3)
        else:
            rho = parent.rho - s
        d = cross(parent.w, w_ij) + more[0:3]
        reach, own = s - parent.rho, 2 * cross(parent.w, v_ij) + more[3:6]
        if fixed or mixed:
            square = parent.W @ reach + 2 * cross(parent.w, v_ij) + W @ rho
            if mixed:
                one, u = (parent.w, parent.v + cross(parent.w, parent.rho)) if fixed else (-w, v)
                square = square + cross(one, u)
            p, step = r + rho, reach + rho
        else:
            square = cross(parent.w, v_ij) - cross(w_ij, v)
            p, step = (r, reach) if node.new_reference else (parent.p, ca.SX.zeros(3))
        D = stack(d, square + more[3:6] + cross(d, rho))
        M = about(node.inertia, local).rotated(A)
        Q = _forces(node, A, arm, M, gravity) - M.gyroscopic(W)
        if not fixed:  # from the centre, whose acceleration is u' + w' x r_c + w x v_c, to the ground's point (36)
            out = Translation(arm - rho)
            Q = out.force(Q - stack(ca.SX.zeros(3), M.m * cross(w, v + cross(w, arm))))
            M = M.translated(arm - rho)
        inside = _NO_OWN
        if node.body is not None:
            back = (
                cross(w, v) if not fixed else -(W @ rho)
            )  # from the acceleration of the reference point to the joint's
            inside, extra = _inside(node, A, rho, w, back - gravity)
            Q = Q - extra
        B2 = Translation(rho).motion(level_map(node) if is_level(node) else axes)
        return GroundState(A, r, w, v, W, rho, p), GroundBody(
            A, r, w, v, p, step, axes, B2, D, M, Q, Field(W, reach, rho, d, own), inside
        )

    return locate


def _inside(node: Node, A: ca.SX, rho: ca.SX, w: ca.SX, linear: ca.SX) -> tuple[OwnGround, ca.SX]:
    """Return the terms of own coordinates at the reference point, and the force of their velocities there.

    `linear` is what the joint point's acceleration against gravity has beside that of the reference point.
    """
    own = node.own_inertia()
    assert own is not None
    forces = node.own_velocity_forces(A.T @ w)

    def at_reference(f: ca.SX) -> ca.SX:
        return ca.densify(Translation(-rho).force(Rotation(A).force(f)))

    e = forces.own + own.coupling[3:6, :].T @ (A.T @ linear)
    return OwnGround(at_reference(own.coupling), own.own, e), at_reference(forces.frame)


def is_level(node: Node) -> bool:
    """Tell whether a joint's velocities are those of its child along three axes: a ball or a floating base."""
    return node.joint.along_child and not node.prescribed


def level_map(node: Node) -> ca.SX:
    """Return the joint map (6, nv) of a level joint at its point, along the ground's axes."""
    return node.joint_map(node.configuration())


def to_ground(node: Node, A: ca.SX, column: ca.SX) -> ca.SX:
    """Return columns (nv, k) of a joint with axes A as its equations need them: along the ground's axes if level."""
    return by_threes(A, column) if is_level(node) else column


def armature_of(node: Node, A: ca.SX) -> ca.SX:
    """Return the armature (nv, nv) of a joint with axes A, along the ground's axes if its equations are."""
    assert node.armature is not None
    own = ca.diag(node.armature)
    return ca.densify(by_threes(A, by_threes(A, own).T)) if is_level(node) else own


def to_own(node: Node, A: ca.SX, column: ca.SX) -> ca.SX:
    """Return columns (nv, k) from the axes of a joint's equations to its own."""
    return by_threes(A.T, column) if is_level(node) else column


def by_threes(A: ca.SX, columns: ca.SX) -> ca.SX:
    """Return A times the rows, three by three.

    >>> by_threes(2 * ca.SX.eye(3), ca.SX([1, 2, 3, 4, 5, 6]))[5]
    SX(12)
    """
    return ca.vertcat(*(A @ columns[i : i + 3, :] for i in range(0, columns.shape[0], 3)))


def center(inertia: RigidInertia) -> ca.SX:
    """Return the centre of mass; zero if there is no mass.

    >>> center(RigidInertia(ca.SX(2), ca.SX([2, 0, 0]), ca.SX.eye(3)))[0]
    SX(1)
    """
    if inertia.m.is_zero():
        return ca.SX.zeros(3)
    m = inertia.m if inertia.m.is_constant() else ca.if_else(inertia.m == 0, 1, inertia.m)
    return inertia.h / m


def about(inertia: RigidInertia, point: ca.SX) -> RigidInertia:
    """Return an inertia about its centre, or as it is if the point is zero.

    >>> about(RigidInertia(ca.SX(2), ca.SX([2, 0, 0]), 3 * ca.SX.eye(3)), ca.SX([1, 0, 0])).J[2, 2]
    SX(1)
    """
    if point.is_zero():
        return inertia
    return RigidInertia(inertia.m, ca.SX.zeros(3), inertia.translated(-point).J)


def _forces(node: Node, A: ca.SX, arm: ca.SX, M: RigidInertia, gravity: ca.SX) -> ca.SX:
    """Return weight and loads at a point of the body."""
    total = M.times(stack(ca.SX.zeros(3), gravity))
    for load in node.loads:
        total = total + Translation(A @ load.point - arm).force(load.wrench)
    if node.push is not None:
        total = total + Translation(-arm).force(Rotation(A).force(node.push))
    return total
