"""Loops from rounded data run, however small the rounding; beyond the accuracy of the data they say what is off."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.rounded_models import biped, biped_guess, tilted, twin
from support.sampling import deep


def tilted_along(tilt: float) -> wt.Mechanism:
    """A four-bar closed by a ball; one hinge is tilted along the coupler, so that nothing shows where it stands."""
    at = {"A": (0, 0, 0), "B": (0.3, 0, 1.0), "C": (2.0, 0, 1.6), "D": (2.0, 0, 0)}
    x = {name: np.array(place, dtype=float) for name, place in at.items()}
    along = (x["C"] - x["B"]) / np.linalg.norm(x["C"] - x["B"])
    m = wt.Mechanism("four-bar")
    for name, a, b in (("crank", "A", "B"), ("coupler", "B", "C"), ("rocker", "D", "C")):
        size = float(np.linalg.norm(x[b] - x[a]))
        m.body(name, wt.rod(length=size, mass=size, axis=x[b] - x[a], at=x[a]))
    for name, parent, child in (("A", m.ground, "crank"), ("B", "crank", "coupler"), ("D", m.ground, "rocker")):
        axis = np.array([0, 1.0, 0]) + (tilt if name == "B" else 0.0) * along
        m.revolute(name, parent, child, at=x[name], at_child=x[name], axis=axis / np.linalg.norm(axis))
    m.spherical("C", "coupler", "rocker", at=x["C"], at_child=x["C"])
    return m


@pytest.mark.parametrize("tilt", [1e-10, *deep([0.0, *np.logspace(-13, -7, 19).tolist(), 2e-7])])
def test_a_tilt_that_does_not_show_at_the_start(tilt: float) -> None:
    s = tilted_along(tilt).build()
    exact = tilted_along(0.0).build()
    assert s.mobility.mobility == exact.mobility.mobility == 1
    run = s.simulate(5.0, every=0.5)
    assert run.certificate.ok, run.certificate.problems
    if tilt <= 1e-9:  # the four-bar turns over: what is off grows along the run
        assert run["A"][-1] == pytest.approx(exact.simulate(5.0, every=0.5)["A"][-1], abs=1e-4)


NAMES = ["four-bar", "slider-crank", "parallelogram", "scissors", "Bennett", "trihedral", "plane-symmetric", "Sarrus"]


@pytest.mark.parametrize("tilt", [3e-11, *deep([1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5])])
@pytest.mark.parametrize("name", ["four-bar", *deep(NAMES[1:])])
def test_all_joints_tilted(name: str, tilt: float) -> None:
    """A run comes to its end, or says which row the data leave open by more than their accuracy."""
    exact, options = twin(name)
    try:
        s = tilted(exact, tilt, seed=1).build(**options)
        run = s.simulate(2.0, every=0.1)
    except (wt.AssemblyError, wt.SimulationError) as error:
        assert tilt >= 1e-7  # disagreement of several joints adds up, and grows toward singular positions
        assert "its turn about" in str(error) or "its shift along" in str(error)
        assert "accuracy=" in str(error)
        return
    assert run.certificate.ok, run.certificate.problems
    assert s.mobility.mobility == exact.build(**options).mobility.mobility


@pytest.mark.deep
@pytest.mark.parametrize("axes", [1e-12, 1e-10, 1e-9, 7e-8])
def test_a_biped_with_rounded_feet_runs(axes: float) -> None:
    run = biped(axes).build(guess=biped_guess()).simulate(0.5, every=0.05)
    assert run.certificate.ok, run.certificate.problems
