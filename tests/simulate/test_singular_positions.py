"""Singular positions by themselves, with a parallelogram that turns at a constant rate: it is flat at zero."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from support.time_loops import bound, parallelogram
from whippletree.simulate.built_in_methods import crossing_stepper
from whippletree.simulate.collocation_crossing import RULE
from whippletree.simulate.kernel_calls import NEGATIVE, PIVOT, SMALLEST, SMALLEST_AT, ZERO
from whippletree.simulate.loop_compiler.numba_functions import compiled
from whippletree.simulate.run_state import (
    LAST_PIVOT,
    LAST_PIVOT_AT,
    NEGATIVE_PIVOTS,
    PENDING,
    SINGULAR_FOUND,
    TIME,
)
from whippletree.simulate.singular_positions import _expected, cross_singular
from whippletree.simulate.singularity_log import (
    keep_pivot_signs,
    keep_step,
    locate_singular,
    log_passage,
    log_singular,
    look_back_along,
    pivots_changed_sign,
    recall_step,
)
from whippletree.simulate.state_rates import evaluate

Array = np.ndarray


@compiled
def located(b, run, P, t, h, q, end):
    locate_singular(b, run, P, t, h, q, end)


@compiled
def logged(b, run, t, q):
    log_singular(b, run, t, q, ZERO)


@compiled
def passed(b, run):
    log_passage(b, run)


@compiled
def kept_and_recalled(run, t, h, new, q, y, end):
    keep_step(run, t, h, new)
    return recall_step(run, q, y, end)


@compiled
def signs(b, run):
    before = pivots_changed_sign(b, run)
    keep_pivot_signs(b, run)
    return before, pivots_changed_sign(b, run)


@compiled
def looked_back(b, run):
    look_back_along(b, run)


@compiled
def present(b, run, k):
    return evaluate(b, run.times[0], run.y, k, run.flags, 0.0)


@compiled
def crossing(a, b, run, h, c0, start, tolerance, noise, most, k, Y):
    return cross_singular(a, b, run, h, c0, start, tolerance, noise, most, k, Y)


def crossed(b, run, *settings) -> float:
    _, work = crossing_stepper(1e-8).structs(b.owner)
    return crossing(work, b, run, *settings)


RATE = -2.0


def turning(angle: float):
    """Return what turns from an angle; and its displacements in a second."""
    system = parallelogram(1.0)
    q = system.configuration({"A0": angle, "A1": angle, "B": -angle, "C": angle})
    v = system.consistent_velocities(q, {"A0": RATE})
    bindings, run = bound(system, q=q, v=v)
    return system, bindings.buffers, run, v


def straight(run, v: Array, h: float) -> Array:
    """Return the dense output of a step of uniform motion."""
    P = np.zeros((2, run.y.size))
    P[0] = run.y
    P[1, : v.size] = h * v
    return P


def test_a_passage_is_located_by_the_signs_of_pivots():
    """From 0.3 at -2 per second the flat position is 0.15 s away."""
    system, b, run, v = turning(0.3)
    located(b, run, straight(run, v, 0.4), 5.0, 0.4, run.q.copy(), np.inf)
    assert run.counts[SINGULAR_FOUND] == 1
    t, q = run.singular_found[0, 0], run.singular_found[0, 1:]
    assert t == pytest.approx(5.15, abs=0.4 * 2.0**-24)
    assert q == pytest.approx(system.configuration({}), abs=1e-7)


def test_nothing_is_logged_before_it_is_reached_or_after_the_end():
    _, b, run, v = turning(0.3)
    located(b, run, straight(run, v, 0.1), 0.0, 0.1, run.q.copy(), np.inf)
    assert run.counts[SINGULAR_FOUND] == 0
    located(b, run, straight(run, v, 0.4), 0.0, 0.4, run.q.copy(), 0.1)  # an event has ended the step before
    assert run.counts[SINGULAR_FOUND] == 0


def test_a_step_is_kept_to_look_back_at_it():
    _, _, run, _ = turning(0.3)
    new, q, y, end = run.y + 1.0, np.zeros(run.q.size), np.zeros(run.y.size), np.zeros(run.y.size)
    assert kept_and_recalled(run, 1.5, 0.25, new, q, y, end) == (1.5, 0.25)
    assert np.array_equal(q, run.q)
    assert np.array_equal(y, run.y)
    assert np.array_equal(end, new)


def test_looking_back_finds_what_the_last_step_went_over():
    system, b, run, v = turning(0.3)
    k = np.zeros(run.y.size)
    present(b, run, k)
    assert signs(b, run) == (False, False)  # nothing was known, and now it is
    new = run.y.copy()
    new[: v.size] = 0.4 * v
    kept_and_recalled(run, 0.0, 0.4, new, np.zeros(run.q.size), new.copy(), new.copy())
    run.q[:] = system.integrate(run.q, 0.4 * v)
    run.times[TIME] = 0.4
    b.q[:] = run.q
    present(b, run, k)
    assert b.pivots[NEGATIVE] != run.times[NEGATIVE_PIVOTS]
    looked_back(b, run)
    assert run.counts[SINGULAR_FOUND] == 1
    assert run.singular_found[0, 0] == pytest.approx(0.15, abs=1e-7)
    assert np.array_equal(b.q, run.q)  # it leaves the kernels where they were


def test_a_motion_that_turns_at_the_position_is_logged_when_it_has_left():
    _, b, run, _ = turning(0.3)
    b.nearest[:] = 7.0
    b.pivots[SMALLEST], b.pivots[SMALLEST_AT] = 1e-6, 2.5
    passed(b, run)
    assert (run.counts[SINGULAR_FOUND], run.times[PENDING]) == (0, 1e-6)
    b.pivots[SMALLEST] = 0.5
    passed(b, run)
    assert run.counts[SINGULAR_FOUND] == 1
    assert run.singular_found[0].tolist() == [2.5, *[7.0] * run.q.size]
    passed(b, run)
    assert run.counts[SINGULAR_FOUND] == 1


def test_a_position_that_is_logged_is_not_logged_again_as_it_is_left():
    _, b, run, _ = turning(0.3)
    b.pivots[SMALLEST], b.pivots[SMALLEST_AT] = 1e-6, 2.5
    logged(b, run, 2.5, run.q)
    passed(b, run)
    b.pivots[SMALLEST] = 0.5
    passed(b, run)
    assert run.counts[SINGULAR_FOUND] == 1


def test_a_position_is_expected_straight_on():
    """From 0.4 to 0.3 in 0.2 s: zero is 0.6 s ahead; what grows, or has changed its sign, is not."""
    times = np.zeros(9)
    times[TIME], times[LAST_PIVOT], times[LAST_PIVOT_AT] = 1.0, 0.4, 0.8
    pivots = np.zeros(6)
    for now, ahead in ((0.3, 0.6), (0.5, np.inf), (-0.3, np.inf)):
        pivots[PIVOT] = now
        assert _expected(SimpleNamespace(pivots=pivots), times) == pytest.approx(ahead)


@pytest.mark.parametrize("c0", [0.0, 0.4])
def test_the_flat_position_is_crossed_at_a_constant_rate(c0: float):
    """A step of 0.3 s, turning from 0.3 to -0.3, in whose middle the parallelogram is flat."""
    angle = 0.3 + RATE * c0 * 0.3
    system, b, run, v = turning(0.3)
    k, Y = np.zeros((RULE.c.size, run.y.size)), np.zeros((RULE.c.size, run.y.size))
    present(b, run, k[0])
    start = float(b.pivots[PIVOT])
    run.q[:] = system.configuration({"A0": angle, "A1": angle, "B": -angle, "C": angle})
    b.q[:] = b.base[:] = run.q
    assert crossed(b, run, 0.3, c0, start, 1e-9, 1e-11, 1e-9, k, Y) <= 1e-9
    nv = v.size
    assert np.abs(Y[:, :nv] - np.outer((RULE.c - c0) * 0.3, v)).max() < 1e-9
    assert np.abs(Y[:, nv : 2 * nv] - v).max() < 1e-9


def test_a_crossing_whose_nodes_are_all_on_one_side_is_refused():
    _, b, run, _ = turning(0.3)
    k, Y = np.zeros((RULE.c.size, run.y.size)), np.zeros((RULE.c.size, run.y.size))
    present(b, run, k[0])
    assert crossed(b, run, 0.1, 0.0, float(b.pivots[PIVOT]), 1e-9, 1e-11, 1e-9, k, Y) == np.inf
