"""Independent coordinates by the matrix E (Nikravesh 16-25; Garcia de Jalon and Bayo 8.116-8.120).

The closures give the dependent accelerations from the independent ones,

    C_d a_d = -C_i a_i - gamma,          a = E a_i + g                                   (18, 22-25)

and with E the multipliers leave the equations of motion:

    E^T M E a_i = E^T (tau - b - M g)                                                    (19-21)

b + M g is one inverse dynamics at the accelerations g. Which coordinates are independent, and in which order C_d is
eliminated, is decided by numbers and given to the trace as `Choice`.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import JOINT, Coordinates, Solution
from whippletree.formulations.closures.partition import (
    Choice,
    Row,
    _add,
    _column,
    partition,
    partition_multipliers,
    reduced,
)
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem, LoopSizes
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.symbolic.sparse_factors import factor_symmetric, minimum_degree

__all__ = ["INDEPENDENT_COORDINATES", "solve"]


def solve(walk: Unrolled, closure_set: ClosureSet, choice: Choice, coordinates: Coordinates = JOINT) -> Solution:
    """Return accelerations and multipliers."""
    parts = partition(walk, closure_set, choice, coordinates)
    g = parts.particular()
    record_stage("E", [parts.E, g])
    system = coordinates.equations(with_accelerations(walk, _column(g, walk.nv)))
    mass = reduced(system.mass, parts.E)
    record_stage("E^T M E", mass)
    right: Row = {}
    for d, row in parts.E.items():
        for i, value in row.items():
            _add(right, i, value * system.right[d])
    factors = factor_symmetric(mass, minimum_degree(mass, choice.independent), _least_pivots(walk, parts.E))
    a_i = factors.solve(dict(right))
    a = dict(g)
    for d, row in parts.E.items():
        for i, value in row.items():
            _add(a, d, value * a_i[i])
    column = system.complete(a)
    return Solution(column, lambda: partition_multipliers(walk, parts, column, coordinates), parts.factors.pivots)


def _least_pivots(walk: Unrolled, E: Mapping[int, Row]) -> Row:
    """Return the pivots of E^T M E below which nothing but rounding is left, where they may come to that."""
    least: Row = {}
    if any(node.watched for node in walk.nodes):
        for node, where in zip(walk.nodes, walk.v_slices, strict=True):
            if node.least_inertia is not None:
                for d, inertia in enumerate(ca.vertsplit(node.least_inertia), where.start):
                    for i, value in E.get(d, {}).items():
                        _add(least, i, value * value * inertia)
    return least


def _solve(problem: LoopProblem) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.decisions.choice, problem.coordinates)


def _at_least(sizes: LoopSizes) -> int:
    return sizes.factorisation(sizes.independent)


INDEPENDENT_COORDINATES = register(
    Formulation("independent_coordinates", solve=_solve, candidacy=Candidacy(order=30, at_least=_at_least))
)
