"""Loop programs from items: functions of records that other items left in memory, each kind traced once.

A record is a list of numbers. What of it is known to be zero while tracing is part of the item's kind, and is never
stored. So a planar mechanism stays planar, and kinds are few where a mechanism repeats itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import casadi as ca

from whippletree.loops import Loop, LoopProgram, Place, Variant

__all__ = ["Items", "Record", "Span"]


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
    number: int
    entries: tuple[int | float, ...]
    stored: int


class Items:
    """A program that is being written, item by item."""

    def __init__(self) -> None:
        self.kinds: dict[Hashable, _Kind] = {}
        self.variants: list[Variant] = []
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
        variables = ca.vertcat(*symbols) if symbols else ca.SX(0, 1)
        result = ca.densify(ca.SX(ca.vertcat(*values))) if values else ca.SX(0, 1)
        function = ca.Function("step", [variables], [result])
        self.variants.append(Variant(function, (tuple(sources),), (tuple(targets),)))
        return _Kind(len(self.variants) - 1, tuple(entries), stored)

    def program(self) -> LoopProgram:
        """Return the program: one loop over all items."""
        width = max(len(row) for row in self.table)
        table = tuple((*row, *(0,) * (width - len(row))) for row in self.table)
        return LoopProgram((Loop(tuple(self.variants), table),), self.size, tuple(self.constants))
