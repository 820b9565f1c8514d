"""A joint or body that is named twice, by its name and as a handle, is refused: neither value silently wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whippletree as wt

CALLS: dict[str, Callable[[wt.System, Any, Any], object]] = {
    "targets": lambda s, A, arm: s.inverse_kinematics({"arm": (1.0, 0.0, 0.0), arm: (0.0, 1.0, 0.0)}),
    "weights": lambda s, A, arm: s.inverse_kinematics({"arm": (1.0, 0.0, 0.0)}, weights={"arm": 1.0, arm: 2.0}),
    "wrenches": lambda s, A, arm: s.forward_dynamics([0.0], [0.0], wrenches={"arm": np.zeros(6), arm: np.ones(6)}),
    "guess": lambda s, A, arm: s.assemble({"A": 0.1, A: 0.2}),
    "velocities": lambda s, A, arm: s.simulate(0.1, v={"A": 0.1, A: 0.2}),
    "efforts": lambda s, A, arm: s.forward_dynamics([0.0], [0.0], {"A": 0.1, A: 0.2}),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_name_and_its_handle_together_are_refused(call: str) -> None:
    m = wt.Mechanism("arm")
    arm = m.body("arm", mass=1.0, inertia=(1, 1, 1))
    A = m.revolute("A", m.ground, arm, axis="z")
    with pytest.raises(wt.StateError, match="twice"):
        CALLS[call](m.build(), A, arm)
