"""Steps of large mechanisms are loops over bodies and conditions: as the straight line, and quick to compile."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.natural_models import all_joints, five_links
from support.natural_steps_interpreted import interpreted, interpreted_state
from support.sampling import deep
from whippletree.analysis.models import heavy_truck, human_body
from whippletree.kernels.kernel import Kernel, Signature
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.natural import natural_coordinates
from whippletree.natural.block_elimination import BlockMatrix
from whippletree.programs.loop_program import LoopProgram, RepeatedSteps
from whippletree.programs.step_tables import Numbers, WorkMemory, copied, segment
from whippletree.realtime import StepStatus
from whippletree.studies.natural_runs import NaturalOptions, NaturalRun


def evaluated(program: LoopProgram, given: np.ndarray, size: int) -> np.ndarray:
    kernel = Kernel("", Signature((("x", given.size),), (("y", size),), (size,)), lambda: RolledLoops(program), None)
    result = np.empty(size)
    kernel.one([given], [result])
    return result


@pytest.mark.parametrize("symmetric", [True, False])
def test_blocks_are_eliminated(symmetric: bool) -> None:
    """A sparse matrix of blocks, with fill, against NumPy."""
    rng = np.random.default_rng(5)
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 5), (5, 6)]
    memory = WorkMemory()
    blocks, right = BlockMatrix(7, pairs, memory), memory.take(21)
    A = 8.0 * np.eye(21)
    for i, j in pairs:
        B = rng.normal(size=(3, 6))
        places = [*range(3 * i, 3 * i + 3), *range(3 * j, 3 * j + 3)]
        A[np.ix_(places, places)] += B.T @ (B if symmetric else B + 0.2 * rng.normal(size=(3, 6)))
    given = np.zeros(blocks.blocks.size + 21)
    for (i, j), start in blocks.places.items():
        given[start : start + 9] = A[3 * i : 3 * i + 3, 3 * j : 3 * j + 3].ravel(order="F")
    b = given[-21:] = rng.normal(size=21)
    steps = [
        *copied(Numbers("input", 0, given.size - 21), blocks.blocks),
        *copied(Numbers("input", given.size - 21, 21), right),
        blocks.factored(symmetric),
        *blocks.solved(right, symmetric),
        *copied(right, Numbers("output", 0, 21)),
    ]
    assert len(blocks.places) > 7 + len(pairs)
    assert evaluated(LoopProgram(tuple(steps), memory.size, ()), given, 21) == pytest.approx(np.linalg.solve(A, b))


def test_steps_are_repeated() -> None:
    memory, x = WorkMemory(), ca.SX.sym("x", 3)
    place = memory.take(3)
    rounds = RepeatedSteps((segment([(x, place)], [(3 * x + 1, place)]),), 4)
    steps = (*copied(Numbers("input", 0, 3), place), rounds, *copied(place, Numbers("output", 0, 3)))
    program = LoopProgram(steps, memory.size, ())
    assert evaluated(program, np.array([0.0, 1.0, -2.0]), 3).tolist() == [40.0, 121.0, -122.0]
    assert RolledLoops(program).count().total == 4 * 6


def with_parameters() -> wt.System:
    m = wt.Mechanism("two rods")
    length = m.parameter("length", 0.5)
    for name in ("first", "second"):
        m.body(name, wt.box((0.6, 0.1, 0.1), mass=2.0, at=(0.3, 0, 0)))
    m.revolute("A", m.ground, "first", axis="y")
    m.revolute("B", "first", "second", at=(length, 0, 0), axis=(0.6, 0.8, 0))
    return m.build()


MODELS = {"closed": lambda: five_links(True), "all joints": all_joints, "parameters": with_parameters}


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "projections"),
    [("closed", True), ("parameters", False), *deep([("all joints", True), ("all joints", False), ("closed", False)])],
)
def test_loops_are_the_straight_line(name: str, projections: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of the time loop and of real time with efforts, and joint coordinates of several states at once."""
    monkeypatch.setattr(natural_coordinates, "LARGE", 0)
    s = MODELS[name]()
    more = {"parameters": {"length": 0.7}} if name == "parameters" else {}
    v = s.v0 if s.kernels.closed else np.full(s.nv, 0.3)
    run = NaturalRun(s, NaturalOptions(1e-3, 2, projections=projections), v=v, tau=np.full(s.nv, 0.1), **more)
    rows = run.march(5)
    q, speeds = s.natural.fit(rows.x, rows.rates, s.q0, parameters=run.parameters)
    stepper = s.realtime(method="natural", projections=projections, v=v, **more)
    assert isinstance(stepper._program, RolledLoops)
    stepper.inputs["tau"][:] = 0.1
    stepper.reset(v=v, **more)
    straight, end = interpreted(run, 5), interpreted_state(stepper, 5)
    for _ in range(5):
        assert stepper.step() is StepStatus.DONE
    looped = [rows.x[1:], rows.rates[1:], rows.accelerations[1:], q[1:], speeds[1:]]
    for one, other, digits in zip(looped, straight, (1e-13, 1e-10, 1e-6, 1e-10, 1e-9), strict=True):
        assert np.abs(one - other).max() < digits * max(1.0, np.abs(other).max())
    assert stepper.q == pytest.approx(end[: s.nq], rel=1e-10, abs=1e-10)
    assert stepper.v == pytest.approx(end[s.nq : s.nq + s.nv], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("make", deep([human_body, heavy_truck]))
def test_large_mechanisms(make) -> None:
    """A step of a large mechanism is a few ten thousand operations to compile; accelerations are those of a tree."""
    s = make().build()
    stepper = s.realtime(step=1e-3, method="natural")
    program = stepper._program
    assert isinstance(program, RolledLoops)
    first = stepper.v.copy()
    for _ in range(5):
        assert stepper.step() is StepStatus.DONE, stepper.cause
    exact = s.forward_dynamics(s.q0, first)
    assert (stepper.v - first) / 5e-3 == pytest.approx(exact, abs=0.05 * max(1.0, np.abs(exact).max()))
    written = sum(len(tape.operations) for tape in program._tapes.values())
    assert written < 50_000 < stepper.operations.total
