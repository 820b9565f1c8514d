"""What is given to a run is right, or is refused in words; and what a run has computed is not lost."""

from __future__ import annotations

import functools
import inspect
from dataclasses import fields
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.simulate import Simulation
from whippletree.studies.natural_runs import NaturalOptions


@functools.cache
def slider() -> wt.System:
    m = wt.Mechanism("slider", gravity=(0, 0, 0))
    m.prismatic("A", m.ground, m.body("a", mass=1.0))
    return m.build()


SEVERAL = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("duration", "options", "words"),
    [
        (5e-324, {}, "is shorter than can be computed"),
        (10**400, {}, "duration= must be a positive number"),
        ("5", {}, "duration= must be a positive number, not '5'"),
        (True, {}, "duration= must be a positive number, not True"),
        (SEVERAL, {}, "duration= must be a positive number"),
        (1.0, {"method": SEVERAL}, "there is no method"),
        (1.0, {"method": "x" * 500_000}, "there is no method"),
        (1.0, {"progress": SEVERAL}, "progress= must be True, False or a function"),
        (1.0, {"progress": "no"}, "progress= must be True, False or a function"),
        (1.0, {"verify": SEVERAL}, "verify= must be True or False"),
        (1.0, {"every": 5e-324}, "take fewer than"),
        (1.0, {"evry": 0.1}, 'simulate\\(\\) has no option "evry"; there is every, '),
        (1.0, {"checked": False}, 'simulate\\(\\) has no option "checked"'),
        (1.0, {"augmented": 1}, 'has no option "augmented", unless formulation="natural"'),
        (
            1.0,
            {"method": "generalized_alpha", "step": 0.1, "spectral_radius": "1"},
            "spectral_radius= must be a number",
        ),
    ],
)
def test_settings_that_are_none(duration: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.StateError, match=words) as caught:
        slider().simulate(duration, **options)
    assert len(str(caught.value)) < 1000


def test_what_a_simulation_and_a_run_in_natural_coordinates_take_is_stated_once() -> None:
    """The signature says all that these take, with their defaults; only the start in time has another name."""
    shown = inspect.signature(wt.System.simulate).parameters
    assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())
    settings = {one.name: one.default for one in inspect.signature(Simulation).parameters.values()}
    for name in {*settings} - {"system", "t", "checked"}:
        assert shown[name].default == settings[name]
    assert {one.name for one in fields(NaturalOptions)} <= {*shown}
    many = inspect.signature(wt.System.simulate_many).parameters
    assert {*settings} - {"system", "t", "checked"} <= {*many}


def test_a_run_is_not_lost_if_it_cannot_be_measured() -> None:
    # the energy of this motion is beyond the largest number, the motion is not
    run = slider().simulate(1e-3, v=[1e160], method="rk4", step=1e-4)
    assert np.allclose(run["A"], 1e160 * run.t, rtol=1e-12)
    assert not run.certificate.ok
    assert any("could not be" in note or "failed" in note for note in run.certificate["notes"])


def test_a_blow_up_says_when_and_keeps_what_there_is() -> None:
    # v' = v^3 from v = 1: v = (1 - 2 t)^(-1/2), which ends at t = 0.5
    m = wt.Mechanism("runaway", gravity=(0, 0, 0))
    m.prismatic("A", m.ground, m.body("a", mass=1.0))
    m.actuator("force", "A", effort=m.rate("A") ** 3)
    m.event("far", m.coordinate("A") - 1e3, velocities={"A": 1e200})
    with pytest.raises(wt.SimulationError, match=r"at t = 0\.5\d* s .*blows up") as caught:
        m.build().simulate(5.0, v=[1.0], every=0.01, method="rk4", step=1e-3)
    run = caught.value.trajectory
    early = run.t < 0.4
    assert np.allclose(run["A"][early], 1 - np.sqrt(1 - 2 * run.t[early]), atol=1e-6)
    assert early.sum() == 40


def test_a_formula_has_no_truth_value() -> None:
    m = wt.Mechanism("m")
    arm = m.body("arm", mass=1.0)
    angle = m.coordinate(m.revolute("hinge", m.ground, arm))
    for ask in (
        lambda: bool(m.time > 1),
        lambda: m.time > 1 and m.time < 2,
        lambda: max(m.time, ca.SX(1)),
        lambda: bool(2 * angle - 1 < m.time),
        lambda: bool(ca.sin(angle) + angle > 1),
        lambda: not m.parameter("k", 1.0) > 1,
        lambda: bool(m.position(arm)[2] > 0),
        lambda: bool(np.float64(2.0) * angle > 0),
        lambda: bool(m.reaction("hinge").force[0] > 0),
    ):
        with pytest.raises(wt.ModelError, match=r"casadi\.if_else") as caught:
            ask()
        assert isinstance(caught.value, RuntimeError)  # as CasADi's own users expect it
    assert bool(ca.SX(1))
    assert not ca.SX(0)


def test_what_is_given_to_a_simulation_by_hand() -> None:
    sim = wt.Simulation(slider(), method="rk4", step=1e-3)
    for tau in (SEVERAL, "x", [np.nan]):
        with pytest.raises(wt.StateError, match="tau"):
            sim.tau = tau
    for options in ({"watch": 3}, {"pause": "x"}, {"resumed": "no"}):
        with pytest.raises(wt.StateError, match=next(iter(options))):
            sim.run(np.array([0.1]), **options)


def test_a_run_whose_only_output_is_its_start_can_be_watched() -> None:
    shares: list[float] = []
    run = slider().simulate(1.0, times=[0.0], progress=shares.append)
    assert run.t.tolist() == [0.0]
    assert all(share == 1.0 for share in shares)
