"""Penalty with iterations of an augmented Lagrangian, for equations of motion in any coordinates.

Solves

    (M + C^T W C) a = f - C^T (W g - lambda),          lambda <- lambda - W (C a + g)

at first with lambda = 0, which is the penalty, and then some times with the multipliers that were found: what the
conditions miss by shrinks by the same factor each time, for two more substitutions with the same factors. Every row may
stay, dependent ones too: nothing is solved for the multipliers. M may be singular where the conditions are not.

`refined` iterations also correct what rounding has left in the first line, r = f + C^T lambda - M a, which is worked
out from M itself: K = M + C^T W C has lost its small entries beside the weights. They converge to the solution of
[M C^T; C 0] with exact multipliers; dependent rows may stay all the same.

How far off the solution is, relative to the largest acceleration A, is estimated. With c the last change of a, and r by
how much it made the conditions miss less, the changes still to come are c r / (1 - r) together. To that comes rounding:
the elimination multiplies it by what a diagonal entry is over its pivot, and heavy weights hide digits of M, which
shows in how far the equations of motion are from balanced; d is the correction that would take:

    error = |c| r / (1 - r) / A + rounding,          K = M + C^T W C
    rounding = max(32 eps max(K_ii / pivot_i) max(1, A_1 / A), 8 |d| / A),   K d = f + C^T lambda - M a        (1)

where A_1 is the largest acceleration of the penalty itself, from which the iterations subtract, and as much of |c| / A
as rounding alone may be is left out: what it is made of does not shrink. In equilibrium, or where all joints turn
evenly, accelerations vanish that forces and turning rates would make: A is the largest of |a| and of accelerations that
are given for that. Refined iterations do not lose these digits, and pivots say little about them: their rounding is
8 |d| / A, and never less than 32 eps. Where all conditions are rounding, nothing shrinks any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial.scales import largest, scale_of
from whippletree.symbolic.arithmetic import minus, plus, times
from whippletree.symbolic.sparse_factors import SymmetricFactor, factor_symmetric, minimum_degree

__all__ = ["ROUNDED", "AugmentedProblem", "AugmentedSolution", "row_weights", "single_accelerations", "solve_augmented"]

_ROUNDING = 32 * float(np.finfo(float).eps)
"""Rounding of the elimination over the share of a diagonal entry that is left as pivot: some operations each."""

_SAFETY = 8.0
"""Factor on the correction of the residual that rounding left: of one order with the error, but no bound."""

ROUNDED = 1e-12
"""Share of the common motion of all rows below which a row must not be heavy; below its square a row is rounding
alone, entries that should be zero, and has no weight.
"""

Row = dict[int, ca.SX]
Weight = float | ca.SX


def row_weights(rows: Sequence[Row], easy: Sequence[ca.SX], usual: ca.SX, weight: float) -> list[ca.SX]:
    """Return a weight for each row, over how easily it moves: C_r m^-1 C_r^T with the masses m of its coordinates.

    `usual` is how easily a row with an entry of one moves: all rows may be rounding alone.

    >>> x = ca.SX.sym("x")
    >>> weights = row_weights([{0: x}, {}, {0: x}], [ca.SX(2), ca.SX(0), ca.SX(1e-30)], ca.SX(3), 10.0)
    >>> [float(one) for one in weights]
    [5.0, 0.0, 0.0]
    """
    whole = sum(easy, usual)

    def of(one: ca.SX) -> ca.SX:
        return ca.SX(ca.if_else(one > ROUNDED**2 * whole, weight / ca.fmax(one, ROUNDED * whole), 0))

    return [of(one) if row else ca.SX(0) for row, one in zip(rows, easy, strict=True)]


class AugmentedProblem(NamedTuple):
    """M and f by entries, rows C with g, and a weight for each row."""

    mass: Mapping[tuple[int, int], ca.SX]
    force: Mapping[int, ca.SX]
    rows: Sequence[Row]
    gamma: Sequence[ca.SX]
    weights: Sequence[Weight]


class AugmentedSolution(NamedTuple):
    """Accelerations, multipliers, and the estimated error (1)."""

    a: Row
    multipliers: list[ca.SX]
    error: ca.SX


def solve_augmented(
    problem: AugmentedProblem, iterations: int, made_of: Sequence[ca.SX] = (), *, refined: bool = False
) -> AugmentedSolution:
    """Return the solution after some iterations; `made_of` are accelerations that belong to A."""
    rows, gamma, weights = problem.rows, problem.gamma, [ca.SX(weight) for weight in problem.weights]
    matrix, right = _stiffened(problem, weights)
    factors = factor_symmetric(matrix, minimum_degree(matrix, sorted(right)))
    a = factors.solve(dict(right))
    first = largest(*a.values())
    missed = _missed(rows, gamma, a)
    multipliers = _weighted(weights, missed)
    change: Row = {}
    for _ in range(iterations):
        before = missed
        push = _pulled(rows, _weighted(weights, missed), a)
        if refined:
            push = {i: x + push[i] for i, x in _unbalanced(problem, multipliers, a).items()}
        change = factors.solve(push)
        a = {i: x + change.get(i, ca.SX(0)) for i, x in a.items()}
        missed = _missed(rows, gamma, a)
        multipliers = [x + more for x, more in zip(multipliers, _weighted(weights, missed), strict=True)]
    shrunk = ca.sqrt(_size(weights, missed) / _size(weights, before))
    size = scale_of(*a.values(), *made_of)
    rounding = _SAFETY * largest(*factors.solve(_unbalanced(problem, multipliers, a)).values()) / size
    # The minuend has been rounded, and may be much larger than the difference.
    own = _ROUNDING if refined else _rounding(matrix, factors) * ca.fmax(1, first / size)
    rounding = ca.fmax(own, rounding)
    last = ca.fmax(0, largest(*change.values()) / size - rounding)
    error = ca.if_else(last > 0, last * ca.fabs(shrunk / (1 - shrunk)), 0) + rounding
    return AugmentedSolution(a, multipliers, error)


def single_accelerations(walk: Unrolled, problem: AugmentedProblem) -> list[ca.SX]:
    """Return the accelerations that velocities and forces would make by themselves, in natural coordinates.

    They are the squares of the joints' rates, and what the largest force gives to the largest inertia.
    """
    inertias = (problem.mass.get((i, i), ca.SX(0)) for i in problem.force)
    forced = largest(*problem.force.values()) / scale_of(*inertias)
    return [*(ca.sumsqr(node.v) for node in walk.nodes if node.v.numel()), forced]


def _stiffened(problem: AugmentedProblem, weights: Sequence[ca.SX]) -> tuple[dict[tuple[int, int], ca.SX], Row]:
    """Return M + C^T W C and f - C^T W g."""
    matrix, right = dict(problem.mass), dict(problem.force)
    for row, bias, weight in zip(problem.rows, problem.gamma, weights, strict=True):
        for i, x in row.items():
            heavy = times(weight, x)
            right[i] = minus(right[i], times(heavy, bias))
            for j, y in row.items():
                if j <= i:
                    place = (j, i) if (j, i) in matrix else (i, j)
                    stiff = times(heavy, y)
                    matrix[place] = plus(matrix[place], stiff) if place in matrix else stiff
    return matrix, right


def _weighted(weights: Sequence[ca.SX], missed: Sequence[ca.SX]) -> list[ca.SX]:
    """Return -W (C a + g)."""
    return [times(-weight, miss) for weight, miss in zip(weights, missed, strict=True)]


def _missed(rows: Sequence[Row], gamma: Sequence[ca.SX], a: Row) -> list[ca.SX]:
    """Return C a + g."""
    found = []
    for row, total in zip(rows, gamma, strict=True):
        for i, x in row.items():
            total = plus(total, times(x, a[i]))  # noqa: PLW2901
        found.append(total)
    return found


def _pulled(rows: Sequence[Row], multipliers: Sequence[ca.SX], a: Row) -> Row:
    """Return C^T lambda."""
    pulled = {i: ca.SX(0) for i in a}
    for row, multiplier in zip(rows, multipliers, strict=True):
        for i, x in row.items():
            pulled[i] = plus(pulled[i], times(x, multiplier))
    return pulled


def _unbalanced(problem: AugmentedProblem, multipliers: Sequence[ca.SX], a: Row) -> Row:
    """Return r = f + C^T lambda - M a."""
    left = _pulled(problem.rows, multipliers, a)
    left = {i: problem.force[i] + x for i, x in left.items()}
    for (i, j), mass in problem.mass.items():
        left[i] = minus(left[i], times(mass, a[j]))
        if i != j:
            left[j] = minus(left[j], times(mass, a[i]))
    return left


def _size(weights: Sequence[ca.SX], missed: Sequence[ca.SX]) -> ca.SX:
    """Return the weighted sum of squares of the closures' residuals; never zero."""
    total = ca.SX(np.finfo(float).tiny)
    for weight, miss in zip(weights, missed, strict=True):
        total = plus(total, times(times(weight, miss), miss))
    return total


def _rounding(matrix: Mapping[tuple[int, int], ca.SX], factors: SymmetricFactor) -> ca.SX:
    """Return the part of rounding in the estimate (1)."""
    grown = (matrix.get((i, i), ca.SX(0)) * reciprocal for i, reciprocal in factors.reciprocal.items())
    return ca.SX(_ROUNDING * largest(*grown, least=1.0))
