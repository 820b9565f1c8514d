"""The numeric plan of the loops: which rows are used, which freedoms are independent, and the order of elimination.

A plan that is good at one configuration may be poor a little further on, though the mechanism is regular. So the
mechanism is moved from there, both ways, and if the plan becomes poor on the way, one is looked for that stays good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whippletree.errors import TopologyError
from whippletree.formulations.closures.partition import Choice
from whippletree.kernels.kernel import Array
from whippletree.system.assembly import Assembler, Conditions
from whippletree.system.closures import ClosureNumbers, Keep
from whippletree.system.many_loops import decide_many
from whippletree.system.ranks import choose_columns, choose_pivots, choose_rows, pivots_met, rank_of

__all__ = ["CLEARLY", "Decision", "alternatives", "decide", "lasting", "on_grid", "smallest"]

Indices = npt.NDArray[np.int_]

CLEARLY = 3.0
"""A plan is clearly better than another one if its smallest pivot is so many times as large."""

_STRIDE = 0.3  # radians or characteristic lengths
_STRIDES = 24  # in all: what one freedom goes both ways is more than a turn
_MOST_WAYS = 3  # so many directions are tried if there are more freedoms
_REGULAR = 0.05  # the smallest singular value, as a share of the largest, from which on a configuration counts
_CORRECTIONS = 4  # by Newton's method, in a stride
_NEARLY = 1e-3  # the largest scaled residual that is as good as none here
_ALIKE = 1.25  # how many times as large a pivot may be on a grid
_FINEST = 12  # that grid: so often half a radian or a characteristic length are halved
_STAYS = 0.1  # share of its smallest pivot that a plan may lose on the way


class Decision(NamedTuple):
    """The rows to be used of each closure, the independent freedoms, and the configuration where that was decided."""

    keep: Keep
    choice: Choice
    q: Array


def decide(
    numbers: ClosureNumbers,
    q: Array,
    where: Conditions,
    full: int,
    wanted: frozenset[int] = frozenset(),
    *,
    also: Sequence[Array] = (),
    by_size: bool = False,
) -> Decision:
    """Choose the rows and the independent freedoms at a configuration; `full` is the rank of the full set of rows.

    The choice is one for the worst of that configuration and those in `also`. Freedoms that are `wanted` depend on the
    others, as far as they can.
    """
    plan = numbers.plan
    cut = {i for c in numbers.closure_set.attachments.cuts for i in range(c.v.start, c.v.stop)}
    columns = np.array([i for i in range(plan.nv) if i not in cut], dtype=int)
    free = np.array([i for i in columns if not numbers.equations.prescribed_mask[i]], dtype=int)
    C = np.stack([_rows(numbers, at, where) for at in (q, *also)])
    scaled = _scaled(C)
    driven = sum(numbers.equations.prescribed_mask[i] for i in cut)
    whole = full - len(cut) + driven  # each freedom of a cut joint takes up one of its six rows, unless it is driven
    rank = min(whole, rank_of(scaled[0][:, free]))
    if rank < whole:
        names = ", ".join(f'"{use.name}"' for use in numbers.description.joints if use.prescribed)
        raise TopologyError(
            f"the prescribed joints {names} are not independent of each other: the loops allow fewer motions; "
            f"prescribe fewer joints"
        )
    if also:
        dependent = _lasting_dependents(scaled, free, rank, wanted)
        rows = np.array(choose_rows(scaled[:, :, dependent], rank), dtype=int)
    else:
        rows = np.array(choose_rows((C if by_size else scaled)[:, :, free], rank), dtype=int)
        first = [n for n, i in enumerate(free) if i in wanted]
        dependent = free[choose_columns(scaled[:, rows][:, :, free], rank, first)]
    pivots = choose_pivots(scaled[:, rows][:, :, dependent], numbers.tree_pattern[np.ix_(rows, dependent)])
    independent = tuple(int(i) for i in free if i not in set(dependent.tolist()))
    choice = Choice(independent, tuple((r, int(dependent[c])) for r, c in pivots))
    return Decision(_by_closure(numbers, rows.tolist()), choice, q)


def _lasting_dependents(C: Array, free: Indices, rank: int, wanted: frozenset[int]) -> Indices:
    """Return freedoms that others can determine at several configurations: those that move least in some motion."""
    motions = np.linalg.svd(C[:, :, free])[2][:, rank:].swapaxes(1, 2)
    others = [n for n, i in enumerate(free) if i not in wanted] if wanted else []
    independent = choose_rows(motions, len(free) - rank, others)
    return np.delete(free, independent)


def alternatives(numbers: ClosureNumbers, q: Array, where: Conditions, mobility: int) -> list[Decision]:
    """Return decisions at a closed configuration that follow no wish.

    The second one takes rows as long as they are. Rows of unit length show their directions only: of two redundant rods
    the one at its dead position is as good as the other, though nearly nothing is left of its row.
    """
    if numbers.kinds is not None:
        return [Decision(*decide_many(numbers, q, frozenset()), q)]
    full = numbers.plan.nv - mobility
    return [decide(numbers, q, where, full), decide(numbers, q, where, full, by_size=True)]


def lasting(
    assembler: Assembler,
    decision: Decision,
    where: Conditions,
    full: int,
    wanted: frozenset[int],
    height: Callable[[Array], float],
) -> Decision:
    """Return a decision that stays good where the mechanism moves from there, if the given one does not.

    If none stays good both ways, it is where the mechanism falls to by its weight: `height` is its potential energy.
    """
    numbers = assembler.numbers
    way = _way(assembler, decision.q, where, full)
    for only_down in (False, True):
        if only_down:
            top = height(decision.q)
            way = [q for q in way if height(q) < top]
        before, here = _worst(numbers, decision, way, where)
        if before >= _STAYS * here:
            return decision
        try:
            other = decide(numbers, decision.q, where, full, wanted, also=way)
        except np.linalg.LinAlgError:  # no order of elimination goes everywhere
            continue
        after, there = _worst(numbers, other, way, where)
        as_wanted = wanted.isdisjoint(set(other.choice.independent) - set(decision.choice.independent))
        if as_wanted and after >= CLEARLY * before and after > 0.0 and there * CLEARLY >= here:
            return other
    return decision


def on_grid(numbers: ClosureNumbers, decision: Decision, where: Conditions) -> Decision:
    """Return a decision made on a grid, as coarse as it may be: runs that come nearly the same way share its code.

    Pivots are watched by what they are where a decision was made, so they must be about as large on the grid.
    """
    keep, choice, q = decision
    here = _met(numbers, keep, choice, q, where)
    for halvings in range(1, _FINEST):
        grid = 0.5**halvings * numbers.column_scale
        there = np.rint(q / grid) * grid
        share = _met(numbers, keep, choice, there, where) / here
        if (share > 1 / _ALIKE).all() and (share < _ALIKE).all():
            return decision._replace(q=there)
    return decision


def smallest(numbers: ClosureNumbers, keep: Keep, choice: Choice, q: Array, where: Conditions) -> float:
    """Return the smallest pivot that a choice of rows and freedoms meets at a configuration, scaled."""
    return float(np.abs(_met(numbers, keep, choice, q, where)).min(initial=np.inf))


def _worst(numbers: ClosureNumbers, decision: Decision, way: Sequence[Array], where: Conditions) -> tuple[float, float]:
    """Return the smallest pivot that a decision meets on a way, zero if one changes its sign, and that at its start."""
    keep, choice, here = decision
    met = np.array([_met(numbers, keep, choice, q, where) for q in (here, *way)])
    least = np.abs(met).min(axis=1, initial=np.inf)
    return (float(least.min()) if (met * met[0] > 0).all() else 0.0), float(least[0])


def _met(numbers: ClosureNumbers, keep: Keep, choice: Choice, q: Array, where: Conditions) -> Array:
    return pivots_met(_rows(numbers, q, where)[numbers.equations.attachments().places(keep)], choice.pivots)


def _way(assembler: Assembler, q: Array, where: Conditions, full: int) -> list[Array]:
    """Return configurations along motions from one, both ways."""
    motions = _motions(assembler.numbers.full_rows(q, *where)[0], full)
    if motions is None:
        return []
    rng = np.random.default_rng(1)
    ways = [motions @ rng.normal(size=motions.shape[1]) for _ in range(min(motions.shape[1], _MOST_WAYS))]
    found: list[Array] = []
    for direction in [sign * way for way in ways for sign in (1.0, -1.0)]:
        found += _strides(assembler, q, direction, where, full, _STRIDES // (2 * len(ways)))
    return found


def _strides(assembler: Assembler, q: Array, direction: Array, where: Conditions, full: int, count: int) -> list[Array]:
    """Return configurations that follow each other in a direction, as long as they are regular and can be closed."""
    found: list[Array] = []
    for _ in range(count):
        step = direction * (_STRIDE / max(float(np.abs(direction).max(initial=0.0)), 1e-300))
        q = assembler.integrate(q, step * assembler.numbers.column_scale)
        closed = _nearly_closed(assembler, q, where)
        motions = None if closed is None else _motions(closed[1], full)
        if closed is None or motions is None:
            break
        q = closed[0]
        direction = motions @ (motions.T @ direction)
        found.append(q)
    return found


def _nearly_closed(assembler: Assembler, q: Array, where: Conditions) -> tuple[Array, Array] | None:
    """Return a configuration near to one that is as good as closed, and the rows there; None if that is not near."""
    numbers = assembler.numbers
    for _ in range(_CORRECTIONS):
        G, r = numbers.full_rows(q, *where)[0], numbers.residual(q, *where)
        if not (np.isfinite(G).all() and np.isfinite(r).all()):
            return None
        if np.abs(r).max(initial=0.0) < _NEARLY:
            return q, G
        step = np.linalg.lstsq(G[numbers.positional], -r[numbers.positional], rcond=None)[0]
        if np.abs(step).max(initial=0.0) > _STRIDE:
            return None
        q = assembler.integrate(q, step * numbers.column_scale)
    return None


def _motions(G: Array, full: int) -> Array | None:
    """Return a basis of the motions that the rows allow; None if there are none, or the rows are nearly singular."""
    if not 0 < full < G.shape[1]:
        return None
    _, s, Vt = np.linalg.svd(G)
    return np.ascontiguousarray(Vt[full:].T) if s[full - 1] >= _REGULAR * s[0] else None


def _rows(numbers: ClosureNumbers, q: Array, where: Conditions) -> Array:
    return np.asarray(numbers.tree_rows(q, *where) * numbers.column_scale)


def _scaled(C: Array) -> Array:
    """Return rows of unit length; those that are nothing but rounding stay next to nothing."""
    size: npt.NDArray[np.float64] = np.sqrt(np.einsum("nij,nij->ni", C, C))
    size = np.maximum(size, 1e-6 * size.max(axis=1, keepdims=True, initial=0.0))
    return np.asarray(C / np.where(size > 0, size, 1.0)[:, :, None])


def _by_closure(numbers: ClosureNumbers, rows: list[int]) -> Keep:
    keep, start = [], 0
    for attachment in numbers.closure_set.attachments.all:
        n = attachment.closure.n_rows
        keep.append(tuple(r - start for r in rows if start <= r < start + n))
        start += n
    return tuple(keep)
