"""A scene as the page reads it: a small JSON text, and all long rows of numbers as one compressed block.

Of each channel, a coordinate of a position say, numbers become integers: poses as multiples of a step, a millionth of
the largest, points of meshes as multiples of a coarser one, and all else as the bit patterns of float32, without loss.
These are written as differences from one instant to the next, those of poses as differences of differences, byte by
byte: first the lowest bytes of all, then the next. Smooth motion then compresses well. A mesh is there once, however
often it is drawn.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from whippletree.files.surfaces import Surface
from whippletree.kernels.kernel import Array
from whippletree.viewer.proportions import ARROW, AXIS, FRAME, MARGIN, VIEW_ANGLE
from whippletree.viewer.scene import Scene, Solid, Track
from whippletree.viewer.scene_colors import solid_color

__all__ = ["pack", "scene_data", "unpack"]

_BITS, _ORDER = 20, 2
"""Bits of a position or a quaternion's entry, its sign aside, and the order of the differences that are written."""

_MESH_BITS = 13
"""Bits of a point of a mesh, its sign aside: a tenth of a millimetre for each metre."""

_LEVEL = 6
"""How hard the block is compressed: beyond that a tenth of its size costs ten times the time."""

_DIGITS = 7
"""Significant digits of sizes and poses in the JSON text."""


def scene_data(scene: Scene, more: Mapping[str, object] | None = None) -> tuple[str, bytes]:
    """Return the JSON text of a scene, in plain ASCII without "<" and "&", and the compressed block.

    `more` goes into the text as it is.

    >>> from whippletree.system.example_systems import four_bar
    >>> from whippletree.viewer.scenes import still_scene
    >>> text, block = scene_data(still_scene(four_bar(), four_bar().q0))
    >>> json.loads(text)["places"]
    ['crank', 'coupler', 'rocker']
    """
    arrays: list[tuple[str, Array, float, int]] = []
    for k, track in enumerate(scene.tracks):
        poses = _channels(track)
        arrays += [(f"t{k}", track.t[None], 0.0, 1), (f"poses{k}", poses, _step(poses, _BITS), _ORDER)]
        if scene.skins:
            arrays.append((f"amplitudes{k}", track.amplitudes.T, _step(track.amplitudes, _BITS), _ORDER))
    arrays += [(f"arrow{k}", _single(one.vectors.T), 0.0, 1) for k, one in enumerate(scene.arrows)]
    arrays += [(f"curve{k}", _single(one.values[None]), 0.0, 1) for k, one in enumerate(scene.curves)]
    for k, surface in enumerate(_surfaces(scene).values()):
        arrays.append((f"mesh{k}", surface.points.T, _step(surface.points, _MESH_BITS), 1))
        arrays.append((f"corners{k}", surface.triangles.T.astype(np.float64), 1.0, 1))
    for k, skin in enumerate(scene.skins):
        shapes = skin.shapes.transpose(0, 2, 1).reshape(-1, len(skin.points))  # (3 n, N)
        arrays += [(f"skin{k}", skin.points.T, 0.0, 1), (f"faces{k}", skin.triangles.T.astype(np.float64), 1.0, 1)]
        arrays += [(f"shapes{k}", shapes, 0.0, 1)] if len(shapes) else []
    head = (
        _head(scene)
        | dict(more or {})
        | {"arrays": [[name, *values.shape, step, order] for name, values, step, order in arrays]}
    )
    text = json.dumps(head, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text, pack((values, step, order) for _, values, step, order in arrays)


def _surfaces(scene: Scene) -> dict[int, Surface]:
    """Return the surfaces of meshes, each once."""
    return {id(one.surface): one.surface for one in scene.solids if one.surface is not None}


def pack(arrays: Iterable[tuple[Array, float, int]]) -> bytes:
    """Return arrays as one compressed block.

    Each is (channels, n), with its step, zero for numbers that keep all bits, and the order of its differences.

    >>> rows = np.linspace(0.0, 1.0, 5)[None]
    >>> bool((unpack(pack([(rows, 0.0, 1)]), [(1, 5, 0.0, 1)])[0] == rows.astype(np.float32)).all())
    True
    """
    parts = []
    for values, step, order in arrays:
        if step:
            whole = np.round(values / step).astype("<i4").view("<u4")
        else:
            whole = np.ascontiguousarray(values, dtype="<f4").view("<u4")
        for _ in range(order):
            whole = np.diff(whole, axis=1, prepend=np.uint32(0))
        parts.append(np.ascontiguousarray(whole).view(np.uint8).reshape(*whole.shape, 4).transpose(2, 0, 1).tobytes())
    return zlib.compress(b"".join(parts), _LEVEL)


def unpack(block: bytes, shapes: Iterable[tuple[int, int, float, int]]) -> list[npt.NDArray[np.float32]]:
    """Return the arrays of a block again, of which the page does the same.

    >>> unpack(pack([(np.ones((2, 3)), 2.0**-20, 2)]), [(2, 3, 2.0**-20, 2)])[0].tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    data, found = np.frombuffer(zlib.decompress(block), dtype=np.uint8), []
    at = 0
    for channels, n, step, order in shapes:
        size = 4 * channels * n
        planes = data[at : at + size].reshape(4, channels, n).transpose(1, 2, 0)
        whole = np.ascontiguousarray(planes).view("<u4").reshape(channels, n)
        for _ in range(order):
            whole = np.cumsum(whole, axis=1, dtype=np.uint32)
        found.append((step * whole.view(np.int32)).astype(np.float32) if step else whole.view(np.float32))
        at += size
    return found


def _single(values: Array) -> Array:
    """Return numbers that float32 can hold; those beyond it, and those that are none, as its largest and as zero."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=largest, neginf=-largest), -largest, largest)


def _step(values: Array, bits: int) -> float:
    """Return a step by which the largest of some numbers has so many bits: a power of two."""
    largest = max(float(np.abs(values).max(initial=0.0)), 1e-30)
    return float(2.0 ** (math.ceil(math.log2(largest)) - bits))


def _channels(track: Track) -> Array:
    """Return positions and quaternions (7 places, n): those of the first place, then of the next."""
    both = np.concatenate([track.positions, track.quaternions], axis=2)
    return both.reshape(len(track), -1).T


def _head(scene: Scene) -> dict[str, object]:
    """Return the content of the JSON text."""
    camera, numbers = scene.camera, {key: k for k, key in enumerate(_surfaces(scene))}
    follow = None if scene.follow is None else [scene.follow.place, _row(scene.follow.point)]
    return {
        "title": scene.title,
        "places": list(scene.places),
        "solids": [_solid(one, numbers) for one in scene.solids],
        "struts": [
            [
                one.kind,
                one.name,
                one.first,
                _row(one.first_point),
                one.second,
                _row(one.second_point),
                one.radius,
                one.color,
            ]
            for one in scene.struts
        ],
        "skins": [[one.place, len(one.shapes), one.color] for one in scene.skins],
        "joints": [
            [one.name, one.kind, one.place, _row(one.pose[:3]), list(one.axes), one.cut] for one in scene.joints
        ],
        "frames": [[one.name, one.place, _row(one.pose[:3])] for one in scene.frames],
        "paths": [[one.name, one.place, _row(one.point)] for one in scene.paths],
        "arrows": [[one.name, one.kind, one.place, _row(one.point)] for one in scene.arrows],
        "curves": [[one.name, one.unit] for one in scene.curves],
        "tracks": [track.label for track in scene.tracks],
        "closures": list(scene.closures),
        "notes": list(scene.notes),
        "unit": scene.unit,
        "outline": [_row(point) for point in scene.outline],
        "floor": scene.floor,
        "camera": [camera.position, camera.target, camera.up],
        "follow": follow,
        "named": scene.named,
        "look": {"axis": AXIS, "frame": FRAME, "arrow": ARROW, "angle": VIEW_ANGLE, "margin": MARGIN},
    }


def _solid(solid: Solid, numbers: Mapping[int, int]) -> list[object]:
    number = [] if solid.surface is None else [numbers[id(solid.surface)]]
    size = [*number, *(_rounded(x) for x in solid.size)]
    return [solid.kind, solid.place, size, _row(solid.pose[:3]), solid.role, solid_color(solid)]


def _row(values: Array) -> list[float]:
    return [_rounded(x) for x in np.ravel(values).tolist()]


def _rounded(x: float) -> float:
    return float(f"{x:.{_DIGITS}g}") + 0.0
