"""Plans that become poor where the mechanism is regular: a better one is found, against all that there are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.simulate import Simulation
from whippletree.simulate.run_plans import RunPlans
from whippletree.system.loop_plan import LoopPlan
from whippletree.system.planner import LoopPlanner

SLIDERS = [(0.3, 1.0), (0.5, 1.5), (0.3, 1.5), (0.5, 1.0)]
RADIUS = 0.3


def slider_crank(r: float, l: float) -> wt.System:
    """A slider-crank with its slider independent, which is singular where the crank and the rod are in line."""
    m = wt.Mechanism("slider-crank", gravity=(0, 0, 0))
    crank = m.body("crank", wt.rod(length=r, mass=1.0, axis="x"))
    rod = m.body("rod", wt.rod(length=l, mass=1.0, axis="x"))
    block = m.body("block", wt.box(size=(0.1, 0.1, 0.1), mass=1.0))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, rod, at=(r, 0, 0), axis="y")
    m.revolute("C", rod, block, at=(l, 0, 0), axis="y")
    m.prismatic("S", m.ground, block, axis="x")
    return m.build(guess={"A": 1.0, "B": -1.5}, dependent=["A", "B", "C"])


def coupled_wheels() -> wt.System:
    """Two wheels joined by two rods whose pins are a quarter turn apart: nowhere are both rods at a dead position."""
    m = wt.Mechanism("coupled wheels")
    one, two = (m.body(name, wt.cylinder(radius=0.5, length=0.1, mass=10, axis="y")) for name in ("one", "two"))
    m.revolute("A", m.ground, one, axis="y")
    m.revolute("D", m.ground, two, at=(2, 0, 0), axis="y")
    for k, pin in enumerate([(RADIUS, -0.2, 0), (0, 0.2, RADIUS)], start=1):
        rod = m.body(f"rod {k}", wt.rod(length=2, mass=1, axis="x"))
        m.revolute(f"B{k}", one, rod, at=pin, axis="y")
        m.revolute(f"C{k}", rod, two, at=(2, 0, 0), at_child=pin, axis="y")
    return m.build(guess=turned(0.3))


def turned(a: float) -> dict[str, float]:
    return {"A": a, "D": a, "B1": -a, "B2": -a, "C1": a, "C2": a}


def crank_at(system: wt.System, a: float, r: float, l: float) -> np.ndarray:
    b = np.arcsin(r / l * np.sin(a))  # between the rod and the line
    return system.configuration({"A": a, "B": -a - b, "C": b, "S": r * np.cos(a) + l * np.cos(b)})


def matrix(system: wt.System, q: np.ndarray) -> np.ndarray:
    numbers = system._engine.loops.numbers
    return np.asarray(numbers.tree_rows(q, 0.0, np.zeros(0)) * numbers.column_scale)


def strength(system: wt.System, plan: LoopPlan, q: np.ndarray) -> float:
    """The smallest singular value of what the plan solves for its dependent freedoms."""
    rows = system._engine.equations.attachments().places(plan.keep)
    columns = [column for _, column in plan.choice.pivots]
    return float(np.linalg.svd(matrix(system, q)[np.ix_(rows, columns)], compute_uv=False)[-1])


def most(system: wt.System, q: np.ndarray, n: int) -> float:
    """The same for the best of all choices of n rows and n freedoms."""
    C = matrix(system, q)
    C = C[np.abs(C).max(axis=1) > 1e-12]
    C = C[:, np.abs(C).max(axis=0) > 1e-12]
    rows, columns = (itertools.combinations(range(size), n) for size in C.shape)
    squares = np.array([C[np.ix_(i, j)] for i, j in itertools.product(list(rows), list(columns))])
    return float(np.linalg.svd(squares, compute_uv=False)[:, -1].max())


def check(system: wt.System, q: np.ndarray) -> LoopPlan | None:
    """Look for a better plan, and check that it is about the best one, or that there is nothing to gain."""
    loops = system._engine.loops
    assert np.abs(loops.numbers.residual(q, 0.0, np.zeros(0))).max() < 1e-12
    present = system._engine.equations.loop_plan
    best = most(system, q, len(present.choice.pivots))
    plan = loops.planner.better(present, q, loops.conditions())
    assert strength(system, plan or present, q) > best / 5
    return plan


@pytest.mark.parametrize(("r", "l"), SLIDERS)
def test_a_slider_crank_leaves_the_slider_at_its_dead_positions(r: float, l: float) -> None:
    system = slider_crank(r, l)
    slider = system.v_slice("S").start
    assert system._engine.equations.loop_plan.choice.independent == (slider,)
    for side in (0.0, np.pi):
        for share in (0.5, 0.2, 0.03, 1e-3, 1e-6):
            plan = check(system, crank_at(system, side + 0.8 * share, r, l))
            assert plan is None or plan.choice.independent != (slider,)
            assert plan is not None or share == 0.5
    if r == 0.5:  # where the wish does no harm it is followed
        loops, present = system._engine.loops, system._engine.equations.loop_plan
        assert loops.planner.better(present, system.q0, loops.conditions()) is None


@pytest.mark.parametrize("side", [0.0, np.pi / 2, np.pi, -np.pi / 2])
def test_coupled_wheels_are_held_by_the_rod_that_is_not_at_its_dead_position(side: float) -> None:
    """Four equations for three freedoms: the rod at its dead position has to give up one of its two."""
    system = coupled_wheels()
    plans = RunPlans(system)
    for share in (0.5, 0.2, 0.03, 1e-3, 1e-6, 0.0):
        q = system.configuration(turned(side + 0.3 * share))
        check(system, q)
        plans.again(q, system._engine.loops.conditions())
    keep = plans.now._engine.equations.loop_plan.keep
    first_dead = abs(np.sin(side)) < 0.5
    assert [len(rows) for rows in keep] == ([1, 2] if first_dead else [2, 1])
    # against the one freedom's own equation: inertia about the axles, and the weights of the rods
    alpha = 9.81 * RADIUS * (np.cos(side) + np.sin(side)) / (2 * 10 * 0.5**2 / 2 + 2 * RADIUS**2)
    q = system.configuration(turned(side))
    a = plans.now.forward_dynamics(q, np.zeros(6), formulation="independent_coordinates")
    assert np.abs(a - alpha * np.array([1, 1, -1, 1, -1, 1])).max() < 1e-12


def test_plans_that_were_left_are_taken_up_again() -> None:
    """However often a run changes between them: nothing is compiled for the second time."""
    system = coupled_wheels()
    plans, where = RunPlans(system), system._engine.loops.conditions()
    seen = []
    for k in range(1, 9):
        assert plans.again(system.configuration(turned(k * np.pi / 2 + 1e-3 * k)), where) == (k > 1)
        seen.append(plans.now)
    assert len({id(system) for system in seen}) == 2
    assert seen[3:5] == seen[5:7]


def test_a_run_that_follows_another_looks_at_the_plan_of_that_time_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes up the same plans at the same times, and looks at hardly another one."""
    system = coupled_wheels()
    first, looked, fitting = RunPlans(system), [], LoopPlanner._fitting

    def counted(planner: LoopPlanner, plans: list[LoopPlan], *given: Any) -> LoopPlan | None:
        looked.append(len(plans))
        return fitting(planner, plans, *given)

    monkeypatch.setattr(LoopPlanner, "_fitting", counted)

    def follow(plans: RunPlans, late: float) -> tuple[list[object], int]:
        looked.clear()
        seen = []
        for k in range(1, 30):
            where = system._engine.loops.conditions(0.1 * k + late)
            plans.again(system.configuration(turned(k * np.pi / 2 + 1e-3 * k)), where)
            seen.append(plans.now)
        return seen, sum(looked)

    expected, alone = follow(first, 0.0)
    for late in (0.0, 0.02, -0.02):
        seen, with_help = follow(first.from_start(), late)
        assert seen == expected
        assert with_help <= 31
    assert alone > 50


def travel_time(r: float, l: float, start: float, end: float, speed: float) -> float:
    """How long the crank takes: its kinetic energy is constant, so that its speed follows from the angle."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(start, end, 200)
    half = np.diff(edges)[:, None] / 2

    def inertia(a: Any) -> Any:
        b = np.arcsin(r / l * np.sin(a))
        db = r * np.cos(a) / (l * np.cos(b))
        x = -r * np.sin(a) - l / 2 * np.sin(b) * db  # the middle of the rod
        z = r * np.cos(a) - l / 2 * np.cos(b) * db
        s = -r * np.sin(a) - l * np.sin(b) * db
        return r**2 / 3 + x**2 + z**2 + l**2 / 12 * db**2 + s**2

    a = edges[:-1, None] + half * (1 + nodes)
    return float((half * weights * np.sqrt(inertia(a) / inertia(start))).sum() / speed)


@pytest.mark.parametrize(("r", "l"), SLIDERS[:2])
def test_a_crank_turns_on_through_the_dead_positions_of_the_slider(r: float, l: float) -> None:
    system = slider_crank(r, l)
    q = crank_at(system, 1.0, r, l)
    sim = Simulation(system, q=q, v=system.consistent_velocities(q, {"A": 4.0}), method="dop853", tolerance=1e-10)
    sim.step(5.0)
    assert sim.replans
    assert sim.singular == []
    assert abs(travel_time(r, l, 1.0, sim.state.q[0], 4.0) - 5.0) < 1e-6
