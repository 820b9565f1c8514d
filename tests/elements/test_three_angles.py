"""Balls and floating bases by Euler's and Bryant's angles: against plain NumPy, quaternions and a spinning top."""

from __future__ import annotations

import math

import numpy as np
import pytest

import whippletree as wt
from support.formulations import BASIC, EXACT, TREE_VARIANTS
from whippletree.model.io import write_text

SEQUENCES = {"euler": "zxz", "bryant": "xyz"}


def turn(axis: str, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    rows = {"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]]}
    return np.array(rows.get(axis, [[c, -s, 0], [s, c, 0], [0, 0, 1]]), dtype=float)


def turned(coordinates: str, angles: np.ndarray) -> np.ndarray:
    R = np.eye(3)
    for axis, angle in zip(SEQUENCES[coordinates], angles, strict=True):
        R = R @ turn(axis, angle)
    return R


def two_bodies(coordinates: str, gravity: float = -9.81) -> wt.Mechanism:
    m = wt.Mechanism(f"two bodies, {coordinates}", gravity=(0.0, 0.0, gravity))
    m.body("base", wt.MassProperties(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.2, 0.25])))
    m.body("arm", wt.MassProperties(1.0, (0.3, 0.0, -0.1), np.diag([0.03, 0.02, 0.025])))
    m.free("flight", m.ground, "base", at=(0.1, 0.0, 0.2), coordinates=coordinates)
    m.spherical("ball", "base", "arm", at=(0.5, 0.1, 0.0), at_child=(-0.2, 0.0, 0.0), coordinates=coordinates)
    return m


def spatial_four_bar(coordinates: str) -> wt.Mechanism:
    m = wt.Mechanism(f"spatial four-bar, {coordinates}")
    for name, size, mass in (("a", (0.2, 0.3, 1.0), 2), ("b", (1.0, 0.1, 0.2), 1), ("d", (0.1, 0.2, 0.9), 1.5)):
        m.body(name, wt.box(size, mass=mass))
    m.revolute("A", m.ground, "a", axis="y", at_child=(0, 0, -0.5))
    m.spherical("B", "a", "b", at=(0, 0, 0.5), at_child=(-0.5, 0, 0), coordinates=coordinates)
    m.spherical("C", "b", "d", at=(0.5, 0, 0), at_child=(0, 0, 0.5), coordinates=coordinates)
    m.revolute("D", m.ground, "d", axis=(0, 1, 0.2), at=(1.1, 0.1, 0), at_child=(0, 0, -0.5))
    return m


def in_quaternions(s: wt.System, q: np.ndarray, v: np.ndarray, other: wt.System) -> tuple[np.ndarray, np.ndarray]:
    """The same motion of all bodies in a system with quaternions, by poses and velocities alone."""
    names = [body.name for body in s.description.bodies]
    at = other.assemble({name: s.pose(q, name) for name in names})
    rows = [other.jacobian(at, name) for name in names]
    right = [s.velocity(q, v, name) for name in names]
    if other.closure_rows:
        rows.append(other.closure_jacobian(at))
        right.append(np.zeros(len(other.closure_rows)))
    return at, np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]


@pytest.mark.parametrize("coordinates", SEQUENCES)
def test_pose_and_velocity_are_those_of_three_turns(coordinates: str) -> None:
    s = two_bodies(coordinates).build()
    q, v, h = s.random(1), np.random.default_rng(1).normal(size=s.nv), 1e-6
    T = s.pose(q, "base")
    np.testing.assert_allclose(T[:3, :3], turned(coordinates, q[:3]), atol=1e-14)
    np.testing.assert_allclose(T[:3, 3], np.array([0.1, 0.0, 0.2]) + q[3:6], atol=1e-14)
    rate = (turned(coordinates, q[:3] + h * v[:3]) - turned(coordinates, q[:3] - h * v[:3])) / (2 * h)
    W = rate @ T[:3, :3].T
    expected = [W[2, 1], W[0, 2], W[1, 0], *v[3:6]]
    np.testing.assert_allclose(s.velocity(q, v, "base"), expected, atol=1e-8)


@pytest.mark.parametrize("coordinates", ["bryant", pytest.param("euler", marks=pytest.mark.deep)])
def test_trees_move_as_with_quaternions_by_every_formulation(coordinates: str) -> None:
    s, other = two_bodies(coordinates).build(), two_bodies("quaternion").build()
    rng = np.random.default_rng(2)
    q, v = s.random(2), rng.normal(size=s.nv)
    q_other, v_other = in_quaternions(s, q, v, other)
    a_other = other.forward_dynamics(q_other, v_other)
    expected = np.concatenate([other.acceleration(q_other, v_other, a_other, name) for name in ("base", "arm")])
    for formulation in TREE_VARIANTS:
        a = np.array(s.function("forward_dynamics", formulation=formulation)(q, v, 0)).ravel()
        found = np.concatenate([s.acceleration(q, v, a, name) for name in ("base", "arm")])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max(), err_msg=formulation)


DEEP = [("euler", "B", EXACT), ("euler", "D", EXACT), ("bryant", "D", EXACT), ("euler", "C", EXACT)]
LOOPS = [("bryant", "B", BASIC), *(pytest.param(*one, marks=pytest.mark.deep) for one in DEEP)]


@pytest.mark.parametrize(("coordinates", "cut", "formulations"), LOOPS)
def test_loops_move_as_with_quaternions(coordinates: str, cut: str, formulations: tuple[str, ...]) -> None:
    other = spatial_four_bar("quaternion").build(cut=[cut], guess={"A": 0.3})
    poses = {name: other.pose(other.q0, name) for name in ("a", "b", "d")}
    s = spatial_four_bar(coordinates).build(cut=[cut], guess=poses)
    v = s.consistent_velocities(s.q0, np.random.default_rng(3).normal(size=s.nv))
    q_other, v_other = in_quaternions(s, s.q0, v, other)
    a_other = other.forward_dynamics(q_other, v_other)
    expected = np.concatenate([other.acceleration(q_other, v_other, a_other, name) for name in poses])
    for formulation in formulations:
        a = np.array(s.function("forward_dynamics", formulation=formulation)(s.q0, v, 0)).ravel()
        found = np.concatenate([s.acceleration(s.q0, v, a, name) for name in poses])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max(), err_msg=formulation)


def test_a_top_precesses_steadily() -> None:
    """m g l = Omega (I3 w3 - I1 Omega cos theta), I1 about the tip: nutation stays, precession and spin are even."""
    I1, I3, length, theta, Omega = 0.12, 0.02, 0.3, 0.6, 1.5
    spin = (9.81 * length / Omega + (I1 - I3) * Omega * math.cos(theta)) / I3  # of 1 kg; w3 = spin + Omega cos theta
    m = wt.Mechanism("top")
    about_centre = np.diag([I1 - length**2, I1 - length**2, I3])
    m.body("top", wt.MassProperties(1.0, (0.0, 0.0, length), about_centre))
    m.spherical("tip", m.ground, "top", coordinates="euler")
    s = m.build(guess={"tip": (0.0, theta, 0.0)})
    run = s.simulate(2.0, v={"tip": (Omega, 0.0, spin)}, tolerance=1e-11)
    np.testing.assert_allclose(run.q[:, 1], theta, atol=1e-8)
    np.testing.assert_allclose(run.q[:, 0], Omega * run.t, atol=1e-7)
    np.testing.assert_allclose(run.q[:, 2], spin * run.t, atol=1e-6)


@pytest.mark.parametrize("coordinates", ["euler", pytest.param("bryant", marks=pytest.mark.deep)])
def test_derivatives_against_differences(coordinates: str) -> None:
    s = two_bodies(coordinates).build()
    rng = np.random.default_rng(4)
    q, v, tau, h = s.random(4), rng.normal(size=s.nv), rng.normal(size=s.nv), 1e-6
    found = s.forward_dynamics_derivatives(q, v, tau)
    for i, e in enumerate(h * np.eye(s.nv)):
        by_q = (s.forward_dynamics(q + e, v, tau) - s.forward_dynamics(q - e, v, tau)) / (2 * h)
        by_v = (s.forward_dynamics(q, v + e, tau) - s.forward_dynamics(q, v - e, tau)) / (2 * h)
        np.testing.assert_allclose(found.q[:, i], by_q, rtol=1e-6, atol=1e-5 * np.abs(found.q).max())
        np.testing.assert_allclose(found.v[:, i], by_v, rtol=1e-6, atol=1e-6 * np.abs(found.v).max())


def test_large_chains_are_loops_over_nodes() -> None:
    m, before = wt.Mechanism("chain of gimbals"), "ground"
    for k in range(60):
        m.body(f"link {k}", wt.box((0.1, 0.2, 0.5), mass=1.0))
        kind = ("bryant", "euler")[k % 2]
        m.spherical(f"ball {k}", before, f"link {k}", at=(0, 0, 0.25), at_child=(0, 0, -0.25), coordinates=kind)
        before = f"link {k}"
    s = m.build()
    q, rng = s.random(5), np.random.default_rng(5)
    v, tau = 0.3 * rng.normal(size=s.nv), rng.normal(size=s.nv)
    a = s.forward_dynamics(q, v, tau, formulation="articulated")
    back = s.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-8 * np.abs(s.bias_force(q, v)).max())


LOCKED = {"euler": [0.3, 0.0, 0.1], "bryant": [0.3, math.pi / 2, 0.1]}


@pytest.mark.parametrize("coordinates", ["euler", pytest.param("bryant", marks=pytest.mark.deep)])
def test_gimbal_lock_is_told(coordinates: str) -> None:
    s = two_bodies(coordinates).build()
    q = s.random(1)
    q[6:9] = LOCKED[coordinates]
    angle = {"euler": "nutation", "bryant": "turn about y"}[coordinates]
    for call in (s.forward_dynamics, s.reactions):
        with pytest.raises(wt.DynamicsError, match=f'"ball" are in gimbal lock.*{angle}.*quaternion'):
            call(q, s.v0)
    with pytest.raises(wt.SimulationError, match=f'"ball" are in gimbal lock.*{angle}'):
        s.simulate(1.0, q=q)
    assert np.isfinite(s.inverse_dynamics(q, s.v0, s.v0)).all()  # which divides by nothing


def test_gimbal_lock_of_a_cut_ball_is_told() -> None:
    m = wt.Mechanism("ball in a loop")
    m.body("b", wt.box((0.2, 0.3, 0.5), mass=1))
    m.free("pose", m.ground, "b")
    m.spherical("ball", m.ground, "b", coordinates="bryant")
    s = m.build(cut=["ball"])
    for angle, locked in ((1.0, False), (math.pi / 2, True), (math.pi / 2 - 1e-9, True)):
        half = angle / 2
        q = s.configuration({"pose": (math.cos(half), 0, math.sin(half), 0, 0, 0, 0), "ball": (0, angle, 0)})
        if locked:
            with pytest.raises(wt.DynamicsError, match='"ball" are in gimbal lock'):
                s.forward_dynamics(q, s.v0)
        else:
            assert np.isfinite(s.forward_dynamics(q, s.v0)).all()


def test_a_run_into_gimbal_lock_stops_in_words() -> None:
    m = wt.Mechanism("rotor", gravity=(0, 0, 0))
    m.spherical("ball", m.ground, m.body("b", wt.box((0.2, 0.3, 0.5), mass=1)), coordinates="bryant")
    s = m.build()
    for method in ("dopri5", "adams", "dop853"):
        with pytest.raises(wt.SimulationError, match=r'at t = 1\.57.*"ball" are in gimbal lock') as caught:
            s.simulate(3.0, v=(1e-6, 1.0, 0.0), method=method)
        assert np.isfinite(caught.value.trajectory.q).all()
    run = s.simulate(3.0, v=(0.0, 1.0, 0.0), method="rk4", step=1e-3)  # through it along the one axis that is left
    np.testing.assert_allclose(run.q[-1], [0, 3, 0], atol=1e-12)
    assert "gimbal lock" in " ".join(run.certificate["notes"])


@pytest.mark.parametrize("coordinates", SEQUENCES)
def test_files_hold_them(coordinates: str) -> None:
    m = two_bodies(coordinates)
    again = wt.read(write_text(m)).mechanism
    assert again.describe().fingerprint() == m.describe().fingerprint()


def test_other_coordinates_are_refused() -> None:
    m = wt.Mechanism("m")
    with pytest.raises(
        wt.ModelError, match=r'joint "ball".*coordinates must be one of "quaternion", "euler", "bryant"'
    ):
        m.spherical("ball", m.ground, m.body("b"), coordinates="cardan")
