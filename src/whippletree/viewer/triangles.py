"""Triangles of solids and struts, with a normal at each corner: for glTF files and pictures."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.viewer.scene import Solid

__all__ = ["Mesh", "merged", "skin_mesh", "solid_mesh", "strut_mesh"]

_AROUND = 24
"""Sides of a circle."""

_COIL = 14
"""Pieces of each turn of a coil spring."""


class Mesh(NamedTuple):
    """Corners (n, 3) with their normals, and triangles as rows of three corners."""

    points: Array
    normals: Array
    triangles: Indices

    def placed(self, pose: Array) -> Mesh:
        """Return the mesh at a pose (4, 4).

        >>> Mesh(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((0, 3), int)).placed(np.eye(4)).points.tolist()
        [[0.0, 0.0, 0.0]]
        """
        return Mesh(self.points @ pose[:3, :3].T + pose[:3, 3], self.normals @ pose[:3, :3].T, self.triangles)


def solid_mesh(solid: Solid) -> Mesh:
    """Return the triangles of a solid, on its place.

    >>> solid_mesh(Solid(0, "box", (1.0, 1.0, 1.0), np.eye(4))).triangles.shape
    (12, 3)
    """
    if solid.surface is not None:
        factors, triangles = np.array(solid.size), solid.surface.triangles
        mirrored = bool(np.prod(factors) < 0)
        return skin_mesh(solid.surface.points * factors, triangles[:, ::-1] if mirrored else triangles).placed(
            solid.pose
        )
    return _MESHES[solid.kind](*solid.size).placed(solid.pose)


def strut_mesh(kind: str, start: Array, end: Array, radius: float) -> Mesh:
    """Return the triangles of a strut between two points.

    >>> strut_mesh("rod", np.zeros(3), np.ones(3), 0.1).points.shape[1]
    3
    """
    length = float(np.linalg.norm(end - start))
    z = (end - start) / length if length > 0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = x, np.cross(z, x), z, (start + end) / 2
    return (_spring(radius, length) if kind == "spring" else _cylinder(radius, length)).placed(pose)


def skin_mesh(points: Array, triangles: Indices) -> Mesh:
    """Return a surface whose normals are the means of those of the triangles around a corner.

    >>> skin_mesh(np.eye(3), np.array([[0, 1, 2]])).normals.round(3).tolist()[0]
    [0.577, 0.577, 0.577]
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = np.zeros_like(points)
    for k in range(3):
        np.add.at(normals, triangles[:, k], np.cross(b - a, c - a))
    return Mesh(points, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300), triangles)


def merged(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one.

    >>> merged([solid_mesh(Solid(0, "box", (1.0, 1.0, 1.0), np.eye(4)))] * 2).triangles.max()
    np.int64(47)
    """
    if not meshes:
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.intp))
    starts = np.cumsum([0, *(len(one.points) for one in meshes[:-1])])
    triangles = np.concatenate([one.triangles + start for one, start in zip(meshes, starts, strict=True)])
    return Mesh(np.concatenate([m.points for m in meshes]), np.concatenate([m.normals for m in meshes]), triangles)


# ---------------------------------------------------------------------- kinds


@functools.cache
def _box(x: float, y: float, z: float) -> Mesh:
    faces = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            u, w = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, u], corners[:, w] = np.array([-1, 1, 1, -1]) * side, [-1, -1, 1, 1]
            faces.append(corners)
    points = np.concatenate(faces)
    normals = np.repeat([np.eye(3)[axis] * side for axis in range(3) for side in (-1.0, 1.0)], 4, axis=0)
    quads = np.arange(24).reshape(6, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return Mesh(points * np.array([x, y, z]) / 2, normals, triangles)


def _turned(profile: Array, slopes: Array) -> Mesh:
    """Return the surface that a profile (n, 2) of radii and heights makes around z; `slopes` are its normals."""
    angles = 2 * math.pi * np.arange(_AROUND + 1) / _AROUND
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    points = np.stack(
        [c * profile[:, 0], s * profile[:, 0], np.broadcast_to(profile[:, 1], (len(c), len(profile)))], axis=2
    )
    normals = np.stack(
        [c * slopes[:, 0], s * slopes[:, 0], np.broadcast_to(slopes[:, 1], (len(c), len(profile)))], axis=2
    )
    return Mesh(points.reshape(-1, 3), normals.reshape(-1, 3), _sheet(len(c), len(profile)))


def _sheet(rows: int, columns: int) -> Indices:
    """Return the triangles of a sheet of corners, rows by columns."""
    k = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    return np.concatenate(
        [np.stack([k, k + columns, k + columns + 1], axis=1), np.stack([k, k + columns + 1, k + 1], axis=1)]
    )


@functools.cache
def _cylinder(radius: float, length: float) -> Mesh:
    h = length / 2
    profile = np.array([[0, -h], [radius, -h], [radius, -h], [radius, h], [radius, h], [0, h]])
    slopes = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float64)
    return _turned(profile, slopes)


@functools.cache
def _cone(radius: float, length: float) -> Mesh:
    h, slant = length / 2, math.hypot(radius, length)
    profile = np.array([[0, -h], [radius, -h], [radius, -h], [0, h]])
    slope = [length / slant, radius / slant]
    return _turned(profile, np.array([[0, -1], [0, -1], slope, slope], dtype=np.float64))


@functools.cache
def _capsule(radius: float, length: float) -> Mesh:
    angles = np.linspace(-math.pi / 2, math.pi / 2, 14)
    slopes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return _turned(radius * slopes + np.stack([0 * angles, np.sign(angles) * length / 2], axis=1), slopes)


@functools.cache
def _sphere(radius: float) -> Mesh:
    return _capsule(radius, 0.0)


def _spring(radius: float, length: float) -> Mesh:
    """Return a coil spring along z, with straight ends."""
    turns = min(max(round(length / radius / 1.5), 6), 40)
    share = np.linspace(0.0, 1.0, _COIL * turns + 1)
    angle, wide = 2 * math.pi * turns * share, np.where((share < 0.06) | (share > 0.94), 0.02, 1.0) * radius
    middle = np.stack([wide * np.cos(angle), wide * np.sin(angle), (share - 0.5) * length], axis=1)
    along = np.gradient(middle, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    out = np.cross(along, [0.0, 0.0, 1.0])
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300)
    other = np.cross(along, out)
    around = 2 * math.pi * np.arange(7) / 6
    normals = np.cos(around)[None, :, None] * out[:, None] + np.sin(around)[None, :, None] * other[:, None]
    points = middle[:, None] + 0.16 * radius * normals
    return Mesh(points.reshape(-1, 3), normals.reshape(-1, 3), _sheet(len(share), 7))


_MESHES = {"box": _box, "sphere": _sphere, "cylinder": _cylinder, "capsule": _capsule, "cone": _cone}
