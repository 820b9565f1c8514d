"""The numeric plan by itself: rows, partition and pivots of small mechanisms, and the plan as frozen data."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import whippletree as wt
from whippletree.formulations.methods.registry import find
from whippletree.system import formulation_decisions
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.decisions import alternatives, decide, on_grid, smallest_pivot
from whippletree.system.loop_plan import LoopPlan


def four_bar(crank: float = 1.0, coupler: float = 2.0, rocker: float = 1.5, ground: float = 2.0) -> wt.Mechanism:
    m = wt.Mechanism("four-bar")
    names = {"crank": crank, "coupler": coupler, "rocker": rocker}
    one, two, three = (m.body(name, wt.rod(length, mass=1.0)) for name, length in names.items())
    m.revolute("A", m.ground, one)
    m.revolute("B", one, two, at=(crank, 0, 0))
    m.revolute("C", two, three, at=(coupler, 0, 0), at_child=(rocker, 0, 0))
    m.revolute("D", m.ground, three, at=(ground, 0, 0))
    return m


def parallelogram() -> wt.Mechanism:
    return four_bar(1.0, 2.0, 1.0, 2.0)


def scaled_rows(numbers: ClosureNumbers, q: np.ndarray) -> np.ndarray:
    """Return rows on angles: those that are angles, and the three shifts of the loop's last hinge over the mean bar."""
    rows = numbers.tree_rows(q, *numbers.conditions())
    (closure,) = numbers.closure_set.attachments.all
    shifts = [label.startswith("force") for label in closure.closure.labels]
    assert sum(shifts) == 3
    mean = np.mean([2 * body.properties.com[0] for body in numbers.description.bodies])
    return np.asarray(rows / np.where(shifts, mean, 1.0)[:, None])


def plan_of(s: wt.System) -> LoopPlan:
    return s._engine.equations.loop_plan


@pytest.mark.parametrize("a", [0.3, 1.0, 2.0, 4.0])
def test_a_planar_four_bar_keeps_two_rows_and_one_freedom(a: float) -> None:
    """Three hinges of the tree and two independent equations in the plane, about as good as any two of the three."""
    s = four_bar().build(guess={"A": a})
    numbers, q = s._engine.loops.numbers, s.q0
    decision = decide(numbers, q, numbers.conditions(), 3)
    rows = numbers.closure_set.attachments.places(decision.kept_rows)
    columns = [column for _, column in decision.partition.pivots]
    (independent,) = decision.partition.independent
    assert sorted([independent, *columns]) == numbers.free_freedoms.tolist()
    C = scaled_rows(numbers, q)
    assert np.linalg.matrix_rank(C[rows], tol=1e-9) == np.linalg.matrix_rank(C, tol=1e-9) == 2
    sizes = {
        pair: abs(np.linalg.det(C[np.ix_(rows, pair)]))
        for pair in itertools.combinations(numbers.free_freedoms.tolist(), 2)
    }
    assert sizes[tuple(sorted(columns))] > 0.4 * max(sizes.values())


@pytest.mark.parametrize("a", [0.3, 1.0, 2.0])
def test_pivots_are_those_of_an_elimination_by_hand(a: float) -> None:
    s = four_bar().build(guess={"A": a})
    numbers, q = s._engine.loops.numbers, s.q0
    for decision in alternatives(numbers, q, numbers.conditions(), 1):
        rows = numbers.closure_set.attachments.places(decision.kept_rows)
        order, columns = zip(*decision.partition.pivots, strict=True)
        A = scaled_rows(numbers, q)[np.ix_([rows[r] for r in order], columns)]
        by_hand = min(abs(A[0, 0]), abs(A[1, 1] - A[1, 0] * A[0, 1] / A[0, 0]))
        assert smallest_pivot(numbers, decision, q, numbers.conditions()) == pytest.approx(by_hand, rel=1e-12)


def test_dependent_freedoms_that_are_asked_for() -> None:
    s = four_bar().build(guess={"A": 1.0})
    numbers = s._engine.loops.numbers
    for wanted in itertools.combinations(numbers.free_freedoms.tolist(), 2):
        decision = decide(numbers, s.q0, numbers.conditions(), 3, frozenset(wanted))
        assert {column for _, column in decision.partition.pivots} == set(wanted)


def test_a_parallelogram_lying_flat_is_planned_where_it_is_regular() -> None:
    """Flat, one equation is lost at first order; the plan keeps both, and is made a little off."""
    with pytest.warns(wt.AssemblyWarning, match="singular"):
        s = parallelogram().build(guess={"A": 0.0})
    plan, numbers = plan_of(s), s._engine.loops.numbers
    assert (plan.n_rows, plan.rank, s.mobility.mobility, s.mobility.local) == (2, 3, 1, 2)
    flat = np.linalg.svd(numbers.full_rows(s.q0, *numbers.conditions())[0], compute_uv=False)
    made = np.linalg.svd(numbers.full_rows(plan.q, *plan.where)[0], compute_uv=False)
    assert flat[2] < 1e-9
    assert made[2] > 1e-3
    assert plan.smallest_pivot > 1e-2


def test_a_coarse_grid_keeps_the_size_of_the_pivots() -> None:
    s = four_bar().build(guess={"A": 1.234})
    numbers = s._engine.loops.numbers
    decision = decide(numbers, s.q0, numbers.conditions(), 3)
    coarse = on_grid(numbers, decision, numbers.conditions())
    here, there = (smallest_pivot(numbers, decision, q, numbers.conditions()) for q in (decision.q, coarse.q))
    assert 0.8 < there / here < 1.25
    assert not np.array_equal(coarse.q, decision.q)
    grid = numbers.column_scale * 0.5**11
    assert coarse.q / grid == pytest.approx(np.rint(coarse.q / grid), abs=1e-9)


def test_plans_are_frozen_data() -> None:
    s = four_bar().build(guess={"A": 1.0})
    planner, where, q = s._engine.loops.planner, s._engine.loops.conditions(), s.q0
    plan, _ = planner.make(q, where)
    again, _ = planner.make(s.q0, where)
    other, _ = planner.make(s.assemble({"A": 1.1}), where)
    assert plan == again == plan_of(s)
    assert hash(plan) == hash(again)
    assert s._engine.equations.planned(again).code_key(find("penalty")) == s._engine.equations.code_key(find("penalty"))
    assert plan != other
    assert plan.key() != other.key()
    q[0] = 9.0  # a plan keeps a copy
    assert plan == again
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.rank = 7  # type: ignore[misc]


def test_a_decision_is_found_once_and_only_if_asked_for() -> None:
    plan = plan_of(four_bar().build(guess={"A": 1.0}))
    asked: list[LoopPlan] = []

    def find_pairs(of: LoopPlan) -> dict[int, int]:
        asked.append(of)
        return {2: 0}

    own = dataclasses.replace(plan, finders={"reduction": find_pairs})
    assert own == plan
    assert asked == []
    assert own.reduction == own.reduction == {2: 0}
    assert len(asked) == 1
    assert asked[0] is own


def test_a_decision_set_by_hand_is_another_plan() -> None:
    s = four_bar().build(guess={"A": 1.0})
    plan = plan_of(s)
    forced = plan.with_decision("reduction", {2: 0})
    assert forced.reduction == {2: 0}
    assert plan.reduction == {}
    assert forced != plan
    assert forced.same(plan)
    own, imposed = s._engine.equations, s._engine.equations.planned(forced)
    assert imposed.code_key(find("coordinate_reduction")) != own.code_key(find("coordinate_reduction"))
    assert imposed.code_key(find("penalty")) == own.code_key(find("penalty"))


def test_an_engine_with_another_plan_leaves_the_first_as_it_was() -> None:
    s = four_bar().build(guess={"A": 1.0})
    first, before = s._engine, plan_of(s)
    plan, _ = first.loops.planner.make(s.assemble({"A": 2.0}), first.loops.conditions(), frozenset({0}))
    second = first.planned(plan)
    assert first.equations.loop_plan is before
    assert second.equations.loop_plan is plan
    assert second.loops.numbers is first.loops.numbers
    assert second.loops.auto.chosen is first.loops.auto.chosen
    state = {"q": s.q0, "v": s.consistent_velocities(s.q0, {"A": 1.0})}
    assert second.loops.fallback.accelerations(state) == pytest.approx(s.forward_dynamics(**state), rel=1e-9)


def test_the_methods_of_groups_belong_to_their_plan() -> None:
    s = four_bar().build(guess={"A": 1.0})
    plan, _ = s._engine.loops.planner.make(s.assemble({"A": 2.0}), s._engine.loops.conditions())
    twin = s.kernels.planned(plan)
    v = s.consistent_velocities(s.q0, {"A": 1.0})
    assert len(twin.kernels.equations.decisions(find("by_group")).group_methods) == 1
    expected = s.forward_dynamics(s.q0, v, formulation="joint_multipliers")
    assert twin.forward_dynamics(s.q0, v, formulation="by_group") == pytest.approx(expected, rel=1e-9)


def test_weights_of_the_penalty_are_proportional_to_the_stiffness_of_their_rows() -> None:
    s = four_bar().build(guess={"A": 1.0})
    plan, numbers = plan_of(s), s._engine.loops.numbers
    none = np.zeros(4)
    terms = numbers.terms({"q": plan.q, "v": none, "tau": none, "a": none}, *plan.where)
    free = numbers.free_freedoms
    C, M = terms.C[:, free], terms.M[np.ix_(free, free)]
    stiffness = np.diag(C @ np.linalg.solve(M, C.T))
    used = np.abs(C).max(axis=1) > 1e-12
    weights = np.array(plan.penalty_weights)
    assert weights[used] * stiffness[used] == pytest.approx(1, rel=1e-9)
    assert (weights[~used] == 0).all()
    assert 0 < plan.penalty.error < 1e-6


def test_pivots_of_absolute_coordinates_never_vanish() -> None:
    s = four_bar().build(guess={"A": 1.0})
    plan, numbers = plan_of(s), s._engine.loops.numbers
    keys, columns, A, _ = numbers.absolute_matrix(plan.keep, plan.q, *plan.where)
    order = [(keys.index(row), columns.index(column)) for row, column in plan.absolute_pivots]
    assert sorted(r for r, _ in order) == sorted(c for _, c in order) == list(range(len(A)))
    left = A.copy()
    for r, c in order:
        assert abs(left[r, c]) > 1e-8
        left -= np.outer(left[:, c] / left[r, c], left[r])


def test_a_rod_that_spins_between_two_balls_has_a_massless_motion() -> None:
    """The spin is the only motion here: its inertia is rounding, whatever it is compared with."""

    def tied(thin: bool) -> wt.System:
        m = wt.Mechanism("rod")
        crank = m.body("crank", wt.rod(1.0, mass=1.0))
        spin = 0.0 if thin else 0.01
        rod = m.body("rod", mass=1.0, com=(1, 0, 0), inertia=np.diag([spin, 1 / 3, 1 / 3]).tolist())
        m.revolute("A", m.ground, crank, axis="z")
        m.spherical("B", crank, rod, at=(1, 0, 0))
        m.spherical("C", m.ground, rod, at=(2.5, 0, 0.5), at_child=(2, 0, 0))
        return m.build(guess={"A": 0.8})

    thin, thick = tied(thin=True), tied(thin=False)
    assert plan_of(thin).massless_motion
    assert not plan_of(thick).massless_motion
    assert np.isfinite(thick.forward_dynamics(thick.q0, np.zeros(7))).all()
    with pytest.raises(wt.DynamicsError, match="moves nothing that has inertia"):
        thin.forward_dynamics(thin.q0, np.zeros(7))


def test_massless_combinations() -> None:
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(5, 3))
    assert formulation_decisions.massless_combination(np.eye(5), Z, np.ones(5)) is None
    assert formulation_decisions.massless_combination(np.eye(5), np.zeros((5, 0)), np.ones(5)) is None
    J = rng.normal(size=(2, 5))  # two inertias for three motions
    found = formulation_decisions.massless_combination(J.T @ J, Z, np.ones(5))
    assert found is not None
    assert J @ found == pytest.approx(np.zeros(2), abs=1e-12)
    assert np.abs(found).max() > 0.1
