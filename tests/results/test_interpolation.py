"""States between outputs: on the manifold, and as accurate as is said."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from results.runs import QUIET, changed, floating_system, four_bar, pendulum, quarter_car, tumbling
from support.systems import floating, same_bits
from whippletree.results import Trajectory
from whippletree.results.interpolate import unrolled

STRIDES = (20, 10, 5)
"""Every so many outputs of a fine run are kept; the others are what interpolation is compared with."""


def order(errors: list[float]) -> float:
    """Return the slope of errors over step sizes, by regression."""
    return float(np.polyfit(np.log(STRIDES), np.log(errors), 1)[0])


def test_measured_orders_with_quaternions() -> None:
    fine = tumbling()
    system = floating_system()
    positions, velocities = [], []
    for stride in STRIDES:
        again = fine[::stride].resample(fine.t)
        positions.append(np.abs(system.difference(fine.q, again.q)).max())
        velocities.append(np.abs(fine.v - again.v).max())
    assert 3.7 < order(positions) < 4.4
    assert 3.7 < order(velocities) < 4.4
    assert positions[-1] < 1e-5


def test_measured_orders_with_loops() -> None:
    fine = four_bar()
    positions, velocities = [], []
    for stride in (8, 4, 2):
        again = fine[::stride].resample(fine.t)
        positions.append(np.abs(fine.q - again.q).max())
        velocities.append(np.abs(fine.v - again.v).max())
    assert 3.6 < order(positions) < 4.4
    assert 3.6 < order(velocities) < 4.4


def test_measured_orders_with_states_of_elements() -> None:
    fine = quarter_car()
    errors = []
    for stride in (16, 8, 4):
        again = fine[::stride].resample(fine.t)
        errors.append([np.abs(getattr(fine, name) - getattr(again, name)).max() for name in "qvz"])
    for one in np.array(errors).T:
        assert 3.6 < order(one.tolist()) < 4.4


def test_measured_order_of_work() -> None:
    fine = tumbling()
    work = np.stack([np.sin(5 * fine.t), np.cos(4 * fine.t)], axis=1)
    run = changed(fine, work=work)
    errors = []
    for stride in STRIDES:
        again = run[::stride].resample(run.t).work
        assert again is not None
        errors.append(np.abs(again - work).max())
    assert 2.7 < order(errors) < 3.4


def test_quaternions_stay_of_unit_length() -> None:
    run = tumbling()[::40].resample(every=0.003)
    for start in (0, 7):
        assert np.abs(np.linalg.norm(run.q[:, start : start + 4], axis=1) - 1).max() < 1e-14


def test_a_sphere_that_spins_steadily_is_met_exactly() -> None:
    m = wt.Mechanism("planet", gravity=(0.0, 0.0, 0.0))
    m.free("flight", m.ground, m.body("planet", wt.sphere(1.0, mass=1.0)))
    s = m.build()
    t = np.linspace(0.0, 4.0, 5)
    twist = np.array([0.6, 1.7, -2.2, 0.0, 0.0, 0.0])  # 2.8 rad from one output to the next
    q = s.integrate(s.configuration(), t[:, None] * twist)
    run = Trajectory(s, t, q, np.tile(twist, (5, 1)))
    times = np.linspace(0.0, 4.0, 33)
    exact = s.integrate(s.configuration(), times[:, None] * twist)
    assert np.abs(s.difference(exact, run.resample(times).q)).max() < 1e-12


def test_the_sign_of_a_quaternion_does_not_matter() -> None:
    run = tumbling()[::40]
    q = np.array(run.q)
    q[1::2, :4] *= -1
    flipped = changed(run, q=q)
    a, b = run.resample(every=0.013), flipped.resample(every=0.013)
    assert np.abs(floating_system().difference(a.q, b.q)).max() < 1e-12


def test_a_rate_of_a_rotation_vector_is_that_of_its_rotation() -> None:
    system = floating().build()
    rng = np.random.default_rng(0)
    here = system.configuration()
    at = system.q_slice("socket"), system.v_slice("socket")
    for size in (0.0, 1e-6, 1e-3, 0.5, 3.0):
        x = rng.normal(size=3)
        x *= size / np.linalg.norm(x)
        w, eps = rng.normal(size=3), 1e-6

        def turned(by: np.ndarray, start: np.ndarray = here) -> np.ndarray:
            dv = np.zeros(system.nv)
            dv[at[1]] = by
            return system.integrate(start, dv)

        there = turned(x)
        rate = unrolled(x[None], w[None])[0]
        moved = system.difference(turned(-w * eps, there), turned(w * eps, there)) / (2 * eps)
        rolled = system.difference(turned(x - rate * eps), turned(x + rate * eps)) / (2 * eps)
        assert np.allclose(moved, rolled, atol=1e-8)


def test_outputs_are_returned_as_they_are() -> None:
    for run in (pendulum(), tumbling()[:50], four_bar()):
        again = run.resample(run.t)
        assert same_bits(again.q, run.q)
        assert same_bits(again.v, run.v)
        for k in (0, 3, -1):
            assert same_bits(run.at(float(run.t[k])).q, run.q[k])


def test_loops_are_closed_between_outputs() -> None:
    run = four_bar()[::20]
    closed, left = run.resample(every=0.03), run.resample(every=0.03, close=False)
    assert closed.certify().closure_residual < 1e-10
    assert closed.certify().velocity_residual < 1e-9
    assert left.certify().closure_residual > 1e-8
    assert run.at(0.03).q.tolist() == closed.q[1].tolist()


def test_every_goes_as_far_as_the_run() -> None:
    run = pendulum()
    again = run.resample(every=0.1)
    assert np.allclose(again.t, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert again.t[-1] <= run.t[-1]
    assert np.allclose(run.resample(every=0.3).t, [0.0, 0.3])
    assert run.resample(every=0.1).certificate == run.certificate


def test_a_time_beyond_the_end_by_rounding_is_the_end() -> None:
    run = pendulum()
    assert same_bits(run.at(float(np.nextafter(0.5, 1.0))).q, run.q[-1])


def test_efforts_are_held() -> None:
    tau = np.arange(26.0)[:, None]
    run = changed(pendulum(), efforts=tau).resample([0.0, 0.01, 0.02, 0.0399, 0.5])
    assert run.efforts is not None
    assert run.efforts[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 25.0]


def test_without_masses_velocities_come_from_differences() -> None:
    m = wt.Mechanism("drawing", gravity=(0.0, 0.0, 0.0))
    m.revolute("A", m.ground, m.body("pen"), axis="z")
    t = np.linspace(0.0, 1.0, 21)
    run = Trajectory(m.build(), t, np.sin(t)[:, None], np.cos(t)[:, None], None, QUIET)
    with pytest.raises(wt.DynamicsError):
        run.accelerations()
    q, v, _ = run.at(0.475)
    assert abs(q[0] - np.sin(0.475)) < 1e-7
    assert abs(v[0] - np.cos(0.475)) < 1e-5


def test_two_outputs_are_enough() -> None:
    run = pendulum()[:2]
    middle = run.at(0.01)
    h = 0.02
    assert middle.q[0] == pytest.approx(run.q.mean() + h / 8 * (run.v[0, 0] - run.v[1, 0]), abs=1e-15)
