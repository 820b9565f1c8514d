"""Kang and Yoon, "On the improvement of a fully recursive formulation": savings, the quarter car, three points."""

from __future__ import annotations

import numpy as np
import pytest

from whippletree.analysis.models import quarter_car
from whippletree.analysis.recounts import origin_savings
from whippletree.errors import StateError
from whippletree.system.example_systems import four_bar


@pytest.mark.parametrize(("n", "m"), [(1, 0), (2, 3), (3, 0), (3, 9)])
def test_the_origin_saves_as_much_as_the_paper_says(n: int, m: int) -> None:
    saved = origin_savings(n, m)
    assert sum(saved.values()) >= 36 + 6 * n + 6 * m
    # comments 2 and 3 of the paper, number by number
    assert saved["force to the parent (28)"] == 6
    assert saved["inertia to the parent (28)"] == 48
    assert saved["coupling to the parent (28)"] == 6 * n
    assert saved["acceleration (30)"] == 6
    assert saved["constraints (39)"] == 6 * m
    assert saved["mass and force (36)"] == -24


def test_quarter_car() -> None:
    """Six bodies with the fixed chassis, ten joint coordinates, three balls cut, one spring-damper."""
    model = quarter_car()
    s = model.build()
    node_tree = s._engine.equations.node_tree()
    assert len(s.description.bodies) == len(node_tree.node_constants) == 5
    assert sum(constants.joint.nv for constants in node_tree.node_constants) == 10
    assert [s.description.joints[cut.joint].joint.kind for cut in s.plan.cuts] == ["spherical"] * 3
    assert len(s.description.forces) == 1
    assert s.mobility.mobility == 1
    q, v = model.state(s)
    expected = np.array(s.function("forward_dynamics", formulation="absolute")(q, v, 0)).ravel()
    for point in ("centroid", "joint", "origin"):
        a = np.array(s.function("forward_dynamics", formulation="fully_recursive", reference=point)(q, v, 0)).ravel()
        assert np.abs(a - expected).max() < 1e-9 * np.abs(expected).max(), point


def test_a_run_takes_a_reference_point() -> None:
    """`reference=` in a run is that of a call, and goes with this formulation only."""
    s = four_bar()
    run = s.simulate(0.05, every=0.05, formulation="fully_recursive", reference="joint")
    same = s.simulate(0.05, every=0.05, formulation="fully_recursive/joint")
    assert np.array_equal(run.q, same.q)
    with pytest.raises(StateError, match='reference= belongs to formulation="fully_recursive"'):
        s.simulate(0.05, reference="joint")
