"""Meshes of bodies from files, for pictures only; together they have no more triangles than a page can show.

What cannot be drawn is told, once for each file, and the body is drawn as its joints imply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from whippletree.elements.bodies import Shape
from whippletree.files.drawn_in import some_of
from whippletree.files.mesh_data import read_surfaces
from whippletree.files.surfaces import Surface
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.viewer.creases import split_at_creases, welded

__all__ = ["MeshSource"]

_LARGEST, _ALL = 64_000_000, 1_000_000_000
"""Bytes of a mesh file that is read for a picture, and of all of them."""

_MOST = 150_000
"""Triangles of all meshes of a picture, counted as often as they are drawn."""

_FEWEST = 100
"""Triangles of a surface below which none is taken away."""


class MeshSource:
    """The surfaces of mesh files, each read once; `notes` tells which could not be drawn, and why.

    The files of `shapes` are read at once, and share the triangles of a picture by their sizes.

    >>> source = MeshSource()
    >>> source.surfaces("nowhere.stl"), source.notes
    ((), ['mesh nowhere.stl is not drawn: there is no such file'])
    """

    def __init__(self, shapes: Iterable[Shape] = ()) -> None:
        self._found: dict[str, tuple[Surface, ...]] = {}
        self._read, self._textured = 0, list[str]()
        self.notes: list[str] = []
        uses: dict[str, list[float]] = {}
        for shape in shapes:
            if shape.kind == "mesh":
                # not empty: there are three
                uses.setdefault(shape.file, []).append(max(abs(float(x)) for x in shape.size))
        self._add(uses)

    @property
    def drawn(self) -> bool:
        """Whether there is a mesh that can be drawn."""
        return any(self._found.values())

    def surfaces(self, file: str) -> tuple[Surface, ...]:
        """Return the surfaces of a file, none if it cannot be drawn."""
        if file not in self._found:
            self._add({file: [1.0]})
        return self._found[file]

    def _add(self, uses: dict[str, list[float]]) -> None:
        """Read files, each with the factors by which it is drawn larger."""
        self._textured.clear()
        read = {file: self._of_file(file) for file in uses}
        if self._textured:
            self.notes.append(f"textures of meshes are not drawn: those of {some_of(self._textured)}")
        both = [(one, uses[file]) for file, own in read.items() for one in own]
        reduced = iter(_reduced([one for one, _ in both], [factors for _, factors in both], self.notes))
        for file, own in read.items():
            self._found[file] = tuple(_with_creases(one) for _, one in zip(own, reduced, strict=False))

    def _of_file(self, file: str) -> list[Surface]:
        try:
            if self._read > _ALL:
                raise ValueError(f"those before it have more than {_ALL} bytes")
            found = read_surfaces(Path(file), _LARGEST)
            self._read += Path(file).stat().st_size
            if any(one.textured for one in found):
                self._textured.append(Path(file).name)
            return _by_color(found)
        except (ValueError, OSError) as error:
            why = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
            self.notes.append(f"mesh {file} is not drawn: {why}")
            return []


def _by_color(surfaces: list[Surface]) -> list[Surface]:
    """Return surfaces, those of one colour as one, their points welded."""
    found = []
    for color in dict.fromkeys(one.color for one in surfaces):
        own = [one for one in surfaces if one.color == color]
        starts = np.cumsum([0, *(len(one.points) for one in own[:-1])])
        triangles = np.concatenate([one.triangles + start for one, start in zip(own, starts, strict=True)])
        found.append(Surface(*welded(np.concatenate([one.points for one in own]), triangles), color))
    return [one for one in found if len(one.triangles)]


def _reduced(surfaces: list[Surface], uses: list[list[float]], notes: list[str]) -> list[Surface]:
    """Return surfaces that have no more triangles than a picture takes, all together: large ones keep more."""
    counts = np.array([len(one.triangles) for one in surfaces], dtype=np.float64)
    times = np.array([len(factors) for factors in uses], dtype=np.float64)
    if counts @ times <= _MOST:
        return surfaces
    sizes = [max(factors, default=1.0) for factors in uses]
    spans = [size * np.linalg.norm(np.ptp(one.points, axis=0)) for one, size in zip(surfaces, sizes, strict=True)]
    wanted = np.minimum(counts, np.maximum(_FEWEST, _shares(counts, times, np.array(spans))))
    try:
        from fast_simplification import simplify
    except ImportError:
        notes.append(
            f"the meshes have {int(counts @ times)} triangles, too many for a picture, and are drawn on a coarse grid: "
            'pip install "whippletree[meshes]" draws them well'
        )
        return [_on_a_grid(one, int(goal)) for one, goal in zip(surfaces, wanted.tolist(), strict=True)]
    return [
        _simplified(one, int(goal), simplify) if goal < len(one.triangles) else one
        for one, goal in zip(surfaces, wanted.tolist(), strict=True)
    ]


def _on_a_grid(surface: Surface, goal: int) -> Surface:
    """Return a surface of no more triangles than so many: of the points in a cell of a grid, one is taken."""
    made, cells = surface, _CELLS
    while len(made.triangles) > max(goal, _FEWEST) and cells > 1:
        points, corners = welded(surface.points, surface.triangles, int(cells))
        _, first = np.unique(np.sort(corners, axis=1), axis=0, return_index=True)
        made, cells = Surface(points, corners[first], surface.color), cells / _COARSER
    return made if len(made.triangles) else surface


_CELLS, _COARSER = 512.0, 1.25
"""Cells of the finest grid along a surface, and how much coarser the next one is."""


def _simplified(surface: Surface, goal: int, simplify: Callable[..., tuple[Array, Indices]]) -> Surface:
    """Return a surface of so many triangles, whose edges are collapsed where that changes its form the least."""
    points, corners = surface.points.astype(np.float32), surface.triangles.astype(np.int32)
    fewer, triangles = simplify(points, corners, target_count=goal)
    made = Surface(fewer.astype(np.float64), triangles.astype(np.intp), surface.color)
    return made if len(made.triangles) and np.isfinite(made.points).all() else surface


def _shares(counts: Array, times: Array, spans: Array) -> Array:
    """Return how many triangles each surface may have: in the ratio of spans, of which some need less."""
    low, high = 0.0, float(counts.max(initial=1.0)) / max(float(spans.min(initial=np.inf)), 1e-12)
    for _ in range(100):
        middle = (low + high) / 2
        over = times @ np.minimum(counts, np.maximum(_FEWEST, middle * spans)) > _MOST
        low, high = (low, middle) if over else (middle, high)
    return np.asarray(low * spans)


def _with_creases(surface: Surface) -> Surface:
    """Return a surface whose corners at sharp edges are there once for each side, numbered as they come."""
    corners, triangles = split_at_creases(surface.points, surface.triangles)
    _, first, which = np.unique(triangles, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    order = np.argsort(first)
    rank[order] = np.arange(len(first))
    return Surface(surface.points[corners[order]], rank[which].reshape(-1, 3), surface.color)
