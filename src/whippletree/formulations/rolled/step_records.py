"""Records as columns: what steps hand on or keep, flattened and put together again.

A record is a CasADi matrix, an inertia, or a tuple of records. Symmetric parts are stored once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca

from whippletree.spatial import ArticulatedInertia, RigidInertia

__all__ = ["flatten", "rebuild", "size_of"]

_LOWER = ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2))


def flatten(record: Any) -> list[ca.SX]:
    """Return the scalars of a record, symmetric parts once.

    >>> len(flatten((ca.SX.zeros(3), RigidInertia.zero())))
    13
    """
    if isinstance(record, ca.SX):
        return ca.vertsplit(ca.vec(ca.densify(record))) if record.numel() else []
    if isinstance(record, RigidInertia):
        return [record.m, *flatten(record.h), *_lower(record.J)]
    if isinstance(record, ArticulatedInertia):
        return [*_lower(record.J), *flatten(record.B), *_lower(record.M)]
    return [scalar for part in record for scalar in flatten(part)]


def rebuild(like: Any, scalars: Iterator[ca.SX]) -> Any:
    """Return a record of the same form as `like` with these scalars.

    >>> rebuild((ca.SX.zeros(2),), iter([ca.SX(1), ca.SX(2)]))
    (SX([1, 2]),)
    """
    if isinstance(like, ca.SX):
        if not like.numel():
            return like
        return ca.reshape(ca.vertcat(*(next(scalars) for _ in range(like.numel()))), *like.shape)
    if isinstance(like, RigidInertia):
        return RigidInertia(next(scalars), rebuild(like.h, scalars), _symmetric(scalars))
    if isinstance(like, ArticulatedInertia):
        return ArticulatedInertia(_symmetric(scalars), rebuild(like.B, scalars), _symmetric(scalars))
    parts = [rebuild(part, scalars) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def size_of(record: Any) -> int:
    """Return the number of scalars of a record.

    >>> size_of(ArticulatedInertia.zero())
    21
    """
    return len(flatten(record))


def _lower(A: ca.SX) -> list[ca.SX]:
    return [A[i, j] for i, j in _LOWER]


def _symmetric(scalars: Iterator[ca.SX]) -> ca.SX:
    xx, xy, yy, xz, yz, zz = (next(scalars) for _ in range(6))
    return ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
