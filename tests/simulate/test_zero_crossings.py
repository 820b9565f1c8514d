"""Zero crossings within a step, by polynomials whose roots are known."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import whippletree as wt
from support.time_loops import bound
from whippletree.simulate.event_handling import Events
from whippletree.simulate.loop_compiler.numba_functions import compiled
from whippletree.simulate.zero_crossings import EventWatch, find_crossings, state_within

Array = np.ndarray


@compiled
def crossed(b, w, P, t, h, q, end):
    return find_crossings(b, w, P, t, h, q, end, 0)


@compiled
def within(b, P, t, h, s, q, row):
    return state_within(b, P, t, h, s, q, 0, row)


@functools.cache
def slide() -> wt.System:
    """A block on a slide along x: events where it is at zero, and where it is at one (this one acts)."""
    m = wt.Mechanism("slide", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.event("zero", m.coordinate("x"))
    m.event("one", m.coordinate("x") - 1.0, stop=True)
    m.event("rising", m.coordinate("x") - 0.25, direction="rising")
    return m.build()


def found(powers: list[float], h: float = 2.0, t: float = 3.0) -> tuple[float, list[tuple[str, float]], EventWatch]:
    """Let x(s) = sum powers[p] s^p from x = powers[0], in a step from t of size h; return share and crossings."""
    system = slide()
    bindings, run = bound(system, q=[powers[0]])
    events = Events(system, None, run.row_size)
    w = events.watched(bindings)
    w.side[:] = np.sign([powers[0], powers[0] - 1.0, powers[0] - 0.25])
    w.fresh[:] = 0
    P = np.zeros((len(powers), run.y.size))
    P[1:, 0] = powers[1:]
    end = np.zeros(run.row_size)
    within(bindings.buffers, P, t, h, 1.0, run.q, end)
    assert end[0] == pytest.approx(sum(powers))
    share = crossed(bindings.buffers, w, P, t, h, run.q, end)
    names = [use.name for use in events.uses]
    return share, [(names[int(row[0])], float(row[1])) for row in w.found[: w.counts[0]]], w


def test_a_straight_line_crosses_where_it_should():
    share, when, w = found([-1.0, 1.5])
    assert share == 1.0
    assert when == [("zero", pytest.approx(3.0 + 2 * 2 / 3, abs=1e-15)), ("rising", pytest.approx(3.0 + 2 * 5 / 6))]
    assert w.side.tolist() == [1, -1, 1]


def test_a_direction_that_is_not_wanted_is_passed_over():
    share, when, w = found([0.5, -0.4])
    assert (share, when) == (1.0, [])
    assert w.side.tolist() == [1, -1, -1]


def test_a_dip_between_two_samples_gives_two_crossings():
    """(s - 0.6)^2 - 1e-4 is below zero for a fiftieth of the step only."""
    _, when, _ = found([0.36 - 1e-4, -1.2, 1.0])
    zeros = [t for name, t in when if name == "zero"]
    assert zeros == pytest.approx([3.0 + 2 * 0.59, 3.0 + 2 * 0.61], abs=1e-13)


def test_a_touch_is_no_crossing():
    _, when, _ = found([0.36 + 1e-6, -1.2, 1.0])
    assert [name for name, _ in when if name == "zero"] == []


def test_an_acting_event_ends_the_step_and_what_comes_after_does_not_count():
    """x = 0.5 + 3 s - 3 s^2 is one at s = (3 - sqrt 3) / 6, and again later."""
    s = (3 - np.sqrt(3)) / 6
    share, when, w = found([0.5, 3.0, -3.0])
    assert share == pytest.approx(s, abs=1e-14)
    assert when == [("one", pytest.approx(3.0 + 2 * s, abs=1e-14))]
    assert w.counts.tolist() == [1, 1]
    assert w.found[0, 2] == pytest.approx(1.0, abs=1e-13)


def test_crossings_are_in_the_order_of_their_times():
    _, when, _ = found([-0.5, 1.2, 0.1])
    assert [name for name, _ in when] == ["zero", "rising"]
    assert when[0][1] < when[1][1]
