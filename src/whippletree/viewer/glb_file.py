"""A scene as a binary glTF file, version 2.0: bodies as nodes with a mesh each, and their motion as an animation.

Such a file opens in Blender, in presentation programs and on telephones. In glTF y is up and z comes towards the
viewer: a node at the root turns the ground frame that way. What stretches (springs, guides) is left out if it moves;
flexible bodies deform by morph targets, one for each mode.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from whippletree._version import __version__
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.viewer.scene import GROUND_PLACE, Scene, Skin, Strut
from whippletree.viewer.scene_colors import body_color, linear, solid_color, strut_color
from whippletree.viewer.triangles import Mesh, merged, skin_mesh, solid_mesh, strut_mesh

__all__ = ["glb"]

_FLOAT, _UINT = 5126, 5125
_VERTICES, _INDICES = 34962, 34963
"""Codes of the format for types of numbers and for kinds of buffers."""


class _Buffer:
    """The binary part of a file: views of it, and accessors that describe their content."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, object]] = []
        self.accessors: list[dict[str, object]] = []

    def add(self, values: Array | Indices, kind: str, *, target: int | None = None, bounds: bool = False) -> int:
        """Add an array, (n,) or (n, k), and return the number of its accessor."""
        whole = values.dtype.kind in "iu"
        array = np.ascontiguousarray(values, dtype="<u4" if whole else "<f4")
        view: dict[str, object] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        self.views.append(view if target is None else view | {"target": target})
        self.data += array.tobytes()
        found: dict[str, object] = {
            "bufferView": len(self.views) - 1,
            "componentType": _UINT if whole else _FLOAT,
            "count": len(array),
            "type": kind,
        }
        if bounds:
            rows = array.reshape(len(array), -1)
            found |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(found)
        return len(self.accessors) - 1


def glb(scene: Scene) -> bytes:
    """Return the file.

    >>> from whippletree.results.example_runs import swing
    >>> from whippletree.viewer.scenes import run_scene
    >>> glb(run_scene(swing()))[:4]
    b'glTF'
    """
    buffer, colors = _Buffer(), _Colors()
    meshes: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = [{"name": scene.title, "rotation": _upright(np.array(scene.camera.up))}]
    still = [one for one in scene.struts if {one.first, one.second} == {GROUND_PLACE} or len(scene.track) == 1]
    for place in range(GROUND_PLACE, len(scene.places)):
        name = "ground" if place == GROUND_PLACE else scene.places[place]
        node: dict[str, Any] = {"name": name}
        own = [(solid_color(one), solid_mesh(one)) for one in scene.solids if one.place == place]
        if place == GROUND_PLACE:
            own += [(strut_color(one), _strut(scene, one)) for one in still]
        else:
            node |= {"translation": _numbers(scene.track.positions[0, place])}
            node |= {"rotation": _numbers(scene.track.quaternions[0, place, [1, 2, 3, 0]])}
        if own:
            node["mesh"] = len(meshes)
            meshes.append({"name": name, "primitives": _primitives(own, buffer, colors)})
        nodes.append(node)
    nodes[0]["children"] = [*range(1, len(nodes))]
    weighted = []
    for skin, amplitudes in zip(scene.skins, scene.skin_amplitudes(scene.track), strict=True):
        if len(skin.shapes):
            weighted.append((len(nodes), amplitudes))
        nodes[skin.place + 2].setdefault("children", []).append(len(nodes))
        nodes.append({"name": f"{scene.places[skin.place]} skin", "mesh": len(meshes)})
        meshes.append(_skin(skin, amplitudes[0], buffer, colors))
    found: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"whippletree {__version__}"},
        "scene": 0,
        "scenes": [{"name": scene.title, "nodes": [0]}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": colors.materials,
    }
    if len(scene.track) > 1 and scene.places:
        found["animations"] = [_animation(scene, buffer, weighted)]
    found |= {"accessors": buffer.accessors, "bufferViews": buffer.views, "buffers": [{"byteLength": len(buffer.data)}]}
    return _file({key: value for key, value in found.items() if value != []}, bytes(buffer.data))


class _Colors:
    """The materials of a file, one for each colour."""

    def __init__(self) -> None:
        self.materials: list[dict[str, object]] = []
        self._known: dict[str, int] = {}

    def number(self, color: str) -> int:
        """Return the number of a colour's material."""
        if color not in self._known:
            opacity = int(color[7:] or "ff", 16) / 255
            rgba = [*_numbers(linear(color)), opacity]
            look = {"baseColorFactor": rgba, "metallicFactor": 0.1, "roughnessFactor": 0.6}
            self._known[color] = len(self.materials)
            blended = {"alphaMode": "BLEND"} if opacity < 1 else {}
            self.materials.append({"name": color, "pbrMetallicRoughness": look, **blended})
        return self._known[color]


def _primitives(own: list[tuple[str, Mesh]], buffer: _Buffer, colors: _Colors) -> list[dict[str, object]]:
    """Return the primitives of a node's mesh, one for each colour."""
    found = []
    for color in dict.fromkeys(color for color, _ in own):
        mesh = merged([one for its, one in own if its == color])
        attributes = {
            "POSITION": buffer.add(mesh.points, "VEC3", target=_VERTICES, bounds=True),
            "NORMAL": buffer.add(_unit(mesh.normals), "VEC3", target=_VERTICES),
        }
        indices = buffer.add(mesh.triangles.ravel(), "SCALAR", target=_INDICES)
        found.append({"attributes": attributes, "indices": indices, "material": colors.number(color)})
    return found


def _skin(skin: Skin, amplitudes: Array, buffer: _Buffer, colors: _Colors) -> dict[str, object]:
    """Return the mesh of a skin, with a morph target for each of its shapes."""
    primitive = _primitives([(body_color(skin.color), skin_mesh(skin.points, skin.triangles))], buffer, colors)[0]
    if not len(skin.shapes):
        return {"primitives": [primitive]}
    targets = [{"POSITION": buffer.add(shape, "VEC3", target=_VERTICES, bounds=True)} for shape in skin.shapes]
    return {"primitives": [primitive | {"targets": targets}], "weights": _numbers(amplitudes)}


def _animation(scene: Scene, buffer: _Buffer, weighted: Sequence[tuple[int, Array]]) -> dict[str, object]:
    """Return the motion: a translation and a rotation for each place, and weights (n, shapes) of skins by node."""
    track = scene.track
    times = buffer.add(track.t - track.t[0], "SCALAR", bounds=True)
    samplers: list[dict[str, object]] = []
    channels: list[dict[str, object]] = []
    for place in range(len(scene.places)):
        turned = track.quaternions[:, place][:, [1, 2, 3, 0]]
        for path, values, kind in (("translation", track.positions[:, place], "VEC3"), ("rotation", turned, "VEC4")):
            samplers.append({"input": times, "output": buffer.add(values, kind), "interpolation": "LINEAR"})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": place + 2, "path": path}})
    for node, amplitudes in weighted:
        samplers.append({"input": times, "output": buffer.add(amplitudes.ravel(), "SCALAR"), "interpolation": "LINEAR"})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": "weights"}})
    return {"name": scene.title, "samplers": samplers, "channels": channels}


def _file(head: dict[str, object], data: bytes) -> bytes:
    """Return the header, the JSON and the binary chunk, each filled up to a multiple of four bytes."""
    text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode("utf-8")
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _strut(scene: Scene, strut: Strut) -> Mesh:
    start, end = (
        (scene.track.pose(0, place) @ [*point, 1.0])[:3]
        for place, point in ((strut.first, strut.first_point), (strut.second, strut.second_point))
    )
    return strut_mesh(strut.kind, start, end, strut.radius)


def _upright(up: Array) -> list[float]:
    """Return the quaternion, w last, of the smallest rotation that takes `up` to y."""
    y = np.array([0.0, 1.0, 0.0])
    if up @ y < -1 + 1e-12:
        return [1.0, 0.0, 0.0, 0.0]
    whole = np.array([*np.cross(up, y), 1.0 + up @ y])
    return _numbers(whole / np.linalg.norm(whole))


def _unit(normals: Array) -> Array:
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300))


def _numbers(values: Array) -> list[float]:
    return [float(x) + 0.0 for x in values]
