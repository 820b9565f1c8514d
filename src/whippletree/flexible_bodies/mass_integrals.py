"""Integrals over the mass of a flexible body (`Invariants`), and their parts for modal coordinates.

What remains of a sum whose terms cancel is rounding: an integral below a share of the sum of magnitudes is zero, so
that symmetric bodies have the zeros they should.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from whippletree.elements.bodies.flexible_data import Invariants
from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array
from whippletree.flexible_bodies.flexible_tolerances import ALL_SECOND_ORDER, ZERO_SHARE
from whippletree.spatial.scalars import number, shown

Damping: TypeAlias = float | Sequence[float] | Array | Mapping[str, float] | None
"""Shares of critical damping, one or one for each mode, or {"mass": alpha, "stiffness": beta}; None for no damping."""

__all__ = ["damping_matrix", "integral", "point_invariants"]


def integral(subscripts: str, *factors: Array) -> Array:
    """Return a sum of products as `np.einsum` does, with zeros where its terms cancel.

    >>> integral("i,i->", np.array([0.1, 0.2, -0.3]), np.ones(3))
    array(0.)
    """
    total = _Sum()
    total.add(subscripts, factors)
    return total.value()


class _Sum:
    """A sum of products, with the sum of their magnitudes beside it."""

    def __init__(self) -> None:
        self._value: Any = 0.0
        self._bound: Any = 0.0

    def add(self, subscripts: str, factors: Sequence[Array]) -> None:
        """Add products."""
        self._value = self._value + np.einsum(subscripts, *factors, optimize=True)
        self._bound = self._bound + np.einsum(subscripts, *(np.abs(each) for each in factors), optimize=True)

    def value(self) -> Array:
        """Return the sum, zero where no more than rounding is left of its terms."""
        return np.where(np.abs(self._value) <= ZERO_SHARE * self._bound, 0.0, self._value)


_INTEGRALS = {
    "first": ("p,pa->a", "mx"),
    "second": ("p,pa,pb->ab", "mxx"),
    "mode_first": ("p,pak->ak", "mf"),
    "cross": ("p,pa,pbk->abk", "mxf"),
    "modes": ("p,pak,pbl->abkl", "mff"),
    "mode_second_order": ("p,pakl->akl", "mg"),
    "cross_second_order": ("p,pa,pbkl->abkl", "mxg"),
    "modes_second_order": ("p,pak,pblm->abklm", "mfg"),
    "second_orders": ("p,pakl,pamn->klmn", "mgg"),
}
"""The integrals as sums over points: m their mass, x their position, f the modes there, g the second orders."""


def point_invariants(parts: Iterable[tuple[Array, Array, Array, Array | None]]) -> Invariants:
    """Return the integrals of points, given part by part.

    A part is masses (P,), positions (P, 3), modes (P, 3, n) and second-order displacements (P, 3, n, n), or None.

    >>> found = point_invariants([(np.ones(2), np.eye(2, 3), np.ones((2, 3, 1)), None)])
    >>> found.mass, found.first.tolist()
    (2.0, [1.0, 1.0, 0.0])
    """
    mass, sums = 0.0, {name: _Sum() for name in _INTEGRALS}
    left_out: set[str] = set()
    for m, x, f, g in parts:
        mass += float(m.sum())
        values = {"m": m, "x": x, "f": f, "g": g}
        many = f.shape[2] > ALL_SECOND_ORDER
        for name, (subscripts, letters) in _INTEGRALS.items():
            if "g" in letters and (g is None or (many and letters in ("mfg", "mgg"))):
                left_out.add(name)
                continue
            sums[name].add(subscripts, [cast(Array, values[letter]) for letter in letters])
    return Invariants(mass, **{name: each.value() for name, each in sums.items() if name not in left_out})


def damping_matrix(damping: Damping, stiffness: Array, mass: Array) -> Array:
    """Return the damping of modal coordinates: from a damping ratio, one for each mode, or Rayleigh's two numbers.

    >>> damping_matrix(0.01, np.diag([100.0, 400.0]), np.eye(2)).diagonal().round(6).tolist()
    [0.2, 0.4]
    >>> damping_matrix({"mass": 0.5, "stiffness": 1e-3}, np.diag([100.0]), np.eye(1)).round(6).tolist()
    [[0.6]]
    """
    n = len(stiffness)
    if damping is None:
        return np.zeros((n, n))
    if isinstance(damping, Mapping):
        unknown = set(damping) - {"mass", "stiffness"}
        if unknown:
            raise ModelError(
                f'damping: Rayleigh\'s has the factors "mass" and "stiffness", not {shown(sorted(unknown))}'
            )
        alpha, beta = (_not_negative(damping.get(key, 0.0), f"damping: {key}") for key in ("mass", "stiffness"))
        return np.asarray(alpha * mass + beta * stiffness)
    single = np.ndim(damping) == 0
    ratios: Any = damping
    given = [ratios] * n if single else list(ratios)
    if len(given) != n:
        raise ModelError(f"damping: give one ratio, or one for each of the {n} modes; got {len(given)}")
    ratios = np.array([_not_negative(each, "damping: the ratio") for each in given])
    return _modal_damping(ratios, stiffness, mass)


def _not_negative(value: float, what: str) -> float:
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
