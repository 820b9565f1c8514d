"""SDF, Adams, USD and xacro: files written for these tests, beside the same mechanisms by calls and by closed forms."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt

MODELS = Path(__file__).parent / "models"


def by_calls() -> wt.Mechanism:
    """The linkage of linkage.sdf, with joint frames placed by hand where the file's poses put them."""
    m = wt.Mechanism("linkage")

    def turned(angle: float) -> list[list[float]]:
        c, s = math.cos(angle), math.sin(angle)
        return [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]

    crank = m.body("crank", mass=0.5, com=(0.1, 0, 0), inertia=(1e-4, 2e-3, 2e-3))
    coupler = m.body("coupler", mass=1.0, com=(0.25, 0, 0), inertia=(1e-4, 2e-2, 2e-2))
    rocker = m.body("rocker", mass=0.8, com=(0.2, 0, 0), inertia=(1e-4, 1e-2, 1e-2))
    gear = m.body("gear", mass=0.2, inertia=(1e-4, 2e-4, 1e-4))
    over = np.array([[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]])  # z along y, as axis="y" has it

    def pose(at: np.ndarray, angle: float) -> np.ndarray:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.array(turned(angle)) @ over, at
        return T

    A = np.array([0.0, 0.0, 1.0])
    B = A + np.array(turned(-1.2)) @ [0.2, 0, 0]
    C = B + np.array(turned(-0.2)) @ [0.5, 0, 0]
    D = C + np.array(turned(1.3)) @ [0.4, 0, 0]
    m.revolute("A", m.ground, crank, pose=pose(A, -1.2), pose_child=pose(np.zeros(3), 0.0))
    m.revolute("B", crank, coupler, pose=pose([0.2, 0, 0], 1.0), pose_child=pose(np.zeros(3), 0.0))
    m.revolute("C", coupler, rocker, pose=pose([0.5, 0, 0], 1.5), pose_child=pose(np.zeros(3), 0.0))
    m.revolute("D", m.ground, rocker, pose=pose(D, 1.3), pose_child=pose([0.4, 0, 0], 0.0))
    m.revolute("G", m.ground, gear, pose=pose(A - np.array([0.3, 0, 0]), 0.0), pose_child=pose(np.zeros(3), 0.0))
    m.gear("mesh", "A", "G", ratio=-2.0)
    m.torsion_spring("spring", "A", stiffness=0.5, rest=0.1, damping=0.01)
    return m


def test_a_linkage_of_sdf() -> None:
    s, other = wt.read(MODELS / "linkage.sdf").build(), by_calls().build()
    assert s.mobility.mobility == 1
    np.testing.assert_allclose(s.q0, 0.0, atol=1e-12)  # every loop is closed where the file draws it
    v = s.consistent_velocities(s.q0, {"A": 1.3}, hold=["A"])
    w = other.consistent_velocities(other.q0, {"A": 1.3}, hold=["A"])
    for name in "ABCDG":
        assert v[s.v_slice(name)] == pytest.approx(w[other.v_slice(name)], abs=1e-10)
        one = s.forward_dynamics(s.q0, v)[s.v_slice(name)]
        assert one == pytest.approx(other.forward_dynamics(other.q0, w)[other.v_slice(name)], rel=1e-9)


def test_sdf_frames_includes_and_nested_models(tmp_path: Path) -> None:
    arm = """<sdf version="1.9"><model name="arm">
    <link name="upper"><inertial><mass>2</mass></inertial></link>
    <link name="lower"><pose relative_to="upper">0 0 -1 0 0 0</pose></link>
    <joint name="elbow" type="ball"><parent>upper</parent><child>lower</child></joint></model></sdf>"""
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "model.sdf").write_text(arm, encoding="utf-8")
    whole = """<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity>
    <model name="robot"><pose>0 0 2 0 0 0</pose>
    <link name="base"/><static>false</static>
    <include><uri>model://arm</uri><name>left</name>
    <pose relative_to="base">1 0 0 0 0 1.5707963267948966</pose></include>
    <joint name="shoulder" type="universal"><parent>base</parent><child>left::upper</child>
    <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
    <joint name="foot" type="fixed"><parent>world</parent><child>base</child></joint>
    </model></world></sdf>"""
    path = tmp_path / "robot.sdf"
    path.write_text(whole, encoding="utf-8")
    s = wt.read(path).build()
    assert s.nv == 5
    np.testing.assert_allclose(s.pose(s.q0, "left::lower")[:3, 3], [1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(s.pose(s.q0, "left::upper")[:3, 0], [0, 1, 0], atol=1e-12)
    path.write_text(whole.replace("model://arm", "../arm"), encoding="utf-8")
    with pytest.raises(wt.FileError, match=r"robot\.sdf:4: "):
        wt.read(path)


def test_sdf_screws_mimics_and_links_without_weight() -> None:
    text = """<sdf version="1.11"><model name="m">
    <link name="nut"><inertial><mass>2</mass></inertial><gravity>false</gravity></link>
    <link name="bar"><inertial><mass>1</mass></inertial></link>
    <joint name="screw" type="screw"><parent>world</parent><child>nut</child>
    <screw_thread_pitch>0.01</screw_thread_pitch>
    <axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="slide" type="prismatic"><parent>world</parent><child>bar</child><axis><xyz>0 0 1</xyz>
    <mimic joint="screw">
    <multiplier>0.5</multiplier><offset>0.1</offset><reference>0.2</reference></mimic></axis></joint>
    </model></sdf>"""
    s = wt.read(text).build(guess={"screw": 0.6}, hold=["screw"])
    assert s.q0[s.q_slice("slide")] == pytest.approx([0.5 * (0.6 - 0.2) + 0.1], abs=1e-12)
    # energy of both: the nut's weight is held, the bar's is not; (J + m l^2 + r^2) a = -r g, with r = 0.5 m/rad
    lead = 0.01 / (2 * math.pi)
    a = s.forward_dynamics(s.q0, s.v0)[s.v_slice("screw")]
    assert a == pytest.approx([-0.5 * 9.81 / (1.0 + 2 * lead**2 + 0.25)], rel=1e-10)


OLD = """<sdf version="{}"><model name="m"><pose>0 0 0 0.5 0 0</pose>
<link name="arm"><pose>0 0 1 0 1.2 0</pose></link>
<joint name="hinge" type="revolute"><parent>world</parent><child>arm</child><axis><xyz>1 0 0</xyz>{}</axis></joint>
</model></sdf>"""


@pytest.mark.parametrize(
    ("version", "said", "of_model"),
    [("1.4", "", True), ("1.5", "", False), ("1.6", "true", True), ("1.4", "0", False), ("1.12", "", False)],
)
def test_axes_of_sdf_before_1_5_are_those_of_the_model(version: str, said: str, of_model: bool) -> None:
    flag = f"<use_parent_model_frame>{said}</use_parent_model_frame>" if said else ""
    s = wt.read(OLD.format(version, flag)).build()
    turn = s.velocity(s.q0, np.ones(1), "arm")[:3]
    R = s.pose(s.q0, "arm")[:3, :3]
    np.testing.assert_allclose(turn, [1, 0, 0] if of_model else R[:, 0], atol=1e-12)


def test_names_of_sdf_before_1_7_may_be_given_twice_and_to_the_world() -> None:
    text = """<sdf version="1.6"><world name="w"><model name="m">
    <link name="world"><inertial><mass>3</mass></inertial></link>
    <link name="arm"><pose>1 0 0 0 0 0</pose></link>
    <joint name="arm" type="prismatic"><parent>world</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis></joint>
    </model>
    <model name="m"><static>1</static><link name="arm"/></model></world></sdf>"""
    model = wt.read(text)
    s = model.build()
    assert s.nv == 7  # the link that is called so is no part of the ground
    assert model.mechanism.describe().body("m::world link").properties.mass == 3
    assert {joint.name for joint in model.mechanism.describe().joints} >= {"m::arm joint", "m model::arm to ground"}
    assert 'changed: joint "arm" is called "arm joint" (line 4)' in str(model.report)
    with pytest.raises(wt.FileError, match='<text>:2: the name "world" is taken or reserved'):
        wt.read(text.replace("1.6", "1.7"))


def test_a_world_may_include_a_sun_and_a_floor_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "world.sdf"
    text = """<sdf version="1.6"><world name="w"><include><uri>model://sun</uri></include>
    <include><uri>model://ground_plane</uri></include>
    <model name="m"><link name="ball"/></model></world></sdf>"""
    path.write_text(text, encoding="utf-8")
    model = wt.read(path)
    assert model.build().nv == 6
    assert "not understood: model://ground_plane, which is there to be looked at (line 2)" in str(model.report)
    path.write_text(text.replace("//sun", "//robot"), encoding="utf-8")
    with pytest.raises(wt.FileError, match=r"world\.sdf:1: 'model://robot' is not found"):
        wt.read(path)


def test_blank_lines_may_stand_before_the_declaration_of_an_xml_file() -> None:
    text = '\n\n<?xml version="1.0"?>\n<robot name="r"><link name="a"/>\n<odd/></robot>'
    assert "not understood: <odd> (line 5)" in str(wt.read(text).report)
    with pytest.raises(wt.FileError, match="<text>:5: this is no well-formed XML"):
        wt.read(text.replace("<odd/>", "<odd>"))


def test_an_adams_data_set() -> None:
    """A pendulum on a slide with springs, in millimetres, against its equations of motion written down."""
    model = wt.read(MODELS / "pendulum.adm")
    s = model.build()
    hinge, slide = s.v_slice("joint 2").start, s.v_slice("joint 1").start
    v = np.array(s.v0)
    v[slide], v[hinge] = 0.7, -1.1
    a = s.forward_dynamics(s.q0, v)
    # x to the right; the pendulum's arm (0.3, -0.4) m in x and z, turning about y; its angle grows as z turns towards x
    M, m, J = 2.0, 1.0, 0.02
    x, z, w, u = 0.3, -0.4, v[hinge], v[slide]
    turn = wt.read(MODELS / "pendulum.adm").mechanism.describe().joint("joint 2").on_parent.rotation[1][2]
    w = w * turn  # about +y
    spring = -0.2e3 * (0.5 - 0.45) - 0.002e3 * u
    moment = turn * (-0.5 * (s.q0[s.q_slice("joint 2")][0] - math.radians(10)) - 0.02 * v[hinge])
    matrix = np.array([[M + m, m * z], [m * z, J + m * (x * x + z * z)]])
    forces = np.array([spring + m * w * w * x, m * 9.80665 * x + moment])
    # velocity of the mass: (u + w z, -w x); acceleration: (u' + w' z - w^2 x, -w' x - w^2 z)
    found = np.linalg.solve(matrix, forces)
    assert a[slide] == pytest.approx(found[0], rel=1e-9)
    assert turn * a[hinge] == pytest.approx(found[1], rel=1e-9)


def test_an_adams_function_that_is_not_understood_is_told_with_its_line() -> None:
    text = (MODELS / "pendulum.adm").read_text(encoding="utf-8")
    with pytest.raises(wt.FileError, match=r":37: SFORCE/1: BISTOP in a function is not understood"):
        wt.read(text.replace("VR(0201", "BISTOP(0201")).build()
    with pytest.raises(wt.FileError, match="BEAM/1: BEAM is not read"):
        wt.read(text.replace("ACCGRAV/", "BEAM/1, I = 1\nACCGRAV/"))


def test_usd_with_units_degrees_and_drives() -> None:
    if importlib.util.find_spec("pxr") is None:
        with pytest.raises(wt.FileError, match=r"pip install .whippletree\[usd\]"):
            wt.read(MODELS / "boxes.usda")
        return
    model = wt.read(MODELS / "boxes.usda")
    d = model.mechanism.describe()
    assert d.gravity == pytest.approx((0, 0, -9.81), rel=1e-6)
    assert d.body("lower").properties.com == pytest.approx((0.01, 0, 0), rel=1e-6)
    assert d.body("lower").properties.inertia[2][2] == pytest.approx(0.04, rel=1e-6)
    assert model.ranges["knee"].upper == pytest.approx(math.pi / 2, rel=1e-6)
    (drive,) = (use.force for use in d.forces)
    assert drive.stiffness == pytest.approx(1000 * 1e-4 * 180 / math.pi, rel=1e-6)
    assert drive.rest == pytest.approx(math.pi / 6, rel=1e-6)
    s = model.build()
    np.testing.assert_allclose(s.pose(s.q0, "upper")[:3, 3], [0, 0, 0.5], atol=1e-7)


def test_a_substitution_of_xacro_in_a_number_is_told_and_in_the_name_of_a_mesh_is_none() -> None:
    """Files that xacro has to finish need not say so at their top."""
    mesh = '<visual><geometry><mesh filename="$(find robot)/base.stl"/></geometry></visual>'
    arm = '<joint name="A" type="fixed"><parent link="base"/><child link="arm"/><origin xyz="{}"/></joint>'
    text = f'<robot name="r">\n<link name="base">{mesh}</link><link name="arm"/>{arm}</robot>'
    assert wt.read(text.format("0 0 1")).mechanism.describe().joint("A").on_parent.point == (0.0, 0.0, 1.0)
    with pytest.raises(wt.FileError, match="this is xacro"):
        wt.read(text.format("$(optenv PLACE 0 0 1)"))


def test_xacro_is_expanded_on_request_only() -> None:
    path = MODELS / "arm.urdf.xacro"
    with pytest.raises(wt.FileError, match=r"arm.urdf.xacro:3: this is xacro"):
        wt.read(path)
    if importlib.util.find_spec("xacro") is None:
        with pytest.raises(wt.FileError, match=r"pip install .whippletree\[xacro\]"):
            wt.read(path, xacro=True)
        return
    assert wt.read(path, xacro=True).mechanism.describe().body("arm").properties.mass == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE robot [\n<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<robot/>', "a document type is declared"),
        ("<robot>\n<link/>", "no well-formed XML"),
        ("<html>\n</html>", "<html> is no model that is known here"),
        ('<robot>\n<link name="a"/><link name="a"/></robot>', 'second link "a"'),
        (
            '<robot>\n<link name="a"><inertial><mass value="nan"/></inertial></link></robot>',
            "finite numbers, got 'nan'",
        ),
        ('<robot>\n<link name="a"><inertial><mass value="-1"/></inertial></link></robot>', "must not be negative"),
        ('<robot>\n<link name="a"/><joint name="j" type="hinge"/></robot>', 'has the type "hinge"'),
        ("<a>" * 300 + "\n" + "</a>" * 300, "nested more than"),
        ('<sdf version="1.0">\n<model name="m"/></sdf>', "version 1.0 of SDF has other elements"),
        ('<sdf version="new">\n<model name="m"/></sdf>', "version must be two numbers such as 1.7, got 'new'"),
        (
            '<sdf version="1.9">\n<model name="m"><link name="a"><pose relative_to="a">0 0 0 0 0 0</pose></link>'
            "</model></sdf>",
            "relative to itself",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(text: str, message: str) -> None:
    with pytest.raises(wt.FileError, match=r"^<text>:[1-3]: ") as caught:
        wt.read(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.line is not None
