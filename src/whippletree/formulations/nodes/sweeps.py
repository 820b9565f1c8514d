"""The two sweeps that every formulation uses: from the ground outward, and from the tips inward.

A step is a pure function of a node, of what arrives at it, and of what earlier sweeps kept for it:

    step(node, arriving, *kept) -> (leaving, keep)

Outward, a node receives what its parent leaves. Inward, it receives the sum of what its children leave. A
walk drives the steps; this module holds the unrolled one, which calls them node by node. The rolled one is in
`rolled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import casadi as ca

from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.operation_stages import sweeps_kept
from whippletree.foundation.once import made_once
from whippletree.spatial import mirror
from whippletree.topology import Tree

StepRecord: TypeAlias = Any
"""A record that a step hands on or keeps: a NamedTuple of matrices and of records."""

__all__ = [
    "Kept",
    "StepRecord",
    "Unrolled",
    "Walk",
    "add_records",
]

Leaving = TypeVar("Leaving")
Keep = TypeVar("Keep")
Kept_co = TypeVar("Kept_co", covariant=True)


@dataclass(frozen=True)
class Kept(Generic[Kept_co]):
    """The records that a sweep kept, node by node."""

    records: Sequence[Kept_co]

    def at(self, index: int) -> Kept_co:
        """Return the record of one node."""
        return self.records[index]


class Walk(Protocol):
    """Drives the steps of a formulation, unrolled or rolled.

    Results are expressions; those of a rolled walk are written by its items, and it returns none.
    """

    gravity: ca.SX

    def outward(self, step: Callable[..., tuple[Leaving, Keep]], base: Leaving, *kept: Kept[object]) -> Kept[Keep]:
        """Walk from the ground to the tips; `base` is the record that leaves the ground."""
        ...

    def inward(
        self, step: Callable[..., tuple[Leaving, Keep]], empty: Leaving, *kept: Kept[object]
    ) -> tuple[Leaving, Kept[Keep]]:
        """Walk from the tips to the ground; `empty` arrives at a tip. Return also the record that reaches the end."""
        ...

    def climb(
        self,
        step: Callable[..., tuple[Leaving, ca.SX]],
        start: Kept[Leaving],
        *kept: Kept[object],
    ) -> ca.SX:
        """From every node climb to the ground; collect the pairs' blocks into a matrix (nv, nv), mirrored.

        Rows and columns of a block are the freedoms that are eliminated at its two nodes.
        """
        ...

    def gather(self, kept: Kept[object], part: str) -> ca.SX:
        """Assemble one part of the kept records into a vector (nv), in the declared order."""
        ...

    def stacked(self, kept: Kept[object], part: str, size: int, *, every: bool = False) -> ca.SX:
        """Stack one part of the kept records (n * size), each node at its position; or of `every` node in order."""
        ...


def add_records(a: StepRecord, b: StepRecord) -> StepRecord:
    """Add two records member by member.

    >>> add_records((1, 2), (3, 4))
    (4, 6)
    """
    total = (x + y for x, y in zip(a, b, strict=True))
    return type(a)(*total) if hasattr(a, "_fields") else tuple(total)


class Unrolled:
    """A walk that calls the steps node by node, so that the whole model becomes one straight line.

    A node may consist of several bodies. `ports` then tells for each node on which body of its parent it hangs, None if
    that has only one: what such a parent leaves is a sequence, and what arrives at it a dictionary, by body. `homes`
    tells which nodes eliminate the own coordinates of a body, and where in v these are; several nodes share them.
    `node_of` names bodies, -1 being the ground.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        parents: Sequence[int],
        v_slices: Sequence[slice],
        nv: int,
        gravity: ca.SX,
        positions: Sequence[int | None] | None = None,
        ports: Sequence[int | None] | None = None,
        homes: Mapping[int, slice] | None = None,
        node_of: Mapping[str, int] | None = None,
    ) -> None:
        self.nodes, self.parents, self.v_slices, self.nv = nodes, parents, v_slices, nv
        self.gravity = gravity
        self.memory: dict[Any, Any] = {}  # what those who use the walk do not want to work out again
        self.reached: dict[Any, Any] = {}  # where nodes and frames are and how they move; nothing of what acts on them
        self.positions = list(positions) if positions is not None else list(range(len(nodes)))
        self.ports = list(ports) if ports is not None else [None] * len(nodes)
        self.homes = dict(homes or {})
        self.node_of = node_of or {}

    def with_nodes(self, nodes: Sequence[Node]) -> Unrolled:
        """Return the same walk over other nodes."""
        where, positions = self.v_slices, self.positions
        return Unrolled(nodes, self.parents, where, self.nv, self.gravity, positions, None, self.homes, self.node_of)

    def with_loads(self, nodes: Sequence[Node]) -> Unrolled:
        """Return the same walk over nodes that move as these do, under other loads and efforts."""
        other = self.with_nodes(nodes)
        other.reached = self.reached
        return other

    @made_once
    def tree(self) -> Tree:
        """The tree of the nodes."""
        return Tree(self.parents)

    @made_once
    def units(self) -> tuple[frozenset[int], ...]:
        """The nodes of each body with own coordinates: its home, and those that share them."""
        found: dict[int, set[int]] = {k: {k} for k in self.homes}
        for k, node in enumerate(self.nodes):
            if getattr(node, "shared", False):
                found[self.home(k)].add(k)
        return tuple(frozenset(unit) for unit in found.values())

    def home(self, k: int) -> int:
        """Return the node at which the freedoms of node k are eliminated: itself, unless it shares them."""
        while self.nodes[k].shared and self.homes.get(k) != self.v_slices[k]:
            k = self.parents[k]
        return k

    def outward(self, step: Callable[..., tuple[Leaving, Keep]], base: Leaving, *kept: Kept[object]) -> Kept[Keep]:
        """Walk from the ground to the tips."""
        left: list[StepRecord] = []
        records: list[Keep] = []
        noted = sweeps_kept()
        for k, node in enumerate(self.nodes):
            arriving: StepRecord = base if self.parents[k] < 0 else left[self.parents[k]]
            port = self.ports[k]
            if port is not None:
                arriving = arriving[port]
            leaving, keep = step(node, arriving, *(field.records[k] for field in kept))
            left.append(leaving)
            records.append(keep)
            if noted is not None:
                noted.append((step, k, (keep, leaving)))
        return Kept(records)

    def inward(
        self, step: Callable[..., tuple[Leaving, Keep]], empty: Leaving, *kept: Kept[object]
    ) -> tuple[Leaving, Kept[Keep]]:
        """Walk from the tips to the ground."""
        arrived: list[StepRecord] = [None] * (len(self.nodes) + 1)  # the last one is the ground's
        records: list[StepRecord] = [None] * len(self.nodes)
        noted = sweeps_kept()
        for k in reversed(range(len(self.nodes))):
            arriving = empty if arrived[k] is None else arrived[k]
            leaving, records[k] = step(self.nodes[k], arriving, *(field.records[k] for field in kept))
            if noted is not None:
                noted.append((step, k, (records[k], leaving)))
            p, port = self.parents[k], self.ports[k]
            if port is None:
                arrived[p] = leaving if arrived[p] is None else add_records(arrived[p], leaving)
            else:
                at = arrived[p] = arrived[p] if arrived[p] is not None else {}
                at[port] = add_records(at[port], leaving) if port in at else leaving
        total = empty if arrived[-1] is None else arrived[-1]
        return total, Kept(records)

    def climb(self, step: Callable[..., tuple[Leaving, ca.SX]], start: Kept[Leaving], *kept: Kept[object]) -> ca.SX:
        """From every node climb to the ground, collecting blocks of a symmetric matrix."""
        A = ca.densify(ca.SX(self.nv, self.nv))
        freedoms = [self._eliminated(k) for k in range(len(self.nodes))]
        for k, columns in enumerate(freedoms):
            carried, j = start.records[k], k
            while columns and j >= 0:
                carried, block = step(self.nodes[j], carried, *(field.records[j] for field in kept))
                if j == k:
                    block = mirror(block)
                A[freedoms[j], columns] = block
                if j != k:
                    A[columns, freedoms[j]] = block.T
                j = self.parents[j]
        return A

    def _eliminated(self, k: int) -> list[int]:
        """Return the freedoms that are eliminated at a node: its joint's, then those of a body whose home it is."""
        own = self.homes.get(k, slice(0, 0))
        joint = slice(0, 0) if getattr(self.nodes[k], "shared", False) else self.v_slices[k]
        return [*range(joint.start, joint.stop), *range(own.start, own.stop)]

    def gather(self, kept: Kept[object], part: str) -> ca.SX:
        """Assemble one part of the kept records into a vector (nv)."""
        out = ca.densify(ca.SX(self.nv, 1))
        for node, record, where in zip(self.nodes, kept.records, self.v_slices, strict=True):
            if where.stop > where.start:
                value = getattr(record, part)
                out[where] = out[where] + value if getattr(node, "shared", False) else value
        return out

    def stacked(self, kept: Kept[object], part: str, size: int, *, every: bool = False) -> ca.SX:
        """Stack one part of the kept records by position, nodes without one left out; or of `every` node in order."""
        blocks = {}
        positions = range(len(self.nodes)) if every else self.positions
        for position, record in zip(positions, kept.records, strict=True):
            if position is not None:
                blocks[position] = ca.vec(getattr(record, part))
        return ca.SX(ca.vertcat(*(blocks[position] for position in sorted(blocks))))
