"""Mass properties of a closed mesh, by integrals over the tetrahedra that its triangles span with the origin.

For a tetrahedron with corners 0, a, b, c the signed volume is V = a . (b x c) / 6, the first moment V s / 4 and the
second moments V (a a^T + b b^T + c c^T + s s^T) / 20, with s = a + b + c. Outside of the mesh they cancel, wherever the
origin is; it is put in the middle of the mesh, so that little is lost by rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.elements.bodies import MassProperties
from whippletree.foundation.arrays import Array

__all__ = ["MeshVolume", "mesh_volume"]


_WELDED = 1e-6
"""Corners that are nearer than this share of the mesh's size count as one: files round them."""

_FLAT = 1e-12
"""A volume below this share of the cube around the mesh is none."""


class MeshVolume(NamedTuple):
    """The enclosed volume of a mesh, its centre and second moments (3, 3) about it; `turned` if it was inside out."""

    volume: float
    centre: Array
    moments: Array
    turned: bool = False

    def of_density(self, density: float) -> MassProperties:
        """Return the mass properties at a density.

        >>> unit = MeshVolume(1.0, np.zeros(3), np.eye(3) / 12)
        >>> round(unit.of_density(6.0).inertia[0][0], 12)
        1.0
        """
        inertia = density * (np.trace(self.moments) * np.eye(3) - self.moments)
        x, y, z = (float(entry) for entry in self.centre)
        return MassProperties.as_given(density * self.volume, (x, y, z), inertia.tolist())


def mesh_volume(triangles: Array) -> MeshVolume:
    """Return the volume in triangles (n, 3, 3); a mesh that is open or not oriented alike is refused by a `ValueError`.

    >>> corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    >>> tetrahedron = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    >>> round(6 * mesh_volume(tetrahedron).volume, 12)
    1.0
    """
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    size, middle = float((high - low).max()), (low + high) / 2
    _check_closed(triangles, size)
    a, b, c = np.moveaxis(triangles - middle, 1, 0)
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    if abs(volume) < _FLAT * size**3:
        raise ValueError("it encloses no volume")
    s = a + b + c
    centre = volumes @ s / (4 * volume)
    second = sum(np.einsum("i,ij,ik->jk", volumes, x, x) for x in (a, b, c, s)) / 20
    sign = float(np.sign(volume))
    moments = sign * (second - volume * np.outer(centre, centre))
    return MeshVolume(abs(volume), middle + centre, (moments + moments.T) / 2, turned=volume < 0)


def _check_closed(triangles: Array, size: float) -> None:
    """Refuse a mesh with edges that do not have a triangle on each side, in opposite directions."""
    for exact in (True, False):
        points = triangles.reshape(-1, 3) if exact else np.round(triangles.reshape(-1, 3) / (size * _WELDED))
        _, corners = np.unique(points, axis=0, return_inverse=True)
        corners = corners.reshape(-1, 3)
        corners = corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]  # those that are not lines
        edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
        lower, count = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
        loose = int((count % 2).sum())
        if not loose:
            break
    else:
        raise ValueError(f"it is open: {loose} of its {len(lower)} edges have no triangle on their other side")
    ways = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    _, edge = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    against = int((np.bincount(edge.ravel(), weights=ways) != 0).sum())
    if against:
        raise ValueError(
            f"its triangles are not oriented alike: across {against} of its {len(lower)} edges the inside of one is "
            "the outside of the other"
        )
