"""Three-vectors and symmetric matrices over symbols."""

from __future__ import annotations

from itertools import accumulate

import casadi as ca

from whippletree.symbolic.arithmetic import entries, plus, product, times

__all__ = ["centripetal", "cross", "dense", "is_zero", "mirror", "skew", "stack"]


def is_zero(x: ca.SX) -> bool:
    """Tell whether every entry of `x` is the constant zero.

    >>> is_zero(ca.SX([0.0, 0.0]))
    True
    """
    return bool(x.is_zero())


def dense(x: ca.SX) -> ca.SX:
    """Return `x` with all its entries stored, itself if they are.

    >>> dense(ca.SX.eye(2)).nnz()
    4
    """
    return x if x.is_dense() else ca.densify(x)


def stack(*parts: ca.SX) -> ca.SX:
    """Stack parts with as many columns into one dense matrix.

    >>> stack(ca.SX([1, 2]), ca.SX([3])).shape
    (3, 1)
    """
    ends = list(accumulate((part.size1() for part in parts), initial=0))
    whole = ca.SX.zeros(ends[-1], parts[0].size2())
    for part, start, stop in zip(parts, ends, ends[1:], strict=False):
        whole[start:stop, :] = part
    return dense(whole)


def skew(p: ca.SX) -> ca.SX:
    """Return the matrix of the cross product: skew(p) w = p x w.

    >>> skew(ca.SX([1, 2, 3]))[0, 1]
    SX(-3)
    """
    return ca.skew(p)


def cross(a: ca.SX, b: ca.SX) -> ca.SX:
    """Return the cross product; `b` may hold several columns.

    >>> ca.DM(cross(ca.SX([1, 0, 0]), ca.SX([0, 1, 0])))
    DM([0, 0, 1])
    """
    if is_zero(a) or is_zero(b):
        return ca.SX.zeros(3, b.size2())
    if b.size2() == 1:
        return ca.cross(a, b)
    return product(skew(a), b)


def mirror(a: ca.SX) -> ca.SX:
    """Return the symmetric matrix whose lower half is that of `a`; the upper half shares its entries.

    >>> mirror(ca.SX([[1, 9], [2, 3]]))[0, 1]
    SX(2)
    """
    return dense(ca.tril2symm(ca.tril(a)))


def centripetal(w: ca.SX, dw: ca.SX | None = None) -> ca.SX:
    """Return the matrix U with U p = dw x p + w x (w x p): the acceleration field of a turning frame.

    >>> ca.DM(centripetal(ca.SX([0, 0, 2])) @ ca.SX([1, 0, 0]))
    DM([-4, 0, 0])
    """
    if is_zero(w):
        return ca.SX.zeros(3, 3) if dw is None else dense(skew(dw))
    x, y, z = entries(w)
    xx, yy, zz, xy, xz, yz = (times(a, b) for a, b in ((x, x), (y, y), (z, z), (x, y), (x, z), (y, z)))
    W = ca.blockcat([[-plus(yy, zz), xy, xz], [xy, -plus(xx, zz), yz], [xz, yz, -plus(xx, yy)]])
    return W if dw is None or is_zero(dw) else plus(W, skew(dw))
