"""The motion of one side in the other, as a joint's coordinates see it.

Side 0 is the joint's frame on its parent, side 1 that on its child. Letters: R, p, w, u of a side; d = p_1 - p_0;
H and a the joint map and its bias; x, v the joint's configuration and velocities.
"""

from __future__ import annotations

import casadi as ca

from whippletree.elements.closures.base import Rows, Side
from whippletree.elements.joints import Joint
from whippletree.spatial import cross, quaternion_log, skew, stack
from whippletree.spatial.vectors import dense
from whippletree.symbolic.arithmetic import minus, plus, product
from whippletree.symbolic.dense_factors import factor, solve_factored

__all__ = ["coordinate_gap", "joint_rates", "left_inverse", "pose_error", "relative_motion"]


def relative_motion(sides: tuple[Side, ...]) -> Rows:
    """Return the six rows of the child side's motion in the parent side, in the child side's axes.

    With them, H v = sum D [w; u] and H v' + a = sum D [w'; u'] + bias, for a joint that the two sides agree with.
    The rows are of velocities: their phi is zeros.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> relative_motion((rest, rest)).D[1].shape
    (6, 6)
    """
    parent, child = sides
    back, d = child.R.T, minus(child.p, parent.p)
    w, u = minus(child.w, parent.w), minus(minus(child.u, parent.u), cross(parent.w, d))
    zero = ca.SX.zeros(3, 3)
    on_parent = ca.blockcat([[-back, zero], [product(back, skew(d)), -back]])
    on_child = ca.diagcat(back, back)
    # the acceleration that the parent's turning brings: w_0 x w, w_0 x (w_0 x d) + 2 w_0 x u
    turning = cross(parent.w, plus(cross(parent.w, d), 2 * u))
    bias = stack(-product(back, cross(parent.w, w)), -product(back, turning))
    return Rows(ca.SX.zeros(6), (dense(on_parent), dense(on_child)), ca.SX.zeros(6, 0), ca.SX.zeros(6), bias)


def pose_error(joint: Joint, x: ca.SX, sides: tuple[Side, ...]) -> ca.SX:
    """Return by how much the child side misses where the joint puts it: rotation vector and translation (6).

    It is in the child side's axes, and zero only where the poses agree: half a turn off counts as pi.

    >>> from whippletree.elements.joints import Fixed
    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> pose_error(Fixed(), ca.SX.zeros(0), (rest, rest._replace(p=ca.SX([1, 0, 0]))))[3]
    SX(1)
    """
    parent, child = sides
    shift = joint.shift(x)
    R, p = parent.R @ shift.rotation(), parent.p + parent.R @ shift.position()
    return stack(quaternion_log(_quaternion(R.T @ child.R)), child.R.T @ (child.p - p))


def coordinate_gap(joint: Joint, q: ca.SX, sides: tuple[Side, ...]) -> ca.SX:
    """Return by how much the child side misses where the joint puts it, as a smooth function of all (6).

    It is in the child side's axes: the sine of the angle by which it is turned, times its axis, and the translation.
    With an angle for q it tells the angle from both its sine and its cosine, wherever that is, but for whole turns.

    >>> from whippletree.elements.joints import Revolute
    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> coordinate_gap(Revolute(), ca.SX.sym("q"), (rest, rest))[2]
    SX((-sin(q)))
    """
    parent, child = sides
    shift = joint.shift(joint.configuration(q))
    E = shift.rotation().T @ (parent.R.T @ child.R)
    turned = ca.vertcat(E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]) / 2
    return stack(turned, child.R.T @ (child.p - parent.p - parent.R @ shift.position()))


def joint_rates(joint: Joint, x: ca.SX, v: ca.SX, sides: tuple[Side, ...]) -> Rows:
    """Return the rows that give a joint's velocities and accelerations from the motion of its sides.

    v = sum D [w; u] and v' = sum D [w'; u'] + bias, with D = (H^T H)^-1 H^T of the relative motion's; phi is zeros.

    >>> from whippletree.elements.joints import Revolute
    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> joint_rates(Revolute(), ca.SX([1, 0]), ca.SX(0), (rest, rest)).D[1][0, 2]
    SX(1)
    """
    motion, N = relative_motion(sides), left_inverse(joint.joint_map(x))
    bias = product(N, minus(motion.bias, joint.joint_bias(x, v)))
    n = joint.nv
    return Rows(ca.SX.zeros(n), tuple(product(N, D) for D in motion.D), ca.SX.zeros(n, 0), ca.SX.zeros(n), bias)


def left_inverse(H: ca.SX) -> ca.SX:
    """Return (H^T H)^-1 H^T, with which a joint's velocities follow from its motion.

    >>> left_inverse(ca.SX([0, 0, 2, 0, 0, 0]))[2]
    SX(0.5)
    """
    if H.size2() == 0:
        return ca.SX(0, 6)
    transposed = H.T
    return solve_factored(factor(product(transposed, H)), dense(transposed))


def _quaternion(R: ca.SX) -> ca.SX:
    """Return a unit quaternion e of a rotation matrix, of either sign.

    The entries of R give 4 e e^T; its column with the largest diagonal entry is far from zero and parallel to e.
    """
    t = R[0, 0] + R[1, 1] + R[2, 2]
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    columns = (
        ca.vertcat(1 + t, x, y, z),
        ca.vertcat(x, 1 + 2 * R[0, 0] - t, xy, xz),
        ca.vertcat(y, xy, 1 + 2 * R[1, 1] - t, yz),
        ca.vertcat(z, xz, yz, 1 + 2 * R[2, 2] - t),
    )
    best, size = columns[0], columns[0][0]
    for k in range(1, 4):
        larger = columns[k][k] > size
        best, size = ca.if_else(larger, columns[k], best), ca.if_else(larger, columns[k][k], size)
    return best / ca.norm_2(best)
