"""Plans that last: what is decided at one configuration stays good where the mechanism goes from there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.kernels import kernel
from whippletree.model import io
from whippletree.simulate import Simulation
from whippletree.system.ranks import choose_pivots, choose_rows, pivots_met

EXAMPLES = Path(__file__).parents[2] / "examples"


def six_hinges() -> tuple[wt.System, np.ndarray, np.ndarray]:
    model = io.read_file(EXAMPLES / "iftomm" / "bricard.yaml")
    system = model.build()
    return system, *model.initial(system)


def pivots(system: wt.System, q: np.ndarray) -> np.ndarray:
    """What the system's plan eliminates with, in plain NumPy."""
    engine = system._engine
    numbers, plan = engine.loops.numbers, engine.equations.loop_plan
    A = numbers.tree_rows(q, *engine.loops.conditions()) * numbers.column_scale
    A = A[engine.equations.attachments().places(plan.keep)]
    columns = [column for _, column in plan.choice.pivots]
    A = A[np.ix_([row for row, _ in plan.choice.pivots], columns)]
    minors = np.array([1.0, *(np.linalg.det(A[:n, :n]) for n in range(1, len(A) + 1))])
    return minors[1:] / minors[:-1]


def test_one_plan_is_good_wherever_the_six_hinges_fall() -> None:
    system, there, _ = six_hinges()
    start = pivots(system, there)
    for angle in np.linspace(0.05, np.pi - 0.05, 60):
        there[0] = angle
        there = system.assemble(there, hold=[system.joint_names[0]])
        assert (pivots(system, there) * start > 0).all()
        assert np.abs(pivots(system, there)).min() > 0.1 * np.abs(start).min()


def test_a_run_of_the_six_hinges_keeps_its_plan() -> None:
    system, q, v = six_hinges()
    run = Simulation(system, q=q, v=v, method="dop853", tolerance=1e-8)
    run.run(np.linspace(1, 10, 10))
    assert not run.replans


@pytest.mark.parametrize("seed", range(20))
def test_an_order_of_elimination_that_goes_through_several_matrices_is_found(seed: int) -> None:
    """There is one by construction; one that is good in the first matrix alone often goes wrong in another."""
    rng = np.random.default_rng(seed)
    n, count = 4, 6
    rows, columns = rng.permutation(n), rng.permutation(n)
    lower = np.eye(n) + np.tril(rng.normal(size=(count, n, n)), -1)
    upper = np.triu(rng.normal(size=(count, n, n)), 1) + np.eye(n) * rng.uniform(1, 2, size=(count, 1, n))
    stack = (lower @ upper)[:, rows][:, :, columns]
    order = choose_pivots(stack, np.ones((n, n), dtype=bool))
    met = np.array([pivots_met(A, order) for A in stack])
    assert (met * met[0] > 0).all()


def test_rows_are_chosen_for_the_worst_of_several_matrices() -> None:
    turning = np.array([[[np.cos(a)], [np.sin(a)], [0.6]] for a in np.linspace(0, 1.5, 9)])
    assert choose_rows(turning, 1) == [2]


def test_runs_that_come_nearly_the_same_way_share_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way round the six hinges need other plans, made at slightly other configurations each time.

    After three runs, which soon go different ways, there is code for all plans of the next three.
    """
    system, _, _ = six_hinges()
    made: list[int] = []
    compile_ir = kernel.compile_ir
    monkeypatch.setattr(kernel, "compile_ir", lambda *given, **more: made.append(1) or compile_ir(*given, **more))
    counts, first = [], system.joint_names[0]
    for angle in (-0.3, -0.303, -0.306, -0.309, -0.312, -0.315):
        q = system.assemble({first: angle}, hold=[first])
        run = Simulation(system, q=q, v=system.consistent_velocities(q, {first: -3.0}), tolerance=1e-8)
        run.run(np.linspace(1, 4, 4))
        assert run.replans
        counts.append(len(made))
    assert counts[0] > 0
    assert counts[5] == counts[2]
