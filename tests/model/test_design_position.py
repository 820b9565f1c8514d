"""Distances that are taken from the design position, where all coordinates are zero."""

from __future__ import annotations

import math

import numpy as np
import pytest

import whippletree as wt


def two_arms(height: float = 2.0) -> wt.Mechanism:
    """Return two arms on the ground, one above the other, the height being a parameter."""
    m = wt.Mechanism("arms")
    h = m.parameter("h", height)
    for name, z in (("low", 0.0), ("high", h)):
        m.revolute(f"to {name}", m.ground, m.body(name, wt.rod(1.0, 1.0)), at=(0.3, 0.0, z), axis="y")
    return m


def test_a_rod_is_as_long_as_its_ends_are_apart_at_zero_coordinates() -> None:
    m = two_arms()
    m.distance("tie", "low", "high", at=(1.0, 0.0, 0.0), at_child=(0.5, 0.0, 0.1))
    s = m.build()
    ends = [s.pose(s.configuration(), body) @ [*at, 1.0] for body, at in (("low", (1, 0, 0)), ("high", (0.5, 0, 0.1)))]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(math.hypot(0.5, 2.1), rel=1e-14)
    assert abs(s.closure_residual(s.configuration())).max() < 1e-14
    assert (s.q0 == 0.0).all()  # so that no guess is needed


def test_it_follows_parameters() -> None:
    m = two_arms()
    m.distance("tie", "low", "high")
    s = m.build()
    for h in (1.0, 3.0):
        assert abs(s.closure_residual(s.configuration(), parameters={"h": h})).max() < 1e-14


def test_turned_and_reversed_joints_on_the_way() -> None:
    m = wt.Mechanism("chain")
    turned = wt.Placement([[0, -1, 0], [1, 0, 0], [0, 0, 1]], (1.0, 0.0, 0.0))
    m.revolute("A", m.body("a"), m.ground, axis="z", at=(0, 0, 1), at_child=(0, 2, 0))
    m.fixed("B", "a", m.body("b"), pose=turned)
    m.distance("tie", m.ground, "b", at_child=(1.0, 0.0, 0.0))
    # a's origin is at (0, 2, -1), b's at (1, 2, -1) with its x along y, and the point at (1, 3, -1)
    assert m.describe().closures[0].closure.length == pytest.approx(math.sqrt(11.0), rel=1e-15)  # type: ignore[attr-defined]


def test_what_has_no_design_position_is_refused_in_words() -> None:
    m = wt.Mechanism("m")
    for name in ("a", "b"):
        m.body(name, mass=1.0)
    with pytest.raises(wt.ModelError, match=r'closure "tie": no joints connect "a" and "b" yet.* or give length'):
        m.distance("tie", "a", "b")
    m.revolute("A", m.ground, "a")
    m.revolute("B", m.ground, "b", at=(1, 0, 0))
    m.revolute("C", "a", "b", at=(0.5, 0, 0))
    with pytest.raises(wt.ModelError, match=r'the loop of joint "C" is open at zero coordinates.*give length'):
        m.distance("tie", "a", "b", at=(1, 0, 0))
    assert m.distance("tie", "a", "b", length=1.0).name == "tie"


def test_points_that_coincide_are_refused_as_a_length_of_zero() -> None:
    m = two_arms(0.0)
    with pytest.raises(wt.ModelError, match="length must be positive"):
        m.distance("tie", "low", "high")


def test_in_a_model_file_too() -> None:
    text = "name: m\nbodies: {a: {mass: 1}}\njoints: {A: {revolute: [ground, a], axis: y}}\n"
    closure = (
        wt.read(f"{text}closures: {{tie: {{distance: [ground, a], at: [0, 3, 4]}}}}").mechanism.describe().closures
    )
    assert closure[0].closure.length == 5.0  # type: ignore[attr-defined]
