"""The Adams method: measured orders, evaluations, quaternions, loops and outputs within steps."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

import whippletree as wt
from support.systems import UPRIGHT, upright_four_bar
from whippletree.simulate import Simulation, State, adams
from whippletree.simulate.run_state import LOOPS, NEXT_STEP, POWERS
from whippletree.simulate.steppers import OutputWindow, Stretch

Array = np.ndarray


def pendulum() -> tuple[wt.System, dict[str, object]]:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    return m.build(), {"q": [1.0], "v": [0.5]}


def tumbler() -> tuple[wt.System, dict[str, object]]:
    m = wt.Mechanism("tumbler", gravity=(0, 0, 0))
    m.free("free", m.ground, m.body("box", wt.box(size=(0.1, 0.2, 0.3), mass=1.0)))
    return m.build(), {"v": [1.0, 3.0, 0.5, 0.2, 0.0, 0.4]}


def four_bar() -> tuple[wt.System, dict[str, object]]:
    system = upright_four_bar().build(guess=UPRIGHT)
    return system, {"v": system.consistent_velocities(system.q0, {"A": 2.0})}


SYSTEMS = {"pendulum": pendulum, "tumbler": tumbler, "four-bar": four_bar}


def at_fixed_order(system: wt.System, start: dict[str, object], k: int, h: float, end: float) -> Array:
    """Let the method take equal steps at one order, with points to begin from that another method found."""
    points = Simulation(system, method="dop853", tolerance=1e-14, **start).run(h * np.arange(k + 1))
    nq, nv = system.nq, system.nv
    f = []
    for i, row in enumerate(points):
        q, v = row[:nq], row[nq : nq + nv]
        a = system.forward_dynamics(q, v, check=False)
        f.append(np.concatenate([system.coordinate_rates(q, v), a, [0.0, 0.0]]))
        assert i <= k
    sim = Simulation(system, method="adams", tolerance=1e3, step=h, **start)
    sim.state = State(k * h, points[-1, :nq], points[-1, nq : nq + nv], np.zeros(0), *points[-1, -2:])
    sim.stepper.memory = past = np.zeros(adams._PHI + adams._POINTS * sim.row_size)
    sim.stepper.use_efforts(sim.tau)
    phi = past[adams._PHI :].reshape(-1, len(f[0]))
    phi[: k + 1] = [sum((-1) ** m * comb(j, m) * f[k - m] for m in range(j + 1)) for j in range(k + 1)]
    past[adams._TIMES : adams._TIMES + k + 1] = h * np.arange(k, -1, -1)
    until, rows = np.array([end]), np.zeros((1, sim.row_size))
    bindings = sim._driver.bindings
    bindings.buffers.tau[:] = sim.tau
    sim.run_state.flags[LOOPS], sim.run_state.flags[POWERS] = bindings.closed, bindings.powers
    stretch = Stretch(bindings, sim.run_state, sim.events.watched(bindings), OutputWindow(until, rows), 1e-12, 1)
    for _ in range(round((end - k * h) / h)):
        past[:4] = 1.0, k, 0.0, 0.0
        sim.run_state.times[NEXT_STEP] = h
        sim.stepper.advance(stretch)
    assert sim.outputs == 1
    return rows[0, : nq + nv]


@pytest.mark.parametrize(
    ("what", "k", "steps"),
    [
        ("pendulum", 1, (40, 80, 160)),
        ("pendulum", 3, (40, 80, 160)),
        ("pendulum", 6, (40, 80, 120)),
        ("pendulum", 10, (32, 40, 50)),
        ("tumbler", 2, (40, 80, 160)),
        ("tumbler", 5, (40, 80, 120)),
        ("four-bar", 2, (40, 80, 160)),
        ("four-bar", 4, (60, 90, 120)),
    ],
)
def test_orders(what: str, k: int, steps: tuple[int, ...]) -> None:
    system, start = SYSTEMS[what]()
    end = 0.8
    reference = Simulation(system, method="dop853", tolerance=1e-14, **start).run(np.array([end]))[0]
    reference = reference[: system.nq + system.nv]
    errors = [np.abs(at_fixed_order(system, start, k, end / n, end) - reference).max() for n in steps]
    assert errors[0] > errors[-1] > 1e-14
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(k + 1, abs=0.7)


def test_fewer_evaluations_than_runge_kutta() -> None:
    system, _ = pendulum()
    exact = system.simulate(10.0, q=[2.0], method="dop853", tolerance=1e-14).q[-1]
    runs = {method: system.simulate(10.0, q=[2.0], method=method, tolerance=1e-10) for method in ("adams", "dop853")}
    errors = {method: abs(run.q[-1] - exact)[0] for method, run in runs.items()}
    assert max(errors.values()) < 1e-8
    assert runs["adams"].certificate.evaluations < 0.6 * runs["dop853"].certificate.evaluations


@pytest.mark.parametrize("what", SYSTEMS)
def test_errors_follow_the_tolerance(what: str) -> None:
    system, start = SYSTEMS[what]()
    times = np.linspace(0.0, 3.0, 41)
    exact = system.simulate(3.0, times=times, method="dop853", tolerance=1e-13, **start)
    errors = []
    for tolerance in (1e-6, 1e-8, 1e-10):
        run = system.simulate(3.0, times=times, method="adams", tolerance=tolerance, **start)
        errors.append(np.abs(run.q - exact.q).max())  # outputs lie within steps
        assert run.certificate.closure_residual < 1e-10
        assert run.certificate.quaternion_error < 1e-14
    assert errors[0] < 1e-3
    assert errors[2] < 1e-6
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_across_singular_positions() -> None:
    m = wt.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    rods = [m.body(f"rod {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(3)]
    m.revolute("A", m.ground, rods[0], axis="z")
    m.revolute("B", rods[0], rods[1], at=(1, 0, 0), axis="z")
    m.revolute("C", rods[1], rods[2], at=(1, 0, 0), at_child=(1, 0, 0), axis="z")
    m.revolute("D", m.ground, rods[2], at=(1, 0, 0), axis="z")
    system = m.build(guess={"A": 1.2, "B": -1.2, "C": 1.2, "D": 1.2})
    v = system.consistent_velocities(system.q0, {"A": 3.0})
    run = system.simulate(4.0, v=v, method="adams", tolerance=1e-9)
    reference = system.simulate(4.0, v=v, method="dop853", tolerance=1e-11)
    assert run.certificate.ok
    assert np.abs(run.q - reference.q).max() < 1e-5
    assert np.abs(run["A"] - run["D"]).max() < 1e-8  # on its branch


def test_stepping_cloning_and_what_is_refused() -> None:
    system, start = tumbler()
    sim = Simulation(system, method="adams", tolerance=1e-9, **start)
    sim.step(0.5)
    twin = sim.clone()
    sim.step(0.5)
    twin.step(0.5)
    assert np.array_equal(sim.state.q, twin.state.q)
    with pytest.raises(wt.StateError, match="chooses its steps"):
        system.simulate(1.0, method="adams", adaptive=False)


def swinging_from_level(*, on_slides: bool) -> wt.System:
    """A point mass on a circle of 1 m, by two slides and a rod or by a hinge."""
    m = wt.Mechanism("pendulum", gravity=(0, -9.81, 0))
    if not on_slides:
        m.revolute("A", m.ground, m.body("bob", wt.point_mass(1.0, at=(-1.0, 0.0, 0.0))))
        return m.build()
    carrier, bob = m.body("carrier"), m.body("bob", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carrier, axis="x")
    m.prismatic("y", carrier, bob, axis="y")
    m.distance("rod", m.ground, bob, length=1.0)
    return m.build(guess={"x": -1.0, "y": 0.0})


def test_evaluations_on_slides_are_near_those_on_a_hinge_and_do_not_scatter() -> None:
    """Steps that may only double are up to twice as short as need be, which one tolerance has and the next has not."""
    slides, hinge = swinging_from_level(on_slides=True), swinging_from_level(on_slides=False)
    counts = []
    for tolerance in 10.0 ** -np.arange(4.0, 12.5, 0.5):
        pair = [Simulation(s, method="adams", tolerance=tolerance) for s in (slides, hinge)]
        for one in pair:
            one.run(np.array([10.0]))
        counts.append([one.evaluations for one in pair])
    grown = np.array(counts)
    assert (grown[::4, 0] <= 1.5 * grown[::4, 1]).all(), grown  # 1e-4, 1e-6, ..., 1e-12
    assert grown[:, 0].sum() <= 1.45 * grown[:, 1].sum(), grown
    assert (grown[1:] >= 0.95 * grown[:-1]).all(), grown  # a smaller tolerance does not take fewer


def test_errors_stay_within_a_thousand_tolerances() -> None:
    """A pendulum that nearly stands on its head multiplies errors: twelve or so half turns, against a tight run."""
    m = wt.Mechanism("rocker", gravity=(0, -9.81, 0))
    m.revolute("A", m.ground, m.body("rocker", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.5 / 1.2 - 0.25) * np.eye(3)))
    s, times = m.build(), np.linspace(0.0, 10.0, 201)
    start = {"q": [np.pi / 2], "v": [-1.0]}
    exact = s.simulate(10.0, times=times, method="dop853", tolerance=1e-14, **start)["A"]
    for tolerance in 10.0 ** -np.arange(4.0, 11.5, 0.5):
        run = s.simulate(10.0, times=times, method="adams", tolerance=tolerance, **start)
        assert np.abs(run["A"] - exact).max() < 1000 * tolerance, tolerance
