"""The four basic functions that joints and rods are closed with (Kang and Yoon, tables 1 to 4).

Each holds between two frames, side 0 (the paper's body i) and side 1 (its body j). Letters, as in table 3:

    a_i, a_j    axes fixed on the two sides, in base axes
    p_i, p_j    their origins
    p_ij        p_j - p_i, the vector between the origins
    w_i, w_j    angular velocities

    function    residual phi                 phi' = D_i [w_i; u_i] + D_j [w_j; u_j]
    d1          a_i . a_j                    (a_i x a_j) . (w_i - w_j)
    d2          a_i . p_ij                   (a_i x p_ij) . w_i + a_i . (u_j - u_i)
    s           p_j - p_i                    u_j - u_i
    ss          (p_ij . p_ij - l^2) / 2 l    p_ij / l . (u_j - u_i)

The paper states the rows on the velocity of the body point at the origin of the base; here they are on the velocity
u of the side's own origin, as the contract has it. `bias` is what differentiating phi' once more leaves beside the
accelerations (table 4 with its sign turned), exact also where phi and phi' are not zero. The residual of `ss` is
scaled so that its multiplier is the force in the rod.
"""

from __future__ import annotations

from functools import cache

import casadi as ca

from whippletree.elements.closures.base import Rows, Side
from whippletree.spatial.orientation import IDENTITY, Direction
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross, dense, stack
from whippletree.symbolic.arithmetic import minus, plus, product

__all__ = ["X", "Y", "Z", "d1", "d2", "s", "ss"]

X, Y, Z = IDENTITY


def d1(a: Direction | ca.SX, b: Direction | ca.SX, sides: tuple[Side, ...]) -> Rows:
    """Keep axis `a` of side 0 orthogonal to axis `b` of side 1; the row transmits a moment about a x b.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> d1(X, Y, (rest, rest)).D[0][0, 2]
    SX(1)
    """
    i, j = sides
    a_i, a_j = product(i.R, _axis(a)), product(j.R, _axis(b))
    dn = plus(cross(cross(i.w, a_i), a_j), cross(a_i, cross(j.w, a_j)))
    D = stack(cross(a_i, a_j), ca.SX.zeros(3)).T
    return _rows(ca.dot(a_i, a_j), D, -D, ca.dot(dn, minus(i.w, j.w)))


def d2(a: Direction | ca.SX, sides: tuple[Side, ...]) -> Rows:
    """Keep axis `a` of side 0 orthogonal to the vector between the origins; the row transmits a force along a.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> d2(X, (rest, rest)).D[1][0, 3]
    SX(1)
    """
    i, j = sides
    a_i, p_ij, u_ij = product(i.R, _axis(a)), minus(j.p, i.p), minus(j.u, i.u)
    da = cross(i.w, a_i)
    on_i, on_j = stack(cross(a_i, p_ij), -a_i).T, stack(ca.SX.zeros(3), a_i).T
    # (a x p)' . w + a' . u_ij, where (a x u_ij) . w is a' . u_ij once more
    bias = ca.dot(cross(da, p_ij), i.w) + 2 * ca.dot(da, u_ij)
    return _rows(ca.dot(a_i, p_ij), on_i, on_j, bias)


def s(sides: tuple[Side, ...]) -> Rows:
    """Keep the origins together: three rows, each transmitting a force along an axis of the base.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> s((rest, rest)).D[1].shape
    (3, 6)
    """
    i, j = sides
    return _rows(minus(j.p, i.p), -_LINEAR, _LINEAR, ca.SX.zeros(3))


def ss(length: Scalar, sides: tuple[Side, ...]) -> Rows:
    """Keep the origins at a distance `length`; the multiplier is the force that pushes them apart.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> ss(2.0, (rest, rest._replace(p=ca.SX([2, 0, 0])))).phi
    SX(0)
    """
    i, j = sides
    p_ij, u_ij = j.p - i.p, j.u - i.u
    on_j = ca.densify(ca.horzcat(ca.SX.zeros(1, 3), p_ij.T / length))
    phi = (ca.dot(p_ij, p_ij) - length * length) / (2 * length)
    return _rows(phi, -on_j, on_j, ca.dot(u_ij, u_ij) / length)


def _rows(phi: ca.SX, on_i: ca.SX, on_j: ca.SX, bias: ca.SX) -> Rows:
    """Return rows on two sides that depend on no joint coordinate and not on time."""
    m = phi.size1()
    return Rows(dense(phi), (dense(on_i), dense(on_j)), ca.SX.zeros(m, 0), ca.SX.zeros(m), dense(bias))


def _axis(a: Direction | ca.SX) -> ca.SX:
    return a if isinstance(a, ca.SX) else _constant_axis(a)


@cache
def _constant_axis(a: Direction) -> ca.SX:
    return ca.SX(a)


_LINEAR = dense(ca.horzcat(ca.SX.zeros(3, 3), ca.SX.eye(3)))
"""Maps a side's velocity [w; u] to that of its origin."""
