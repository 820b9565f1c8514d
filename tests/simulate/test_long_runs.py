"""Long runs: memory that does not grow, and loops that stay closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep
from support.systems import UPRIGHT, upright_four_bar
from whippletree.simulate import Simulation

pytestmark = pytest.mark.rest


def resident() -> int:
    """Return the memory of this process in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def double_pendulum() -> wt.System:
    m = wt.Mechanism("double pendulum")
    upper = m.body("upper", wt.rod(length=1.0, mass=1.0, axis="-z"))
    lower = m.body("lower", wt.rod(length=1.0, mass=1.0, axis="-z"))
    m.revolute("A", m.ground, upper, axis="y")
    m.revolute("B", upper, lower, at=(0, 0, -1), axis="y")
    return m.build()


def four_bar() -> tuple[wt.System, np.ndarray]:
    system = upright_four_bar().build(guess=UPRIGHT)
    return system, system.consistent_velocities(system.q0, {"A": 2.0})


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("steps", [200_000, *deep([10_000_000])])
def test_memory_does_not_grow_with_steps(steps: int) -> None:
    sim = Simulation(double_pendulum(), q=[1.0, 2.0], method="rk4", step=1e-4)
    sim.run(np.array([10.0]))  # a hundred thousand steps, for everything to be loaded
    before = resident()
    sim.run(np.array([10.0 + 1e-4 * steps]))
    assert sim.steps == pytest.approx(steps + 100_000, abs=2)
    assert resident() - before < 4e6
    energy = [float(sim.system.energy(q, v).total) for q, v in (([1.0, 2.0], [0.0, 0.0]), (sim.state.q, sim.state.v))]
    assert energy[1] == pytest.approx(energy[0], rel=1e-8)


@pytest.mark.parametrize("steps", [20_000, *deep([1_000_000])])
def test_a_four_bar_stays_closed(steps: int) -> None:
    system, v = four_bar()
    run = system.simulate(1e-3 * steps, v=v, every=1e-3 * steps / 200, method="rk4", step=1e-3)
    assert run.certificate.steps == pytest.approx(steps, abs=2)
    assert run.certificate.closure_residual < 1e-10
    assert run.certificate.velocity_residual < 1e-8
    assert run.certificate.energy_drift < 1e-6 * run.certificate["energy_scale"]
