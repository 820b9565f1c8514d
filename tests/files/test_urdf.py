"""URDF beside Pinocchio: robots of the package example-robot-data, and files written for these tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.robot_files import all_robots, bare, differences
from support.sampling import sampled
from whippletree.model.io import write_text

MODELS = Path(__file__).parent / "models"
REFUSED = {
    "romeo_laas_small.urdf": "negative principal moment",  # a moving link with an indefinite inertia
    "ur3.urdf": "has no <link>",  # a file that includes others
}
WITHOUT_FREEDOM = {"quadrotor_base.urdf", "iris_simple.urdf"}
SMALL = {"panda.urdf", "double_pendulum_continuous.urdf", "hyq_no_sensors.urdf"}


@pytest.mark.parametrize("path", sampled(all_robots(), lambda path: path.name in SMALL), ids=lambda path: path.name)
def test_robots_agree_with_pinocchio(path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(wt.FileError, match=REFUSED[path.name]):
            wt.read(path)
        return
    model = wt.read(path)
    free = path.name in WITHOUT_FREEDOM
    if free:
        model = wt.read(path, base="free")
    assert max(differences(path, model, free=free).values()) < 1e-10


def test_a_floating_base_agrees_with_pinocchio() -> None:
    path = MODELS / "gripper.urdf"
    assert max(differences(path, wt.read(path, base="free"), free=True).values()) < 1e-10


def test_mimic_is_a_gear() -> None:
    model = wt.read(MODELS / "gripper.urdf")
    s = model.build(guess={"left finger": 0.4}, hold=["left finger"])
    assert s.mobility.mobility == 2
    assert s.q0[s.q_slice("right finger")][0] == pytest.approx(0.03 * 0.4 + 0.002, abs=1e-12)


def test_the_report_says_what_is_not_in_the_mechanism() -> None:
    report = wt.read(MODELS / "gripper.urdf").report
    assert report.about("not understood") == ("<gazebo>",)
    assert any("fixed to the ground" in text for text in report.about("guessed"))
    assert any("dry friction" in text for text in report.about("changed"))
    assert any("ranges" in text for text in report.about("kept aside"))
    assert "line 28" in str(report)


def test_ranges_become_stops_if_that_is_asked_for() -> None:
    model = wt.read(MODELS / "gripper.urdf")
    assert model.ranges["left finger"].upper == 0.8
    assert len(model.mechanism.describe().forces) == 1
    stopped = wt.read(MODELS / "gripper.urdf", stops=500.0)
    assert "stop of left finger" in {use.name for use in stopped.mechanism.describe().forces}


def test_a_loop_of_urdf_plus_is_the_hinge_that_it_says() -> None:
    """The same four-bar by calls, at the angles where assembly closes it."""
    s = wt.read(MODELS / "four_bar.urdf").build()
    m = wt.Mechanism("by calls")
    crank = m.body("crank", mass=0.5, com=(0.1, 0, 0), inertia=(1e-4, 2e-3, 2e-3))
    coupler = m.body("coupler", mass=1.0, com=(0.25, 0, 0), inertia=(1e-4, 2e-2, 2e-2))
    rocker = m.body("rocker", mass=0.8, com=(0.2, 0, 0), inertia=(1e-4, 1e-2, 1e-2))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(0.2, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(0.5, 0, 0), at_child=(0.4, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(0.5, 0, 0), axis="y")
    turned = {"A": -1.2, "B": 1.0, "D": -1.5}
    guess = {name: s.q0[s.q_slice(name)][0] + turn for name, turn in turned.items()}
    other = m.build(guess=guess, hold=["A"])
    a = {name: s.forward_dynamics(s.q0, s.v0)[s.v_slice(name)][0] for name in turned}
    b = {name: other.forward_dynamics(other.q0, other.v0)[other.v_slice(name)][0] for name in turned}
    assert a == pytest.approx(b, rel=1e-9)


def test_loops_named_beside_the_robot() -> None:
    model = wt.read(MODELS / "five_bar.urdf")
    assert model.build().mobility.mobility == 2
    again = wt.read(MODELS / "five_bar.yaml")
    assert again.mechanism.describe() == model.mechanism.describe()
    named = wt.read(MODELS / "five_bar.urdf", loops=MODELS / "five_bar.yaml")
    assert named.mechanism.describe() == model.mechanism.describe()


def test_an_impossible_inertia_moves_as_given_where_that_makes_sense() -> None:
    """A planar body needs one moment only; a negative one about its axis is refused."""
    text = """<robot name="flat"><link name="base"/><link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="{}" ixy="0" ixz="0" iyy="0" iyz="0" izz="{}"/></inertial></link>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    for xx in (0.0, -0.3):
        model = wt.read(text.format(xx, 0.1))
        assert any("no body has" in line for line in model.report.about("guessed"))
        s = model.build()
        np.testing.assert_allclose(s.mass_matrix(s.q0), [[0.1 + 2 * 0.25]], rtol=1e-14)
        assert wt.read(write_text(model)).mechanism.describe() == model.mechanism.describe()
    with pytest.raises(wt.FileError, match='<text>:1: link "arm" has a negative principal moment'):
        wt.read(text.format(0.1, -0.1))


def test_tree_without_closures_is_what_pinocchio_moves() -> None:
    assert bare(wt.read(MODELS / "gripper.urdf")).nv == 3
