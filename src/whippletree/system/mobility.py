"""Mobility: Gruebler's count beside the true one, and what is redundant.

The rank that counts is the generic one: the largest over nearby closed configurations. Where a mechanism is flattened
its local rank is smaller, and dropping a row there would open a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whippletree.errors import AssemblyError
from whippletree.kernels.kernel import Array
from whippletree.system.assembly import Assembler
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.decisions import Decision, decide
from whippletree.system.elimination import eliminate
from whippletree.system.loop_plan import Conditions
from whippletree.system.ranks import choose_rows, null_space, rank_of
from whippletree.system.sparse_assembly import LazySequence, nearby_closed, scaled_blocks, sparse_partition
from whippletree.system.tolerances import MOBILITY_SAMPLES, NEARLY_SINGULAR, SAMPLE_DISTANCE

__all__ = ["Mobility", "Redundancy", "analyse"]


class Redundancy(NamedTuple):
    """An equation that follows from the others: of which joint or closure, in which direction (ground axes)."""

    closure: str
    direction: str
    axis: tuple[float, float, float] | None

    def __str__(self) -> str:
        if self.axis is None:
            return f'"{self.closure}": {self.direction}'
        x, y, z = (round(c, 4) + 0.0 for c in self.axis)
        return f'"{self.closure}": {self.direction} of its frame, ({x:g}, {y:g}, {z:g}) in ground axes'


@dataclass(frozen=True)
class Mobility:
    """How a mechanism can move.

    `gruebler` is 6 times the bodies less what every joint and closure takes away; `mobility` is the true number of
    freedoms; `redundant` names equations that follow from the others; `independent` names coordinates that determine
    the motion; `smallest` is the smallest singular value of the closures at the configuration as a share of the
    largest: near zero, the configuration is singular. `own_coordinates` tells how many of the freedoms are own
    coordinates of bodies, whether the closures hold them or not.
    """

    gruebler: int
    mobility: int
    redundant: Sequence[Redundancy]
    independent: tuple[str, ...]
    smallest: float
    local: int
    own_coordinates: int = 0

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
        if self.own_coordinates:
            lines.append(f"own coordinates of bodies among the freedoms: {self.own_coordinates}")
        lines.append(f"independent coordinates: {', '.join(self.independent) or 'none'}")
        if self.singular:
            lines.append(
                f"near a singular configuration: the closures' smallest singular value is {self.smallest:.2g} of the "
                f"largest, and {self.local} motions are possible at first order"
            )
        return "\n".join(lines)


class _Sample(NamedTuple):
    q: Array
    G: Array
    rank: int
    smallest: float


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
        return _analyse_sparsely(assembler, q, labels, placed, dependent or frozenset())
    samples = _samples(assembler, q, where)
    rank = max(sample.rank for sample in samples)
    best = samples[0]
    if best.rank < rank or _smallest(best.G, rank) < NEARLY_SINGULAR:
        best = max((s for s in samples if s.rank == rank), key=lambda s: s.smallest)
    decision = decide(numbers, best.q, where, rank, dependent or frozenset())
    kept = choose_rows(best.G, rank)
    redundant = tuple(_redundancy(numbers, r, best.q, placed) for r in range(len(numbers.rows)) if r not in kept)
    nv = numbers.plan.nv
    mobility = Mobility(
        gruebler=nv - len(numbers.rows),
        mobility=nv - rank,
        redundant=redundant,
        independent=tuple(labels(i) for i in decision.partition.independent),
        smallest=_smallest(samples[0].G, rank),
        local=nv - samples[0].rank,
        own_coordinates=numbers.plan.n_own,
    )
    return decision, mobility


def _analyse_sparsely(
    assembler: Assembler,
    q: Array,
    labels: Callable[[int], str],
    placed: Callable[[Array, str], Array],
    dependent: frozenset[int],
) -> tuple[Decision, Mobility]:
    """Answer `analyse` for a mechanism with many loops: by elimination, loop after loop."""
    numbers = assembler.numbers
    here = best = eliminate(scaled_blocks(numbers, q))
    at = q
    there = nearby_closed(numbers, here, q, assembler.space.integrate)
    if there is not None:
        other = eliminate(scaled_blocks(numbers, there))
        if other.rank > here.rank or (other.rank == here.rank and here.smallest < NEARLY_SINGULAR < other.smallest):
            at, best = there, other
    kept_rows, partition = sparse_partition(numbers, at, dependent)
    kept = {row for row, _ in best.pivots}

    def redundant() -> tuple[Redundancy, ...]:
        return tuple(_redundancy(numbers, r, at, placed) for r in range(len(numbers.rows)) if r not in kept)

    nv = numbers.plan.nv
    mobility = Mobility(
        gruebler=nv - len(numbers.rows),
        mobility=nv - best.rank,
        redundant=LazySequence(len(numbers.rows) - best.rank, redundant),
        independent=tuple(labels(i) for i in partition.independent),
        smallest=here.smallest if here.rank == best.rank else 0.0,
        local=nv - here.rank,
        own_coordinates=numbers.plan.n_own,
    )
    return Decision(kept_rows, partition, at), mobility


def _redundancy(numbers: ClosureNumbers, r: int, q: Array, placed: Callable[[Array, str], Array]) -> Redundancy:
    row = numbers.rows[r]
    if r >= 6 * len(numbers.closure_set.attachments.cuts):
        return Redundancy(row.closure, row.direction, None)
    axis = placed(q, row.closure)[:, "xyz".index(row.direction[-1])]
    return Redundancy(row.closure, row.direction, (float(axis[0]), float(axis[1]), float(axis[2])))


def _samples(assembler: Assembler, q: Array, where: Conditions) -> list[_Sample]:
    """Return the closures at a configuration and at closed ones near it."""
    numbers = assembler.numbers

    def at(there: Array) -> _Sample:
        G = numbers.full_rows(there, *where)[0]
        rank = rank_of(G)
        return _Sample(there, G, rank, _smallest(G, rank))

    samples = [at(q)]
    free = null_space(samples[0].G)
    none = np.zeros(numbers.plan.nv, dtype=bool)
    rng = np.random.default_rng(1)
    for _ in range(MOBILITY_SAMPLES if free.shape[1] else 0):
        direction = free @ rng.normal(size=free.shape[1])
        direction *= SAMPLE_DISTANCE / max(float(np.abs(direction).max()), 1e-300)
        start = assembler.space.integrate(q, direction * numbers.column_scale)
        try:
            samples.append(at(assembler.assemble(start, none, (), where).q))
        except AssemblyError:
            continue
    return samples


def _smallest(G: Array, rank: int) -> float:
    """Return the singular value at the rank, as a share of the largest."""
    if not rank:
        return 1.0
    s = np.linalg.svd(G, compute_uv=False)
    return float(s[rank - 1] / s[0]) if s[0] > 0 else 0.0
