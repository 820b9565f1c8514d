"""How derivatives of the motion are traced: accelerations and multipliers first, then what follows from each change.

The mathematics is in `formulations.closures.minimal_derivatives`; here the equations of a mechanism become what it
works with, and its responses the columns of a matrix (`derivative_columns`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_derivatives import closure_row_slopes, cut_row_slopes
from whippletree.formulations.closures.closure_projection import missed
from whippletree.formulations.closures.closure_set import ClosureSet, jacobian_rows
from whippletree.formulations.closures.element_derivatives import closure_slopes, force_slopes
from whippletree.formulations.closures.loop_solution import Solution, stacked_rows
from whippletree.formulations.closures.minimal_derivatives import (
    ClosureRows,
    Explicit,
    Follower,
    Mechanics,
    Response,
    Slopes,
    by_column,
    combined,
    effort_responses,
    following,
    motions,
    multiplier_changes,
    reduced_mass,
    response,
)
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body
from whippletree.formulations.recursions.applied_derivatives import AppliedDerivatives
from whippletree.formulations.recursions.inverse_dynamics_derivatives import Matrix, differentiate
from whippletree.symbolic.sparse_factors import Column, SymmetricFactor, factor_symmetric, minimum_degree
from whippletree.system import loop_equations
from whippletree.system.derivative_columns import DerivativeColumns, derivative_columns
from whippletree.system.guards import guard_pivots, guard_solution

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = [
    "ChangesOfMotion",
    "applied_slopes",
    "changes_of_motion",
    "explicit_changes",
    "forward_dynamics_derivatives",
    "guarded",
    "minimal_coordinates",
    "motion_changes",
]

_ONE = ca.SX(1)


def forward_dynamics_derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the derivatives of all accelerations, row by row."""
    if eq.description.reaction_laws:
        from whippletree.system.output_derivatives import result_derivatives  # which is a result like others there

        return result_derivatives(eq, request, x)
    columns = derivative_columns(eq)
    motion = _motion(eq, request, x, columns)
    explicit = explicit_changes(eq, x, motion.a, motion.multipliers)
    whole = _matrix(dict(_accelerations(motion, columns, explicit)), columns.nv, columns.total)
    return guarded(eq, request, x, motion, motion.mechanics.follower, ca.densify(ca.vec(whole.T)))


class ChangesOfMotion(NamedTuple):
    """What all joints' displacements, velocities, accelerations and the multipliers do in each column of derivatives.

    The last two, and the motion itself, are there if it was `solved`.
    """

    dq: ca.SX
    dv: ca.SX
    da: ca.SX
    dl: ca.SX
    motion: SolvedMotion | None
    follower: Follower


def changes_of_motion(
    eq: Equations, request: Request, x: Symbols, *, solved: bool, multipliers: bool = False
) -> ChangesOfMotion:
    """Return the changes of a motion, with those of accelerations and multipliers if they are wanted."""
    columns = derivative_columns(eq)
    nv, count = columns.nv, columns.total
    n_rows = eq.loop_plan.n_rows if eq.closed else 0
    if not solved:
        follower, moved = _all_following(eq, x, columns)
        dq, dv = (_matrix({n: pair[k] for n, pair in moved.items()}, nv, count) for k in range(2))
        return ChangesOfMotion(dq, dv, ca.SX(nv, count), ca.SX(n_rows, count), None, follower)
    motion = _motion(eq, request, x, columns)
    m = motion.mechanics
    changes = dict(_responses(motion, columns, explicit_changes(eq, x, motion.a, motion.multipliers)))
    changes.update(_effort_changes(m, columns))
    dq, dv, da = (_matrix({n: one[k] for n, one in changes.items()}, nv, count) for k in range(3))
    dl = {n: multiplier_changes(m, one) for n, one in changes.items()} if multipliers and n_rows else {}
    return ChangesOfMotion(dq, dv, da, _matrix(dl, n_rows, count), motion, m.follower)


def _effort_changes(m: Mechanics, columns: DerivativeColumns) -> Iterator[tuple[int, Response]]:
    """Return the responses to unit efforts, those of cut joints by the forces that they are on the tree's joints."""
    start, rows = columns.slices()["tau"].start, m.follower.rows
    minus = -_ONE
    for i in range(columns.nv):
        if i in rows.driven:
            continue  # its drive makes up for it
        own = {j: -value for j, value in rows.G[i].items()} if i in rows.G else {i: minus}
        yield start + i, response(m, explicit=Explicit(R=own))


def _all_following(
    eq: Equations, x: Symbols, columns: DerivativeColumns
) -> tuple[Follower, dict[int, tuple[Column, Column]]]:
    """Return what all displacements and velocities do, by column."""
    walk, closure_set = eq.walk(x), eq.closure_set(x) if eq.closed else eq.closure_set(kept=False)
    follower = _follower(walk, closure_set, columns)
    slopes = closure_row_slopes(walk, closure_set, ca.SX.zeros(eq.plan.nv)), cut_row_slopes(walk, closure_set)
    at, none = columns.slices(), Explicit()
    asked: list[tuple[int, Column, Column, Explicit]] = []
    asked += [(n, {j: _ONE}, {}, none) for n, j in enumerate(columns.displacements, at["q"].start)]
    asked += [(n, {}, {j: _ONE}, none) for n, j in enumerate(columns.velocities, at["v"].start)]
    multipliers = [ca.SX.zeros(len(rows)) for rows in closure_set.keep]
    explicit = explicit_changes(eq, x, ca.SX.zeros(eq.plan.nv), multipliers)
    asked += [(n, {}, {}, own) for n, own in zip(columns.explicit(), explicit, strict=True)]
    return follower, {n: following(follower, *slopes, moved, moving, own) for n, moved, moving, own in asked}


def motion_changes(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return what all displacements and velocities do in each column, row by row."""
    changes = changes_of_motion(eq, request, x, solved=False)
    result = ca.densify(ca.vertcat(ca.vec(changes.dq.T), ca.vec(changes.dv.T)))
    return guarded(eq, request, x, None, changes.follower, result)


def minimal_coordinates(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return, row by row, the maps of displacements and velocities and the slope of velocities; see the call."""
    columns = derivative_columns(eq)
    walk, closure_set = eq.walk(x), eq.closure_set(x)
    follower = _follower(walk, closure_set, columns)
    closures, cuts = closure_row_slopes(walk, closure_set, ca.SX.zeros(eq.plan.nv)), cut_row_slopes(walk, closure_set)
    maps: dict[int, Column] = {}
    n_q, n_v = len(columns.displacements), len(columns.velocities)
    for n, j in enumerate(columns.displacements):
        moved = follower.position({j: _ONE}, {}, {})
        slope = follower.velocity({}, combined(closures.rate_q, moved), combined(cuts.rate_q, moved))
        maps[n], maps[n_q + n_v + n] = moved, slope
    for n, j in enumerate(columns.velocities):
        maps[n_q + n] = follower.velocity({j: _ONE}, {}, {})
    whole = _matrix(maps, columns.nv, columns.n_minimal)
    result = guard_pivots(eq, x, ca.densify(ca.vec(whole.T)), follower.factors.pivots)
    if follower.position_factors is not follower.factors:
        result = guard_pivots(eq, x, result, follower.position_factors.pivots)
    return result


# ---------------------------------------------------------------------- the motion and its equations


class SolvedMotion(NamedTuple):
    """A motion at a state: accelerations, multipliers by closure, what responses are worked out with, and R by z."""

    a: ca.SX
    multipliers: list[ca.SX]
    mechanics: Mechanics
    by_states: dict[int, Column]
    closure_set: ClosureSet
    solution: Solution | None


def _motion(eq: Equations, request: Request, x: Symbols, columns: DerivativeColumns) -> SolvedMotion:
    """Solve for the motion, and differentiate its equations with accelerations and multipliers kept."""
    closure_set = eq.closure_set(x) if eq.closed else eq.closure_set(kept=False)
    solution: Solution | None = None
    if eq.closed:
        found = loop_equations.answer(eq, replace(request, formulation="independent_coordinates"), x)
        a, multipliers, solution = found.a, found.multipliers, found.solution
    else:
        system = composite_body.equations(eq.loaded(eq.prescribed_only(x)).walk)
        factors = system.factor()
        a, multipliers = system.complete(factors.solve(dict(system.right))), []
    walk = with_accelerations(eq.walk(x), a)
    own, applied = differentiate(walk), applied_slopes(eq, walk, x, multipliers)
    slopes = Slopes(
        by_column(own.q, applied["q"]),
        by_column(own.v, applied["v"]),
        closure_row_slopes(walk, closure_set, a),
        cut_row_slopes(walk, closure_set),
    )
    follower, mass = _follower(walk, closure_set, columns), by_column(own.a)
    basis = motions(follower, columns.choice)
    if eq.closed:
        factors = _factored_mass(mass, basis)
    mechanics = Mechanics(follower, slopes, mass, basis, factors)
    return SolvedMotion(a, multipliers, mechanics, by_column({}, applied["z"]), closure_set, solution)


def applied_slopes(eq: Equations, walk: Unrolled, x: Symbols, multipliers: Sequence[ca.SX]) -> dict[str, Matrix]:
    """Return the slopes of the efforts of what acts, closures included, for displacements, velocities and states."""
    closure_set = eq.closure_set(x) if eq.closed else eq.closure_set(kept=False)
    outside = AppliedDerivatives(walk)
    efforts = force_slopes(walk, eq.nodes.acting(), eq.element_state(x), outside)
    closure_slopes(walk, closure_set, multipliers, eq.loaded(x).tau, efforts, outside)
    return outside.project()


def _factored_mass(mass: dict[int, Column], basis: dict[int, Column]) -> SymmetricFactor:
    entries = reduced_mass(mass, basis)
    return factor_symmetric(entries, minimum_degree(entries, list(basis)))


def _follower(walk: Unrolled, closure_set: ClosureSet, columns: DerivativeColumns) -> Follower:
    """Return what lets dependent joints follow the others."""
    C = [dict(row) for row in jacobian_rows(walk, closure_set.evaluate(walk))]
    cut_rows = jacobian_rows(walk, closure_set.cut_rates(walk))
    cuts = closure_set.attachments.cuts
    of_cuts = (i for cut in cuts for i in range(cut.v.start, cut.v.stop))
    G = {i: dict(row) for i, row in zip(of_cuts, cut_rows, strict=True)}
    on_cuts: dict[int, Column] = {}
    driven: dict[int, int] = {}
    positional: list[bool] = []
    for attachment, keep, rows in zip(
        closure_set.attachments.all, closure_set.keep, closure_set.side_rows(walk), strict=True
    ):
        for number in keep:
            r = len(positional)
            positional.append(attachment.positional)
            if attachment.driven is not None:
                driven[cuts[attachment.driven].v.start + number] = r
            for i, c in enumerate(attachment.coordinates):
                if c.cut is not None:
                    on_cuts.setdefault(r, {})[c.v] = rows.K[number, i]
    return Follower(ClosureRows(C, G, on_cuts, driven), columns.positions, columns.choice, positional)


# ---------------------------------------------------------------------- time and parameters


def explicit_changes(eq: Equations, x: Symbols, a: ca.SX, multipliers: Sequence[ca.SX]) -> list[Explicit]:
    """Return what time, if it counts, and each parameter change by themselves."""
    by = [x["t"]] if "t" in x else []
    by += [parameter.symbol for parameter in eq.description.parameters]
    if not by:
        return []
    nv, n_rows = eq.plan.nv, eq.loop_plan.n_rows if eq.closed else 0
    kept = {**x, "a": ca.SX.sym("a", nv), "multipliers": ca.SX.sym("multipliers", n_rows)}
    closure_set = eq.closure_set(kept) if eq.closed else eq.closure_set(kept=False)
    here = eq.loaded(kept)
    cuts = [cut for cut in closure_set.attachments.cuts if cut.joint.nv]
    cut_rates = [
        one
        for cut, one in zip(closure_set.attachments.cuts, closure_set.cut_rates(here.walk), strict=True)
        if cut.joint.nv
    ]
    parts = [
        _positions(here.walk, closure_set),
        *(_column(stacked_rows(closure_set.evaluate(here.walk), part)) for part in ("rate", "second")),
        _column([missed(here.walk, closure_set, cut) for cut in cuts]),
        *(_column([getattr(one, part) for one in cut_rates]) for part in ("rate", "second")),
        _unbalanced(eq, closure_set, here.walk, here.tau, kept["multipliers"]),
    ]
    slope = ca.jacobian(ca.vertcat(*parts), ca.vertcat(*by))
    values = [a, ca.SX(ca.vertcat(ca.SX(0, 1), *multipliers))]
    slope = ca.substitute(slope, ca.vertcat(kept["a"], kept["multipliers"]), ca.densify(ca.vertcat(*values)))
    places = [i for cut in cuts for i in range(cut.v.start, cut.v.stop)]
    numbers = [list(range(n_rows))] * 3 + [places] * 3 + [list(range(nv))]
    return [_split(slope[:, n], numbers) for n in range(len(by))]


def _split(column: ca.SX, numbers: Sequence[Sequence[int]]) -> Explicit:
    """Return a column of partial derivatives, part by part."""
    found: list[Column] = []
    at = 0
    for own in numbers:
        found.append({place: column[at + i] for i, place in enumerate(own) if not column[at + i].is_zero()})
        at += len(own)
    return Explicit((found[0], found[1], found[2]), (found[3], found[4], found[5]), found[6])


def _column(parts: Sequence[ca.SX]) -> ca.SX:
    return ca.SX(ca.vertcat(ca.SX(0, 1), *parts))


def _positions(walk: Unrolled, closure_set: ClosureSet) -> ca.SX:
    """Return phi of the kept rows; those that drive a joint are how far its coordinates are behind its bodies."""
    phi = stacked_rows(closure_set.evaluate(walk), "phi")
    first = 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        if attachment.driven is not None:
            off = missed(walk, closure_set, closure_set.attachments.cuts[attachment.driven])
            for i, number in enumerate(keep):
                phi[first + i] = off[number]
        first += len(keep)
    return _column(phi)


def _unbalanced(eq: Equations, closure_set: ClosureSet, walk: Unrolled, tau: ca.SX, multipliers: ca.SX) -> ca.SX:
    """Return R: what the tree's joints need for their accelerations beyond what acts on them."""
    acted = closure_set.efforts_at_cuts(walk, tau)
    R = ca.densify(ca.SX(composite_body.inverse_dynamics(acted)))
    for node, where in zip(acted.nodes, acted.v_slices, strict=True):
        if where.stop > where.start and not node.on_frame:
            R[where] = R[where] - node.tau
    for i, row in enumerate(jacobian_rows(walk, closure_set.evaluate(walk))):
        for j, value in row.items():
            R[j] = R[j] - value * multipliers[i]
    return R


# ---------------------------------------------------------------------- the columns


def _accelerations(
    motion: SolvedMotion, columns: DerivativeColumns, explicit: Sequence[Explicit]
) -> Iterator[tuple[int, Column]]:
    """Return the columns of derivatives of all accelerations, with their numbers."""
    for n, change in _responses(motion, columns, explicit):
        yield n, change.da
    by_effort = effort_responses(motion.mechanics)
    start = columns.slices()["tau"].start
    for i in range(columns.nv):
        yield start + i, by_effort.get(i, {})


def _responses(
    motion: SolvedMotion, columns: DerivativeColumns, explicit: Sequence[Explicit]
) -> Iterator[tuple[int, Response]]:
    """Return the responses to all changes but those of efforts, with the numbers of their columns."""
    at, m = columns.slices(), motion.mechanics
    for n, j in enumerate(columns.displacements, at["q"].start):
        yield n, response(m, dq={j: _ONE})
    for n, j in enumerate(columns.velocities, at["v"].start):
        yield n, response(m, dv={j: _ONE})
    for n in range(columns.n_states):
        yield at["z"].start + n, response(m, explicit=Explicit(R=motion.by_states.get(n, {})))
    for n, j in enumerate(columns.prescribed, at["a"].start):
        yield n, response(m, da={j: _ONE})
    for n, own in zip(columns.explicit(), explicit, strict=True):
        yield n, response(m, explicit=own)


def _matrix(columns: Mapping[int, Column], rows: int, count: int) -> ca.SX:
    """Return sparse columns as a matrix, put together at once: entry by entry would take long."""
    places = [(i, n) for n in sorted(columns) for i in sorted(columns[n])]
    values = ca.SX(ca.vertcat(ca.SX(0, 1), *(columns[n][i] for i, n in places)))
    return ca.SX(ca.Sparsity.triplet(rows, count, [i for i, _ in places], [n for _, n in places]), values)


def guarded(
    eq: Equations, request: Request, x: Symbols, motion: SolvedMotion | None, follower: Follower, result: ca.SX
) -> ca.SX:
    """Return derivatives that are not finite where their equations cannot be trusted, or the state is not closed."""
    if not eq.closed:
        return result
    walk = loop_equations.prepared(eq, request, x).walk if motion else eq.walk(x)
    pivots = follower.factors.pivots
    solution = motion.solution if motion and motion.solution else Solution(result, list, pivots)
    result = guard_solution(eq, request, x, walk, result, solution)
    if follower.position_factors is not follower.factors:
        result = guard_pivots(eq, x, result, follower.position_factors.pivots)
    return result
