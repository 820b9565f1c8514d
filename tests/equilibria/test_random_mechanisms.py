"""Equilibria of random mechanisms with loops that springs hold: balanced, and the word about stability is true."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import sampled
from support.spring_held import HELD, QUICK_HELD, held

pytestmark = pytest.mark.rest

Array = np.ndarray

BALANCED = 1e-10
DISTURBANCE = 1e-4
SIMULATED = {("planar", 0), ("overconstrained", 0)}


def disturbed(found: wt.Equilibrium, seconds: float, seed: int = 0) -> tuple[Array, Array]:
    """Distances from an equilibrium over time after a small push, and the energy above that of rest."""
    s = found.system
    push = DISTURBANCE * np.random.default_rng(seed).normal(size=s.nv)
    v = s.consistent_velocities(found.q, push)
    cheap = "coordinate_reduction"  # rather than to weigh all formulations
    run = s.simulate(seconds, q=found.q, v=v, every=seconds / 50, tolerance=1e-10, formulation=cheap)
    away = np.array([np.abs(s.difference(found.q, q)).max() for q in run.q])
    return away, run.energy().total - s.energy(found.q, found.v).total


def check_word(found: wt.Equilibrium) -> None:
    """Push, and see whether the mechanism stays as the word says."""
    if found.stability == "stable":
        away, energy = disturbed(found, 2.0)
        assert away.max() < 100 * DISTURBANCE
        rounding = 1e-14 * abs(float(found.system.energy(found.q, found.v).total))
        assert energy.min() > -1e-9 * DISTURBANCE - rounding
        assert energy[-1] < energy[0]  # by how much: some rods hardly feel the dampers when they spin
    elif found.stability == "unstable":
        rate = max(mode.eigenvalue.real for mode in found.linearize().modes())
        away, _ = disturbed(found, 14.0 / rate)
        assert away.max() > 30 * DISTURBANCE


@pytest.mark.parametrize(("family", "i"), sampled(HELD, lambda key: key in QUICK_HELD))
def test_random_mechanisms_come_to_rest(family: str, i: int) -> None:
    found = held(family, i).equilibrium()
    s = found.system
    assert found.residual < BALANCED
    assert np.abs(s.closure_residual(found.q)).max(initial=0.0) < 1e-10
    _, sizes, vt = np.linalg.svd(s.closure_jacobian(found.q))
    motions = vt[int((sizes > 1e-9).sum()) :]
    bias = s.function("bias_force")(found.q, found.v).full().ravel()
    assert np.abs(motions @ bias).max() < 1e-9
    assert found.stability in ("stable", "undecided")


@pytest.mark.parametrize(("family", "i"), sampled(HELD, lambda key: key in SIMULATED))
def test_the_word_about_stability_is_true_of_a_run(family: str, i: int) -> None:
    s = held(family, i)
    check_word(s.equilibrium())
    try:
        other = s.equilibrium(s.random(i), nearest=True)
    except wt.EquilibriumError as error:
        assert "is not balanced" in str(error)
    else:
        assert other.residual < BALANCED
        check_word(other)
