"""Bodies in ground axes with a reference point of choice (Kang and Yoon 4-36; Garcia de Jalon and Bayo 8.39-8.98).

A body's velocity is Y = [w; u], with u the velocity of its material point at the reference point p, in ground axes:

    centroid    p is the centre of mass                                                    (22-27)
    joint       p is the joint point
    origin      p is the global origin: that of the body that is there at the moment       (31-36)

Letters, most of them Kang and Yoon's:

    A, r        axes of the node, and its joint point                                      (9, 14)
    s           the joint point from that of the parent                                    (13)
    w, v        angular velocity of the node, velocity of its joint point                  (19, 21)
    rho         the reference point from the joint point
    B1, B2      velocity transformations: Y = B1 Y_parent + B2 q'                          (24, 25, 33)
    D           velocity square term: Y' = B1 Y'_parent + B2 q'' + D                       (26, 27, 35)
    M, Q        inertia and force at the reference point, Q = Q_applied - gyroscopic       (3, 36)

B1 is a translation by p - p_parent, and nothing at all at the origin. With W = skew(w)^2 the terms of (27) are grouped
so that every body's W is used for all that hangs on it:

    D = [d; W_i (s - rho_i) + 2 w_i x v_ij + W_j rho_j + d x rho_j],   d = w_i x w_ij + ...              (1)

A ball or a floating base is *level*: its columns B2 are along the ground's axes, which costs no product, though its
velocities v are in its own axes A. With z' = T v, T made of A, equations are solved for z'' with the efforts T tau
(`to_ground`), and v' = T^T z'' (`to_own`). Closures do not depend on coordinates of level joints, only on their bodies.

The centre of a body without mass is its joint point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures import Rows, Side, joint_rates
from whippletree.formulations.closing import Closing, Held, Hinge, Pull
from whippletree.formulations.grips import Fastening, Grip
from whippletree.formulations.node import Node
from whippletree.formulations.sweeps import Unrolled, Walk
from whippletree.spatial import RigidInertia, Rotation, Shift, Translation, centripetal, cross, stack

__all__ = [
    "REFERENCES",
    "Body",
    "bodies",
    "by_threes",
    "held_on_ground",
    "is_level",
    "level_map",
    "to_ground",
    "to_own",
]

REFERENCES = ("origin", "centroid", "joint")
"""The points that velocities of bodies may refer to."""


class Seen(NamedTuple):
    """Handed outward: pose, motion, and the reference point from the joint point."""

    A: ca.SX
    r: ca.SX
    w: ca.SX
    v: ca.SX
    W: ca.SX
    rho: ca.SX

    @staticmethod
    def ground() -> Seen:
        """Return what the ground leaves."""
        zero = ca.SX.zeros(3)
        return Seen(ca.densify(ca.SX.eye(3)), zero, zero, zero, ca.SX.zeros(3, 3), zero)


class Field(NamedTuple):
    """How a body's accelerations follow from its parent's, for a reference point that stays in it.

    With U = W + skew(w') of either body, u' = u'_i + U_i reach + U_j rho + own, and w' = w'_i + d.
    """

    W: ca.SX
    reach: ca.SX  # s - rho_i
    rho: ca.SX
    d: ca.SX
    own: ca.SX  # what the joint's velocities bring


class Body(NamedTuple):
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

    def shift(self) -> Shift:
        """Return B1 as a shift from the parent's reference point."""
        return Shift.of(Translation(self.step))


def bodies(walk: Walk, reference: str) -> Any:
    """Return every body; a walk remembers them."""
    memory: dict[Any, Any] = getattr(walk, "memory", {})
    key = ("bodies", reference)
    if key not in memory:
        memory[key] = walk.outward(_locate(reference, walk.gravity), Seen.ground())
    return memory[key]


def _locate(reference: str, gravity: ca.SX) -> Callable[..., tuple[Seen, Body]]:
    """Return the step that places a body; everything but the choice of the point is common."""
    fixed = reference != "origin"  # the point stays in the body

    def locate(node: Node, parent: Seen) -> tuple[Seen, Body]:
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
        rho = arm if fixed else -r
        d = cross(parent.w, w_ij) + more[0:3]
        reach, own = s - parent.rho, 2 * cross(parent.w, v_ij) + more[3:6]
        if fixed:
            square = parent.W @ reach + 2 * cross(parent.w, v_ij) + W @ rho
            p, step = r + rho, reach + rho
        else:
            square = cross(parent.w, v_ij) - cross(w_ij, v)
            p, step = ca.SX.zeros(3), ca.SX.zeros(3)
        D = stack(d, square + more[3:6] + cross(d, rho))
        M = about(node.inertia, local).rotated(A)
        Q = _forces(node, A, arm, M, gravity) - M.gyroscopic(W)
        if not fixed:  # from the centre, whose acceleration is u' + w' x r_c + w x v_c, to the origin (36)
            out = Translation(r + arm)
            Q = out.force(Q - stack(ca.SX.zeros(3), M.m * cross(w, v + cross(w, arm))))
            M = M.translated(r + arm)
        B2 = Translation(rho).motion(level_map(node) if is_level(node) else axes)
        return Seen(A, r, w, v, W, rho), Body(A, r, w, v, p, step, axes, B2, D, M, Q, Field(W, reach, rho, d, own))

    return locate


def is_level(node: Node) -> bool:
    """Tell whether a joint's velocities are those of its child along three axes: a ball or a floating base."""
    return node.joint.along_child and not node.prescribed


def level_map(node: Node) -> ca.SX:
    """Return the joint map (6, nv) of a level joint at its point, along the ground's axes."""
    return node.joint_map(node.configuration())


def to_ground(node: Node, A: ca.SX, column: ca.SX) -> ca.SX:
    """Return columns (nv, k) of a joint with axes A as its equations need them: along the ground's axes if level."""
    return by_threes(A, column) if is_level(node) else column


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


# ---------------------------------------------------------------------------------------------------------
# Closures


def held_on_ground(walk: Unrolled, closing: Closing, seen: Any, reference: str) -> list[Held]:
    """Return every closure with its rows on the bodies' Y' (Kang and Yoon 37, 44-46, tables 1 to 4).

    A pull holds the columns Phi^T of a body: a row on a point becomes a force at the reference point, with the lever
    s = point - p of table 1, which is the point itself in table 3. `second` is what of phi'' no Y' brings (table 4).
    """
    return [
        _held(walk, closing, seen, reference, fastening, keep)
        for fastening, keep in zip(closing.fastenings.all, closing.keep, strict=True)
    ]


class On(NamedTuple):
    """Rows on bodies: columns by body, what of phi' and phi'' no acceleration brings."""

    pulls: dict[int, ca.SX]
    rate: ca.SX
    second: ca.SX


def _held(
    walk: Unrolled, closing: Closing, seen: Any, reference: str, fastening: Fastening, keep: Sequence[int]
) -> Held:
    q, v, given = closing.coordinates(fastening)
    sides, back = _sides(seen, fastening.grips, fastening.base)
    rows = fastening.closure.rows(sides, q, v, closing.t)
    on = _on_bodies(seen, reference, fastening.grips, rows, back)
    pulls, rate, second = dict(on.pulls), on.rate, on.second - given
    hinges: list[Hinge] = []
    chosen = list(keep)
    for i, c in enumerate(fastening.coordinates):
        k = rows.K[:, i]
        rate = rate + k * closing.v[c.v]
        if c.node is not None:
            hinges.append(Hinge(c.node, c.component, k[chosen, :]))
        elif c.cut is not None:
            cut = closing.fastenings.cuts[c.cut]
            of_cut, turned = _sides(seen, cut.grips, cut.base)
            x = cut.joint.configuration(closing.q[cut.q, :])
            own = _on_bodies(seen, reference, cut.grips, joint_rates(cut.joint, x, closing.v[cut.v, :], of_cut), turned)
            second = second + k * own.second[c.component]
            for body, F in own.pulls.items():
                _add(pulls, body, F[:, c.component] @ k.T)
    return Held(
        rows.phi[chosen, :],
        rate[chosen, :],
        second[chosen, :],
        tuple(Pull(body, fastening.base, F[:, chosen]) for body, F in pulls.items()),
        tuple(hinges),
    )


def _sides(seen: Any, grips: Sequence[Grip], base: int) -> tuple[tuple[Side, ...], ca.SX | None]:
    """Return what is held on to, in the axes of the loop's base, and these axes unless they are the ground's."""
    sides = tuple(_side(seen, grip) for grip in grips)
    if base < 0:
        return sides, None
    A = seen.at(base).A
    return tuple(Side(*(A.T @ part for part in side)) for side in sides), A


def _side(seen: Any, grip: Grip) -> Side:
    if grip.node < 0:
        return Side(grip.rotation, grip.point, ca.SX.zeros(3), ca.SX.zeros(3))
    body: Body = seen.at(grip.node)
    arm = body.A @ grip.point
    return Side(body.A @ grip.rotation, body.r + arm, body.w, body.v + cross(body.w, arm))


def _on_bodies(seen: Any, reference: str, grips: Sequence[Grip], rows: Rows, axes: ca.SX | None) -> On:
    """Bring rows on points to the bodies' reference points."""
    pulls: dict[int, ca.SX] = {}
    rate, second = rows.drift, rows.bias
    for grip, D in zip(grips, rows.D, strict=True):
        if grip.node < 0:
            continue
        body: Body = seen.at(grip.node)
        F = ca.densify(D.T if axes is None else Rotation(axes).force(D.T))
        arm = body.A @ grip.point
        v = body.v + cross(body.w, arm)
        lever = body.r + arm if reference == "origin" else arm + (body.r - body.p)
        if reference == "joint":
            lever = arm
        square = cross(body.w, v if reference == "origin" else cross(body.w, lever))
        rate = rate + F.T @ stack(body.w, v)
        second = second + F[3:6, :].T @ square
        _add(pulls, grip.node, Translation(lever).force(F))
    return On(pulls, rate, second)


def _add(target: dict[int, ca.SX], key: int, value: ca.SX) -> None:
    target[key] = target[key] + value if key in target else value
