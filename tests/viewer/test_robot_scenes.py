"""Robots with meshes: what is drawn of them and what not, how far meshes are simplified, a camera that follows."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.foundation.arrays import Array, Indices
from whippletree.viewer import mesh_files
from whippletree.viewer.creases import split_at_creases, welded
from whippletree.viewer.framing import extreme_points
from whippletree.viewer.mesh_files import MeshSource
from whippletree.viewer.scene import Scene
from whippletree.viewer.scene_colors import UNPAINTED
from whippletree.viewer.scene_data import scene_data, unpack
from whippletree.viewer.triangles import solid_mesh

MODELS = Path(__file__).parents[1] / "files" / "models" / "meshes"


def ball(n: int) -> tuple[Array, Indices]:
    """A ball of radius 1 of 4 n (n - 1) triangles."""
    turn, rise = np.meshgrid(np.arange(2 * n) * np.pi / n, np.linspace(-np.pi / 2, np.pi / 2, n + 1))
    points = np.stack([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)], axis=2).reshape(-1, 3)
    at = np.arange(2 * n * (n + 1)).reshape(n + 1, 2 * n)
    a, b, c, d = (x.ravel() for x in (at[:-1], np.roll(at[:-1], -1, axis=1), at[1:], np.roll(at[1:], -1, axis=1)))
    return welded(points, np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)]))


def volume(corners: Array) -> float:
    a, b, c = np.moveaxis(corners, 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def stl(path: Path, points: Array, triangles: Indices) -> Path:
    rows = np.zeros(len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    rows["corners"] = points[triangles]
    path.write_bytes(bytes(80) + np.uint32(len(triangles)).tobytes() + rows.tobytes())
    return path


def meshes(*files: Path, size: tuple[float, ...] = (1.0, 1.0, 1.0)) -> list[Shape]:
    return [Shape("mesh", size, file=str(file)) for file in files]


# ---------------------------------------------------------------------- meshes


def test_corners_are_split_at_edges_only() -> None:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    box = np.array([[q[0], q[k], q[k + 1]] for q in quads for k in (1, 2)])
    origin, triangles = split_at_creases(signs, box)
    assert len(origin) == 24
    assert np.array_equal(signs[origin][triangles], signs[box])
    points, faces = ball(16)
    assert len(split_at_creases(points, faces)[0]) == len(points)
    # a surface whose triangles are there one by one, as in STL files, is welded first
    again, corners = welded(points[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3))
    assert len(again) == len(points)
    assert volume(again[corners]) == pytest.approx(volume(points[faces]), rel=1e-12)


def test_meshes_are_simplified_to_what_a_picture_takes_and_keep_their_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fast_simplification")
    monkeypatch.setattr(mesh_files, "_MOST", 3000)
    large, small = stl(tmp_path / "large.stl", *ball(40)), stl(tmp_path / "small.stl", *ball(8))
    source = MeshSource([*meshes(large), *meshes(small, size=(0.1, 0.1, 0.1))])
    (one,), (other,) = source.surfaces(str(large)), source.surfaces(str(small))
    assert 2000 < len(one.triangles) < 3000
    assert len(other.triangles) >= 100
    assert np.abs(np.linalg.norm(one.points, axis=1) - 1).max() < 0.01
    assert volume(one.corners) == pytest.approx(4 / 3 * np.pi, rel=0.02)
    assert source.notes == []
    # normals of the page are those of the triangles around a corner: near those of a ball
    normals = solid_mesh(_solid(one)).normals
    assert (np.einsum("ij,ij->i", normals, one.points) > 0.99).all()


def _solid(surface: object) -> object:
    from whippletree.viewer.scene import Solid

    return Solid(0, "mesh", (1.0, 1.0, 1.0), np.eye(4), surface=surface)


def test_without_the_library_meshes_are_coarse_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesh_files, "_MOST", 1000)
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    path = stl(tmp_path / "ball.stl", *ball(40))
    source = MeshSource(meshes(path))
    (one,) = source.surfaces(str(path))
    assert 500 < len(one.triangles) <= 1000
    assert volume(one.corners) == pytest.approx(4 / 3 * np.pi, rel=0.1)  # without holes
    assert 'pip install "whippletree[meshes]"' in source.notes[0]


def test_textures_and_files_that_cannot_be_drawn_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.mtl").write_text("newmtl wood\nmap_Kd wood.png\n")
    (tmp_path / "a.obj").write_text("mtllib a.mtl\nusemtl wood\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    source = MeshSource(meshes(tmp_path / "a.obj", tmp_path / "b.obj"))
    assert source.notes == [
        f"mesh {tmp_path / 'b.obj'} is not drawn: there is no such file",
        "textures of meshes are not drawn: those of a.obj",
    ]


def test_a_mirrored_mesh_faces_outward(tmp_path: Path) -> None:
    path = stl(tmp_path / "ball.stl", *ball(8))
    m = wt.Mechanism("mirrored")
    m.body("a", wt.MassProperties(1.0, shapes=meshes(path, size=(1.0, -2.0, 1.0))))
    m.free("f", m.ground, "a")
    (solid,) = m.show(opened=False, path=tmp_path / "a.html").scene.solids
    mesh = solid_mesh(solid)
    assert volume(mesh.points[mesh.triangles]) == pytest.approx(2 * volume(ball(8)[0][ball(8)[1]]), rel=1e-6)
    assert (np.einsum("ij,ij->i", mesh.normals, mesh.points) > 0).all()


# ---------------------------------------------------------------------- what is drawn


def scene_of(name: str, **looks: object) -> Scene:
    view = wt.read(MODELS / name, base="fixed", packages={"hand": MODELS, "tool": MODELS}).build()
    return view.show(opened=False, path=None, **looks).scene


def test_a_robot_with_meshes_is_drawn_by_them_and_by_nothing_else() -> None:
    scene = scene_of("robot.urdf")
    drawn = [(scene.places[one.place], one.kind, one.role) for one in scene.solids]
    # two surfaces of the mesh on the arm; no inertia boxes, bars, joint symbols or supports, and no massless sensor
    assert drawn == [("arm", "mesh", "body")] * 2 + [("hand", "mesh", "body")] * 2
    assert not scene.struts
    assert not scene.named
    assert [one.paint for one in scene.solids] == [UNPAINTED, "#0000ff", "#ff0000", "#0000ff"]


def test_what_collides_is_drawn_on_request_or_where_there_is_nothing_else(tmp_path: Path) -> None:
    roles = [one.role for one in scene_of("robot.urdf", collisions=True).solids]
    assert roles.count("collision") == 1
    text = (MODELS / "robot.urdf").read_text()
    (tmp_path / "bare.urdf").write_text(text.replace("visual>", "extra>"))
    scene = wt.read(tmp_path / "bare.urdf").build().show(opened=False).scene
    assert (0.1, 0.1, 0.3) in [one.size for one in scene.solids if one.role == "body"]
    with pytest.raises(wt.StateError, match="collisions="):
        scene_of("robot.urdf", collisions="yes")


def test_a_mesh_is_written_once_however_often_it_is_drawn() -> None:
    scene = scene_of("robot.urdf")
    text, block = scene_data(scene)
    head = json.loads(text)
    names = [row[0] for row in head["arrays"]]
    assert [name for name in names if name.startswith("mesh")] == ["mesh0", "mesh1"]
    assert [row[2][0] for row in head["solids"]] == [0, 1, 0, 1]
    arrays = dict(zip(names, unpack(block, [row[1:] for row in head["arrays"]]), strict=True))
    for k in (0, 1):
        surface = scene.solids[k].surface
        assert surface is not None
        assert np.array_equal(arrays[f"corners{k}"].T, surface.triangles)
        np.testing.assert_allclose(arrays[f"mesh{k}"].T, surface.points, atol=0.3 / 2**13)


def test_the_picture_holds_the_robot_and_the_grid_is_at_its_foot() -> None:
    scene = scene_of("robot.urdf")
    points = np.concatenate([solid_mesh(one).placed(scene.track.pose(0, one.place)).points for one in scene.solids])
    assert points[:, 2].min() - scene.floor == pytest.approx(0.2 * scene.unit, abs=1e-9)
    assert scene.outline.max(axis=0) == pytest.approx(extreme_points(points).max(axis=0), abs=1e-9)


# ---------------------------------------------------------------------- a camera that follows


def falling() -> wt.Trajectory:
    m = wt.Mechanism("falling", gravity=(1.0, 0.0, -9.81))
    stone = m.body("stone", wt.box((0.2, 0.3, 0.4), mass=1.0))
    m.free("fall", m.ground, stone)
    m.frame("top", on=stone, at=(0, 0, 0.2))
    return m.build().simulate(2.0, every=0.1)


def test_the_camera_follows_a_body_on_request() -> None:
    run = falling()
    for name in ("stone", "top"):
        scene = run.animate(opened=False, follow=name).scene
        assert scene.extent == pytest.approx(np.linalg.norm([0.2, 0.3, 0.4]), rel=1e-6)  # and not the whole way down
        assert scene.followed(20) == pytest.approx(run.position("stone")[20] - run.position("stone")[0], abs=1e-9)
    assert run.animate(opened=False).scene.extent > 19
    wide = [run.animate(opened=False, follow=one).scene for one in ("stone", None)]
    spread = [np.linalg.norm(np.subtract(one.camera.position, one.camera.target)) for one in wide]
    assert 10 * spread[0] < spread[1]
    with pytest.raises(wt.StateError, match="follow= names bodies and frames"):
        run.animate(opened=False, follow="nobody")


def test_pictures_without_a_browser_follow_too(tmp_path: Path) -> None:
    run = falling()
    run.animate(tmp_path / "a.gif", follow="stone", frames=5)
    with Image.open(io.BytesIO((tmp_path / "a.gif").read_bytes())) as image:
        image.seek(image.n_frames - 1)
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert np.ptp(pixels[200, 300]) > 30  # the stone is still in the middle
