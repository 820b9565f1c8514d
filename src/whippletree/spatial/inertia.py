"""Inertias that the sweeps carry inward: of rigid bodies, and of articulated bodies."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.spatial.vectors import cross, is_zero, mirror, skew, stack
from whippletree.symbolic.arithmetic import entries, minus, plus, product, times

__all__ = ["ArticulatedInertia", "RigidInertia"]


@dataclass(frozen=True)
class RigidInertia:
    """Ten numbers: mass `m`, first moment `h` = mass times centre, and inertia `J` about the frame's origin.

    As a matrix [[J, skew(h)], [-skew(h), m I]].

    >>> RigidInertia(ca.SX(2), ca.SX([0, 0, 0]), ca.SX.eye(3)).times(ca.SX([0, 0, 0, 1, 0, 0]))[3]
    SX(2)
    """

    m: ca.SX
    h: ca.SX
    J: ca.SX

    @staticmethod
    def zero() -> RigidInertia:
        """Return the inertia of nothing."""
        return RigidInertia(ca.SX(0), ca.SX.zeros(3), ca.SX.zeros(3, 3))

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(plus(self.m, other.m), plus(self.h, other.h), mirror(plus(self.J, other.J)))

    def times(self, V: ca.SX) -> ca.SX:
        """Return the momentum of motion columns (6, k)."""
        w, v = V[0:3, :], V[3:6, :]
        moment = plus(product(self.J, w), cross(self.h, v))
        return stack(moment, minus(times(self.m, v), cross(self.h, w)))

    def translated(self, p: ca.SX) -> RigidInertia:
        """Return the inertia about a point from which the present one is at `p`."""
        h = plus(self.h, times(self.m, p))
        # J' = J - p~ h~ - h'~ p~, with -a~ b~ = (a . b) I - b a^T
        (tx, ty, tz), (px, py, pz) = entries(times(p, plus(self.h, h))), entries(p)
        (hx, hy, _), (_, gy, gz) = entries(h), entries(self.h)
        xx, xy, xz, _, yy, yz, _, _, zz = entries(self.J)
        xy = minus(xy, plus(times(px, gy), times(py, hx)))
        xz = minus(xz, plus(times(px, gz), times(pz, hx)))
        yz = minus(yz, plus(times(py, gz), times(pz, hy)))
        xx, yy, zz = plus(xx, plus(ty, tz)), plus(yy, plus(tx, tz)), plus(zz, plus(tx, ty))
        return RigidInertia(self.m, h, _symmetric(xx, xy, yy, xz, yz, zz))

    def rotated(self, R: ca.SX) -> RigidInertia:
        """Return the inertia in axes in which the present ones are the columns of `R`."""
        return RigidInertia(self.m, product(R, self.h), _rotated_symmetric(self.J, R))

    def turned(self, c: ca.SX, s: ca.SX) -> RigidInertia:
        """Return the inertia in axes in which the present ones are turned about z."""
        x, y, z = entries(self.h)
        return RigidInertia(self.m, stack(*_turned_pair(x, y, c, s), z), _turned_symmetric(self.J, c, s))

    def gyroscopic(self, W: ca.SX) -> ca.SX:
        """Return [w x J w; w x (w x h)] from W = skew(w)^2 (see `vectors.centripetal`).

        With the products of w at hand, w x J w needs no product with J w: for its first component,
        (Jzz - Jyy) wy wz + Jyz (wy^2 - wz^2) + Jxz wx wy - Jxy wx wz.
        """
        if is_zero(W):
            return ca.SX.zeros(6)
        Jxx, Jxy, Jxz, _, Jyy, Jyz, _, _, Jzz = entries(self.J)
        xx, xy, xz, _, yy, yz, _, _, zz = entries(W)
        # W_xx = -(wy^2 + wz^2), so W_zz - W_yy = wz^2 - wy^2 and so on.
        x = _gyration(minus(Jzz, Jyy), yz, Jyz, minus(zz, yy), Jxz, xy, Jxy, xz)
        y = _gyration(minus(Jxx, Jzz), xz, Jxz, minus(xx, zz), Jxy, yz, Jyz, xy)
        z = _gyration(minus(Jyy, Jxx), xy, Jxy, minus(yy, xx), Jyz, xz, Jxz, yz)
        return stack(x, y, z, product(W, self.h))

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in the general form."""
        zero = ca.SX(0)
        M = _symmetric(self.m, zero, self.m, zero, zero, self.m)
        return ArticulatedInertia(self.J, ca.densify(skew(self.h)), M)


@dataclass(frozen=True)
class ArticulatedInertia:
    """A symmetric 6 x 6 inertia [[J, B], [B^T, M]] with J and M mirrored: 21 numbers.

    >>> RigidInertia(ca.SX(2), ca.SX([0, 0, 0]), ca.SX.eye(3)).articulated().M[0, 0]
    SX(2)
    """

    J: ca.SX
    B: ca.SX
    M: ca.SX

    @staticmethod
    def zero() -> ArticulatedInertia:
        """Return the inertia of nothing."""
        return ArticulatedInertia(ca.SX.zeros(3, 3), ca.SX.zeros(3, 3), ca.SX.zeros(3, 3))

    @staticmethod
    def of_matrix(P: ca.SX) -> ArticulatedInertia:
        """Split a symmetric matrix (6, 6) into its blocks, reading the lower half."""
        return ArticulatedInertia(mirror(P[0:3, 0:3]), P[3:6, 0:3].T, mirror(P[3:6, 3:6]))

    def matrix(self) -> ca.SX:
        """Return the matrix (6, 6)."""
        return ca.blockcat([[self.J, self.B], [self.B.T, self.M]])

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        J, M = plus(self.J, other.J), plus(self.M, other.M)
        return ArticulatedInertia(mirror(J), plus(self.B, other.B), mirror(M))

    def times(self, V: ca.SX) -> ca.SX:
        """Return the product with motion columns (6, k)."""
        w, v = V[0:3, :], V[3:6, :]
        moment = plus(product(self.J, w), product(self.B, v))
        return stack(moment, plus(product(self.B.T, w), product(self.M, v)))

    def translated(self, p: ca.SX) -> ArticulatedInertia:
        """Return the inertia about a point from which the present one is at `p`."""
        S = skew(p)
        B = plus(self.B, product(S, self.M))
        J = mirror(minus(plus(self.J, product(S, self.B.T)), product(B, S)))
        return ArticulatedInertia(J, B, self.M)

    def rotated(self, R: ca.SX) -> ArticulatedInertia:
        """Return the inertia in axes in which the present ones are the columns of `R`."""
        back = R.T
        J, M = (product(product(R, A), back) for A in (self.J, self.M))
        rows = [is_zero(self.B[i, :]) for i in range(3)]  # those along a hinge that is released
        B = product(R, product(self.B, back)) if any(rows) else product(product(R, self.B), back)
        return ArticulatedInertia(mirror(J), B, mirror(M))

    def turned(self, c: ca.SX, s: ca.SX) -> ArticulatedInertia:
        """Return the inertia in axes in which the present ones are turned about z."""
        return ArticulatedInertia(
            _turned_symmetric(self.J, c, s), _turned(self.B, c, s), _turned_symmetric(self.M, c, s)
        )


def _symmetric(xx: ca.SX, xy: ca.SX, yy: ca.SX, xz: ca.SX, yz: ca.SX, zz: ca.SX) -> ca.SX:
    """Return a symmetric matrix from its lower half, row by row."""
    return ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _rotated_symmetric(A: ca.SX, R: ca.SX) -> ca.SX:
    """Return R A R^T for a symmetric A.

    If A is diagonal it is c I + sum of (a_k - c) r_k r_k^T, with r_k the columns of R: 9 multiplications if two of the
    a_k are equal, else 18, where the products of matrices take 27.
    """
    if not (A - ca.diag(ca.diag(A))).is_zero():
        return mirror(R @ A @ R.T)
    a = ca.diag(A)
    c = a[0] if ca.is_equal(a[0], a[1]) else a[2]
    total = ca.densify(c * ca.SX.eye(3))
    for k in range(3):
        total = ca.mac((a[k] - c) * R[:, k], R[:, k].T, total)
    return mirror(total)


def _turned_symmetric(A: ca.SX, c: ca.SX, s: ca.SX) -> ca.SX:
    """Return Rz A Rz^T for a symmetric A with 8 multiplications.

    With w = s (axx - ayy) + 2 c axy, the turned block is axx - s w, ayy + s w and c w - axy.
    """
    xx, xy, xz, _, yy, yz, _, _, zz = entries(A)
    w = plus(times(s, minus(xx, yy)), times(c, plus(xy, xy)))
    sw = times(s, w)
    return _symmetric(minus(xx, sw), minus(times(c, w), xy), plus(yy, sw), *_turned_pair(xz, yz, c, s), zz)


def _turned(A: ca.SX, c: ca.SX, s: ca.SX) -> ca.SX:
    """Return Rz A Rz^T for a general A with 12 multiplications, in the manner of `_turned_symmetric`."""
    xx, yx, zx, xy, yy, zy, xz, yz, zz = entries(A)
    w = plus(times(s, minus(xx, yy)), times(c, plus(xy, yx)))
    sw, cw = times(s, w), times(c, w)
    (xz, yz), (zx, zy) = _turned_pair(xz, yz, c, s), _turned_pair(zx, zy, c, s)
    return stack(minus(xx, sw), minus(cw, xy), zx, minus(cw, yx), plus(yy, sw), zy, xz, yz, zz).reshape((3, 3))


def _turned_pair(x: ca.SX, y: ca.SX, c: ca.SX, s: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the components of a vector along x and y, turned about z."""
    return minus(times(c, x), times(s, y)), plus(times(s, x), times(c, y))


def _gyration(*f: ca.SX) -> ca.SX:
    """Return f0 f1 - f2 f3 + f4 f5 - f6 f7."""
    a, b, c, d = (times(f[k], f[k + 1]) for k in range(0, 8, 2))
    return minus(plus(minus(a, b), c), d)
