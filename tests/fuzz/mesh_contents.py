"""Meshes with something changed in them: drawn, or refused in words, and nothing else."""

from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

import whippletree as wt
from fuzz.foreign_files import changed
from fuzz.tampering import changed_bytes
from whippletree.elements.bodies import Shape
from whippletree.viewer.mesh_files import MeshSource
from whippletree.viewer.scene import Solid
from whippletree.viewer.triangles import solid_mesh

MODELS = Path(__file__).resolve().parents[1] / "files" / "models" / "meshes"


class Contents(NamedTuple):
    files: list[tuple[str, bytes]]
    folder: Path


def prepare(folder: Path) -> Contents:
    (folder / "part.mtl").write_bytes((MODELS / "part.mtl").read_bytes())
    corners = np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 3.0]], "<f4")
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    rows = np.zeros(4, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    rows["corners"] = corners[faces]
    text = "solid a\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in corners[faces].reshape(-1, 3).tolist())
    gltf, data = _gltf(), corners.tobytes() + faces.astype("<u2").tobytes()
    head = json.dumps(gltf | {"buffers": [{"byteLength": len(data)}]}).encode()
    head += b" " * (-len(head) % 4)
    chunks = struct.pack("<I4s", len(head), b"JSON") + head + struct.pack("<I4s", len(data), b"BIN\0") + data
    inline = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    files = [
        ("a.stl", text.encode()),
        ("b.stl", bytes(80) + np.uint32(4).tobytes() + rows.tobytes()),
        ("a.msh", np.array([4, 0, 0, 4], "<i4").tobytes() + corners.tobytes() + faces.astype("<i4").tobytes()),
        ("part.obj", (MODELS / "part.obj").read_bytes()),
        ("scene.dae", (MODELS / "scene.dae").read_bytes()),
        ("a.glb", struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks),
        ("a.gltf", json.dumps(gltf | {"buffers": [{"uri": inline}]}).encode()),
        ("a.vtp", _vtk(corners, faces, packed=False)),
        ("b.vtp", _vtk(corners, faces, packed=True)),
    ]
    return Contents(files, folder)


def _gltf() -> dict[str, object]:
    return {
        "scenes": [{"nodes": [1]}],
        "nodes": [{"mesh": 0, "scale": [2, 2, 2]}, {"children": [0], "rotation": [0, 0, 0, 1]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 1, 1]}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24}],
    }


def _vtk(corners: np.ndarray, faces: np.ndarray, *, packed: bool) -> bytes:
    def array(values: np.ndarray, kind: str, name: str) -> str:
        head, data = f'<DataArray type="{kind}" Name="{name}" format=', values.tobytes()
        if not packed:
            return f'{head}"ascii">{" ".join(map(str, values.ravel().tolist()))}</DataArray>'
        block = zlib.compress(data)
        sizes = np.array([1, len(data), 0, len(block)], "<u4").tobytes()
        return f'{head}"binary">{(base64.b64encode(sizes) + base64.b64encode(block)).decode()}</DataArray>'

    inner = f"<Points>{array(corners, 'Float32', 'Points')}</Points><Polys>{array(faces, 'Int64', 'connectivity')}"
    inner += array(np.arange(3, 13, 3), "Int64", "offsets") + "</Polys>"
    by = ' compressor="vtkZLibDataCompressor"' if packed else ""
    return f'<VTKFile type="PolyData"{by}><PolyData><Piece>{inner}</Piece></PolyData></VTKFile>'.encode()


def case(number: int, prepared: Contents) -> None:
    """Change something in a file of each kind in turn, and draw it."""
    rng = random.Random(number)
    name, data = prepared.files[number % len(prepared.files)]
    path = prepared.folder / name
    plain = b"\0" not in data
    path.write_bytes(changed(rng, data) if plain and rng.random() < 0.5 else changed_bytes(rng, data))
    source = MeshSource([Shape("mesh", (1.0, 2.0, -1.0), file=str(path))])
    for one in source.surfaces(str(path)):
        mesh = solid_mesh(Solid(0, "mesh", (1.0, 2.0, -1.0), np.eye(4), surface=one))
        assert np.isfinite(mesh.points).all()
        assert np.isfinite(mesh.normals).all()
    if source.notes:
        (note,) = source.notes
        assert "\n" not in note
        raise wt.FileError(note)
