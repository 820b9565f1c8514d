"""Loop programs from items: functions of records that other items left in memory, each kind traced once.

A record is a list of numbers. What of it is known to be zero while tracing is part of the item's kind, and is never
stored, and neither is what nobody needs. So a planar mechanism stays planar, and kinds are few where a mechanism
repeats itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from whippletree.loops import Loop, LoopProgram, Place, Variant

__all__ = ["Items", "Record", "Span", "unrolled"]


@dataclass(frozen=True)
class Record:
    """Numbers in memory: where they start, and for each its place there, or its value if that is known."""

    start: int
    entries: tuple[int | float, ...]  # a place is an int, a known value a float


@dataclass(frozen=True)
class Span:
    """A part of an input or of an output."""

    argument: int
    start: int
    size: int


@dataclass(frozen=True)
class _Kind:
    """A kind of item: its symbols and where they come from, its results and where they go, the stored ones first."""

    number: int
    entries: tuple[int | float, ...]
    stored: int
    symbols: list[ca.SX]
    sources: list[Place]
    values: list[ca.SX]
    targets: list[Place]

    def depends(self) -> list[set[int]]:
        """Return which symbols each result depends on."""
        found: list[set[int]] = [set() for _ in self.values]
        if self.values and self.symbols:
            pattern = ca.jacobian_sparsity(ca.densify(ca.SX(ca.vertcat(*self.values))), ca.vertcat(*self.symbols))
            for row, column in zip(*pattern.get_triplet(), strict=True):
                found[row].add(column)
        return found

    def variant(self, live: set[int]) -> Variant:
        """Return the function of the results that somebody needs."""
        chosen = sorted(live)
        values = [self.values[i] for i in chosen]
        variables = ca.vertcat(*self.symbols) if self.symbols else ca.SX(0, 1)
        result = ca.densify(ca.SX(ca.vertcat(*values))) if values else ca.SX(0, 1)
        function = ca.Function("step", [variables], [result])
        return Variant(function, (tuple(self.sources),), (tuple(self.targets[i] for i in chosen),))


class Items:
    """A program that is being written, item by item."""

    def __init__(self) -> None:
        self.kinds: dict[Hashable, _Kind] = {}
        self.links: set[tuple[int, int, int]] = set()  # a kind takes as its n-th record what another one left
        self.makers: dict[int, int] = {}  # kinds by where their records start
        self.pinned: set[int] = set()  # kinds whose results are needed in any case
        self.table: list[list[int]] = []
        self.constants: list[float] = []
        self.size = 0

    def add(
        self,
        key: Hashable,
        trace: Callable[..., tuple[Sequence[ca.SX], Sequence[ca.SX]]],
        records: Sequence[Record] = (),
        inputs: Sequence[Span] = (),
        constants: Sequence[float] = (),
        output: Span | None = None,
        *,
        into: Record | None = None,
        store: bool = False,
    ) -> Record:
        """Add an item; return the record that it leaves.

        `trace(records, inputs, constants)` is called once for each kind, with columns of symbols, and returns the
        numbers to be kept and those that go to the output. `into` says where to leave them, if not in new memory;
        `store` keeps also those that are known.
        """
        patterns = tuple(record.entries for record in records)
        spans = tuple((span.argument, span.size) for span in inputs)
        whole = (key, patterns, spans, len(constants), output is not None)
        kind = self.kinds.get(whole)
        if kind is None:
            kind = self.kinds[whole] = self._kind(trace, patterns, spans, len(constants), output, store)
        start = self.size if into is None else into.start
        if into is None:
            self.size += kind.stored
        for n, record in enumerate(records):
            self.links.add((kind.number, n, self.makers[record.start]))
        if into is not None or store:
            self.pinned.add(kind.number)
        self.makers.setdefault(start, kind.number)
        row = [kind.number, *(record.start for record in records), *(span.start for span in inputs)]
        row += [len(self.constants), start, 0 if output is None else output.start]
        self.table.append(row)
        self.constants.extend(constants)
        return Record(start, kind.entries)

    def _kind(
        self,
        trace: Callable[..., tuple[Sequence[ca.SX], Sequence[ca.SX]]],
        patterns: Sequence[tuple[int | float, ...]],
        spans: Sequence[tuple[int, int]],
        n_constants: int,
        output: Span | None,
        store: bool,
    ) -> _Kind:
        symbols: list[ca.SX] = []
        sources: list[Place] = []
        column = 0

        def fresh(place: Place) -> ca.SX:
            symbols.append(ca.SX.sym(f"x{len(symbols)}"))
            sources.append(place)
            return symbols[-1]

        records = []
        for pattern in patterns:
            column += 1
            numbers = [ca.SX(e) if isinstance(e, float) else fresh(Place("work", e, column)) for e in pattern]
            records.append(ca.SX(ca.vertcat(*numbers)))
        inputs = []
        for argument, size in spans:
            column += 1
            inputs.append(ca.SX(ca.vertcat(*(fresh(Place("input", i, column, argument)) for i in range(size)))))
        column += 1
        constants = ca.SX(ca.vertcat(*(fresh(Place("constant", i, column)) for i in range(n_constants))))
        kept, sent = trace(records, inputs, constants)
        entries: list[int | float] = []
        values: list[ca.SX] = []
        targets: list[Place] = []
        for scalar in kept:
            if scalar.is_zero() and not store:  # other constants may be sums that differ from item to item
                entries.append(0.0)
                continue
            entries.append(len(values))
            targets.append(Place("work", len(values), column + 1))
            values.append(scalar)
        stored = len(values)
        for i, scalar in enumerate(sent):
            assert output is not None
            targets.append(Place("output", i, column + 2, output.argument))
            values.append(scalar)
        return _Kind(len(self.kinds), tuple(entries), stored, symbols, sources, values, targets)

    def _live(self, kinds: Sequence[_Kind]) -> list[set[int]]:
        """Return which results of each kind are needed: those that go out, and what these are made from."""
        live = [set(range(0 if kind.number in self.pinned else kind.stored, len(kind.values))) for kind in kinds]
        depends = [kind.depends() for kind in kinds]
        changed = True
        while changed:
            changed = False
            for user, n, maker in self.links:
                sources = kinds[user].sources
                read = {i for value in live[user] for i in depends[user][value]}
                new = {sources[i].offset for i in read if sources[i].kind == "work" and sources[i].column == n + 1}
                if not new <= live[maker]:
                    live[maker] |= new
                    changed = True
        return live

    def program(self) -> LoopProgram:
        """Return the program: one loop over all items."""
        kinds = list(self.kinds.values())
        variants = tuple(kind.variant(live) for kind, live in zip(kinds, self._live(kinds), strict=True))
        width = max(len(row) for row in self.table)
        table = tuple((*row, *(0,) * (width - len(row))) for row in self.table)
        return LoopProgram((Loop(variants, table),), self.size, tuple(self.constants))


def unrolled(program: LoopProgram, inputs: Sequence[ca.SX], size: int) -> ca.SX:
    """Return a program's result (size) as one straight line: every item's function called on expressions."""
    (loop,) = program.steps
    assert isinstance(loop, Loop)
    given = [ca.vertsplit(x) if x.numel() else [] for x in inputs]
    work: list[Any] = [ca.SX(0)] * program.work_size
    out: list[Any] = [ca.SX(0)] * size
    for row in loop.table:
        variant = loop.variants[row[0]]
        if not variant.targets[0]:
            continue
        values = []
        for place in variant.sources[0]:
            at = row[place.column] + place.offset
            if place.kind == "work":
                values.append(work[at])
            else:
                values.append(program.constants[at] if place.kind == "constant" else given[place.argument][at])
        results = ca.vertsplit(variant.function(ca.vertcat(*values) if values else ca.SX(0, 1)))
        for place, value in zip(variant.targets[0], results, strict=True):
            (work if place.kind == "work" else out)[row[place.column] + place.offset] = value
    return ca.SX(ca.vertcat(*out))
