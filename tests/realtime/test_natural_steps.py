"""Steps of fixed work in natural coordinates: against simulations, the time loop, and a C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import whippletree as wt
from support.natural_models import geared_pair
from support.sampling import deep
from whippletree.errors import StateError
from whippletree.kernels.lowering import StraightLine
from whippletree.kernels.tape import read_tape
from whippletree.realtime import StepStatus
from whippletree.system.example_systems import four_bar


def swing() -> wt.System:
    """A ball, a hinge, a spring and a parameter: quaternions, forces that depend on the state, a place for wrenches."""
    m = wt.Mechanism("swing")
    stiffness = m.parameter("k", 4.0)
    m.body("arm", wt.box((0.6, 0.1, 0.1), mass=2.0, at=(0.3, 0, 0)))
    m.body("flap", wt.box((0.3, 0.2, 0.1), mass=1.0, at=(0.15, 0.05, 0)))
    m.spherical("ball", m.ground, "arm")
    m.revolute("hinge", "arm", "flap", at=(0.6, 0, 0), axis="y")
    m.torsion_spring("spring", "hinge", stiffness=stiffness, damping=0.1)
    return m.build()


def after(stepper, duration: float) -> None:
    for _ in range(round(duration / stepper.options.step)):
        assert stepper.step() is StepStatus.DONE, stepper.cause


@pytest.mark.parametrize(
    ("make", "projections"), [(four_bar, False), *deep([(four_bar, True), (swing, False), (swing, True)])]
)
def test_order_two(make, projections):
    s = make()
    exact = s.simulate(0.4, method="dop853", tolerance=1e-12, times=[0.0, 0.4])
    errors = []
    for h in (4e-3, 2e-3):
        stepper = s.realtime(step=h, method="natural", iterations=3, projections=projections)
        after(stepper, 0.4)
        errors.append(np.abs(s.difference(exact.q[-1], stepper.q)).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)
    assert errors[1] < 1e-4


def test_steps_are_those_of_the_time_loop():
    """The same rule with the same settings: natural coordinates and joint coordinates agree, closed loops included."""
    s = four_bar()
    run = s.simulate(0.1, formulation="natural", step=2e-3, iterations=2, every=0.1, tau={"A": 2.0})
    stepper = s.realtime(step=2e-3, method="natural", iterations=2)
    stepper.set(tau={"A": 2.0})
    stepper.reset()
    after(stepper, 0.1)
    assert stepper.q == pytest.approx(run.q[-1], abs=1e-9)
    assert stepper.v == pytest.approx(run.v[-1], abs=1e-7)
    assert np.abs(s.closure_residual(stepper.q)).max() < 1e-9


def test_inputs_act():
    s = swing()
    start = {"q": s.integrate(s.q0, [0.1, 0.2, 0.0, 0.3]), "v": [0.5, 0.0, 1.0, -1.0]}
    wrench = [0.1, 0.2, 0.0, 0.0, 2.0, 1.0]
    stepper = s.realtime(step=1e-4, method="natural", wrenches=["flap"], **start)
    stepper.set(parameters={"k": 30.0}, tau={"hinge": 0.4})
    stepper.set_wrench("flap", wrench)
    stepper.reset(**start, parameters={"k": 30.0})
    expected = s.forward_dynamics(
        start["q"], start["v"], {"hinge": 0.4}, wrenches={"flap": wrench}, parameters={"k": 30.0}
    )
    after(stepper, 1e-3)
    assert (stepper.v - start["v"]) / 1e-3 == pytest.approx(expected, rel=0.02, abs=0.05)


@pytest.mark.parametrize("method", ["natural", "rk4", "linearly_implicit"])
def test_every_step_is_the_same_straight_line(method):
    """In LLVM's language a step has no jump but to the system's sine for angles beyond 1e6: all runs in every step."""
    stepper = four_bar().realtime(method=method, iterations=2)
    text = StraightLine(stepper.function).ir(name="step", width=1, pack=1, fused=False)
    jumps = [line for line in text.splitlines() if " br i1 " in line or " switch " in line]
    # %go says that there is a place for the result; it parts long texts into blocks.
    assert "@step(" in text and all(line.strip().startswith(("br i1 %big,", "br i1 %go,")) for line in jumps)
    assert text.count("%go = ") == text.count("%go = icmp ne ptr %out, null")
    assert stepper.operations == read_tape(stepper.function).count()


def test_lengths_that_are_parameters():
    """Natural coordinates are those of the lengths that are given, in steps and in the time loop."""
    m = wt.Mechanism("two rods")
    length = m.parameter("length", 0.5)
    for name in ("first", "second"):
        m.body(name, wt.box((0.6, 0.1, 0.1), mass=2.0, at=(0.3, 0, 0)))
    m.revolute("A", m.ground, "first", axis="y")
    m.revolute("B", "first", "second", at=(length, 0, 0), axis="y")
    s = m.build()
    start = {"q": [0.1, 0.2], "v": [1.0, 2.0], "parameters": {"length": 0.8}}
    exact = s.simulate(0.05, tolerance=1e-10, times=[0.0, 0.05], **start).q[-1]
    stepper = s.realtime(method="natural", **start)
    after(stepper, 0.05)
    assert stepper.q == pytest.approx(exact, abs=1e-6)
    run = s.simulate(0.05, formulation="natural", step=1e-3, **start)
    assert run.q[-1] == pytest.approx(exact, abs=1e-6)


def test_what_does_not_converge_keeps_the_state():
    stepper = swing().realtime(step=0.5, method="natural", iterations=1, v=[0.0, 40.0, 0.0, 60.0])
    before = stepper.state
    while stepper.step() is StepStatus.DONE:
        before = stepper.state
        assert stepper.t < 20.0
    assert stepper.status in (StepStatus.ITERATIONS, StepStatus.NOT_FINITE) and stepper.cause
    assert (stepper.state == before).all()


def test_refused():
    m = wt.Mechanism("driven")
    m.revolute("A", m.ground, m.body("rod", wt.rod(1.0, 1.0)), prescribed=True)
    for make, words in (
        (lambda: m.build().realtime(method="natural"), 'joint "A" is prescribed. Take one of the methods in joint'),
        (lambda: four_bar().realtime(mu=1e-3), 'mu= belongs to method="natural"'),
        (lambda: four_bar().realtime(method="natural", formulation="composite"), "has equations of its own"),
        (lambda: four_bar().realtime(method="natural", mu=1e-3, projections=True), "leave mu= out"),
        (lambda: four_bar().realtime(method="natural", alpha={"rod 9": 1.0}), "there is no condition"),
    ):
        with pytest.raises(StateError, match=words):
            make()


@pytest.mark.parametrize("make", [four_bar, *deep([geared_pair])])
def test_the_c_source_steps_as_the_stepper_does(make, tmp_path):
    """One step from each of 100 states of a closed loop or a gear, what the method remembers included.

    Accelerations of the rule are 4/h^2 d and more: a bit of the displacement d is as many times as much there.
    """
    assert shutil.which("gcc"), "this test needs gcc"
    s = make()
    stepper = s.realtime(step=2e-3, method="natural", iterations=2)
    file, library = tmp_path / "bar.c", tmp_path / "bar.so"
    file.write_text(s.c_source("step", step=2e-3, method="natural", iterations=2, prefix="bar"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, file, "-lm"], check=True)
    code = ctypes.CDLL(str(library))
    state, inputs = np.zeros(stepper.state.size), np.zeros(s.nv)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (state, inputs)]
    code.bar_init(*pointers)
    assert (state == stepper.state).all()
    rng, n = np.random.default_rng(3), s.natural.n_coordinates
    second = np.r_[s.nq + s.nv + 2 * n : s.nq + s.nv + 3 * n]
    run = s.simulate(1.0, every=0.01)
    for q, v in zip(run.q[:100], run.v[:100], strict=True):
        tau = rng.normal(size=s.nv)
        stepper.set(tau=tau)
        stepper.reset(q=q, v=v)
        state[:], inputs[:] = stepper.state, tau
        assert stepper.step() is StepStatus.DONE
        assert code.bar_step(*pointers) == 0
        off = np.abs(state - stepper.state)
        assert off[second].max() * 2e-3**2 / 4 < 1e-15
        assert np.delete(off, second).max() < 1e-13 * (1 + np.abs(np.delete(state, second)).max())
