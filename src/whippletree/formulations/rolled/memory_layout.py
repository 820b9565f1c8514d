"""From work items to a loop program: the entries that are needed, their places in memory, and the tables.

An entry of a record is *live* if an output needs it, or a live entry of an item that reads it. Records that are read by
items of one kind are stored alike, so that these find their numbers at the same offsets. Then memory is given out in
the order in which the items run, and taken back when a record has been read for the last time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from whippletree.formulations.rolled.work_items import ClimbPlan, ItemKind, Record, SymbolOrigin, WorkItems
from whippletree.programs.loop_program import (
    Climb,
    ForestSolve,
    ItemLoop,
    LoopProgram,
    MemoryRef,
    ProgramStep,
    Segment,
    StepFunction,
)

__all__ = ["make_program", "unrolled"]


def make_program(items: WorkItems) -> LoopProgram:
    """Return the program of some items, which stores needed entries and no others."""
    return _Layout(items).program()


class _LiveEntries:
    """Which entries of records are needed; records that one kind reads in the same place share their layout."""

    def __init__(self, items: WorkItems) -> None:
        self.kinds = list(items.kinds.values())
        self._leader: dict[tuple[int, int], tuple[int, int]] = {}
        self._read_by: dict[tuple[int, int], tuple[int, int]] = {}  # layout of a kind's n-th record
        self.entries: dict[tuple[int, int], set[int]] = {}
        links = {
            (item.kind.number, n, items.items[record.item].kind.number, record.part)
            for item in items.items
            for n, record in enumerate(item.records)
        }
        for reader, n, kind, part in links:
            other = self._read_by.setdefault((reader, n), (kind, part))
            self._leader[self._find((kind, part))] = self._find(other)
        self._pinned = {(items.items[record.item].kind.number, record.part) for record in items.pinned}
        self._depends = [_dependencies(kind) for kind in self.kinds]
        self._follow()

    def left(self, kind: int, part: int) -> tuple[int, int]:
        """Return the layout of a record that a kind leaves."""
        return self._find((kind, part))

    def arriving(self, kind: int, n: int) -> tuple[int, int]:
        """Return the layout of the n-th record that a kind reads."""
        return self._find(self._read_by[kind, n])

    def _find(self, layout: tuple[int, int]) -> tuple[int, int]:
        way = []
        while (above := self._leader.setdefault(layout, layout)) != layout:
            way.append(layout)
            layout = above
        for one in way:
            self._leader[one] = layout
        return layout

    def of(self, kind: ItemKind, part: int) -> set[int]:
        """Return the entries of a record that are needed."""
        return self.entries.setdefault(self.left(kind.number, part), set())

    def reads(self, kind: ItemKind) -> set[int]:
        """Return the symbols that a kind needs."""
        depends, wanted = self._depends[kind.number], set(kind.sent)
        wanted |= {(part, entry) for part in range(len(kind.parts)) for entry in self.of(kind, part)}
        return {symbol for entry in wanted for symbol in depends[entry]}

    def _follow(self) -> None:
        """Mark the entries that needed entries depend on until no new ones turn up."""
        for number, part in self._pinned:
            self.of(self.kinds[number], part).update(range(len(self.kinds[number].parts[part].scalars)))
        users: dict[tuple[int, int], set[int]] = defaultdict(set)  # kinds that leave what a layout stores
        for kind in self.kinds:
            for part in range(len(kind.parts)):
                users[self.left(kind.number, part)].add(kind.number)
        waiting = {kind.number: None for kind in reversed(self.kinds)}
        while waiting:
            number = next(iter(waiting))  # not empty: the loop ends before
            del waiting[number]
            for symbol in self.reads(self.kinds[number]):
                origin = self.kinds[number].origins[symbol]
                if origin.memory == "record":
                    layout = self.arriving(number, origin.number)
                    found = self.entries.setdefault(layout, set())
                    if origin.entry not in found:
                        found.add(origin.entry)
                        waiting.update(dict.fromkeys(users[layout]))


def _dependencies(kind: ItemKind) -> dict[tuple[int, int], list[int]]:
    """Return for each entry that leaves a kind the symbols it depends on."""
    places = [(part, entry) for part, form in enumerate(kind.parts) for entry in range(len(form.scalars))]
    found: dict[tuple[int, int], list[int]] = {place: [] for place in places}
    if places and kind.symbols:
        values = ca.SX(ca.vertcat(*(kind.parts[part].scalars[entry] for part, entry in places)))
        pattern = ca.jacobian_sparsity(ca.densify(values), ca.vertcat(*kind.symbols))
        for row, column in zip(*pattern.get_triplet(), strict=True):
            found[places[row]].append(column)
    return found


class _Layout:
    """Gives records their places, and writes the program."""

    def __init__(self, items: WorkItems) -> None:
        self.items, self.live = items, _LiveEntries(items)
        self.kinds = self.live.kinds
        self.constants: list[float] = []
        self.offsets = {
            layout: {entry: i for i, entry in enumerate(sorted(entries))}
            for layout, entries in self.live.entries.items()
        }
        self.read = [sorted(self.live.reads(kind)) for kind in self.kinds]
        self.common = self._common_constants()
        self._sizes = [[len(self.stored(kind, part)) for part in range(len(kind.parts))] for kind in self.kinds]
        self.starts: list[list[int]] = []  # where the records of each item start
        self.size = 0
        self._give_memory()

    def stored(self, kind: ItemKind, part: int) -> dict[int, int]:
        """Return where the entries of a record are that are stored."""
        return self.offsets[self.live.left(kind.number, part)]

    def _idle(self, kind: ItemKind) -> bool:
        """Tell whether nothing that a kind leaves is needed."""
        return not kind.sent and not any(self._sizes[kind.number])

    def _common_constants(self) -> list[list[float | None]]:
        """Return for each kind the constants that all its items share, None for those that differ."""
        found: dict[int, list[float | None]] = {}
        for item in self.items.items:
            common = found.setdefault(item.kind.number, list(item.constants))
            for i, x in enumerate(item.constants):
                if common[i] != x:
                    common[i] = None
        return [found[kind.number] for kind in self.kinds]

    # ------------------------------------------------------------------ memory

    def _give_memory(self) -> None:
        """Place every record; memory that has been read for the last time is used again."""
        last = self._last_readers()
        climbing = {i for begin, end, climb in self._loops() if climb is not None for i in range(begin, end)}
        free: dict[int, list[int]] = defaultdict(list)
        returned: dict[int, list[tuple[int, int]]] = defaultdict(list)  # what is free from an item on
        for i, item in enumerate(self.items.items):
            for size, start in returned.pop(i, ()):
                free[size].append(start)
            starts = []
            for part, size in enumerate(() if i in climbing else self._sizes[item.kind.number]):
                if free[size]:
                    start = free[size].pop()
                else:
                    start, self.size = self.size, self.size + size
                starts.append(start)
                # an item reads before it writes, so that its last reader may write over a record
                returned[last.get(Record(i, part), i + 1)].append((size, start))
            self.starts.append(starts)

    def _last_readers(self) -> dict[Record, int]:
        """Return which item reads each record last."""
        last: dict[Record, int] = {}
        used = []
        for kind, symbols in zip(self.kinds, self.read, strict=True):
            origins = (kind.origins[symbol] for symbol in symbols)
            used.append({origin.number for origin in origins if origin.memory == "record"})
        for begin, end, climb in self._loops():
            for i, item in enumerate(self.items.items[begin:end], begin):
                for n in used[item.kind.number]:
                    last[item.records[n]] = i if climb is None else end
            if climb is not None:  # its items run many times
                last.update(dict.fromkeys((climb.carried, *(record for _, record, _, _ in climb.starts)), end))
        return last

    def _loops(self) -> list[tuple[int, int, ClimbPlan | None]]:
        """Return the first item of each loop, the one after its last, and whether it is a climb."""
        ends = [*(begin for begin, _ in self.items.loops[1:]), len(self.items.items)]
        return [(begin, end, climb) for (begin, climb), end in zip(self.items.loops, ends, strict=True)]

    def start(self, record: Record) -> int:
        """Return where a record starts."""
        return self.starts[record.item][record.part]

    # ------------------------------------------------------------------ the program

    def program(self) -> LoopProgram:
        """Write all steps."""
        steps: list[ProgramStep] = []
        for begin, end, climb in self._loops():
            functions, table = self._table(begin, end, climb)
            if not table:
                continue
            if climb is not None:
                steps += self._climb(climb, functions, table)
            elif len(table) == 1:
                steps.append(Segment(_fixed(functions[0], table[0])))
            else:
                steps.append(ItemLoop(functions, table))
        return LoopProgram(tuple(steps), self.size, tuple(self.constants), tuple(self.items.zeroed.items()))

    def _table(
        self, begin: int, end: int, climb: ClimbPlan | None
    ) -> tuple[tuple[StepFunction, ...], tuple[tuple[int, ...], ...]]:
        """Return the functions of a loop, and a row for each of its items."""
        found: dict[int, _KindFunction] = {}
        rows: list[list[int]] = []
        for i in range(begin, end):
            kind = self.items.items[i].kind
            if kind.number not in found:
                if self._idle(kind):
                    continue
                found[kind.number] = _KindFunction(self, kind, len(found), climb)
            rows.append(found[kind.number].row(i))
        width = max((len(row) for row in rows), default=0)
        table = [(*row, *(0,) * (width - len(row))) for row in rows]
        if climb is not None:
            table = [(*row, above) for row, above in zip(table, climb.above, strict=True)]
        return tuple(one.function for one in found.values()), tuple(table)

    def _climb(
        self, climb: ClimbPlan, functions: tuple[StepFunction, ...], table: tuple[tuple[int, ...], ...]
    ) -> list[ProgramStep]:
        """Return a climb, and the solve with its matrix if the climb serves one."""
        carried = self.start(climb.carried)
        unknowns = climb.unknowns
        columns = [column for _, _, _, column in climb.starts]
        solve: list[ProgramStep] = []
        if unknowns is not None:
            rows = tuple((place, above, depth, self.size + begin) for place, above, depth, begin in unknowns)
            columns = [rows[column][3] for column in columns]
            solve = [ForestSolve(rows, least=climb.least)]
            self.size += climb.size
        starts = [
            (item, self.start(record) + entry, column)
            for (item, record, entry, _), column in zip(climb.starts, columns, strict=True)
        ]
        packed = unknowns is not None
        size = len(self.items.form(climb.carried).scalars)
        return [Climb(functions, table, tuple(starts), carried, size, climb.order, packed), *solve]


class _KindFunction:
    """The function of a kind of items within a loop, and the meaning of the columns of their rows."""

    def __init__(self, layout: _Layout, kind: ItemKind, number: int, climb: ClimbPlan | None) -> None:
        self._layout, self._kind, self._number, self._climb = layout, kind, number, climb
        self._columns: dict[tuple[str, int], int] = {}
        self._common = layout.common[kind.number]
        self._varying = [i for i, x in enumerate(self._common) if x is None]
        read = [s for s in layout.read[kind.number] if not self._folds(kind.origins[s])]
        sources = tuple(self._source(kind.origins[s]) for s in read)
        scalars = [
            (form.scalars[entry], part, entry)
            for part, form in enumerate(kind.parts)
            for entry in layout.stored(kind, part)
        ]
        targets = [self._target(part, entry) for _, part, entry in scalars]
        values = [scalar for scalar, _, _ in scalars]
        for (part, entry), (argument, element, add) in kind.sent.items():
            values.append(kind.parts[part].scalars[entry])
            targets.append(MemoryRef("output", element, self._column("output", part), argument, add))
        symbols = ca.SX(ca.vertcat(ca.SX(0, 1), *(kind.symbols[s] for s in read)))
        self.function = StepFunction(ca.Function("step", [symbols], [self._folded(values)]), sources, tuple(targets))

    def _folds(self, origin: SymbolOrigin) -> bool:
        return origin.memory == "constant" and self._common[origin.entry] is not None

    def _folded(self, results: Sequence[ca.SX]) -> ca.SX:
        """Return results as a column, with the constants that all items share put in."""
        column = ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *results)))
        given = zip(self._kind.symbols, self._kind.origins, strict=True)
        folded = [(symbol, self._common[origin.entry]) for symbol, origin in given if self._folds(origin)]
        if not folded:
            return column
        symbols, values = (ca.SX(ca.vertcat(*part)) for part in zip(*folded, strict=True))
        return ca.densify(ca.substitute(column, symbols, values))

    def _column(self, memory: str, number: int = 0) -> int:
        return self._columns.setdefault((memory, number), len(self._columns) + 1)

    def _source(self, origin: SymbolOrigin) -> MemoryRef:
        memory, number, entry = origin
        if memory == "constant":
            return MemoryRef("constant", self._varying.index(entry), self._column("constant"))
        if memory == "input":
            span = self._kind.spans[number]
            if span.by_row:
                return MemoryRef("pointer", entry, -1, self._column("input", number))
            return MemoryRef("input", entry, self._column("input", number), span.argument)
        offset = self._layout.offsets[self._layout.live.arriving(self._kind.number, number)][entry]
        if self._climb is not None and number == 0:
            return MemoryRef("work", self._layout.start(self._climb.carried) + offset)
        return MemoryRef("work", offset, self._column("record", number))

    def _target(self, part: int, entry: int) -> MemoryRef:
        offset = self._layout.stored(self._kind, part)[entry]
        if self._climb is not None:
            return MemoryRef("work", self._layout.start(self._climb.carried) + offset)
        return MemoryRef("work", offset, self._column("part", part))

    def row(self, i: int) -> list[int]:
        """Return the row of an item, whose constants are written down."""
        layout = self._layout
        item, row = layout.items.items[i], [self._number]
        for memory, number in self._columns:
            if memory == "record":
                row.append(layout.start(item.records[number]))
            elif memory == "part":
                row.append(layout.start(Record(i, number)))
            elif memory == "input":
                row.append(item.inputs[number].argument if item.inputs[number].by_row else item.inputs[number].start)
            elif memory == "output":
                row.append(layout.items.output_start[Record(i, number)])
            else:
                row.append(len(layout.constants))
                layout.constants.extend(item.constants[k] for k in self._varying)
        return row


def _fixed(step: StepFunction, row: Sequence[int]) -> StepFunction:
    """Return a function that runs once, with the item's row put into its places."""

    def place(ref: MemoryRef) -> MemoryRef:
        if ref.memory == "pointer":
            return MemoryRef("input", ref.offset, -1, row[ref.argument])
        return replace(ref, offset=ref.offset + row[ref.column], column=-1) if ref.column >= 0 else ref

    return StepFunction(step.function, tuple(map(place, step.sources)), tuple(map(place, step.targets)))


def unrolled(program: LoopProgram, inputs: Sequence[ca.SX], size: int) -> ca.SX:
    """Return a program's result (size) as one straight line: every item's function called on expressions."""
    given = [ca.vertsplit(x) if x.numel() else [] for x in inputs]
    work = [ca.SX(0)] * program.work_size
    out = [ca.SX(0)] * size
    for step in program.steps:
        assert isinstance(step, Segment | ItemLoop), "a climb has no straight line"
        variants, table = ((step.variant,), ((0,),)) if isinstance(step, Segment) else (step.variants, step.table)
        for row in table:
            variant = variants[row[0]]
            values = []
            for ref in variant.sources:
                at = ref.offset + (row[ref.column] if ref.column >= 0 else 0)
                if ref.memory == "work":
                    values.append(work[at])
                elif ref.memory == "constant":
                    values.append(ca.SX(program.constants[at]))
                else:
                    values.append(given[row[ref.argument] if ref.memory == "pointer" else ref.argument][at])
            results = ca.vertsplit(variant.function(ca.vertcat(ca.SX(0, 1), *values)))
            for ref, value in zip(variant.targets, results, strict=True):
                memory = work if ref.memory == "work" else out
                at = ref.offset + (row[ref.column] if ref.column >= 0 else 0)
                memory[at] = memory[at] + value if ref.add else value
    return ca.SX(ca.vertcat(*out))
