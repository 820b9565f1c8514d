"""Guards: a result is not finite exactly where it is not to be trusted, and costs little to say so."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from whippletree.formulations.closures.loop_solution import Solution
from whippletree.kernels.tape import read_tape
from whippletree.symbolic.sparse_factors import factor_symmetric, shares_of_diagonal
from whippletree.system.guards import above_rounding, guard


@pytest.mark.parametrize("first", [lambda x: 2 * x, lambda x: ca.SX(0)])
def test_only_the_first_number_tells(first) -> None:  # type: ignore[no-untyped-def]
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [guard(ca.vertcat(first(x), x * x), x > 1)])
    good, bad = f(3.0).full().ravel(), f(0.5).full().ravel()
    assert good.tolist() == [float(ca.DM(first(3.0))), 9.0]
    assert not np.isfinite(bad[0])
    assert bad[1] == 0.25


def test_a_first_number_that_happens_to_be_zero_tells_too() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    f = ca.Function("f", [x, y], [guard(x - y, x > 1)])
    assert np.isnan(float(f(0.5, 0.5)))
    assert float(f(2.0, 2.0)) == 0.0


def test_a_guard_is_a_comparison_and_a_quotient() -> None:
    x = ca.SX.sym("x")
    assert read_tape(ca.Function("f", [x], [guard(ca.sin(x), x > 1)])).count().total == 1 + 2


def solution_of(A: ca.SX, share: float) -> Solution:
    n = A.shape[0]
    entries = {(i, j): A[i, j] for i in range(n) for j in range(i + 1)}
    factors = factor_symmetric(entries, range(n))
    return Solution(A[:, 0], list, factors.pivots, least=shares_of_diagonal(entries, factors, share))


@pytest.mark.parametrize(("last", "expected"), [(2.0, 1.0), (1.0 + 1e-5, 1.0), (1.0 + 1e-7, 0.0), (0.5, 0.0)])
def test_what_is_left_of_a_diagonal_entry_is_compared_with_it(last: float, expected: float) -> None:
    """[1 1; 1 c] leaves c - 1 of c: enough above 1e-6 of it, and not if it is negative."""
    c = ca.SX.sym("c")
    enough = above_rounding(solution_of(ca.blockcat([[1, 1], [1, c]]), 1e-6))
    assert enough is not None
    assert float(ca.Function("f", [c], [enough])(last)) == expected


def test_pivots_from_which_nothing_was_taken_are_not_watched_for_rounding() -> None:
    c = ca.SX.sym("c")
    assert solution_of(ca.SX(c), 1e-6).least == (None,)
    assert above_rounding(solution_of(ca.SX(c), 1e-6)) is None
    assert above_rounding(Solution(c, list, (c,))) is None
