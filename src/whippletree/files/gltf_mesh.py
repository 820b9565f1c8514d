"""glTF meshes, as .gltf with its numbers beside it or in it, or as .glb: triangles, with the base colours of materials.

In glTF y is up; the surfaces are turned such that z is, as robots have it. Textures, skins, animations and compressed
meshes are left out.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from whippletree.elements.bodies.appearance import color_code
from whippletree.files.file_limits import MOST_COPIES, MOST_MESH_LEVELS, MOST_MESH_NUMBERS
from whippletree.files.surfaces import Beside, Surface, surface_of
from whippletree.foundation.arrays import Array

__all__ = ["gltf_surfaces"]

_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def gltf_surfaces(data: bytes, beside: Beside) -> list[Surface]:
    """Return the surfaces of a file, placed as its scene has them."""
    try:
        return [*_GltfReading(data, beside).surfaces()]
    except (KeyError, IndexError, TypeError, AttributeError, struct.error, OverflowError, RecursionError):
        raise ValueError("it is not as glTF files are") from None


class _GltfReading:
    """The JSON text of a file, and the numbers that it refers to."""

    def __init__(self, data: bytes, beside: Beside) -> None:
        self._beside, self._own, text = beside, b"", data
        if data[:4] == b"glTF":
            length = struct.unpack_from("<I", data, 12)[0]
            text, self._own = data[20 : 20 + length], data[28 + length :]
        try:
            self._head: dict[str, Any] = json.loads(text)
        except ValueError:
            raise TypeError("no JSON") from None
        self._buffers: dict[int, bytes] = {}
        self._count = 0
        if "KHR_draco_mesh_compression" in self._head.get("extensionsRequired", []):
            raise ValueError("its meshes are compressed")

    def surfaces(self) -> Iterator[Surface]:
        """Yield the surfaces of all nodes of the scene."""
        scenes = self._head.get("scenes", [])
        if not scenes:
            raise ValueError("it has no scene")
        for node in scenes[self._head.get("scene", 0)].get("nodes", []):
            yield from self._node(node, _UPRIGHT, 0)

    def _node(self, number: int, placed: Array, level: int) -> Iterator[Surface]:
        self._count += 1
        if level > MOST_MESH_LEVELS or self._count > MOST_COPIES:
            raise ValueError("its scene has too many nodes, or such that hold themselves")
        node = self._head["nodes"][number]
        placed = placed @ _pose(node)
        turned = float(np.linalg.det(placed[:3, :3])) < 0
        mesh = self._head["meshes"][node["mesh"]] if "mesh" in node else {"primitives": []}
        for one in mesh["primitives"]:
            if one.get("mode", 4) != 4:
                continue
            points = self._numbers(one["attributes"]["POSITION"]) @ placed[:3, :3].T + placed[:3, 3]
            corners = self._numbers(one["indices"]).ravel() if "indices" in one else np.arange(len(points))
            triangles = corners[: len(corners) // 3 * 3].reshape(-1, 3).astype(np.intp)
            yield surface_of(points, triangles[:, ::-1] if turned else triangles, *self._looks(one.get("material")))
        for child in node.get("children", []):
            yield from self._node(child, placed, level + 1)

    def _looks(self, number: int | None) -> tuple[str, bool]:
        """Return the base colour of a material, which is linear in a file, nothing if that is a texture's."""
        material = {} if number is None else self._head["materials"][number]
        look = material.get("pbrMetallicRoughness", {})
        if not material or "baseColorTexture" in look:
            return "", bool(material)
        *rgb, opacity = map(float, look.get("baseColorFactor", (1.0, 1.0, 1.0, 1.0)))
        srgb = [12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in rgb]
        return color_code((*srgb, opacity if material.get("alphaMode") == "BLEND" else 1.0)), False

    def _numbers(self, number: int) -> Array:
        """Return the numbers of an accessor (n, width)."""
        accessor = self._head["accessors"][number]
        view = self._head["bufferViews"][accessor["bufferView"]]
        if "sparse" in accessor:
            raise ValueError("its numbers are sparse")
        kind, width = np.dtype(_KINDS[accessor["componentType"]]), _WIDTHS[accessor["type"]]
        start, size = view.get("byteOffset", 0) + accessor.get("byteOffset", 0), kind.itemsize * width
        count, stride = accessor["count"], view.get("byteStride", size)
        data = self._buffer(view["buffer"])
        if min(start, count, stride - size) < 0 or (count and start + stride * (count - 1) + size > len(data)):
            raise ValueError("it refers to numbers that are not there")
        rows = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize))
        scale = float(np.iinfo(kind).max) if accessor.get("normalized") and kind.kind != "f" else 1.0
        return rows.astype(np.float64) / scale

    def _buffer(self, number: int) -> bytes:
        """Return the bytes of a buffer: in the file, in its text, or in a file beside it."""
        if number not in self._buffers:
            uri = self._head["buffers"][number].get("uri")
            self._buffers[number] = self._own if uri is None else _fetched(uri, self._beside)
            if len(self._buffers[number]) > 4 * MOST_MESH_NUMBERS:
                raise ValueError("it has too many numbers")
        return self._buffers[number]


def _fetched(uri: str, beside: Beside) -> bytes:
    if not uri.startswith("data:"):
        return beside(uri)
    try:
        return base64.b64decode(uri.partition(",")[2], validate=True)
    except binascii.Error:
        raise ValueError("its numbers are not written as they should be") from None


def _pose(node: dict[str, Any]) -> Array:
    """Return the transform of a node: a matrix, column by column, or translation, rotation and scale."""
    if "matrix" in node:
        return _vector(node["matrix"], 16).reshape(4, 4).T
    x, y, z, w = _vector(node.get("rotation", (0, 0, 0, 1)), 4)
    found = np.eye(4)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    found[:3, :3] = turn * _vector(node.get("scale", (1, 1, 1)), 3)
    found[:3, 3] = _vector(node.get("translation", (0, 0, 0)), 3)
    return found


def _vector(values: Sequence[float], count: int) -> Array:
    found = np.array(values, dtype=np.float64)
    if found.shape != (count,):
        raise ValueError("the pose of a node has another number of entries")
    return found
