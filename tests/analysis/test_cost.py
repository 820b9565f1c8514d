"""Costs by stage, data flow and families: against counts and schedules found by other means."""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
import pytest

from support.formulations import LOOPS, TREE_VARIANTS
from support.tapes import evaluated
from whippletree.analysis import Evaluation, Flow, compare, costs, pairwise, seconds, traced
from whippletree.analysis.cost import counted
from whippletree.analysis.models import serial_chain, slider_four_bar, stanford_arm, star
from whippletree.errors import StateError
from whippletree.kernels.tape import Tape, read_tape


@pytest.mark.parametrize("formulation", TREE_VARIANTS)
def test_stages_of_a_tree_add_up(formulation: str) -> None:
    s = serial_chain(4).build()
    found = costs(s, formulation)
    assert found.total == s.kernels.operations("forward_dynamics", formulation=formulation)
    assert len(found.stages) > 2


@pytest.mark.parametrize("formulation", LOOPS)
def test_stages_of_a_loop_add_up(formulation: str) -> None:
    s = slider_four_bar().build()
    found = costs(s, formulation)
    assert found.total == s.kernels.operations("forward_dynamics", formulation=formulation)


def test_unfolded_is_never_cheaper() -> None:
    for n, formulation in itertools.product((2, 4), ("fully_recursive", "velocity_transformation", "composite")):
        s = serial_chain(n).build()
        assert costs(s, formulation, folded=False).total.total > costs(s, formulation).total.total


def test_an_operation_belongs_to_the_first_stage_that_needs_it() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    shared = x * y
    found = counted([x, y], shared + x, [("first", [shared]), ("second", [shared + x, ca.sin(x)])])
    assert (found["first"].multiplications, found["second"].additions) == (1, 1)
    assert found["second"].trigonometric == 0  # the result does not need it
    assert found["solution"].total == 0


def test_a_stage_that_is_not_there_is_told() -> None:
    found = costs(serial_chain(2).build())
    with pytest.raises(StateError, match='the costs have no stage "solutoin"; did you mean "solution"'):
        found["solutoin"]


def test_constants_are_computed_once() -> None:
    x, c = ca.SX.sym("x"), ca.SX.sym("c")
    found = counted([x], c * c * x, [], c)
    assert found["solution"].multiplications == 1


def diamond() -> Tape:
    """x -> a; a -> b, c, d (one unit each), then e = b + c, f = e + d: six operations, the longest chain four."""
    x = ca.SX.sym("x")
    a = x + 1
    b, c, d = a * 3, a * 5, a * 7
    return read_tape(ca.Function("diamond", [x], [(b + c) + d]))


def test_critical_path_and_schedule_by_hand() -> None:
    flow = Flow(diamond())
    assert (flow.serial, flow.critical) == (6, 4)
    assert flow.largest_speed_up == pytest.approx(1.5)
    # a | b c | d e | f: two processors are enough
    assert [flow.schedule(p).length for p in (1, 2, 3)] == [6, 4, 4]
    slow = Flow(diamond(), weights={"mul": 3})
    assert (slow.serial, slow.critical) == (12, 6)
    assert slow.schedule(1).length == 12


def longest_chain(tape: Tape) -> int:
    """By relaxation over edges, as often as it takes."""
    depth = np.zeros(len(tape.operations), dtype=int)
    own = np.array([name not in ("const", "input") for name, _ in tape.operations], dtype=int)
    while True:
        new = own + np.array([max((depth[i] for i in operands), default=0) for _, operands in tape.operations])
        if (new == depth).all():
            return int(depth.max())
        depth = new


def test_flow_of_an_arm() -> None:
    tape = traced(stanford_arm(3).build(), "velocity_transformation")
    flow = Flow(tape)
    assert flow.critical == longest_chain(tape)
    lengths = [flow.schedule(p).length for p in (1, 2, 4, 8, 64, 10_000)]
    assert lengths[0] == flow.serial == tape.count().total + sum(name == "neg" for name, _ in tape.operations)
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == flow.critical
    for p, length in zip((2, 4, 8), lengths[1:4], strict=True):  # Graham's bound for list schedules
        assert max(flow.serial / p, flow.critical) <= length <= flow.serial / p + flow.critical


def test_sums_in_pairs() -> None:
    """The same result and no more operations; with one freedom the paper's limit of 11."""
    s = stanford_arm(4).build()
    tape = traced(s, "velocity_transformation")
    paired = pairwise(tape)
    rng = np.random.default_rng(1)
    x = [rng.uniform(-1, 1, 4) for _ in range(3)]
    expected = s.forward_dynamics(*x)
    for one in (tape, paired):
        assert np.abs(evaluated(one, x) - expected).max() < 1e-9 * np.abs(expected).max()
    assert Flow(paired).serial <= Flow(tape).serial
    assert Flow(paired).critical < Flow(tape).critical
    one = Flow(pairwise(traced(stanford_arm(1).build(), "velocity_transformation", folded=False)))
    assert one.largest_speed_up == pytest.approx(11, abs=0.5)


def test_break_even_points() -> None:
    spherical = compare(
        lambda n: serial_chain(n, "spherical"), (4, 5), "fully_recursive/centroid", "velocity_transformation"
    )
    assert (spherical.break_even, spherical.crossings) == (5, 1)  # the paper's five
    never = compare(star, (2, 4), "articulated", "composite")
    assert never.crossings == 0


def test_times_are_measured_on_the_same_result() -> None:
    model = slider_four_bar()
    s = model.build()
    q, v = model.state(s)
    both = {name: Evaluation(s, q, v, name) for name in ("joint_multipliers", "fully_recursive")}
    taken = seconds(both, rounds=3, burst=2e-4)
    assert all(0 < t < 1e-3 for t in taken.values())
    expected = s.forward_dynamics(q, v, formulation="joint_multipliers")
    for evaluation in both.values():
        assert np.abs(evaluation.result - expected).max() < 1e-9 * np.abs(expected).max()


def test_choices_are_checked() -> None:
    s = serial_chain(2).build()
    q, v = s.q0, s.v0
    with pytest.raises(StateError, match='reference= must be one of "origin", "centroid", "joint"'):
        s.forward_dynamics(q, v, formulation="fully_recursive", reference="tip")
    with pytest.raises(StateError, match='reference= belongs to formulation="fully_recursive"'):
        s.forward_dynamics(q, v, formulation="composite", reference="joint")
    with pytest.raises(StateError, match="there is no option referense="):
        s.forward_dynamics(q, v, formulation="fully_recursive", referense="joint")
    with pytest.raises(StateError, match="coordinates= must be one of"):
        s.forward_dynamics(q, v, formulation="velocity_transformation", coordinates="cartesian")
    with pytest.raises(StateError, match=r"reference= must be one of .* not 'tip'"):
        s.forward_dynamics(q, v, formulation="fully_recursive/tip")
    with pytest.raises(StateError, match="products of blocks"):
        serial_chain(60).build().forward_dynamics(np.zeros(60), np.zeros(60), formulation="velocity_transformation")


def test_large_trees_are_rolled() -> None:
    """From 48 nodes on there is a loop over the nodes: the same text, the same result."""
    s = serial_chain(60).build()
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-1, 1, 60), rng.uniform(-1, 1, 60)
    expected = s.forward_dynamics(q, v)
    for point in ("origin", "centroid", "joint"):
        a = s.forward_dynamics(q, v, formulation="fully_recursive", reference=point)
        assert np.abs(a - expected).max() < 1e-7 * np.abs(expected).max(), point
    forces = s.reactions(q, v)["joint 5"].wrench
    ours = s.reactions(q, v, formulation="fully_recursive", reference="joint")["joint 5"].wrench
    assert np.abs(ours - forces).max() < 1e-7 * np.abs(forces).max()
