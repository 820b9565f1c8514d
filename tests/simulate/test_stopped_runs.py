"""What is decided about a run that has stopped, by how it stopped."""

from __future__ import annotations

import pytest

import whippletree as wt
from whippletree.errors import SimulationError
from whippletree.simulate import Simulation
from whippletree.simulate.run_state import KEEP_PLAN, Status


def four_bar() -> wt.System:
    m = wt.Mechanism("four-bar")
    one, two, three = (m.body(name, wt.rod(l, mass=1.0)) for name, l in (("a", 1.0), ("b", 2.0), ("c", 1.5)))
    m.revolute("A", m.ground, one)
    m.revolute("B", one, two, at=(1, 0, 0))
    m.revolute("C", two, three, at=(2, 0, 0), at_child=(1.5, 0, 0))
    m.revolute("D", m.ground, three, at=(2, 0, 0))
    return m.build(guess={"A": 1.0})


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.OPEN, "could not be closed again"),
        (Status.TOO_SMALL, "too small"),
        (Status.NOT_FINITE, "not finite"),
    ],
)
def test_a_stop_is_refused_in_words(status: int, words: str) -> None:
    with pytest.raises(SimulationError, match=words):
        Simulation(four_bar())._driver._decide(status)


def test_a_poor_plan_is_kept_where_there_is_no_better_one() -> None:
    sim = Simulation(four_bar())
    sim._driver._decide(Status.POOR)
    assert sim.run_state.flags[KEEP_PLAN] == 1
    assert sim.replans == []
