"""Scenes: what is drawn of bodies and joints, how it moves, and from where it is seen."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.model.io import read_text, write_text
from whippletree.system.example_systems import four_bar, quarter_car
from whippletree.viewer.body_solids import body_solids
from whippletree.viewer.framing import camera_choices, seen_points
from whippletree.viewer.mesh_files import MeshSource
from whippletree.viewer.rasterizer import View2D
from whippletree.viewer.scene import GROUND_PLACE, Solid
from whippletree.viewer.scene_data import pack, unpack
from whippletree.viewer.scenes import mode_scene, run_scene, still_scene
from whippletree.viewer.tracks import quaternions


def ends(solid: Solid) -> list[list[float]]:
    """Where a bar begins and ends, on its place."""
    reach = solid.pose[:3, 2] * solid.size[1] / 2
    return sorted(np.round([solid.pose[:3, 3] - reach, solid.pose[:3, 3] + reach], 9).tolist())


# ---------------------------------------------------------------------- shapes that bodies keep


def test_shapes_are_kept_where_they_are_added_and_moved() -> None:
    quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    two = wt.rod(length=2.0, mass=1.0, axis="x") + wt.box((1, 2, 3), mass=1.0).moved(at=(0, 5, 0), rotation=quarter)
    rod, box = two.shapes
    assert (rod.kind, rod.size, rod.placement.point) == ("rod", (2.0,), (1.0, 0.0, 0.0))
    assert np.array(rod.placement.rotation)[:, 2].tolist() == [1.0, 0.0, 0.0]  # z is along the rod
    assert (box.kind, box.size, box.placement.point) == ("box", (1.0, 2.0, 3.0), (0.0, 5.0, 0.0))
    assert np.array(box.placement.rotation).tolist() == quarter


def parametric() -> wt.Mechanism:
    m = wt.Mechanism("parametric")
    length = m.parameter("length", 2.0)
    arm = m.body("arm", wt.rod(length=length, mass=1.0, axis="x") + wt.sphere(0.1, mass=1.0, at=(length, 0, 0)))
    m.revolute("A", m.ground, arm, axis="y")
    return m


def test_shapes_travel_with_pickles_and_files_and_do_not_change_the_fingerprint() -> None:
    m = parametric()
    described = m.describe()
    plain = wt.Mechanism("parametric")
    length = plain.parameter("length", 2.0)
    made = wt.rod(length=length, mass=1.0, axis="x") + wt.sphere(0.1, mass=1.0, at=(length, 0, 0))
    plain.body("arm", wt.MassProperties(made.mass, made.com, made.inertia))
    plain.revolute("A", plain.ground, "arm", axis="y")
    assert described.fingerprint() == plain.describe().fingerprint()
    again = [pickle.loads(pickle.dumps(described)), read_text(write_text(m), "m.yaml").mechanism.describe()]
    for one in (described, *again):
        rod, ball = one.folded().body("arm").properties.shapes
        assert (rod.kind, rod.size, ball.kind, ball.size) == ("rod", (2.0,), "sphere", (0.1,))
        assert rod.placement.point == (1.0, 0.0, 0.0)
        assert ball.placement.point == (2.0, 0.0, 0.0)


def test_a_file_says_what_a_body_looks_like() -> None:
    text = """
name: m
bodies:
  a:
    mass: 2
    inertia: [1, 1, 1]
    shapes: [{cylinder: {radius: 0.5, length: 2}, at: [0, 0, 1]}, {mesh: {file: a.stl, x: 1, y: 1, z: 1}}]
"""
    first, second = read_text(text, "m.yaml").mechanism.describe().body("a").properties.shapes
    assert first.size == (0.5, 2.0)
    assert (second.kind, second.file) == ("mesh", "a.stl")
    with pytest.raises(wt.FileError, match="give one of rod, box"):
        read_text("name: m\nbodies: {a: {shapes: [{at: [0, 0, 1]}]}}", "m.yaml")
    with pytest.raises(wt.FileError, match="length"):
        read_text("name: m\nbodies: {a: {shapes: [{rod: {width: 1}}]}}", "m.yaml")


@pytest.mark.parametrize(
    ("given", "words"),
    [(("ring", ()), "a shape is one of"), (("box", (1.0,)), "its size is"), (("mesh", (1.0, 1.0, 1.0)), "its file")],
)
def test_shapes_that_are_none_are_refused(given: tuple[str, tuple[float, ...]], words: str) -> None:
    with pytest.raises(wt.ModelError, match=words):
        Shape(*given)


# ---------------------------------------------------------------------- what is drawn without shapes


def test_a_body_without_a_shape_is_a_link_between_its_joints() -> None:
    a, b, c, d = np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 0, 2.0]), np.array([0, 3.0, 0])
    nothing = wt.MassProperties(1.0, (0.3, 0.1, 0.0))
    (bar,) = body_solids(0, nothing, [a, b, b], 0.05, MeshSource())
    assert ends(bar) == [[0, 0, 0], [1, 0, 0]]
    triangle = body_solids(0, nothing, [a, b, c], 0.05, MeshSource())
    assert sorted(map(ends, triangle)) == [[[0, 0, 0], [0, 0, 2]], [[0, 0, 0], [1, 0, 0]], [[0, 0, 2], [1, 0, 0]]]
    star = body_solids(0, nothing, [a, b, c, d], 0.05, MeshSource())
    assert len(star) == 4
    assert all([0.25, 0.75, 0.5] in ends(one) for one in star)


def inertia_of(solid: Solid, mass: float) -> np.ndarray:
    """The inertia of a homogeneous box or cylinder in the body's axes."""
    if solid.kind == "box":
        x, y, z = (edge**2 for edge in solid.size)
        own = mass / 12 * np.diag([y + z, x + z, x + y])
    else:
        r, L = (edge**2 for edge in solid.size)
        own = mass / 12 * np.diag([3 * r + L, 3 * r + L, 6 * r])
    return solid.pose[:3, :3] @ own @ solid.pose[:3, :3].T


@pytest.mark.parametrize("moments", [(3.0, 4.0, 5.0), (1.0, 1.0, 1.5), (2.0, 1.2, 1.2), (1.0, 1.6, 1.0)])
def test_a_body_that_is_held_nowhere_is_drawn_with_its_own_inertia(moments: tuple[float, float, float]) -> None:
    turn = Rotation.from_rotvec([0.3, -0.5, 0.2]).as_matrix()
    for inertia in (np.diag(moments), turn @ np.diag(moments) @ turn.T):
        given = wt.MassProperties(6.0, (1, 2, 3), inertia)
        (solid,) = body_solids(0, given, [], 1e-6, MeshSource())
        assert solid.kind == ("box" if len(set(moments)) == 3 else "cylinder")
        assert np.linalg.det(solid.pose[:3, :3]) == pytest.approx(1.0)
        assert inertia_of(solid, 6.0) == pytest.approx(inertia, abs=1e-9)
        assert solid.pose[:3, 3].tolist() == [1, 2, 3]


def test_joints_away_from_a_shape_are_connected_with_it() -> None:
    ball = wt.sphere(0.1, mass=1.0, at=(0, 0, -1))
    sphere, bar = body_solids(0, ball, [np.zeros(3)], 0.02, MeshSource())
    assert sphere.kind == "sphere"
    assert ends(bar) == [[0, 0, -0.9], [0, 0, 0]]
    assert len(body_solids(0, wt.box((1, 1, 1), mass=1.0), [np.array([0.5, 0.2, 0.1])], 0.02, MeshSource())) == 1


def test_meshes_come_from_files_or_it_is_said_why_not(tmp_path) -> None:
    file = tmp_path / "plate.obj"
    file.write_text("v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nf 1 2 3 4\n")
    meshes = MeshSource()
    (plate,) = body_solids(0, wt.MassProperties(shapes=[Shape("mesh", (1, 1, 1), file=str(file))]), [], 0.1, meshes)
    assert plate.surface is not None
    area = np.linalg.norm(np.cross(*(np.diff(plate.surface.corners, axis=1).transpose(1, 0, 2))), axis=1).sum() / 2
    assert area == pytest.approx(2.0)
    broken = tmp_path / "broken.obj"
    broken.write_text("v 0 0 0\nf 1 2 3\n")
    for name, why in (
        ("none.stl", "no such file"),
        ("a.ply", "of meshes, .stl, .obj"),
        (str(broken), "corner that is not there"),
    ):
        assert meshes.surfaces(name) == ()
        assert why in meshes.notes[-1]


# ---------------------------------------------------------------------- motion


def test_poses_of_all_bodies_are_those_of_each() -> None:
    s = four_bar()
    q = s.assemble({"A": [0.5, 0.9, 1.3]})
    for name, poses in s.poses(q).items():
        assert np.array_equal(poses, s.pose(q, name))
    s = parametric().build()
    for parameters in (None, {"length": 3.0}):
        assert np.array_equal(s.poses([0.3], parameters=parameters)["arm"], s.pose([0.3], "arm", parameters=parameters))


def test_poses_of_a_large_mechanism_come_from_a_loop() -> None:
    m = wt.Mechanism("chain")
    at, length = m.ground, m.parameter("length", 0.1)
    for k in range(60):
        link = m.body(f"link {k}", wt.rod(length=0.1, mass=1.0, axis="x"))
        m.revolute(f"hinge {k}", at, link, at=(length if k else 0, 0, 0), axis="y" if k % 2 else (1, 2, 3))
        at = link
    flag = m.body("flag")
    m.fixed("weld", at, flag, at=(0, 0, length))
    m.fixed("post", m.ground, m.body("pole"), at=(0, length, 0))
    s = m.build()
    q = s.random(3)
    found = s.poses(np.stack([q, 2 * q]), parameters={"length": 0.2})
    for name in ("link 0", "link 59", "flag", "pole"):
        assert found[name] == pytest.approx(s.pose(np.stack([q, 2 * q]), name, parameters={"length": 0.2}), abs=1e-13)


def test_quaternions_are_those_of_the_rotations_without_jumps() -> None:
    rng = np.random.default_rng(4)
    turns = [Rotation.from_rotvec(rng.standard_normal(3) * 3) for _ in range(5)]
    spin = np.stack(
        [[(Rotation.from_rotvec([0, t, 0]) * turn).as_matrix() for turn in turns] for t in np.arange(0, 20, 0.1)]
    )
    found = quaternions(spin)
    assert Rotation.from_quat(found.reshape(-1, 4)[:, [1, 2, 3, 0]]).as_matrix() == pytest.approx(
        spin.reshape(-1, 3, 3), abs=1e-12
    )
    assert np.abs(np.diff(found, axis=0)).max() < 0.06


def test_a_run_keeps_what_it_is_about() -> None:
    s = four_bar()
    run = s.simulate(1.0, every=0.001)
    scene = run_scene(run, paths=["coupler"], forces=True, frames=50, plots=["A", "energy"])
    assert len(scene.track) == 50
    assert scene.track.t[[0, -1]].tolist() == [0.0, 1.0]
    rows = np.searchsorted(run.t, scene.track.t)
    assert np.array_equal(run.t[rows], scene.track.t)
    for k, name in enumerate(scene.places):
        assert scene.track.positions[:, k] == pytest.approx(run.position(name)[rows], abs=1e-15)
        assert np.stack([scene.track.pose(i, k) for i in (0, 20)]) == pytest.approx(run.pose(name)[rows[[0, 20]]])
    for arrow in scene.arrows:
        assert np.array_equal(arrow.vectors, run.reactions()[arrow.name].force[rows])
    assert [curve.name for curve in scene.curves] == ["A.angle", "energy.kinetic", "energy.potential", "energy.total"]
    assert np.array_equal(scene.curves[3].values, run.energy().total[rows])
    assert [mark.name for mark in scene.joints if mark.cut] == ["C"]


def test_joints_and_struts_are_where_they_are_described() -> None:
    s = quarter_car()
    scene = still_scene(s, s.q0)
    d = s.description.folded()
    for mark, use in zip(scene.joints, d.joints, strict=True):
        assert (mark.name, mark.kind) == (use.name, use.joint.kind)
        assert np.array_equal(mark.pose, use.on_parent.matrix())
        assert mark.place == (GROUND_PLACE if use.parent == "ground" else scene.places.index(use.parent))
    springs = [strut for strut in scene.struts if strut.kind == "spring"]
    assert {strut.name for strut in springs} == {use.name for use in d.forces if len(use.sides) == 2}


def test_a_mode_moves_with_its_loops_closed() -> None:
    s = four_bar()
    q = s.equilibrium().q
    mode = s.linearize(q).modes()[0]
    scene = mode_scene(s, q, mode)
    assert scene.track.positions[0] == pytest.approx(scene.track.positions[-1], abs=1e-12)
    moved = np.ptp(scene.track.positions, axis=0).max()
    assert 0.02 < moved / scene.extent < 0.3
    # the coupler's far end and the rocker's end are the same point at all times
    ends_at = [
        np.array([scene.track.pose(i, place) @ [x, 0, 0, 1] for i in range(len(scene.track))])
        for place, x in ((scene.places.index("coupler"), 2.0), (scene.places.index("rocker"), 1.5))
    ]
    assert ends_at[0] == pytest.approx(ends_at[1], abs=1e-9)
    with pytest.raises(wt.StateError, match="mode="):
        mode_scene(s, q, "first")


@pytest.mark.parametrize("aspect", [0.6, 1.5, 3.0])
def test_every_camera_sees_everything(aspect: float) -> None:
    rng = np.random.default_rng(1)
    for stretch in ((1, 1, 1), (5, 0.01, 1), (4, 4, 0.1), (0.1, 0.1, 9)):
        points = rng.uniform(-1, 1, (200, 3)) * stretch + rng.uniform(-5, 5, 3)
        for up in (np.array([0, 0, 1.0]), np.array([0, 1.0, 0]), np.array([0.6, 0, 0.8])):
            for camera in camera_choices(points, up, aspect):
                where, _ = View2D.of(camera, round(300 * aspect), 300).project(points)
                assert (where > 0).all()
                assert (where < [300 * aspect + 1, 300]).all()
                assert np.ptp(where / [300 * aspect, 300], axis=0).max() > 0.5  # and it is not far away


def test_a_scene_without_bodies_is_empty() -> None:
    scene = still_scene(wt.Mechanism("nothing").build(), np.zeros(0))
    assert scene.places == ()
    assert seen_points(scene.solids, scene.struts, scene.tracks).tolist() == [[0, 0, 0]]


def test_numbers_over_time_are_packed_without_loss_or_to_a_step() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 40)), np.zeros((2, 1)), np.array([[1e30, -1e-30, 0.0]]), np.zeros((0, 5))]
    again = unpack(pack((one, 0.0, 1) for one in arrays), [(*one.shape, 0.0, 1) for one in arrays])
    for one, found in zip(arrays, again, strict=True):
        assert np.array_equal(one.astype(np.float32), found)
    step = 2.0**-18
    (found,) = unpack(pack([(arrays[0], step, 2)]), [(3, 40, step, 2)])
    assert np.abs(found - arrays[0]).max() <= step / 2 + 1e-7


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s, run: run.animate("x.html", paths=["nowhere"]), "paths= names bodies and frames"),
        (lambda s, run: run.animate("x.html", beside={"b": 3}), "beside= maps labels to runs"),
        (lambda s, run: run.animate("x.html", beside=[run]), "beside= maps labels to runs"),
        (lambda s, run: run.animate("x.html", frames=1), "frames="),
        (lambda s, run: run.animate("x.html", speed=0), "speed="),
        (lambda s, run: run.animate("x.html", title=3), "title="),
        (lambda s, run: run.animate("x.html", plots=["nothing"]), "there is no quantity"),
        (lambda s, run: run.animate("x.avi"), "end it in .html, .glb, .gif, .png"),
        (lambda s, run: run.animate("nowhere/x.html"), "there is no folder"),
        (lambda s, run: s.show([0.1], "x.html"), "q"),
        (lambda s, run: s.show(np.full(4, np.nan), "x.html"), "finite"),
        (lambda s, run: s.show(s.q0, "x.html", parameters={"a": 1.0}), "no parameters"),
    ],
)
def test_what_cannot_be_shown_is_refused(call, words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    s = four_bar()
    run = wt.Trajectory(s, [0.0, 0.1], np.tile(s.q0, (2, 1)), np.zeros((2, 4)))
    with pytest.raises(wt.WhippletreeError, match=words):
        call(s, run)
    assert not [*tmp_path.iterdir()]


def test_runs_beside_others_are_of_the_same_bodies() -> None:
    s = four_bar()
    run = s.simulate(0.2, every=0.1)
    other = s.simulate(0.4, every=0.1, q=s.assemble({"A": 1.3}))
    scene = run_scene(run, beside={"from 1.3 rad": other})
    assert [track.label for track in scene.tracks] == ["", "from 1.3 rad"]
    assert len(scene.tracks[1]) == 5
    with pytest.raises(wt.StateError, match="other bodies"):
        run_scene(run, beside={"car": quarter_car().simulate(0.1)})


def test_a_mechanism_is_shown_where_it_was_built(tmp_path: Path) -> None:
    m = two_bars_to_a_slide()
    pages = []
    for guess in ({"A": 0.7, "B": -1.4}, {"A": -0.7, "B": 1.4}):
        s = m.build(guess=guess)
        pages.append(m.show(tmp_path / "a.html").html())
        assert pages[-1] == s.show(s.q0, tmp_path / "b.html").html()
    assert pages[0] != pages[1]


def two_bars_to_a_slide() -> wt.Mechanism:
    """A slider-crank with equal rods, which closes above and below its line."""
    m = wt.Mechanism("slider-crank")
    rods = [m.body(name, wt.rod(length=1.0, mass=1.0, axis="x")) for name in ("crank", "rod")]
    m.revolute("A", m.ground, rods[0], axis="z")
    m.revolute("B", rods[0], rods[1], at=(1, 0, 0), axis="z")
    m.revolute("C", rods[1], m.body("piston", mass=1.0), at=(1, 0, 0), axis="z")
    m.prismatic("D", m.ground, "piston", axis="x")
    return m
