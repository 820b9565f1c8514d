"""Triangles become a picture: a perspective view with hidden surfaces removed, smooth shading and soft edges.

Every triangle is cut into rows of pixels, and all rows of all triangles are worked out together. Of what falls on one
pixel the nearest triangle is seen: 1/z, which is linear on the screen, and the triangle's number are packed into one
integer, of which each pixel keeps the largest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.viewer.proportions import VIEW_ANGLE
from whippletree.viewer.scene import Camera
from whippletree.viewer.triangles import Mesh

__all__ = ["View2D", "rasterize", "seen_triangles"]

Pixels = npt.NDArray[np.uint8]

_SOFT = 2
"""Each pixel is the mean of so many by so many."""

_DEPTH_BITS, _NUMBER_BITS = 36, 26
"""Bits of a word for the depth of a pixel, and for the number of the triangle behind it."""


class View2D(NamedTuple):
    """How points come onto the screen: the camera's axes (rows right, top, away), and the size of the picture."""

    axes: Array
    position: Array
    focal: float
    width: int
    height: int

    @staticmethod
    def of(camera: Camera, width: int, height: int) -> View2D:
        """Return the view of a camera on a picture of this size.

        >>> View2D.of(Camera((0, -2, 0), (0, 0, 0), (0, 0, 1)), 100, 80).project(np.zeros((1, 3)))[0].tolist()
        [[50.0, 40.0]]
        """
        away = np.array(camera.position) - np.array(camera.target)
        away = away / np.linalg.norm(away)
        right = np.cross(camera.up, away)
        right = right / np.linalg.norm(right)
        focal = height / 2 / math.tan(math.radians(VIEW_ANGLE) / 2)
        return View2D(np.stack([right, np.cross(away, right), away]), np.array(camera.position), focal, width, height)

    def project(self, points: Array) -> tuple[Array, Array]:
        """Return where points (n, 3) are on the screen (n, 2), in pixels from the top left, and their depths."""
        x, y, z = ((points - self.position) @ self.axes.T).T
        depth = np.maximum(-z, 1e-9)
        flat = np.stack([self.width / 2 + self.focal * x / depth, self.height / 2 - self.focal * y / depth], axis=1)
        return flat, depth


def rasterize(mesh: Mesh, colors: Array, view: View2D, back: Array) -> Pixels:
    """Return a picture (height, width, 3); `colors` (n, 3), linear, are of the corners, and `back` of the background.

    `back` (height, width, 3) is linear too.
    """
    fine = view._replace(width=_SOFT * view.width, height=_SOFT * view.height, focal=_SOFT * view.focal)
    screen, depth = fine.project(mesh.points)
    flat, inverse = screen[mesh.triangles], 1.0 / depth[mesh.triangles]
    rows, x, which = _pixels(flat, fine.width, fine.height)
    whole = np.repeat(np.repeat(back.astype(np.float32), _SOFT, axis=0), _SOFT, axis=1)
    if len(which):
        weights = _weights(flat[which], x, rows)
        near = (weights * inverse[which]).sum(axis=1)
        pixel, number = _nearest(rows * fine.width + x, near, fine.width * fine.height)
        share = weights[number] * inverse[which[number]]
        share = share / share.sum(axis=1, keepdims=True)
        corners = mesh.triangles[which[number]]
        normal = np.einsum("nk,nkc->nc", share, mesh.normals[corners])
        base = np.einsum("nk,nkc->nc", share, colors[corners])
        whole.reshape(-1, 3)[pixel] = base * _light(normal, view.axes)[:, None]
    parts = [whole[i::_SOFT, j::_SOFT] for i in range(_SOFT) for j in range(_SOFT)]
    return _encoded(np.asarray(sum(parts[1:], parts[0]) / len(parts)))


def seen_triangles(mesh: Mesh, view: View2D) -> Indices:
    """Return which triangle is seen at each pixel that is covered."""
    screen, depth = view.project(mesh.points)
    flat, inverse = screen[mesh.triangles], 1.0 / depth[mesh.triangles]
    rows, x, which = _pixels(flat, view.width, view.height)
    if not len(which):
        return which
    near = (_weights(flat[which], x, rows) * inverse[which]).sum(axis=1)
    _, number = _nearest(rows * view.width + x, near, view.width * view.height)
    return np.asarray(which[number])


def _pixels(flat: Array, width: int, height: int) -> tuple[Indices, Indices, Indices]:
    """Return rows and columns of all pixels of all triangles (n, 3, 2), and to which triangle each belongs."""
    top = np.clip(np.ceil(flat[..., 1].min(axis=1) - 0.5), 0, height).astype(np.intp)
    bottom = np.clip(np.floor(flat[..., 1].max(axis=1) - 0.5) + 1, 0, height).astype(np.intp)
    which, rows = _expanded(top, np.maximum(bottom - top, 0))
    # where the three edges cross the middle of the row
    y, low, high = rows + 0.5, np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
    for k in range(3):
        (x0, y0), (x1, y1) = flat[which, k].T, flat[which, (k + 1) % 3].T
        crossed = (np.minimum(y0, y1) <= y) & (y <= np.maximum(y0, y1)) & (y0 != y1)
        at = np.where(crossed, x0 + (y - y0) / np.where(crossed, y1 - y0, 1.0) * (x1 - x0), np.nan)
        low, high = np.fmin(low, at), np.fmax(high, at)
    none = ~(low <= high)
    first = np.clip(np.ceil(np.where(none, 0.0, low) - 0.5), 0, width).astype(np.intp)
    last = np.clip(np.floor(np.where(none, -1.0, high) - 0.5) + 1, 0, width).astype(np.intp)
    span, x = _expanded(first, np.maximum(last - first, 0))
    return rows[span], x, which[span]


def _expanded(starts: Indices, counts: Indices) -> tuple[Indices, Indices]:
    """Return whole numbers from each start on, so many as counted, and to which start each belongs."""
    which = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, starts[which] + within


def _weights(corners: Array, column: Indices, row: Indices) -> Array:
    """Return the barycentric coordinates of the middles of pixels in triangles (n, 3, 2)."""
    x, y = column + 0.5, row + 0.5
    (ax, ay), (bx, by), (cx, cy) = corners[:, 0].T, corners[:, 1].T, corners[:, 2].T
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    area = np.where(area == 0, np.inf, area)
    v = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
    w = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
    return np.asarray(np.clip(np.stack([1 - v - w, v, w], axis=1), 0.0, 1.0))


def _nearest(pixels: Indices, near: Array, size: int) -> tuple[Indices, Indices]:
    """Return the pixels that are covered, and for each of them which of the entries is the nearest."""
    depth = (near / max(float(near.max()), 1e-300) * (2**_DEPTH_BITS - 1)).astype(np.int64)
    entry = np.arange(len(pixels), dtype=np.int64)
    if len(entry) >= 2**_NUMBER_BITS:
        raise ValueError("the picture has too many pixels")
    best = np.full(size, -1, dtype=np.int64)
    np.maximum.at(best, pixels, depth << _NUMBER_BITS | entry)
    covered = np.flatnonzero(best >= 0)
    return covered, np.asarray(best[covered] & (2**_NUMBER_BITS - 1), dtype=np.intp)


def _light(normals: Array, axes: Array) -> Array:
    """Return how bright surfaces are: light from all sides, more from above, and one lamp over the left shoulder."""
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    seen = normals @ axes.T
    seen = seen * np.where(seen[:, 2:] < 0, -1.0, 1.0)  # a surface seen from behind is lit as from the front
    lamp = np.array([-0.42, 0.62, 0.66])
    direct = np.maximum(seen @ (lamp / np.linalg.norm(lamp)), 0.0)
    return np.asarray(0.36 + 0.12 * seen[:, 1] + 0.66 * direct)


def _encoded(linear: npt.NDArray[np.floating]) -> Pixels:
    """Return linear colours as sRGB bytes."""
    return np.asarray(_SRGB[(np.clip(linear, 0.0, 1.0) * (len(_SRGB) - 1) + 0.5).astype(np.intp)])


def _srgb_table(size: int = 4096) -> Pixels:
    bright = np.arange(size) / (size - 1)
    srgb = np.where(bright <= 0.0031308, 12.92 * bright, 1.055 * bright ** (1 / 2.4) - 0.055)
    return np.asarray(np.round(255 * srgb), dtype=np.uint8)


_SRGB = _srgb_table()
"""The bytes of brightnesses from zero to one."""
