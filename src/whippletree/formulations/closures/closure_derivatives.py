"""How the velocities and accelerations that closures watch change with the state.

A closure's phi' and phi'' are small expressions of frames, coordinates and rates (`elements.closures.base`), and so are
the velocities and accelerations of a cut joint. CasADi differentiates each by itself, in symbols of its own; the
frames' changes for a displacement or a velocity of a joint on the way to them are known (`View.frame_changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Rows, Side, joint_rates
from whippletree.formulations.closures.closure_frames import ClosureAttachment, CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.nodes.frame_states import FrameState, NodeFrame, Turn
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.applied_derivatives import view_from
from whippletree.spatial import skew
from whippletree.symbolic.sparse_factors import Column

__all__ = ["RowSlopes", "closure_row_slopes", "cut_row_slopes"]

RowsAt = Callable[[tuple[Side, ...], ca.SX, ca.SX], Rows]
"""The rows of a closure or of a cut joint's rates, from sides, coordinates and rates."""


class RowSlopes(NamedTuple):
    """Slopes of rows: of their rate for displacements, and of their second derivative for displacements and velocities.

    Each holds columns by the freedom that is displaced or moves, with entries by row. Accelerations are kept.
    """

    rate_q: dict[int, Column]
    second_q: dict[int, Column]
    second_v: dict[int, Column]

    @staticmethod
    def none() -> RowSlopes:
        """Return no slopes.

        >>> RowSlopes.none().rate_q
        {}
        """
        return RowSlopes({}, {}, {})


class _SeenRows(NamedTuple):
    """Rows at a state: their frames, the coordinates with their rates and accelerations, and the places of these.

    `along` are the rates of the coordinates for displacements, if they are not one.
    """

    base: int
    turn: Turn
    frames: tuple[NodeFrame, ...]
    states: tuple[FrameState, ...]
    q: ca.SX
    v: ca.SX
    a: ca.SX
    places: tuple[int, ...]
    along: ca.SX | None


def closure_row_slopes(walk: Unrolled, closure_set: ClosureSet, a: ca.SX) -> RowSlopes:
    """Return the slopes of the kept rows, numbered through; the walk has accelerations, and `a` those of all joints."""
    slopes, first = RowSlopes.none(), 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        if keep:

            def rows(sides: tuple[Side, ...], q: ca.SX, v: ca.SX, f: ClosureAttachment = attachment) -> Rows:
                return f.closure.rows(sides, q, v, closure_set.t)

            seen = _seen_closure(walk, closure_set, attachment, a)
            _add_slopes(walk, slopes, seen, rows, keep, range(first, first + len(keep)))
        first += len(keep)
    return slopes


def cut_row_slopes(walk: Unrolled, closure_set: ClosureSet) -> RowSlopes:
    """Return the slopes of the cut joints' velocities and accelerations, by their places in v."""
    slopes = RowSlopes.none()
    for cut in closure_set.attachments.cuts:
        if cut.joint.nv:

            def rows(sides: tuple[Side, ...], q: ca.SX, v: ca.SX, one: CutJoint = cut) -> Rows:
                return joint_rates(one.joint, one.joint.configuration(q), v, sides)

            places = range(cut.v.start, cut.v.stop)
            seen = _seen_cut(walk, closure_set, cut)
            _add_slopes(walk, slopes, seen, rows, range(cut.joint.nv), places)
    return slopes


def _seen_closure(walk: Unrolled, closure_set: ClosureSet, f: ClosureAttachment, a: ca.SX) -> _SeenRows:
    states = closure_set.frame_states(walk, f)
    q, v, _ = closure_set.coordinates(f)
    if f.own is None:
        places = tuple(c.v for c in f.coordinates)
        rates = ca.SX(ca.vertcat(ca.SX(0, 1), *(a[i] for i in places)))
        return _SeenRows(f.base, f.turn, f.frames, states, q, v, rates, places, None)
    cut = closure_set.attachments.cuts[f.own]
    places = tuple(range(cut.v.start, cut.v.stop))
    return _SeenRows(f.base, f.turn, f.frames, states, q, v, ca.SX(0, 1), places, cut.joint.rate_map(q))


def _seen_cut(walk: Unrolled, closure_set: ClosureSet, cut: CutJoint) -> _SeenRows:
    q, v = closure_set.q[cut.q, :], closure_set.v[cut.v, :]
    places, along = tuple(range(cut.v.start, cut.v.stop)), cut.joint.rate_map(q)
    states = closure_set.frame_states(walk, cut)
    return _SeenRows(cut.base, cut.turn, cut.frames, states, q, v, ca.SX(0, 1), places, along)


def _add_slopes(
    walk: Unrolled, slopes: RowSlopes, seen: _SeenRows, rows: RowsAt, keep: Sequence[int], places: Sequence[int]
) -> None:
    """Add the slopes of the kept rows of one closure, or of one cut joint; `places` numbers them."""
    m, slope = len(keep), _differentiated(seen, rows, keep)
    view = view_from(walk, seen.base, seen.turn)
    for g, frame in enumerate(seen.frames):
        if frame.node < 0 or frame.node == seen.base:
            continue
        part = slope[:, 18 * g : 18 * g + 18]
        for j, moved, rates in view.frame_changes(frame):
            change = part @ moved
            _add_column(slopes.rate_q, j, change[:m], places)
            _add_column(slopes.second_q, j, change[m:], places)
            _add_column(slopes.second_v, j, (part @ rates)[m:], places)
    at = 18 * len(seen.frames)
    for i, place in enumerate(seen.places):
        _add_column(slopes.rate_q, place, slope[:m, at + i], places)
        _add_column(slopes.second_q, place, slope[m:, at + i], places)
        _add_column(slopes.second_v, place, slope[m:, at + len(seen.places) + i], places)


def _add_column(columns: dict[int, Column], j: int, change: ca.SX, places: Sequence[int]) -> None:
    own: Column = {}
    for i, place in enumerate(places):
        if not change[i].is_zero():
            own[place] = change[i]
    if own:
        column = columns.setdefault(j, {})
        for place, value in own.items():
            column[place] = column[place] + value if place in column else value


def _differentiated(seen: _SeenRows, rows: RowsAt, keep: Sequence[int]) -> ca.SX:
    """Differentiate phi' and phi'': by each frame's 18 numbers, then by coordinates (for displacements) and rates."""
    sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(x, 3) for x in "pwu")) for _ in seen.frames)
    alphas = tuple(ca.SX.sym("alpha", 6) for _ in seen.frames)
    q, v, a = (ca.SX.sym(name, x.shape[0]) for name, x in (("q", seen.q), ("v", seen.v), ("a", seen.a)))
    value = _motion(rows(sides, q, v), sides, alphas, v, a, list(keep))
    blocks: list[ca.SX] = []
    for side, alpha in zip(sides, alphas, strict=True):
        turned = ca.horzcat(*(ca.vec(skew(ca.SX.eye(3)[:, k]) @ side.R) for k in range(3)))
        blocks.append(ca.jacobian(value, ca.vec(side.R)) @ turned)
        blocks += [ca.jacobian(value, x) for x in (side.p, side.w, side.u, alpha)]
    by_q = ca.jacobian(value, q)
    blocks += [by_q if seen.along is None else by_q @ seen.along, ca.jacobian(value, v)]
    symbols, actual = [q, v, a], [seen.q, seen.v, seen.a]
    for side, alpha, state in zip(sides, alphas, seen.states, strict=True):
        symbols += [ca.vec(side.R), side.p, side.w, side.u, alpha]
        actual += [ca.vec(state.side.R), state.side.p, state.side.w, state.side.u, state.acceleration]
    slope = ca.substitute(ca.horzcat(*blocks), ca.vertcat(*symbols), ca.densify(ca.vertcat(*actual)))
    return ca.sparsify(slope)


def _motion(found: Rows, sides: Sequence[Side], alphas: Sequence[ca.SX], v: ca.SX, a: ca.SX, keep: list[int]) -> ca.SX:
    """Return phi' and phi'' of the kept rows."""
    rate, second = found.drift, found.bias
    if found.K.shape[1]:
        rate, second = rate + found.K @ v, second + found.K @ a
    for D, side, alpha in zip(found.D, sides, alphas, strict=True):
        rate, second = rate + D @ ca.vertcat(side.w, side.u), second + D @ alpha
    return ca.SX(ca.vertcat(rate[keep, :], second[keep, :]))
