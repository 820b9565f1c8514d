"""Integrals over the mass of a flexible body (`Invariants`), and what modal coordinates see of it.

What remains of a sum whose terms cancel is rounding: an integral below a share of the sum of magnitudes is zero, so
that symmetric bodies have the zeros they should.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.elements.bodies.flexible_data import Invariants
from whippletree.errors import ModelError
from whippletree.flexible.flexible_input import Array
from whippletree.flexible.flexible_tolerances import ALL_SECOND_ORDER, ZERO_SHARE
from whippletree.spatial.scalars import number, shown

__all__ = ["damping_matrix", "integral", "point_invariants"]


def integral(subscripts: str, *factors: Array) -> Array:
    """Return a sum of products as `np.einsum` does, with zeros where its terms cancel.

    >>> integral("i,i->", np.array([0.1, 0.2, -0.3]), np.ones(3))
    array(0.)
    """
    value = np.einsum(subscripts, *factors, optimize=True)
    bound = np.einsum(subscripts, *(np.abs(factor) for factor in factors), optimize=True)
    return np.where(np.abs(value) <= ZERO_SHARE * bound, 0.0, value)


def point_invariants(mass: Array, position: Array, modes: Array, bend: Array | None) -> Invariants:
    """Return the integrals of points with masses (P,), positions (P, 3), modes (P, 3, n) and second orders (P, 3, n, n).

    >>> found = point_invariants(np.ones(2), np.eye(2, 3), np.ones((2, 3, 1)), None)
    >>> found.mass, found.first.tolist()
    (2.0, [1.0, 1.0, 0.0])
    """
    x, phi, G = position, modes, bend
    few = G is not None and phi.shape[2] <= ALL_SECOND_ORDER
    return Invariants(
        mass=float(mass.sum()),
        first=integral("p,pa->a", mass, x),
        second=integral("p,pa,pb->ab", mass, x, x),
        mode_first=integral("p,pak->ak", mass, phi),
        cross=integral("p,pa,pbk->abk", mass, x, phi),
        modes=integral("p,pak,pbl->abkl", mass, phi, phi),
        mode_second_order=None if G is None else integral("p,pakl->akl", mass, G),
        cross_second_order=None if G is None else integral("p,pa,pbkl->abkl", mass, x, G),
        modes_second_order=None if not few else integral("p,pak,pblm->abklm", mass, phi, G),
        second_orders=None if not few else integral("p,pakl,pamn->klmn", mass, G, G),
    )


def damping_matrix(damping: Any, stiffness: Array, mass: Array) -> Array:
    """Return the damping of modal coordinates: from a damping ratio, one for each mode, or Rayleigh's two numbers.

    >>> damping_matrix(0.01, np.diag([100.0, 400.0]), np.eye(2)).diagonal().round(6).tolist()
    [0.2, 0.4]
    >>> damping_matrix({"mass": 0.5, "stiffness": 1e-3}, np.diag([100.0]), np.eye(1)).round(6).tolist()
    [[0.6]]
    """
    n = len(stiffness)
    if damping is None:
        return np.zeros((n, n))
    if isinstance(damping, dict):
        unknown = set(damping) - {"mass", "stiffness"}
        if unknown:
            raise ModelError(f'damping: Rayleigh\'s has the factors "mass" and "stiffness", not {shown(sorted(unknown))}')
        alpha, beta = (_not_negative(damping.get(key, 0.0), f"damping: {key}") for key in ("mass", "stiffness"))
        return np.asarray(alpha * mass + beta * stiffness)
    single = np.ndim(damping) == 0
    given = [damping] * n if single else list(damping)
    if len(given) != n:
        raise ModelError(f"damping: give one ratio, or one for each of the {n} modes; got {len(given)}")
    ratios = np.array([_not_negative(each, "damping: the ratio") for each in given])
    return _modal_damping(ratios, stiffness, mass)


def _not_negative(value: object, what: str) -> float:
    read = number(value, what)
    if read < 0.0:
        raise ModelError(f"{what} must not be negative, got {read:g}")
    return read


def _modal_damping(ratios: Array, stiffness: Array, mass: Array) -> Array:
    """Return M Q (2 zeta omega) Q^T M, Q the modes of unit mass."""
    if np.abs(mass - np.eye(len(mass))).max(initial=0.0) < 1e-9 and not np.any(stiffness - np.diag(np.diag(stiffness))):
        return np.asarray(np.diag(2 * ratios * np.sqrt(np.diag(stiffness))))
    from scipy.linalg import eigh

    squares, Q = eigh(stiffness, mass)
    MQ = mass @ Q
    return np.asarray((MQ * (2 * ratios * np.sqrt(np.maximum(squares, 0.0)))) @ MQ.T)
