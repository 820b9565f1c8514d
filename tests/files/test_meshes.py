"""Meshes from files: each format against numbers written out by hand, colours, and where packages are found."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.files.mesh_data import read_surfaces, read_triangles
from whippletree.files.surfaces import Surface
from whippletree.foundation.arrays import Array

MODELS = Path(__file__).parent / "models" / "meshes"

CORNERS = np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 3.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def as_set(triangles: Array) -> set[tuple[tuple[float, ...], ...]]:
    """Triangles, whichever of their corners comes first."""
    found = set()
    for corners in np.round(triangles, 6) + 0.0:
        rows = [tuple(row) for row in corners.tolist()]
        k = rows.index(min(rows))
        found.add((*rows[k:], *rows[:k]))
    return found


def written(path: Path, data: str | bytes) -> list[Surface]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_surfaces(path, 10_000_000)


TETRAHEDRON = as_set(CORNERS[FACES])


def test_stl_is_read_as_text_and_in_the_binary_layouts_that_programs_write(tmp_path: Path) -> None:
    lines = ["outer loop", *("vertex {} {} {}",) * 3, "endloop"]
    text = "\n".join(["solid a"] + ["\n".join(lines).format(*corners.ravel()) for corners in CORNERS[FACES]])
    rows = np.zeros(4, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    rows["corners"] = CORNERS[FACES]
    binary = np.uint32(4).tobytes() + rows.tobytes()
    for data in (text, text.upper(), bytes(80) + binary, b"solid".ljust(80) + binary, bytes(80) + binary + b"more"):
        (one,) = written(tmp_path / "a.stl", data)
        assert as_set(one.corners) == TETRAHEDRON
    assert as_set(read_triangles(tmp_path / "a.stl", 1000)) == TETRAHEDRON


def test_mujocos_own_format(tmp_path: Path) -> None:
    counts = np.array([4, 1, 1, 4], "<i4").tobytes()
    data = counts + CORNERS.astype("<f4").tobytes() + bytes(4 * 5) + FACES.astype("<i4").tobytes()
    assert as_set(written(tmp_path / "a.msh", data)[0].corners) == TETRAHEDRON
    with pytest.raises(ValueError, match="another length"):
        written(tmp_path / "a.msh", data[:-4])


def test_obj_has_groups_of_colors_polygons_and_numbers_that_count_back(tmp_path: Path) -> None:
    (tmp_path / "a.mtl").write_text("newmtl red\nKd 1 0 0\nd 0.5\nTr 1\nnewmtl plain\nmap_Kd a.png\n")
    found = written(
        tmp_path / "a.obj",
        """mtllib a.mtl
v 0 0 0 0.1 0.2 0.3
v 2 0 0 0.1 0.2 0.3
usemtl red
v 0 1 0 0.1 0.2 0.3
f 1/1/1 3//2 2/7
v 0 0 3 0.1 0.2 0.3
usemtl plain
f -4 \\
 -3 -1
f 1 4 3
f 2 3 4
f 1 2 3 4
""",
    )
    assert [(one.color, one.textured) for one in found] == [("#ff000080", False), ("", True)]
    assert len(found[1].triangles) == 5
    both = as_set(np.concatenate([one.corners for one in found]))
    assert both == TETRAHEDRON | as_set(CORNERS[[[0, 1, 2], [0, 2, 3]]])


def test_a_collada_scene_places_its_geometries_in_its_unit() -> None:
    found = read_surfaces(MODELS / "scene.dae", 1_000_000)  # written by MeshLab, whose word on what is up says nothing
    # 0.1 m: moved by (10, 0, 0), then turned by 90 degrees about z; the second one is twice as large and mirrored
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    first = 0.1 * (CORNERS @ turned.T + [10, 0, 0])
    second = 0.1 * ((2 * CORNERS * [1, 1, -1]) @ turned.T + [10, 0, 0])
    assert [one.color for one in found] == ["#ff8000", "#ff8000", "#0000ff", "#0000ff"]
    assert as_set(np.concatenate([one.corners for one in found[:2]])) == as_set(first[FACES])
    assert as_set(np.concatenate([one.corners for one in found[2:]])) == as_set(second[FACES[:, ::-1]])


@pytest.mark.parametrize(("up", "x", "y", "z"), [("Y_UP", 0, 2, 1), ("Z_UP", 0, 1, 2), ("X_UP", 1, 2, 0)])
def test_a_collada_scene_stands_upright(tmp_path: Path, up: str, x: int, y: int, z: int) -> None:
    text = (MODELS / "scene.dae").read_text()
    plain = np.concatenate([one.corners for one in read_surfaces(MODELS / "scene.dae", 1_000_000)])
    honest = text.replace("MeshLab", "a program").replace("Y_UP", up)
    turned = np.concatenate([one.corners for one in written(tmp_path / "a.dae", honest)])
    # right stays right and up comes up, so that the third direction, away from the viewer, is that of a turn
    sign = {"Y_UP": [1, -1, 1], "Z_UP": [1, 1, 1], "X_UP": [-1, -1, 1]}[up]
    assert as_set(turned) == as_set(plain[..., [x, y, z]] * sign)


def test_a_collada_scene_that_holds_itself_is_refused_in_words(tmp_path: Path) -> None:
    text = (MODELS / "scene.dae").read_text().replace('url="#part"/>', 'url="#loop"/>', 1)
    with pytest.raises(ValueError, match="hold themselves"):
        written(tmp_path / "a.dae", text)


def gltf(buffers: list[object], colored: bool = True) -> dict[str, object]:
    """A scene with the tetrahedron, twice as large, its y up."""
    look = {"pbrMetallicRoughness": {"baseColorFactor": [0.2158605, 0, 1, 1]} if colored else {}}
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [1]}],
        "nodes": [{"mesh": 0, "scale": [2, 2, 2]}, {"children": [0], "translation": [0, 0, 5]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [look],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24}],
        "buffers": buffers,
    }


def test_gltf_is_read_from_one_file_or_with_its_numbers_beside_and_stands_upright(tmp_path: Path) -> None:
    data = CORNERS.astype("<f4").tobytes() + FACES.astype("<u2").tobytes()
    (tmp_path / "a.bin").write_bytes(data)
    inline = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    text = json.dumps(gltf([{"byteLength": 72}])).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", 72, b"BIN\0") + data
    whole = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
    # x stays, y becomes z, and z becomes -y
    expected = as_set(((2 * CORNERS + [0, 0, 5]) @ np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0.0]]))[FACES])
    for name, content in (
        ("a.glb", whole),
        ("a.gltf", json.dumps(gltf([{"uri": "a.bin"}]))),
        ("b.gltf", json.dumps(gltf([{"uri": inline}]))),
    ):
        (one,) = written(tmp_path / name, content)
        assert as_set(one.corners) == expected
        assert one.color == "#8000ff"  # which a file has in linear numbers
    for broken in (
        {},
        gltf([{"uri": "../a.bin"}]),
        gltf([{"uri": "data:,x"}]),
        {**gltf([]), "nodes": [{}, {"children": [1]}]},
    ):
        with pytest.raises(ValueError):
            written(tmp_path / "c.gltf", json.dumps(broken))


@pytest.mark.parametrize("packed", ["text", "base64", "compressed"])
def test_vtk_polygons_are_read_as_text_and_packed(tmp_path: Path, packed: str) -> None:
    def array(values: Array, kind: str, name: str) -> str:
        head = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="3" format='
        if packed == "text":
            return f'{head}"ascii">{" ".join(map(str, values.ravel().tolist()))}</DataArray>'
        data = values.tobytes()
        if packed == "base64":
            return f'{head}"binary">{base64.b64encode(np.uint32(len(data)).tobytes() + data).decode()}</DataArray>'
        blocks = [zlib.compress(data[k : k + 16]) for k in range(0, len(data), 16)]
        sizes = np.array([len(blocks), 16, len(data) % 16, *map(len, blocks)], "<u4").tobytes()
        text = base64.b64encode(sizes).decode() + base64.b64encode(b"".join(blocks)).decode()
        return f'{head}"binary">{text}</DataArray>'

    inner = f"<Points>{array(CORNERS.astype('<f4'), 'Float32', 'Points')}</Points><Polys>"
    inner += array(FACES.astype("<i4"), "Int32", "connectivity")
    inner += array(np.array([3, 6, 9, 12], "<i4"), "Int32", "offsets") + "</Polys>"
    by = ' compressor="vtkZLibDataCompressor"' if packed == "compressed" else ""
    text = (
        f'<VTKFile type="PolyData" byte_order="LittleEndian"{by}><PolyData><Piece>{inner}</Piece></PolyData></VTKFile>'
    )
    (one,) = written(tmp_path / "a.vtp", text)
    assert as_set(one.corners) == TETRAHEDRON


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.ply", "ply", "of meshes, .stl, .obj"),
        ("a.stl", "solid nothing", "no triangles"),
        ("a.stl", "vertex 0 0 nan\n" * 3, "nowhere"),
        ("a.obj", "v 0 0 0\nf 1 2 3", "corner that is not there"),
        ("a.obj", "v 0 0 0\nf 1 b 3", "something else"),
        ("a.obj", "v 0 0\nf 1 1 1", "less than three"),
        ("a.dae", "<COLLADA>", "no well-formed XML"),
        ("a.dae", "<robot/>", "no COLLADA"),
        ("a.dae", '<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>', "document type"),
        ("a.vtp", '<VTKFile type="ImageData"/>', "no polygons"),
        ("a.gltf", "{", "not as glTF"),
        ("a.gltf", "[" * 9_000, "not as glTF"),
        ("a.glb", b"glTF", "not as glTF"),
        ("a.stl", bytes(20_000), "more than 10000 bytes"),
    ],
)
def test_what_is_wrong_with_a_mesh_is_said(tmp_path: Path, name: str, data: str | bytes, why: str) -> None:
    (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(ValueError, match=why):
        read_surfaces(tmp_path / name, 10_000)


# ---------------------------------------------------------------------- packages


def drawn(path: Path, **choices: object) -> dict[str, tuple[Shape, ...]]:
    model = wt.read(path, **choices)  # type: ignore[arg-type]
    return {body.name: body.properties.shapes for body in model.mechanism.describe().bodies}


def test_packages_are_found_above_and_beside_the_file_by_the_environment_and_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (MODELS / "hand.urdf").read_text()
    home = tmp_path / "stack" / "hand" / "urdf"
    home.mkdir(parents=True)
    (home / "hand.urdf").write_text(text)
    for package in (tmp_path / "stack" / "hand", tmp_path / "stack" / "tool", tmp_path / "elsewhere" / "other"):
        (package / "meshes").mkdir(parents=True)
        (package / "meshes" / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    found = {
        "palm": tmp_path / "stack" / "hand" / "meshes" / "part.obj",
        "tool": tmp_path / "stack" / "tool" / "meshes" / "part.obj",
        "other": tmp_path / "elsewhere" / "other" / "meshes" / "part.obj",
    }

    def files(**choices: object) -> dict[str, Path]:
        return {name: Path(own[0].file) for name, own in drawn(home / "hand.urdf", **choices).items() if own}

    beside = {name: found[name] for name in ("palm", "tool")}
    assert files() == beside
    report = [str(remark) for remark in wt.read(home / "hand.urdf").report if "meshes" in str(remark)]
    assert len(report) == 1
    assert "package://other/meshes/part.obj" in report[0]
    assert "ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, GZ_SIM_RESOURCE_PATH: not set" in report[0]
    assert files(packages=tmp_path / "elsewhere") == found
    assert files(packages=[tmp_path / "elsewhere" / "other"]) == found
    assert files(packages={"other": tmp_path / "elsewhere" / "other"}) == found
    for variable, folder in (("ROS_PACKAGE_PATH", tmp_path), ("GZ_SIM_RESOURCE_PATH", tmp_path / "elsewhere")):
        with monkeypatch.context() as changed:
            changed.setenv(variable, f"/nowhere:{folder}")
            assert files() == found
    (home / "hand.urdf").write_text(text.replace("other/meshes", "other/../../secret"))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for name in ("other/../../secret", "//" + str(tmp_path / "secret"), "../secret", "stack/../../secret"):
        (home / "hand.urdf").write_text(text.replace("other/meshes", name))
        assert files(packages=tmp_path / "elsewhere") == beside, name
    with pytest.raises(wt.FileError, match="packages must be folders"):
        wt.read(home / "hand.urdf", packages=3)


def test_a_link_out_of_a_package_that_is_only_near_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "tool" / "meshes").mkdir(parents=True)
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "a" / "tool" / "meshes" / "part.obj").symlink_to(tmp_path / "part.obj")
    (tmp_path / "a" / "hand.urdf").write_text((MODELS / "hand.urdf").read_text())
    assert drawn(tmp_path / "a" / "hand.urdf")["tool"] == ()
    assert len(drawn(tmp_path / "a" / "hand.urdf", packages=tmp_path / "a")["tool"]) == 1  # as installations have it


# ---------------------------------------------------------------------- looks


def test_looks_and_what_collides_are_told_apart_with_their_colors() -> None:
    shapes = wt.read(MODELS / "hand.urdf").shapes
    assert [(one.kind, one.color, one.collides) for one in shapes["palm"]] == [
        ("mesh", "#ff0000", False),
        ("box", "", True),
    ]
    assert [(one.kind, one.color) for one in shapes["tool"]] == [("mesh", "#00ff0080")]
    shapes = wt.read(MODELS / "hand.sdf").shapes
    assert [(one.kind, one.color, one.collides) for one in shapes["palm"]] == [
        ("sphere", "#0000ff", False),
        ("box", "", True),
    ]
    shapes = wt.read(MODELS / "hand.xml").shapes
    assert [(one.kind, one.color, one.collides) for one in shapes["palm"]] == [
        ("mesh", "#ff0000", False),
        ("box", "#00ff00", True),
        ("sphere", "#00ffff", True),
    ]
    assert [(one.kind, one.collides) for one in shapes["bone"]] == [("mesh", False)]  # in whatever group


def test_colors_and_collisions_travel_with_model_files(tmp_path: Path) -> None:
    model = wt.read(MODELS / "hand.urdf")
    wt.write(model, tmp_path / "hand.yaml")
    again = wt.read(tmp_path / "hand.yaml").mechanism.describe()
    for body in model.mechanism.describe().bodies:
        assert again.body(body.name).properties.shapes == body.properties.shapes
    with pytest.raises(wt.ModelError, match="its color must be"):
        Shape("sphere", (1.0,), color="red")
    with pytest.raises(wt.ModelError, match="collides must be"):
        Shape("sphere", (1.0,), collides=1)  # type: ignore[arg-type]
