"""Surfaces whose edges are sharp: a corner at an edge is there once for each side, so that shading stops at it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array

__all__ = ["split_at_creases", "welded"]

_SHARP = 0.75
"""Faces whose normals have less than this cosine between them meet at an edge."""

_GRID = 2**20
"""Points of a surface that are nearer than its size over this number are one: files have a point for each face."""


def split_at_creases(points: Array, triangles: Indices) -> tuple[Indices, Indices]:
    """Return which point each corner is, and the triangles of these corners.

    Corners of triangles at a point are one if one gets from triangle to triangle around the point over edges that are
    not sharp.

    >>> fold = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1.0]])
    >>> [len(split_at_creases(fold, np.array(faces))[0]) for faces in ([[0, 2, 1]], [[0, 2, 1], [0, 1, 3]])]
    [3, 6]
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    corner = np.arange(3 * len(triangles)).reshape(-1, 3)
    ends, places = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), corner[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    turned = ends[:, 0] > ends[:, 1]
    ends, places = (np.where(turned[:, None], rows[:, ::-1], rows) for rows in (ends, places))
    key = ends[:, 0] * len(points) + ends[:, 1]
    order = np.argsort(key, kind="stable")
    pair = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    first, second = order[pair], order[pair + 1]
    smooth = np.einsum("ij,ij->i", normals[first // 3], normals[second // 3]) > _SHARP
    links = places[first[smooth]].ravel(), places[second[smooth]].ravel()
    graph = coo_array((np.ones(len(links[0]), dtype=bool), links), shape=(corner.size, corner.size))
    count, label = connected_components(graph, directed=False)
    found = np.zeros(count, dtype=np.intp)
    found[label] = triangles.ravel()
    return found, label.astype(np.intp).reshape(-1, 3)


def welded(points: Array, triangles: Indices, grid: int = _GRID) -> tuple[Array, Indices]:
    """Return a surface whose points are there once each, without triangles that are lines.

    Of the points in a cell of a grid, so many cells on the whole, the first one is taken.

    >>> points, triangles = welded(np.eye(3)[[0, 1, 2, 0]], np.array([[0, 1, 2], [3, 1, 2], [0, 3, 1]]))
    >>> points.shape, triangles.shape
    ((3, 3), (2, 3))
    """
    low = points.min(axis=0, initial=np.inf)
    size = max(float(np.ptp(points, axis=0).max(initial=0.0)), 1e-300) if len(points) else 1.0
    cell = np.round((points - low) / size * grid).astype(np.int64)
    _, chosen, which = np.unique(
        (cell[:, 0] << 42) | (cell[:, 1] << 21) | cell[:, 2], return_index=True, return_inverse=True
    )
    corners = which.ravel()[triangles]
    return points[chosen], corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]
