"""Work items: small functions over records that other items left, each kind traced once.

A large model is evaluated item by item: a node is placed, a hinge is eliminated, an element acts, a loop ends. An item
reads *records* that earlier items left, parts of the inputs, and *constants* of its own; it leaves records, and sends
some of them to an output. Items run in the order in which they are added, loop after loop.

What is a kind: items with the same key whose records have the same form, and in which the same numbers are known. Their
function is traced once, over symbols; so compile time grows with the number of kinds, not with that of items.

What depends on parameters: constants may be expressions in these. They are worked out by items of their own, once, and
read from the records that these leave.

What is folded: numbers that are 0, 1 or -1 are part of the kind, in constants (`PlainNumbers`) and in records alike, so
that a planar mechanism stays planar. Other constants are folded where all items of a kind have the same.

What is stored: of each record what some later item needs, and no more. A record's memory is used again when its last
reader has run. `memory_layout` works out both, and writes the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import casadi as ca

from whippletree.formulations.rolled.step_records import StepRecord, flatten, form_of, rebuild
from whippletree.programs.function_forms import ExpressionForm, forms_of_groups
from whippletree.spatial.scalars import Scalar

__all__ = ["PLAIN", "ClimbPlan", "InputSpan", "ItemKind", "ItemTrace", "PlainNumbers", "Record", "WorkItems"]

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


class PlainNumbers:
    """Constants of an item: plain ones are part of its kind, the others are read.

    `folds` tells which plain numbers are known, all if it is not given.

    >>> PlainNumbers([0.0, 0.3, 1.0]).values
    [0.3]
    """

    def __init__(self, values: Sequence[Scalar], folds: Sequence[bool] | None = None) -> None:
        known: list[float | None] = []
        self.values: list[Scalar] = []
        for i, x in enumerate(values):
            if isinstance(x, float | int) and x in PLAIN and (folds is None or folds[i]):
                known.append(float(x))
            else:
                known.append(None)
                self.values.append(x)
        self.key: tuple[float | None, ...] = tuple(known)

    def symbols(self, read: Iterator[ca.SX]) -> list[Scalar]:
        """Return the numbers, with symbols for those that are read."""
        return [next(read) if known is None else known for known in self.key]  # not empty: as many as were kept apart


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
    """A program that is being written, item by item; `parameters` are what the input `argument` holds."""

    def __init__(self, parameters: ca.SX | None = None, argument: int = -1) -> None:
        self._parameters = ca.SX(0, 1) if parameters is None else parameters
        self._argument = argument
        self._worked_out: dict[tuple[int, ...], Record] = {}  # of groups of expressions, by their CasADi nodes
        self._kept: list[ca.SX] = []  # these expressions, whose nodes stay what they are as long as these are here
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
        constants: Sequence[Scalar] = (),
        *,
        whole: Sequence[int] = (),
    ) -> list[Record]:
        """Add an item; return the records that it leaves.

        `trace` is called once for each kind. Of the records numbered in `whole` nothing is taken as known: their
        readers are of one kind, whoever left them.
        """
        if not self.loops:
            self.begin_loop()
        numbers, more, worked_out = self._apart(constants)
        forms = [self.form(record) for record in (*records, *more)]
        spans = tuple([(-1 if by_row else argument, size) for argument, _, size, by_row in inputs])
        whole_key = (key, tuple([form.key for form in forms]), spans, worked_out)
        kind = self.kinds.get(whole_key)
        if kind is None:
            kind = self.kinds[whole_key] = self._kind(
                trace, forms, inputs, worked_out or (False,) * len(numbers), whole
            )
        item = len(self.items)
        self.items.append(WorkItem(kind, (*records, *more), inputs, numbers))
        return [Record(item, part) for part in range(len(kind.parts))]

    # ------------------------------------------------------------------ parameters

    def work_out(self, groups: Sequence[Sequence[Scalar]]) -> None:
        """Work out constants that are expressions in parameters, each group of them by an item of its own.

        Groups that are alike but for their numbers and parameters share a function, and have a part in what others have
        found. The last one comes first: sums over what a node carries begin at the tips.
        """
        written = {key: group for group in reversed(groups) for key, group in [self._expressions(group)] if group}
        fresh = [key for key in written if key not in self._worked_out]
        columns = [ca.SX(ca.vertcat(*written[key])) for key in fresh]
        left: list[Record] = []
        for key, (form, reads, shared) in zip(fresh, forms_of_groups(columns, self._parameters), strict=True):
            others = list(dict.fromkeys(g for g, _ in shared))
            places = tuple((others.index(g), entry) for g, entry in shared)

            def trace(
                given: ItemInputs, form: ExpressionForm = form, places: Sequence[tuple[int, int]] = places
            ) -> list[StepRecord]:
                found = [given.records[n][entry] for n, entry in places]
                return [form.over([*given.inputs, *found], list(given.constants))]

            spans = [InputSpan(self._argument, place, 1) for place in reads]
            numbers = [float(x) for x in form.numbers]
            (record,) = self.add(
                ("of parameters", form, places), trace, [left[g] for g in others], spans, numbers, whole=(0,)
            )
            left.append(record)
            self._worked_out[key] = record
            self._kept += written[key]

    @staticmethod
    def _expressions(constants: Sequence[Scalar]) -> tuple[tuple[int, ...], list[ca.SX]]:
        """Return the constants that are expressions, and a key for them: their CasADi nodes."""
        group = [x for x in constants if not isinstance(x, float | int)]
        return tuple([x.element_hash() for x in group]), group

    def _apart(self, constants: Sequence[Scalar]) -> tuple[Sequence[float], list[Record], tuple[bool, ...]]:
        """Return the constants that are numbers, the record of the others, and which of all are in that."""
        numbers = [x for x in constants if isinstance(x, float | int)]
        if len(numbers) == len(constants):
            return numbers, [], (False,) * len(numbers)
        key, _ = self._expressions(constants)
        if key not in self._worked_out:
            self.work_out([constants])
        return numbers, [self._worked_out[key]], tuple([not isinstance(x, float | int) for x in constants])

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
        worked_out: Sequence[bool],
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
        expressions = iter(flatten(records.pop()) if any(worked_out) else ())
        read = itertools.count()
        # not empty: one expression for each that is worked out
        constants = (next(expressions) if one else fresh("constant", 0, next(read)) for one in worked_out)
        left = trace(ItemInputs(records, inputs, constants))
        parts = [self._record_form(record, part in whole) for part, record in enumerate(left)]
        return ItemKind(len(self.kinds), symbols, origins, spans, parts)

    def _record_form(self, record: StepRecord, whole: bool) -> RecordForm:
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
