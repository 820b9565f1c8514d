"""Names that `System` had before: each does what it did, with a warning that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.example_systems import four_bar, quarter_car

OLD: dict[str, tuple[Callable[[wt.System], Any], Callable[[wt.System], Any]]] = {
    "neutral": (lambda s: s.neutral(), lambda s: np.zeros(4)),
    "normalize": (lambda s: s.normalize(s.q0), lambda s: s.q0),
    "coordinates": (lambda s: s.coordinates({"A": 0.5}), lambda s: np.array([0.5, 0.0, 0.0, 0.0])),
    "motion_basis": (lambda s: s.motion_basis(s.q0), lambda s: s.matrices(s.q0)["E"]),
    "n_bodies": (lambda s: s.n_bodies, lambda s: 3),
    "redundancy": (lambda s: s.redundancy, lambda s: len(s.mobility.redundant)),
    "mobility_at": (lambda s: s.mobility_at(s.q0).mobility, lambda s: 1),
    "assemble_batch": (lambda s: s.assemble_batch(s.q0[None]).q, lambda s: s.q0[None]),
    "actuation": (lambda s: s.actuation(s.q0, actuators=["A"]).rank, lambda s: 1),
    "minimal_coordinates": (lambda s: s.minimal_coordinates(s.q0).displacement_map.shape, lambda s: (4, 1)),
    "equilibrium_path": (lambda s: s.equilibrium_path("A.effort", [0.0, 0.01]).values[-1], lambda s: 0.01),
    "operations": (lambda s: s.operations("mass_matrix").total > 0, lambda s: True),
    "closure_lengths": (lambda s: s.closure_lengths.shape, lambda s: (6,)),
    "element_states": (lambda s: s.element_states, lambda s: ()),
}


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_works_and_says_what_to_write(name: str) -> None:
    s = four_bar()
    before, now = OLD[name]
    with pytest.warns(DeprecationWarning, match=rf"whippletree: System\.{name} .*goes in 0\.2"):
        found = before(s)
    np.testing.assert_allclose(np.asarray(found), np.asarray(now(s)), atol=1e-9)
    assert name not in dir(s)


def test_auxiliary_states_are_given_by_name() -> None:
    """As numbers by joint are; a name that there is not is told."""
    s = quarter_car()
    assert s.state_rates(s.q0, s.v0, z={"lag": 0.1}).tolist() == s.state_rates(s.q0, s.v0, z=[0.1]).tolist()
    run = s.simulate(0.01, z={"lag": 0.1}, every=0.01)
    assert run.z[0].tolist() == [0.1]
    with pytest.raises(wt.ModelError, match='no state "leg"; did you mean "lag"'):
        s.state_rates(s.q0, s.v0, z={"leg": 0.1})
    with pytest.warns(DeprecationWarning, match="z={...} by name"):
        assert s.states({"lag": 0.5}).tolist() == [0.5]
