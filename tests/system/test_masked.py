"""What lies behind a mask is no number that was given: masked entries are refused everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.example_systems import pendulum

HOLE = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
ONE = np.ma.array([1.0], mask=[True])


@pytest.mark.parametrize(
    "call",
    [
        lambda: wt.point_mass(mass=np.ma.masked),
        lambda: wt.point_mass(mass=1.0, at=HOLE),
        lambda: wt.Mechanism("m", gravity=HOLE),
        lambda: wt.Spline(HOLE, [0.0, 1.0, 2.0]),
        lambda: wt.Spline([0.0, 1.0, 2.0], HOLE),
        lambda: wt.Table([0.0, 1.0, 2.0], HOLE),
        lambda: pendulum().forward_dynamics(ONE, [0.0]),
        lambda: pendulum().forward_dynamics([0.0], [0.0], ONE),
        lambda: pendulum().mass_matrix(np.ma.array([[1.0], [2.0]], mask=[[False], [True]])),
        lambda: pendulum().configuration({"hinge": ONE}),
        lambda: wt.Trajectory(pendulum(), [0.0, 1.0, 2.0], HOLE[:, None], np.zeros((3, 1))),
    ],
)
def test_masked_entries_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(wt.WhippletreeError):
        call()


def test_an_array_with_nothing_masked_is_an_array() -> None:
    q = np.ma.array([0.3])
    assert pendulum().forward_dynamics(q, [0.0]) == pendulum().forward_dynamics([0.3], [0.0])
    assert wt.point_mass(mass=1.0, at=np.ma.array([1.0, 2.0, 3.0])).mass == 1.0
