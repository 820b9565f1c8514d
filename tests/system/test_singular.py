"""Joints that move nothing: refused where they are, and only there, whatever the units, the parameters or the cache."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt


def at_rest(properties: wt.MassProperties, kind: str) -> np.ndarray:
    m = wt.Mechanism("m")
    getattr(m, kind)("j", m.ground, m.body("b", properties))
    s = m.build()
    return s.forward_dynamics(s.q0, s.v0)


@pytest.mark.parametrize(
    "properties",
    [
        wt.sphere(radius=1e-6, mass=4e-15),
        wt.box(size=(6e6, 12e6, 18e6), mass=6e24),
        wt.box(size=(1, 1, 1), mass=1.0, at=(500, 0, 0)),
        wt.box(size=(1e-3, 2e-3, 3e-3), mass=1e-5, at=(2, 1, 3)),
    ],
)
def test_a_free_body_falls_whatever_its_size(properties: wt.MassProperties) -> None:
    expected = [0, 0, 0, 0, 0, -9.81]
    size = np.abs(properties.com).max()  # angular accelerations are differences of numbers of this size
    assert at_rest(properties, "free") == pytest.approx(expected, abs=1e-9 * max(1.0, size))


def test_a_needle_on_a_ball_joint_is_allowed() -> None:
    needle = wt.cylinder(radius=1e-6, length=1.0, mass=1.0)
    assert at_rest(needle, "spherical") == pytest.approx([0, 0, 0])


def test_a_line_of_mass_on_a_ball_joint_is_not() -> None:
    with pytest.raises(wt.DynamicsError, match='"j"'):
        at_rest(wt.rod(length=1.0, mass=1.0, axis=(1, 2, 3)), "spherical")


def payload(default: float) -> wt.System:
    m = wt.Mechanism("m")
    p = m.parameter("payload", default)
    m.revolute("j", m.ground, m.body("b", mass=p, com=(1.5, 0, 0)), axis="y")
    return m.build()


def test_a_parameter_that_is_zero_by_default_can_be_given() -> None:
    expected = 9.81 * np.cos(0.1) / 1.5
    for system in (payload(0.0), payload(1.0), payload(0.0)):  # whatever is in the cache by then
        assert system.forward_dynamics([0.1], [0.0], parameters={"payload": 2.0}) == pytest.approx([expected])
    for _ in range(2):
        with pytest.raises(wt.DynamicsError, match='"j"'):
            payload(0.0).forward_dynamics([0.1], [0.0])


@pytest.mark.parametrize("values", [{"payload": -1.0}, [-1.0], {"payload": np.array([1.0, 2.0, -0.5])}])
def test_parameters_that_make_a_mass_negative_are_refused(values: object) -> None:
    system = payload(1.0)
    for compute in (
        lambda: system.mass_matrix([0.1], parameters=values),
        lambda: system.energy([0.1], [1.0], parameters=values),
        lambda: system.forward_dynamics([0.1], [1.0], parameters=values),
    ):
        with pytest.raises(wt.StateError, match='"b"'):
            compute()


@pytest.mark.parametrize("values", [{"I": -5.0}, [5.0], {"I": np.array([1.0, 1.5, 2.1])}])
def test_parameters_that_make_an_inertia_impossible_are_refused(values: object) -> None:
    m = wt.Mechanism("m")
    moment = m.parameter("I", 1.0)
    turned = wt.MassProperties(1.0, (0, 0, 0), [[1, 0, 0], [0, moment, 0], [0, 0, 1]])
    skew = turned.moved(rotation=[[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    m.revolute("j", m.ground, m.body("b", skew), axis="y")
    s = m.build()
    for compute in (
        lambda: s.mass_matrix([0.1], parameters=values),
        lambda: s.energy([0.1], [1.0], parameters=values),
        lambda: s.forward_dynamics([0.1], [1.0], parameters=values),
    ):
        with pytest.raises(wt.StateError, match=r'"b" the inertia.*which no body has'):
            compute()
    assert s.mass_matrix([0.1], parameters={"I": [0.0, 1.0, 2.0]}).shape == (3, 1, 1)  # the limits are possible


def test_no_parameters_may_be_given_to_a_system_without() -> None:
    m = wt.Mechanism("m")
    m.revolute("j", m.ground, m.body("b", wt.rod(length=1.0, mass=1.0)), axis="y")
    s = m.build()
    assert np.array_equal(s.forward_dynamics([0.1], [0.0], parameters={}), s.forward_dynamics([0.1], [0.0]))


@pytest.mark.parametrize("formulation", ["articulated", "composite"])
def test_a_configuration_in_which_a_joint_moves_nothing_is_named(formulation: str) -> None:
    """A massless ring on a hinge, and in it a thin rod that can be turned into the hinge's axis."""
    m = wt.Mechanism("gimbal")
    ring, needle = m.body("ring"), m.body("needle", wt.rod(length=1.0, mass=1.0, axis="z"))
    m.revolute("outer", m.ground, ring)
    m.revolute("inner", ring, needle, axis="x")
    s = m.build()
    assert np.isfinite(s.forward_dynamics([0.3, 0.4], [0, 0], formulation=formulation)).all()
    with pytest.raises(wt.DynamicsError, match='"outer"'):
        s.forward_dynamics([0.0, 0.0], [0, 0], formulation=formulation)
    with pytest.raises(wt.DynamicsError, match=r'state 6 .*"outer"'):
        q = np.full((9, 2), 0.5)
        q[6, 1] = 0.0
        s.forward_dynamics(q, np.zeros(2), formulation=formulation)
