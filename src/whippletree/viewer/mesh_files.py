"""Meshes of bodies from files, for pictures only: STL, as text or binary, and OBJ.

What cannot be drawn is told, once for each file, and the body is drawn as its joints imply.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from whippletree.kernels.kernel import Array

__all__ = ["MeshSource"]

_LARGEST = 20_000_000
"""Bytes of a mesh file that is read for a picture."""

_MOST = 40_000
"""Triangles of a body in a picture; of more, every so many-th is taken."""


class MeshSource:
    """The triangles of mesh files, each read once; `notes` tells which could not be drawn, and why.

    >>> source = MeshSource()
    >>> source.triangles("nowhere.stl"), source.notes
    (None, ['mesh nowhere.stl is not drawn: there is no such file'])
    """

    def __init__(self) -> None:
        self._found: dict[str, Array | None] = {}
        self.notes: list[str] = []

    def triangles(self, file: str) -> Array | None:
        """Return the triangles of a file (n, 3, 3), None if it cannot be drawn."""
        if file not in self._found:
            try:
                self._found[file] = _read(Path(file))
            except (ValueError, OSError) as error:
                why = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
                self.notes.append(f"mesh {file} is not drawn: {why}")
                self._found[file] = None
        return self._found[file]


def _read(path: Path) -> Array:
    """Return the triangles of a file."""
    readers: dict[str, Callable[[bytes], Array]] = {".stl": _stl, ".obj": _obj}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError("pictures read STL and OBJ files")
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST} bytes")
    found = reader(path.read_bytes())
    if not len(found) or not np.isfinite(found).all():
        raise ValueError("it has no triangles, or such that are nowhere")
    return found[:: -(-len(found) // _MOST)]


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
