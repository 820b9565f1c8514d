"""Mobility: Gruebler's count beside the true one, and the redundant rows.

The rank that counts is the generic one: the largest over nearby closed configurations. Where a mechanism is flattened
its local rank is smaller, and dropping a row there would open a loop.

Data are good to some digits only. Axes that are parallel up to these digits make rows that follow from others up to
these digits: their singular values are small, and around the loop they are open by a little wherever it moves. Such
rows are redundant within the accuracy of the data (`ClosureNumbers.accuracy`) if they are never open by more than that
on an excursion along the motions that are left. If they are, they count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from whippletree.foundation.notebook_html import html_list, html_section, html_table
from whippletree.foundation.short_text import readable
from whippletree.kernels.kernel import Array
from whippletree.spatial.scales import scale_of
from whippletree.system.assembly import Assembler, coarser, not_closed
from whippletree.system.closure_numbers import ClosureNumbers, ClosureRow
from whippletree.system.decisions import Decision, decide
from whippletree.system.elimination import eliminate
from whippletree.system.loop_plan import Conditions
from whippletree.system.ranks import choose_independent_rows, null_space, rank_of, ranks_of_blocks, smallest_share
from whippletree.system.sparse_assembly import LazySequence, nearby_closed, sparse_partition
from whippletree.system.tolerances import (
    CLOSED,
    DATA_ACCURACY,
    DOUBTFUL,
    MOBILITY_SAMPLES,
    MOST_DIRECTIONS,
    NEARLY_CLOSED,
    NEARLY_SINGULAR,
    REGULAR,
    ROUNDING,
    SAME_OPENING,
    SAMPLE_DISTANCE,
    STAYS_GOOD,
    STRIDE,
    STRIDES,
)

__all__ = ["Mobility", "Redundancy", "analyse", "disagreement_around", "disagreement_in_words"]


class Redundancy(NamedTuple):
    """An equation that follows from the others: of which joint or closure, in which direction (ground axes).

    `disagreement` is by how much it misses what follows from the others, in radians or metres, at most of what was
    looked at around the configuration: zero but for rounding, unless the data are rounded.
    """

    closure: str
    direction: str
    axis: tuple[float, float, float] | None
    disagreement: float = 0.0

    def __str__(self) -> str:
        text = f'"{self.closure}": {self.direction}'
        if self.axis is not None:
            x, y, z = (round(c, 4) + 0.0 for c in self.axis)
            text += f" of its frame, ({x:g}, {y:g}, {z:g}) in ground axes"
        unit = ClosureRow(self.closure, self.direction, self.direction.startswith("turn")).unit
        return f"{text}; disagrees by {self.disagreement:.2g}{unit}" if self.disagreement else text


@readable
@dataclass(frozen=True)
class Mobility:
    """How a mechanism can move.

    `gruebler` is 6 times the bodies less what every joint and closure takes away; `mobility` is the true number of
    freedoms; `redundant` names equations that follow from the others; `independent` names coordinates that determine
    the motion; `smallest` is the smallest singular value of the closures at the configuration as a share of the
    largest: near zero, the configuration is singular. `own_coordinates` tells how many of the freedoms are own
    coordinates of bodies, whether the closures hold them or not. `disagreement` is by how much the redundant equations
    disagree with the others, in radians and characteristic lengths; it is at most the `accuracy` of the data that the
    system was built with, and zero if they agree but for rounding.
    """

    gruebler: int
    mobility: int
    redundant: Sequence[Redundancy]
    independent: tuple[str, ...]
    smallest: float
    local: int
    own_coordinates: int = 0
    disagreement: float = 0.0
    accuracy: float = DATA_ACCURACY

    @property
    def singular(self) -> bool:
        """Whether the configuration is singular or nearly so."""
        return self.smallest < NEARLY_SINGULAR

    def __str__(self) -> str:
        count = len(self.redundant)
        lines = [
            f"mobility {self.mobility}; Gruebler's count {self.gruebler}; "
            f"{count} redundant equation{'' if count == 1 else 's'}{':' if count else ''}"
        ]
        lines += [f"  {one}" for one in self.redundant]
        lines += [self._disagreement_in_words()] if self.disagreement else []
        if self.own_coordinates:
            lines.append(f"own coordinates of bodies among the freedoms: {self.own_coordinates}")
        lines.append(f"independent coordinates: {', '.join(self.independent) or 'none'}")
        lines += [self._singularity_in_words()] if self.singular else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        counts = [
            ("mobility", self.mobility),
            ("Gruebler's count", self.gruebler),
            ("redundant equations", len(self.redundant)),
            ("independent coordinates", ", ".join(self.independent) or "none"),
            *([("own coordinates of bodies", self.own_coordinates)] if self.own_coordinates else []),
        ]
        notes = [self._singularity_in_words()] if self.singular else []
        notes += [self._disagreement_in_words()] if self.disagreement else []
        redundant = html_section("Redundant equations", html_list(self.redundant)) if self.redundant else ""
        return html_section("Mobility", html_table(counts), redundant, html_list(notes))

    def _disagreement_in_words(self) -> str:
        return (
            f"these disagree with the others by up to {self.disagreement:.2g}, and are redundant within the accuracy "
            f"{self.accuracy:.2g} of the data (radians, characteristic lengths)"
        )

    def _singularity_in_words(self) -> str:
        return (
            f"near a singular configuration: the closures' smallest singular value is {self.smallest:.2g} of the "
            f"largest, and {self.local} motions are possible at first order"
        )


class _Sample(NamedTuple):
    """A configuration, how far it is open, the rows there, the ranks of their blocks, and the smallest share.

    `held` is the rank of the rows on positions.
    """

    q: Array
    residual: Array
    G: Array
    ranks: list[int]
    smallest: float
    held: int

    @property
    def rank(self) -> int:
        return sum(self.ranks)

    @property
    def open(self) -> float:
        return float(np.abs(self.residual).max(initial=0.0))


@dataclass(frozen=True)
class RankAnalysis:
    """The generic rank of the closures around a configuration, and which rows are redundant.

    `here` is the sample at the configuration, `best` that at which rows and freedoms are chosen, `kept` are rows of the
    full set that determine the others, and `off` tells by how much each row misses what follows from them, scaled.
    """

    here: _Sample
    best: _Sample
    kept: list[int]
    off: Array

    @property
    def disagreement(self) -> float:
        """The largest miss, or zero if there is nothing but rounding."""
        worst = float(self.off.max(initial=0.0))
        return worst if worst > ROUNDING else 0.0


def analyse(
    assembler: Assembler,
    q: Array,
    where: Conditions,
    labels: Callable[[int], str],
    placed: Callable[[Array, str], Array],
    dependent: frozenset[int] | None = None,
) -> tuple[Decision, Mobility]:
    """Find rank, redundancy and independent coordinates around a closed configuration.

    `labels` names freedoms; `placed` gives the axes of a cut joint's child side in the ground frame; `dependent` are
    freedoms that shall depend on the others, as far as they can.
    """
    numbers = assembler.numbers
    if numbers.families is not None:
        return _analyse_sparsely(assembler, q, where, labels, placed, dependent or frozenset())
    found = _ranked(assembler, q, where)
    best, rank, nv = found.best, found.best.rank, numbers.plan.nv
    decision = decide(numbers, best.q, where, rank, dependent or frozenset())
    redundant = tuple(
        _redundancy(numbers, r, best.q, placed, found.off[r] if found.disagreement else 0.0)
        for r in range(len(numbers.rows))
        if r not in found.kept
    )
    mobility = Mobility(
        gruebler=nv - len(numbers.rows),
        mobility=nv - rank,
        redundant=redundant,
        independent=tuple(labels(i) for i in decision.partition.independent),
        smallest=smallest_share(found.here.G, numbers.blocks, best.ranks),
        local=nv - found.here.rank,
        own_coordinates=numbers.plan.n_own,
        disagreement=found.disagreement,
        accuracy=numbers.accuracy,
    )
    return decision, mobility


def _ranked(assembler: Assembler, q: Array, where: Conditions) -> RankAnalysis:
    """Return the generic rank within the accuracy of the data or, if the rows disagree by more, the exact one."""
    numbers = assembler.numbers
    samples = _samples(assembler, q, where, numbers.negligible)
    found = _around(numbers, samples)
    if not _doubtful(numbers, found):
        return found
    wider = [*samples, *_excursion(assembler, found.best, where)]
    found = _around(numbers, samples, wider)
    if found.disagreement <= numbers.accuracy:
        return found
    if found.here.open > CLOSED:
        raise not_closed(disagreement_in_words(assembler, found.off), float(found.off.max(initial=0.0)))
    here = _sample(numbers, q, where, ROUNDING)
    return _around(numbers, [here])


def disagreement_around(assembler: Assembler, q: Array, where: Conditions) -> Array | None:
    """Return by how much rows disagree at and around a configuration that is nearly closed, if that hardly changes.

    None means that the loops are not nearly closed around it, so that it is the position that is special, not the data.
    """
    numbers = assembler.numbers
    if numbers.families is not None:
        return None
    coarse = replace(assembler, numbers=numbers.with_accuracy(NEARLY_CLOSED))
    here, *others = _samples(coarse, q, where, coarse.numbers.negligible)
    around = [s for s in others if s.open <= SAME_OPENING * here.open and _apart(assembler, q, s.q)]
    if len(around) < len(others) or not others:
        return None
    return _around(coarse.numbers, [here, *around]).off


def _apart(assembler: Assembler, q: Array, other: Array) -> bool:
    """Tell whether a sample is where it was sent, and did not come back."""
    moved = assembler.space.difference(q, other) / assembler.numbers.column_scale
    return bool(np.abs(moved).max(initial=0.0) > SAMPLE_DISTANCE / 4)


def disagreement_in_words(assembler: Assembler, off: Array) -> str:
    """Say which equation disagrees most with the others, and by how much."""
    numbers = assembler.numbers
    k = int(np.argmax(off))
    row = numbers.rows[k]
    return (
        f"{assembler.loop_in_words(row.closure)} does not close exactly: its {row.direction} disagrees with its other "
        f"equations by {off[k] * numbers.row_scale[k]:.3g}{row.unit}, and data of the accuracy {numbers.accuracy:.2g} "
        f"allow {numbers.accuracy * numbers.row_scale[k]:.2g}{row.unit} there; correct the data, or "
        f"build(accuracy={coarser(off[k])})"
    )


def _around(numbers: ClosureNumbers, samples: Sequence[_Sample], wider: Sequence[_Sample] = ()) -> RankAnalysis:
    """Return the generic rank over samples, of which the first is the configuration itself.

    How far rows disagree is also looked at in `wider` samples.
    """
    here = best = samples[0]
    closed = [here, *(s for s in samples[1:] if s.open <= max(CLOSED, numbers.accuracy))]
    rank = max((sample.rank, sample.held) for sample in closed)  # not empty: the configuration itself is one
    if (best.rank, best.held) < rank or best.smallest < NEARLY_SINGULAR:
        # not empty: one has this rank
        best = max((s for s in closed if (s.rank, s.held) == rank), key=lambda s: s.smallest)
    kept = choose_independent_rows(best.G, numbers.blocks, best.ranks, numbers.positional, numbers.negligible)
    regular = [s for s in (wider or closed) if smallest_share(s.G, numbers.blocks, best.ranks) > REGULAR]
    off = np.max([_misses(numbers, s, kept, best.ranks) for s in regular or [best]], axis=0)
    return RankAnalysis(here, best, kept, off)


def _misses(numbers: ClosureNumbers, sample: _Sample, kept: Sequence[int], ranks: Sequence[int]) -> Array:
    """Return by how much each row would miss if the kept ones were closed, to first order.

    Where those are poor, others that are as good as any are closed instead, as in a run.
    """
    G, r = sample.G, np.where(numbers.positional, sample.residual, 0.0)
    s = np.linalg.svd(G[kept], compute_uv=False)
    if s.size and s[-1] < STAYS_GOOD * sample.smallest * s[0]:
        kept = choose_independent_rows(G, numbers.blocks, ranks, numbers.positional, numbers.negligible)
    step = np.linalg.lstsq(G[kept], -r[kept], rcond=None)[0] if kept else np.zeros(G.shape[1])
    off = np.abs(r + G @ step)
    off[kept] = 0.0
    return np.asarray(off)


def _doubtful(numbers: ClosureNumbers, found: RankAnalysis) -> bool:
    """Tell whether rows that were found redundant may be so within the accuracy of the data only."""
    exact = ranks_of_blocks(found.best.G, numbers.blocks, ROUNDING)
    return float(found.off.max(initial=0.0)) > DOUBTFUL or sum(exact) > found.best.rank


def _analyse_sparsely(
    assembler: Assembler,
    q: Array,
    where: Conditions,
    labels: Callable[[int], str],
    placed: Callable[[Array, str], Array],
    dependent: frozenset[int],
) -> tuple[Decision, Mobility]:
    """Answer `analyse` for a mechanism with many loops: by elimination, loop after loop."""
    numbers = assembler.numbers
    here = best = eliminate(numbers.scaled_blocks(q, *where)[0], smallest=numbers.negligible)
    at = q
    there = nearby_closed(numbers, here, q, where, assembler.space.integrate)
    if there is not None:
        other = eliminate(numbers.scaled_blocks(there, *where)[0], smallest=numbers.negligible)
        if other.rank > here.rank or (other.rank == here.rank and here.smallest < NEARLY_SINGULAR < other.smallest):
            at, best = there, other
    kept_rows, partition = sparse_partition(numbers, at, where, dependent)
    kept = {row for row, _ in best.pivots}

    ends = [numbers.residual(one, *where) for one in (q, there) if one is not None]
    off = np.where(numbers.positional, np.abs(ends).max(axis=0), 0.0)
    worst = float(off.max(initial=0.0))

    def redundant() -> tuple[Redundancy, ...]:
        return tuple(
            _redundancy(numbers, r, at, placed, off[r] if worst > ROUNDING else 0.0)
            for r in range(len(numbers.rows))
            if r not in kept
        )

    nv = numbers.plan.nv
    mobility = Mobility(
        gruebler=nv - len(numbers.rows),
        mobility=nv - best.rank,
        redundant=LazySequence(len(numbers.rows) - best.rank, redundant),
        independent=tuple(labels(i) for i in partition.independent),
        smallest=here.smallest if here.rank == best.rank else 0.0,
        local=nv - here.rank,
        own_coordinates=numbers.plan.n_own,
        disagreement=worst if worst > ROUNDING else 0.0,
        accuracy=numbers.accuracy,
    )
    return Decision(kept_rows, partition, at), mobility


def _redundancy(
    numbers: ClosureNumbers, r: int, q: Array, placed: Callable[[Array, str], Array], off: float
) -> Redundancy:
    row, missed = numbers.rows[r], float(off * numbers.row_scale[r])
    if r >= 6 * len(numbers.closure_set.attachments.cuts):
        return Redundancy(row.closure, row.direction, None, missed)
    axis = placed(q, row.closure)[:, "xyz".index(row.direction[-1])]
    return Redundancy(row.closure, row.direction, (float(axis[0]), float(axis[1]), float(axis[2])), missed)


def _sample(numbers: ClosureNumbers, q: Array, where: Conditions, smallest: float) -> _Sample:
    """Return the closures at a configuration; singular values below the share `smallest` are none."""
    G = numbers.full_rows(q, *where)[0]
    ranks = ranks_of_blocks(G, numbers.blocks, smallest)
    positional = numbers.positional
    held = sum(ranks) if positional.all() else rank_of(G[positional], smallest)
    return _Sample(q, numbers.residual(q, *where), G, ranks, smallest_share(G, numbers.blocks, ranks), held)


def _samples(assembler: Assembler, q: Array, where: Conditions, smallest: float) -> list[_Sample]:
    """Return the closures at a configuration and at closed ones near it."""
    numbers = assembler.numbers
    samples = [_sample(numbers, q, where, smallest)]
    free = null_space(samples[0].G, numbers.blocks, smallest)
    rng = np.random.default_rng(1)
    for _ in range(MOBILITY_SAMPLES if free.shape[1] else 0):
        direction = free @ rng.normal(size=free.shape[1])
        there = _moved(assembler, q, direction, SAMPLE_DISTANCE, where)
        samples += [] if there is None else [_sample(numbers, there, where, smallest)]
    return samples


def _moved(assembler: Assembler, q: Array, direction: Array, far: float, where: Conditions) -> Array | None:
    """Return the closed, or nearly closed, configuration next to where a direction leads, if there is one."""
    numbers = assembler.numbers
    step = direction * (far / scale_of(direction))
    start = assembler.space.integrate(q, step * numbers.column_scale)
    there, residual = assembler.close(start, np.zeros(numbers.plan.nv, dtype=bool), where)
    return there if residual <= max(NEARLY_CLOSED, numbers.accuracy) else None


def _excursion(assembler: Assembler, start: _Sample, where: Conditions) -> Iterator[_Sample]:
    """Yield the closures along motions from a configuration, both ways, as far as these go."""
    numbers = assembler.numbers
    free = null_space(start.G, numbers.blocks, numbers.negligible)
    rng = np.random.default_rng(2)
    count = min(free.shape[1], MOST_DIRECTIONS)
    directions = [free @ rng.normal(size=free.shape[1]) for _ in range(count)]
    for direction in [sign * along for along in directions for sign in (1.0, -1.0)]:
        q, along = start.q, direction
        for _ in range(STRIDES // (2 * count)):
            there = _moved(assembler, q, along, STRIDE, where)
            if there is None:
                break
            sample = _sample(numbers, there, where, numbers.negligible)
            yield sample
            motions = null_space(sample.G, numbers.blocks, numbers.negligible)
            q, along = there, motions @ (motions.T @ along)
