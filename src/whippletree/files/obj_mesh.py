"""OBJ meshes: points, faces in groups of one material, and the colours that an MTL file beside gives to materials."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from whippletree.elements.bodies.appearance import color_code
from whippletree.files.surfaces import Beside, Surface, fans, numbers_in, surface_of, whole
from whippletree.foundation.arrays import Array, Indices

__all__ = ["obj_surfaces"]

_MORE = re.compile(rb"/[^ \t\n]*")
"""The numbers of texture coordinates and normals, behind that of a corner."""


def obj_surfaces(data: bytes, beside: Beside) -> list[Surface]:
    """Return the surfaces of an OBJ file, one for each material; faces with more corners are fans.

    >>> obj_surfaces(b"v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4", None)[0].triangles.shape
    (2, 3)
    """
    points: list[bytes] = []
    groups: dict[bytes, tuple[list[bytes], list[int]]] = {}
    libraries: list[bytes] = []
    faces, known = groups.setdefault(b"", ([], []))
    for line in data.replace(b"\\\n", b" ").replace(b"\\\r\n", b" ").splitlines():
        word, _, rest = line.strip().replace(b"\t", b" ").partition(b" ")
        if word == b"v":
            points.append(rest)
        elif word == b"f":
            faces.append(rest)
            known.append(len(points))
        elif word == b"usemtl":
            faces, known = groups.setdefault(rest.strip(), ([], []))
        elif word == b"mtllib":
            libraries.append(rest.strip())
    places, colors = _points(points), {} if beside is None else _colors(libraries, beside)
    return [surface_of(places, _triangles(*own), *colors.get(name, ())) for name, own in groups.items() if own[0]]


def _points(lines: list[bytes]) -> Array:
    """Return points (n, 3), of lines that may have weights or colours after them."""
    found = numbers_in(b"\n".join(lines))
    width = len(found) // max(len(lines), 1)
    if len(lines) and width >= 3 and len(found) == width * len(lines):
        return found.reshape(-1, width)[:, :3]
    rows = [numbers_in(line)[:3] for line in lines]
    if any(len(row) < 3 for row in rows):
        raise ValueError("a point has less than three coordinates")
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _triangles(lines: list[bytes], known: list[int]) -> Indices:
    """Return triangles of faces; a negative number counts back from the last point before that face."""
    plain = _MORE.sub(b"", b"\n".join(lines))
    counts = np.array([len(line.split()) for line in plain.split(b"\n")], dtype=np.intp)
    corners = whole(numbers_in(plain))
    if len(corners) != counts.sum():
        raise ValueError("a face has a corner that is no number")
    before = np.repeat(np.array(known, dtype=np.intp), counts)
    return fans(np.where(corners < 0, before + corners, corners - 1), counts)


def _colors(libraries: list[bytes], beside: Beside) -> dict[bytes, tuple[str, bool]]:
    """Return the colours of materials, and whether they have textures; a library that is not there gives none."""
    found = dict[bytes, tuple[str, bool]]()
    for library in libraries:
        try:
            found |= _materials(beside(library.decode("utf-8", "replace")))
        except (ValueError, OSError):
            continue
    return found


def _materials(data: bytes) -> Iterator[tuple[bytes, tuple[str, bool]]]:
    """Yield the materials of an MTL file: the name, the colour, and whether there is a texture."""
    color: tuple[float, ...]
    name, color, opacity, textured = b"", (), 1.0, False
    for line in [*data.splitlines(), b"newmtl"]:
        word, _, rest = line.strip().replace(b"\t", b" ").partition(b" ")
        if word == b"newmtl":
            yield name, (color_code((*color, opacity)) if len(color) == 3 else "", textured)
            name, color, opacity, textured = rest.strip(), (), 1.0, False
        elif word == b"Kd":
            color = tuple(numbers_in(rest).tolist())
        elif word == b"map_Kd":
            textured = True
        elif word == b"d":  # and not "Tr", which some programs write the other way round
            opacity = numbers_in(rest.replace(b"-halo", b"")).tolist()[0] if rest.strip() else 1.0
