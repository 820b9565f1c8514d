"""How the functions of a mechanism with loops are traced.

A result is guarded: where a pivot is small, or the state does not satisfy the closures, its first number is divided by
zero. Machine code finds out at no further cost, and the system then looks at that state by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from whippletree.formulations.closures import closure_projection as projection
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import Solution
from whippletree.formulations.closures.partition import partition
from whippletree.formulations.methods import (
    absolute,
    constraint_embedding,
    coordinate_reduction,
    fully_recursive,
    independent_coordinates,
    joint_multipliers,
    penalty,
    tree_augmented,
    velocity_transformation,
)
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial.scalars import expressions
from whippletree.symbolic.sparse_factors import nearest_zero, smallest

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = [
    "CONSISTENT",
    "TRACES",
    "closure_efforts",
    "closure_power",
    "derivatives",
    "element_rates",
    "hinge_power",
    "motion_basis",
    "powers",
    "project",
    "self_stresses",
]

CONSISTENT = 1e-6
"""How far positions (radians, characteristic lengths) may miss the closures, and velocities relative to 1/s + |v|."""

WATCHED = 1e-8
"""The share of a pivot's size where the plan was made below which a solution is not trusted."""

Symbols = dict[str, ca.SX]


def forward_dynamics(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the accelerations of all joints."""
    answer = _answer(eq, request, x)
    return _guarded(eq, request, x, answer.a, answer.solution)


def driving_forces(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts, those of prescribed joints found."""
    answer = _answer(eq, request, x)
    here = eq.loaded(eq.prescribed_only(x))
    efforts = closed.driving_forces(here.walk, _closure_set(eq, request, x), here.tau, answer)
    return _guarded(eq, request, x, eq.driving(here, efforts, x["tau"]), answer.solution)


def reactions(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions of all joints for the kept rows: where there is redundancy, one choice of many."""
    answer = _answer(eq, request, x)
    here = eq.loaded(eq.prescribed_only(x), weld=False)
    closure_set = _closure_set(eq, request, x, weld=False)
    wrenches = closed.reactions(here.walk, closure_set, here.tau, answer, joint_order(eq))
    return _guarded(eq, request, x, wrenches, answer.solution)


def closure_efforts(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the multipliers of all kept rows."""
    answer = _answer(eq, request, x)
    return _guarded(eq, request, x, ca.SX(ca.vertcat(*answer.multipliers)), answer.solution)


def motion_basis(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return E, row after row."""
    basis, pivots = closed.motion_basis(eq.walk(x), eq.closure_set(x), eq.loop_plan.choice)
    return _watched(eq, x, ca.vec(basis.T), pivots)


def self_stresses(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions that balance by themselves, for each joint and component one after the other."""
    welded = (eq.walk(x), eq.closure_set(x), eq.closure_set(x, kept=False))
    unwelded = (eq.walk(x, weld=False), eq.closure_set(x, weld=False, kept=False))
    stresses, pivots = closed.self_stresses(welded, unwelded, eq.loop_plan.choice, joint_order(eq))
    return _watched(eq, x, ca.vec(stresses.T), pivots)


def project(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return a displacement and velocities that bring a state back onto the closures, and how far off it was.

    The last two numbers are the squares of the gap in positions and of the slip in velocities.
    """
    walk, closure_set = eq.walk(x), eq.closure_set(x)
    found = projection.project(walk, closure_set, eq.loop_plan.choice)
    gap, slip = closed.closure_gap(walk, closure_set, eq.loop_plan.length)
    return ca.SX(ca.vertcat(found.u, found.v, gap, slip))


def derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the accelerations, the rates of the elements' states, and numbers to watch.

    The first of these is the smallest pivot of the closures' rows as a share of its size where the plan was made, with
    its sign, which changes at a singular position; the second is how many of these shares are below zero, which changes
    there whatever the other pivots do; the others, if there is anything that has any, are the powers that are
    dissipated and put in.
    """
    answer = _answer(eq, request, x)
    shares = [p * (1 / size) for p, size in _pivots(eq, x, _eliminated(eq, x))]
    watched = ca.vertcat(nearest_zero(shares), sum((share < 0 for share in shares), ca.SX(0)))
    driven = closure_power(eq, request, x, answer)
    if eq.prescribed:
        here = eq.loaded(eq.prescribed_only(x))
        efforts = closed.driving_forces(here.walk, _closure_set(eq, request, x), here.tau, answer)
        driven = driven + hinge_power(eq, x, eq.driving(here, efforts, x["tau"]))
    a = _divided(answer.a, _inertia_changed(eq)) if eq.loop_plan.massless_motion() else answer.a
    return ca.SX(ca.vertcat(a, element_rates(eq, x), watched, powers(eq, x, driven)))


def _eliminated(eq: Equations, x: Symbols) -> Solution:
    """Return the pivots at which dependent freedoms are eliminated: what time loops watch, whatever the formulation.

    Other formulations have pivots of their own, but theirs may be squares, which do not change their sign.
    """
    key = ("eliminated", eq.loop_plan)
    if key not in eq.answers:
        parts = partition(eq.walk(x), eq.closure_set(x), eq.loop_plan.choice)
        eq.answers[key] = Solution(ca.SX(0, 1), list, parts.factors.pivots)
    found: Solution = eq.answers[key]
    return found


def closure_power(eq: Equations, request: Request, x: Symbols, answer: closed.Answer) -> ca.SX:
    """Return the power that closures in motion put in.

    The closures' forces do G^T lambda . v = lambda . (phi' - drift) of work, and phi' is zero.
    """
    if not eq.description.closures_moving:
        return ca.SX(0)
    closure_set = _closure_set(eq, request, x)
    rows = closure_set.side_rows(eq.walk(x))
    total = ca.SX(0)
    for attachment, row, keep, value in zip(
        closure_set.attachments.all, rows, closure_set.keep, answer.multipliers, strict=True
    ):
        if attachment.driven is None:
            total = total - ca.dot(row.drift[list(keep), :], value)
    return total


def hinge_power(eq: Equations, x: Symbols, efforts: ca.SX) -> ca.SX:
    """Return the power that prescribed hinges put in, beyond that of the efforts given."""
    mask = ca.DM([float(given) for given in eq.prescribed_mask])
    return ca.dot(mask * (efforts - x["tau"]), x["v"])


def element_rates(eq: Equations, x: Symbols) -> ca.SX:
    """Return the rates of the elements' states."""
    return eq.loaded(x).rates if eq.description.states else ca.SX(0, 1)


def powers(eq: Equations, x: Symbols, driven: ca.SX) -> ca.SX:
    """Return the powers that are dissipated and put in, that of drives given, if there is anything that has any."""
    if not eq.description.powered:
        return ca.SX(0, 1)
    of_elements = eq.loaded(x).powers
    return ca.SX(ca.vertcat(of_elements.dissipated, of_elements.supplied + driven))


def joint_order(eq: Equations) -> list[int]:
    """Return the places among all joints of the tree's joints, then of the cut ones."""
    cut = [c.joint for c in eq.plan.cuts]
    return [k for k in range(len(eq.description.joints)) if k not in cut] + cut


def _answer(eq: Equations, request: Request, x: Symbols) -> closed.Answer:
    """Return the solution of the equations, traced once for all functions that need it."""
    key = (request.formulation, request.wrenches, request.baumgarte, eq.loop_plan)
    if key not in eq.answers:
        here = prepared(eq, request, x)
        eq.answers[key] = closed.accelerations(here.walk, here.closure_set, solution(eq, request, x))
    answer: closed.Answer = eq.answers[key]
    return answer


class Prepared(NamedTuple):
    """What all formulations start from: the walk, the same with the efforts at cut joints on it, and the closures."""

    walk: Unrolled
    acted: Unrolled
    closure_set: ClosureSet


def prepared(eq: Equations, request: Request, x: Symbols) -> Prepared:
    """Return what all formulations start from, made once."""
    key = ("prepared", request.formulation.endswith("penalty"), request.wrenches, eq.loop_plan)
    if key not in eq.answers:
        here = eq.loaded(eq.prescribed_only(x))
        closure_set = _closure_set(eq, request, x)
        eq.answers[key] = Prepared(here.walk, closure_set.efforts_at_cuts(here.walk, here.tau), closure_set)
    found: Prepared = eq.answers[key]
    return found


def solution(eq: Equations, request: Request, x: Symbols) -> Solution:
    """Return a formulation's solution for the joints of the tree, traced once."""
    key = ("solution", request.formulation, request.wrenches, request.baumgarte, eq.loop_plan)
    if key not in eq.answers:
        here = prepared(eq, request, x)
        eq.answers[key] = _solver(eq, request)(here.acted, here.closure_set)
    found: Solution = eq.answers[key]
    return found


def _closure_set(eq: Equations, request: Request, x: Symbols, *, weld: bool = True) -> ClosureSet:
    """Return the closures; a penalty needs no choice of rows."""
    return eq.closure_set(x, weld=weld, kept=not request.formulation.endswith("penalty"))


def _solver(eq: Equations, request: Request) -> closed.Solve:
    """Return a formulation with what numbers decided for it."""
    plan = eq.loop_plan
    name, _, option = request.formulation.partition("/")

    def solve(walk: Unrolled, closure_set: ClosureSet) -> Solution:
        if name == "tree_augmented":
            return tree_augmented.solve(walk, closure_set)
        if name == "joint_multipliers":
            return joint_multipliers.solve(walk, closure_set, request.baumgarte)
        if name == "independent_coordinates":
            return independent_coordinates.solve(walk, closure_set, plan.choice)
        if name == "constraint_embedding":
            return constraint_embedding.solve(walk, closure_set, plan.choice)
        if name == "coordinate_reduction":
            return coordinate_reduction.solve(walk, closure_set, plan.reduction())
        if name == "by_group":
            return constraint_embedding.solve(walk, closure_set, plan.choice, plan.group_methods())
        if name == "penalty":
            return penalty.solve(walk, closure_set, plan.penalty_weights())
        if name == "fully_recursive":
            return fully_recursive.solve(walk, closure_set, option)
        if option == "reference_point/multipliers":
            return joint_multipliers.solve(
                walk, closure_set, request.baumgarte, velocity_transformation.REFERENCE_POINT
            )
        if option == "reference_point/penalty":
            return penalty.solve(walk, closure_set, plan.penalty_weights(), velocity_transformation.REFERENCE_POINT)
        if option == "reference_point/independent":
            coordinates = velocity_transformation.own_axes(walk, closure_set)
            return independent_coordinates.solve(walk, closure_set, plan.choice, coordinates)
        return absolute.solve(walk, closure_set, plan.absolute_pivots())

    return solve


def _margin(eq: Equations, x: Symbols, solution: Solution, share: float) -> ca.SX:
    """Return a number that is positive while every pivot is more than this share of its size at the plan."""
    return smallest(ca.fabs(p) - share * abs(size) for p, size in _pivots(eq, x, solution))


def _pivots(eq: Equations, x: Symbols, solution: Solution) -> list[tuple[ca.SX, float]]:
    """Return the pivots of a solution, and their sizes where the plan was made."""
    if not solution.pivots:
        return []
    key = ("sizes", id(solution))
    if key not in eq.answers:
        pivots = ca.SX(ca.vertcat(*solution.pivots))
        parameters = ca.vertcat(*(p.symbol for p in eq.description.parameters))
        if parameters.numel():
            pivots = ca.substitute(pivots, parameters, ca.DM(eq.description.parameter_values))
        others = [value for name, value in x.items() if name != "q"]
        at = ca.Function("pivots", [x["q"], *others], [pivots], {"allow_free": True})
        # the solution is kept too: its id must not come to mean another one
        eq.answers[key] = (solution, at(eq.loop_plan.made_at, *(0 for _ in others)).full().ravel().tolist())
    return list(zip(solution.pivots, eq.answers[key][1], strict=True))


def _watched(eq: Equations, x: Symbols, result: ca.SX, pivots: tuple[ca.SX, ...]) -> ca.SX:
    """Divide the first number by zero where a pivot is too small."""
    watched = Solution(result, list, pivots)
    return _divided(result, _margin(eq, x, watched, WATCHED) > 0)


def _divided(result: ca.SX, fine: ca.SX) -> ca.SX:
    """Return a result whose first number is not finite unless all is fine."""
    result = ca.SX(result)
    if result.numel():
        result[0] = result[0] + (1 / fine - 1)  # a product would vanish where the number is known to be zero
    return result


def _guarded(eq: Equations, request: Request, x: Symbols, result: ca.SX, solution: Solution) -> ca.SX:
    """Divide the first number by zero where the result cannot be trusted.

    An inertia that is none may come out as rounding, which no pivot tells from a number: the plan knows.
    """
    fine = _margin(eq, x, solution, WATCHED) > 0
    if eq.loop_plan.massless_motion():
        fine = ca.logic_and(fine, _inertia_changed(eq))
    if request.check:
        walk, closure_set = eq.walk(x), eq.closure_set(x)
        gap, slip = closed.closure_gap(walk, closure_set, eq.loop_plan.length)
        speed = 1 + ca.sumsqr(x["v"])
        fine = ca.logic_and(fine, ca.logic_and(gap <= CONSISTENT**2, slip <= CONSISTENT**2 * speed))
    return _divided(result, fine)


def _inertia_changed(eq: Equations) -> ca.SX:
    """Tell whether parameters give bodies other masses or inertias than those described."""
    properties = [b.properties for b in eq.description.bodies]
    entries = [x for p in properties for x in (p.mass, *p.com, *(y for row in p.inertia for y in row))]
    open_ = ca.vertcat(ca.SX(0, 1), *expressions(entries))
    changed = ca.SX(0)
    for parameter in eq.description.parameters:
        if ca.depends_on(open_, parameter.symbol):
            changed = ca.logic_or(changed, parameter.symbol != parameter.value)
    return changed


TRACES: dict[str, Callable[[Equations, Request, Symbols], ca.SX]] = {
    "forward_dynamics": forward_dynamics,
    "driving_forces": driving_forces,
    "reactions": reactions,
}
"""Functions that are traced otherwise when there are loops."""
