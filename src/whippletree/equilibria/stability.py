"""Whether a mechanism that is left a little beside an equilibrium stays there: by its linear model.

Along the motions x that closures allow and nothing holds,

    M x'' + D x' + K x + Z z = 0,       z' = Y_q x + Y_v x' + Y_z z                                      (1)

- forces with a potential (K symmetric, no states): stable if K is positive definite and no damping feeds energy in
  (Dirichlet); unstable if K has a negative eigenvalue and no gyroscopic terms hold it (Kelvin, Tait and Chetaev);
- otherwise stable if all eigenvalues of (1) have negative real parts, unstable if one has a positive real part;
- undecided in between: the linear model does not say.

Each comparison with zero is one with the error of what is compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.equilibria.balance import BalanceSlopes, Mask, null_space
from whippletree.equilibria.equilibrium_tolerances import INDIFFERENT, SYMMETRIC
from whippletree.kernels.kernel import Array
from whippletree.linear.eigenvalues import Spectrum, spectrum
from whippletree.linear.linear_model import LinearModel
from whippletree.spatial.scales import scale_of, vanishing

__all__ = ["STABLE", "UNDECIDED", "UNSTABLE", "Stability", "held_spectrum", "judged", "stability_of"]

STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided"


class Stability(NamedTuple):
    """The word, why, and the coordinates (n, k) of motions along which that shows: indifferent or unstable ones."""

    word: str
    reason: str
    motions: Array


def stability_of(slopes: BalanceSlopes, least: float = 0.0) -> Stability:
    """Tell whether an equilibrium at rest is stable; stiffness below `least` may come from its inaccurate place."""
    n = len(slopes.K)
    if not n:
        return Stability(STABLE, "nothing can move", np.zeros((0, 0)))
    if not len(slopes.Yz):
        found = _by_potential(slopes, least)
        if found is not None:
            return found
    if np.linalg.matrix_rank(slopes.M, tol=1e-12 * np.abs(slopes.M).max(initial=0.0)) < n:
        return Stability(UNDECIDED, "a motion has no inertia, so that there are no eigenvalues", np.zeros((n, 0)))
    return judged(spectrum(_state_matrix(slopes), _state_sizes(slopes)), n)


def _by_potential(slopes: BalanceSlopes, least: float) -> Stability | None:
    """Judge by the stiffness alone, where forces have a potential and damping takes energy out."""
    K = slopes.K
    if not vanishing(K - K.T, K, share=SYMMETRIC).all():
        return None
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    damping = (slopes.D + slopes.D.T) / 2
    if np.linalg.eigvalsh(damping).min(initial=0.0) < -INDIFFERENT * scale_of(slopes.D):
        return None
    gyroscopic = not vanishing(slopes.D - slopes.D.T, slopes.D, share=SYMMETRIC).all()
    floor = max(INDIFFERENT * scale_of(K), least)
    if (values > floor).all():
        return Stability(STABLE, "the potential energy has a minimum", np.zeros((len(K), 0)))
    if (values < -floor).any():
        if gyroscopic:
            return None
        return Stability(UNSTABLE, "the potential energy falls along a motion", vectors[:, values < -floor])
    flat = vectors[:, values <= floor]
    return Stability(UNDECIDED, "a motion meets no stiffness", flat)


def _state_matrix(slopes: BalanceSlopes) -> Array:
    """Return A of x' = A x for (1)."""
    n, nz = len(slopes.K), len(slopes.Yz)
    right = np.linalg.solve(slopes.M, -np.hstack([slopes.K, slopes.D, slopes.Kz]))
    top = np.hstack([np.zeros((n, n)), np.eye(n), np.zeros((n, nz))])
    return np.vstack([top, right, np.hstack([slopes.Yq, slopes.Yv, slopes.Yz])])


def _state_sizes(slopes: BalanceSlopes) -> Array:
    """Return the sizes of states that compare: scaled displacements, these times the fastest rate, and states."""
    n, nz = len(slopes.K), len(slopes.Yz)
    A = np.abs(_state_matrix(slopes))
    rate = max(np.sqrt(A[n : 2 * n, :n].max(initial=0.0)), A[n : 2 * n, n : 2 * n].max(initial=0.0)) or 1.0
    fed = np.abs(np.hstack([slopes.Yq, rate * slopes.Yv])).max(axis=1, initial=0.0) / rate
    return np.concatenate([np.ones(n), np.full(n, rate), np.where(fed > 0, fed, 1.0) if nz else np.zeros(0)])


def held_spectrum(model: LinearModel, held: Mask) -> Spectrum:
    """Return the eigenvalues of a linear model while some freedoms are held at their places.

    With P, V, S the maps of the model and h the held rows, displacements d = X x with P_h X = 0, and velocities
    w = Y y + T x with V_h Y = 0 and V_h T + S_h X = 0; the efforts that hold do no work on Y:

        x' = X^T d',        Y^T M (Y y' + T x' - w') = 0
    """
    if not held.any():
        return model.spectrum
    assert model.scale is not None and model.mass_matrix is not None
    n, m, size = model.n_displacements, model.n_velocities, model.scale
    A = model.A / size[:, None] * size
    M = model.mass_matrix * size[n : n + m, None] * size[n : n + m]
    speeds = model.velocity_map[held] * size[n : n + m]
    X, Y = null_space(model.displacement_map[held] * size[:n]), null_space(speeds)
    T = -np.linalg.lstsq(speeds, model.velocity_slope[held] * size[:n] @ X, rcond=None)[0]
    k, nz = X.shape[1] + Y.shape[1], len(A) - n - m
    right = np.zeros((len(A), k + nz))
    right[:n, : X.shape[1]], right[n : n + m, : X.shape[1]] = X, T
    right[n : n + m, X.shape[1] : k], right[n + m :, k:] = Y, np.eye(nz)
    rates = A @ right
    x = X.T @ rates[:n]
    y = np.linalg.solve(Y.T @ M @ Y, Y.T @ M @ (rates[n : n + m] - T @ x))
    return spectrum(np.vstack([x, y, rates[n + m :]]), np.ones(k + nz))


def judged(found: Spectrum, n: int) -> Stability:
    """Judge by eigenvalues of which the error is known; `n` states are displacements."""
    values = found.values.astype(np.complex128)
    error = np.maximum(found.errors, INDIFFERENT * scale_of(values))
    growing = values.real > error
    if growing.any():
        k = int(np.argmax(values.real))
        return Stability(UNSTABLE, f"a motion grows as exp({values[k].real:.3g} t)", found.vectors[:n, growing].real)
    if found.n_zero:
        return Stability(UNDECIDED, "a motion meets no stiffness", found.still[:n])
    if (values.real < -error).all():
        return Stability(STABLE, "all motions die away", np.zeros((n, 0)))
    return Stability(UNDECIDED, "an oscillation neither grows nor dies away in the linear model", np.zeros((n, 0)))
