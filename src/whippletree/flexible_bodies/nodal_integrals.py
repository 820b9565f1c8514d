"""Integrals of a beam in nodal coordinates, element by element: each element sees its own two nodes only.

So the integrals have entries only between freedoms of neighbouring nodes, and the work is linear in the number of
elements. They are those of linear displacements: second-order ones of a node would move all that follows it, and couple
each freedom with each.
"""

from __future__ import annotations

import numpy as np

from whippletree.elements.bodies.flexible_data import Invariants
from whippletree.flexible_bodies.beam_elements import BeamElements
from whippletree.flexible_bodies.flexible_input import Array
from whippletree.flexible_bodies.flexible_tolerances import ZERO_SHARE
from whippletree.foundation.arrays import Indices

__all__ = ["nodal_invariants"]

_INTEGRALS = {
    "mode_first": ("p,pak->ak", "mf"),
    "cross": ("p,pa,pbk->abk", "mxf"),
    "modes": ("p,pak,pbl->abkl", "mff"),
}
"""Sums over the points of an element: m their mass, x their position, f the displacements of its unit freedoms."""


def nodal_invariants(elements: BeamElements, places: Indices) -> Invariants:
    """Return the integrals of a beam, of which `places` (6 N,) says which coordinate each nodal freedom is.

    It is -1 where the frame holds a freedom.
    """
    n = int(places.max()) + 1
    masses, arms = elements.mass_points()
    moved, turned, _ = elements.fields()
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    sums = {"mode_first": np.zeros((3, n)), "cross": np.zeros((3, 3, n)), "modes": np.zeros((3, 3, n, n))}
    bounds = {name: np.zeros_like(each) for name, each in sums.items()}
    for e in range(len(masses)):
        m, arm = masses[e].ravel(), arms[e].reshape(-1, 3)
        points = masses.shape[2]
        x = np.repeat(elements.positions[e], points, axis=0) + arm
        turn = np.repeat(turned[e], points, axis=0)
        f = np.repeat(moved[e], points, axis=0) + np.cross(turn, arm[..., None], axis=1)
        mass, first = mass + float(m.sum()), first + m @ x
        second = second + np.einsum("p,pa,pb->ab", m, x, x)
        values = {"m": m, "x": x, "f": f}
        for name, (subscripts, letters) in _INTEGRALS.items():
            factors = [values[letter] for letter in letters]
            _scatter(sums[name], places[6 * e : 6 * e + 12], np.einsum(subscripts, *factors))
            _scatter(bounds[name], places[6 * e : 6 * e + 12], np.einsum(subscripts, *(np.abs(x) for x in factors)))
    tidied = {name: np.where(np.abs(each) <= ZERO_SHARE * bounds[name], 0.0, each) for name, each in sums.items()}
    return Invariants(mass, _tidy(first), _tidy(second), **tidied)


def _scatter(total: Array, places: Indices, block: Array) -> None:
    """Add a block over an element's twelve freedoms at the places of those that are coordinates."""
    kept = np.flatnonzero(places >= 0)
    at = places[kept]
    if total.ndim == 4:
        total[..., at[:, None], at] += block[..., kept[:, None], kept]
    else:
        total[..., at] += block[..., kept]


def _tidy(sums: Array) -> Array:
    """Return moments with zeros where terms cancel."""
    return np.where(np.abs(sums) <= ZERO_SHARE * np.abs(sums).max(initial=0.0), 0.0, sums)
