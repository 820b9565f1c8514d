"""How the functions of a mechanism with loops are traced.

A result is guarded: where a pivot is small, or the state does not satisfy the closures, its first number is divided by
zero. Machine code finds out at no further cost, and the system then looks at that state by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.formulations import (
    absolute,
    closed,
    independent_coordinates,
    joint_multipliers,
    penalty,
    projection,
    tree_augmented,
)
from whippletree.formulations.closing import Closing
from whippletree.formulations.independent_coordinates import Choice
from whippletree.formulations.solution import WATCHED, Solution
from whippletree.formulations.sweeps import Unrolled
from whippletree.kernels.kernel import Array

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = [
    "CONSISTENT",
    "TRACES",
    "LoopPlan",
    "closure_efforts",
    "derivatives",
    "motion_basis",
    "project",
    "self_stresses",
]

CONSISTENT = 1e-6
"""How far positions (radians, characteristic lengths) may miss the closures, and velocities relative to 1/s + |v|."""

POOR = 1e-3
"""The share of a pivot's scale below which another choice of coordinates is looked for."""

Symbols = dict[str, ca.SX]


@dataclass(frozen=True, eq=False)
class LoopPlan:
    """What numbers decided about the loops: rows that are used, independent freedoms, pivots, weights.

    `q` is the configuration at which that was done, `length` the characteristic length of the mechanism. The pivots of
    `absolute` and the weights of `penalty` are found when they are first asked for.
    """

    keep: tuple[tuple[int, ...], ...]
    choice: Choice
    q: Array
    length: float
    absolute_pivots: Callable[[], Sequence[Any]]
    penalty_weights: Callable[[], Sequence[float]]

    def key(self, formulation: str) -> str:
        """Return what the code of a formulation depends on."""
        parts: list[Any] = [self.keep, self.choice, self.length]
        if formulation == "absolute":
            parts.append(self.absolute_pivots())
        if formulation == "penalty":
            parts.append(self.penalty_weights())
        return repr(parts)


def forward_dynamics(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the accelerations of all joints."""
    answer = _answer(eq, request, x)
    return _guarded(eq, request, x, answer.a, answer.solution)


def driving_forces(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts, those of prescribed joints found."""
    answer = _answer(eq, request, x)
    walk = eq.walk(eq.prescribed_only(x))
    efforts = closed.driving_forces(walk, _closing(eq, request, x), x["tau"], answer)
    return _guarded(eq, request, x, efforts, answer.solution)


def reactions(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions of all joints for the kept rows: where there is redundancy, one choice of many."""
    answer = _answer(eq, request, x)
    walk = eq.walk(eq.prescribed_only(x), weld=False)
    wrenches = closed.reactions(walk, _closing(eq, request, x, weld=False), x["tau"], answer, joint_order(eq))
    return _guarded(eq, request, x, wrenches, answer.solution)


def closure_efforts(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the multipliers of all kept rows."""
    answer = _answer(eq, request, x)
    return _guarded(eq, request, x, ca.SX(ca.vertcat(*answer.multipliers)), answer.solution)


def motion_basis(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return E, row after row."""
    return ca.vec(closed.motion_basis(eq.walk(x), eq.closing(x), eq.loop_plan.choice).T)


def self_stresses(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions that balance by themselves, for each joint and component one after the other."""
    welded = (eq.walk(x), eq.closing(x), eq.closing(x, kept=False))
    unwelded = (eq.walk(x, weld=False), eq.closing(x, weld=False, kept=False))
    return ca.vec(closed.self_stresses(welded, unwelded, eq.loop_plan.choice, joint_order(eq)).T)


def project(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return a displacement and velocities that bring a state back onto the closures, and how far off it was.

    The last two numbers are the squares of the gap in positions and of the slip in velocities.
    """
    walk, closing = eq.walk(x), eq.closing(x)
    found = projection.project(walk, closing, eq.loop_plan.choice)
    gap, slip = closed.closure_gap(walk, closing, eq.loop_plan.length)
    return ca.SX(ca.vertcat(found.u, found.v, gap, slip))


def derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the accelerations, and two numbers to watch: below zero, the solution is not trusted, or is poor."""
    answer = _answer(eq, request, x)
    margin = answer.solution.margin
    return ca.SX(ca.vertcat(answer.a, margin(WATCHED), margin(POOR)))


def joint_order(eq: Equations) -> list[int]:
    """Return the places among all joints of the tree's joints, then of the cut ones."""
    cut = [c.joint for c in eq.plan.cuts]
    return [k for k in range(len(eq.description.joints)) if k not in cut] + cut


def _answer(eq: Equations, request: Request, x: Symbols) -> closed.Answer:
    """Return the solution of the equations, traced once for all functions that need it."""
    key = (request.formulation, request.wrenches, request.baumgarte, eq.loop_plan)
    if key not in eq.answers:
        walk = eq.walk(eq.prescribed_only(x))
        closing = _closing(eq, request, x)
        eq.answers[key] = closed.accelerations(walk, closing, x["tau"], _solver(eq, request))
    answer: closed.Answer = eq.answers[key]
    return answer


def _closing(eq: Equations, request: Request, x: Symbols, *, weld: bool = True) -> Closing:
    """Return the closures; a penalty needs no choice of rows."""
    return eq.closing(x, weld=weld, kept=request.formulation != "penalty")


def _solver(eq: Equations, request: Request) -> closed.Solve:
    """Return a formulation with what numbers decided for it."""
    plan, name = eq.loop_plan, request.formulation

    def solve(walk: Unrolled, closing: Closing) -> Solution:
        if name == "tree_augmented":
            return tree_augmented.solve(walk, closing)
        if name == "joint_multipliers":
            return joint_multipliers.solve(walk, closing, request.baumgarte)
        if name == "independent_coordinates":
            return independent_coordinates.solve(walk, closing, plan.choice)
        if name == "penalty":
            return penalty.solve(walk, closing, plan.penalty_weights())
        return absolute.solve(walk, closing, plan.absolute_pivots())

    return solve


def _guarded(eq: Equations, request: Request, x: Symbols, result: ca.SX, solution: Solution) -> ca.SX:
    """Divide the first number by zero where the result cannot be trusted."""
    fine = solution.margin(WATCHED) > 0
    if request.check:
        walk, closing = eq.walk(x), eq.closing(x)
        gap, slip = closed.closure_gap(walk, closing, eq.loop_plan.length)
        speed = 1 + ca.sumsqr(x["v"])
        fine = ca.logic_and(fine, ca.logic_and(gap <= CONSISTENT**2, slip <= CONSISTENT**2 * speed))
    result = ca.SX(result)
    result[0] = result[0] / fine
    return result


TRACES: dict[str, Callable[[Equations, Request, Symbols], ca.SX]] = {
    "forward_dynamics": forward_dynamics,
    "driving_forces": driving_forces,
    "reactions": reactions,
}
"""Functions that are traced otherwise when there are loops."""
