"""Shapes that collide as contacts: how deep they sink in, by closed forms and beside MuJoCo, and which of them meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq

import whippletree as wt
from whippletree.cli import main
from whippletree.elements.forces import BoxContact, CapsuleContact, Contact
from whippletree.files.contact_points import spread_corners

MODELS = Path(__file__).parent / "models"
G = 9.81
SHARE = 1e-3
"""How deep a contact sinks in under the whole weight, of the largest dimension."""


def sunk(points: int) -> float:
    """The share of the depth, which a single contact reaches, to which each of several sinks in: their ramps add up."""
    return float(brentq(lambda s: s**3 - s**4 / 2 - 0.5 / points, 0.0, 1.0, xtol=1e-14))


def settled(model: wt.Model, duration: float, **start: Any) -> wt.Trajectory:
    system = model.build()
    q, v = model.initial(system)
    return system.simulate(duration, q=q, v=v, every=duration / 20, **start)


def upward(run: wt.Trajectory, name: str) -> float:
    """The vertical force of a contact on the body that it is on, at the end."""
    return float(run.forces()[name].wrenches[-1, 0, 5])


def names_of(model: wt.Model) -> list[str]:
    return [use.name for use in model.mechanism.describe().forces]


RESTING = {"ball": (0.35, 0.2, 1), "rod": (0.304, 0.5, 2), "crate": (0.35, 0.4, 4), "can": (0.45, 0.4, 12)}
"""Height above which nothing sinks in, the largest dimension, and the number of points that carry."""


def test_each_shape_rests_on_a_plane_as_deep_as_its_weight_takes() -> None:
    model = wt.read(MODELS / "touching.xml", contacts=True)
    run = settled(model, 2.0, method="dop853")
    assert run.certificate.ok
    mj = mujoco.MjModel.from_xml_path(str(MODELS / "touching.xml"))
    data = mujoco.MjData(mj)
    mujoco.mj_step(mj, data, nstep=2000)
    for name, (height, length, points) in RESTING.items():
        found = run.position(name)[-1, 2]
        assert height - found == pytest.approx(sunk(points) * SHARE * length, abs=1e-9)
        assert upward(run, f"{name} on floor") == pytest.approx(mj.body(name).mass[0] * G, rel=1e-6)
        theirs = data.body(name).xpos[2]
        assert abs(found - theirs) < SHARE * length + abs(height - theirs)
    assert upward(run, "roof on floor") == pytest.approx(4 * G, rel=1e-6)
    roof, theirs = run.position("roof")[-1, 2], data.body("roof").xpos[2]
    assert roof == pytest.approx(theirs, abs=1e-3)
    assert np.abs(run.v[-1]).max() < 1e-6


def test_meshes_touch_by_the_corners_of_their_hull() -> None:
    model = wt.read(MODELS / "touching.xml", contacts=True)
    contact = next(use.force for use in model.mechanism.describe().forces if use.name == "roof on floor")
    assert isinstance(contact, Contact)
    corners = np.reshape([float(x) for x in contact.points], (-1, 3))
    assert len(corners) == 5  # the sixth is inside
    assert np.ptp(corners, axis=0) == pytest.approx([0.4, 0.2, 0.3])


PILED = {"marble": (0.152, 0.1, "table"), "log": (0.13, 0.26, "table"), "bar": (0.26, 0.64, "rail"),
         "bead": (0.3, 0.2, "ground ball")}  # fmt: skip
"""Height at which they touch, the largest dimension, and what carries them."""

MASSES = {"marble": 1.0, "log": 2.0, "bar": 3.0, "bead": 0.5}


def test_bodies_rest_on_shapes_of_the_ground() -> None:
    model = wt.read(MODELS / "piles.xml", contacts=True)
    run = settled(model, 1.0, method="dop853")
    for name, (height, length, below) in PILED.items():
        assert height - run.position(name)[-1, 2] == pytest.approx(SHARE * length, abs=1e-8)
        assert upward(run, f"{name} against {below}") == pytest.approx(MASSES[name] * G, rel=1e-6)
    assert "contact of bodies between box and box, which has no element (1 pairs)" in model.report.about(
        "not understood"
    )


# ---------------------------------------------------------------------- who meets whom


def crowd(seed: int) -> str:
    """Spheres in one place on bodies of a random tree, with bits, priorities, exceptions and pairs of all kinds."""
    rng = np.random.default_rng(seed)
    names: list[str] = []

    def geom() -> str:
        names.append(f"g{len(names)}")
        x, y, z = rng.uniform(-0.01, 0.01, 3)
        return (
            f'<geom name="{names[-1]}" size="{rng.uniform(0.1, 0.2):.3f}" pos="{x:.4f} {y:.4f} {z:.4f}" '
            f'contype="{rng.integers(0, 4)}" conaffinity="{rng.integers(0, 4)}" condim="{rng.choice([1, 3, 3])}" '
            f'friction="{rng.uniform(0.1, 2):.3f}" priority="{rng.choice([0, 0, 0, 1])}" '
            f'margin="{rng.choice([0, 0.01, 0.02])}"/>'
        )

    def body(level: int) -> str:
        k = next(counter)
        joints = "".join(f'<joint axis="{axis}"/>' for axis in ("1 0 0", "0 1 0")[: rng.integers(0, 3)])
        inside = "".join(body(level + 1) for _ in range(rng.integers(0, 3))) if level < 3 else ""
        inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        return f'<body name="b{k}">{inertial}{joints}{geom() + geom() if k % 2 else geom()}{inside}</body>'

    counter = iter(range(1000))
    world = geom() + "".join(body(0) for _ in range(3))
    bodies = [f"b{k}" for k in range(next(counter))]
    couples = [rng.choice(bodies, 2, replace=False) for _ in range(2)]
    extra = "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in couples)
    chosen = {frozenset(map(str, rng.choice(names[1:], 2, replace=False))) for _ in range(3)}
    extra += "".join(
        f'<pair geom1="{a}" geom2="{b}" condim="{rng.choice([1, 3])}" friction="{0.05 * (k + 1)} 0.3 0 0 0"/>'
        for k, (a, b) in enumerate(map(sorted, chosen))
    )
    flag = "" if seed % 3 else '<option><flag filterparent="disable"/></option>'
    return f"<mujoco>{flag}\n<worldbody>{world}</worldbody><contact>{extra}</contact></mujoco>"


def met_in_mujoco(text: str) -> dict[frozenset[str], tuple[float, float]]:
    """The geoms that touch and can move against each other, with friction and the distance from which on they do."""
    mj = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    found = {}
    for contact in data.contact:
        ends = [mj.geom(int(g)) for g in contact.geom]
        if len({int(mj.body_weldid[int(end.bodyid[0])]) for end in ends}) == 1:
            continue  # a pair that the file names
        reach = sum(float(end.size[0]) for end in ends) + float(contact.includemargin)
        friction = float(contact.friction[0]) if contact.dim > 1 else 0.0
        found[frozenset(end.name for end in ends)] = (friction, reach)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_same_shapes_meet_as_in_mujoco(seed: int) -> None:
    text = crowd(seed)
    found = {}
    for use in wt.read(text, contacts=True).mechanism.describe().forces:
        assert isinstance(use.force, CapsuleContact)
        reach = float(use.force.radius) + float(use.force.radius_child)
        found[frozenset(use.name.split(" against "))] = (float(use.force.friction), reach)
    expected = met_in_mujoco(text)
    assert found.keys() == expected.keys()
    for ends, numbers in expected.items():
        assert found[ends] == pytest.approx(numbers), sorted(ends)


def test_friction_of_a_plane_on_request_is_that_of_the_other() -> None:
    text = '<mujoco>\n<worldbody><body><freejoint/><geom size="1" friction="0.3"/></body></worldbody></mujoco>'
    (use,) = wt.read(text, contacts="ground").mechanism.describe().forces
    assert isinstance(use.force, Contact)
    assert float(use.force.friction) == 0.3
    assert names_of(wt.read(text, contacts=True)) == []


# ---------------------------------------------------------------------- other formats


def test_a_robot_of_urdf_slides_over_the_ground_on_request() -> None:
    model = wt.read(MODELS / "stool.urdf", base="free", contacts="ground")
    assert names_of(model)[2:] == ["front on ground", "back on ground", "front 2 on ground", "back 2 on ground"]
    guessed = " ".join(model.report.about("guessed"))
    assert "pass through each other" in guessed
    assert "the robot starts 0.23 m higher" in guessed
    assert model.start["guess"] == {"seat to ground": (1, 0, 0, 0, 0, 0, pytest.approx(0.23))}
    system = model.build()
    height = 0.23 - sunk(4) * SHARE * 0.4
    q = system.assemble({"seat to ground": (1, 0, 0, 0, 0, 0, height)})
    v = np.zeros(system.nv)
    v[3] = 1.0
    run = system.simulate(0.1, q=q, v=v, method="dop853")
    feet = [name for name in names_of(model) if name.startswith(("front", "back"))]
    assert sum(upward(run, name) for name in feet) == pytest.approx(7 * G, rel=1e-2)
    assert run.velocity("seat")[-1, 3] == pytest.approx(1 - 0.3 * G * 0.1, abs=1e-3)


def test_links_of_a_urdf_meet_if_it_says_so() -> None:
    text = (MODELS / "stool.urdf").read_text(encoding="utf-8")
    free = text.replace('type="fixed"', 'type="continuous"')
    assert [name for name in names_of(wt.read(free, contacts=True)) if "against" in name] == []
    touching = free.replace("</robot>", "<gazebo><self_collide>true</self_collide></gazebo></robot>")
    found = [name for name in names_of(wt.read(touching, contacts=True)) if "against" in name]
    ends = ("front", "back")
    assert found == [f"{one} against {other} 2" for one in ends for other in ends]


def test_a_sledge_of_sdf_slides_down_a_plane() -> None:
    model = wt.read(MODELS / "slope.sdf", contacts=True)
    assert names_of(model) == ["runner on grass", "shell against runner", "knob on grass", "knob against shell",
                               "shell on grass"]  # fmt: skip
    forces = {use.name: use.force for use in model.mechanism.describe().forces}
    runner, knob = forces["runner on grass"], forces["knob on grass"]
    assert isinstance(runner, Contact)
    assert isinstance(knob, Contact)
    assert [float(x) for x in (runner.stiffness, runner.damping, runner.friction)] == pytest.approx([5e4, 300, 0.2])
    assert str(knob.stiffness) == "contact stiffness of sledge::body"
    assert float(knob.friction) == 0.5
    assert isinstance(forces["shell against runner"], BoxContact)
    assert any("1e+12 N/m" in text for text in model.report.about("changed"))
    run = settled(model, 0.5, method="dop853")
    slope = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    way = (run.position("sledge::body")[-1] - run.position("sledge::body")[0]) @ slope
    speed = run.velocity("sledge::body")[-1, 3:] @ slope
    assert speed == pytest.approx(G * (np.sin(0.3) - 0.2 * np.cos(0.3)) * 0.5, rel=1e-3)
    assert way == pytest.approx(speed * 0.25, rel=1e-2)


def test_a_cup_of_usd_stands_on_its_sphere() -> None:
    model = wt.read(MODELS / "cup.usda", contacts=True)
    assert names_of(model) == ["bowl on floor", "lid on floor"]
    forces = [use.force for use in model.mechanism.describe().forces]
    assert all(isinstance(force, Contact) and float(force.friction) == pytest.approx(0.7) for force in forces)
    run = settled(model, 0.5, method="dop853")
    assert run.position("cup")[-1, 2] == pytest.approx(0.15 - SHARE * 0.2, abs=1e-9)
    assert upward(run, "bowl on floor") == pytest.approx(2 * G, rel=1e-6)


# ---------------------------------------------------------------------- meshes, limits, words


def test_a_hull_with_many_corners_is_thinned_out_evenly() -> None:
    rng = np.random.default_rng(3)
    ball = rng.normal(size=(500, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    found = spread_corners(np.concatenate([ball, ball / 2]), 24)
    ways = rng.normal(size=(4000, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    lost = (ways @ ball.T).max(axis=1) - (ways @ found.points.T).max(axis=1)
    assert found.points.shape == (24, 3)
    assert lost.max() == pytest.approx(found.missing, rel=0.2)
    assert found.missing < 0.25


def test_a_mesh_of_urdf_touches_the_ground(tmp_path: Path) -> None:
    (tmp_path / "wedge.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    mesh = '<mesh filename="package://robots/wedge.obj" scale="0.1 0.2 0.3"/>'
    (tmp_path / "wedge.urdf").write_text(
        f'<robot name="w"><link name="a"><inertial><mass value="1"/>{inertia}</inertial>'
        f"<collision><geometry>{mesh}</geometry></collision></link></robot>"
    )
    (use,) = wt.read(tmp_path / "wedge.urdf", base="free", contacts="ground").mechanism.describe().forces
    corners = sorted(np.reshape([float(x) for x in use.force.points], (-1, 3)).tolist())  # type: ignore[attr-defined]
    assert corners == [[0, 0, 0], [0, 0, 0.3], [0, 0.2, 0], [0.1, 0, 0]]


def test_what_starts_deep_in_the_ground_is_in_the_report() -> None:
    deep = (MODELS / "touching.xml").read_text(encoding="utf-8").replace('pos="0 0 0.36"', 'pos="0 0 0.3"')
    texts = wt.read(deep, contacts=True).report.about("changed")
    assert 'at the start "ball" is 0.05 m deep in "floor", from where it is pushed out' in texts
    assert not any("deep" in text for text in wt.read(MODELS / "touching.xml", contacts=True).report.about("changed"))


def test_a_mesh_that_is_missing_is_in_the_report() -> None:
    report = wt.read(MODELS / "stool.urdf", base="free", contacts="ground").report
    assert any("lost.stl is missing" in text for text in report.about("not understood"))


def test_without_contacts_the_report_says_so() -> None:
    texts = wt.read(MODELS / "stool.urdf").report.about("not understood")
    assert any("contacts=True makes contacts" in text for text in texts)


def test_more_contacts_than_allowed_are_refused_with_their_number() -> None:
    with pytest.raises(wt.FileError, match=r"40 points .* 0 pairs .* most_contacts=39: ask for most_contacts=40"):
        wt.read(MODELS / "touching.xml", contacts=True, most_contacts=39)
    assert len(names_of(wt.read(MODELS / "touching.xml", contacts=True, most_contacts=40))) == 5


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"contacts": "floor"}, "contacts must be True, False or \"ground\", got 'floor'"),
        ({"contacts": 1}, 'contacts must be True, False or "ground", got 1'),
        ({"most_contacts": 0}, "most_contacts must be a whole number above zero, got 0"),
        ({"most_contacts": True}, "most_contacts must be a whole number above zero, got True"),
    ],
)
def test_choices_that_are_none(choice: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.FileError, match=f"^{words}$"):
        wt.read(MODELS / "touching.xml", **choice)


def test_contacts_are_kept_in_a_file_of_ours(tmp_path: Path) -> None:
    model = wt.read(MODELS / "piles.xml", contacts=True)
    wt.write(model, tmp_path / "piles.yaml")
    again = wt.read(tmp_path / "piles.yaml").mechanism.describe()
    assert again.fingerprint() == model.mechanism.describe().fingerprint()


def test_contacts_by_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(MODELS / "stool.urdf"), "--base", "free", "--ground"]) == 0
    assert 'parameters "contact stiffness" and "contact damping"' in capsys.readouterr().err
    assert main(["check", str(MODELS / "cup.usda"), "--contacts"]) == 0
    assert "contacts have the stiffness" in capsys.readouterr().err
