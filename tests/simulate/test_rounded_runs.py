"""Runs of loops from rounded data: they go through, stay beside the exact twin, and hold what is redundant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.rounded_models import SPATIAL, TWINS, biped, biped_guess, rounded, tilted, twin
from whippletree.system.tolerances import OPEN_OVER_ACCURACY

pytestmark = pytest.mark.rest


def beside_the_twin(
    m: wt.Mechanism, exact: wt.Mechanism, options: dict[str, Any], duration: float, size: float
) -> None:
    """A run of the rounded mechanism is certified, and differs from the twin's by no more than the data explain."""
    s, e = m.build(**options), exact.build(**options)
    assert s.mobility.mobility == e.mobility.mobility
    one, two = (x.simulate(duration, every=duration / 20, method="dop853", tolerance=1e-11) for x in (s, e))
    assert one.certificate.ok or told_that_rows_open(s, one.certificate), one.certificate
    assert one.certificate.closure_residual <= OPEN_OVER_ACCURACY * s.mobility.accuracy
    # where the run goes over to other rows, it goes from one mechanism to another that differs by what the data do
    assert abs(one.certificate.energy_error) < (1e-7 + 10 * size) * one.certificate["energy_scale"]
    assert abs(one.q - two.q).max() < 3e3 * size * (1 + duration**2) + 1e-8
    # the rows that the plan keeps are closed to rounding: in a plane those are all but the redundant ones
    off = np.sort(abs(np.array([s.closure_residual(q) for q in one.q])) / s.kernels.closures.closure_lengths, axis=1)
    if not one.certificate.replans and s.description.name in TWINS:
        assert off[:, : off.shape[1] - len(s.mobility.redundant)].max() < 1e-10


def told_that_rows_open(s: wt.System, certificate: Any) -> bool:
    """Whether redundant rows open by more than the accuracy of the data, which is all that the certificate blames."""
    opened = certificate.closure_residual > s.mobility.accuracy
    return opened and all("velocity residual" in words for words in certificate.problems)


@pytest.mark.parametrize("name", ["four-bar", "Bennett"])
def test_a_run_from_tilted_axes_stays_beside_the_twin(name: str) -> None:
    exact, options = twin(name)
    beside_the_twin(tilted(exact, 1e-8, seed=1), exact, options, 1.0, 1e-8)


@pytest.mark.deep
@pytest.mark.parametrize("tilt", [1e-12, 1e-10, 1e-9, 1e-8, 5e-8])
@pytest.mark.parametrize("name", [*TWINS, *SPATIAL])
def test_runs_from_tilted_axes_stay_beside_their_twins(name: str, tilt: float) -> None:
    exact, options = twin(name)
    beside_the_twin(tilted(exact, tilt, seed=2), exact, options, 2.0, tilt)


@pytest.mark.deep
@pytest.mark.parametrize("digits", [8, 9, 10, 12])
@pytest.mark.parametrize("name", [*SPATIAL])
def test_runs_from_rounded_numbers_stay_beside_their_twins(name: str, digits: int) -> None:
    exact, options = twin(name)
    beside_the_twin(rounded(exact, digits), exact, options, 2.0, 10.0**-digits)


@pytest.mark.parametrize("method", ["trapezoidal", "adams", "rk4"])
def test_every_kind_of_method_runs_from_tilted_axes(method: str) -> None:
    exact, options = twin("four-bar")
    s, e = tilted(exact, 1e-7, seed=1).build(**options), exact.build(**options)
    step = {} if method == "adams" else {"step": 2e-3}
    one, two = (x.simulate(0.5, every=0.1, method=method, **step) for x in (s, e))
    assert one.certificate.ok == two.certificate.ok, one.certificate  # a fixed step may miss energy
    assert one.certificate.closure_residual < 1e-6
    assert abs(one.q - two.q).max() < 1e-4


def test_a_coarse_accuracy_lets_a_run_go_through() -> None:
    exact, options = twin("four-bar")
    s = tilted(exact, 1e-5, seed=1).build(**options, accuracy=1e-4)
    run = s.simulate(1.0, every=0.1)
    assert run.certificate.ok, run.certificate
    assert 1e-6 < run.certificate.closure_residual < 1e-4 == run.certificate["closure_tolerance"] / OPEN_OVER_ACCURACY


@pytest.mark.parametrize("duration", [0.2, pytest.param(10.0, marks=pytest.mark.deep)])
def test_a_biped_with_rounded_feet_runs(duration: float) -> None:
    s = biped().build(guess=biped_guess())
    run = s.simulate(duration, every=0.1, formulation="coordinate_reduction")
    assert run.certificate.ok, run.certificate
    assert run.certificate.closure_residual < 1e-6


def test_velocities_go_onto_the_rows_of_a_plan_as_by_impulses() -> None:
    exact, options = twin("four-bar")
    s = tilted(exact, 1e-7, seed=1).build(**options)
    before = np.random.default_rng(4).standard_normal(s.nv)
    q, v = s.kernels.loops.on_kept_rows(s.q0, before, s.kernels.loops.conditions())
    basis, mass = s.kernels.closures.motion_basis(q), s.mass_matrix(q)
    assert np.abs(q - s.q0).max() < 1e-6
    assert np.abs(v - basis @ v[list(s.kernels.loop_plan.choice.independent)]).max() < 1e-12
    assert np.abs(basis.T @ mass @ (v - before)).max() < 1e-12
