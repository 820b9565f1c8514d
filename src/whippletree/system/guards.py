"""How a kernel tells that its result cannot be trusted: the first number of the result is divided by zero.

A kernel's order of elimination is fixed, and a state may not suit it, or may not satisfy the closures. Both are worked
out in the kernel as a number that is 1 or 0, and the first number of the result becomes infinite or not a number where
it is 0. Kernels look for numbers that are not finite anyway: finding out needs no second output and no branch, and
works in vector lanes. The system then looks at that state by itself, refuses it in words, or solves it with pivoting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca

from whippletree.formulations.closures import loop_results
from whippletree.formulations.closures.closure_set import jacobian_rows
from whippletree.formulations.closures.loop_solution import Solution, stabilised, stacked_rows
from whippletree.formulations.closures.partition import at_rest, given_accelerations, partition
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.operation_stages import record_stage, unrecorded
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.spatial.scalars import expressions
from whippletree.symbolic.sparse_factors import smallest
from whippletree.system.lengths import velocity_scale
from whippletree.system.tolerances import (
    CANCELLED,
    CONSISTENT,
    ESTIMATED,
    EXACT_PROMISE,
    LOCKED,
    PENALTY_PROMISE,
    UNBALANCED,
    WATCHED,
)

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = [
    "above_rounding",
    "guard",
    "guard_locks",
    "guard_pivots",
    "guard_solution",
    "inertia_changed",
    "pivot_sizes",
    "promised",
    "unlocked",
    "worse_than_promised",
]


def guard(result: ca.SX, ok: ca.SX) -> ca.SX:
    """Return a result whose first number is not finite unless `ok` is 1.

    >>> x = ca.SX.sym("x")
    >>> ca.Function("f", [x], [guard(2 * x, x > 0)])(3), ca.Function("f", [x], [guard(2 * x, x > 0)])(-3)
    (DM(6), DM(-inf))
    """
    result = ca.SX(result)
    if result.numel():
        zero = result[0].is_zero()  # while tracing, so that a quotient would vanish
        result[0] = 1 / ok - 1 if zero else result[0] / ok
    return result


def promised(request: Request) -> float:
    """Return the error, relative to the largest acceleration, up to which iterations are trusted."""
    return EXACT_PROMISE if request.method.exact else PENALTY_PROMISE


def worse_than_promised(request: Request) -> str:
    """Say that a formulation's iterations did not reach what is promised at a state."""
    return (
        f'formulation "{request.method.name}" is not good to {promised(request):g} of the largest acceleration at '
        "this state: let it iterate more often (iterations=), give another weight=, or take another formulation"
    )


def unlocked(eq: Equations, x: Symbols) -> ca.SX | None:
    """Tell whether no joint is in gimbal lock; nothing if none can be."""
    ok: ca.SX | None = None
    if not any(use.joint.locks for use in eq.description.joints):
        return ok
    for use, (where, _) in zip(eq.description.coordinate_owners, eq.plan.coordinate_slices, strict=True):
        if use.joint.locks:
            free = ca.fabs(use.joint.from_lock(x["q"][where])) > LOCKED
            ok = free if ok is None else ca.logic_and(ok, free)
    return ok


def guard_locks(eq: Equations, x: Symbols, result: ca.SX) -> ca.SX:
    """Return a result that is not finite where a joint is in gimbal lock."""
    ok = unlocked(eq, x)
    return result if ok is None else guard(result, ok)


def guard_pivots(eq: Equations, x: Symbols, result: ca.SX, pivots: tuple[ca.SX, ...]) -> ca.SX:
    """Return a result that is not finite where a pivot is too small."""
    return guard(result, _pivots_large_enough(eq, x, Solution(result, list, pivots)))


def guard_solution(
    eq: Equations,
    request: Request,
    x: Symbols,
    walk: Unrolled,
    result: ca.SX,
    solution: Solution,
    acted: Unrolled | None = None,
) -> ca.SX:
    """Return a result of a solution on a walk that is not finite where it cannot be trusted.

    That is where a pivot is too small, where a motion that the loops allow moves nothing that has inertia, where an
    approximate formulation is not as good as is promised, and, if the request is checked, where the state does not
    satisfy the closures. An inertia that is none may come out as rounding, which no pivot tells from a number: the plan
    knows.
    """
    ok = _pivots_large_enough(eq, x, solution)
    free = unlocked(eq, x)
    if free is not None:
        ok = ca.logic_and(ok, free)
    if eq.loop_plan.massless_motion:
        ok = ca.logic_and(ok, inertia_changed(eq))
    if solution.error is not None:
        ok = ca.logic_and(ok, solution.error <= promised(request) / ESTIMATED)
    if request.check:
        plan = eq.loop_plan
        gap, slip = loop_results.closure_gap(walk, eq.closure_set(x), plan.lengths.of_closure)
        speed, limit = 1 + ca.sumsqr(x["v"]), plan.open_square(CONSISTENT)
        ok = ca.logic_and(ok, ca.logic_and(gap <= limit, slip <= limit * speed))
    result = guard(result, ok)
    return result if acted is None else _guard_digits(eq, request, x, acted, result, solution)


def pivot_sizes(eq: Equations, x: Symbols, solution: Solution) -> list[tuple[ca.SX, ca.SX | float]]:
    """Return the pivots of a solution, and their sizes where the plan was made."""
    if not solution.pivots:
        return []

    def sizes() -> Sequence[ca.SX | float]:
        of_part = eq.pivot_sizes
        return _sizes_at_plan(eq, x, solution.pivots) if of_part is None else of_part(solution.pivots)

    return list(zip(solution.pivots, eq.once(("sizes", solution), sizes), strict=True))


def _sizes_at_plan(eq: Equations, x: Symbols, some: Sequence[ca.SX]) -> list[float]:
    """Return the sizes of pivots where the plan was made."""
    pivots = ca.SX(ca.vertcat(*some))
    parameters = eq.parameters
    if parameters.numel():
        pivots = ca.substitute(pivots, parameters, ca.DM(eq.description.parameter_values))
    others = [value for name, value in x.items() if name != "q"]
    at = ca.Function("pivots", [x["q"], *others], [pivots], {"allow_free": True})
    found: list[float] = at(eq.loop_plan.made_at, *(0 for _ in others)).full().ravel().tolist()
    return found


def inertia_changed(eq: Equations) -> ca.SX:
    """Tell whether parameters give bodies other masses or inertias than those described."""
    properties = [b.properties for b in eq.description.bodies]
    entries = [x for p in properties for x in (p.mass, *p.com, *(y for row in p.inertia for y in row))]
    entries += [x for b in eq.description.bodies if b.kind is not None for x in b.kind.entries()]
    open_ = ca.vertcat(ca.SX(0, 1), *expressions(entries))
    changed = ca.SX(0)
    for parameter in eq.description.parameters:
        if ca.depends_on(open_, parameter.symbol):
            changed = ca.logic_or(changed, parameter.symbol != parameter.value)
    return changed


def _pivots_large_enough(eq: Equations, x: Symbols, solution: Solution) -> ca.SX:
    """Tell whether every pivot is more than a small share of its size where the plan was made, and than its least."""
    sizes = [(p, WATCHED * ca.fabs(size)) for p, size in pivot_sizes(eq, x, solution)]
    if solution.least is None:
        return smallest(ca.fabs(p) - limit for p, limit in sizes) > 0
    limits = [
        limit if own is None else ca.fmax(limit, own) for (_, limit), own in zip(sizes, solution.least, strict=True)
    ]
    return smallest(p - limit for (p, _), limit in zip(sizes, limits, strict=True)) > 0


def _guard_digits(
    eq: Equations, request: Request, x: Symbols, walk: Unrolled, result: ca.SX, solution: Solution
) -> ca.SX:
    """Return a result that is not finite where accelerations miss the closures, or the balance, by more than rounding.

    Free accelerations of a light tree may be a million times what its loops leave of them, and rounding of heavy bodies
    may move light ones: the plan says whether digits can be lost. What C a + gamma misses is compared with the terms
    that it was added up from, and what efforts lack with the largest acceleration: estimates of approximate solutions
    go by what is heavy. Runs put every state back onto the closures.
    """
    easy = eq.loop_plan.cancelling
    if not easy:
        return result
    record_stage("solution", [solution.a, result])
    with unrecorded():
        missed = ca.mmax(ca.vertcat(*_missed(eq, request, x, walk, solution, easy)))
    record_stage("watch over digits", missed)
    return guard(result, missed <= 0)


def _missed(
    eq: Equations, request: Request, x: Symbols, walk: Unrolled, solution: Solution, easy: Sequence[float]
) -> list[ca.SX]:
    """Return by how much more than rounding accelerations miss the balance and each row of the closures."""
    exact, given = request.method.exact, given_accelerations(walk)
    states = eq.closure_set(x).evaluate(at_rest(walk))
    gamma = stabilised(stacked_rows(states, "second"), states, request.baumgarte)
    missed = [_accelerated(eq, x, walk, solution.a, easy, UNBALANCED if exact else PENALTY_PROMISE)]
    for row, total in zip(jacobian_rows(walk, states), gamma, strict=True) if exact else ():
        terms = [total, *(entry * solution.a[j] for j, entry in row.items() if j not in given)]
        size = sum((ca.fabs(term) for term in terms), ca.SX(0))
        missed.append(ca.fabs(sum(terms, ca.SX(0))) - CANCELLED * size)
    return missed


def _accelerated(eq: Equations, x: Symbols, walk: Unrolled, a: ca.SX, easy: Sequence[float], share: float) -> ca.SX:
    """Return how much faster than may be expected of rounding what efforts lack of balance moves the mechanism.

    What is expected is the share of the largest acceleration, or of that which one of the efforts makes by itself.
    """
    scale = velocity_scale(eq.description, eq.loop_plan.lengths)
    E = partition(walk, eq.closure_set(x), eq.loop_plan.choice).E
    lacking = composite.equations(with_accelerations(walk, a)).right
    along = {i: ca.SX(0) for i in eq.loop_plan.choice.independent}
    for d, row in E.items():
        for i, value in row.items():
            along[i] += value * lacking[d]
    forced = [easy[i] * ca.fabs(effort) for i, effort in composite.equations(at_rest(walk)).right.items()]
    largest = ca.mmax(ca.vertcat(*forced, *(ca.fabs(a[j]) / scale[j] for j in range(a.numel()))))
    return sum((easy[i] * ca.fabs(total) for i, total in along.items()), ca.SX(0)) - share * largest


def above_rounding(solution: Solution) -> ca.SX | None:
    """Tell whether more than rounding is left of every pivot; nothing if no pivot has a least."""
    margins = [p - own for p, own in zip(solution.pivots, solution.least or (), strict=False) if own is not None]
    return smallest(margins) > 0 if margins else None
