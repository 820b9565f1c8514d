"""The extent of a picture, the place of the camera, and the height of the ground's grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.viewer.proportions import MARGIN, SAMPLED, VIEW_ANGLE
from whippletree.viewer.scene import GROUND_PLACE, Camera, Skin, Solid, Strut, Track

__all__ = ["camera_choices", "extreme_points", "fitted", "seen_points", "upward"]

_RISES = (-1.5, -0.9, -0.45, 0.0, 0.45, 0.9, 1.5)
"""The angles above the horizon of the directions of extreme points."""

_FLAT = 0.25
"""A mechanism that is less deep than this share of its length is seen from the front, a low one from above."""


def upward(gravity: Sequence[float]) -> Array:
    """Return which way is up: against gravity, along z if there is none.

    >>> upward((0.0, 0.0, -9.81)).tolist()
    [0.0, 0.0, 1.0]
    """
    g = np.array(gravity, dtype=np.float64)
    size = float(np.linalg.norm(g))
    return -g / size + 0.0 if size > 0 else np.array([0.0, 0.0, 1.0])


def seen_points(
    solids: Sequence[Solid], struts: Sequence[Strut], tracks: Sequence[Track], skins: Sequence[Skin] = ()
) -> Array:
    """Return corners of everything at some instants (n, 3), in the ground frame."""
    local: dict[int, list[Array]] = {}
    for solid in solids:
        local.setdefault(solid.place, []).append(_corners(solid))
    for strut in struts:
        local.setdefault(strut.first, []).append(strut.first_point[None])
        local.setdefault(strut.second, []).append(strut.second_point[None])
    found = [np.concatenate(local.pop(GROUND_PLACE))] if GROUND_PLACE in local else []
    for track in tracks:
        rows = np.unique(np.linspace(0, len(track) - 1, min(len(track), SAMPLED)).astype(int))
        for place, corners in local.items():
            found.append(_placed(np.concatenate(corners), track, place, rows))
        first = 0
        for skin in skins:
            some = replace(skin, points=skin.points[::_EVERY], shapes=skin.shapes[:, ::_EVERY])
            amplitudes = track.amplitudes[rows, first : first + len(skin.shapes)]
            found.append(_placed(some.at(amplitudes), track, skin.place, rows))
            first += len(skin.shapes)
    return np.concatenate(found) if found else np.zeros((1, 3))


def _placed(points: Array, track: Track, place: int, rows: Indices) -> Array:
    """Return points (N, 3) of a place, or points (rows, N, 3) of each instant, in the ground frame."""
    poses = np.stack([track.pose(row, place) for row in rows])
    return np.asarray((points @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]).reshape(-1, 3))


_EVERY = 3
"""Of a skin, one point of so many is looked at."""


def extreme_points(points: Array) -> Array:
    """Return few of many points: those that are farthest in some directions, which a picture has to hold.

    >>> extreme_points(np.random.default_rng(0).uniform(-1, 1, (1000, 3))).shape[1]
    3
    """
    turns = np.arange(16) * math.pi / 8
    rings = [
        [math.cos(rise) * np.cos(turns), math.cos(rise) * np.sin(turns), 0 * turns + math.sin(rise)] for rise in _RISES
    ]
    directions = np.concatenate([np.array(ring).T for ring in rings])
    return np.asarray(points[np.unique(np.argmax(points @ directions.T, axis=0))])


def camera_choices(points: Array, up: Array, aspect: float = 1.5) -> list[Camera]:
    """Return cameras that see all points, the first one being preferred.

    Flat mechanisms are seen from the front or from behind, or from above if they lie; others from their four corners.

    >>> flat = camera_choices(np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1]]), np.array([0.0, 0, 1]))[0]
    >>> flat.position[1] < -1
    True
    """
    side = _side(points, up)
    front = np.cross(up, side)  # away from the viewer
    long, deep, high = (float(np.ptp(points @ axis)) for axis in (side, front, up))
    turns, rise = (35, -35, 145, -145), 23
    if deep < _FLAT * max(long, high):
        turns, rise = (18, -18, 162, -162), 14
    elif high < _FLAT * deep:
        turns, rise = (20, -20, 160, -160), 50
    found = []
    for turn in np.radians(turns):
        level = math.cos(turn) * -front + math.sin(turn) * side
        away = math.cos(math.radians(rise)) * level + math.sin(math.radians(rise)) * up
        found.append(fitted(points, away, up, aspect))
    return found


def fitted(points: Array, away: Array, up: Array, aspect: float) -> Camera:
    """Return the camera that looks against `away` and is as near as all points allow."""
    right = np.cross(up, away)
    right = right / np.linalg.norm(right)
    top = np.cross(away, right)
    low, high = points.min(axis=0), points.max(axis=0)
    centre = (low + high) / 2
    tall = math.tan(math.radians(VIEW_ANGLE) / 2)
    x, y, z = ((points - centre) @ axis for axis in (right, top, away))
    centre = centre + right * (x.max() + x.min()) / 2 + top * (y.max() + y.min()) / 2
    x, y = x - (x.max() + x.min()) / 2, y - (y.max() + y.min()) / 2
    distance = MARGIN * float(np.max(np.maximum(np.abs(x) / (tall * aspect), np.abs(y) / tall) + np.maximum(z, 0.0)))
    distance = max(distance, 1e-6)
    return Camera(_triple(centre + distance * away), _triple(centre), _triple(up))


def _side(points: Array, up: Array) -> Array:
    """Return the horizontal direction that is to be seen from left to right: that of the largest extent."""
    level = points - np.outer(points @ up, up)
    level = level - level.mean(axis=0)
    _, axes = np.linalg.eigh(level.T @ level)
    side = axes[:, 2] if np.abs(level).max() > 0 else np.array([1.0, 0.0, 0.0])
    side = side - (side @ up) * up
    if np.linalg.norm(side) < 0.5:
        side = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    # along an axis of the ground if it nearly is, and in its positive direction
    nearest = int(np.argmax(np.abs(side)))
    if abs(side[nearest]) > 0.96 * np.linalg.norm(side) and abs(up[nearest]) < 1e-9:
        side = np.eye(3)[nearest]
    return np.asarray(side / np.linalg.norm(side) * (1.0 if side[nearest] >= 0 else -1.0))


def _corners(solid: Solid) -> Array:
    """Return corners of a box around a solid, or points at the edges of a mesh, on its place."""
    if solid.surface is not None:
        own = extreme_points(solid.surface.points * np.array(solid.size))
    else:
        radius = solid.size[0]
        long = solid.size[1] / 2 + (radius if solid.kind == "capsule" else 0.0) if len(solid.size) == 2 else radius
        high = np.array(solid.size) / 2 if solid.kind == "box" else np.array([radius, radius, long])
        own = high * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    return np.asarray(own @ solid.pose[:3, :3].T + solid.pose[:3, 3])


def _triple(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
