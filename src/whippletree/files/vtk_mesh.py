"""VTK meshes of polygons (.vtp), as OpenSim has them: arrays of numbers as text or in base64, compressed or not."""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np

from whippletree.errors import FileError
from whippletree.files.file_limits import MOST_MESH_NUMBERS
from whippletree.files.surfaces import Beside, Surface, fans, numbers_in, surface_of, whole
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.foundation.arrays import Array, Indices

__all__ = ["vtk_surfaces"]

_KINDS = {
    **{f"Int{8 * n}": f"i{n}" for n in (1, 2, 4, 8)},
    **{f"UInt{8 * n}": f"u{n}" for n in (1, 2, 4, 8)},
    "Float32": "f4",
    "Float64": "f8",
}


def vtk_surfaces(data: bytes, beside: Beside) -> list[Surface]:
    """Return the surfaces of a file, one for each piece: its polygons and strips."""
    try:
        root = parse_xml(data, "the mesh")
        pieces = [one for group in root.all("PolyData") for one in group.all("Piece")]
        if root.get("type") != "PolyData" or not pieces:
            raise ValueError("it holds no polygons")
        return [_surface(root, piece) for piece in pieces]
    except FileError as error:
        raise ValueError(str(error).partition(": ")[2]) from None


def _surface(root: XmlElement, piece: XmlElement) -> Surface:
    points = _array(root, piece.needed("Points"), "")
    if len(points) % 3:
        raise ValueError("its points have no three coordinates")
    faces = [_polygons(root, piece, "Polys"), _strips(root, piece)]
    return surface_of(points.reshape(-1, 3), np.concatenate(faces))


def _polygons(root: XmlElement, piece: XmlElement, tag: str) -> Indices:
    group = piece.child(tag)
    if group is None or not group.children:
        return np.zeros((0, 3), dtype=np.intp)
    corners, ends = (whole(_array(root, group, name)) for name in ("connectivity", "offsets"))
    return fans(corners, np.diff(ends, prepend=0))


def _strips(root: XmlElement, piece: XmlElement) -> Indices:
    group, found = piece.child("Strips"), [np.zeros((0, 3), dtype=np.intp)]
    if group is None or not group.children:
        return found[0]
    corners, ends = (whole(_array(root, group, name)) for name in ("connectivity", "offsets"))
    for strip in np.split(corners, ends[:-1]):
        k = np.arange(max(len(strip) - 2, 0))
        found.append(strip[np.stack([k + k % 2, k + 1 - k % 2, k + 2], axis=1)])
    return np.concatenate(found)


def _array(root: XmlElement, group: XmlElement, name: str) -> Array:
    """Return the numbers of an array of a group, of its only one if no name is given."""
    element = next((one for one in group.all("DataArray") if not name or one.get("Name") == name), None)
    if element is None:
        raise ValueError(f"<{group.tag}> has no array {name}")
    if element.get("format", "ascii") == "ascii":
        return numbers_in(element.text)
    order = ">" if root.get("byte_order") == "BigEndian" else "<"
    kind, count = element.get("type"), order + _KINDS.get(root.get("header_type", "UInt32"), "u4")
    if kind not in _KINDS:
        raise ValueError(f"its numbers are of the type {kind}")
    text = element.text
    if element.get("format") == "appended":
        holder = root.child("AppendedData")
        if holder is None or holder.get("encoding") != "base64":
            raise ValueError("its numbers are appended as raw bytes")
        text = holder.text.lstrip("_")[int(element.number("offset")) :]
    unpacked = _inflated if root.get("compressor") else _plain
    if root.get("compressor") not in ("", "vtkZLibDataCompressor"):
        raise ValueError(f"it is compressed by {root.get('compressor')}")
    return np.frombuffer(unpacked(text, np.dtype(count)), order + _KINDS[kind]).astype(np.float64)


def _bytes_of(text: str, size: int) -> bytes:
    """Return the first bytes that a text in base64 stands for."""
    letters = -(-size // 3) * 4
    try:
        found = base64.b64decode(text[:letters], validate=True)[:size]
    except binascii.Error:
        raise ValueError("its numbers are not written as they should be") from None
    if len(found) < size:
        raise ValueError("it ends within its numbers")
    return found


def _plain(text: str, count: np.dtype[np.unsignedinteger]) -> bytes:
    """Return an array's bytes, before which their number stands."""
    size = int(np.frombuffer(_bytes_of(text, count.itemsize), count)[0])
    return _bytes_of(text, min(count.itemsize + size, len(text)))[count.itemsize :]


def _inflated(text: str, count: np.dtype[np.unsignedinteger]) -> bytes:
    """Return an array's bytes, compressed in blocks: before them their number, sizes, and compressed sizes."""
    blocks = int(np.frombuffer(_bytes_of(text, count.itemsize), count)[0])
    if blocks > len(text):
        raise ValueError("it ends within its numbers")
    size = (3 + blocks) * count.itemsize
    head = np.frombuffer(_bytes_of(text, size), count).astype(np.int64)
    packed = _bytes_of(text[-(-size // 3) * 4 :], min(int(head[3:].sum()), len(text)))
    found, at = [], 0
    if int(head[1]) * blocks > 8 * MOST_MESH_NUMBERS:
        raise ValueError("it has too many numbers")
    for length in head[3:].tolist():
        inflater = zlib.decompressobj()
        try:
            found.append(inflater.decompress(packed[at : at + length], max(int(head[1]), 1)))
        except zlib.error:
            raise ValueError("its numbers are not compressed as they should be") from None
        at += length
    return b"".join(found)
