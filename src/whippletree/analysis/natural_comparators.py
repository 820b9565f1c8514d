"""The two comparators of table 8.5: dependent natural coordinates by a penalty, and by the matrix R of all conditions.

Garcia de Jalon and Bayo compare formulation B with what their chapter 5 describes: (M + Phi_x^T alpha Phi_x) x'' = Q -
Phi_x^T alpha gamma (5.1.4), and R^T M R z'' = R^T (Q - M S) with R from the triangularised Jacobian Phi_x of all
conditions (5.2.3). Both are in points and unit vectors, none of which follow from joints; here with their sparsity,
traced. Pivots of the second are those of one configuration.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.analysis.evaluation_times import Evaluation
from whippletree.formulations.closures.augmented_lagrangian import AugmentedProblem
from whippletree.formulations.methods.natural import condition_weights
from whippletree.formulations.natural.natural_equations import NaturalEquations, natural_equations
from whippletree.formulations.natural.opened_solution import solve_independent
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.lowering import StraightLine
from whippletree.symbolic.sparse_factors import add_to, factor_symmetric, minimum_degree
from whippletree.system import System
from whippletree.system.equations import Request
from whippletree.system.ranks import largest_pivots

__all__ = ["COMPARATORS", "dependent_evaluation", "dependent_function"]

COMPARATORS = ("penalty", "matrix R")

_WEIGHT = 1e7
"""Ratio of a condition's stiffness to that of the coordinates it moves, as the book chooses it."""

_UNUSED = 1e-9
"""Pivots below this share of the largest belong to redundant rows."""


def dependent_function(system: System, how: str) -> ca.Function:
    """Return joint accelerations by one of the comparators, as a function of q, v and tau.

    >>> from whippletree.analysis.models import bricard
    >>> s = bricard().build()
    >>> of_tree = [i for i in range(6) if i != s.plan.cuts[0].joint]
    >>> expected = s.forward_dynamics(s.q0, s.v0)[of_tree]
    >>> found = [dependent_function(s, how)(s.q0, s.v0, 0).full().ravel()[of_tree] for how in COMPARATORS]
    >>> [bool(abs(a - expected).max() < 1e-3) for a in found]
    [True, True]
    """
    eq = system.kernels.equations
    x = {name: eq.symbol(name, size) for name, size in (("q", system.nq), ("v", system.nv), ("tau", system.nv))}
    here, closure_set = eq.loaded(x), eq.closure_set(x, kept=False)
    walk = closure_set.efforts_at_cuts(here.walk, here.tau) if eq.closed else here.walk
    equations = natural_equations(walk, closure_set)
    if how == "penalty":
        found = _penalty(equations)
    else:
        pivots = _pivots(equations, list(x.values()), system)
        found, _ = solve_independent(equations.mass, equations.right, equations.rows, equations.gamma, pivots)
    a = equations.joint_accelerations(found)
    return ca.Function("dependent", list(x.values()), [ca.densify(a)], list(x), ["acceleration"])


def _penalty(equations: NaturalEquations) -> dict[int, ca.SX]:
    """Solve the penalty once."""
    weights = condition_weights(equations, _WEIGHT)
    problem = AugmentedProblem(equations.mass, equations.right, equations.rows, equations.gamma, weights)
    matrix, right = dict(problem.mass), dict(problem.force)
    for row, bias, weight in zip(problem.rows, problem.gamma, problem.weights, strict=True):
        for i, value in row.items():
            heavy = weight * value
            right[i] = right[i] - heavy * bias
            for j, other in row.items():
                if j <= i:
                    add_to(matrix, (i, j), heavy * other)
    return factor_symmetric(matrix, minimum_degree(matrix, sorted(right))).solve(right)


def _pivots(equations: NaturalEquations, symbols: list[ca.SX], system: System) -> list[tuple[int, int]]:
    """Return the pivots of all conditions where the system was assembled."""
    n = len(equations.right)
    entries = [(r, j, value) for r, row in enumerate(equations.rows) for j, value in row.items()]
    A = np.zeros((len(equations.rows), n))
    values = ca.Function("rows", symbols, [ca.SX(ca.vertcat(*(value for _, _, value in entries)))])
    rows, columns = np.array([(r, j) for r, j, _ in entries]).T
    A[rows, columns] = values(system.q0, 0, 0).full().ravel()
    freedoms = system.mobility.mobility if system.kernels.closed else system.nv
    return largest_pivots(A, n - freedoms, _UNUSED)


def dependent_evaluation(system: System, q: ArrayLike, v: ArrayLike, how: str) -> Evaluation:
    """Return the evaluation of a comparator at a state.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> dependent_evaluation(s, s.q0, s.v0, "penalty").run(3) > 0
    True
    """
    signature = system.kernels.equations.signature(Request("forward_dynamics", "composite"))
    return Evaluation.of(Kernel("", signature, lambda: StraightLine(dependent_function(system, how)), None), q, v)
