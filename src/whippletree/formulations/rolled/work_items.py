"""Work items: small functions over records that other items left, each kind traced once.

A large model is evaluated item by item: a node is placed, a hinge is eliminated, an element acts, a loop ends. An item
reads *records* that earlier items left, parts of the inputs, and *constants* of its own; it leaves records, and sends
some of them to an output. Items run in the order in which they are added, loop after loop.

What is a kind: items with the same key whose records have the same form, and in which the same numbers are known. Their
function is traced once, over symbols; so compile time grows with the number of kinds, not with that of items.

What is folded: numbers that are 0, 1 or -1 are part of the kind, in constants (`PlainNumbers`) and in records alike, so
that a planar mechanism stays planar. Other constants are folded where all items of a kind have the same.

What is stored: of each record what some later item needs, and no more. A record's memory is used again when its last
reader has run. `memory_layout` works out both, and writes the program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import casadi as ca

from whippletree.formulations.rolled.step_records import StepRecord, flatten, form_of, rebuild
from whippletree.spatial.scalars import Scalar

__all__ = ["NOTHING", "PLAIN", "ClimbPlan", "InputSpan", "ItemKind", "ItemTrace", "PlainNumbers", "Record", "WorkItems"]

PLAIN = (0.0, 1.0, -1.0)
"""Numbers that make a multiplication or an addition disappear: knowing them is worth a kind of its own."""


class Record(NamedTuple):
    """One of the records that an item leaves."""

    item: int
    part: int


class InputSpan(NamedTuple):
    """A part of an input or of an output; `by_row` lets items of one kind read different inputs."""

    argument: int
    start: int
    size: int
    by_row: bool = False


class ItemInputs(NamedTuple):
    """The inputs over which an item's function is traced: records in their own form, parts of inputs, and constants."""

    records: list[StepRecord]
    inputs: list[ca.SX]
    constants: Iterator[ca.SX]


ItemTrace: TypeAlias = Callable[[ItemInputs], Sequence[StepRecord]]
"""Returns the records that an item leaves."""


NOTHING: Iterator[ca.SX] = iter(())
"""No numbers."""


class PlainNumbers:
    """Constants of an item: plain ones are part of its kind, the others are read; expressions are read as a record.

    `folds` tells which plain numbers are known, all if it is not given.

    >>> PlainNumbers([0.0, 0.3, 1.0]).values
    [0.3]
    """

    def __init__(self, values: Sequence[Scalar], folds: Sequence[bool] | None = None) -> None:
        known: list[float | str | None] = []
        self.values: list[float] = []
        self.expressions: list[ca.SX] = []
        for i, x in enumerate(values):
            if not isinstance(x, float | int):
                known.append("expression")
                self.expressions.append(ca.SX(x))
            elif x in PLAIN and (folds is None or folds[i]):
                known.append(float(x))
            else:
                known.append(None)
                self.values.append(float(x))
        self.key: tuple[float | str | None, ...] = tuple(known)

    def symbols(self, read: Iterator[ca.SX], expressions: Iterator[ca.SX] = NOTHING) -> list[Scalar]:
        """Return the numbers, with symbols for those that are read."""
        return [
            # not empty: as many as were kept apart
            next(read) if known is None else next(expressions) if isinstance(known, str) else known
            for known in self.key
        ]


class SymbolOrigin(NamedTuple):
    """Where a symbol of a kind comes from: entry of the n-th "record" or "input", or of the "constant" ones."""

    memory: str
    number: int
    entry: int


@dataclass(frozen=True)
class RecordForm:
    """The form of a record that a kind leaves: its scalars, and the values of those that are plain numbers."""

    like: StepRecord
    scalars: list[ca.SX]
    known: tuple[float | None, ...]
    key: Hashable


@dataclass
class ItemKind:
    """Items whose function is the same: its symbols and where they come from, and the records it leaves.

    `sent` are entries of records (part, entry) that go to an output (argument, element), added to what is there or not.
    """

    number: int
    symbols: list[ca.SX]
    origins: list[SymbolOrigin]
    spans: Sequence[InputSpan]  # of one item
    parts: list[RecordForm]
    sent: dict[tuple[int, int], tuple[int, int, bool]] = field(default_factory=dict)


class WorkItem(NamedTuple):
    """An item: its kind, the records it reads, where its inputs start, and its constants."""

    kind: ItemKind
    records: Sequence[Record]
    inputs: Sequence[InputSpan]
    constants: Sequence[float]


@dataclass
class ClimbPlan:
    """A loop whose items are climbed from many starts, filling a symmetric matrix (see `Climb`).

    `starts` are (item of the climb, record and entry to start with, column), `above` the next item of each, -1 at the
    end. If the matrix is solved with, `unknowns` is the table of the solve, `least` what its pivots must be above, and
    a column is the number of an unknown.
    """

    carried: Record
    order: int
    above: list[int]
    starts: list[tuple[int, Record, int, int]] = field(default_factory=list)
    unknowns: list[tuple[int, int, int, int]] | None = None
    least: tuple[float, ...] = ()
    size: int = 0


class WorkItems:
    """A program that is being written, item by item."""

    def __init__(self) -> None:
        self.kinds: dict[Hashable, ItemKind] = {}
        self.items: list[WorkItem] = []
        self.loops: list[tuple[int, ClimbPlan | None]] = []  # the first item of each loop
        self.pinned: list[Record] = []  # records that are stored as a whole
        self.output_start: dict[Record, int] = {}
        self.zeroed: dict[int, int] = {}  # outputs that start from zero, with their sizes
        self._forms: dict[Hashable, int] = {}

    def begin_loop(self, climb: ClimbPlan | None = None) -> None:
        """Let the items that follow be a loop of their own."""
        self.loops.append((len(self.items), climb))

    def add(
        self,
        key: Hashable,
        trace: ItemTrace,
        records: Sequence[Record] = (),
        inputs: Sequence[InputSpan] = (),
        constants: Sequence[float] = (),
        *,
        whole: Sequence[int] = (),
    ) -> list[Record]:
        """Add an item; return the records that it leaves.

        `trace` is called once for each kind. Of the records numbered in `whole` nothing is taken as known: their
        readers are of one kind, whoever left them.
        """
        forms = [self.form(record) for record in records]
        spans = tuple([(-1 if by_row else argument, size) for argument, _, size, by_row in inputs])
        whole_key = (key, tuple([form.key for form in forms]), spans, len(constants))
        kind = self.kinds.get(whole_key)
        if kind is None:
            kind = self.kinds[whole_key] = self._kind(trace, forms, inputs, len(constants), whole)
        if not self.loops:
            self.begin_loop()
        item = len(self.items)
        self.items.append(WorkItem(kind, records, inputs, constants))
        return [Record(item, part) for part in range(len(kind.parts))]

    def form(self, record: Record) -> RecordForm:
        """Return the form of a record."""
        return self.items[record.item].kind.parts[record.part]

    def send(self, record: Record, span: InputSpan, first: int = 0, *, add: bool = False) -> None:
        """Send entries of a record from `first` on to a part of an output."""
        sent = self.items[record.item].kind.sent
        for i in range(span.size):
            sent[record.part, first + i] = (span.argument, i, add)
        self.output_start[record] = span.start

    def _kind(
        self,
        trace: ItemTrace,
        forms: Sequence[RecordForm],
        spans: Sequence[InputSpan],
        n_constants: int,
        whole: Sequence[int],
    ) -> ItemKind:
        symbols: list[ca.SX] = []
        origins: list[SymbolOrigin] = []

        def fresh(memory: str, number: int, entry: int) -> ca.SX:
            symbols.append(ca.SX.sym(f"x{len(symbols)}"))
            origins.append(SymbolOrigin(memory, number, entry))
            return symbols[-1]

        records = []
        for n, form in enumerate(forms):
            scalars = [fresh("record", n, i) if x is None else ca.SX(x) for i, x in enumerate(form.known)]
            records.append(rebuild(form.like, iter(scalars)))
        inputs = [
            ca.SX(ca.vertcat(ca.SX(0, 1), *(fresh("input", n, i) for i in range(span.size))))
            for n, span in enumerate(spans)
        ]
        constants = [fresh("constant", 0, i) for i in range(n_constants)]
        left = trace(ItemInputs(records, inputs, iter(constants)))
        parts = [self._form(record, part in whole) for part, record in enumerate(left)]
        return ItemKind(len(self.kinds), symbols, origins, spans, parts)

    def _form(self, record: StepRecord, whole: bool) -> RecordForm:
        scalars = flatten(record)
        known = tuple(None if whole else _plain(scalar) for scalar in scalars)
        key = self._forms.setdefault((form_of(record), known), len(self._forms))
        return RecordForm(record, scalars, known, key)


def _plain(scalar: ca.SX) -> float | None:
    """Return the value of a scalar that is known to be a plain number."""
    if not scalar.is_constant():
        return None
    value = float(scalar)
    return value if value in PLAIN else None
