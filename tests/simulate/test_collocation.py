"""The collocation rule by itself: what it integrates and interpolates exactly, and an equation that it solves."""

from __future__ import annotations

import numpy as np
import pytest

from whippletree.simulate.collocation_crossing import (
    RULE,
    first_guess,
    integrals_to,
    interpolate,
    iterate,
    resample,
)
from whippletree.simulate.loop_compiler.numba_functions import compiled

Array = np.ndarray


@compiled
def interpolated(share: float, Y: Array) -> Array:
    here = np.empty(Y.shape[1])
    interpolate(RULE, share, Y, here)
    return here


@compiled
def integrals(share: float) -> Array:
    found = np.empty(RULE.c.size)
    integrals_to(RULE, share, found)
    return found


@compiled
def part_of(start: float, part: float, Y: Array) -> None:
    resample(RULE, start, part, Y, np.empty(Y.shape[1]))


@compiled
def solved(h: float, y: Array, rate: float, before: Array) -> Array:
    """Solve y' = rate y by the iteration; y is where the integrals `before` end."""
    Y, k, size = np.empty((RULE.c.size, y.size)), np.zeros((RULE.c.size, y.size)), np.ones(y.size)
    for j in range(RULE.c.size):
        Y[j] = y
    for _ in range(200):
        k[:] = rate * Y
        if iterate(RULE, h, y, k, size, before, Y) < 1e-16:
            break
    return Y


@compiled
def guessed(h: float, k: Array, nv: int, Y: Array) -> None:
    first_guess(RULE, h, k, nv, 1, Y)


def test_nodes_leave_a_gap_in_the_middle_and_are_symmetric():
    assert RULE.c.size == 18
    assert np.allclose(RULE.c + RULE.c[::-1], 1.0, atol=1e-15)
    assert RULE.c[8] == pytest.approx(0.37)
    assert (RULE.c[0], RULE.c[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("power", [0, 1, 5, 12, 17])
def test_polynomials_up_to_the_seventeenth_power_are_exact(power: int):
    p, integral = RULE.c**power, RULE.c ** (power + 1) / (power + 1)
    assert np.abs(RULE.A @ p - integral).max() < 1e-12
    assert integrals(0.3) @ p == pytest.approx(0.3 ** (power + 1) / (power + 1), abs=1e-12)
    assert interpolated(0.51, p[:, None])[0] == pytest.approx(0.51**power, abs=1e-11)


def test_the_error_estimate_is_that_of_one_node_less():
    """Of s^16 it sees nothing, and of s^17 the integral of the product of all s - c_j but one."""
    product = np.polynomial.Polynomial.fromroots(np.delete(RULE.c, 8))
    assert abs(RULE.e @ RULE.c**16) < 1e-13
    assert RULE.e @ RULE.c**17 == pytest.approx(product.integ()(1.0), rel=1e-4)


def test_a_node_is_interpolated_by_its_own_value():
    Y = np.random.default_rng(0).normal(size=(18, 3))
    assert np.array_equal(interpolated(float(RULE.c[5]), Y), Y[5])


@pytest.mark.rest
def test_the_iteration_solves_a_linear_equation():
    Y = solved(0.7, np.array([1.0, 2.0]), -1.3, np.zeros(18))
    exact = np.exp(-1.3 * 0.7 * RULE.c)
    assert np.abs(Y - exact[:, None] * [1.0, 2.0]).max() < 1e-13


@pytest.mark.rest
def test_a_state_within_the_step_is_where_the_integrals_begin():
    Y = solved(0.7, np.array([1.0]), -1.3, integrals(0.4))
    assert np.abs(Y[:, 0] - np.exp(-1.3 * 0.7 * (RULE.c - 0.4))).max() < 1e-12


@pytest.mark.rest
def test_a_part_of_a_step_is_the_same_curve():
    Y = np.ascontiguousarray(np.stack([RULE.c**3, 1 - RULE.c], axis=1))
    part_of(0.2, 0.5, Y)
    x = 0.2 + 0.5 * RULE.c
    assert np.abs(Y - np.stack([x**3, 1 - x], axis=1)).max() < 1e-12


@pytest.mark.rest
def test_the_first_guess_goes_on_with_the_acceleration():
    """At the second node: u = v s + a s^2 / 2 and v = v0 + a s, with nothing known of a jerk."""
    Y, k = np.zeros((18, 4)), np.zeros((18, 4))
    Y[0], k[0] = [0.0, 2.0, 0.0, 0.0], [2.0, 3.0, 0.0, 0.0]
    guessed(0.5, k, 1, Y)
    s = 0.5 * RULE.c[1]
    assert Y[1] == pytest.approx([2.0 * s + 3.0 * s**2 / 2, 2.0 + 3.0 * s, 0.0, 0.0])
