"""Penalty in joint coordinates (Garcia de Jalon and Bayo 8.115), with one iteration of an augmented Lagrangian.

Solves

    (M + C^T W C) a = tau - b - C^T (W gamma - lambda),          lambda <- lambda - W (C a + gamma)

at first with lambda = 0, which is the penalty, and once more with the multipliers that were found: what the closures
miss by is then squared, for two more substitutions with the same factors. Every row may stay, dependent ones too:
nothing is solved for the multipliers. The weights W are given; the formulation is approximate.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import JOINT, Coordinates, Solution, by_closure, stacked_rows
from whippletree.formulations.methods.formulation import Formulation, LoopProblem
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.symbolic.sparse_factors import factor_symmetric, minimum_degree

__all__ = ["PENALTY", "solve"]


def solve(
    walk: Unrolled, closure_set: ClosureSet, weights: Sequence[float], coordinates: Coordinates = JOINT
) -> Solution:
    """Return accelerations and multipliers."""
    system = coordinates.equations(walk)
    closure_states, rows = coordinates.closures(with_accelerations(walk, system.given_accelerations()), closure_set)
    rows = [{j: x for j, x in row.items() if j not in system.given} for row in rows]
    gamma = stacked_rows(closure_states, "second")
    record_stage("closures", [rows, gamma])
    matrix, right = dict(system.mass), dict(system.right)
    for row, bias, weight in zip(rows, gamma, weights, strict=True):
        for i, x in row.items():
            heavy = weight * x
            right[i] = right[i] - heavy * bias
            for j, y in row.items():
                if j <= i:
                    place = (j, i) if (j, i) in matrix else (i, j)
                    matrix[place] = matrix[place] + heavy * y if place in matrix else heavy * y
    factors = factor_symmetric(matrix, minimum_degree(matrix, sorted(right)))
    a = factors.solve(dict(right))
    multipliers = [-weight * miss for weight, miss in zip(weights, _missed(rows, gamma, a), strict=True)]
    correction = factors.solve(_pulled(rows, multipliers, a))
    a = {i: x + correction.get(i, ca.SX(0)) for i, x in a.items()}
    left = [-weight * miss for weight, miss in zip(weights, _missed(rows, gamma, a), strict=True)]
    multipliers = [once + again for once, again in zip(multipliers, left, strict=True)]
    return Solution(system.complete(a), lambda: by_closure(multipliers, closure_states), ())


def _missed(rows: Sequence[dict[int, ca.SX]], gamma: Sequence[ca.SX], a: dict[int, ca.SX]) -> list[ca.SX]:
    """Return C a + gamma."""
    return [sum((x * a[i] for i, x in row.items()), bias) for row, bias in zip(rows, gamma, strict=True)]


def _pulled(rows: Sequence[dict[int, ca.SX]], multipliers: Sequence[ca.SX], a: dict[int, ca.SX]) -> dict[int, ca.SX]:
    """Return C^T lambda."""
    pulled = {i: ca.SX(0) for i in a}
    for row, multiplier in zip(rows, multipliers, strict=True):
        for i, x in row.items():
            pulled[i] = pulled[i] + x * multiplier
    return pulled


def _solve(problem: LoopProblem) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.decisions.penalty_weights, problem.coordinates)


PENALTY = register(Formulation("penalty", solve=_solve, needs=("penalty_weights",), exact=False, keeps_all_rows=True))
