"""The input and the output of a loop formulation.

Its equations: the methods that close the loops (multipliers, penalty, independent coordinates) are the same whether M
and C come from composite bodies (`JOINT`) or from a velocity transformation (Garcia de Jalon and Bayo 8.114, Nikravesh
14-15). Its solution: accelerations of the tree's joints, multipliers, pivots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState, jacobian_rows
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.formulations.recursions.composite_body import JointEquations

__all__ = ["JOINT", "Closures", "Coordinates", "Solution", "by_closure", "stabilised", "stacked_rows"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations (nv, zero at cut joints), the multipliers of each closure's kept rows, and numbers to watch.

    The multipliers are worked out when they are asked for. `pivots` are those of the elimination: one that is small
    compared with what it is elsewhere says that the solution is not to be trusted. `error` is the estimated error
    relative to the largest acceleration, of a formulation that is not exact. `forces` returns the force across every
    node's joint, in node axes, if the formulation has it from its by-products. `least` is given for the pivots of a
    matrix that is positive definite: what each must be above for more than rounding to be left of it, None where that
    is zero.
    """

    a: ca.SX
    multipliers: Callable[[], list[ca.SX]]
    pivots: tuple[ca.SX, ...]
    error: ca.SX | None = None
    forces: Callable[[], list[ca.SX]] | None = None
    least: tuple[ca.SX | None, ...] | None = None


def by_closure(values: Sequence[ca.SX], closure_states: Sequence[ClosureState]) -> list[ca.SX]:
    """Return numbers given row by row as one column for each closure."""
    columns, start = [], 0
    for one in closure_states:
        columns.append(ca.SX(ca.vertcat(*values[start : start + one.n_rows])))
        start += one.n_rows
    return columns


def stacked_rows(closure_states: Sequence[ClosureState], part: str) -> list[ca.SX]:
    """Return one part of all closures row by row."""
    return [getattr(one, part)[i] for one in closure_states for i in range(one.n_rows)]


def stabilised(
    gamma: list[ca.SX], closure_states: Sequence[ClosureState], baumgarte: tuple[float, float]
) -> list[ca.SX]:
    """Return the right-hand sides of phi'', row by row, with Baumgarte's terms 2 alpha phi' + beta^2 phi (8.112)."""
    alpha, beta = baumgarte
    if not (alpha or beta):
        return gamma
    rates, residuals = (stacked_rows(closure_states, part) for part in ("rate", "phi"))
    return [g + 2 * alpha * rate + beta**2 * phi for g, rate, phi in zip(gamma, rates, residuals, strict=True)]


Closures = tuple[list[ClosureState], list[dict[int, ca.SX]]]
"""The closures at a state, `second` for the nodes' accelerations, and their rows C on the tree's velocities."""


@dataclass(frozen=True)
class Coordinates:
    """The tree's equations at the nodes' accelerations, and the closures with their rows."""

    equations: Callable[[Unrolled], JointEquations]
    closures: Callable[[Unrolled, ClosureSet], Closures]


def _closures(walk: Unrolled, closure_set: ClosureSet) -> Closures:
    closure_states = closure_set.evaluate(walk)
    return closure_states, jacobian_rows(walk, closure_states)


JOINT = Coordinates(composite.equations, _closures)
"""Composite bodies and rows carried inward, in node axes."""
