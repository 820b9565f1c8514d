"""The points by which shapes touch a plane: middles of spheres, ends of capsules, corners of boxes, rims and hulls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from whippletree.files.drawn_in import Surroundings
from whippletree.files.file_limits import HULL_CORNERS, LARGEST_MESH, RIM_POINTS
from whippletree.files.mesh_data import read_triangles
from whippletree.files.neutral_collisions import NeutralCollider
from whippletree.foundation.arrays import Array
from whippletree.spatial.placement import Placement

__all__ = ["TOUCHING_KINDS", "Touching", "points_of", "spread_corners"]


TOUCHING_KINDS = ("sphere", "capsule", "box", "cylinder", "mesh")
"""The kinds of shapes that have points by which they touch."""


class Touching(NamedTuple):
    """Points that touch, each with a radius around it; the shape reaches farther than these by `missing` at most."""

    points: Array
    radius: float = 0.0
    missing: float = 0.0

    @property
    def extent(self) -> float:
        """The largest dimension of the shape."""
        return float(np.ptp(self.points, axis=0).max()) + 2 * self.radius

    def placed(self, placement: Placement) -> Array:
        """Return the points where a placement puts them.

        >>> Touching(np.zeros((1, 3))).placed(Placement(point=(1, 2, 3))).tolist()
        [[1.0, 2.0, 3.0]]
        """
        return np.asarray(self.points @ np.array(placement.rotation).T + np.array(placement.point))


def points_of(shape: NeutralCollider, around: Surroundings | None = None) -> Touching:
    """Return the points of a shape in its own axes; a `ValueError` says why there are none.

    The files of meshes are those `around` the model.

    >>> points_of(NeutralCollider("ball", "b", "sphere", (0.2,))).radius
    0.2
    >>> points_of(NeutralCollider("shin", "leg", "capsule", (0.1, 0.5))).extent
    0.7
    """
    size = shape.size
    if shape.kind == "mesh":
        return spread_corners(_mesh_corners(shape, around), HULL_CORNERS)
    if not all(x > 0.0 for x in (size[:1] if shape.kind == "capsule" else size)):
        raise ValueError(f"its sizes must be positive, got {', '.join(f'{x:g}' for x in size)}")
    if shape.kind == "sphere":
        return Touching(np.zeros((1, 3)), size[0])
    if shape.kind == "capsule":
        return Touching(np.array([(0, 0, size[1] / 2), (0, 0, -size[1] / 2)]), size[0])
    if shape.kind == "box":
        return Touching(np.array([*itertools.product(*((x / 2, -x / 2) for x in size))]))
    if shape.kind == "cylinder":
        return _rims(*size)
    raise ValueError(f"a {shape.kind} has no points that are known here")


def _mesh_corners(shape: NeutralCollider, around: Surroundings | None) -> Array:
    """Return the corners of the triangles of a mesh (n, 3)."""
    if shape.corners is not None:
        return shape.corners()
    place = None if around is None else around.seek(shape.file)
    if place is None:
        raise ValueError(f"the mesh {shape.file} is missing: put it there, or name its folder with search=")
    return np.asarray(read_triangles(place, LARGEST_MESH).reshape(-1, 3) * np.array(shape.size))


def _rims(radius: float, length: float) -> Touching:
    """Return points on both rims of a cylinder; between them its surface is farther out."""
    turns = 2 * math.pi * np.arange(RIM_POINTS) / RIM_POINTS
    rim = np.stack([radius * np.cos(turns), radius * np.sin(turns), np.zeros(RIM_POINTS)], axis=1)
    ends = [rim + np.array((0, 0, way * length / 2)) for way in (1, -1)]
    return Touching(np.concatenate(ends), missing=radius * (1 - math.cos(math.pi / RIM_POINTS)))


def spread_corners(points: Sequence[Sequence[float]] | Array, most: int) -> Touching:
    """Return corners of the convex hull of points, so many at most that the hull of these misses as little as can be.

    One after another the corner is taken that is farthest outside of the hull of those before; the first ones are far
    from each other.

    >>> cube = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 0.5, 1)]
    >>> len(spread_corners(cube, 10).points)
    8
    """
    corners = _hull(np.unique(np.asarray(points, dtype=float), axis=0))
    if len(corners) <= most:
        return Touching(corners)
    taken = [int(np.linalg.norm(corners - corners.mean(axis=0), axis=1).argmax())]
    while len(taken) < most:  # of corners, of which there are more
        taken.append(int(_outside(corners, corners[taken]).argmax()))
    return Touching(corners[taken], missing=float(_outside(corners, corners[taken]).max(initial=0.0)))


def _hull(points: Array) -> Array:
    """Return the corners of the convex hull; of flat shapes, all points."""
    from scipy.spatial import ConvexHull, QhullError

    if not len(points):
        raise ValueError("it has no corners")
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def _outside(corners: Array, kept: Array) -> Array:
    """Return how far corners are outside of the hull of some of them; from the nearest one, if these are flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        planes = ConvexHull(kept).equations
    except (QhullError, ValueError):
        return np.asarray(np.linalg.norm(corners[:, None] - kept[None], axis=2).min(axis=1))
    return np.asarray((corners @ planes[:, :3].T + planes[:, 3]).max(axis=1))
