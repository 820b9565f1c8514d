"""A simulation's numeric plan of the loops is its own: neither the system nor another simulation sees it."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.systems import crank_and_rocker
from whippletree.errors import ResultError
from whippletree.simulate import Simulation
from whippletree.simulate.sampled_run import SampledRun
from whippletree.studies import checkpoint_files


def crank_rocker(*, later: bool = False, dependent: Any = ("A", "B")) -> wt.System:
    """A crank that turns, built with the rocker's angle independent: that plan becomes poor where the rocker turns."""
    m = crank_and_rocker()
    if later:
        m.actuator("pull", "A", effort=m.parameter("k", 0.0))
        m.event("on", m.coordinate("A") - 7.0, parameters={"k": 0.1})
    return m.build(guess={"A": 1.0, "B": -0.5, "D": 1.5}, dependent=dependent)


@pytest.fixture(scope="module")
def system() -> wt.System:
    return crank_rocker()


def started(system: wt.System, speed: float = 6.0, **options: Any) -> Simulation:
    return Simulation(system, v=system.consistent_velocities(system.q0, {"A": speed}), **options)


def numbers(sim: Simulation) -> np.ndarray:
    state = sim.state
    return np.concatenate([[state.t], state.q, state.v, sim.replans])


METHODS: list[dict[str, Any]] = [
    {"formulation": "constraint_embedding"},
    {"formulation": "penalty", "tolerance": 1e-6},
    {"formulation": "absolute"},
    {"method": "adams"},
    {"method": "trapezoidal", "step": 5e-3},
]


@pytest.mark.parametrize("options", METHODS)
def test_the_same_call_gives_the_same_bits(system: wt.System, options: dict[str, Any]) -> None:
    v = system.consistent_velocities(system.q0, {"A": 6.0})
    first, again = (system.simulate(2.0, every=0.1, v=v, **options) for _ in range(2))
    assert first.certificate.replans
    assert first.certificate.replans == again.certificate.replans
    assert np.array_equal(first.q, again.q)
    assert np.array_equal(first.v, again.v)


def test_other_runs_before_make_no_difference(system: wt.System) -> None:
    """Not even those that make their plan at nearly the same place."""
    fresh = crank_rocker()
    alone = started(fresh, tolerance=1e-9)
    alone.step(2.0)
    for speed in (6.0, 6.0000001, -5.0):
        started(system, speed, tolerance=1e-7).step(1.5)
    late = started(system, tolerance=1e-9)
    late.step(2.0)
    assert alone.replans
    assert np.array_equal(numbers(alone), numbers(late))


def test_calls_of_the_system_are_not_changed_by_runs() -> None:
    system = crank_rocker()
    q = system.assemble({"A": 2.0})
    v = system.consistent_velocities(q, {"A": 3.0})

    def answers() -> list[np.ndarray]:
        return [
            system.forward_dynamics(q, v),
            system.forward_dynamics(q, v, formulation="independent_coordinates"),
            system.reactions(q, v).wrenches,
            system.kernels.closures.motion_basis(q),
            *system.closure_forces(q, v).values(),
        ]

    before, mobility, how = answers(), system.mobility, str(system.chosen)
    run = system.simulate(2.0, every=0.1, v=system.consistent_velocities(system.q0, {"A": 6.0}))
    assert run.certificate.replans
    assert all(np.array_equal(a, b) for a, b in zip(before, answers(), strict=True))
    assert (system.mobility, str(system.chosen)) == (mobility, how)


def test_what_follows_from_a_run_is_the_same_before_and_after_others(system: wt.System) -> None:
    v = system.consistent_velocities(system.q0, {"A": 6.0})
    run = system.simulate(2.0, every=0.1, v=v)
    reactions, energy = run.reactions().wrenches, np.array(run.energy())
    system.simulate(2.0, every=0.1, v=-v)
    assert np.array_equal(run.reactions().wrenches, reactions)
    assert np.array_equal(run.energy(), energy)


def test_simulations_by_turns_go_as_they_go_alone(system: wt.System) -> None:
    speeds = (6.0, -4.0, 9.0)
    alone = []
    for speed in speeds:
        sim = started(system, speed)
        for _ in range(40):
            sim.step(0.05)
        alone.append(numbers(sim))
    together = [started(system, speed) for speed in speeds]
    for _ in range(40):
        for sim in together:
            sim.step(0.05)
    assert all(sim.replans for sim in together)
    assert len({tuple(sim.replans) for sim in together}) == 3
    for one, sim in zip(alone, together, strict=True):
        assert np.array_equal(one, numbers(sim))


def test_threads_go_as_they_go_alone(system: wt.System) -> None:
    def go(speed: float) -> np.ndarray:
        sim = started(system, speed)
        for _ in range(20):
            sim.step(0.05)
        return numbers(sim)

    speeds = [6.0, 7.0, 6.0, 7.0]
    alone = [go(speed) for speed in speeds]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(go, speeds), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("again", ["clone", "pickle"])
def test_a_copy_has_the_plan(system: wt.System, again: str) -> None:
    sim = started(system, method="trapezoidal", step=5e-3)
    sim.step(1.0)
    assert sim.replans
    twin = sim.clone() if again == "clone" else pickle.loads(pickle.dumps(sim))
    assert twin.plans.packed() == sim.plans.packed()
    assert twin.plans.packed()["now"] > 0
    sim.step(2.0)
    twin.step(2.0)
    assert np.array_equal(numbers(sim), numbers(twin))


@pytest.mark.parametrize("given", [False, True])
def test_a_resumed_run_has_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    """Also if parameters have changed since it was made; the penalty's weights depend on where that was."""
    system = crank_rocker(later=True)
    v = system.consistent_velocities(system.q0, {"A": 6.0})
    path, kept = tmp_path / "run.ckpt", tmp_path / "kept.ckpt"

    def look(self: checkpoint_files.CheckpointWriter, run: SampledRun) -> None:
        self.write(run)
        if run.simulation.events.happened and not kept.exists():
            kept.write_bytes(path.read_bytes())

    monkeypatch.setattr(checkpoint_files.CheckpointWriter, "look", look)
    whole = system.simulate(2.0, every=0.1, v=v, formulation="penalty", tolerance=1e-6, checkpoint=path)
    assert 0 < whole.certificate.replans[0] < whole.events[0].t
    assert checkpoint_files.read_checkpoint(kept).run.simulation.state.t < 1.5
    run = wt.resume(kept, system if given else None)
    assert np.array_equal(run.q, whole.q)
    assert run.certificate.replans == whole.certificate.replans
    other = crank_rocker(later=True, dependent=None)
    with pytest.raises(ResultError, match="planned otherwise"):
        wt.resume(kept, other)


def test_a_plan_is_made_once(monkeypatch: Any) -> None:
    """A pendulum on slides changes its coordinates twice in a swing, and takes up those that it has left."""
    m = wt.Mechanism("p", gravity=(0, -9.81, 0))
    carriage, bob = m.body("c"), m.body("b", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carriage, axis="x")
    m.prismatic("y", carriage, bob, axis="y")
    m.distance("rod", m.ground, bob, length=1.0)
    sim, looks = Simulation(m.build(guess={"x": -1.0, "y": 0.0})), []
    planner = type(sim.plans.loops.planner)
    better = planner.better
    monkeypatch.setattr(planner, "better", lambda *given: looks.append(given[2]) or better(*given))
    sim.run(np.array([10.0]))
    assert len(sim.replans) > 10
    assert len(looks) == 1
