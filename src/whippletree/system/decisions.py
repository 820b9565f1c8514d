"""The decisions of a plan: the kept rows, the independent freedoms, and the order of elimination.

A partition that is good at one configuration may be poor a little further on, though the mechanism is regular. So the
mechanism is moved from there, both ways, and if the smallest pivot becomes poor on the way, a partition is looked for
that stays good (`robust`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from whippletree.errors import TopologyError
from whippletree.formulations.closures.partition import Choice
from whippletree.kernels.kernel import Array
from whippletree.spatial.scales import scale_of
from whippletree.system.assembly import Assembler
from whippletree.system.closure_numbers import ClosureNumbers, Indices
from whippletree.system.loop_plan import Conditions, KeptRows
from whippletree.system.ranks import choose_columns, choose_held_rows, choose_pivots, choose_rows, pivots_met, rank_of
from whippletree.system.sparse_assembly import sparse_partition
from whippletree.system.tolerances import (
    CLEARLY_BETTER,
    FINEST_GRID,
    MOST_DIRECTIONS,
    NEARLY_CLOSED,
    REGULAR,
    SAME_PIVOT,
    STAYS_GOOD,
    STRIDE,
    STRIDE_CORRECTIONS,
    STRIDES,
    ZERO_ROW,
)

__all__ = ["Decision", "alternatives", "decide", "on_grid", "positional_choice", "robust", "smallest_pivot"]


class Decision(NamedTuple):
    """The rows to be used of each closure, the partition of the freedoms, and where that was decided."""

    kept_rows: KeptRows
    partition: Choice
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

    They are chosen for the worst of that configuration and those in `also`. Freedoms that are `wanted` depend on the
    others, as far as they can.
    """
    cut, free = numbers.cut_freedoms, numbers.free_freedoms
    C = np.stack([numbers.scaled_tree_rows(at, *where) for at in (q, *also)])
    scaled = _scaled(C, max(ZERO_ROW, numbers.negligible))
    driven = sum(numbers.equations.prescribed_mask[i] for i in cut)
    whole = full - len(cut) + driven  # each freedom of a cut joint takes up one of its six rows, unless it is driven
    rank = whole
    if any(numbers.equations.prescribed_mask) and rank_of(scaled[0][:, free]) < whole:
        names = ", ".join(f'"{use.name}"' for use in numbers.description.joints if use.prescribed)
        raise TopologyError(
            f"the prescribed joints {names} are not independent of each other: the loops allow fewer motions; "
            f"prescribe fewer joints"
        )
    if also:
        dependent = _robust_dependents(scaled, free, rank, wanted)
        rows = _rows(numbers, scaled[:, :, dependent], rank)
    else:
        rows = _rows(numbers, (C if by_size else scaled)[:, :, free], rank)
        first = [n for n, i in enumerate(free) if i in wanted]
        dependent = free[choose_columns(scaled[:, rows][:, :, free], rank, first)]
    pivots = choose_pivots(scaled[:, rows][:, :, dependent], numbers.tree_pattern[np.ix_(rows, dependent)])
    independent = tuple(int(i) for i in free if i not in set(dependent.tolist()))
    partition = Choice(independent, tuple((r, int(dependent[c])) for r, c in pivots))
    return Decision(_by_closure(numbers, rows.tolist()), partition, q)


def _rows(numbers: ClosureNumbers, C: Array, rank: int) -> Indices:
    """Return as many of the tree's rows as determine the others, those on positions before those on velocities."""
    return np.array(choose_held_rows(C, rank, numbers.tree_positional, numbers.negligible), dtype=int)


def _robust_dependents(C: Array, free: Indices, rank: int, wanted: frozenset[int]) -> Indices:
    """Return freedoms that others can determine at several configurations: those that move least in some motion."""
    motions = np.linalg.svd(C[:, :, free])[2][:, rank:].swapaxes(1, 2)
    others = [n for n, i in enumerate(free) if i not in wanted] if wanted else []
    independent = choose_rows(motions, len(free) - rank, others)
    return np.delete(free, independent)


def alternatives(numbers: ClosureNumbers, q: Array, where: Conditions, mobility: int) -> list[Decision]:
    """Return decisions at a closed configuration that heed no wish for dependent freedoms.

    The second one takes rows as long as they are. Rows of unit length show their directions only: of two redundant rods
    the one at its dead position is as good as the other, though nearly nothing is left of its row.
    """
    if numbers.families is not None:
        return [Decision(*sparse_partition(numbers, q, where, frozenset()), q)]
    full = numbers.plan.nv - mobility
    return [decide(numbers, q, where, full), decide(numbers, q, where, full, by_size=True)]


def robust(
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
    path = _path(assembler, decision.q, where, full)
    for only_down in (False, True):
        if only_down:
            top = height(decision.q)
            path = [q for q in path if height(q) < top]
        before, here = _worst(numbers, decision, path, where)
        if before >= STAYS_GOOD * here:
            return decision
        try:
            other = decide(numbers, decision.q, where, full, wanted, also=path)
        except np.linalg.LinAlgError:  # no order of elimination goes everywhere
            continue
        after, there = _worst(numbers, other, path, where)
        as_wanted = wanted.isdisjoint(set(other.partition.independent) - set(decision.partition.independent))
        if as_wanted and after >= CLEARLY_BETTER * before and after > 0.0 and there * CLEARLY_BETTER >= here:
            return other
    return decision


def on_grid(numbers: ClosureNumbers, decision: Decision, where: Conditions) -> Decision:
    """Return a decision made on a grid, as coarse as it may be: runs that come nearly the same way share its code.

    Pivots are watched by what they are where a decision was made, so they must be about as large on the grid.
    """
    q = decision.q
    here = _pivots(numbers, decision, q, where)
    for halvings in range(1, FINEST_GRID):
        grid = 0.5**halvings * numbers.column_scale
        there = np.rint(q / grid) * grid
        share = _pivots(numbers, decision, there, where) / here
        if (share > 1 / SAME_PIVOT).all() and (share < SAME_PIVOT).all():
            return decision._replace(q=there)
    return decision


def positional_choice(numbers: ClosureNumbers, decision: Decision, rows: Indices, where: Conditions) -> Choice:
    """Return the partition by some of the kept rows; its dependent freedoms are among those of the decision."""
    kept = np.array(numbers.closure_set.attachments.places(decision.kept_rows), dtype=int)[rows]
    dependent = np.array(sorted(column for _, column in decision.partition.pivots), dtype=int)
    C = _scaled(numbers.scaled_tree_rows(decision.q, *where)[None], ZERO_ROW)[:, kept]
    dependent = dependent[choose_columns(C[:, :, dependent], len(rows))]
    pivots = choose_pivots(C[:, :, dependent], numbers.tree_pattern[np.ix_(kept, dependent)])
    left = {column for _, column in decision.partition.pivots} - set(dependent.tolist())
    independent = tuple(sorted({*decision.partition.independent, *left}))
    return Choice(independent, tuple((int(rows[r]), int(dependent[c])) for r, c in pivots))


def smallest_pivot(numbers: ClosureNumbers, decision: Decision, q: Array, where: Conditions) -> float:
    """Return the smallest pivot that a decision meets at a configuration, scaled."""
    return float(np.abs(_pivots(numbers, decision, q, where)).min(initial=np.inf))


def _worst(
    numbers: ClosureNumbers, decision: Decision, path: Sequence[Array], where: Conditions
) -> tuple[float, float]:
    """Return the smallest pivot on a path, zero if one changes its sign, and that at its start."""
    met = np.array([_pivots(numbers, decision, q, where) for q in (decision.q, *path)])
    least = np.abs(met).min(axis=1, initial=np.inf)
    return (float(least.min()) if (met * met[0] > 0).all() else 0.0), float(least[0])


def _pivots(numbers: ClosureNumbers, decision: Decision, q: Array, where: Conditions) -> Array:
    """Return the pivots that a decision meets at a configuration, scaled, in their order."""
    rows = numbers.closure_set.attachments.places(decision.kept_rows)
    return pivots_met(numbers.scaled_tree_rows(q, *where)[rows], decision.partition.pivots)


def _path(assembler: Assembler, q: Array, where: Conditions, full: int) -> list[Array]:
    """Return configurations along motions from one, both ways."""
    motions = _motions(assembler.numbers.full_rows(q, *where)[0], full)
    if motions is None:
        return []
    rng = np.random.default_rng(1)
    count = min(motions.shape[1], MOST_DIRECTIONS)
    directions = [motions @ rng.normal(size=motions.shape[1]) for _ in range(count)]
    found: list[Array] = []
    for direction in [sign * along for along in directions for sign in (1.0, -1.0)]:
        found += _strides(assembler, q, direction, where, full, STRIDES // (2 * count))
    return found


def _strides(assembler: Assembler, q: Array, direction: Array, where: Conditions, full: int, count: int) -> list[Array]:
    """Return configurations that follow each other in a direction, as long as they are regular and can be closed."""
    found: list[Array] = []
    for _ in range(count):
        step = direction * (STRIDE / scale_of(direction))
        q = assembler.space.integrate(q, step * assembler.numbers.column_scale)
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
    for _ in range(STRIDE_CORRECTIONS):
        G, r = numbers.full_rows(q, *where)[0], numbers.residual(q, *where)
        if not (np.isfinite(G).all() and np.isfinite(r).all()):
            return None
        if np.abs(r).max(initial=0.0) < NEARLY_CLOSED:
            return q, G
        step = np.linalg.lstsq(G[numbers.positional], -r[numbers.positional], rcond=None)[0]
        if np.abs(step).max(initial=0.0) > STRIDE:
            return None
        q = assembler.space.integrate(q, step * numbers.column_scale)
    return None


def _motions(G: Array, full: int) -> Array | None:
    """Return a basis of the motions that the rows allow; None if there are none, or the rows are nearly singular."""
    if not 0 < full < G.shape[1]:
        return None
    _, s, Vt = np.linalg.svd(G)
    return np.ascontiguousarray(Vt[full:].T) if s[full - 1] >= REGULAR * s[0] else None


def _scaled(C: Array, least: float) -> Array:
    """Return rows of unit length; those shorter than the share `least` of the longest stay next to nothing."""
    size: Array = np.sqrt(np.einsum("nij,nij->ni", C, C))
    size = np.maximum(size, least * size.max(axis=1, keepdims=True, initial=0.0))
    return np.asarray(C / np.where(size > 0, size, 1.0)[:, :, None])


def _by_closure(numbers: ClosureNumbers, rows: list[int]) -> KeptRows:
    keep, start = [], 0
    for attachment in numbers.closure_set.attachments.all:
        n = attachment.closure.n_rows
        keep.append(tuple(r - start for r in rows if start <= r < start + n))
        start += n
    return tuple(keep)
