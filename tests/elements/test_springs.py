"""Springs in mechanisms, against Hooke's law written out in plain NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import whippletree as wt

Array = npt.NDArray[np.float64]
STIFFNESS, FREE_LENGTH, DAMPING = 300.0, 0.7, 4.0


def pull(end: Array, velocity: Array, anchor: Array) -> Array:
    """The force on a moving end of a spring whose other end stands still."""
    span = anchor - end
    length = np.linalg.norm(span)
    rate = -velocity @ span / length
    return (STIFFNESS * (length - FREE_LENGTH) + DAMPING * rate) * span / length


def four_bar(spring: bool) -> wt.System:
    m = wt.Mechanism("four-bar", gravity=(0, 0, -9.81))
    crank = m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x"))
    coupler = m.body("coupler", wt.rod(length=2.0, mass=2.0, axis="x"))
    rocker = m.body("rocker", wt.rod(length=1.5, mass=1.5, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    m.frame("eye", on=coupler, at=(0.8, 0, 0.1))
    if spring:
        m.spring("s", m.ground, "eye", at=(0.5, 0, 2.5), stiffness=STIFFNESS, free_length=FREE_LENGTH, damping=DAMPING)
    return m.build(guess={"A": 1.0})


def test_a_spring_across_a_four_bar_acts_as_its_force_given_as_a_load() -> None:
    sprung, bare = four_bar(spring=True), four_bar(spring=False)
    q = sprung.q0
    v = sprung.consistent_velocities(q, {"A": 1.3})
    force = pull(sprung.pose(q, "eye")[:3, 3], sprung.velocity(q, v, "eye")[3:], np.array([0.5, 0, 2.5]))
    loaded = bare.forward_dynamics(q, v, wrenches={"eye": [0, 0, 0, *force]})
    assert sprung.forward_dynamics(q, v) == pytest.approx(loaded, rel=1e-10)
    assert not np.allclose(loaded, bare.forward_dynamics(q, v), rtol=1e-2)


def test_a_call_for_many_states_of_a_mass_on_three_springs() -> None:
    anchors, mass = np.array([[1.0, 0, 0], [-0.5, 0.9, 0.2], [-0.4, -0.8, 1.1]]), 2.5
    m = wt.Mechanism("mass on springs", gravity=(0, 0, -9.81))
    body = m.body("mass", wt.sphere(radius=0.1, mass=mass))
    m.free("float", m.ground, body)
    for i, at in enumerate(anchors):
        m.spring(f"s{i}", m.ground, body, at=at, stiffness=STIFFNESS, free_length=FREE_LENGTH, damping=DAMPING)
    rng = np.random.default_rng(1)
    places, velocities = rng.uniform(-0.3, 0.3, (20, 3)), rng.uniform(-2, 2, (20, 3))
    q = np.concatenate([np.tile([1.0, 0, 0, 0], (20, 1)), places], axis=1)
    v = np.concatenate([np.zeros((20, 3)), velocities], axis=1)
    found = m.build().forward_dynamics(q, v)
    expected = [sum(pull(x, u, a) for a in anchors) / mass for x, u in zip(places, velocities, strict=True)]
    assert found[:, 3:] == pytest.approx(np.array(expected) + np.array([0, 0, -9.81]), rel=1e-10)
    assert found[:, :3] == pytest.approx(np.zeros((20, 3)), abs=1e-12)
