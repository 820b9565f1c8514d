"""Programs that loop over items: compile time depends on the number of kinds, not of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from whippletree.foundation.arrays import Array
from whippletree.kernels.forest import count_solve, solve_ir
from whippletree.kernels.forest_columns import ColumnTables, columns_ir, count_columns
from whippletree.kernels.lowering import (
    ARGUMENTS,
    BLOCK,
    SEARCH,
    LoweredBody,
    Pool,
    declarations,
    flushing,
    table_numbers,
)
from whippletree.kernels.tape import OperationCount, Tape, arrange, fuse, read_tape
from whippletree.kernels.trig import vector_type
from whippletree.programs.loop_program import (
    SIDE_BY_SIDE,
    Climb,
    ForestColumns,
    ForestSolve,
    ItemLoop,
    LoopProgram,
    MemoryRef,
    ProgramStep,
    RepeatedSteps,
    Segment,
    StepFunction,
)

__all__ = ["RolledLoops", "TapeStep"]


@dataclass(frozen=True)
class TapeStep(StepFunction):
    """A step whose operations are given as they are to be compiled, instead of a function."""

    tape: Tape


class RolledLoops:
    """A program from loops, as formulations write them; `flush` is as in `StraightLine`."""

    def __init__(self, program: LoopProgram, *, flush: bool = False) -> None:
        self.program, self.flush = program, flush
        self.work_size = program.work_size
        self.pool = Pool(1, len(program.constants))
        rows: list[int] = []
        self.starts: list[tuple[int, ...]] = []
        for step in _flat(program.steps):
            if isinstance(step, Segment):
                self.starts.append(())
                continue
            begin = len(rows)
            if isinstance(step, ForestColumns):
                rows.extend(ColumnTables(step, begin).numbers())
                self.starts.append((begin,))
                continue
            rows.extend(x for row in step.table for x in row)
            second = len(rows)
            if isinstance(step, Climb):
                rows.extend(x for row in step.starts for x in row)
            elif isinstance(step, ForestSolve):
                rows.extend(np.array(step.least, dtype=np.float32).view(np.int32).tolist())
            elif step.abreast:
                rows.extend(x for part in side_by_side(step) for row in part for x in row)
            self.starts.append((begin, second))
        self.tables = np.array(rows, dtype=np.int32)
        self._tapes: dict[int, Tape] = {}
        self._fixed = np.array(program.constants, dtype=np.float64)
        self.lookups: dict[bytes, int] = {}  # where in the constants numbers of tables are

    @property
    def constants(self) -> Array:
        """The items' constants, the tables of their steps, and the numbers that the code written last reads."""
        gap = np.zeros(max(self.pool.start - self._fixed.size, 0))
        return np.concatenate([self._fixed, gap, self.pool.values])

    def count(self) -> OperationCount:
        """Count the operations of one evaluation."""
        return self._counted(self.program.steps)

    def _counted(self, steps: Sequence[ProgramStep]) -> OperationCount:
        total = OperationCount()
        for step in steps:
            if isinstance(step, RepeatedSteps):
                total = total + step.times * self._counted(step.steps)
            elif isinstance(step, Segment):
                total = total + self.tape(step.variant).count()
            elif isinstance(step, ForestSolve):
                total = total + count_solve(step)
            elif isinstance(step, ForestColumns):
                total = total + count_columns(step)
            else:
                times = Counter(row[0] for row in _visits(step))
                for k, n in times.items():
                    total = total + n * self.tape(step.variants[k]).count()
        return total

    def operations(self) -> set[str]:
        """Return the names of all operations that occur in steps of any kind."""
        kinds = [kind for step in _flat(self.program.steps) for kind in _kinds(step)]
        return {name for kind in kinds for name, _ in self.tape(kind).operations}

    def tape(self, variant: StepFunction) -> Tape:
        """Return the operations of a step, read once."""
        key = id(variant)
        if key not in self._tapes:
            given = variant.tape if isinstance(variant, TapeStep) else fuse(read_tape(variant.function))
            tape = self._tapes[key] = arrange(given)
            numbers = table_numbers(tape)
            if numbers.tobytes() not in self.lookups:
                self.lookups[numbers.tobytes()] = self._fixed.size
                self._fixed = np.concatenate([self._fixed, numbers])
        return self._tapes[key]

    def tables_at(self, variant: StepFunction) -> int:
        """Return where in the constants the numbers are that a step looks up."""
        return self.lookups[table_numbers(self.tape(variant)).tobytes()]

    def ir(self, *, name: str, width: int, pack: int, fused: bool) -> str:
        """Return a module that runs the steps for `width` states."""
        self.operations()  # reads all tables
        self.pool = Pool(max(width, pack), self._fixed.size)
        writer = _Writer(self, width, pack, fused)
        return writer.module(name)


def _flat(steps: Sequence[ProgramStep]) -> list[Segment | ItemLoop | Climb | ForestSolve | ForestColumns]:
    """Return all steps in order, those that are repeated once."""
    found: list[Segment | ItemLoop | Climb | ForestSolve | ForestColumns] = []
    for step in steps:
        found += step.steps if isinstance(step, RepeatedSteps) else [step]
    return found


def _kinds(step: Segment | ItemLoop | Climb | ForestSolve | ForestColumns) -> Sequence[StepFunction]:
    """Return the functions that a step runs; solutions of triangular systems have none."""
    if isinstance(step, Segment):
        return [step.variant]
    return step.variants if isinstance(step, ItemLoop | Climb) else ()


def _visits(step: ItemLoop | Climb) -> Iterator[tuple[int, ...]]:
    """Yield the table's rows as often as a step visits them."""
    if isinstance(step, ItemLoop):
        yield from step.table
        return
    for start in step.starts:
        item = start[0]
        while item >= 0:
            yield step.table[item]
            item = step.table[item][-1]


class _Writer:
    """Writes one function with all steps."""

    def __init__(self, loops: RolledLoops, width: int, pack: int, fused: bool) -> None:
        self.loops, self.width, self.pack, self.fused = loops, width, pack, fused
        self.T, self.align = vector_type(width), 8 * width
        self.lines: list[str] = []
        self.functions: list[str] = []  # that the lines call
        self.rounds = 0
        self.numbered: Iterator[tuple[int, tuple[int, ...]]] = iter(())

    def module(self, name: str) -> str:
        program = self.loops.program
        flush, restore, declared = flushing(self.loops.flush)
        self.lines = [f"define void @{name}({ARGUMENTS}) #2 {{", "entry:", *flush]
        self.lines.append("  %go = icmp ne ptr %out, null")
        self._pointers(program)
        for argument, size in program.zeroed:
            self._clear(f"%o{argument}", size)
        for place, size in program.zeroed_work:
            self.lines.append(f"  %cleared{place} = getelementptr {self.T}, ptr %work, i64 {place}")
            self._clear(f"%cleared{place}", size)
        self.numbered = iter(enumerate(self.loops.starts))
        for step in program.steps:
            self._step(step)
        self.lines += ["  br label %stop", "stop:", *restore, "  ret void", "}"]
        memset = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n" + declared
        search = [SEARCH] if any(self.loops.lookups) else []
        whole = "\n".join(["\n".join(self.lines), *self.functions, *search, memset])
        return whole + declarations(self.width, {1, self.pack, SIDE_BY_SIDE}, self.loops.pool, whole)

    def _step(self, step: ProgramStep) -> None:
        """Write a step; those that are repeated in a loop around them."""
        if isinstance(step, RepeatedSteps):
            self._repeated(step)
            return
        i, start = next(self.numbered)  # not empty: each step has a start
        if isinstance(step, Segment):
            self._segment(step.variant, f"s{i}_")
        elif isinstance(step, ItemLoop):
            self._item_loop(step, start, f"s{i}_")
        elif isinstance(step, ForestSolve):
            options: Any = {"width": self.width, "pack": self.pack, "fused": self.fused}
            self.lines += solve_ir(step, start[0], f"s{i}_", **options)
        elif isinstance(step, ForestColumns):
            tables = ColumnTables(step, start[0])
            lines, functions = columns_ir(tables, f"s{i}_", width=self.width, fused=self.fused)
            self.lines += lines
            self.functions.append(functions)
        else:
            self._climb(step, start, f"s{i}_")

    def _repeated(self, step: RepeatedSteps) -> None:
        """Write rounds of steps."""
        self.rounds += 1
        name = f"round{self.rounds}"
        self.lines += [
            f"  br label %{name}before",
            f"{name}before:",
            f"  br label %{name}",
            f"{name}:",
            f"  %{name}i = phi i64 [0, %{name}before], [%{name}next, %{name}latch]",
        ]
        for one in step.steps:
            self._step(one)
        self.lines += [
            f"  br label %{name}latch",
            f"{name}latch:",
            f"  %{name}next = add i64 %{name}i, 1",
            f"  %{name}more = icmp slt i64 %{name}next, {step.times}",
            f"  br i1 %{name}more, label %{name}, label %{name}after",
            f"{name}after:",
        ]

    def _clear(self, pointer: str, size: int) -> None:
        """Set numbers to zero."""
        count = 8 * self.width * size
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr align 8 {pointer}, i8 0, i64 {count}, i1 false)")

    def _pointers(self, program: LoopProgram) -> None:
        """Load the addresses of inputs and outputs that are used."""
        used: set[tuple[str, int]] = set()
        for step in _flat(program.steps):
            if isinstance(step, ForestSolve):
                if step.vector is not None and not step.in_work:
                    used.add(("o", step.vector))
                used.update(("i", argument) for argument in step.given or ())
                continue
            if isinstance(step, ForestColumns):
                used.add(("o", 0))
                continue
            variants = [step.variant] if isinstance(step, Segment) else step.variants
            for variant in variants:
                for place in (*variant.sources, *variant.targets):
                    if place.memory in ("input", "output"):
                        used.add((place.memory[0], place.argument))
        used.update(("o", argument) for argument, _ in program.zeroed)
        for letter, argument in sorted(used):
            array = "%in" if letter == "i" else "%out"
            self.lines += [
                f"  %p{letter}{argument} = getelementptr ptr, ptr {array}, i64 {argument}",
                f"  %{letter}{argument} = load ptr, ptr %p{letter}{argument}, align 8, !invariant.load !0",
            ]

    def _item_loop(self, loop: ItemLoop, start: tuple[int, ...], prefix: str) -> None:
        """Write a loop over items; with one state, several at once side by side, then the remaining ones."""
        if not loop.abreast or self.width > 1:
            self._loop(loop, start[0], len(loop.table), prefix)
            return
        groups, alone = side_by_side(loop)
        if groups:
            self._loop(loop, start[1], len(groups), f"{prefix}g", abreast=loop.abreast)
        if alone:
            self._loop(loop, start[1] + len(groups) * len(loop.table[0]), len(alone), prefix)

    def _loop(self, loop: ItemLoop, start: int, count: int, prefix: str, abreast: tuple[int, ...] = ()) -> None:
        """Write a loop over a table."""
        columns = len(loop.table[0])
        before, head, after = (f"{prefix}{word}" for word in ("before", "head", "after"))
        self.lines += [
            f"  br label %{before}",
            f"{before}:",
            f"  br label %{head}",
            f"{head}:",
            f"  %{prefix}i = phi i64 [0, %{before}], [%{prefix}next, %{prefix}latch]",
            f"  %{prefix}at = mul i64 %{prefix}i, {columns}",
            f"  %{prefix}from = add i64 %{prefix}at, {start}",
            f"  %{prefix}row = getelementptr i32, ptr %tables, i64 %{prefix}from",
        ]
        self._switch(loop.variants, prefix, f"%{prefix}row", None, abreast)
        self.lines += [
            f"{prefix}latch:",
            f"  %{prefix}next = add i64 %{prefix}i, 1",
            f"  %{prefix}more = icmp slt i64 %{prefix}next, {count}",
            f"  br i1 %{prefix}more, label %{head}, label %{after}",
            f"{after}:",
        ]

    def _switch(
        self,
        variants: Sequence[StepFunction],
        prefix: str,
        row: str,
        climb: _Filled | None,
        abreast: tuple[int, ...] = (),
    ) -> None:
        """Write the choice between variants, each ending at the latch."""
        if len(variants) == 1:
            self.lines.append(f"  br label %{prefix}v0")
        else:
            cases = " ".join(f"i32 {k}, label %{prefix}v{k}" for k in range(1, len(variants)))
            self.lines += [
                f"  %{prefix}kind = load i32, ptr {row}, align 4",
                f"  switch i32 %{prefix}kind, label %{prefix}v0 [{cases}]",
            ]
        for k, variant in enumerate(variants):
            self.lines.append(f"{prefix}v{k}:")
            if abreast:
                self._variant_abreast(variant, f"{prefix}v{k}_", row, abreast)
            else:
                self._variant(variant, f"{prefix}v{k}_", row, climb)
            self.lines.append(f"  br label %{prefix}latch")

    def _segment(self, variant: StepFunction, prefix: str) -> None:
        """Write a function that is evaluated once, in blocks if it is long and reads nothing that it writes."""
        tape = self.loops.tape(variant)
        written = {(place.memory, place.argument, place.offset) for place in variant.targets}
        read = {(place.memory, place.argument, place.offset) for place in variant.sources}
        if len(tape.operations) < BLOCK or written & read:
            self._variant(variant, prefix, None)
            return
        places: dict[int, list[int]] = {}
        for _, element, value in tape.outputs:
            places.setdefault(value, []).append(element)

        def load(lines: list[str], argument: int, element: int) -> str:
            return _Addresses(self, f"{prefix}{len(lines)}_", None).load(lines, variant.sources[element])

        def store(value: int) -> None:
            for element in places.pop(value, ()):
                address = _Addresses(self, f"{prefix}r{element}_", None)
                address.store(body.lines, variant.targets[element], body.result(value))

        body = self._body(variant, load, prefix, block=BLOCK, found=store)
        body.write()
        for value in list(places):
            store(value)
        self.lines += body.lines

    def _body(
        self,
        variant: StepFunction,
        load: Callable[[list[str], int, int], str],
        prefix: str,
        lanes: int = 0,
        block: int = 0,
        found: Callable[[int], None] | None = None,
    ) -> LoweredBody:
        """Return the operations of a step, to be written; for one state in each of `lanes`, if they are given."""
        loops, width, pack = self.loops, lanes or self.width, lanes or self.pack
        tape, at = loops.tape(variant), loops.tables_at(variant)
        return LoweredBody(tape, width, pack, load, prefix, self.fused, loops.pool, block, found, at)

    def _variant(self, variant: StepFunction, prefix: str, row: str | None, climb: _Filled | None = None) -> None:
        """Write one step."""
        address = _Addresses(self, prefix, row)

        def load(lines: list[str], argument: int, element: int) -> str:
            return address.load(lines, variant.sources[element])

        body = self._body(variant, load, prefix)
        body.write()
        # everything is read before anything is written: a record may take the place of one that was read
        results = [(variant.targets[element], body.result(value)) for _, element, value in body.tape.outputs]
        for place, result in results:
            if climb is not None and place.memory == "output":
                climb.store(body.lines, self, address, place, result)
            else:
                address.store(body.lines, place, result)
        self.lines += body.lines

    def _variant_abreast(self, variant: StepFunction, prefix: str, row: str, abreast: tuple[int, ...]) -> None:
        """Write one step for several items that stand side by side, with one state."""
        address = _AddressesAbreast(self, prefix, row, abreast)

        def load(lines: list[str], argument: int, element: int) -> str:
            return address.load(lines, variant.sources[element])

        body = self._body(variant, load, prefix, lanes=SIDE_BY_SIDE)
        body.write()
        for _, element, value in body.tape.outputs:
            address.store(body.lines, variant.targets[element], body.result(value))
        self.lines += body.lines

    def _climb(self, climb: Climb, start: tuple[int, ...], prefix: str) -> None:
        """Write a climb: for every start, a walk to the end of its chain."""
        table, starts = start
        columns, T, align = len(climb.table[0]), self.T, self.align
        names = ("before", "head", "inner", "after", "done")
        before, head, inner, after, done = (f"{prefix}{word}" for word in names)
        self.lines += [
            f"  br label %{before}",
            f"{before}:",
            f"  br label %{head}",
            f"{head}:",
            f"  %{prefix}s = phi i64 [0, %{before}], [%{prefix}snext, %{done}]",
            f"  %{prefix}s3 = mul i64 %{prefix}s, 3",
            f"  %{prefix}sat = add i64 %{prefix}s3, {starts}",
            f"  %{prefix}srow = getelementptr i32, ptr %tables, i64 %{prefix}sat",
        ]
        for i, word in enumerate(("first", "source", "column")):
            self.lines += [
                f"  %{prefix}{word}p = getelementptr i32, ptr %{prefix}srow, i64 {i}",
                f"  %{prefix}{word}n = load i32, ptr %{prefix}{word}p, align 4",
                f"  %{prefix}{word} = sext i32 %{prefix}{word}n to i64",
            ]
        for i in range(climb.size):
            self.lines += [
                f"  %{prefix}f{i} = add i64 %{prefix}source, {i}",
                f"  %{prefix}g{i} = getelementptr {T}, ptr %work, i64 %{prefix}f{i}",
                f"  %{prefix}h{i} = load {T}, ptr %{prefix}g{i}, align {align}",
                f"  %{prefix}k{i} = getelementptr {T}, ptr %work, i64 {climb.carried + i}",
                f"  store {T} %{prefix}h{i}, ptr %{prefix}k{i}, align {align}",
            ]
        self.lines += [
            f"  br label %{inner}",
            f"{inner}:",
            f"  %{prefix}j = phi i64 [%{prefix}first, %{head}], [%{prefix}next, %{prefix}latch]",
            f"  %{prefix}at = mul i64 %{prefix}j, {columns}",
            f"  %{prefix}from = add i64 %{prefix}at, {table}",
            f"  %{prefix}row = getelementptr i32, ptr %tables, i64 %{prefix}from",
        ]
        filled = _ClimbRow(f"%{prefix}column") if climb.packed else _ClimbColumn(f"%{prefix}column", climb.order)
        self._switch(climb.variants, prefix, f"%{prefix}row", filled)
        self.lines += [
            f"{prefix}latch:",
            f"  %{prefix}np = getelementptr i32, ptr %{prefix}row, i64 {columns - 1}",
            f"  %{prefix}nn = load i32, ptr %{prefix}np, align 4",
            f"  %{prefix}next = sext i32 %{prefix}nn to i64",
            f"  %{prefix}on = icmp sge i64 %{prefix}next, 0",
            f"  br i1 %{prefix}on, label %{inner}, label %{done}",
            f"{done}:",
            f"  %{prefix}snext = add i64 %{prefix}s, 1",
            f"  %{prefix}more = icmp slt i64 %{prefix}snext, {len(climb.starts)}",
            f"  br i1 %{prefix}more, label %{head}, label %{after}",
            f"{after}:",
        ]


def side_by_side(loop: ItemLoop) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the first items of groups that stand side by side, and the items that are left over.

    The last group of a row of items begins early enough to be full.
    """
    groups: list[tuple[int, ...]] = []
    alone: list[tuple[int, ...]] = []
    run: list[tuple[int, ...]] = []
    ones = tuple(int(column in loop.abreast) for column in range(len(loop.table[0])))
    for row in (*loop.table, None):
        if run and row is not None and row == tuple(map(sum, zip(run[-1], ones, strict=True))):
            run.append(row)
            continue
        if len(run) < SIDE_BY_SIDE:
            alone += run
        else:
            groups += [*run[:-SIDE_BY_SIDE:SIDE_BY_SIDE], run[-SIDE_BY_SIDE]]
        run = [] if row is None else [row]
    return groups, alone


class _Filled(Protocol):
    """Where a climb's results go."""

    def store(self, lines: list[str], writer: _Writer, address: _Addresses, place: MemoryRef, value: str) -> None:
        """Write the store of a result."""
        ...


class _ClimbRow:
    """Where a climb's results go if its matrix is packed: to the start's own row, by depth."""

    def __init__(self, begin: str) -> None:
        self.begin = begin

    def store(self, lines: list[str], writer: _Writer, address: _Addresses, place: MemoryRef, value: str) -> None:
        a, b, p = (address.name() for _ in range(3))
        lines += [
            f"  {a} = add i64 {address.column(lines, place.column)}, {place.offset}",
            f"  {b} = add i64 {a}, {self.begin}",
            f"  {p} = getelementptr {writer.T}, ptr %work, i64 {b}",
            f"  store {writer.T} {value}, ptr {p}, align {writer.align}",
        ]


class _ClimbColumn:
    """Where a climb's results go: entry (row, column) of a matrix, and its mirror image."""

    def __init__(self, column: str, order: int) -> None:
        self.column, self.order = column, order

    def store(self, lines: list[str], writer: _Writer, address: _Addresses, place: MemoryRef, value: str) -> None:
        T, align = writer.T, writer.align
        row, a, b, c, d, p, r = (address.name() for _ in range(7))
        lines += [
            f"  {row} = add i64 {address.column(lines, place.column)}, {place.offset}",
            f"  {a} = mul i64 {row}, {self.order}",
            f"  {b} = add i64 {a}, {self.column}",
            f"  {c} = mul i64 {self.column}, {self.order}",
            f"  {d} = add i64 {c}, {row}",
            f"  {p} = getelementptr {T}, ptr %o{place.argument}, i64 {b}",
            f"  store {T} {value}, ptr {p}, align {align}",
            f"  {r} = getelementptr {T}, ptr %o{place.argument}, i64 {d}",
            f"  store {T} {value}, ptr {r}, align {align}",
        ]


class _Addresses:
    """Addresses within one step; table columns and bases are loaded once."""

    def __init__(self, writer: _Writer, prefix: str, row: str | None) -> None:
        self._writer, self._prefix, self._row = writer, prefix, row
        self._columns: dict[int, str] = {}
        self._bases: dict[tuple[str, int, int], str] = {}
        self._count = 0

    def name(self) -> str:
        """Return a fresh name."""
        self._count += 1
        return f"%{self._prefix}a{self._count}"

    def column(self, lines: list[str], column: int) -> str:
        """Return an entry of the item's table row."""
        if column not in self._columns:
            pointer, raw, value = self.name(), self.name(), self.name()
            lines += [
                f"  {pointer} = getelementptr i32, ptr {self._row}, i64 {column}",
                f"  {raw} = load i32, ptr {pointer}, align 4, !invariant.load !0",
                f"  {value} = sext i32 {raw} to i64",
            ]
            self._columns[column] = value
        return self._columns[column]

    def _base(self, lines: list[str], place: MemoryRef) -> str:
        """Return the pointer that a place's fixed offset starts from."""
        key = (place.memory, place.argument, place.column)
        if key in self._bases:
            return self._bases[key]
        T = self._writer.T if place.memory != "constant" else "double"
        base = {
            "input": f"%i{place.argument}",
            "output": f"%o{place.argument}",
            "constant": "%constants",
            "work": "%work",
        }.get(place.memory, "")
        if place.memory == "pointer":
            entry, base = self.name(), self.name()
            lines.append(f"  {entry} = getelementptr ptr, ptr %in, i64 {self.column(lines, place.argument)}")
            lines.append(f"  {base} = load ptr, ptr {entry}, align 8, !invariant.load !0")
        elif place.column >= 0:
            offset = self.column(lines, place.column)
            moved = self.name()
            lines.append(f"  {moved} = getelementptr {T}, ptr {base}, i64 {offset}")
            base = moved
        self._bases[key] = base
        return base

    def _pointer(self, lines: list[str], place: MemoryRef) -> str:
        T = self._writer.T if place.memory != "constant" else "double"
        base, pointer = self._base(lines, place), self.name()
        lines.append(f"  {pointer} = getelementptr {T}, ptr {base}, i64 {place.offset}")
        return pointer

    def load(self, lines: list[str], place: MemoryRef) -> str:
        """Write the load of a number; constants are spread over the lanes."""
        writer, pointer, value = self._writer, self._pointer(lines, place), self.name()
        T, width = writer.T, writer.width
        fixed = ", !invariant.load !0" if place.memory in ("input", "pointer", "constant") else ""
        if place.memory != "constant" or width == 1:
            lines.append(f"  {value} = load {T}, ptr {pointer}, align {writer.align}{fixed}")
            return value
        one, spread = self.name(), self.name()
        zeros = f"<{width} x i32> zeroinitializer"
        lines += [
            f"  {one} = load double, ptr {pointer}, align 8{fixed}",
            f"  {spread} = insertelement {T} poison, double {one}, i32 0",
            f"  {value} = shufflevector {T} {spread}, {T} poison, {zeros}",
        ]
        return value

    def store(self, lines: list[str], place: MemoryRef, value: str) -> None:
        """Write the store of a result, or its addition to the value that is there."""
        T, align = self._writer.T, self._writer.align
        pointer = self._pointer(lines, place)
        if place.add:
            old, new = self.name(), self.name()
            lines += [
                f"  {old} = load {T}, ptr {pointer}, align {align}",
                f"  {new} = fadd {T} {old}, {value}",
            ]
            value = new
        lines.append(f"  store {T} {value}, ptr {pointer}, align {align}")


class _AddressesAbreast(_Addresses):
    """Addresses of items that stand side by side, with one state.

    What is found by one of the columns `abreast` is different for each of them, and all else the same.
    """

    def __init__(self, writer: _Writer, prefix: str, row: str, abreast: tuple[int, ...]) -> None:
        super().__init__(writer, prefix, row)
        self._abreast, self._kind = abreast, vector_type(SIDE_BY_SIDE)

    def load(self, lines: list[str], place: MemoryRef) -> str:
        """Write the load of numbers; one that all share is spread over them."""
        value, kind = self.name(), self._kind
        pointer = self._pointer(lines, place)
        if place.column in self._abreast:
            lines.append(f"  {value} = load {kind}, ptr {pointer}, align 8")
            return value
        one, spread = self.name(), self.name()
        lines += [
            f"  {one} = load double, ptr {pointer}, align 8",
            f"  {spread} = insertelement {kind} poison, double {one}, i32 0",
            f"  {value} = shufflevector {kind} {spread}, {kind} poison, <{SIDE_BY_SIDE} x i32> zeroinitializer",
        ]
        return value

    def store(self, lines: list[str], place: MemoryRef, value: str) -> None:
        """Write the store of results."""
        assert place.column in self._abreast and not place.add
        lines.append(f"  store {self._kind} {value}, ptr {self._pointer(lines, place)}, align 8")
