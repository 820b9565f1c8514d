"""Meshes of bodies from files, for pictures only: STL, as text or binary, and OBJ.

What cannot be drawn is told, once for each file, and the body is drawn as its joints imply.
"""

from __future__ import annotations

from pathlib import Path

from whippletree.files.mesh_data import read_triangles
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
                found = read_triangles(Path(file), _LARGEST)
                self._found[file] = found[:: -(-len(found) // _MOST)]
            except (ValueError, OSError) as error:
                why = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
                self.notes.append(f"mesh {file} is not drawn: {why}")
                self._found[file] = None
        return self._found[file]
