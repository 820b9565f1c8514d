"""How the functions of a mechanism with loops are traced.

A formulation gives the tree's accelerations and the multipliers; everything else follows from these in the same way for
all of them. Results are guarded (see `guards`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from whippletree.formulations.closures import closing_step as closing
from whippletree.formulations.closures import closure_projection as projection
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import Solution
from whippletree.formulations.closures.partition import partition
from whippletree.formulations.methods.formulation import LoopProblem
from whippletree.formulations.methods.independent_coordinates import INDEPENDENT_COORDINATES
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body
from whippletree.kernels.tape import read_tape
from whippletree.symbolic.sparse_factors import nearest_zero, smallest
from whippletree.system.guards import (
    above_rounding,
    guard,
    guard_locks,
    guard_pivots,
    guard_solution,
    inertia_changed,
    pivot_sizes,
)
from whippletree.system.lengths import LoopLengths, velocity_scale
from whippletree.system.tolerances import CONSISTENT, PENALTY_PROMISE
from whippletree.system.tree_equations import element_rates, hinge_power, powers

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = [
    "CONSISTENT",
    "answer",
    "closing_step",
    "closure_efforts",
    "closure_jacobian",
    "closure_residual",
    "derivatives",
    "driving_forces",
    "forward_dynamics",
    "inverse_dynamics",
    "joint_order",
    "leave_open",
    "motion_basis",
    "operation_count",
    "prepared",
    "project",
    "reaction_ways",
    "reactions",
    "self_stresses",
    "solution",
]


def forward_dynamics(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the accelerations of all joints."""
    found = answer(eq, request, x)
    return _guarded(eq, request, x, found.a, found.solution)


def driving_forces(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts, those of prescribed joints found."""
    return _guarded(eq, request, x, _efforts(eq, request, x), answer(eq, request, x).solution)


def reactions(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions of joints for the kept rows: where there is redundancy, one choice of many.

    They follow from accelerations and multipliers by one more sweep, or from the formulation's by-products if it has
    them and these take fewer operations.
    """
    ways = [eq.of_joints(request, wrenches) for wrenches in reaction_ways(eq, request, x).values()]
    if len(ways) > 1:
        ways.sort(key=operation_count)
    return _guarded(eq, request, x, ways[0], answer(eq, request, x).solution)


def operation_count(result: ca.SX) -> int:
    """Return how many operations a traced result takes by itself."""
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(result))
    return read_tape(ca.Function("result", [symbols], [ca.densify(result)])).count().total


def reaction_ways(eq: Equations, request: Request, x: Symbols) -> dict[str, ca.SX]:
    """Return the reactions of all joints, by each way that there is to them: the extra "sweep", the "by-products"."""
    found = answer(eq, request, x)
    here = eq.loaded(eq.prescribed_only(x), weld=False)
    still, closure_set = _at_rest(eq, x, kept=not request.method.keeps_all_rows)
    given = (here.walk, closure_set, here.tau, found, joint_order(eq), still)
    ways = {"sweep": closed.reactions(*given)}
    welded = len(here.walk.nodes) != len(prepared(eq, request, x).walk.nodes)
    if found.solution.forces is not None and not welded:
        ways["by-products"] = closed.reactions(*given, of_forces=True)
    return ways


def _at_rest(eq: Equations, x: Symbols, *, kept: bool) -> tuple[Unrolled, ClosureSet]:
    """Return the walk at rest with nothing welded, and the closures on it, with the rows that the plan keeps or all.

    Where forces act follows from these alone; they are made once, and what they have in common is traced once.
    """
    given: Symbols = {name: x[name] for name in ("q", "t") if name in x}
    key = ("at rest", "t" in given)
    walk, whole = eq.once(key, lambda: (eq.walk(given, weld=False), eq.closure_set(given, weld=False, kept=False)))
    return walk, replace(whole, keep=eq.loop_plan.keep) if kept else whole


def inverse_dynamics(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts that accelerations need at the joints of the spanning tree; at cut joints they are zero.

    What elements do at a cut joint acts on the bodies that it joins, and so shows at the joints of the tree.
    """
    here = eq.loaded(x)
    if here.efforts is None:
        return ca.SX(composite_body.inverse_dynamics(here.walk))
    closure_set = eq.closure_set(x, kept=False)
    acted = closure_set.efforts_at_cuts(here.walk, here.efforts, prescribed=True)
    needed = ca.SX(here.less_efforts(composite_body.inverse_dynamics(acted)))
    for cut in closure_set.attachments.cuts:
        needed[cut.v, :] = 0
    return needed


def closure_efforts(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the multipliers of all kept rows."""
    found = answer(eq, request, x)
    return _guarded(eq, request, x, ca.SX(ca.vertcat(*found.multipliers)), found.solution)


def motion_basis(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return E, row after row."""
    basis, pivots = closed.motion_basis(eq.walk(x), eq.closure_set(x), eq.loop_plan.choice)
    return guard_pivots(eq, x, ca.vec(basis.T), pivots)


def self_stresses(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions that balance by themselves, for each joint and component one after the other."""
    (walk, whole), (_, kept) = (_at_rest(eq, x, kept=kept) for kept in (False, True))
    stresses, pivots = closed.self_stresses(walk, kept, whole, eq.loop_plan.choice, joint_order(eq))
    return guard_pivots(eq, x, ca.vec(eq.of_joints(request, stresses).T), pivots)


def closing_step(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return a displacement toward closed loops, the squares of how far they are open, and the largest opening.

    `free` is 1 for freedoms that may move and 0 for those that are held. Rows are scaled as in assembly.
    """
    walk, closure_set, lengths = eq.walk({"q": x["q"]}), _all_closures(eq, x), eq.loop_plan.lengths
    sizes, positional = _full_row_sizes(closure_set, lengths)
    scaled = [
        gap / size for gap, size in zip(ca.vertsplit(closed.full_residual(walk, closure_set)), sizes, strict=True)
    ]
    gaps = [gap if held else None for gap, held in zip(scaled, positional, strict=True)]
    scale = [x["free"][j] * size for j, size in enumerate(velocity_scale(eq.description, lengths).tolist())]
    u = closing.closing_step(walk, closure_set, gaps, scale, sizes)
    opened = ca.SX(ca.vertcat(0, *(gap for gap in gaps if gap is not None)))
    return ca.SX(ca.vertcat(u, ca.sumsqr(opened), ca.mmax(ca.fabs(opened))))


def _full_row_sizes(closure_set: ClosureSet, lengths: LoopLengths) -> tuple[list[float], list[bool]]:
    """Return what each row of the full set is divided by, and whether it is about positions."""
    sizes: list[float] = []
    positional: list[bool] = []
    for cut in closure_set.attachments.cuts:
        sizes += [1.0] * 3 + [lengths.of_closure(cut.use.name)] * 3
        positional += [True] * 6
    for f in closure_set.attachments.all:
        if f.cut is None and f.driven is None:
            sizes += [lengths.of_closure(f.name)] * f.closure.n_rows
            positional += [f.closure.holonomic] * f.closure.n_rows
    return sizes, positional


def closure_residual(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return how far the closures are from closed, row by row."""
    return closed.full_residual(eq.walk({"q": x["q"]}), _all_closures(eq, x))


def closure_jacobian(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the closures' rows on the velocities of all joints, row after row."""
    rows, _ = closed.full_rows(eq.walk({"q": x["q"]}), _all_closures(eq, x))
    whole = ca.SX(len(rows), eq.plan.nv)
    for i, row in enumerate(rows):
        for j, value in row.items():
            whole[i, j] = value
    return ca.densify(ca.vec(whole.T))


def _all_closures(eq: Equations, x: Symbols) -> ClosureSet:
    """Return all rows of all closures at a configuration."""
    return eq.closure_set({name: x[name] for name in ("q", "t") if name in x}, kept=False)


def project(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return a displacement and velocities that bring a state back onto the closures, and how far off it was.

    Then come the squares of the gap in positions and of the slip in velocities, and how regular the closures are: the
    smallest pivot of their Gramian as a share of its size where the plan was made, the square root of it. That is zero
    at a singular position of the mechanism, and there only. Of rows that follow from the kept ones up to the accuracy
    of the data only, what they are open beyond that counts as a gap.
    """
    walk, closure_set, plan = eq.walk(x), eq.closure_set(x), eq.loop_plan
    found = projection.project(walk, closure_set, velocity_scale(eq.description, plan.lengths).tolist())
    gap, slip = closed.closure_gap(walk, closure_set, plan.lengths.of_closure)
    if plan.slack:
        allowed, speed = plan.open_square(), 1 + ca.sumsqr(x["v"])
        kept_gap, kept_slip = projection.kept_gap(walk, closure_set, plan.lengths.of_closure)
        gap, slip = kept_gap + ca.fmax(0, gap - allowed), kept_slip + ca.fmax(0, slip - allowed * speed)
    shares = [p * (1 / size) for p, size in pivot_sizes(eq, x, Solution(found.u, list, found.pivots))]
    return ca.SX(ca.vertcat(found.u, found.v, gap, slip, ca.sqrt(ca.fmax(smallest(shares), 0))))


def leave_open(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return what `project` does for a state that is to be left as it is: nothing is off, and how regular closures are.

    Runs that are stabilised by Baumgarte's terms put no state back onto the closures.
    """
    regularity = project(eq, request, x)[2 * eq.plan.nv + 2]
    return ca.SX(ca.vertcat(ca.SX.zeros(eq.plan.nv), x["v"], 0, 0, regularity))


def derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the accelerations, the rates of the elements' states, and numbers to watch.

    The first of these is the smallest pivot of the closures' rows as a share of its size where the plan was made, with
    its sign, which changes at a singular position; the second is how many of these shares are below zero, which changes
    there whatever the other pivots do (in absolute coordinates see `_shares`); the others, if there is anything that
    has any, are the powers that are dissipated and put in.
    """
    found = answer(eq, request, x)
    shares = _shares(eq, request, x, found)
    watched = ca.vertcat(nearest_zero(shares), sum((share < 0 for share in shares), ca.SX(0)))
    driven = _closure_power(eq, request, x, found)
    if eq.prescribed:
        driven = driven + hinge_power(eq, x, _efforts(eq, request, x))
    a = guard(found.a, inertia_changed(eq)) if eq.loop_plan.massless_motion else found.a
    if found.solution.error is not None:
        a = guard(a, found.solution.error <= PENALTY_PROMISE)
    enough = above_rounding(found.solution)
    a = guard_locks(eq, x, a if enough is None else guard(a, enough))
    return ca.SX(ca.vertcat(a, element_rates(eq, x), watched, powers(eq, x, driven)))


def _efforts(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts given, and at prescribed joints those needed."""
    here = eq.loaded(eq.prescribed_only(x))
    closure_set = _closure_set(eq, request, x)
    return eq.driving(here, closed.driving_forces(here.walk, closure_set, here.tau, answer(eq, request, x)), x["tau"])


def _shares(eq: Equations, request: Request, x: Symbols, found: closed.Answer) -> list[ca.SX]:
    """Return the pivots that time loops watch, as shares of their size where the plan was made.

    Where every body has a free joint of its own, no choice of independent coordinates lasts for long, and none is
    needed: the multipliers' own pivots are watched. They are squares, which vanish at singular positions alone.
    """
    if eq.bodies_alone and request.method.inverts_mass:
        own = pivot_sizes(eq, x, found.solution)
        return [ca.sqrt(ca.fmax(p * (1 / size), 0)) for p, size in own]
    return [p * (1 / size) for p, size in pivot_sizes(eq, x, _eliminated(eq, x))]


def _eliminated(eq: Equations, x: Symbols) -> Solution:
    """Return the pivots at which dependent freedoms are eliminated: what time loops watch, whatever the formulation.

    Other formulations have pivots of their own, but theirs may be squares, which do not change their sign.
    """

    def eliminated() -> Solution:
        parts = partition(eq.walk(x), eq.closure_set(x), eq.loop_plan.choice)
        return Solution(ca.SX(0, 1), list, parts.factors.pivots)

    return eq.once(("eliminated", eq.loop_plan), eliminated)


def _closure_power(eq: Equations, request: Request, x: Symbols, found: closed.Answer) -> ca.SX:
    """Return the power that closures in motion put in.

    The closures' forces do G^T lambda . v = lambda . (phi' - drift) of work, and phi' is zero.
    """
    if not eq.description.closures_moving:
        return ca.SX(0)
    closure_set = _closure_set(eq, request, x)
    rows = closure_set.side_rows(eq.walk(x))
    total = ca.SX(0)
    for attachment, row, keep, value in zip(
        closure_set.attachments.all, rows, closure_set.keep, found.multipliers, strict=True
    ):
        if attachment.driven is None:
            total = total - ca.dot(row.drift[list(keep), :], value)
    return total


def joint_order(eq: Equations) -> list[int]:
    """Return the places among all joints of the tree's joints, then of the cut ones."""
    cut = [c.joint for c in eq.plan.cuts]
    return [k for k in range(len(eq.description.joints)) if k not in cut] + cut


def answer(eq: Equations, request: Request, x: Symbols) -> closed.Answer:
    """Return the solution for all joints, cut ones too, traced once for all functions that need it."""

    def solved() -> closed.Answer:
        here = prepared(eq, request, x)
        terms = request.baumgarte if any(request.baumgarte) else request.method.own_baumgarte
        return closed.Answer(here.walk, here.closure_set, solution(eq, request, x), terms)

    return eq.once((request.formulation, request.wrenches, request.baumgarte, eq.loop_plan), solved)


class Prepared(NamedTuple):
    """What all formulations start from: the walk, the same with the efforts at cut joints on it, and the closures."""

    walk: Unrolled
    acted: Unrolled
    closure_set: ClosureSet


def prepared(eq: Equations, request: Request, x: Symbols) -> Prepared:
    """Return what all formulations start from, made once."""

    def prepare() -> Prepared:
        here = eq.loaded(eq.prescribed_only(x))
        closure_set = _closure_set(eq, request, x)
        return Prepared(here.walk, closure_set.efforts_at_cuts(here.walk, here.tau), closure_set)

    return eq.once(("prepared", request.method.keeps_all_rows, request.wrenches, eq.loop_plan), prepare)


def solution(eq: Equations, request: Request, x: Symbols) -> Solution:
    """Return a formulation's solution for the joints of the tree, traced once.

    Loops that leave no freedom decide the accelerations by themselves: no exact formulation asks inertias then, which
    would bring in free accelerations of any size, to be subtracted again.
    """

    def solve() -> Solution:
        here, method = prepared(eq, request, x), request.method
        if method.exact and not method.keeps_all_rows and not eq.loop_plan.choice.independent:
            method = INDEPENDENT_COORDINATES
        decisions = eq.decisions(method)
        return method.solved(LoopProblem(here.acted, here.closure_set, decisions, request.baumgarte))

    return eq.once(("solution", request.formulation, request.wrenches, request.baumgarte, eq.loop_plan), solve)


def _guarded(eq: Equations, request: Request, x: Symbols, result: ca.SX, solution: Solution) -> ca.SX:
    """Return a result that is not finite where the solution it comes from cannot be trusted."""
    here = prepared(eq, request, x)
    return guard_solution(eq, request, x, here.walk, result, solution, here.acted)


def _closure_set(eq: Equations, request: Request, x: Symbols) -> ClosureSet:
    """Return the closures, with the rows that the plan keeps or, if the formulation wants them, with all."""
    return eq.closure_set(x, kept=not request.method.keeps_all_rows)
