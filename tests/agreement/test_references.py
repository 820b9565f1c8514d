"""What other tests compare with, tested by itself: extrapolation, elliptic functions, refined solutions, motions."""

from __future__ import annotations

import numpy as np
import pytest

from support.absolute_balance import Equations, energy, refined
from support.absolute_motion import motion, quaternion, rotation
from support.random_loops import QUICK, case
from support.random_trees import random_rotation
from support.references import amplitude, extrapolated, quarter_period

Array = np.ndarray


def test_a_pendulum_by_extrapolation_and_by_elliptic_functions() -> None:
    """Released level: sin(angle / 2) = sn(t + K) / sqrt(2), with the angle from hanging down."""
    times = np.linspace(0.0, 8.0, 5)
    by_steps = extrapolated(lambda t, x: np.array([x[1], -np.sin(x[0])]), np.array([np.pi / 2, 0.0]), times)
    turned = np.array([amplitude(t + quarter_period(0.5), 0.5) for t in times])
    exact = 2 * np.arcsin(np.sqrt(0.5) * np.sin(turned))
    assert by_steps[:, 0] == pytest.approx(exact, abs=1e-12)


def test_extrapolation_keeps_to_its_tolerance_and_its_times() -> None:
    times = np.array([0.0, 0.1, 3.0])
    for tolerance in (1e-6, 1e-12):
        found = extrapolated(lambda t, x: np.array([np.cos(t) * x[0]]), np.ones(1), times, tolerance)
        assert found[:, 0] == pytest.approx(np.exp(np.sin(times)), abs=20 * tolerance)


def test_quaternions_of_rotations() -> None:
    rng = np.random.default_rng(0)
    for R in (np.eye(3), np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, 1.0]), random_rotation(rng)):
        assert rotation(quaternion(R)) == pytest.approx(R, abs=1e-14)


@pytest.mark.parametrize(("family", "i"), QUICK)
def test_refined_solutions_are_those_of_the_null_space(family: str, i: int) -> None:
    """Two ways through the same equations; multipliers differ where they are not unique, and balance all the same."""
    c = case(family, i)
    found, condition = refined(c.equations, c.tau, c.loads)
    assert found.x == pytest.approx(c.solution.x, abs=1e-10 * np.abs(c.solution.x).max())
    assert 1.0 < condition < 1e7
    rest = c.equations.imbalance(found.x, found.reactions(1.0), c.tau, c.loads)
    assert max(rest.bodies, rest.joints) < 1e-11


def test_a_motion_keeps_loops_closed_and_its_energy() -> None:
    c = case("planar", 0)
    found = motion(c.equations, np.array([0.0, 0.15]), tolerance=1e-11)
    end = Equations(found.stands[-1], found.v[-1], c.equations.rank)
    kinetic = c.equations.v @ c.equations.mass @ c.equations.v / 2
    assert found.opened < 1e-10
    assert np.abs(end.rows.G @ end.v).max() < 1e-9
    assert energy(end) == pytest.approx(energy(c.equations), abs=1e-9 * kinetic)
    assert found.turned(c.looped.parts[0].name) + found.turned(c.looped.parts[1].name) > 0.05
