"""Penalty in joint coordinates (Garcia de Jalon and Bayo 8.115).

Solves

    (M + C^T W C) a = tau - b - C^T W gamma,          lambda = -W (C a + gamma)

Every row may stay, dependent ones too: nothing is solved for the multipliers. The weights W are given; a closure is
then held to about the reciprocal of its weight, so this formulation is approximate.
"""

from __future__ import annotations

from collections.abc import Sequence

from whippletree.formulations import composite
from whippletree.formulations.closing import Closing, jacobian_rows, with_accelerations
from whippletree.formulations.solution import Solution, by_closure, stacked
from whippletree.formulations.sweeps import Unrolled
from whippletree.spatial.sparse import factor_symmetric, minimum_degree

__all__ = ["solve"]


def solve(walk: Unrolled, closing: Closing, weights: Sequence[float]) -> Solution:
    """Return accelerations and multipliers."""
    system = composite.equations(walk)
    held = closing.hold(with_accelerations(walk, system.given_accelerations()))
    rows = [{j: x for j, x in row.items() if j not in system.given} for row in jacobian_rows(walk, held)]
    gamma = stacked(held, "second")
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
    multipliers = []
    for row, bias, weight in zip(rows, gamma, weights, strict=True):
        miss = bias
        for i, x in row.items():
            miss = miss + x * a[i]
        multipliers.append(-weight * miss)
    return Solution(system.complete(a), lambda: by_closure(multipliers, held), ())
