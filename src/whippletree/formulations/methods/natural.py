"""Dependent natural coordinates with penalty and augmented Lagrangian (Garcia de Jalon and Bayo 8.5, 8.121-8.126).

The unknowns are the accelerations x'' of all points and unit vectors (`natural/natural_model.py`), M is constant:

    (M + Phi_x^T alpha Phi_x) x'' = Q - Phi_x^T (alpha gamma + lambda),     lambda <- lambda + alpha (Phi_x x'' + gamma)

at first with lambda = 0 and then `iterations` times with the multipliers that were found (8.126). At a state that
satisfies the conditions, as joint coordinates do, the book's Phi + mu Phi' (8.123) would be zero: it acts in the time
loop. M may be singular: massless vectors have no inertia, and the conditions say how they move.

Each condition has a weight alpha of its own, `weight` over how easily it moves: alpha_r = weight / sum_j Phi_rj^2 / m_j
with m_j the diagonal of M, or a hundredth of its mean where that is larger. So the conditions miss by about 1 / weight
of what they would without the penalty, and each iteration takes another such factor. With `multipliers="exact"` the
iterations also correct what rounding has left, and converge to the solution of [M Phi_x^T; Phi_x 0].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.closures.augmented_lagrangian import (
    AugmentedProblem,
    AugmentedSolution,
    row_weights,
    single_accelerations,
    solve_augmented,
)
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import Solution
from whippletree.formulations.closures.partition import partition, partition_multipliers
from whippletree.formulations.methods.formulation import Formulation, LoopProblem, TreeMethod
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial.scalars import shown
from whippletree.symbolic.arithmetic import plus, times

if TYPE_CHECKING:
    from whippletree.formulations.natural.natural_equations import NaturalEquations

__all__ = ["EXACT", "LIGHT", "NATURAL", "NaturalSettings", "condition_weights", "solve_natural"]

LIGHT = 0.01
"""The least mass by which weights go, as a share of the mean: massless vectors have none."""


class NaturalSettings(NamedTuple):
    """Options: how multipliers are found, a condition's weight, and how often they are corrected.

    >>> NaturalSettings.read({"multipliers": "augmented", "weight": "1e7", "iterations": "2"}).weight
    10000000.0
    """

    multipliers: str = "augmented"
    weight: float = 1e7
    iterations: int = 3

    @staticmethod
    def read(options: Mapping[str, str]) -> NaturalSettings:
        """Check the options and return them as settings."""
        multipliers = options["multipliers"]
        if multipliers not in _WAYS:
            raise StateError(f'multipliers= must be one of "augmented", "exact", not {shown(multipliers)}')
        weight, iterations = (_number(name, options[name]) for name in ("weight", "iterations"))
        if iterations != int(iterations):
            raise StateError(f"iterations= must be a whole number, not {iterations:g}")
        return NaturalSettings(multipliers, weight, int(iterations))

    def options(self) -> dict[str, str]:
        """Return them as options of the formulation."""
        return {"multipliers": self.multipliers, "weight": f"{self.weight:.12g}", "iterations": str(self.iterations)}


_WAYS = ("augmented", "exact")


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise StateError(f"{name}= must be a finite positive number, not {shown(value)}")
    return number


def forward_dynamics(walk: Unrolled, settings: NaturalSettings) -> tuple[ca.SX, ca.SX]:
    """Return the joint accelerations (nv) of a tree, and their estimated error."""
    equations, found = solve_natural(walk, None, settings)
    return equations.joint_accelerations(found.a), found.error


def solve_natural(
    walk: Unrolled, closure_set: ClosureSet | None, settings: NaturalSettings
) -> tuple[NaturalEquations, AugmentedSolution]:
    """Return the equations of a walk, and x'' with the conditions' multipliers."""
    from whippletree.formulations.natural.natural_equations import natural_equations  # only where it is asked for

    equations = natural_equations(walk, closure_set)
    record_stage("Phi_x, gamma", [equations.rows, equations.gamma])
    problem = AugmentedProblem(
        equations.mass, equations.right, equations.rows, equations.gamma, condition_weights(equations, settings.weight)
    )
    exact = settings.multipliers == "exact"
    return equations, solve_augmented(problem, settings.iterations, single_accelerations(walk, problem), refined=exact)


def condition_weights(equations: NaturalEquations, weight: float) -> list[ca.SX]:
    """Return the weight of each condition."""
    masses = [equations.mass.get((i, i), ca.SX(0)) for i in equations.right]
    mean = sum(masses, ca.SX(0)) / max(len(masses), 1)
    lightness = [1 / ca.fmax(mass, LIGHT * mean) for mass in masses]
    easy = []
    for row in equations.rows:
        total = ca.SX(0)
        for j, x in row.items():
            total = plus(total, times(times(x, x), lightness[j]))
        easy.append(total)
    return row_weights(equations.rows, easy, 1 / mean, weight)


def _solve(problem: LoopProblem, settings: NaturalSettings) -> Solution:
    walk, closure_set = problem.walk, problem.closure_set
    equations, found = solve_natural(walk, closure_set, settings)
    a = equations.joint_accelerations(found.a)

    def multipliers() -> list[ca.SX]:
        """Those of the closures' rows in joint coordinates, from the joints' imbalance."""
        return partition_multipliers(walk, partition(walk, closure_set, problem.decisions.choice), a)

    return Solution(a, multipliers, (), found.error)


def _formulation(options: Mapping[str, str]) -> Formulation:
    """Return the formulation with these settings."""
    settings = NaturalSettings.read(options)
    return Formulation(
        "natural",
        options=settings.options(),
        tree=TreeMethod(partial(forward_dynamics, settings=settings)),
        solve=partial(_solve, settings=settings),
        exact=settings.multipliers == "exact",
        with_options=_formulation,
    )


NATURAL = register(_formulation(NaturalSettings().options()))
EXACT = register(_formulation(NaturalSettings("exact", iterations=6).options()))
