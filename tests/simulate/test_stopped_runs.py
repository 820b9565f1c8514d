"""What is decided about a run that has stopped, by how it stopped."""

from __future__ import annotations

import pytest

from whippletree.errors import SimulationError
from whippletree.simulate import Simulation
from whippletree.simulate.course import STAY, Status
from whippletree.system.examples import four_bar


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
        Simulation(four_bar())._decide(status)


def test_a_poor_plan_is_kept_where_there_is_no_better_one() -> None:
    sim = Simulation(four_bar())
    sim._decide(Status.POOR)
    assert sim._options[STAY] == 1
    assert sim.replans == []
