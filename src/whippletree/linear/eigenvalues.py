"""Eigenvalues of state matrices: zeros are found by rank, and each of the others comes with the error to expect.

The matrix of a mechanism that can move freely has eigenvalues zero in chains (a displacement that grows at a constant
rate), and an eigenvalue of a chain of k moves by the k-th root of rounding. So the zeros are taken out first: with N an
orthonormal basis of what A maps to zero and R of the rest,

    [N R]^T A [N R] = [0  N^T A R]
                      [0  R^T A R]                                                          (1)

and R^T A R is looked at in the same way until nothing of it is zero. Its eigenvalues are the others, as accurate as
they can be; their vectors are eigenvectors of the whole by (1), read from the last step to the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.foundation.short_text import readable
from whippletree.kernels.kernel import Array
from whippletree.linear.linear_tolerances import ENTRY_ERROR, ROUNDING, ZERO_SHARE

__all__ = ["Spectrum", "spectrum"]


@readable
class Spectrum(NamedTuple):
    """Eigenvalues (m,) other than zero with their vectors (n, m), the error of each, and the zeros.

    `still` (n, k) are states that the matrix maps to zero, `n_zero` is how many eigenvalues are zero: those and the
    states that lead to them.
    """

    values: Array
    vectors: Array
    errors: Array
    still: Array
    n_zero: int


def spectrum(A: Array, scale: Array | None = None) -> Spectrum:
    """Return the eigenvalues and eigenvectors of a state matrix.

    `scale` (n,) are the sizes of the states that compare with each other: a radian with a length, and a velocity with
    those times a frequency. What is zero is decided for states divided by these.

    >>> spectrum(np.array([[0.0, 1.0], [-4.0, 0.0]])).values.round(6).tolist()
    [2j, -2j]
    >>> found = spectrum(np.array([[0.0, 1.0], [0.0, 0.0]]))  # a free mass
    >>> len(found.values), found.n_zero, found.still.round(6).ravel().tolist()
    (0, 2, [1.0, 0.0])
    """
    from scipy.linalg import eig

    n = len(A)
    if not n:
        none = np.zeros((0, 0))
        return Spectrum(np.zeros(0), none, np.zeros(0), none, 0)
    scale = np.ones(n) if scale is None else scale
    steps, rest = _without_zeros(A / scale[:, None] * scale)
    m = len(rest)
    values, left, right = eig(rest, left=True) if m else (np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
    order = np.lexsort((-values.imag, values.real, np.abs(values).round(12))) if m else np.zeros(0, dtype=int)
    values, left, right = values[order], left[:, order], right[:, order]
    size = float(np.linalg.norm(rest, 2)) if m else 0.0
    overlap = np.abs((left.conj() * right).sum(axis=0))
    errors = ENTRY_ERROR * ROUNDING * size / np.maximum(overlap, ROUNDING)
    for N, R, coupling in reversed(steps):
        # the part along N follows from the first row of (1): value * n = N^T A R y
        along = (coupling @ right) / values
        right = N @ along + R @ right
    vectors = scale[:, None] * right
    first = steps[0][0] if steps else np.zeros((n, 0))
    return Spectrum(values, vectors, errors, _echelon(scale[:, None] * first), n - m)


def _without_zeros(A: Array) -> tuple[list[tuple[Array, Array, Array]], Array]:
    """Deflate the eigenvalues zero; return the bases (N, R) of every step with N^T A R, and the remaining matrix."""
    steps: list[tuple[Array, Array, Array]] = []
    largest = float(np.linalg.norm(A, 2))
    while len(A):
        _, s, vt = np.linalg.svd(A)
        zero = s <= ZERO_SHARE * largest
        if not zero.any():
            break
        N, R = vt[zero].T, vt[~zero].T
        steps.append((N, R, N.T @ A @ R))
        A = R.T @ A @ R
    return steps, A


def _echelon(basis: Array) -> Array:
    """Return a basis of the same space in which each column has a state of its own with the value one."""
    from scipy.linalg import qr

    k = basis.shape[1]
    if not k:
        return basis
    _, _, order = qr(basis.T, pivoting=True, mode="economic")
    own = np.sort(order[:k])
    found = basis @ np.linalg.inv(basis[own])
    found[np.abs(found) < ZERO_SHARE * np.abs(found).max()] = 0.0
    return np.asarray(found)
