"""COLLADA meshes (.dae): triangles and polygons of all geometries that the scene places, with their diffuse colours.

Lengths are multiples of the file's unit. Where y or x is up, the scene is turned such that z is; not so if MeshLab has
written the file, which says of every scene that y is up. Lines, cameras, lights and animations are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whippletree.elements.bodies.appearance import color_code
from whippletree.errors import FileError
from whippletree.files.file_limits import MOST_COPIES, MOST_MESH_LEVELS
from whippletree.files.surfaces import Beside, Surface, fans, numbers_in, surface_of, whole
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.foundation.arrays import Array, Indices

__all__ = ["collada_surfaces"]


def collada_surfaces(data: bytes, beside: Beside) -> list[Surface]:
    """Return the surfaces of a file, placed as its scene has them."""
    try:
        return [*_ColladaReading(parse_xml(data, "the mesh")).surfaces()]
    except FileError as error:
        raise ValueError(str(error).partition(": ")[2]) from None


_UPRIGHT = {
    "Y_UP": np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
    "X_UP": np.array([[0.0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]),
}
"""Turns by which an axis comes up: from y, x stays to the right; from x, y points to the left."""


class _ColladaReading:
    """The elements of a file by their names, and the surfaces made of them."""

    def __init__(self, root: XmlElement) -> None:
        if root.tag != "COLLADA":
            raise ValueError(f"<{root.tag}> is no COLLADA file")
        self._root = root
        self._named = {one["id"]: one for one in root.below() if "id" in one.attributes}
        self._known: dict[str, list[tuple[Array, Indices, str]]] = {}
        self._count = 0

    def surfaces(self) -> Iterator[Surface]:
        """Yield the surfaces of all instances of geometries."""
        scene, unit = _inner(self._root, "scene", "instance_visual_scene"), _inner(self._root, "asset", "unit")
        scale = 1.0 if unit is None else unit.number("meter", 1.0)
        placed = np.diag([scale, scale, scale, 1.0]) @ self._upright()
        top = None if scene is None else self._refered(scene)
        if top is not None:
            for node in top.all("node"):
                yield from self._node(node, placed, 0)
        else:
            for geometry in (one for library in self._root.all("library_geometries") for one in library.children):
                yield from self._instance(geometry, placed, {})

    def _upright(self) -> Array:
        """Return the rotation that takes the scene's upward axis to z."""
        asset = self._root.child("asset")
        tools = [] if asset is None else [one.text for one in asset.below() if one.tag == "authoring_tool"]
        up = None if asset is None else asset.child("up_axis")
        return np.eye(4) if up is None or any("MeshLab" in one for one in tools) else _UPRIGHT.get(up.text, np.eye(4))

    def _refered(self, element: XmlElement) -> XmlElement | None:
        return self._named.get(element.get("url").removeprefix("#"))

    def _node(self, node: XmlElement, placed: Array, level: int) -> Iterator[Surface]:
        """Yield the surfaces of a node of the scene and of the nodes within it."""
        self._count += 1
        if level > MOST_MESH_LEVELS or self._count > MOST_COPIES:
            raise ValueError("its scene has too many nodes, or such that hold themselves")
        for child in node.children:
            placed = placed @ _transform(child)
        for child in node.children:
            inner = child if child.tag == "node" else self._refered(child)
            if inner is None:
                continue
            if child.tag in ("node", "instance_node"):
                yield from self._node(inner, placed, level + 1)
            elif child.tag in ("instance_geometry", "instance_controller"):
                skin = inner.child("skin")
                geometry = inner if skin is None else self._named.get(skin.get("source").removeprefix("#"))
                if geometry is not None:
                    yield from self._instance(geometry, placed, self._bound(child))

    def _bound(self, instance: XmlElement) -> dict[str, str]:
        """Return which materials an instance gives to the names that its geometry uses."""
        common = _inner(instance, "bind_material", "technique_common")
        found = [] if common is None else [*common.all("instance_material")]
        return {one.get("symbol"): one.get("target").removeprefix("#") for one in found}

    def _instance(self, geometry: XmlElement, placed: Array, bound: dict[str, str]) -> Iterator[Surface]:
        """Yield the surfaces of a geometry, placed: one for each list of faces."""
        mesh = geometry.child("mesh")
        if mesh is None:
            return
        key = geometry.get("id")
        if key not in self._known:
            self._known[key] = [*self._primitives(mesh)]
        turned = float(np.linalg.det(placed[:3, :3])) < 0
        for points, triangles, material in self._known[key]:
            looks = self._looks(bound.get(material, material))
            flipped = triangles[:, ::-1] if turned else triangles
            yield surface_of(points @ placed[:3, :3].T + placed[:3, 3], flipped, *looks)

    # ------------------------------------------------------------------ geometries

    def _primitives(self, mesh: XmlElement) -> Iterator[tuple[Array, Indices, str]]:
        """Yield the points, the triangles and the material of each list of faces."""
        for one in mesh.all("triangles", "polylist", "polygons", "tristrips", "trifans"):
            inputs = [*one.all("input")]
            own = next((each for each in inputs if each.get("semantic") == "VERTEX"), None)
            if own is None:
                continue
            stride = 1 + max(int(each.number("offset", 0.0)) for each in inputs)  # not empty: there is one at least
            lists = [_rows(p.text, stride)[:, int(own.number("offset", 0.0))] for p in one.all("p")]
            triangles = _faces(one, lists)
            if len(triangles):
                yield self._positions(own), triangles, one.get("material")

    def _positions(self, vertices: XmlElement) -> Array:
        """Return the points to which the vertices of a list of faces refer."""
        holder = self._named.get(vertices.get("source").removeprefix("#"))
        inputs = [] if holder is None else [*holder.all("input")]
        source = next((one.get("source") for one in inputs if one.get("semantic") == "POSITION"), "")
        found = self._named.get(source.removeprefix("#"))
        numbers = None if found is None else found.child("float_array")
        if found is None or numbers is None:
            raise ValueError("a list of faces has no points")
        accessor = _inner(found, "technique_common", "accessor")
        stride = 3 if accessor is None else int(accessor.number("stride", 3.0))
        values = numbers_in(numbers.text)
        if stride < 3 or len(values) % stride:
            raise ValueError("its points have no three coordinates")
        return values.reshape(-1, stride)[:, :3]

    # ------------------------------------------------------------------ materials

    def _looks(self, name: str) -> tuple[str, bool]:
        """Return the diffuse colour of a material, nothing if it has none, and whether it has a texture instead."""
        material = self._named.get(name)
        effect = None if material is None else material.child("instance_effect")
        shown = None if effect is None else self._refered(effect)
        for one in () if shown is None else shown.below():
            if one.tag == "diffuse":
                color = one.child("color")
                rgba = [] if color is None else numbers_in(color.text).tolist()
                return color_code(rgba[:3]) if len(rgba) >= 3 else "", one.child("texture") is not None
        return "", False


def _inner(element: XmlElement, *tags: str) -> XmlElement | None:
    """Return the first element that stands within others of these tags."""
    found: XmlElement | None = element
    for tag in tags:
        found = None if found is None else next(found.all(tag), None)
    return found


def _rows(text: str, stride: int) -> Indices:
    """Return whole numbers, so many in each row."""
    values = whole(numbers_in(text))
    if not 0 < stride <= len(values) + 1 or len(values) % stride:
        raise ValueError("a list of faces is not complete")
    return values.reshape(-1, stride)


def _faces(element: XmlElement, lists: list[Indices]) -> Indices:
    """Return the triangles of a list of faces."""
    if element.tag == "polygons":
        return fans(np.concatenate([*lists, np.zeros(0, np.intp)]), np.array([len(one) for one in lists], np.intp))
    if element.tag == "polylist":
        counts = element.needed("vcount")
        return fans(np.concatenate([*lists, np.zeros(0, np.intp)]), whole(numbers_in(counts.text)))
    if element.tag == "triangles":
        return np.concatenate([one[: len(one) // 3 * 3].reshape(-1, 3) for one in [*lists, np.zeros(0, np.intp)]])
    found = [np.zeros((0, 3), np.intp)]
    for one in lists:
        k = np.arange(max(len(one) - 2, 0))
        strip = np.stack([k + k % 2, k + 1 - k % 2, k + 2], axis=1)
        fan = np.stack([0 * k, k + 1, k + 2], axis=1)
        found.append(one[strip if element.tag == "tristrips" else fan])
    return np.concatenate(found)


def _transform(element: XmlElement) -> Array:
    """Return the transformation of a node's element; the identity for other elements."""
    found, numbers = np.eye(4), element.numbers
    if element.tag == "matrix":
        return np.array(numbers(element.text, 16, "<matrix>")).reshape(4, 4)
    if element.tag == "translate":
        found[:3, 3] = numbers(element.text, 3, "<translate>")
    elif element.tag == "scale":
        found[:3, :3] = np.diag(numbers(element.text, 3, "<scale>"))
    elif element.tag == "rotate":
        x, y, z, angle = numbers(element.text, 4, "<rotate>")
        axis = np.array([x, y, z]) / max(math.sqrt(x * x + y * y + z * z), 1e-300)
        cross = np.cross(np.eye(3), axis)
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        found[:3, :3] = c * np.eye(3) + s * cross + (1 - c) * np.outer(axis, axis)
    return found
