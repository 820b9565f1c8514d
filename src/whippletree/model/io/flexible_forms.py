"""Flexible bodies in model files: beams, solids, matrices in files beside the model, and reduced bodies.

Files beside a model are in its folder or below it. They run nothing, and what they may take of memory is bounded.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from whippletree.elements.bodies.body_chains import BodyChain
from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.errors import ModelError
from whippletree.foundation.arrays import AnyArray
from whippletree.foundation.plain_archives import plain_arrays
from whippletree.model.io import values
from whippletree.model.io.forms import arguments
from whippletree.model.io.nodes import Leaf, ListNode, MapNode, Node, words_for
from whippletree.model.io.scopes import UnfitError
from whippletree.model.io.values import FileContext, FileValue, Reader
from whippletree.model.names import suggestion

__all__ = ["FLEXIBLE", "archived", "flexible_body"]

MATRICES = ("mass", "stiffness")
_MOST_ARRAYS = 2000
"""Largest number of arrays in a file: a flexible body of many interfaces has some hundred."""

_MOST_BYTES = 2_000_000_000
"""Largest size of the arrays of one file beside a model, in bytes."""

_MESH_FILES = (".msh", ".mesh", ".inp", ".bdf", ".nas")
"""Mesh files that are read for strangers' models: text in which nothing but nodes and elements stands."""


def flexible_body(context: FileContext, node: MapNode, kind: str, folder: Path | None) -> FlexibleBody | BodyChain:
    """Return the flexible body that stands under the key `kind` of a body."""
    for key in node.items:
        if key != kind:
            raise UnfitError(node.keys[key], f'"{key}" does not go with "{kind}", which says all about the body')
    return FLEXIBLE[kind](context, node.items[kind], folder)


def _beam(context: FileContext, node: Node, folder: Path | None) -> FlexibleBody | BodyChain:
    from whippletree.flexible_bodies import beam

    needs, may = {"section": _section, "material": _material}, {**_MODES, **_BEAM}
    return beam(**_arguments(context, node, "beam", needs, may))


def _flexible(context: FileContext, node: Node, folder: Path | None) -> FlexibleBody:
    from whippletree.flexible_bodies import flexible, read_abaqus

    given = _arguments(context, node, "flexible", {"interfaces": _node_sets}, {**_MODES, **_MATRIX})
    sources = [key for key in ("matrices", "abaqus") if key in given]
    if len(sources) != 1:
        raise UnfitError(node.mark, 'flexible: give either "matrices", a file, or "abaqus", three files')
    sets: Mapping[str, FileValue] = {}
    if sources == ["matrices"]:
        found = _stored_matrices(_below(folder, given.pop("matrices"), node), node)
    else:
        files = {key: _below(folder, name, node) for key, name in given.pop("abaqus").items()}
        whole = read_abaqus(**files)
        found, sets = whole[:3], whole.sets
    given["interfaces"] = {name: _resolved(each, sets, node) for name, each in given["interfaces"].items()}
    return flexible(*found, **given)


def _sid(context: FileContext, node: Node, folder: Path | None) -> FlexibleBody:
    from whippletree.flexible_bodies import read_sid

    return read_sid(_below(folder, values.text(node, "sid"), node))


def _solid(context: FileContext, node: Node, folder: Path | None) -> FlexibleBody:
    from whippletree.flexible_bodies import solid

    needs, may = {"material": _material, "interfaces": _node_sets}, {**_MODES, **_SOLID}
    given = _arguments(context, node, "solid", needs, may)
    shapes = [key for key in ("box", "cylinder", "mesh") if key in given]
    if len(shapes) != 1:
        raise UnfitError(node.mark, 'solid: give one of "box", "cylinder" and "mesh"')
    if shapes == ["mesh"]:
        place = _below(folder, given.pop("mesh"), node)
        if place.suffix.lower() not in _MESH_FILES:
            raise UnfitError(node.mark, f'"{place.name}" must be a mesh that ends in {", ".join(_MESH_FILES)}')
        mesh: object = place
    else:
        mesh = {key: given.pop(key) for key in ("box", "cylinder", "length", "elements") if key in given}
    return solid(mesh, given.pop("material"), **given)


def _modal(context: FileContext, node: Node, folder: Path | None) -> FlexibleBody:
    from whippletree.elements.bodies.stored_bodies import body_of_arrays

    if isinstance(node, MapNode):
        text = _arguments(context, node, "modal", {"archive": values.word}, {})["archive"]
        name, arrays = "archive", _plain_arrays(_open_text(text, node), "archive", node)
    else:
        place = _below(folder, values.text(node, "modal"), node)
        name, arrays = place.name, _side_arrays(place, node)
    try:
        return body_of_arrays(arrays)
    except ModelError as error:
        raise UnfitError(node.mark, f"{name}: {error}") from None


def _open_text(text: str, node: Node) -> io.BytesIO:
    try:
        return io.BytesIO(base64.b64decode(text, validate=True))
    except ValueError:
        raise UnfitError(node.mark, "archive must be the base64 text of an .npz file") from None


def archived(body: FlexibleBody) -> bytes:
    """Return the archive of a flexible body, which `modal` reads."""
    from whippletree.elements.bodies.stored_bodies import stored_arrays

    file = io.BytesIO()
    np.savez_compressed(file, **stored_arrays(body))  # type: ignore[arg-type]
    return file.getvalue()


def content_name(data: bytes) -> str:
    """Return the part of an archive's name that tells its content: a file of that name never holds anything else.

    >>> content_name(b"abc")
    'ba7816bf8f01'
    """
    return hashlib.sha256(data).hexdigest()[:12]


FLEXIBLE: dict[str, Callable[[FileContext, Node, Path | None], FlexibleBody | BodyChain]] = {
    "beam": _beam,
    "flexible": _flexible,
    "sid": _sid,
    "solid": _solid,
    "modal": _modal,
}
"""The keys of flexible bodies."""


# ------------------------------------------------------------------------------------------------ files


def _below(folder: Path | None, name: str, node: Node) -> Path:
    """Return a file in the model's folder or below it."""
    if folder is None:
        raise UnfitError(node.mark, f'"{name}" is a file beside the model, but the model itself is not in a file')
    place = (folder / name).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise UnfitError(node.mark, f'"{name}" must be in the folder of the model or below it')
    if not place.is_file():
        raise UnfitError(node.mark, f'there is no file "{name}" beside the model')
    return place


def _side_arrays(path: Path, node: Node) -> dict[str, AnyArray]:
    """Return the arrays of an `.npz` file, none of which is anything but plain numbers."""
    try:
        with path.open("rb") as file:
            return _plain_arrays(file, path.name, node)
    except OSError as error:
        raise UnfitError(node.mark, f"{path.name} cannot be read: {error.strerror or error}") from None


def _plain_arrays(file: BinaryIO, name: str, node: Node) -> dict[str, FileValue]:
    try:
        return plain_arrays(file, most_arrays=_MOST_ARRAYS, most_bytes=_MOST_BYTES)
    except MemoryError:
        raise UnfitError(node.mark, f"{name} takes more memory than there is") from None
    except Exception as error:  # whatever bytes make the reader raise that are no archive
        raise UnfitError(node.mark, f"{name} is no .npz file of plain arrays: {error}") from None


def _stored_matrices(path: Path, node: Node) -> tuple[FileValue, FileValue, FileValue]:
    """Return mass, stiffness and nodes of an `.npz` file: full matrices, or rows, columns and values of entries."""
    arrays = _side_arrays(path, node)
    if "nodes" not in arrays:
        raise UnfitError(node.mark, f'{path.name} has no array "nodes": give their positions (N, 3)')
    most = 6 * len(np.atleast_1d(arrays["nodes"]))
    found = []
    for name in MATRICES:
        parts = [f"{name}_{part}" for part in ("rows", "columns", "values")]
        if name in arrays:
            found.append(arrays[name])
        elif all(part in arrays for part in parts):
            rows, columns, entries = (arrays[part] for part in parts)
            found.append(_sparse(rows, columns, entries, most, f"{path.name}: {name}", node))
        else:
            either = f'"{name}", and no ' + ", ".join(f'"{part}"' for part in parts)
            raise UnfitError(node.mark, f"{path.name} has no array {either}")
    return found[0], found[1], arrays["nodes"]


def _sparse(rows: AnyArray, columns: AnyArray, entries: AnyArray, most: int, what: str, node: Node) -> FileValue:
    """Return the sparse matrix of these entries, which has no more rows than all nodes have freedoms."""
    from scipy import sparse

    if rows.ndim != 1 or not rows.shape == columns.shape == entries.shape:
        raise UnfitError(node.mark, f"{what}: its rows, columns and values must be lists of the same length")
    if any(each.dtype.kind not in "iu" for each in (rows, columns)):
        raise UnfitError(node.mark, f"{what}: its rows and columns must be whole numbers, counted from zero")
    both = np.concatenate([rows, columns])
    if both.size and not 0 <= both.min() <= both.max() < most:
        wrong = both.min() if both.min() < 0 else both.max()
        raise UnfitError(node.mark, f"{what}: there is an entry at {wrong}, but the nodes have {most} freedoms at most")
    size = int(both.max(initial=-1)) + 1
    return sparse.coo_array((entries, (rows.astype(np.int64), columns.astype(np.int64))), shape=(size, size))


def _resolved(given: object, sets: Mapping[str, object], node: Node) -> FileValue:
    """Return an interface with its nodes, which may be given by the name of a node set."""
    if isinstance(given, dict):
        return given | {"nodes": _resolved(given.get("nodes"), sets, node)}
    if not isinstance(given, str):
        return given
    if given not in sets:
        raise UnfitError(node.mark, f"there is no node set {suggestion(given, sets)}")
    return sets[given]


# ------------------------------------------------------------------------------------------------ values


def _arguments(
    context: FileContext, node: Node, what: str, needs: Mapping[str, Reader], may: Mapping[str, Reader]
) -> dict[str, FileValue]:
    try:
        return arguments(context, values.mapping(node, what), needs, may)
    except UnfitError as error:
        raise UnfitError(error.mark or node.mark, f"{what}: {error}") from error.__cause__


def _section(context: FileContext, node: Node, what: str) -> FileValue:
    """Read a section, or a list of them."""
    import whippletree.flexible_bodies as room

    if isinstance(node, ListNode):
        return [_section(context, item, f"{what}[{k}]") for k, item in enumerate(node.items)]
    kinds = {"circle": ("radius",), "tube": ("radius", "wall"), "rectangle": ("width", "height")}
    numbers = ("area", "second_moment_y", "second_moment_z", "torsion_constant")
    more = ("shear_factor_y", "shear_factor_z", "torsion_modulus")
    if not isinstance(node, MapNode):
        raise UnfitError(node.mark, f"{what} must be such as circle: {{radius: 0.01}}, but is {words_for(node)}")
    if len(node.items) == 1 and next(iter(node.items)) in kinds:  # not empty: it has one item
        kind, own = next(iter(node.items.items()))  # not empty: it has one item
        return getattr(room, kind)(
            **_arguments(context, own, kind, dict.fromkeys(kinds[kind], values.fixed_number), {})
        )
    may = {**dict.fromkeys(more, values.fixed_number), "fibres": _plain}
    return room.section(**_arguments(context, node, what, dict.fromkeys(numbers, values.fixed_number), may))


def _material(context: FileContext, node: Node, what: str) -> FileValue:
    """Read a material: the name of one, or its numbers."""
    import whippletree.flexible_bodies as room

    ready = {name: each for name, each in vars(room).items() if isinstance(each, room.Material)}
    if isinstance(node, Leaf):
        name = values.text(node, what)
        if name not in ready:
            raise UnfitError(node.mark, f"there is no material {suggestion(name, ready)}")
        return ready[name]
    needs = dict.fromkeys(("density", "youngs_modulus"), values.fixed_number)
    return room.Material(**_arguments(context, node, what, needs, {"poisson_ratio": values.fixed_number}))


def _plain(context: FileContext, node: Node, what: str) -> FileValue:
    """Read numbers, words, flags, lists and mappings of these."""
    if isinstance(node, MapNode):
        return {key: _plain(context, item, f"{what}: {key}") for key, item in node.items.items()}
    if isinstance(node, ListNode):
        return [_plain(context, item, f"{what}[{k}]") for k, item in enumerate(node.items)]
    if isinstance(node.value, bool):
        return node.value
    if isinstance(node.value, float):
        return int(node.value) if node.value.is_integer() else node.value
    return values.text(node, what)


def _files(context: FileContext, node: Node, what: str) -> dict[str, str]:
    return _arguments(context, node, what, dict.fromkeys(("mass", "stiffness", "nodes"), values.word), {})


_node_sets = values.by_name(_plain, "nodes by name")
_MODES: dict[str, Reader] = {
    "modes": _plain,
    "highest_frequency": values.fixed_number,
    "attachment": _plain,
    "reduction": values.word,
    "reference": values.word,
    "damping": _plain,
}
_BEAM: dict[str, Reader] = {
    "length": values.fixed_number,
    "stations": values.several(values.entries(values.fixed_number, 3), "points"),
    "axis": values.axis,
    "across": values.axis,
    "elements": values.whole,
    "interfaces": values.by_name(values.fixed_number, "fractions by name"),
    "theory": values.word,
    "mass": values.word,
    "stiffening": values.flag,
    "substructures": values.whole,
    "stress": values.flag,
}
_MATRIX: dict[str, Reader] = {
    "matrices": values.word,
    "abaqus": _files,
    "coupling": values.word,
    "units": values.word,
}
_SOLID: dict[str, Reader] = {
    "box": _plain,
    "cylinder": values.fixed_number,
    "length": values.fixed_number,
    "elements": _plain,
    "mesh": values.word,
    "coupling": values.word,
    "stress": values.flag,
}
