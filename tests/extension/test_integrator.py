"""Drill: an integrator that is no Runge-Kutta tableau, added through the public contract and nothing else.

Two-step Adams-Bashforth, y1 = y + h (3 f - f0) / 2, with its own memory (the rates f0 of the step before and its size),
begun by a midpoint step; and a leapfrog that estimates its error and chooses its steps.
"""

from __future__ import annotations

import functools
import itertools
import math
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from support.systems import UPRIGHT, upright_four_bar
from whippletree.simulate import MethodOptions, MotionRates, PythonStepper, Simulation, method_names, register_stepper
from whippletree.simulate.run_state import Status
from whippletree.simulate.steppers import Stretch

Array = np.ndarray


class AdamsBashforth(PythonStepper):
    """Two steps, order two."""

    def step(self, rates: MotionRates, t: float, h: float, y: Array) -> Array:
        if self.memory.size and self.memory[0] == h:
            new = y + h * (1.5 * rates.first - 0.5 * self.memory[1:])
        elif self.memory.size:  # the step before had another size
            ratio = h / self.memory[0]
            new = y + h * ((1 + ratio / 2) * rates.first - ratio / 2 * self.memory[1:])
        else:
            new = y + h * rates(t + h / 2, y + h / 2 * rates.first)
        self.memory = np.concatenate([[h], rates.first])
        return new


class Leapfrog(PythonStepper):
    """Velocity Verlet, with the error of Euler's explicit step as the estimate."""

    estimates_error = True
    adaptive_by_default = True
    order = 2

    def step(self, rates: MotionRates, t: float, h: float, y: Array) -> Array:
        nv, first = rates.nv, rates.first
        new = y + h * first
        new[:nv] += h * h / 2 * first[nv : 2 * nv]
        last = rates(t + h, new)
        new[nv:] = y[nv:] + h / 2 * (first[nv:] + last[nv:])
        return new

    def error(self, rates: MotionRates, t: float, h: float, y: Array, new: Array) -> Array:
        return (new - y - h * rates.first) / 4


register_stepper("adams_bashforth_2", AdamsBashforth)
register_stepper("leapfrog", Leapfrog)


@functools.cache
def pendulum() -> wt.System:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    return m.build()


@functools.cache
def tumbler() -> wt.System:
    m = wt.Mechanism("tumbler", gravity=(0, 0, 0))
    m.free("free", m.ground, m.body("box", wt.box(size=(0.1, 0.2, 0.3), mass=1.0)))
    return m.build()


@functools.cache
def four_bar() -> tuple[wt.System, Array]:
    s = upright_four_bar().build(guess=UPRIGHT)
    return s, s.consistent_velocities(s.q0, {"A": 2.0})


@functools.cache
def bouncer() -> wt.System:
    """A ball that falls from a height of one, and turns back with 0.8 of its velocity at zero."""
    m = wt.Mechanism("bouncer")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    bounce = {"height": -0.8 * m.rate("height")}
    m.event("bounce", m.coordinate("height"), direction="falling", velocities=bounce)
    m.event("top", m.rate("height"), direction="falling")
    m.event("high", m.coordinate("height") - 2.0, direction="rising", stop=True)
    return m.build()


def orders(errors: list[float]) -> list[float]:
    return [math.log2(a / b) for a, b in itertools.pairwise(errors)]


def test_order_on_a_pendulum_against_its_first_integral_and_a_quarter_period():
    """Released level, a rod swings through its lowest point after a quarter period, K(1/2) sqrt(2 l / 3 g)."""
    quarter = 1.8540746773013719 * math.sqrt(2 / (3 * 9.81))
    errors = []
    for n in (50, 100, 200, 400):
        run = pendulum().simulate(
            quarter, times=[quarter], q=[math.pi / 2], method="adams_bashforth_2", step=quarter / n
        )
        errors.append(abs(run.q[-1, 0]) + abs(abs(run.v[-1, 0]) - math.sqrt(3 * 9.81)))
    assert all(1.8 < p < 2.3 for p in orders(errors)), errors


@pytest.mark.parametrize("name", ["tumbler", "four-bar"])
def test_order_with_quaternions_and_with_loops(name: str):
    system, start = (tumbler(), {"v": [1.0, 3.0, 0.5, 0.2, 0.0, 0.4]})
    if name == "four-bar":
        system, v = four_bar()
        start = {"v": v}
    exact = system.simulate(0.4, times=[0.4], method="dop853", tolerance=1e-13, **start)
    errors = []
    for n in (100, 200, 400):
        run = system.simulate(0.4, times=[0.4], method="adams_bashforth_2", step=0.4 / n, **start)
        errors.append(max(np.abs(run.q - exact.q).max(), np.abs(run.v - exact.v).max()))
    assert all(1.8 < p < 2.3 for p in orders(errors)), errors


def test_loops_stay_closed_and_the_run_is_certified():
    system, v = four_bar()
    run = system.simulate(1.0, every=0.013, v=v, method="adams_bashforth_2", step=1e-3)
    assert len(run) == 78
    assert run.certificate.steps == 1000
    assert run.certificate.closure_residual < 1e-12
    assert run.certificate.velocity_residual < 1e-12
    assert max(np.abs(system.closure_residual(q)).max() for q in run.q) < 1e-12
    fine = system.simulate(0.1, every=0.013, v=v, method="adams_bashforth_2", step=2e-5)
    assert fine.certificate.ok


def test_flat_positions_are_crossed_by_another_method_and_logged():
    """Two parallelograms that swing through their flat positions."""
    m = wt.Mechanism("parallelogram", gravity=(0, 0, 0))
    rockers = [m.body(f"rocker {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(2)]
    coupler = m.body("coupler", wt.rod(length=1.0, mass=1.0, axis="x"))
    for i, rocker in enumerate(rockers):
        m.revolute(f"A{i}", m.ground, rocker, at=(i, 0, 0))
    m.revolute("B", rockers[0], coupler, at=(1, 0, 0))
    m.revolute("C", coupler, rockers[1], at=(1, 0, 0), at_child=(1, 0, 0))
    angles = {"A0": 1.0, "A1": 1.0, "B": -1.0, "C": 1.0}
    s = m.build(guess=angles)
    v = s.consistent_velocities(s.q0, {"A0": -2.0})
    run = s.simulate(1.0, times=[1.0], v=v, method="adams_bashforth_2", step=1e-3)
    assert run.certificate.singular == pytest.approx([0.5], abs=1e-4)
    assert run.q[-1, s.q_slice("A0")] == pytest.approx(-1.0, abs=1e-6)


def test_events_stop_and_set_values():
    system = bouncer()
    run = system.simulate(3.0, every=0.1, q=[1.0], method="adams_bashforth_2", step=1e-3)
    g, fall = 9.81, math.sqrt(2 / 9.81)
    first = [e.t for e in run.events if e.name == "bounce"][:2]
    # AB2 is exact for constant accelerations, up to rounding
    assert first == pytest.approx([fall, fall + 2 * 0.8 * math.sqrt(2 * g) / g], abs=1e-9)
    top = next(e for e in run.events if e.name == "top" and e.t > first[0])
    assert top.q[0] == pytest.approx(0.64, abs=1e-9)
    thrown = system.simulate(3.0, every=0.1, q=[1.0], v=[8.0], method="adams_bashforth_2", step=1e-3)
    when = (8.0 - math.sqrt(64 - 2 * g)) / g
    assert thrown.info["ended_by"] == "high"
    assert thrown.t[-1] == pytest.approx(when, abs=1e-9)


def test_outputs_at_asked_times_are_as_good_as_steps():
    times = np.sort(np.random.default_rng(1).uniform(0.0, 1.0, 40))
    options = {"q": [1.0], "method": "adams_bashforth_2", "step": 2e-3}
    inside = pendulum().simulate(1.0, times=times, **options)
    exact = pendulum().simulate(1.0, times=times, q=[1.0], method="dop853", tolerance=1e-13)
    assert np.array_equal(inside.t, times)
    every = pendulum().simulate(1.0, every=2e-3, **options)
    steps = pendulum().simulate(1.0, every=2e-3, q=[1.0], method="dop853", tolerance=1e-13)
    assert np.abs(inside.q - exact.q).max() < 1.01 * np.abs(every.q - steps.q).max()
    on_steps = pendulum().simulate(1.0, times=every.t[1::50], **options)
    assert np.array_equal(every.q[1::50][:-1], on_steps.q[:-1])  # outputs do not touch the steps before the last


def test_a_controller_is_asked_at_its_period():
    asked: list[float] = []

    def control(t: float, q: Array, v: Array, z: Array) -> list[float]:
        asked.append(t)
        return [-3.0 * v[0]]

    run = pendulum().simulate(
        1.0, every=0.1, q=[1.0], controller=control, period=0.05, method="adams_bashforth_2", step=1e-3
    )
    assert asked == pytest.approx(0.05 * np.arange(20))
    assert run.certificate.ok
    assert np.abs(run.v[-1, 0]) < 2.0


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("name", ["bouncer", *rest(["pendulum", "four-bar"])])
@pytest.mark.parametrize("method", [{"method": "adams_bashforth_2", "step": 1e-3}, {"method": "leapfrog"}])
def test_resumed_runs_have_the_same_bits(
    name: str, method: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from whippletree.simulate import progress
    from whippletree.studies import checkpoint_files

    system, v = four_bar()
    start: dict[str, object] = {"v": v}
    if name != "four-bar":
        system, start = (pendulum(), {"q": [1.0]}) if name == "pendulum" else (bouncer(), {"q": [1.0]})
    options = {"every": 0.01, **method, **start}
    whole = system.simulate(0.6, **options)
    monkeypatch.setattr(progress, "_FIRST", 7)
    monkeypatch.setattr(progress, "_MOST", 7)
    looks: Iterator[int] = iter(range(1000))

    def look(self: checkpoint_files.CheckpointWriter, run: object) -> None:
        if next(looks) == 9:
            self.write(run)
            raise StoppedError

    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_files.CheckpointWriter, "look", look)
        with pytest.raises(StoppedError):
            system.simulate(0.6, checkpoint=path, **options)
    found = checkpoint_files.read_checkpoint(path, system).run.simulation
    assert 0.0 < found.state.t < 0.5
    again = wt.resume(path, system)
    assert np.array_equal(whole.q, again.q)
    assert np.array_equal(whole.v, again.v)
    assert whole.certificate.steps == again.certificate.steps


def test_clones_and_pickles_go_on_to_the_same_bits():
    sim = Simulation(pendulum(), q=[1.0], method="adams_bashforth_2", step=1e-3)
    sim.step(0.1)
    twin, thawed = sim.clone(), pickle.loads(pickle.dumps(sim))
    assert sim.stepper.memory.size == 5
    for one in (sim, twin, thawed):
        one.step(0.1)
    assert sim.state.q == twin.state.q == thawed.state.q
    fresh = sim.clone()
    fresh.state = sim.state  # a state that is set has no history
    assert fresh.stepper.memory.size == 0


def test_a_method_that_estimates_its_error_chooses_its_steps():
    exact = pendulum().simulate(1.0, times=[1.0], q=[1.0], method="dop853", tolerance=1e-13)
    found = [
        pendulum().simulate(1.0, times=[1.0], q=[1.0], method="leapfrog", tolerance=tolerance)
        for tolerance in (1e-4, 1e-6)
    ]
    off = [abs(run.q[-1, 0] - exact.q[-1, 0]) for run in found]
    assert off[1] < 0.1 * off[0]
    assert found[1].certificate.steps > 4 * found[0].certificate.steps
    assert abs(found[1].certificate.energy_end - found[1].certificate.energy_start) < 1e-5


def test_what_is_wrong_is_refused_in_words():
    assert {"adams_bashforth_2", "leapfrog"} <= set(method_names())
    with pytest.raises(wt.StateError, match=r"there is no method 'adams_bashforth_3'; choose one of .*leapfrog"):
        pendulum().simulate(1.0, method="adams_bashforth_3")
    with pytest.raises(wt.StateError, match=r'method "adams_bashforth_2" takes steps of a fixed size: give step='):
        pendulum().simulate(1.0, method="adams_bashforth_2")
    with pytest.raises(wt.StateError, match=r'method "adams_bashforth_2" does not estimate its error'):
        pendulum().simulate(1.0, method="adams_bashforth_2", step=1e-3, adaptive=True)
    with pytest.raises(wt.StateError, match="spectral_radius"):
        Leapfrog(MethodOptions("leapfrog", spectral_radius=0.5))


class Broken(PythonStepper):
    def step(self, rates: MotionRates, t: float, h: float, y: Array) -> Array:
        return y + (np.nan if t > 0.5 else 0.0)


def test_a_step_that_is_not_finite_ends_the_run_with_what_was_computed():
    register_stepper("broken", Broken)
    with pytest.raises(wt.SimulationError, match="a number is not finite") as failed:
        pendulum().simulate(1.0, every=0.1, q=[1.0], method="broken", step=1e-2)
    assert len(failed.value.trajectory) >= 5


class Hesitant(AdamsBashforth):
    """Never takes the step that it tries, as a method with an error in its step sizes does."""

    def advance(self, stretch: Stretch) -> int:
        return Status.PAUSED


def test_a_method_that_comes_no_further_ends_the_run_in_words():
    register_stepper("hesitant", Hesitant)
    with pytest.raises(wt.SimulationError, match=r"at t = 0 s the run stands still: a step of 0\.01 s was tried again"):
        pendulum().simulate(1.0, q=[1.0], method="hesitant", step=1e-2)
