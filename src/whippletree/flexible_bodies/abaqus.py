"""Reading Abaqus's matrices: mass and stiffness as `*MATRIX OUTPUT` writes them, and the nodes of the input file.

Two formats are known: coordinates (`FORMAT=COORDINATE`: row, column, value, both triangles), and matrix input
(`FORMAT=MATRIX INPUT`: node, freedom, node, freedom, value, with commas, one triangle). Freedoms are those of the nodes
in ascending order of their numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from whippletree.errors import FileError
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix, file_text
from whippletree.foundation.arrays import Indices
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing

__all__ = ["AbaqusMatrices", "read_abaqus"]


LARGEST_LABEL = 10_000_000
"""The largest number of a node: matrices of that many do not fit anywhere."""


@user_facing
@readable
class AbaqusMatrices(NamedTuple):
    """Mass and stiffness (sparse), nodes (N, 3), their numbers in the file, and node sets by name.

    Sets hold places in `nodes`, so that they can be given as interfaces.
    """

    mass: SparseMatrix
    stiffness: SparseMatrix
    nodes: Array
    numbers: Indices
    sets: dict[str, Indices]


@user_facing
def read_abaqus(mass: str | Path, stiffness: str | Path, nodes: str | Path) -> AbaqusMatrices:
    """Return the matrices of two `.mtx` files, and nodes and node sets of the input file they were made from.

    The first three entries are what `flexible` takes: `flexible(*found[:3], interfaces={"left": found.sets["LEFT"]})`.
    """
    numbers, where, sets = _read_nodes(nodes)
    M, K = (_read_matrix(file, numbers) for file in (mass, stiffness))
    return AbaqusMatrices(M, K, where, numbers, sets)


def _read_nodes(path: str | Path) -> tuple[Indices, Array, dict[str, Indices]]:
    """Return numbers and points of the nodes, in ascending order, and the sets."""
    found: dict[int, list[float]] = {}
    sets: dict[str, list[int]] = {}
    section, options = "", dict[str, str]()
    for line, text in enumerate(file_text(path).splitlines(), 1):
        if text.startswith("**") or not text.strip():
            continue
        if text.startswith("*"):
            section, options = _keyword(text)
            continue
        try:
            if section == "*NODE":
                label, *point = text.split(",")
                found[_label(label)] = [float(each) for each in point[:3]]
            elif section == "*NSET":
                sets.setdefault(options.get("NSET", ""), []).extend(_set_numbers(text, "GENERATE" in options))
        except ValueError:
            raise FileError(f"{path}:{line}: not numbers: {text.strip()[:60]}", file=str(path), line=line) from None
    if not found:
        raise FileError(f"{path}: it has no *NODE section: give the input file that the matrices were made from")
    numbers = np.array(sorted(found))
    if any(len(point) != 3 for point in found.values()):
        raise FileError(f"{path}: a node has fewer than three coordinates: the model must be a spatial one")
    where = np.array([found[label] for label in numbers])
    places = {label: i for i, label in enumerate(numbers.tolist())}
    return numbers, where, {name: np.array([places[i] for i in each if i in places]) for name, each in sets.items()}


def _keyword(text: str) -> tuple[str, dict[str, str]]:
    head, *rest = (part.strip() for part in text.split(","))
    options = {}
    for part in rest:
        key, _, value = part.partition("=")
        options[key.strip().upper()] = value.strip()
    return head.upper(), options


def _set_numbers(text: str, generate: bool) -> list[int]:
    values = [_label(part) for part in text.split(",") if part.strip()]
    if not generate:
        return values
    first, last, *step = values
    if last - first > LARGEST_LABEL:
        raise ValueError(last)
    return [*range(first, last + 1, *step)]


def _label(text: str) -> int:
    """Return the number of a node; a number that is too large raises a `ValueError`, as text does."""
    label = int(text)
    if abs(label) > LARGEST_LABEL:
        raise ValueError(label)
    return label


def _read_matrix(path: str | Path, numbers: Indices) -> SparseMatrix:
    """Return a matrix in either format, with both triangles."""
    from scipy import sparse

    rows = [line for line in file_text(path).splitlines() if line.strip() and not line.startswith(("*", "**"))]
    commas = bool(rows) and "," in rows[0]
    try:
        table = np.array([line.replace(",", " ").split() for line in rows], dtype=np.float64)
    except ValueError:
        table = np.zeros((0, 0))
    if table.ndim != 2 or table.shape[1] != (5 if commas else 3):
        raise FileError(
            f"{path}: its lines must be row, column, value, or with commas node, freedom, node, freedom, value; the "
            "file may be cut off, or of another format (write it with FORMAT=COORDINATE)",
            file=str(path),
        )
    labels = table[:, [0, 1, 2, 3] if commas else [0, 1]]
    largest = LARGEST_LABEL if commas else 6 * len(numbers)
    if not ((labels == np.rint(labels)) & (np.abs(labels) <= largest)).all():
        raise FileError(
            f"{path}: rows and columns must be whole numbers, of the {len(numbers)} nodes of the input file",
            file=str(path),
        )
    if not commas:
        i, j = table[:, 0].astype(int) - 1, table[:, 1].astype(int) - 1
        size = int(max(i.max(), j.max())) + 1
        return sparse.coo_array((table[:, 2], (i, j)), shape=(size, size)).tocsr()
    per_node = 6 if table[:, [1, 3]].max() > 3 else 3
    places = {label: k for k, label in enumerate(numbers.tolist())}
    unknown = set(table[:, [0, 2]].astype(int).ravel().tolist()) - places.keys()
    if unknown:
        first = min(unknown)  # not empty: looked at above
        raise FileError(f"{path}: node {first} is not among the nodes of the input file", file=str(path))
    i, j = (
        np.array([per_node * places[int(node)] + int(freedom) - 1 for node, freedom in table[:, [a, a + 1]]])
        for a in (0, 2)
    )
    size = per_node * len(numbers)
    half = sparse.coo_array((table[:, 4], (i, j)), shape=(size, size)).tocsr()
    both = bool(np.any(i > j)) and bool(np.any(i < j))
    return half if both else (half + half.T - sparse.diags_array(half.diagonal())).tocsr()
