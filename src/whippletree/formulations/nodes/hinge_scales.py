"""The scale of hinge inertias, and the share of it below which only rounding is left.

The inertia D that a joint's acceleration meets (Jain 7) is a difference: of what hangs on the joint, as much as follows
its other joints is taken off again. A massless link that is folded onto what it carries moves nothing, and D, which
should be zero, comes out as rounding. So D is compared with what it was made of: the inertia of everything beyond the
joint, *stretched out*. With the offset r of a child's joint, from the tips inward,

    J = trace J_own + sum of (sqrt(J_child) + |r| sqrt(m_child))^2,          m = m_own + sum of m_child          (1)

which bounds the inertia about the joint's point in every position (of joints that slide, at zero displacement). For a
column h of the joint map the *scale* of its hinge inertia is |h_angular|^2 J + |h_linear|^2 m.

What hangs on a joint never takes inertia away from the body behind the joint itself. Where that alone is enough, D need
not be watched, and in mechanisms whose bodies all have mass nothing is.

Of a long chain that bound grows with the third power of its length, while the inertia that each joint meets stays what
its neighbourhood gives it. A body can lose its inertia, by folding, only to what it carries *nearby*: of what hangs on
it by bodies that have inertia enough themselves, their own inertia and the mass beyond. A body that has enough beside
that cannot be folded away, and only rounding is a danger to it, as it is in a tree.

The same scale tells where moments about a distant point of the ground would hide the inertia of a body (`ground_axes`):
seen from there, at most R away, a hinge inertia is the difference of numbers as large as J + m R^2.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.joints import Joint, Reversed
from whippletree.foundation.arrays import Array
from whippletree.spatial.scalars import Scalar, same_key

if TYPE_CHECKING:
    from whippletree.formulations.nodes.node_tree import NodeConstants

__all__ = ["LEAST_IN_LOOPS", "LEAST_IN_TREES", "LEAST_OF_DIAGONAL", "set_hinge_scales"]

LEAST_IN_TREES = 1e-12
"""Share of its scale that a hinge inertia of a tree must have. There the tree's own equations are solved, and
accelerations are right to rounding over this share, as its condition allows; below, three digits would be left.
"""

LEAST_IN_LOOPS = 1e-8
"""The same in a mechanism with loops, which may be regular where its spanning tree is not: such a state is solved in
another way, and what is left here to rounding is half of the digits. Also the share of what it carries nearby that a
body must have itself if folding cannot take its inertia away."""

LEAST_OF_DIAGONAL = 1e-9
"""Share of its entry on the diagonal that must be left of a pivot when a symmetric matrix is eliminated: of the
closures' Schur complement, whose pivots are squares, or of own coordinates."""


LEAST_FROM_AFAR = 1e-6
"""Share of the inertia about a point of the ground that a body must give its joint by itself, lest moments are taken
about the joint's own point: rounding is then a few times 1e-10 of what is left, a tenth of what formulations may differ
by. Bodies of ordinary proportions are some hundred times their size away."""


def set_hinge_scales(nodes: Sequence[NodeConstants], *, closed: bool) -> None:
    """Set `stretched_inertia`, `least_inertia` and `watched` where a joint is eliminated, and `new_reference`."""
    known: dict[Hashable, _JointMap] = {}
    own = [_own_inertia(constants) for constants in nodes]
    m = [inertia[0] for inertia in own]
    J = [inertia[4] + inertia[6] + inertia[9] for inertia in own]
    rigid = list(J)
    near = list(J)  # as J, but for what hangs on bodies that have inertia enough
    for k in reversed(range(len(nodes))):
        constants, enough = nodes[k], False
        constants.watched = constants.home is not None
        if constants.joint.nv and not constants.shared and not constants.use.prescribed:
            H = _joint_map(constants.joint, known)
            own_rates = constants.armature or (0.0,) * constants.joint.nv
            enough = _enough(constants.inertia, own_rates, H, LEAST_IN_LOOPS, near[k], m[k])
            share = LEAST_IN_LOOPS if closed and not enough else LEAST_IN_TREES
            columns = zip(H.at_zero.T, own_rates, strict=True)
            constants.stretched_inertia = [_scale(h, J[k], m[k]) + own for h, own in columns]
            constants.least_inertia = [share * scale for scale in constants.stretched_inertia]
            constants.watched = constants.watched or not _enough(constants.inertia, own_rates, H, share, J[k], m[k])
        if constants.parent >= 0:
            p = constants.parent
            arm = _root(sum(x * x for x in constants.placement.point)) * _root(m[k])
            J[p] = J[p] + _square(_root(J[k]) + arm)
            near[p] = near[p] + _square(_root(rigid[k] if enough else near[k]) + arm)
            m[p] = m[p] + m[k]
    _set_reference_points(nodes, known, J, m)


def _set_reference_points(
    nodes: Sequence[NodeConstants], known: dict[Hashable, _JointMap], J: Sequence[Scalar], m: Sequence[Scalar]
) -> None:
    """Set `new_reference` of a tree's first nodes, and of those that are too far from the last reference point."""
    distance: list[float] = []
    for k, constants in enumerate(nodes):
        R = _distance(constants, distance, known)
        free = constants.joint.nv and not constants.shared and not constants.use.prescribed
        constants.new_reference = constants.parent < 0 or constants.home is not None
        if free and not constants.new_reference:
            H, far = _joint_map(constants.joint, known), J[k] + m[k] * R * R
            none = (0.0,) * constants.joint.nv
            enough = _enough(constants.inertia, none, H, LEAST_FROM_AFAR, far, m[k])
            constants.new_reference = math.isinf(R) or not enough
        distance.append(0.0 if constants.new_reference else R)


def _distance(constants: NodeConstants, distance: Sequence[float], known: dict[Hashable, _JointMap]) -> float:
    """Return how far a node may be from the last reference point; infinity if its joint slides."""
    if constants.shared or (constants.joint.nv and _joint_map(constants.joint, known).slides):
        return math.inf
    arm = _root(sum(x * x for x in constants.placement.point))
    before = distance[constants.parent] if constants.parent >= 0 else 0.0
    return before + arm if isinstance(arm, float) else math.inf


def _own_inertia(constants: NodeConstants) -> list[Scalar]:
    """Return mass, first moment and inertia of a node's own body, one with own coordinates undeformed."""
    if constants.body is None:
        return constants.inertia
    rigid = constants.body.inertia(ca.SX.zeros(constants.joint.nq)).rigid
    J = rigid.J
    found = [rigid.m, *ca.vertsplit(rigid.h), J[0, 0], J[1, 0], J[1, 1], J[2, 0], J[2, 1], J[2, 2]]
    return [a + _plain(b) for a, b in zip(constants.inertia, found, strict=True)]


class _JointMap(NamedTuple):
    """A joint's map at its zero position; whether it is the same everywhere, or at least its columns keep their angles.

    Such columns turn in the body.
    """

    at_zero: Any
    fixed: bool
    turning: bool

    @property
    def slides(self) -> bool:
        """Whether the joint moves its own point."""
        return bool(self.at_zero[3:].any()) or not (self.fixed or self.turning)


def _joint_map(joint: Joint, known: dict[Hashable, _JointMap]) -> _JointMap:
    """Return a joint's map, for each kind found once."""
    inner = joint.joint if isinstance(joint, Reversed) else joint
    key = (type(joint), type(inner), inner.variant, same_key(joint.constants()))
    if key not in known:
        known[key] = _found_joint_map(joint)
    return known[key]


def _found_joint_map(joint: Joint) -> _JointMap:
    q = ca.SX.sym("q", joint.nq)
    H = ca.SX(joint.joint_map(joint.configuration(q)))
    own = [x for x in ca.symvar(H) if not ca.depends_on(q, x)]
    if own:  # parameters of the joint, of which the sizes do not matter here
        H = ca.substitute(H, ca.vertcat(*own), ca.DM.ones(len(own)))
    at = ca.Function("joint_map", [q], [ca.densify(H)])
    rest = np.array(at(joint.neutral()))
    if not ca.depends_on(H, q):
        return _JointMap(rest, not own, not own)
    rng = np.random.default_rng(0)
    others = [np.array(at(joint.random(rng))) for _ in range(3)]
    parts = (slice(0, 3), slice(3, 6))
    turning = all(np.allclose(H[p].T @ H[p], rest[p].T @ rest[p], rtol=0, atol=1e-12) for H in others for p in parts)
    return _JointMap(rest, False, not own and turning)


def _scale(h: Any, J: Scalar, m: Scalar) -> Scalar:
    return float(h[:3] @ h[:3]) * J + float(h[3:] @ h[3:]) * m


def _enough(
    inertia: Sequence[Scalar], armature: Sequence[Scalar], joint: _JointMap, share: float, J: Scalar, m: Scalar
) -> bool:
    """Tell whether a body by itself, and the armature, give its joint more than the least inertia in every direction.

    For columns that turn in the body, that is so if it does in all directions in which they may be.
    """
    if not (joint.fixed or joint.turning) or not all(isinstance(x, float | int) for x in (*inertia, *armature, J, m)):
        return False
    H = joint.at_zero
    if joint.fixed and H.shape[1] == 1:
        rate = float(armature[0])
        own = _inertia_along([float(x) for x in inertia], *H[:, 0].tolist()) + rate
        return own > share * (float(_scale(H[:, 0], J, m)) + rate) > 0
    scale = share * np.array([J] * 3 + [m] * 3, dtype=float)
    rates = np.array(armature, dtype=float)
    least = np.einsum("ij,i,ij->j", H, scale, H) + share * rates
    if not (least > 0).all():
        return False
    mass, x, y, z, xx, xy, yy, xz, yz, zz = (float(value) for value in inertia)
    h = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    M = np.block([[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), h], [h.T, mass * np.eye(3)]])
    if joint.fixed:
        return _smallest(H.T @ M @ H + np.diag(rates), least) > 1.0
    moved = np.flatnonzero(np.repeat([H[:3].any(), H[3:].any()], 3))
    if not (scale[moved] > 0).all():  # armature alone, on a body without mass
        return False
    anywhere = _smallest(M[np.ix_(moved, moved)], scale[moved])
    return anywhere * _smallest((H.T * scale) @ H, least) > 1.0


def _inertia_along(inertia: Sequence[float], p: float, q: float, r: float, u: float, v: float, w: float) -> float:
    """Return h* M h for the column h = [p, q, r; u, v, w] and a body's own inertia M."""
    mass, x, y, z, xx, xy, yy, xz, yz, zz = inertia
    turning = xx * p * p + yy * q * q + zz * r * r + 2 * (xy * p * q + xz * p * r + yz * q * r)
    both = p * (y * w - z * v) + q * (z * u - x * w) + r * (x * v - y * u)
    return turning + 2 * both + mass * (u * u + v * v + w * w)


def _smallest(D: Array, size: Array) -> float:
    """Return the smallest eigenvalue of a symmetric matrix whose diagonal is compared with these sizes."""
    return float(np.linalg.eigvalsh(D / np.sqrt(np.outer(size, size)))[0])


def _root(x: Scalar) -> Scalar:
    return ca.sqrt(x) if isinstance(x, ca.SX) else math.sqrt(max(x, 0.0))


def _square(x: Scalar) -> Scalar:
    return x * x


def _plain(x: ca.SX) -> Scalar:
    return float(x) if x.is_constant() else x
