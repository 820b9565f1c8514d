"""Rates of a state, whether they are to be trusted, and Runge-Kutta stages, by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.systems import UPRIGHT, upright_four_bar
from support.time_loops import bound, parallelogram, pendulum
from whippletree.simulate.kernel_calls import NEGATIVE, PIVOT, SMALLEST
from whippletree.simulate.loop_compiler.numba_functions import compiled
from whippletree.simulate.run_state import CLOSE_STAGES, EVALUATIONS, PLAIN, RATES_GIVEN, Status
from whippletree.simulate.run_tolerances import LEAST_ALONG
from whippletree.simulate.runge_kutta import _as_struct
from whippletree.simulate.runge_kutta_stages import along_closures, dense, error, step
from whippletree.simulate.state_rates import evaluate, evaluate_first
from whippletree.simulate.step_output import close_end
from whippletree.simulate.tableaus import METHODS

Array = np.ndarray
G = 9.81


@compiled
def rates(b, run, t, y, k, near):
    return evaluate(b, t, y, k, run.flags, near)


@compiled
def first_rates(b, run, k):
    return evaluate_first(b, run, k)


@compiled
def one_step(b, method, run, h, k, stage, new):
    first = evaluate(b, run.times[0], run.y, k[0], run.flags, 0.0)
    return first + step(b, method, run.times[0], h, run.y, k, stage, run.flags, 0.0, new)


@compiled
def off(method, h, y, new, k, scale, tolerance):
    return error(method, h, y, new, k, scale, tolerance)


@compiled
def along(b, method, run, h, new, k):
    return along_closures(b, method, h, run.times[0] + h, run.y, new, k, run.scale)


@compiled
def inside(method, h, share, y, new, k, here):
    dense(method, h, share, y, new, k, here)


@compiled
def closed_end(b, run, new, reached, unused, end):
    return close_end(b, run, new, reached, unused, end, False)


def test_rates_of_a_pendulum_and_the_power_of_its_drive():
    """theta'' = (tau - m g l / 2 sin theta) / (m l^2 / 3), and the drive's power is tau theta'."""
    bindings, run = bound(pendulum(), q=[0.7], v=[2.0], tau=[0.4])
    y, k = run.y.copy(), np.zeros(4)
    y[0] = 0.1  # a displacement from where the step begins
    assert rates(bindings.buffers, run, 0.0, y, k, 0.0) == Status.DONE
    assert k == pytest.approx([2.0, 3 * (0.4 - G / 2 * np.sin(0.8)), 0.8, 0.0], rel=1e-14)


def test_rates_of_a_free_body_turn_with_it():
    """A displacement is a rotation vector: the rate of one along the angular velocity is that velocity."""
    m = wt.Mechanism("ball", gravity=(0, 0, 0))
    m.free("free", m.ground, m.body("ball", wt.sphere(radius=0.1, mass=1.0)))
    bindings, run = bound(m.build(), v=[0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    y, k = run.y.copy(), np.zeros(run.y.size)
    y[2] = 0.5
    rates(bindings.buffers, run, 0.0, y, k, 0.0)
    assert k[:6] == pytest.approx([0.0, 0.0, 3.0, 0.0, 0.0, 0.0], abs=1e-15)
    assert bindings.buffers.here[:4] == pytest.approx([np.cos(0.25), 0.0, 0.0, np.sin(0.25)])


def test_a_share_of_a_pivot_says_how_far_rates_are_to_be_trusted():
    system = parallelogram(1.0)
    bindings, run = bound(system)
    b, k, y = bindings.buffers, np.zeros(run.y.size), run.y.copy()
    assert rates(b, run, 0.0, y, k, 0.0) == Status.DONE
    assert rates(b, run, 0.0, y, k, 1e3) == Status.UNTRUSTED
    shares, signs = [], []
    for angle in (0.5, 0.1, 0.001, -0.001, -0.1):
        run.q[:] = system.configuration({"A0": angle, "A1": angle, "B": -angle, "C": angle})
        b.q[:] = run.q
        status = rates(b, run, 0.0, y, k, 0.0)
        assert status == (Status.DONE if abs(angle) > 0.05 else Status.POOR)
        shares.append(abs(b.pivots[PIVOT]))
        signs.append(b.pivots[NEGATIVE])
    assert shares[0] > shares[1] > shares[2]
    assert shares[2] == pytest.approx(shares[3], rel=1e-9)
    assert signs[0] == signs[2] != signs[3] == signs[4]
    assert b.pivots[SMALLEST] == min(shares)


def test_stages_may_be_put_on_the_closures_first():
    system = upright_four_bar().build(guess=UPRIGHT)
    v = system.consistent_velocities(system.q0, {"A": 2.0})
    bindings, run = bound(system, v=v)
    y, off_by, on, straight = run.y.copy(), 1e-5, np.zeros(run.y.size), np.zeros(run.y.size)
    y[0] += off_by
    rates(bindings.buffers, run, 0.0, y, straight, 0.0)
    run.flags[CLOSE_STAGES] = 1
    rates(bindings.buffers, run, 0.0, y, on, 0.0)
    assert np.abs(system.closure_residual(bindings.buffers.here)).max() < 1e-14
    nv = system.nv
    a = system.forward_dynamics(bindings.buffers.here, bindings.buffers.v)
    assert on[nv : 2 * nv] == pytest.approx(a, rel=1e-9)
    assert np.abs(on - straight).max() > 1e-2 * off_by


def test_rates_that_are_given_begin_a_step():
    bindings, run = bound(pendulum(), q=[0.7], v=[2.0])
    k = np.zeros(4)
    assert first_rates(bindings.buffers, run, k) == Status.DONE
    assert k[1] == pytest.approx(-1.5 * G * np.sin(0.7))
    run.flags[RATES_GIVEN], run.given[:] = 1, [42.0]
    assert first_rates(bindings.buffers, run, k) == Status.DONE
    assert k.tolist() == [2.0, 42.0, 0.0, 0.0]
    assert run.counts[EVALUATIONS] == 2


def reference(tableau_name: str, h: float, y: Array, q: float) -> tuple[Array, Array]:
    """Take a step of a pendulum in plain Python; return its end and the rates of its stages."""
    method, k = METHODS[tableau_name], []
    for i in range(method.b.size):
        stage = y + h * sum((method.A[i, j] * k[j] for j in range(i)), np.zeros(4))
        k.append(np.array([stage[1], -1.5 * G * np.sin(q + stage[0]), 0.0, 0.0]))
    return y + h * method.b @ np.array(k), np.array(k)


@pytest.mark.parametrize("name", ["rk4", "dopri5", "dop853"])
@pytest.mark.parametrize("plain", [0, 1])
def test_a_step_is_that_of_its_tableau(name: str, plain: int):
    bindings, run = bound(pendulum(), q=[0.7], v=[2.0])
    run.flags[PLAIN] = plain
    method = _as_struct(METHODS[name], True)
    k, stage, new = np.zeros((max(method.b.size, method.dense.shape[0]), 4)), np.zeros(4), np.zeros(4)
    assert one_step(bindings.buffers, method, run, 0.1, k, stage, new) == 0
    end, of_stages = reference(name, 0.1, run.y, 0.7)
    assert new == pytest.approx(end, rel=1e-13)
    assert k[: method.b.size] == pytest.approx(of_stages, rel=1e-12)


def test_semi_implicit_euler_moves_by_the_new_velocity():
    bindings, run = bound(pendulum(), q=[0.7], v=[2.0])
    k, new = np.zeros((1, 4)), np.zeros(4)
    one_step(bindings.buffers, _as_struct(None, False), run, 0.1, k, np.zeros(4), new)
    v = 2.0 - 0.1 * 1.5 * G * np.sin(0.7)
    assert new == pytest.approx([0.1 * v, v, 0.0, 0.0])


def test_the_error_of_a_step_is_measured_by_scale_and_size():
    method = _as_struct(METHODS["dopri5"], True)
    k = np.zeros((7, 4))
    k[0] = [1.0, 2.0, 0.0, 0.0]
    y, new, scale, h, tolerance = (
        np.array([0.0, 3.0, 0.0, 0.0]),
        np.array([0.1, 5.0, 0.0, 0.0]),
        np.array([2.0]),
        0.1,
        1e-3,
    )
    e = METHODS["dopri5"].e[0]
    parts = [h * e / (tolerance * 2.0), h * e * 2.0 / (tolerance * (2.0 + 5.0))]
    assert off(method, h, y, new, k, scale, tolerance) == pytest.approx(np.sqrt(np.square(parts).sum() / 2))


def test_of_an_error_what_closing_takes_off_does_not_count():
    """A point on a circle: the radial part of an error is gone once the end is closed, the tangential part stays."""
    m = wt.Mechanism("pendulum of slides and a rod")
    carrier, bob = m.body("carrier"), m.body("bob", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carrier, axis="x")
    m.prismatic("y", carrier, bob, axis="y")
    m.distance("rod", m.ground, bob, length=1.0)
    bindings, run = bound(m.build(guess={"x": 0.6, "y": 0.8}))
    assert run.scale.tolist() == [1.0, 1.0]
    method, out, round_ = _as_struct(METHODS["dopri5"], True), np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    both = out + round_
    nothing = 0 * out
    for u, v, share in (
        (round_, nothing, 1.0),
        (nothing, round_, 1.0),
        (out, nothing, LEAST_ALONG),
        (nothing, out, LEAST_ALONG),
        (both, nothing, np.sqrt(0.5)),
        (nothing, both, np.sqrt(0.5)),
        (round_, out, np.sqrt(0.5)),
    ):
        k = np.zeros((7, run.y.size))
        k[0, :4] = 1e-7 * np.concatenate([u, v]) / (0.1 * method.e[0])
        assert along(bindings.buffers, method, run, 0.1, run.y, k) == pytest.approx(share, rel=1e-5)


@pytest.mark.parametrize("name", ["rk4", "dopri5", "dop853"])
def test_dense_output_meets_both_ends(name: str):
    rng, method = np.random.default_rng(3), _as_struct(METHODS[name], True)
    k, y, here = rng.normal(size=(method.dense.shape[0], 4)), rng.normal(size=4), np.zeros(4)
    new = y + 0.2 * METHODS[name].b @ k[: method.b.size]
    for share, end in ((0.0, y), (1.0, new)):
        inside(method, 0.2, share, y, new, k, here)
        assert here == pytest.approx(end, abs=1e-13)


def test_the_end_of_a_step_is_put_on_the_closures_or_refused():
    system = upright_four_bar().build(guess=UPRIGHT)
    bindings, run = bound(system, v=system.consistent_velocities(system.q0, {"A": 2.0}))
    new, reached, unused = run.y.copy(), np.zeros(run.row_size), np.zeros(run.y.size)
    new[0] += 1e-6
    assert closed_end(bindings.buffers, run, new, reached, unused, 0.0) == Status.DONE
    assert np.abs(system.closure_residual(reached[: system.nq])).max() < 1e-12
    new[1] = np.nan
    assert closed_end(bindings.buffers, run, new, reached, unused, 0.0) == Status.NOT_FINITE
