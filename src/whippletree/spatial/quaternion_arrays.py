"""Unit quaternions of many rotations at once, in numbers."""

from __future__ import annotations

import numpy as np

from whippletree.foundation.arrays import AnyArray, Array

__all__ = ["quaternions_of"]


def quaternions_of(R: AnyArray) -> Array:
    """Return the unit quaternions (..., 4) of rotations (..., 3, 3), w first.

    >>> quaternions_of(np.eye(3)).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    x, y, z = (R[..., i, i] for i in range(3))
    # four times the squares of w, x, y, z: the others are divided by the largest of them
    squares = np.stack([1 + x + y + z, 1 + x - y - z, 1 - x + y - z, 1 - x - y + z], axis=-1)
    wx, wy, wz = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    s = squares
    rows = np.stack(
        [
            np.stack([s[..., 0], wx, wy, wz], axis=-1),
            np.stack([wx, s[..., 1], xy, xz], axis=-1),
            np.stack([wy, xy, s[..., 2], yz], axis=-1),
            np.stack([wz, xz, yz, s[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)
    found = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-300))
