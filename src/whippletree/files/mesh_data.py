"""Meshes from files: STL, as text or binary, and OBJ, as triangles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from whippletree.foundation.arrays import Array

__all__ = ["MESH_SUFFIXES", "read_triangles"]


MESH_SUFFIXES = (".stl", ".obj")
"""Ends of the names of meshes that are read."""


def read_triangles(path: Path, largest: int) -> Array:
    """Return the triangles of a file (n, 3, 3), of at most `largest` bytes; what is wrong with it is a `ValueError`."""
    readers: dict[str, Callable[[bytes], Array]] = {".stl": _stl, ".obj": _obj}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError("of meshes, STL and OBJ files are read")
    if path.stat().st_size > largest:
        raise ValueError(f"it has more than {largest} bytes")
    found = reader(path.read_bytes())
    if not len(found) or not np.isfinite(found).all():
        raise ValueError("it has no triangles, or such that are nowhere")
    return found


def _stl(data: bytes) -> Array:
    """Return the triangles of an STL file, binary if its length is that of its count of triangles.

    >>> one = np.zeros(1, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    >>> _stl(bytes(80) + np.uint32(1).tobytes() + one.tobytes()).shape
    (1, 3, 3)
    """
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        rows = np.frombuffer(data[84:], dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
        return np.asarray(rows["corners"], dtype=np.float64)
    words = [line.split() for line in data.decode("ascii", "replace").splitlines()]
    corners = [[float(x) for x in line[1:4]] for line in words if line[:1] == ["vertex"] and len(line) == 4]
    return np.array(corners[: len(corners) // 3 * 3], dtype=np.float64).reshape(-1, 3, 3)


def _obj(data: bytes) -> Array:
    """Return the triangles of an OBJ file; faces with more corners are fans.

    >>> _obj(b"v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4").shape
    (2, 3, 3)
    """
    points: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            points.append([float(x) for x in rest[:3]])
        elif word == "f":
            corners = [int(one.split("/")[0]) for one in rest]
            corners = [k - 1 if k > 0 else len(points) + k for k in corners]
            faces += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
    if any(not 0 <= k < len(points) for face in faces for k in face) or any(len(p) != 3 for p in points):
        raise ValueError("a face has a corner that is not there")
    return np.array(points, dtype=np.float64).reshape(-1, 3)[np.array(faces, dtype=np.intp).reshape(-1, 3)]
