"""Accelerations of points and vectors at the start of a run: M x'' + Phi_x^T lambda = Q, Phi_x x'' = -gamma.

M may be singular and conditions may follow from each other, so that neither is eliminated: with weights W

    K d = Q - M a - Phi_x^T lambda - Phi_x^T W (Phi_x a + gamma),     K = M + Phi_x^T W Phi_x
    a <- a + d,     lambda <- lambda + W (Phi_x a + gamma)

converges to the exact solution, by some seven digits each time, since what is amiss is worked out from M itself.
"""

from __future__ import annotations

import numpy as np

from whippletree.errors import StateError
from whippletree.formulations.closures.augmented_lagrangian import ROUNDED
from whippletree.formulations.methods.natural import LIGHT
from whippletree.kernels.kernel import Array
from whippletree.natural.natural_coordinates import NaturalCoordinates
from whippletree.system.evaluator import ParameterValues

__all__ = ["start_accelerations"]

_WEIGHT = 1e7
"""Ratio of a condition's stiffness to that of the coordinates it moves."""

_MOST = 12
"""Largest number of iterations of the accelerations at the start."""

_SETTLED = 1e-14
"""Iterations at most, and the relative change after which they end."""


def start_accelerations(
    natural: NaturalCoordinates, x: Array, rates: Array, Q: Array, parameters: ParameterValues
) -> Array:
    """Return x'' (n) at natural coordinates and velocities under the forces Q."""
    M = natural.mass_matrix if parameters is None else natural.mass_at(parameters)
    rows, gamma = natural.rows_at(x, rates, parameters)
    masses = np.maximum(np.diag(M), LIGHT * np.diag(M).mean())
    easy = (rows**2 / masses).sum(axis=1)
    whole = easy.sum() + 1 / np.diag(M).mean()
    weights = np.where(easy > ROUNDED**2 * whole, _WEIGHT / np.maximum(easy, ROUNDED * whole), 0.0)
    K = M + rows.T @ (weights[:, None] * rows)
    try:
        inverse = np.linalg.inv(K)
    except np.linalg.LinAlgError:
        inverse = np.full(K.shape, np.nan)
    if not np.isfinite(inverse).all():
        raise StateError(
            f'"{natural.system.description.name}" has a point or vector that has no mass and that no condition moves: '
            "its acceleration at the start is not determined. Give the bodies masses"
        )
    a, multipliers = np.zeros(x.size), np.zeros(len(rows))
    for _ in range(_MOST):
        missed = rows @ a + gamma
        change = inverse @ (Q - M @ a - rows.T @ (multipliers + weights * missed))
        a = a + change
        multipliers = multipliers + weights * (rows @ a + gamma)
        if np.abs(change).max(initial=0.0) <= _SETTLED * np.abs(a).max(initial=0.0):
            break
    return a
