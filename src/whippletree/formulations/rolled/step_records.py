"""Records as columns: the matrices that steps hand on or keep, flattened and put together again.

A record is a CasADi matrix, an inertia, a front or what was eliminated from it, or a tuple of records. Symmetric parts
are stored once; names of front variables are not in it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import casadi as ca

from whippletree.formulations.closures.fronts import EliminatedVariables, Front
from whippletree.formulations.nodes.sweeps import StepRecord
from whippletree.spatial import ArticulatedInertia, RigidInertia

__all__ = ["StepRecord", "flatten", "form_of", "rebuild"]


def flatten(record: StepRecord) -> list[ca.SX]:
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
    if isinstance(record, Front):
        inertia = [] if record.P is None else flatten(record.P)
        return [*inertia, *flatten(record.F), *flatten(record.z), *_lower(record.S), *flatten(record.e)]
    if isinstance(record, EliminatedVariables):
        return [scalar for part in (record.nu, record.on_node, record.on_variables) for scalar in flatten(part)]
    return [scalar for part in record for scalar in flatten(part)]


def rebuild(like: StepRecord, scalars: Iterator[ca.SX]) -> StepRecord:
    """Return a record of the same form as `like` with these scalars.

    >>> rebuild((ca.SX.zeros(2),), iter([ca.SX(1), ca.SX(2)]))
    (SX([1, 2]),)
    """
    if isinstance(like, ca.SX):
        if not like.numel():
            return like
        # not empty: as many as flatten gave
        return ca.reshape(ca.vertcat(*(next(scalars) for _ in range(like.numel()))), *like.shape)
    if isinstance(like, RigidInertia):
        # not empty: as many as flatten gave
        return RigidInertia(next(scalars), rebuild(like.h, scalars), _symmetric(3, scalars))
    if isinstance(like, ArticulatedInertia):
        return ArticulatedInertia(_symmetric(3, scalars), rebuild(like.B, scalars), _symmetric(3, scalars))
    if isinstance(like, Front):
        P = None if like.P is None else rebuild(like.P, scalars)
        F, z = rebuild(like.F, scalars), rebuild(like.z, scalars)
        return Front(like.variables, P, F, z, _symmetric(len(like.variables), scalars), rebuild(like.e, scalars))
    if isinstance(like, EliminatedVariables):
        nu, on_node, on_variables = (rebuild(part, scalars) for part in (like.nu, like.on_node, like.on_variables))
        return EliminatedVariables(like.gone, nu, on_node, like.left, on_variables)
    parts = [rebuild(part, scalars) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def form_of(record: StepRecord) -> Hashable:
    """Return a key that is equal for records that can be read in the same way.

    >>> form_of((ca.SX.zeros(3),)) == form_of((ca.SX.sym("x", 3),))
    True
    """
    if isinstance(record, ca.SX):
        return record.shape
    if isinstance(record, Front):
        return Front, record.P is None, len(record.variables)
    if isinstance(record, EliminatedVariables):
        return EliminatedVariables, record.on_node.shape, record.on_variables.shape
    if isinstance(record, tuple):
        return type(record), *(form_of(part) for part in record)
    return type(record).__name__


def _lower(A: ca.SX) -> list[ca.SX]:
    return [A[i, j] for i in range(A.shape[0]) for j in range(i + 1)]


def _symmetric(n: int, scalars: Iterator[ca.SX]) -> ca.SX:
    A = ca.SX.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = next(scalars)  # not empty: as many as _lower gave
    return A
