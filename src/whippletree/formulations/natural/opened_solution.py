"""Open chains in natural coordinates closed by multipliers, by a penalty, or by independent coordinates (8.3, a to c).

Conditions of bodies that are left out may follow from each other, in plane linkages for instance. Multipliers are found
by an augmented Lagrangian that is iterated until it is exact (`closures/augmented_lagrangian.py`), so that all
conditions may stay, and massless vectors too; the penalty (8.115) is its beginning. For independent coordinates numbers
have chosen conditions that do not depend on each other, and the z that follow from the others (8.116-8.120).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.augmented_lagrangian import (
    AugmentedProblem,
    row_weights,
    single_accelerations,
    solve_augmented,
)
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import Solution
from whippletree.formulations.closures.partition import (
    Choice,
    eliminate,
    partition,
    partition_multipliers,
    reduced,
)
from whippletree.formulations.natural.opened_chains import OpenedEquations, Row, opened_equations
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.symbolic.sparse_factors import SparseLU, add_to, factor_symmetric, minimum_degree

__all__ = ["solve_independent", "solve_opened"]

_WEIGHT = 1e7
"""Ratio of a condition's stiffness to that of the coordinates it moves."""

_PENALTY_ITERATIONS, _EXACT_ITERATIONS = 2, 6
"""Iterations with the weights: for penalties as such, and until multipliers are exact to rounding."""

_LEFT = 1e-7
"""The share of a diagonal entry of E^T M E that must be left as pivot: below it rounding of heavy bodies counts beside
light ones, and the state is solved with pivoting."""


class _OpenedAnswer(NamedTuple):
    """z'', pivots to watch, and the estimated error of a solution that is not exact."""

    z: Row
    pivots: tuple[ca.SX, ...]
    error: ca.SX | None


def solve_opened(
    walk: Unrolled, closure_set: ClosureSet, closed_by: str, choice: Choice, pivots: Sequence[tuple[int, int]]
) -> Solution:
    """Return accelerations and multipliers; `choice` is of joint coordinates, `pivots` of open chains."""
    equations = opened_equations(walk, closure_set)
    found = _independent(equations, pivots) if closed_by == "independent" else _augmented(walk, equations, closed_by)
    a = equations.joint_accelerations(found.z)

    def multipliers() -> list[ca.SX]:
        """Those of the closures' rows in joint coordinates, from the joints' imbalance."""
        return partition_multipliers(walk, partition(walk, closure_set, choice), a)

    return Solution(a, multipliers, found.pivots, found.error)


def _augmented(walk: Unrolled, equations: OpenedEquations, closed_by: str) -> _OpenedAnswer:
    weights = row_weights(equations.rows, equations.easy, equations.usual, _WEIGHT)
    problem = AugmentedProblem(equations.mass, equations.right, equations.rows, equations.gamma, weights)
    exact = closed_by == "multipliers"
    iterations = _EXACT_ITERATIONS if exact else _PENALTY_ITERATIONS
    found = solve_augmented(problem, iterations, single_accelerations(walk, problem), refined=exact)
    return _OpenedAnswer(found.a, (), found.error)


def _independent(equations: OpenedEquations, pivots: Sequence[tuple[int, int]]) -> _OpenedAnswer:
    z, factors = solve_independent(equations.mass, equations.right, equations.rows, equations.gamma, pivots)
    return _OpenedAnswer(z, factors.pivots, None)


def solve_independent(
    mass: Mapping[tuple[int, int], ca.SX],
    right: Mapping[int, ca.SX],
    rows: Sequence[Row],
    gamma: Sequence[ca.SX],
    pivots: Sequence[tuple[int, int]],
) -> tuple[Row, SparseLU]:
    """Solve M z'' + C^T lambda = f, C z'' = -gamma for the z that do not follow from others (8.119, 8.120).

    `pivots` are independent rows with the z that follow. Returned are z'' and the factors of the rows on these.
    """
    dependent = {z for _, z in pivots}
    choice = Choice(tuple(z for z in right if z not in dependent), tuple(pivots))
    factors, E = eliminate({r: rows[r] for r, _ in pivots}, choice)
    g = factors.solve({r: -gamma[r] for r, _ in pivots})
    record_stage("E", [E, g])
    lacking = dict(right)
    for (i, j), value in mass.items():
        for a, b in {(i, j), (j, i)}:
            if b in g:
                lacking[a] = lacking[a] - value * g[b]
    projected: Row = {i: ca.SX(0) for i in choice.independent}
    for d, row in E.items():
        for i, value in row.items():
            projected[i] = projected[i] + value * lacking[d]
    small = reduced(mass, E)
    record_stage("E^T M E", small)
    independent = factor_symmetric(small, minimum_degree(small, choice.independent), share=_LEFT).solve(projected)
    z = dict(g)
    for d, row in E.items():
        for i, value in row.items():
            add_to(z, d, value * independent[i])
    return z, factors
