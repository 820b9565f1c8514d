"""Derivatives of a mechanism's motion in minimal coordinates: displacements, velocities and accelerations that follow.

Joints are independent, dependent, prescribed or cut. When the independent and prescribed ones change, the others follow
so that the closures stay closed. On three levels, for a change of position, velocity and acceleration,

    C dq = -dphi              G dq + dg    = dq of cut joints                              (1)
    C dv = -dphi'             G dv + dg'   = dv of cut joints                              (2)
    C da = -dphi''            G da + dg''  = da of cut joints                              (3)

with C the kept rows on the tree's joints, G the rates of cut joints, dphi what comes of time and parameters alone,
dphi' what besides comes of the displacement dq, and dphi'' of dq and dv. Velocity-only closures have no part in (1): so
there may be more independent displacements than velocities.

The residual of the tree's equations with accelerations a and multipliers kept, R = ID(q, v, a) - forces - C^T lambda,
changes by dR. With da = B da_i + D, B the motions that the closures allow and D what of (3) is dependent,

    B^T M B da_i = -B^T (dR + M D)                                                          (4)

since B^T C^T = 0: the multipliers' changes leave. For unit efforts, dR is minus one at their joints, and with the rows
of cut joints in B, da = B (B^T M B)^-1 B^T. The multipliers' changes follow from the dependent rows,

    C_d^T dlambda = (M da + dR)_d                                                           (5)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_derivatives import RowSlopes
from whippletree.formulations.closures.partition import Choice
from whippletree.formulations.recursions.inverse_dynamics_derivatives import Matrix
from whippletree.symbolic.arithmetic import plus, times
from whippletree.symbolic.sparse_factors import Column, SparseLU, SymmetricFactor, add_to, factor_lu

__all__ = [
    "ClosureRows",
    "Explicit",
    "Follower",
    "Mechanics",
    "Response",
    "Slopes",
    "by_column",
    "combined",
    "effort_responses",
    "following",
    "motions",
    "multiplier_changes",
    "reduced_mass",
    "response",
]


class ClosureRows(NamedTuple):
    """The closures' rows at a state: C on the tree's joints, and G of cut joints by place in v, with their structure.

    `on_cuts` holds for each row its entries on cut joints' rates, `driven` the row that drives a prescribed cut joint's
    freedom, by its place in v.
    """

    C: list[Column]
    G: dict[int, Column]
    on_cuts: dict[int, Column]
    driven: dict[int, int]


class Explicit(NamedTuple):
    """The explicit effects of time or a parameter, the state kept: phi, phi', phi'' by row, and the same of cut joints
    by place in v; and R by freedom."""

    phi: tuple[Column, Column, Column] = ({}, {}, {})
    cut: tuple[Column, Column, Column] = ({}, {}, {})
    R: Mapping[int, ca.SX] = MappingProxyType({})


_ONE = ca.SX(1)
_NOTHING: Column = {}
_BY_ITSELF = Explicit()


class Slopes(NamedTuple):
    """Slopes with accelerations and multipliers kept: of R by displacements and velocities, and of the rows."""

    R_q: dict[int, Column]
    R_v: dict[int, Column]
    closures: RowSlopes
    cuts: RowSlopes


class Follower:
    """Lets the other joints follow the independent and prescribed ones, on each level of (1)-(3).

    `positions` and `velocities` are the partitions of the freedoms; `positional` says which rows are of positions.
    """

    def __init__(self, rows: ClosureRows, positions: Choice, velocities: Choice, positional: Sequence[bool]) -> None:
        self.rows = rows
        self.factors = _factored(rows.C, velocities)
        same = positions == velocities
        self.position_factors = self.factors if same else _factored(rows.C, positions)
        self.positional = frozenset(r for r, one in enumerate(positional) if one)
        self._driver = {row: place for place, row in rows.driven.items()}

    def position(self, given: Column, change: Column, at_cuts: Column) -> Column:
        """Return the displacements of all joints (1)."""
        return self._follow(self.position_factors, given, change, at_cuts, self.positional)

    def velocity(self, given: Column, change: Column, at_cuts: Column) -> Column:
        """Return the changes of all joints' velocities (2), or accelerations (3)."""
        return self._follow(self.factors, given, change, at_cuts, None)

    def _follow(
        self, factors: SparseLU, given: Column, change: Column, at_cuts: Column, some: frozenset[int] | None
    ) -> Column:
        right: Column = {}
        for r, row in enumerate(self.rows.C):
            if some is not None and r not in some:
                continue
            total: Column = {}
            if r in change:
                add_to(total, 0, -change[r])
            for j, value in given.items():
                if j in row:
                    add_to(total, 0, -times(row[j], value))
            for c, entry in self.rows.on_cuts.get(r, {}).items():
                if c in at_cuts:
                    add_to(total, 0, -times(entry, at_cuts[c]))
            if self._driver.get(r) in given:
                add_to(total, 0, given[self._driver[r]])
            if total:
                right[r] = total[0]
        found = {**given, **factors.solve(right)}
        for c, row in self.rows.G.items():
            if c not in self.rows.driven:
                follows = _dot(row, found)
                if c in at_cuts:
                    follows = at_cuts[c] if follows is None else plus(follows, at_cuts[c])
                if follows is not None:
                    found[c] = follows
        return found


def _factored(C: Sequence[Column], choice: Choice) -> SparseLU:
    dependent = {column for _, column in choice.pivots}
    used = {row for row, _ in choice.pivots}
    return factor_lu({r: {j: x for j, x in C[r].items() if j in dependent} for r in sorted(used)}, choice.pivots)


def _dot(row: Mapping[int, ca.SX], column: Column) -> ca.SX | None:
    """Return the product of a sparse row and a column, or None if they have nothing in common."""
    total: ca.SX | None = None
    for j, value in row.items():
        if j in column:
            part = times(value, column[j])
            total = part if total is None else plus(total, part)
    return total


def by_column(entries: Matrix, minus: Matrix | None = None) -> dict[int, Column]:
    """Return the entries of a matrix, less those of another one, as columns.

    >>> by_column({(0, 1): ca.SX(5)}, {(0, 1): ca.SX(2), (1, 1): ca.SX(3)})
    {1: {0: SX(3), 1: SX(-3)}}
    """
    columns: dict[int, Column] = {}
    for (i, j), value in entries.items():
        columns.setdefault(j, {})[i] = value
    for (i, j), value in (minus or {}).items():
        add_to(columns.setdefault(j, {}), i, -value)
    return columns


def combined(columns: Mapping[int, Column], weights: Column, into: Column | None = None) -> Column:
    """Return the sum of columns times weights.

    >>> combined({0: {5: ca.SX(2)}, 1: {5: ca.SX(3)}}, {0: ca.SX(1), 1: ca.SX(10)})
    {5: SX(32)}
    """
    total: Column = {} if into is None else into
    for j, weight in weights.items():
        for i, value in columns.get(j, {}).items():
            part = times(value, weight)
            total[i] = plus(total[i], part) if i in total else part
    return total


def reduced_mass(mass: Mapping[int, Column], basis: Mapping[int, Column]) -> dict[tuple[int, int], ca.SX]:
    """Return B^T M B on and below the diagonal; both are given by columns, those of B by independent freedom."""
    found: dict[tuple[int, int], ca.SX] = {}
    for j, motion in basis.items():
        force = combined(mass, motion)
        for i, other in basis.items():
            if i >= j:
                value = _dot(other, force)
                if value is not None:
                    found[i, j] = value
    return found


class Mechanics(NamedTuple):
    """The parts of (4): the follower, slopes, M by columns, the motions B by independent freedom, factors."""

    follower: Follower
    slopes: Slopes
    mass: Mapping[int, Column]
    basis: Mapping[int, Column]
    factors: SymmetricFactor


class Response(NamedTuple):
    """The response to one change: all joints' displacements, velocities and accelerations; dR + M D, and da_i."""

    dq: Column
    dv: Column
    da: Column
    unbalanced: Column
    free: Column


def motions(follower: Follower, choice: Choice) -> dict[int, Column]:
    """Return the motions B of all joints, by independent freedom; prescribed joints do not move."""
    return {i: follower.velocity({i: _ONE}, {}, {}) for i in choice.independent}


def following(
    follower: Follower, closures: RowSlopes, cuts: RowSlopes, dq: Column, dv: Column, explicit: Explicit
) -> tuple[Column, Column]:
    """Return the displacements (1) and changes of velocities (2) of all joints."""
    moved = follower.position(dq, explicit.phi[0], explicit.cut[0])
    rate = combined(closures.rate_q, moved, dict(explicit.phi[1]))
    cut_rate = combined(cuts.rate_q, moved, dict(explicit.cut[1]))
    return moved, follower.velocity(dv, rate, cut_rate)


def response(
    m: Mechanics,
    *,
    dq: Column = _NOTHING,
    dv: Column = _NOTHING,
    da: Column = _NOTHING,
    explicit: Explicit = _BY_ITSELF,
) -> Response:
    """Return the response to changes of independent or prescribed displacements, velocities and accelerations, and to
    `explicit` effects.
    """
    slopes = m.slopes
    moved, moving = following(m.follower, slopes.closures, slopes.cuts, dq, dv, explicit)
    second, cut_second = dict(explicit.phi[2]), dict(explicit.cut[2])
    for of_rows, total in ((slopes.closures, second), (slopes.cuts, cut_second)):
        combined(of_rows.second_q, moved, total)
        combined(of_rows.second_v, moving, total)
    driven = m.follower.velocity(da, second, cut_second)
    unbalanced = combined(slopes.R_q, moved, dict(explicit.R))
    combined(slopes.R_v, moving, unbalanced)
    combined(m.mass, driven, unbalanced)
    right: Column = {}
    for i, motion in m.basis.items():
        value = _dot(motion, unbalanced)
        if value is not None:
            right[i] = -value
    free = m.factors.solve(right)
    return Response(moved, moving, combined(m.basis, free, driven), unbalanced, free)


def effort_responses(m: Mechanics) -> dict[int, Column]:
    """Return the accelerations of all joints for a unit effort of each: B (B^T M B)^-1 B^T, which is symmetric."""
    inverse = m.factors.inverse()
    halves = {j: combined(m.basis, column) for j, column in inverse.items()}
    places = sorted({place for motion in m.basis.values() for place in motion})
    by_place = {place: {j: motion[place] for j, motion in m.basis.items() if place in motion} for place in places}
    found: dict[int, Column] = {place: {} for place in places}
    for column in places:
        for row in places:
            if row >= column:
                value = _dot(by_place[column], {j: halves[j][row] for j in by_place[column] if row in halves[j]})
                if value is not None:
                    found[column][row] = found[row][column] = value
    return found


def multiplier_changes(m: Mechanics, change: Response) -> Column:
    """Return the changes of the multipliers by row (5)."""
    force = combined(m.mass, combined(m.basis, change.free), dict(change.unbalanced))
    dependent = {column for _, column in m.follower.factors.places}
    return m.follower.factors.solve_transposed({d: value for d, value in force.items() if d in dependent})
