"""Steps of fixed work: against closed forms, exact amplification, simulations, and a C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tracemalloc

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import StateError
from whippletree.realtime import StepStatus
from whippletree.realtime.step_timing import StepTiming

ORDERS = {"semi_implicit": 1, "rk2": 2, "rk4": 4, "linearly_implicit": 2}


def four_bar(**options) -> wt.System:
    m = wt.Mechanism("four-bar")
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5)):
        m.body(name, wt.rod(length, length, axis="x"))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank", "coupler", at=(1, 0, 0), axis="y")
    m.revolute("C", "coupler", "rocker", at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, "rocker", at=(2, 0, 0), axis="y")
    return m.build(guess={"A": -1.2}, **options)


def top_on_a_cart() -> wt.Mechanism:
    """Quaternions, an auxiliary state, a force in time, a parameter and a place for wrenches."""
    m = wt.Mechanism("top on a cart")
    stiffness = m.parameter("k", 30.0)
    m.body("cart", mass=2.0)
    m.body("top", mass=1.0, com=(0, 0, 0.3), inertia=[0.1, 0.1, 0.05])
    m.prismatic("slide", m.ground, "cart", axis="x")
    m.spherical("ball", "cart", "top")
    lagged = m.state("lagged", 0.2, rate=lambda z: 5.0 * (m.coordinate("slide") - z))
    m.actuator("push", "slide", effort=3.0 * m.time - stiffness * lagged)
    return m


def after(stepper, duration: float) -> np.ndarray:
    for _ in range(round(duration / stepper.options.step)):
        assert stepper.step() is StepStatus.DONE
    return np.concatenate([stepper.q, stepper.v, stepper.z])


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("mechanism", ["tree", "loop"])
def test_methods_have_their_order(method, mechanism):
    s = four_bar() if mechanism == "loop" else top_on_a_cart().build()
    start = {"q": s.q0} if mechanism == "loop" else {"q": s.integrate(s.q0, [0.1, 0.4, 0.2, 0.0]), "v": [0, 0, 1, 9.0]}
    run = s.simulate(0.4, method="dop853", tolerance=1e-12, times=[0.0, 0.4], **start)
    exact = np.concatenate([run.q[-1], run.v[-1], run.z[-1]])
    h = {"rk4": 4e-3, "semi_implicit": 2e-4}.get(method, 1e-3)
    errors = [np.abs(after(s.realtime(step=step, method=method, **start), 0.4) - exact).max() for step in (h, h / 2)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[method], abs=0.25)
    assert errors[1] < {1: 1e-2, 2: 1e-4, 4: 1e-8}[ORDERS[method]]


def test_loops_stay_closed_in_positions_and_velocities():
    s = four_bar()
    stepper = s.realtime(step=5e-3, method="semi_implicit")
    after(stepper, 2.0)
    assert np.abs(s.closure_residual(stepper.q)).max() < 1e-12
    assert np.abs(s.closure_jacobian(stepper.q) @ stepper.v).max() < 1e-10


@pytest.mark.parametrize("h", [1e-3, 0.1, 10.0])
def test_the_linearly_implicit_step_is_that_of_its_stability_function(h):
    """On a linear oscillator a step multiplies [x; v] by R(h A), R(z) = (1 + (1 - 2 g) z) / (1 - g z)^2."""
    m, k, d = 2.0, 5e4, 30.0
    mechanism = wt.Mechanism("oscillator", gravity=(0, 0, 0))
    mechanism.prismatic("x", mechanism.ground, mechanism.body("mass", mass=m), axis="x")
    mechanism.actuator("spring", "x", effort=-k * mechanism.coordinate("x") - d * mechanism.rate("x"))
    stepper = mechanism.build().realtime(step=h, method="linearly_implicit", q=[0.3], v=[-1.0])
    stepper.step()
    A, g, one = h * np.array([[0.0, 1.0], [-k / m, -d / m]]), 1 - 1 / np.sqrt(2), np.eye(2)
    inverse = np.linalg.inv(one - g * A)
    expected = inverse @ inverse @ (one + (1 - 2 * g) * A) @ [0.3, -1.0]
    assert [*stepper.q, *stepper.v] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_step_is_that_of_the_simulation():
    s = top_on_a_cart().build()
    start = {"q": s.integrate(s.q0, [0.1, 0.4, 0.2, 0.0]), "v": [0, 0, 1, 9.0]}
    run = s.simulate(0.1, method="rk4", step=1e-3, times=[0.0, 0.1], **start)
    stepper = s.realtime(step=1e-3, method="rk4", **start)
    assert after(stepper, 0.1) == pytest.approx(np.concatenate([run.q[-1], run.v[-1], run.z[-1]]), abs=1e-12)
    assert stepper.t == pytest.approx(0.1)


def test_inputs_act_and_are_checked():
    s = top_on_a_cart().build()
    stepper = s.realtime(step=1e-3, method="semi_implicit", wrenches=["top"])
    assert list(stepper.inputs) == ["tau", "wrench on top", "parameters"]
    rest = s.forward_dynamics(stepper.q, stepper.v, [1.0, 0, 0, 0], wrenches={"top": [0, 0, 0.2, 0, 3.0, 0]})
    stepper.set_wrench("top", [0, 0, 0.2, 0, 3.0, 0])
    stepper.step({"slide": 1.0})
    assert stepper.v == pytest.approx(1e-3 * rest, rel=1e-12)
    stepper.set(parameters={"k": 99.0})
    assert stepper.inputs["parameters"] == [99.0]
    for wrong, words in (
        (lambda: stepper.step([1.0]), "tau must have 4 numbers"),
        (lambda: stepper.step([np.nan] * 4), "tau has entries that are not finite"),
        (lambda: stepper.set(force=[1.0]), 'no input "force"'),
        (lambda: stepper.set_wrench("cart", np.zeros(6)), "list it in wrenches="),
        (lambda: s.realtime(step=0.0), "step= must be a positive number"),
        (lambda: s.realtime(method="euler"), 'no real-time method "euler"'),
        (lambda: s.realtime(iterations=0), "iterations= must be a whole number"),
        (lambda: stepper.measure(0), "steps must be a whole number from 1 to"),
        (lambda: stepper.c_source(name="1x"), "name= must be a name that C takes"),
        (lambda: s.realtime(q=[1.0]), "q must have 5 numbers"),
        (lambda: s.realtime(wrenches="top"), "wrenches= must list the bodies or frames"),
        (lambda: s.realtime(wrenches=None), "wrenches= must list the bodies or frames"),
        (lambda: stepper.run(0.01, 5), "control must be a function of the stepper"),
    ):
        with pytest.raises(StateError, match=words):
            wrong()
    stepper.inputs["tau"][0] = np.inf
    with pytest.raises(StateError, match="the input tau has entries that are not finite"):
        stepper.step()


def test_events_are_refused_by_name():
    m = wt.Mechanism("m")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(1.0, 1.0)))
    m.event("through zero", m.coordinate("hinge"), stop=True)
    with pytest.raises(StateError, match='"through zero"'):
        m.build().realtime()


def test_what_cannot_be_stepped_keeps_the_state_and_names_the_cause():
    m = wt.Mechanism("explosive", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    m.actuator("push", "x", effort=1e200 * m.coordinate("x") ** 3)
    stepper = m.build().realtime(q=[1.0])
    assert stepper.step() is StepStatus.NOT_FINITE and "not finite" in stepper.cause
    assert (stepper.q, stepper.t) == ([1.0], 0.0)
    stepper.reset(q=[0.0])
    assert stepper.step() is StepStatus.DONE and stepper.cause == ""


def test_a_run_into_a_singular_position_stops_there():
    m = wt.Mechanism("parallelogram", gravity=(0, 0, 0))
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.0)):
        m.body(name, wt.rod(length, length, axis="x"))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank", "coupler", at=(1, 0, 0), axis="y")
    m.revolute("C", "coupler", "rocker", at=(2, 0, 0), at_child=(1, 0, 0), axis="y")
    m.revolute("D", m.ground, "rocker", at=(2, 0, 0), axis="y")
    s = m.build(guess={"A": -1.0, "B": 1.0, "D": -1.0})
    stepper = s.realtime(step=1e-4, v={"A": 1.0})
    while stepper.step() is StepStatus.DONE:
        assert stepper.t < 1.5
    assert stepper.status in (StepStatus.SINGULAR, StepStatus.COORDINATES) and stepper.cause
    assert abs(stepper.q[0]) < 0.05 and np.isfinite(stepper.q).all()
    before = stepper.state
    assert stepper.step() is not StepStatus.DONE
    assert (stepper.state == before).all()


def test_steps_allocate_nothing():
    stepper = four_bar().realtime()
    for _ in range(100):
        stepper.step()
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    for _ in range(2000):
        stepper.step()
    grown = [each for each in tracemalloc.take_snapshot().compare_to(before, "filename") if "realtime" in str(each)]
    tracemalloc.stop()
    assert sum(each.size_diff for each in grown) < 500  # the present status, not a step's


def test_the_c_source_steps_as_the_stepper_does(tmp_path):
    """Compiled by itself with warnings as errors; one step from each of 100 states, poses and velocities beside."""
    assert shutil.which("gcc"), "this test needs gcc"
    s = top_on_a_cart().build()
    stepper = s.realtime(step=2e-3, wrenches=["top"])
    text = s.c_source("step", step=2e-3, wrenches=["top"], prefix="cart", frames=["top"])
    assert not any(word in text for word in ("malloc", "calloc", "printf"))
    file, library = tmp_path / "cart.c", tmp_path / "cart.so"
    file.write_text(text)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, file, "-lm"], check=True)
    code = ctypes.CDLL(str(library))
    state, inputs, results = np.zeros(5 + 4 + 1 + 1), np.zeros(4 + 6 + 1), np.zeros(16 + 6)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (state, inputs, results)]
    code.cart_init(*pointers[:2])
    assert (state == stepper.state).all() and inputs[-1] == 30.0
    rng = np.random.default_rng(5)
    for _ in range(100):
        q, v = s.random(rng), rng.normal(size=4)
        tau, wrench, t = rng.normal(size=4), rng.normal(size=6), rng.uniform()
        stepper.reset(q=q, v=v, z=rng.normal(size=1), t=t)
        stepper.set(tau=tau)
        stepper.set_wrench("top", wrench)
        state[:], inputs[:10] = stepper.state, [*tau, *wrench]
        code.cart_outputs(*pointers)
        assert results[:16].reshape(4, 4) == pytest.approx(s.pose(q, "top"), abs=1e-13)
        assert results[16:] == pytest.approx(s.velocity(q, v, "top"), abs=1e-13)
        assert stepper.step() is StepStatus.DONE
        assert code.cart_step(*pointers[:2]) == 0
        assert np.abs(state - stepper.state).max() < 1e-13 * (1 + np.abs(state).max())


def test_c_source_has_a_name_for_everything(tmp_path):
    """Names that are the same in C get a number, names that are no C are comments, and each frame stands there once."""
    m = wt.Mechanism("names")
    m.parameter("k /* spring */", 3.0)
    for name in ("left hand", "left_hand"):
        m.body(name, mass=1.0, inertia=[1.0, 1.0, 1.0])
    m.revolute("j/*", m.ground, "left hand")
    m.spherical("*/", "left hand", "left_hand")
    s = m.build()
    places = ["left hand", "left_hand"]
    text = s.c_source("step", wrenches=places, prefix="hands", frames=[*places, "left hand"])
    for words in ("wrench_on_left_hand_2[6]", "pose_left_hand[16]", "velocity_left_hand_2[6]", "k / * spring * /"):
        assert text.count(words) == 1, words
    assert text.count('angular velocity of joint "j/ *"') == 2  # of v and tau
    file = tmp_path / "m.c"
    file.write_text(text)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "m.so", file, "-lm"], check=True)
    for wrong in ("left hand", None, 5):
        with pytest.raises(StateError, match="frames= must list"):
            s.c_source("step", frames=wrong)


def test_c_source_reads_splines(tmp_path):
    m = wt.Mechanism("driven")
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    law = wt.Spline([0.0, 0.5, 1.0, 2.0], [0.0, 1.0, -1.0, 0.5])
    m.actuator("push", "x", effort=law(m.time))
    s = m.build()
    file, library = tmp_path / "m.c", tmp_path / "m.so"
    file.write_text(s.c_source("step", step=0.05))
    subprocess.run(["gcc", "-std=c99", "-Werror", "-shared", "-fPIC", "-o", library, file, "-lm"], check=True)
    code, stepper, state, inputs = ctypes.CDLL(str(library)), s.realtime(step=0.05), np.zeros(3), np.zeros(1)
    for _ in range(50):
        stepper.step()
        assert code.model_step(ctypes.c_void_p(state.ctypes.data), ctypes.c_void_p(inputs.ctypes.data)) == 0
        assert state == pytest.approx(stepper.state, abs=1e-13)


def test_timing_tells_what_it_means():
    timing = four_bar().realtime().measure(1000)
    assert 0 < timing.median <= timing.percentile_999 <= timing.worst and timing.late_999 <= timing.latest
    assert timing.steps == 1000 and "99.9th percentile" in str(timing)
    good, held, slow = (StepTiming(x, x, x, x, y, 1, 1e-3) for x, y in ((1e-6, 1e-6), (1e-6, 2e-3), (2e-3, 2e-3)))
    assert "within its own length" in good.verdict
    assert "interrupted" in held.verdict
    assert "no real time" in slow.verdict


def test_a_paced_run_keeps_time_and_hands_over_control():
    stepper = four_bar().realtime(step=2e-3)
    seen = []
    run = stepper.run(0.05, lambda now: seen.append(now.t) or now.set(tau={"A": 2.0}), pace=2.0)
    assert len(seen) == 25 and run.t[-1] == pytest.approx(0.05) and run.late.shape == (25,)
    assert run.missed <= 25 and "deadlines missed" in str(run)
    assert np.abs(stepper.system.closure_residual(run.q[-1])).max() < 1e-12
