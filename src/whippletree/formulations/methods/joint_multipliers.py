"""Joint coordinates with multipliers (Nikravesh 11-15; Garcia de Jalon and Bayo 8.108-8.114).

Solves

    [ M   C^T ] [   a     ]   [ tau - b ]
    [ C    0  ] [ -lambda ] = [ -gamma  ]          C = D*B

with the mass matrix and bias force of the tree from `composite`, or from a velocity transformation. M is eliminated
first, from the tips inward, which keeps the zeros between branches; what is left for the multipliers is C M^-1 C^T, as
sparse as the loops allow.

Baumgarte's terms, if wanted, add 2 alpha phi' + beta^2 phi to gamma (8.112).
"""

from __future__ import annotations

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import (
    JOINT,
    Coordinates,
    Solution,
    by_closure,
    stabilised,
    stacked_rows,
)
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem, LoopSizes
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.symbolic.sparse_factors import factor_symmetric, minimum_degree, shares_of_diagonal

__all__ = ["JOINT_MULTIPLIERS", "solve"]


def solve(
    walk: Unrolled,
    closure_set: ClosureSet,
    baumgarte: tuple[float, float] = (0.0, 0.0),
    coordinates: Coordinates = JOINT,
) -> Solution:
    """Return accelerations and multipliers; the walk's accelerations are zero but at prescribed hinges."""
    system = coordinates.equations(walk)
    closure_states, rows = coordinates.closures(with_accelerations(walk, system.given_accelerations()), closure_set)
    rows = [{j: x for j, x in row.items() if j not in system.given} for row in rows]
    gamma = stabilised(stacked_rows(closure_states, "second"), closure_states, baumgarte)
    record_stage("closures", [rows, gamma])
    mass = system.factor()
    X = [mass.forward(dict(row)) for row in rows]
    scaled = [mass.scaled(x) for x in X]
    y = mass.forward(dict(system.right))
    A: dict[tuple[int, int], ca.SX] = {}
    for i, x in enumerate(X):
        for j in range(i + 1):
            terms = [x[k] * scaled[j][k] for k in x if k in scaled[j]]
            if terms:
                A[i, j] = sum(terms[1:], terms[0])
    right = {}
    for i, x in enumerate(scaled):
        total = gamma[i]
        for k, value in x.items():
            if k in y:
                total = total + value * y[k]
        right[i] = -total
    factors = factor_symmetric(A, minimum_degree(A, range(len(rows))))
    solved = factors.solve(right)
    values = [solved[i] for i in range(len(rows))]
    for x, value in zip(X, values, strict=True):
        for k, entry in x.items():
            y[k] = y[k] + entry * value if k in y else entry * value
    a = system.complete(mass.backward(mass.scaled(y)))
    least = shares_of_diagonal(A, factors, LEAST_OF_DIAGONAL)
    return Solution(a, lambda: by_closure(values, closure_states), factors.pivots, least=least)


def _solve(problem: LoopProblem) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.baumgarte, problem.coordinates)


def _at_least(sizes: LoopSizes) -> int:
    return sizes.factorisation(range(sizes.freedoms))


JOINT_MULTIPLIERS = register(
    Formulation(
        "joint_multipliers",
        solve=_solve,
        takes_baumgarte=True,
        inverts_mass=True,
        candidacy=Candidacy(order=40, at_least=_at_least),
    )
)
