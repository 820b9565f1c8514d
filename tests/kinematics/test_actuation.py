"""What actuators control: a platform against the lines of its legs, a linkage at its dead position."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from kinematics.test_batch_assembly import LEGS, corners, platform
from whippletree.kinematics import actuation
from whippletree.system.example_systems import four_bar


def turned(angle: float, height: float = 0.9) -> np.ndarray:
    """The platform turned about its axis, step by step so that legs stay on their branch."""
    system = platform()
    q = system.q0
    for a in np.linspace(0.0, angle, 10):
        q[system.q_slice("pose")] = [np.cos(a / 2), 0, 0, np.sin(a / 2), 0, 0, height]
        q = system.assemble(q, hold=["pose"])
    return q


def leg_lines(angle: float, height: float = 0.9) -> np.ndarray:
    """Rates of the legs' lengths for unit motions of the plate [angular; linear] at its centre."""
    base, plate = corners()
    c, s = np.cos(angle), np.sin(angle)
    arms = plate @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T
    along = arms + np.array([0, 0, height]) - base
    along /= np.linalg.norm(along, axis=1)[:, None]
    return np.hstack([np.cross(arms, along), along])


def test_a_platform_turned_by_a_right_angle_is_singular() -> None:
    system, q = platform(), turned(np.pi / 2)
    assert np.linalg.matrix_rank(leg_lines(np.pi / 2), tol=1e-9) == 5
    found = actuation(system, q, actuators=LEGS)
    assert found.singular and not found.too_few
    assert (found.rank, found.needed, found.generic) == (5, 6, 6)
    assert found.smallest < 1e-9
    # the motion that goes on is the one that leaves the legs' lengths alone
    motion = system.velocity(q, found.uncontrolled[:, 0], "plate")
    free = np.linalg.svd(leg_lines(np.pi / 2))[2][-1]
    np.testing.assert_allclose(np.abs(motion / np.linalg.norm(motion)), np.abs(free), atol=1e-8)
    assert 'body "plate" turns about (0, 0, 1) through (0, 0, 0), advancing by' in found.words


def test_inverse_dynamics_says_what_is_true_there() -> None:
    system, q = platform(), turned(np.pi / 2)
    load = {"plate": [0, 0, 5.0, 0, 0, 0]}
    with pytest.raises(wt.DynamicsError, match="singular position of the actuators") as caught:
        system.inverse_dynamics(q, np.zeros(system.nv), actuators=LEGS, wrenches=load)
    assert "name more" not in str(caught.value)
    regular = turned(1.0)
    efforts = system.inverse_dynamics(regular, np.zeros(system.nv), actuators=LEGS, wrenches=load)
    legs = efforts[[system.v_slice(leg).start for leg in LEGS]]
    weight = [0, 0, 0, 0, 0, -10.0 * 9.81]
    np.testing.assert_allclose(leg_lines(1.0).T @ legs, -np.array(load["plate"]) - weight, atol=1e-8)
    with pytest.raises(wt.DynamicsError, match="name more actuators"):
        system.inverse_dynamics(regular, np.zeros(system.nv), actuators=LEGS[:5], wrenches=load)


def test_the_measure_falls_toward_the_singular_position() -> None:
    system = platform()
    angles = np.radians([0.0, 45.0, 70.0, 85.0, 89.0])
    found = [actuation(system, turned(a), actuators=LEGS) for a in angles]
    assert (np.diff([one.smallest for one in found]) < 0).all()
    assert (np.diff([one.inverse_condition for one in found]) < 0).all()
    assert "near a singular position" in found[-1].words
    assert not found[-1].singular
    # next to it the smallest singular value goes with the distance
    assert found[3].smallest / found[4].smallest == pytest.approx(5.0, rel=0.05)


def test_too_few_and_more_than_needed() -> None:
    system, q = platform(), turned(0.5)
    few = actuation(system, q, actuators=LEGS[:4])
    assert few.too_few and few.generic == 4
    assert "4 actuated freedoms control 4 of 6 motions" in few.words
    many = actuation(system, q, actuators=[*LEGS, ("foot of leg 0", 0)])
    assert not many.too_few and not many.singular
    assert "1 more than needed" in many.words


def test_a_rocker_cannot_drive_a_crank_through_its_dead_position() -> None:
    s = four_bar()  # crank 1, coupler 2, rocker 1.5, ground 2
    reach = 2.0 - 1.0
    a = np.pi + np.arccos((reach**2 + 4 - 1.5**2) / (4 * reach))
    sweep = s.sweep_joint("A", [a])
    found = actuation(s, sweep.q[0], actuators=["D"])
    assert found.singular and found.smallest < 1e-9
    assert 'body "crank" turns about' in found.words
    assert not actuation(s, sweep.q[0], actuators=["A"]).singular


def test_bad_arguments_are_refused() -> None:
    s = four_bar()
    with pytest.raises(wt.StateError, match="must name the joints"):
        actuation(s, s.q0, actuators=[])
    with pytest.raises(wt.StateError, match="open at this configuration"):
        actuation(s, s.q0 + 0.1, actuators=["A"])
