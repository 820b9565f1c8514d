"""Singular positions that a run has passed, against the times at which the mechanism is flat by quadrature."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.systems import crank_and_rocker
from whippletree.simulate import Simulation

IFTOMM = Path(__file__).parents[2] / "examples" / "iftomm"
G = 9.81
N = 2


def flat_times(count: int) -> np.ndarray:
    """When N four-bars, upright with 1 rad/s at first, have turned by a quarter, three quarters and so on.

    The energy of the one freedom gives its speed, and its inverse is integrated over the angle.
    """
    a = G * ((N + 1) / 2 + N) / ((N + 1) / 3 + N)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(0, count * np.pi - np.pi / 2, 12 * (2 * count - 1) + 1)
    half = np.diff(edges)[:, None] / 2
    angle = edges[:-1, None] + half * (1 + nodes)
    spans = (half * weights / np.sqrt(1 + 2 * a * (1 - np.cos(angle)))).sum(1)
    return np.cumsum(spans)[11::24]


EXACT = flat_times(10)


@pytest.fixture(scope="module")
def four_bars() -> Any:
    return wt.read(IFTOMM / f"n_four_bar_{N}.yaml")


@pytest.fixture(scope="module")
def started(four_bars: Any) -> tuple[wt.System, dict[str, Any]]:
    system = four_bars.build()
    q, v = four_bars.initial(system)
    return system, {"q": q, "v": v}


METHODS = [
    *[({"method": "dop853", "tolerance": 10.0**-k}, off) for k, off in ((4, 2e-2), (6, 1e-4), (8, 1e-5), (12, 5e-8))],
    *[({"method": "dopri5", "tolerance": 10.0**-k}, off) for k, off in ((4, 3e-2), (6, 2e-4), (9, 1e-6))],
    *[({"method": "adams", "tolerance": 10.0**-k}, off) for k, off in ((5, 2e-2), (8, 2e-5))],
    *[({"method": "rk4", "step": h}, off) for h, off in ((2e-2, 1e-4), (1e-3, 1e-7))],
    *[({"method": name, "step": 5e-3}, 2e-4) for name in ("trapezoidal", "generalized_alpha")],
]


@pytest.mark.parametrize(("options", "off"), METHODS)
def test_all_ten_flat_positions_are_listed(started: Any, options: dict[str, Any], off: float) -> None:
    system, start = started
    run = system.simulate(10.0, every=1.0, **start, **options)
    assert len(run.certificate.singular) == 10
    assert np.abs(np.array(run.certificate.singular) - EXACT).max() < off
    assert np.abs(run["A2"] - run["A0"]).max() < 1e-8  # each of them on the branch


def test_what_is_cut_short_counts_what_it_has_passed(started: Any) -> None:
    system, start = started
    for end in (EXACT[3] - 1e-3, EXACT[3] + 1e-3):
        run = system.simulate(end, times=[end], method="dop853", tolerance=1e-7, **start)
        assert len(run.certificate.singular) == 3 + (end > EXACT[3])


def test_small_pieces_list_the_same(started: Any) -> None:
    system, start = started
    sim = Simulation(system, method="dop853", tolerance=1e-7, **start)
    whole = sim.clone()
    whole.run(np.array([4.0]))
    for k in range(16):
        sim.step(0.25)
        sim = pickle.loads(pickle.dumps(sim)) if k % 2 else sim.clone()
    assert np.abs(np.array(sim.singular) - EXACT[:4]).max() < 1e-5
    assert np.abs(np.array(whole.singular) - EXACT[:4]).max() < 1e-5


def test_a_state_that_is_assigned_has_passed_nothing(started: Any) -> None:
    system, start = started
    for end in (EXACT[0] - 2e-3, EXACT[0] - 2e-4):
        sim = Simulation(system, method="dopri5", **start)
        before = sim.state
        sim.step(end)
        sim.state = before
        sim.step(0.2)
        assert sim.singular == []


@pytest.mark.parametrize("method", [{"method": "dop853", "tolerance": 1e-7}, {"method": "adams", "tolerance": 1e-7}])
@pytest.mark.parametrize("angle", [0.05, -0.05])
def test_an_event_next_to_a_flat_position(method: dict[str, Any], angle: float) -> None:
    model = wt.read(IFTOMM / f"n_four_bar_{N}.yaml")
    m = model.mechanism
    m.event("near", m.coordinate("A0") - angle, stop=True)
    system = model.build()
    q, v = model.initial(system)
    run = system.simulate(3.0, every=0.5, q=q, v=v, **method)
    assert run.info["ended_by"] == "near"
    assert len(run.certificate.singular) == (angle < 0)


def test_a_choice_of_coordinates_that_becomes_poor_is_no_singular_position() -> None:
    """A crank that turns: the rocker's turning points are singular for the rocker's angle only."""
    system = crank_and_rocker().build(guess={"A": 1.0, "B": -0.5, "D": 1.5}, dependent=["A", "B"])
    v = system.consistent_velocities(system.q0, {"A": 6.0})
    for options in ({"method": "dop853", "tolerance": 1e-3}, {"method": "dop853", "tolerance": 1e-10}):
        run = system.simulate(10.0, every=0.5, v=v, **options)
        assert abs(run["A"][-1] - run["A"][0]) > 4 * np.pi
        assert run.certificate.singular == ()


@pytest.mark.parametrize("tolerance", [1e-6, 1e-12])
def test_an_approximate_formulation_passes_as_well_as_it_can(started: Any, tolerance: float) -> None:
    system, start = started
    run = system.simulate(3.0, every=0.5, method="dop853", tolerance=tolerance, formulation="penalty", **start)
    assert np.abs(np.array(run.certificate.singular) - EXACT[:3]).max() < 1e-4
