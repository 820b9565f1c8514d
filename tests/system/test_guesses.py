"""Guesses by poses of bodies, guesses that fold a mechanism, and coordinates that were to depend on others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.example_systems import four_bar


def linkage(crank: float, coupler: float, rocker: float, base: float) -> wt.Mechanism:
    m = wt.Mechanism("linkage")
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        m.body(name, wt.rod(length, 1.0))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank", "coupler", at=(crank, 0, 0), axis="y")
    m.revolute("D", m.ground, "rocker", at=(base, 0, 0), axis="y")
    m.revolute("C", "coupler", "rocker", at=(coupler, 0, 0), at_child=(rocker, 0, 0), axis="y")
    return m


def arm() -> wt.Mechanism:
    m = wt.Mechanism("arm")
    length, before = m.parameter("length", 0.5), m.ground
    for i, axis in enumerate("zyyxyx"):
        body = m.body(f"link {i}", wt.rod(0.5, 1.0))
        m.revolute(f"joint {i}", before, body, at=(length if i else 0.0, 0, 0), axis=axis)
        before = body
    return m


# ---------------------------------------------------------------------- poses


@pytest.mark.parametrize("body", ["crank", "coupler", "rocker"])
def test_the_pose_of_one_body_is_enough_for_a_four_bar(body: str) -> None:
    m = linkage(1.0, 2.0, 1.8, 2.0)
    for way in (-1.0, 1.0):
        built = m.build(guess={"A": way, "B": -way, "D": way})
        meant = built.q0
        pose = built.pose(meant, body)
        found = m.build(guess={body: pose})
        assert abs(found.pose(found.q0, body) - pose).max() < 1e-8
        if body == "coupler":  # which determines the others
            assert abs(found.q0 - meant).max() < 1e-8


def test_an_arm_is_put_where_its_hand_is() -> None:
    s = arm().build()
    rng = np.random.default_rng(5)
    for _ in range(4):
        pose = s.pose(rng.uniform(-1.5, 1.5, 6), "link 5")
        assert abs(s.pose(s.assemble({"link 5": pose}), "link 5") - pose).max() < 1e-8
    meant = np.array([0.3, -0.5, 0.9, 0.2, 0.4, 0.1])
    q = s.assemble({"joint 0": 0.3, "link 4": wt.Placement.from_matrix(s.pose(meant, "link 4"))})
    assert q[0] == 0.3
    assert abs(s.pose(q, "link 4") - s.pose(meant, "link 4")).max() < 1e-8


def test_a_pose_that_is_not_quite_right_is_a_guess_all_the_same() -> None:
    m = linkage(1.0, 2.0, 1.8, 2.0)
    meant = m.build(guess={"A": -1.0, "B": 1.0, "D": -1.0})
    pose = meant.pose(meant.q0, "coupler")
    pose[:3, 3] += (0.05, 0.0, -0.04)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = m.build(guess={"coupler": pose})
    assert abs(found.closure_residual(found.q0)).max() < 1e-12
    assert 1e-4 < abs(found.q0 - meant.q0).max() < 0.3


def test_a_pose_out_of_reach_is_told() -> None:
    pose = np.eye(4)
    pose[:3, 3] = (7.0, 0.0, 0.0)
    with pytest.warns(wt.AssemblyWarning, match='"coupler" ended up .* m and .* rad from the pose'):
        linkage(1.0, 2.0, 1.8, 2.0).build(guess={"coupler": pose})


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        ({"coupler": 1.0}, '"coupler" is a body or frame: give its pose'),
        ({"couple": np.eye(4)}, 'no body or frame "couple"'),
        ({"coupler": 2 * np.eye(4)}, 'the guess for "coupler"'),
        ({"E": 1.0}, 'no joint "E"'),
    ],
)
def test_guesses_that_are_none(guess: dict[str, object], words: str) -> None:
    with pytest.raises(wt.WhippletreeError, match=words):
        linkage(1.0, 2.0, 1.8, 2.0).build(guess=guess)


def test_poses_in_model_files() -> None:
    s = four_bar()
    meant = s.assemble({"A": 1.2})
    pose = wt.Placement.from_matrix(s.pose(meant, "coupler"))
    model = wt.Model(wt.Mechanism.of(s.description), start={"guess": {"coupler": pose}})
    again = wt.read(wt.model.io.write_text(model))
    assert again.start["guess"] == {"coupler": pose}
    assert abs(again.build().q0 - meant).max() < 1e-8
    text = "name: m\nbodies: {a: {mass: 1}}\njoints: {A: {revolute: [ground, a]}}\nstart: {guess: {%s}}"
    for wrong in (
        "b: {at: [0, 0, 0]}",
        "a: {to: [0, 0, 0]}",
        "a: [[1, 2], [3, 4]]",
        "a: {rotation: [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}",
    ):
        with pytest.raises(wt.FileError, match=r"<text>:4:"):
            wt.read(text % wrong)


# ---------------------------------------------------------------------- folded loops


@pytest.mark.parametrize("lengths", [(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 2.0, 2.0)])
def test_a_guess_that_folds_a_mechanism_flat_is_told(lengths: tuple[float, float, float, float]) -> None:
    with pytest.warns(wt.AssemblyWarning, match='closed folded: joints "A" and "C".*pose of a body'):
        s = linkage(*lengths).build(guess={"A": -1.0, "B": 3.0})
    assert abs(abs(s.q0[1]) - np.pi) < 1e-6  # the coupler lies back upon the crank
    assert not s.mobility.singular


def test_an_isosceles_slider_crank_whose_piston_is_at_the_crank_shaft() -> None:
    m = wt.Mechanism("slider-crank")
    r = m.parameter("r", 1.0)
    for name in ("crank", "rod"):
        m.body(name, wt.rod(r, 1.0))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank", "rod", at=(r, 0, 0), axis="y")
    m.revolute("C", "rod", m.body("piston", mass=1.0), at=(r, 0, 0), axis="y")
    m.prismatic("P", m.ground, "piston", axis="x")
    with pytest.warns(wt.AssemblyWarning, match='joints "A" and "C"'):
        m.build(guess={"A": -1.0, "B": 3.1})


def test_what_is_not_folded_is_not_said_to_be() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linkage(1.0, 1.0, 1.0, 1.0).build(guess={"A": -1.0})  # a rhombus
        linkage(1.0, 2.0, 1.8, 2.0).build(guess={"A": -1.0})
        m = wt.Mechanism("coaxial")  # hinges that lie upon each other wherever the mechanism is
        for name in ("a", "b", "c"):
            m.body(name, wt.rod(1.0, 1.0))
        m.revolute("A", m.ground, "a", axis="z")
        m.revolute("B", "a", "b", axis="z")
        m.revolute("C", "b", "c", axis="z")
        m.revolute("D", "c", m.ground, axis="z")
        m.build(guess={"A": 0.3, "B": 0.4, "C": 0.5})


# ---------------------------------------------------------------------- dependent coordinates


def test_coordinates_that_cannot_depend_are_told() -> None:
    m = linkage(1.0, 2.0, 1.8, 2.0)
    with pytest.warns(wt.AssemblyWarning, match="dependent= asks that") as caught:
        s = m.build(guess={"A": -1.0}, dependent=["A", "B", "C", "D"])
    (kept,) = s.mobility.independent
    assert f'asks that "{kept}" depend' in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.build(guess={"A": -1.0}, dependent=["B", "C", "D"]).mobility.independent == ("A",)
