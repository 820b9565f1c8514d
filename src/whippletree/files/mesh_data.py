"""Meshes from files: which reader each format has; STL, as text or binary, and MuJoCo's own format.

Whatever is wrong with a file is a `ValueError` that says what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from whippletree.files.file_limits import FARTHEST_POINT
from whippletree.files.surfaces import Beside, Surface, numbers_in
from whippletree.foundation.arrays import Array
from whippletree.foundation.late_imports import imported

__all__ = ["MESH_SUFFIXES", "read_surfaces", "read_triangles"]


MESH_SUFFIXES = (".stl", ".obj", ".dae", ".gltf", ".glb", ".vtp", ".msh")
"""Ends of the names of meshes that are read."""

_ELSEWHERE = {
    ".obj": ("obj_mesh", "obj_surfaces"),
    ".dae": ("collada_mesh", "collada_surfaces"),
    ".gltf": ("gltf_mesh", "gltf_surfaces"),
    ".glb": ("gltf_mesh", "gltf_surfaces"),
    ".vtp": ("vtk_mesh", "vtk_surfaces"),
}


def read_surfaces(path: Path, largest: int) -> list[Surface]:
    """Return the surfaces of a file, of at most `largest` bytes; it names others of its own folder at most."""
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise ValueError(f"of meshes, {', '.join(MESH_SUFFIXES)} are read")
    own: dict[str, Callable[[bytes], list[Surface]]] = {".stl": _stl, ".msh": _msh}
    data = _contents(path, largest)
    with np.errstate(all="ignore"):  # points that are nowhere are looked for below
        if suffix in own:
            found = own[suffix](data)
        else:
            module, name = _ELSEWHERE[suffix]
            reader: Callable[[bytes, Beside], list[Surface]] = imported(f"whippletree.files.{module}", name)
            found = reader(data, lambda name: _contents(_beside(path, name), largest))
    found = [one for one in found if len(one.triangles)]
    if not found or not all((np.abs(one.points) < FARTHEST_POINT).all() for one in found):
        raise ValueError("it has no triangles, or such that are nowhere")
    return found


def read_triangles(path: Path, largest: int) -> Array:
    """Return the triangles of a file (n, 3, 3), of at most `largest` bytes."""
    return np.concatenate([one.corners for one in read_surfaces(path, largest)])


def _contents(path: Path, largest: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise ValueError(f"it has more than {largest} bytes")
    return data


def _beside(path: Path, name: str) -> Path:
    """Return the place of a file that a mesh names, which must be in the mesh's folder or below."""
    home = path.resolve().parent
    place = (home / name).resolve()
    if not place.is_relative_to(home) or not place.is_file():
        raise ValueError(f"{name} is not beside it")
    return place


def _stl(data: bytes) -> list[Surface]:
    """Return the surface of an STL file, binary if it is long enough for its count of triangles.

    >>> one = np.zeros(1, dtype=_STL)
    >>> _stl(bytes(80) + np.uint32(1).tobytes() + one.tobytes())[0].triangles.shape
    (1, 3)
    """
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    rest = len(data) - 84 - 50 * count
    if count > 0 and (rest == 0 or (rest > 0 and data.lstrip()[:5].lower() != b"solid")):
        rows = np.frombuffer(data, dtype=_STL, count=count, offset=84)
        corners = np.asarray(rows["corners"], dtype=np.float64)
    else:
        lines = (line.strip() for line in data.lower().splitlines())
        plain = numbers_in(b"\n".join(line[6:] for line in lines if line.startswith(b"vertex")))
        if len(plain) % 9:
            raise ValueError("it ends within a triangle")
        corners = plain.reshape(-1, 3, 3)
    return [Surface(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))]


_STL = [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")]


def _msh(data: bytes) -> list[Surface]:
    """Return the surface of a file of MuJoCo: four counts, points, normals and texture coordinates, faces.

    >>> _msh(np.array([3, 0, 0, 1], "<i4").tobytes() + np.eye(3, dtype="<f4").tobytes() + bytes(12))[0].points.shape
    (3, 3)
    """
    if len(data) < 16:
        raise ValueError("it is too short")
    counts: Sequence[int] = np.frombuffer(data, "<i4", count=4).tolist()
    points, normals, textures, faces = counts
    if min(points, normals, textures, faces) < 0 or len(data) != 16 + 4 * (
        3 * points + 3 * normals + 2 * textures + 3 * faces
    ):
        raise ValueError("it has another length than its counts say")
    rows = np.frombuffer(data, "<f4", count=3 * points, offset=16).reshape(-1, 3).astype(np.float64)
    corners = np.frombuffer(data, "<i4", offset=len(data) - 12 * faces).reshape(-1, 3).astype(np.intp)
    if len(corners) and not (corners.min(initial=0) >= 0 and corners.max(initial=0) < points):
        raise ValueError("a face has a corner that is not there")
    return [Surface(rows, corners)]
