"""States onto the closures and off them: checks, projections and allowed motions of a four-bar, in numbers."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.consistency import ClosureConsistency


@pytest.fixture(name="s", scope="module")
def four_bar() -> wt.System:
    m = wt.Mechanism("four-bar")
    one, two, three = (m.body(name, wt.rod(l, mass=1.0)) for name, l in (("a", 1.0), ("b", 2.0), ("c", 1.5)))
    m.revolute("A", m.ground, one)
    m.revolute("B", one, two, at=(1, 0, 0))
    m.revolute("C", two, three, at=(2, 0, 0), at_child=(1.5, 0, 0))
    m.revolute("D", m.ground, three, at=(2, 0, 0))
    return m.build(guess={"A": 1.0})


def rates(q: np.ndarray) -> np.ndarray:
    """The one motion of the four-bar: the links' turning rates for one of the crank, from the loop's two equations."""
    a, b, d = q[0], q[0] + q[1], q[3]
    J = np.array([[-2 * np.sin(b), 1.5 * np.sin(d)], [2 * np.cos(b), -1.5 * np.cos(d)]])
    coupler, rocker = np.linalg.solve(J, [np.sin(a), -np.cos(a)])
    return np.array([1.0, coupler - 1.0, rocker - coupler, rocker])


def pieces(s: wt.System) -> tuple[ClosureConsistency, object]:
    return s._engine.loops.consistency, s._engine.loops.conditions()


def test_the_allowed_motion_is_the_closed_form(s: wt.System) -> None:
    consistency, where = pieces(s)
    (motion,) = consistency.motions(s.q0, where).T
    assert motion / motion[0] == pytest.approx(rates(s.q0), rel=1e-10)


def test_projected_velocities_are_the_nearest(s: wt.System) -> None:
    consistency, where = pieces(s)
    v, along = np.random.default_rng(1).normal(size=4), rates(s.q0)
    expected = along * (along @ v) / (along @ along)
    assert consistency.velocities(s.q0, v, where) == pytest.approx(expected, rel=1e-10)
    held = np.array([False, True, False, False])
    found = consistency.velocities(s.q0, v, where, held)
    assert found == pytest.approx(along * v[1] / along[1], rel=1e-10)


def test_given_velocities_give_way_and_held_ones_do_not(s: wt.System) -> None:
    consistency, where = pieces(s)
    both, none = np.array([True, True, False, False]), np.zeros(4, dtype=bool)
    v = np.array([1.0, 1.0, 0.0, 0.0])
    along = rates(s.q0)
    assert consistency.velocities(s.q0, v, where, none, both) == pytest.approx(along * (along @ v) / (along @ along))
    with pytest.raises(wt.AssemblyError, match="hold fewer joints"):
        consistency.velocities(s.q0, v, where, both)


def test_projected_accelerations_follow_the_motion(s: wt.System) -> None:
    """With the crank's rate constant: differences of the closed form along the motion."""
    consistency, where = pieces(s)
    step, v = 1e-5, rates(s.q0)
    there, before = (s.assemble(s.q0 + way * step * v, hold=["A"]) for way in (1, -1))
    expected = (rates(there) - rates(before)) / (2 * step)
    held = np.array([True, False, False, False])
    found = consistency.accelerations(s.q0, v, np.zeros(4), where, held)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-8)
    consistency.check_accelerations(s.q0, v, found, where)
    with pytest.raises(wt.StateError, match="accelerations do not satisfy"):
        consistency.check_accelerations(s.q0, v, found + np.array([0, 0, 1e-3, 0]), where)


def test_states_are_refused_by_what_they_miss(s: wt.System) -> None:
    consistency, where = pieces(s)
    v = rates(s.q0)
    consistency.check(s.q0, v, where)
    consistency.check(s.q0 + 1e-8, np.zeros(4), where)
    with pytest.raises(wt.StateError, match=r'leaves the loop of ".*" .* open'):
        consistency.check(s.q0 + np.array([1e-4, 0, 0, 0]), v, where)
    with pytest.raises(wt.StateError, match="velocities do not satisfy"):
        consistency.check(s.q0, v + np.array([1e-4, 0, 0, 0]), where)


def test_only_positions_next_to_a_dead_one_are_near_singular() -> None:
    m = wt.Mechanism("parallelogram")
    one, two, three = (m.body(name, wt.rod(l, mass=1.0)) for name, l in (("a", 1.0), ("b", 2.0), ("c", 1.0)))
    m.revolute("A", m.ground, one)
    m.revolute("B", one, two, at=(1, 0, 0))
    m.revolute("C", two, three, at=(2, 0, 0), at_child=(1, 0, 0))
    m.revolute("D", m.ground, three, at=(2, 0, 0))
    s = m.build(guess={"A": 0.5, "B": -0.5, "C": 0.5, "D": 0.5})
    consistency, where = pieces(s)
    along = np.array([1.0, -1.0, 1.0, 1.0])
    near = [consistency.near_singular(a * along, where) for a in (0.5, 0.05, 1e-4, 0.0, np.pi)]
    assert near == [False, False, True, True, True]
    with pytest.raises(wt.DynamicsError, match="singular at this configuration"):
        consistency.motions(np.zeros(4), where)


def test_self_stresses_of_a_planar_loop(s: wt.System) -> None:
    """A spatial loop in a plane is three times statically indeterminate; each stress balances on every body."""
    consistency, where = pieces(s)
    Z = consistency.self_stresses(s.q0, where)
    assert Z.shape == (4, 6, 3)
    assert np.linalg.matrix_rank(Z.reshape(24, 3)) == 3
