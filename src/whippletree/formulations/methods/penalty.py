"""Penalty in joint coordinates (Garcia de Jalon and Bayo 8.115), with iterations of an augmented Lagrangian.

Solves

    (M + C^T W C) a = tau - b - C^T (W g - lambda),          lambda <- lambda - W (C a + g)
    g = gamma + 2 Omega mu phi' + Omega^2 phi                                                              (8.115)

at first with lambda = 0, which is the penalty, and then `iterations` times with the multipliers that were found
(`closures/augmented_lagrangian.py`). The weights W are those that were found for the rows, times `weight`; the
stabilising terms bring a state that misses the closures back to them.

The formulation is approximate, and estimates by how much, relative to the largest of |a|, and of a tenth of the squares
of the joints' turning rates and of accelerations that each of tau - b would make by itself while the loops are closed
(`compliance`, which numbers decide). In a mechanism that the loops lock, efforts make none, however light it is: there
the scale is a small share of the acceleration of gravity, and without gravity there is no answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.closures.augmented_lagrangian import AugmentedProblem, solve_augmented
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState
from whippletree.formulations.closures.loop_solution import JOINT, Coordinates, Solution, by_closure
from whippletree.formulations.methods.formulation import Formulation, LoopProblem
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.composite_body import JointEquations
from whippletree.spatial.scalars import shown
from whippletree.spatial.scales import largest
from whippletree.symbolic.arithmetic import times

__all__ = ["PENALTY", "PenaltySettings", "solve"]


_FASTEST = 1e100
"""The largest omega and mu, whose products are multiplied by residuals."""


class PenaltySettings(NamedTuple):
    """Options: a row's weight over the stiffness against which it moves, iterations, Omega and mu.

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
        """Check the options and return them as settings."""
        numbers = {name: _number(name, value) for name, value in options.items()}
        settings = PenaltySettings(**numbers)  # type: ignore[arg-type]
        if settings.weight <= 0:
            raise StateError(f"weight= must be positive, not {settings.weight:g}")
        if settings.iterations != int(settings.iterations) or settings.iterations < 1:
            raise StateError(f"iterations= must be a whole number of at least 1, not {settings.iterations:g}")
        if max(settings.omega, settings.mu) > _FASTEST:
            raise StateError(f"omega= and mu= must be at most {_FASTEST:g}: their products are no numbers beyond")
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
    compliance: Sequence[float],
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
    found = solve_augmented(
        AugmentedProblem(system.mass, system.right, rows, gamma, weights),
        settings.iterations,
        _made_of(walk, system, compliance),
    )
    return Solution(system.complete(found.a), lambda: by_closure(found.multipliers, closure_states), (), found.error)


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


_HELD = 0.1
"""The share of accelerations by velocities and single forces that counts: together they may leave a tenth of them."""

_STILL = 2e-6
"""Share of the acceleration of gravity that counts: locked joints may seem to move by 1e-10 of that."""


def _made_of(walk: Unrolled, system: JointEquations, compliance: Sequence[float]) -> list[ca.SX]:
    """Return accelerations that velocities by themselves would make, and forces one by one."""
    rates = [node.joint_map(node.configuration())[0:3, :] @ node.v for node in walk.nodes if node.v.numel()]
    forced = [times(ca.SX(compliance[i]), force) for i, force in system.right.items()]
    return [_HELD * largest(*(ca.sumsqr(rate) for rate in rates), *forced), _STILL * ca.norm_2(walk.gravity)]


def _solve(problem: LoopProblem, settings: PenaltySettings) -> Solution:
    numbers = problem.decisions
    weights, compliance = numbers.penalty_weights, numbers.compliance
    return solve(problem.walk, problem.closure_set, weights, compliance, settings, problem.coordinates)


def _formulation(options: Mapping[str, str]) -> Formulation:
    """Return the formulation with these settings."""
    settings = PenaltySettings.read(options)
    return Formulation(
        "penalty",
        options=settings.options(),
        solve=partial(_solve, settings=settings),
        needs=("penalty_weights", "compliance"),
        exact=False,
        keeps_all_rows=True,
        own_baumgarte=(settings.omega * settings.mu, settings.omega),
        with_options=_formulation,
    )


PENALTY = register(_formulation(PenaltySettings().options()))
