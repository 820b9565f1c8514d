"""The rows of a cut joint from its joint map alone, for types that do not state them.

With H (6, nv) the joint map at the joint's configuration, a its bias and N (6 - nv, 6) a left annihilator, N H = 0, the
motion of the child side in the parent side (`relative_motion`: V and A, in child axes) must satisfy

    N V = N H v = 0                                                                                   (1)
    N A = N (H v' + a) = N a                                                                          (2)

so that N of the relative motion's rows are the closure's, with the bias N (bias - a). The residual is N e, with e the
pose error, which changes with V where it is zero. N and a are those of the joint's own coordinates and velocities: (1)
and (2) are exact where these agree with the sides, and to first order in the pose error elsewhere.

N is made of H's structure. An entry of the motion in which H has a row of zeros is held by itself. Of the others, rows
and columns of H that have nothing to do with each other are taken apart, and each block of r rows and k columns gives
r - k rows: for r - k = 1 the minors of the block, with no division, which never vanish together and change smoothly;
for more, the last columns of the block's orthogonal factor (Householder), for which no pivot is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca

from whippletree.elements.closures.base import Rows, Side
from whippletree.elements.closures.relative import pose_error, relative_motion
from whippletree.elements.joints import Joint

__all__ = ["annihilator_labels", "annihilator_rows", "left_annihilator"]

_DIRECTIONS = tuple(f"{kind} {axis} of the joint's child" for kind in ("moment about", "force along") for axis in "xyz")

Block = tuple[list[int], list[int]]
"""Rows and columns that belong together."""


def annihilator_rows(joint: Joint, x: ca.SX, v: ca.SX, sides: tuple[Side, ...]) -> Rows:
    """Return the 6 - nv rows of a cut joint at its configuration and velocities.

    >>> from whippletree.elements.joints import Revolute
    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> annihilator_rows(Revolute(), ca.SX([1, 0]), ca.SX(0), (rest, rest)).D[1].shape
    (5, 6)
    """
    N, motion = left_annihilator(joint.joint_map(x)), relative_motion(sides)
    m = N.shape[0]
    D = tuple(ca.densify(N @ part) for part in motion.D)
    bias = ca.densify(N @ (motion.bias - joint.joint_bias(x, v)))
    return Rows(ca.densify(N @ pose_error(joint, x, sides)), D, ca.SX(m, 0), ca.SX.zeros(m), bias)


def annihilator_labels(joint: Joint) -> tuple[str, ...]:
    """Return the labels of the forces and moments that the rows of a cut joint transmit.

    >>> from whippletree.elements.joints import Screw
    >>> annihilator_labels(Screw(0.1))[-2:]
    ("force along y of the joint's child", 'constrained part of moment about z and force along z')
    """
    H = joint.joint_map(joint.configuration(ca.SX.sym("q", joint.nq)))
    labels = [_DIRECTIONS[i] for i in _held(H)]
    for rows, columns in _blocks(H):
        spare = len(rows) - len(columns)
        moved = " and ".join(_DIRECTIONS[i].split(" of ")[0] for i in rows)
        numbers = [f", {n + 1} of {spare}" for n in range(spare)] if spare > 1 else [""]
        labels += [f"constrained part of {moved}{number}" for number in numbers[:spare]]
    return tuple(labels)


def left_annihilator(H: ca.SX) -> ca.SX:
    """Return N (6 - nv, 6) with N H = 0 and full rank, for a joint map of full rank.

    >>> left_annihilator(ca.SX([0, 0, 1, 0, 0, 0.5]))[4, :]
    SX(@1=0, [[@1, @1, -0.5, @1, @1, 1]])
    """
    rows = [ca.SX.eye(6)[i, :] for i in _held(H)]
    for own, columns in _blocks(H):
        for normal in _normals(H[own, columns]):
            row = ca.SX(1, 6)
            row[0, own] = normal
            rows.append(row)
    return ca.densify(ca.vertcat(ca.SX(0, 6), *rows))


def _held(H: ca.SX) -> list[int]:
    """Return the entries of the motion that no freedom has a part in."""
    return [i for i in range(6) if H[i, :].is_zero()]


def _blocks(H: ca.SX) -> Iterator[Block]:
    """Yield the rows and columns of H that belong together, in the order of their first rows."""
    left = [i for i in range(6) if not H[i, :].is_zero()]
    while left:
        rows, columns = [left[0]], []
        for i in rows:  # which grows on the way
            for j in (j for j in range(H.shape[1]) if j not in columns and not H[i, j].is_zero()):
                columns.append(j)
                rows += [k for k in left if k not in rows and not H[k, j].is_zero()]
        left = [i for i in left if i not in rows]
        yield sorted(rows), sorted(columns)


def _normals(block: ca.SX) -> Sequence[ca.SX]:
    """Return rows (1, r) that are normal to the columns (r, k) of a block: r - k of them."""
    r, k = block.shape
    if r == k + 1:
        others = [[i for i in range(r) if i != left] for left in range(r)]
        minors = [ca.SX(ca.det(block[rows, :])) for rows in others]
        return [ca.horzcat(*((-1) ** (i + k) * minor for i, minor in enumerate(minors)))]
    Q = ca.SX.eye(r)
    for j in range(k):
        h = (Q.T @ block[:, j])[j:]
        w = ca.densify(h)
        w[0] = w[0] + ca.if_else(w[0] < 0, -1, 1) * ca.norm_2(h)  # of the sign of w[0], so that nothing cancels
        tail = Q[:, j:]
        Q[:, j:] = tail - (tail @ w) @ (2 / ca.sumsqr(w) * w.T)
    return [Q[:, i].T for i in range(k, r)]
