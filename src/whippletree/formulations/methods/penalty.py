"""Penalty in joint coordinates (Garcia de Jalon and Bayo 8.115), with iterations of an augmented Lagrangian.

Solves

    (M + C^T W C) a = tau - b - C^T (W g - lambda),          lambda <- lambda - W (C a + g)
    g = gamma + 2 Omega mu phi' + Omega^2 phi                                                              (8.115)

at first with lambda = 0, which is the penalty, and then `iterations` times with the multipliers that were found: what
the closures miss by shrinks by the same factor each time, for two more substitutions with the same factors. Every row
may stay, dependent ones too: nothing is solved for the multipliers. The weights W are those that were found for the
rows, times `weight`; the stabilising terms bring a state that misses the closures back to them.

The formulation is approximate, and estimates by how much, relative to the largest acceleration A. With c the last
change of a, and r by how much it made the closures miss less, the changes still to come are c r / (1 - r) together. To
that comes rounding: the elimination multiplies it by what a diagonal entry is over its pivot, and heavy weights hide
digits of M, which shows in how far the equations of motion are from balanced; d is the correction that would take:

    error = |c| r / (1 - r) / A + rounding,          K = M + C^T W C
    rounding = max(32 eps max(K_ii / pivot_i), 8 |d| / A),     K d = tau - b + C^T lambda - M a                (1)

where as much of |c| / A as rounding alone may be is left out: what it is made of does not shrink. In equilibrium, or
where all joints turn evenly, accelerations vanish that forces and turning rates would make: A is the largest of |a|, of
the squares of the joints' turning rates, and of |tau - b| over the largest entry of M.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.errors import StateError
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState
from whippletree.formulations.closures.loop_solution import JOINT, Coordinates, Solution, by_closure
from whippletree.formulations.methods.formulation import Formulation, LoopProblem
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.composite_body import JointEquations
from whippletree.spatial.scalars import shown
from whippletree.symbolic.sparse_factors import SymmetricFactor, factor_symmetric, minimum_degree

__all__ = ["PENALTY", "PenaltySettings", "solve"]

_ROUNDING = 32 * float(np.finfo(float).eps)
"""Rounding of the elimination over the share of a diagonal entry that is left as pivot: some operations each."""

_SAFETY = 8.0
"""How many times the correction of what rounding left unbalanced counts: of one order with the error, but no bound."""

Row = dict[int, ca.SX]


class PenaltySettings(NamedTuple):
    """What can be chosen: a row's weight over the stiffness against which it moves, iterations, Omega and mu.

    What the closures miss by falls with the weight at each iteration, and the part of rounding grows with it.

    >>> PenaltySettings.read({"weight": "1e8", "iterations": "2", "omega": "0", "mu": "1"}).weight
    100000000.0
    """

    weight: float = 1e7
    iterations: int = 1
    omega: float = 0.0
    mu: float = 1.0

    @staticmethod
    def read(options: Mapping[str, str]) -> PenaltySettings:
        """Return what options say, each checked."""
        numbers = {name: _number(name, value) for name, value in options.items()}
        settings = PenaltySettings(**numbers)  # type: ignore[arg-type]
        if settings.weight <= 0:
            raise StateError(f"weight= must be positive, not {settings.weight:g}")
        if settings.iterations != int(settings.iterations) or settings.iterations < 1:
            raise StateError(f"iterations= must be a whole number of at least 1, not {settings.iterations:g}")
        return settings._replace(iterations=int(settings.iterations))

    def options(self) -> dict[str, str]:
        """Return them as options of the formulation."""
        return {name: f"{value:.12g}" for name, value in self._asdict().items()}


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise StateError(f"{name}= must be a finite number that is not negative, not {shown(value)}")
    return number


def solve(
    walk: Unrolled,
    closure_set: ClosureSet,
    row_weights: Sequence[float],
    settings: PenaltySettings,
    coordinates: Coordinates = JOINT,
) -> Solution:
    """Return accelerations and multipliers, with the estimated error."""
    system = coordinates.equations(walk)
    closure_states, rows = coordinates.closures(with_accelerations(walk, system.given_accelerations()), closure_set)
    rows = [{j: x for j, x in row.items() if j not in system.given} for row in rows]
    gamma = _stabilised(closure_states, settings)
    record_stage("closures", [rows, gamma])
    weights = [settings.weight * weight for weight in row_weights]
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
    missed = _missed(rows, gamma, a)
    multipliers = _weighted(weights, missed)
    change: Row = {}
    for _ in range(settings.iterations):
        before = missed
        change = factors.solve(_pulled(rows, _weighted(weights, missed), a))
        a = {i: x + change.get(i, ca.SX(0)) for i, x in a.items()}
        missed = _missed(rows, gamma, a)
        multipliers = [x + more for x, more in zip(multipliers, _weighted(weights, missed), strict=True)]
    shrunk = ca.sqrt(_size(weights, missed) / _size(weights, before))
    size = _largest([*a.values(), *_made_of(walk, system)])
    unbalanced = factors.solve(_unbalanced(system, a, _pulled(rows, multipliers, a)))
    rounding = ca.fmax(_rounding(matrix, factors), _SAFETY * _largest(unbalanced.values()) / size)
    last = ca.fmax(0, _largest(change.values()) / size - rounding)
    error = ca.if_else(last > 0, last * ca.fabs(shrunk / (1 - shrunk)), 0) + rounding
    return Solution(system.complete(a), lambda: by_closure(multipliers, closure_states), (), error)


def _stabilised(closure_states: Sequence[ClosureState], settings: PenaltySettings) -> list[ca.SX]:
    """Return g row by row: gamma, with the stabilising terms."""
    omega, mu = settings.omega, settings.mu
    found = []
    for one in closure_states:
        total = one.second
        if omega:
            total = total + 2 * omega * mu * one.rate + omega**2 * one.phi
        found += [total[i] for i in range(one.n_rows)]
    return found


def _weighted(weights: Sequence[float], missed: Sequence[ca.SX]) -> list[ca.SX]:
    """Return -W (C a + g)."""
    return [-weight * miss for weight, miss in zip(weights, missed, strict=True)]


def _missed(rows: Sequence[Row], gamma: Sequence[ca.SX], a: Row) -> list[ca.SX]:
    """Return C a + g."""
    return [sum((x * a[i] for i, x in row.items()), bias) for row, bias in zip(rows, gamma, strict=True)]


def _pulled(rows: Sequence[Row], multipliers: Sequence[ca.SX], a: Row) -> Row:
    """Return C^T lambda."""
    pulled = {i: ca.SX(0) for i in a}
    for row, multiplier in zip(rows, multipliers, strict=True):
        for i, x in row.items():
            pulled[i] = pulled[i] + x * multiplier
    return pulled


def _unbalanced(system: JointEquations, a: Row, pulled: Row) -> Row:
    """Return tau - b + C^T lambda - M a: what is left of it is rounding."""
    left = {i: system.right[i] + pulled[i] for i in a}
    for (i, j), x in system.mass.items():
        left[i] = left[i] - x * a[j]
        if i != j:
            left[j] = left[j] - x * a[i]
    return left


def _size(weights: Sequence[float], missed: Sequence[ca.SX]) -> ca.SX:
    """Return the sum of squares of what the closures miss by, weighted; never zero."""
    total = ca.SX(np.finfo(float).tiny)
    for weight, miss in zip(weights, missed, strict=True):
        if weight:
            total = total + weight * miss * miss
    return total


def _largest(values: Iterable[ca.SX]) -> ca.SX:
    """Return the largest magnitude; never zero."""
    largest = ca.SX(np.finfo(float).tiny)
    for value in values:
        largest = ca.fmax(largest, ca.fabs(value))
    return largest


def _made_of(walk: Unrolled, system: JointEquations) -> list[ca.SX]:
    """Return accelerations that velocities and forces by themselves would make."""
    rates = [node.joint_map(node.configuration())[0:3, :] @ node.v for node in walk.nodes if node.v.numel()]
    inertia = _largest(system.mass[i, i] for i in system.right)
    return [*(ca.sumsqr(rate) for rate in rates), _largest(system.right.values()) / inertia]


def _rounding(matrix: Mapping[tuple[int, int], ca.SX], factors: SymmetricFactor) -> ca.SX:
    """Return the part of rounding in the estimate (1)."""
    largest = ca.SX(1)
    for i, reciprocal in factors.reciprocal.items():
        largest = ca.fmax(largest, ca.fabs(matrix[i, i] * reciprocal))
    return _ROUNDING * largest


def _solve(problem: LoopProblem, settings: PenaltySettings) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.decisions.penalty_weights, settings, problem.coordinates)


def _formulation(options: Mapping[str, str]) -> Formulation:
    """Return the formulation with these settings."""
    settings = PenaltySettings.read(options)
    return Formulation(
        "penalty",
        options=settings.options(),
        solve=partial(_solve, settings=settings),
        needs=("penalty_weights",),
        exact=False,
        keeps_all_rows=True,
        with_options=_formulation,
    )


PENALTY = register(_formulation(PenaltySettings().options()))
