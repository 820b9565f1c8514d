"""Which dependent speed leaves with which row: pairs are valid, and can be eliminated in their order."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import built
from support.random_loops import case
from whippletree.system.formulation_decisions import pair_up


def random_tree(rng: np.random.Generator, n: int) -> list[int]:
    return [int(rng.integers(-1, k)) for k in range(n)]


def above(k: int, parents: list[int]) -> list[int]:
    found = []
    while k >= 0:
        found.append(k)
        k = parents[k]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_random_trees(seed: int) -> None:
    """One freedom a node, rows over loops of two branches from the ground."""
    rng = np.random.default_rng(seed)
    n = 10
    parents = random_tree(rng, n)
    m = 4
    C = np.zeros((m, n))
    spans = []
    for r in range(m):
        ends = rng.choice(n, size=2, replace=False)
        one, two = (set(above(int(k), parents)) for k in ends)
        for k in one ^ two:
            C[r, k] = rng.normal()
        shared = sorted(one & two)
        spans.append((shared[-1] if shared else -1, shared[-1] if shared else -1))
    size = np.linalg.norm(C, axis=1, keepdims=True)
    C = C / np.where(size > 0, size, 1.0)
    freedoms = [(k, k) for k in reversed(range(n))]
    pairs = pair_up(C, freedoms, spans, parents, range(n))
    assert len(set(pairs.values())) == len(pairs)
    left = C.copy()
    for i, r in pairs.items():
        assert C[r, i] != 0.0  # the freedom occurs in the row
        assert i not in above(spans[r][1], parents)  # and is within its loop
        assert abs(left[r, i]) > 1e-6  # and is left when its turn comes
        others = [k for k in range(m) if k != r]
        left[others] -= np.outer(left[others, i] / left[r, i], left[r])
    order = [i for _, i in freedoms if i in pairs]
    assert list(pairs) == order  # from the tips inward


def test_only_dependent_freedoms_are_paired() -> None:
    C = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.4]])
    freedoms, spans, parents = [(2, 2), (1, 1), (0, 0)], [(-1, -1), (-1, -1)], [-1, 0, 1]
    assert set(pair_up(C, freedoms, spans, parents, {0, 2})) == {0, 2}
    assert pair_up(C, freedoms, spans, parents, set()) == {}


def test_of_the_rows_that_a_freedom_moves_that_of_the_loop_that_ends_first_is_taken() -> None:
    """The second row's loop ends at node 0, the first one's at the ground."""
    C = np.array([[0.5, 0.6, 0.8], [0.0, 0.7, 0.7]])
    pairs = pair_up(C, [(2, 2), (1, 1), (0, 0)], [(-1, -1), (0, 0)], [-1, 0, 1], {1, 2})
    assert pairs == {2: 1, 1: 0}


@pytest.mark.parametrize(("family", "i"), [("couplings", 4), ("floating", 0), ("rods", 1)])
def test_pairs_of_mechanisms_can_be_eliminated(family: str, i: int) -> None:
    s = built(case(family, i).looped, dependent=())
    plan, numbers = s._engine.equations.loop_plan, s._engine.loops.numbers
    pairs = plan.reduction
    assert set(pairs) == {column for _, column in plan.choice.pivots}
    rows = numbers.closure_set.attachments.places(plan.keep)
    pattern = numbers.tree_pattern[rows]
    left = (numbers.tree_rows(plan.q, *plan.where) * numbers.column_scale)[rows]
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    for freedom, row in pairs.items():
        assert pattern[row, freedom]
        assert abs(left[row, freedom]) > 1e-6
        others = [r for r in range(len(left)) if r != row]
        left[others] -= np.outer(left[others, freedom] / left[row, freedom], left[row])


def test_nothing_is_paired_where_every_joint_moves_inertia() -> None:
    m = wt.Mechanism("geared rods")
    one, two = m.body("one", wt.rod(1.0, mass=1.0)), m.body("two", wt.rod(1.0, mass=1.0))
    m.revolute("A", m.ground, one)
    m.revolute("B", m.ground, two, at=(1, 0, 0))
    m.coupling("gear", {"A": 1.0, "B": -1.0})
    s = m.build()
    assert s._engine.equations.loop_plan.reduction == {}
    assert m.build(dependent=["B"])._engine.equations.loop_plan.reduction == {1: 0}
