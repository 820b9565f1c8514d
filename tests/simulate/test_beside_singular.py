"""Runs that begin, end, stop and are steered at and next to a singular position: a parallelogram that lies flat.

Without gravity it turns at a constant speed, and everything is known: the crank's angle is a + w t.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import SimulationError
from whippletree.simulate import Simulation
from whippletree.simulate.progress import StepBudget

W = 3.0
SPEEDS = np.array([W, -W, W, W])
METHODS: list[dict[str, Any]] = [
    {"method": "dopri5"},
    {"method": "dop853", "tolerance": 1e-10},
    {"method": "adams"},
    {"method": "rk4", "step": 1e-3},
    {"method": "trapezoidal", "step": 2e-3},
    {"method": "generalized_alpha", "step": 2e-3},
]
by_method = pytest.mark.parametrize("options", METHODS, ids=lambda options: options["method"])


def parallelogram(gravity: tuple[float, float, float] = (0, 0, 0), **friction: float) -> wt.Mechanism:
    """Two cranks of 1 m, 2 m apart, and a coupler; it is flat where the cranks lie along the ground."""
    m = wt.Mechanism("parallelogram", gravity=gravity)
    lengths = {"crank": 1.0, "coupler": 2.0, "other": 1.0}
    crank, coupler, other = (m.body(name, wt.rod(length=x, mass=1.0, axis="x")) for name, x in lengths.items())
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, other, at=(2, 0, 0), at_child=(1, 0, 0), axis="y")
    m.revolute("D", m.ground, other, at=(2, 0, 0), axis="y")
    if friction:
        m.friction("friction", "A", **friction)
    return m


def built(m: wt.Mechanism, angle: float, speed: float = W) -> tuple[wt.System, dict[str, Any]]:
    system = m.build(guess={"A": angle, "B": -angle, "C": angle, "D": angle})
    return system, {"q": system.q0, "v": system.consistent_velocities(system.q0, {"A": speed})}


@pytest.fixture(scope="module")
def turning() -> tuple[wt.System, dict[str, Any]]:
    """It is flat at 0.4 s, and then every pi / 3."""
    return built(parallelogram(), -1.2)


@by_method
@pytest.mark.parametrize("end", [0.39, 0.3999, 0.4, 0.4003, 0.41])
def test_a_run_that_ends_there(turning: Any, options: dict[str, Any], end: float) -> None:
    system, start = turning
    run = system.simulate(end, **start, **options)
    assert run.certificate.ok
    assert run["A"][-1] == pytest.approx(-1.2 + W * end, abs=1e-11)
    assert np.abs(run.v[-1] - SPEEDS).max() < 1e-9
    if end != 0.4:
        assert len(run.certificate.singular) == (end > 0.4)


@by_method
def test_an_output_there_and_a_start_there(turning: Any, options: dict[str, Any]) -> None:
    system, start = turning
    run = system.simulate(1.0, times=[0.0, 0.4, 1.0], **start, **options)
    assert np.abs(run.v - SPEEDS).max() < 1e-9
    run = system.simulate(1.0, every=0.25, q=np.zeros(4), v=SPEEDS, **options)
    assert run.certificate.ok
    assert np.abs(run.v - SPEEDS).max() < 1e-9
    assert run["A"][-1] == pytest.approx(W, abs=1e-10)


@by_method
def test_small_steps(turning: Any, options: dict[str, Any]) -> None:
    system, start = turning
    sim = Simulation(system, **start, **options)
    for _ in range(60):
        sim.step(0.01)
    assert sim.state.q[0] == pytest.approx(-1.2 + W * 0.6, abs=1e-9)
    assert np.abs(sim.state.v - SPEEDS).max() < 1e-8
    assert sim.singular == [pytest.approx(0.4, abs=1e-5)]


def test_a_controller_there(turning: Any) -> None:
    system, start = turning
    run = system.simulate(0.5, controller=lambda t, q, v, z: {"A": 0.0}, period=1e-3, **start)
    assert run["A"][-1] == pytest.approx(-1.2 + W * 0.5, abs=1e-9)
    assert len(run.certificate.singular) == 1


def test_large_steps_go_over_none(turning: Any) -> None:
    system, start = turning
    exact = 0.4 + np.pi / W * np.arange(10)
    for options in ({"method": "dopri5"}, {"method": "adams"}, {"method": "trapezoidal", "adaptive": True}):
        run = system.simulate(10.0, **start, **{"tolerance": 1e-5, **options})
        assert np.abs(np.array(run.certificate.singular) - exact).max() < 1e-5


@pytest.mark.rest
@pytest.mark.parametrize("formulation", ["joint_multipliers", "independent_coordinates", "absolute"])
@pytest.mark.parametrize("angle", [0.0, 1e-8])
def test_an_event_there_changes_nothing(formulation: str, angle: float) -> None:
    m = parallelogram((0, 0, -9.81))
    alone, start = built(m, -1.0)
    m.event("flat", m.coordinate("A") - angle)
    watched, _ = built(m, -1.0)
    for options in METHODS[:2]:
        runs = [s.simulate(0.7, every=0.1, formulation=formulation, **start, **options) for s in (alone, watched)]
        assert [event.name for event in runs[1].events] == ["flat"]
        assert runs[1].certificate.ok
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-7
        at = runs[1].events[0]
        assert at.q[0] == pytest.approx(angle, abs=1e-12)
        assert np.abs(at.v / at.v[0] - SPEEDS / W).max() < 1e-8  # on the branch


def test_a_small_swing_through_it() -> None:
    """The flat position is a stable one; against the pendulum that the parallelogram is."""
    system, start = built(parallelogram((9.81, 0, 0)), 0.1, 0.0)
    run = system.simulate(3.0, every=0.5, tolerance=1e-10, method="dop853", **start)
    # two cranks and the coupler: (1/3 + 1/3 + 1) w' = -(1/2 + 1/2 + 1) g sin A
    exact, h = [], 1e-4
    x = np.array([0.1, 0.0])

    def rate(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], -2.0 * 9.81 / (5 / 3) * np.sin(x[0])])

    for step in range(30001):
        if step % 5000 == 0:
            exact.append(x[0])
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    assert np.abs(run["A"] - exact).max() < 1e-6


def test_what_comes_to_rest_there_says_so() -> None:
    system, start = built(parallelogram((9.81, 0, 0), viscous=2.0), 0.5, 0.0)
    with pytest.raises(SimulationError, match="stays next to a singular position") as caught:
        system.simulate(40.0, every=0.5, **start)
    assert caught.value.trajectory.t[-1] > 5
    assert abs(caught.value.trajectory["A"][-1]) < 0.01


@by_method
def test_results_do_not_depend_on_pauses(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    system, start = built(parallelogram((0, 0, -9.81)), -1.0)
    found = []
    for steps in (10**8, 1, 7):
        monkeypatch.setattr(StepBudget, "begin", lambda self, steps=steps: steps)
        monkeypatch.setattr(StepBudget, "end", lambda self, *, paused: None)
        sim = Simulation(system, formulation="constraint_embedding", **start, **options)
        found.append((sim.run(np.linspace(0.1, 2.0, 20)), sim.singular, sim.steps, sim.refused, sim.evaluations))
    for other in found[1:]:
        assert np.array_equal(found[0][0], other[0])
        assert found[0][1:] == other[1:]
