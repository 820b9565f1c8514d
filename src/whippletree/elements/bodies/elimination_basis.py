"""Combinations of modal coordinates in which a body's interfaces move in few of them, each by one.

An articulated sweep brings the inertia of what is beyond to the modes at an interface, whose map A (rows: rotations and
displacements of the interfaces, columns: modes) is full, and eliminates the modes' accelerations there. It may
eliminate others, eta'' = B xi'', as B is constant. Here they are chosen such that

    A B = [1 0] for independent rows of A,        B^T E B = [. 0; 0 1]                                      (1)

for a modal inertia E. The first of xi are then the interfaces' own motion, for which inertia is picked out and not
multiplied, and the others, which leave the interfaces at rest, are not coupled with anything but the body's frame.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["elimination_basis", "exact_units"]

Array = npt.NDArray[np.float64]

_INDEPENDENT = 1e-2
"""A row is independent of others if this share of it is: B is well conditioned then."""

_ROUNDING = 1e-12
"""Entries of A B are zeros or ones up to this share of the products in them."""


def elimination_basis(E: Array, A: Array) -> Array | None:
    """Return B (n, n) of (1); nothing if that would not save operations.

    >>> elimination_basis(np.eye(3), np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])).round(3).tolist()
    [[0.5, 0.5, 0.0], [0.5, -0.5, 0.0], [0.0, 0.0, 1.0]]
    >>> elimination_basis(np.eye(2), np.eye(2)) is None
    True
    """
    n = E.shape[0]
    B = np.eye(n)
    moving = (A != 0).astype(int)
    for modes in _connected((E != 0) | (moving.T @ moving > 0)):
        rows = np.flatnonzero(np.any(A[:, modes], axis=1))
        if rows.size:
            B[np.ix_(modes, modes)] = _combined(E[np.ix_(modes, modes)], A[np.ix_(rows, modes)])
    AB = exact_units(A @ B, np.abs(A) @ np.abs(B))
    saved = (_products(A) - _products(AB)) * (12 + 2 * n)  # in P A^T and A P A^T
    return B if saved > 4 * np.count_nonzero(B - np.eye(n)) else None


def exact_units(found: Array, size: Array) -> Array:
    """Return products, with entries set to 0 and 1 that are so up to rounding; `size` is the size of the summands.

    >>> exact_units(np.array([1e-17, 1 + 1e-15, 0.3]), np.ones(3)).tolist()
    [0.0, 1.0, 0.3]
    """
    for exact in (0.0, 1.0):
        found = np.where(np.abs(found - exact) <= _ROUNDING * size, exact, found)
    return found


def _products(A: Array) -> int:
    """Return with how many entries one has to multiply."""
    return int(np.count_nonzero((A != 0) & (A != 1)))


def _combined(E: Array, A: Array) -> Array:
    """Return B for modes that are all coupled."""
    root = np.linalg.inv(np.linalg.cholesky(E)).T
    picked = (A @ root)[_independent(A @ root)]
    rest = np.linalg.qr(picked.T, mode="complete")[0][:, len(picked) :]
    both = np.hstack([np.linalg.pinv(picked), rest])
    return exact_units(root @ both, np.abs(root) @ np.abs(both))


def _independent(A: Array) -> list[int]:
    """Return the rows that are independent of one another, most of all first."""
    left, found = A / np.linalg.norm(A, axis=1)[:, None], list[int]()
    while len(found) < A.shape[1]:
        sizes = np.linalg.norm(left, axis=1)
        best = int(np.argmax(sizes))
        if sizes[best] < _INDEPENDENT:
            break
        along = left[best] / sizes[best]
        left = left - np.outer(left @ along, along)
        found.append(best)
    return found


def _connected(joined: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.int64]]:
    """Return groups of numbers that are joined, directly or by others."""
    waiting, groups = set(range(len(joined))), []
    while waiting:
        group, new = set[int](), {min(waiting)}  # not empty: the loop ends before
        while new:
            group |= new
            new = {int(j) for i in new for j in np.flatnonzero(joined[i])} - group
        waiting -= group
        groups.append(np.array(sorted(group)))
    return groups
