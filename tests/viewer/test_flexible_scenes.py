"""Flexible bodies in scenes: skins deform as the bodies do, in pictures, in glTF files and in modes."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.bodies import FlexibleBody, Interface, LumpedNodes, Stations
from whippletree.kinematics import station_poses
from whippletree.viewer.glb_file import glb
from whippletree.viewer.picture_files import frame_mesh
from whippletree.viewer.scene import Skin
from whippletree.viewer.scenes import mode_scene, still_scene
from whippletree.viewer.skins import mode_sizes, skin_of


@pytest.fixture(scope="module")
def cantilever() -> wt.System:
    """A flat beam in three parts, clamped, with a frame of springs on its end that has nodes only."""
    m = wt.Mechanism("cantilever")
    strip = wt.rectangle(width=0.04, height=0.005)
    m.fixed("clamp", m.ground, m.body("strip", wt.beam(length=1.0, section=strip, material=wt.steel, substructures=3)))
    return m.build()


def bent(s: wt.System) -> np.ndarray:
    q = s.q0.copy()
    for part in ("strip.1", "strip.2", "strip.3"):
        own = s.q_slice(part)
        q[own] = 0.03 * s.description.body(part).kind.amplitudes(1.0, 1.0)
    return q


def test_a_skin_is_where_its_stations_are(cantilever: wt.System) -> None:
    q = bent(cantilever)
    scene = still_scene(cantilever, q)
    assert [one.place for one in scene.skins] == [0, 1, 2]
    assert len({one.color for one in scene.skins}) == 1
    assert [one.name for one in scene.joints] == ["clamp"]  # the welds within the beam are not seen
    for part, skin, amplitudes in zip(scene.places, scene.skins, scene.skin_amplitudes(scene.track), strict=False):
        poses = station_poses(cantilever, q, part)
        points = skin.at(amplitudes[0]) @ scene.track.pose(0, skin.place)[:3, :3].T
        points += scene.track.pose(0, skin.place)[:3, 3]
        rings = points[: 8 * len(poses)].reshape(len(poses), 8, 3)  # four sides with two corners each
        assert np.abs(rings.mean(axis=1) - poses[:, :3, 3]).max() < 3e-5  # to second order
        width = np.linalg.norm(np.ptp(rings, axis=1), axis=1)
        assert np.abs(width - np.hypot(0.04, max(0.005, scene.unit))).max() < 2e-3


def test_pictures_show_the_deformed_body(cantilever: wt.System) -> None:
    straight, down = (frame_mesh(still_scene(cantilever, q), 0)[0] for q in (cantilever.q0, bent(cantilever)))
    tip = cantilever.pose(bent(cantilever), "strip.tip")[:3, 3]
    assert np.linalg.norm(tip - [1, 0, 0]) > 0.05
    assert np.linalg.norm(down.points - tip, axis=1).min() < 0.03 < np.linalg.norm(straight.points - tip, axis=1).min()
    assert np.abs(np.linalg.norm(down.normals, axis=1) - 1).max() < 1e-9


def test_gltf_has_a_morph_target_for_each_shape(cantilever: wt.System) -> None:
    q = np.stack([cantilever.q0, bent(cantilever)])
    scene = still_scene(cantilever, q)
    data = glb(scene)
    (length,) = struct.unpack("<I", data[12:16])
    head = json.loads(data[20 : 20 + length])
    nodes = {node["name"]: k for k, node in enumerate(head["nodes"])}
    skin = nodes["strip.2 skin"]
    assert skin in head["nodes"][nodes["strip.2"]]["children"]
    mesh = head["meshes"][head["nodes"][skin]["mesh"]]
    n = len(scene.skins[1].shapes)
    assert n > cantilever.q_slice("strip.2").stop - cantilever.q_slice("strip.2").start  # of second order too
    assert len(mesh["primitives"][0]["targets"]) == len(mesh["weights"]) == n
    animation = head["animations"][0]
    (channel,) = (one for one in animation["channels"] if one["target"] == {"node": skin, "path": "weights"})
    accessor = head["accessors"][animation["samplers"][channel["sampler"]]["output"]]
    view = head["bufferViews"][accessor["bufferView"]]
    start = 20 + length + 8 + view["byteOffset"]
    weights = np.frombuffer(data[start : start + view["byteLength"]], dtype="<f4").reshape(2, n)
    assert np.allclose(weights, scene.skin_amplitudes(scene.track)[1], rtol=1e-6, atol=1e-9)


def with_stations(tip_moves: float = 1.0, **drawn: object) -> FlexibleBody:
    up = np.array([[0.0], [0.0], [1.0]])
    return FlexibleBody.from_arrays(
        stiffness=[[100.0]],
        inertia=LumpedNodes([1.0], np.zeros((1, 3, 3)), [[1.0, 0, 0]], [up], [0 * up]),
        interfaces={"tip": Interface((1.0, 0, 0), translation=tip_moves * up)},
        stations=Stations(**drawn),  # type: ignore[arg-type]
        size=1.0,
    )


def test_surfaces_have_edges_and_clouds_have_all_their_nodes() -> None:
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
    faces += [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    move = np.zeros((8, 3, 1))
    move[corners[:, 0] == 1, 2] = 2.0
    drawn = {"positions": corners, "translation": move, "rotation": 0 * move}
    block = with_stations(**drawn, triangles=faces)
    skin = skin_of(block, 0, 0.01, 0)
    assert isinstance(skin, Skin)
    assert len(skin.points) == 24  # each corner three times
    a, b, c = (skin.points[skin.triangles[:, k]] - 0.5 for k in range(3))
    assert (np.einsum("ti,ti->t", a, np.cross(b, c)) > 0).all()
    moved = skin.at(mode_sizes(block) * 0.1)
    assert np.allclose(moved - skin.points, 0.2 * (skin.points[:, :1] == 1) * [0, 0, 1])
    cloud = skin_of(with_stations(**drawn), 0, 0.01, 0)
    assert cloud is not None
    assert np.allclose(cloud.points.reshape(8, 6, 3).mean(axis=1), corners)


def test_a_mode_that_moves_no_interface_is_seen() -> None:
    middle = np.array([[[0.0], [0.0], [0.0]], [[0.0], [0.0], [1.0]], [[0.0], [0.0], [0.0]]])
    drawn = {"positions": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "translation": middle, "rotation": 0 * middle}
    m = wt.Mechanism("bridge", gravity=(0, 0, 0))
    m.fixed("left", m.ground, m.body("deck", with_stations(tip_moves=0.0, **drawn)))
    s = m.build()
    scene = mode_scene(s, s.q0, s.linearize(s.q0).modes()[0])
    shape = scene.skins[0].at(scene.skin_amplitudes(scene.track)[0])
    assert 0.05 < np.abs(shape - scene.skins[0].points).max() < 0.5
