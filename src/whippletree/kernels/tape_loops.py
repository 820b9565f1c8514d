"""Long straight lines as loops: what repeats itself in a tape is found, and becomes code once.

A mechanism of many equal parts leaves a tape in which the same operations come again and again, on other numbers. The
tape is cut into *chunks* of neighbouring operations. Chunks are of one *kind* if they do the same to the numbers that
they read, wherever these are; a kind is compiled once, and a loop runs the chunks in the order of the tape. Nothing is
known about mechanisms here, and every operation stays as it is: a result has the bits of the straight line.

Chunks begin as single operations and grow by pairs that stand side by side often. Which pairs grow in a round follows
from their kinds alone, so that equal stretches of the tape are cut alike (recompression, after Jez). What does not
repeat itself ends in chunks that run once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import casadi as ca

from whippletree.kernels.loop_lowering import RolledLoops, TapeStep
from whippletree.kernels.lowering import StraightLine
from whippletree.kernels.tape import OperationCount, Tape, fuse
from whippletree.programs.loop_program import ItemLoop, LoopProgram, MemoryRef, ProgramStep, StepFunction
from whippletree.programs.step_tables import LoopTable, Numbers, copied, step_function

__all__ = ["LongLine"]

OFTEN = 12
"""Pairs of chunks that stand side by side at least so often become one."""

SMALL = 32
"""Chunks of fewer operations are joined with their neighbours at the end: what does not repeat itself is straight."""

LONGEST = 400
"""Chunks have at most so many operations."""

_LEAVES = ("const", "input")
_NOTHING = ca.Function("nothing", [], [])


@dataclass
class _TapeChunk:
    """Operations of the tape from `first` to `last`, and the values from elsewhere that they read, in their order."""

    kind: int
    first: int
    last: int
    reads: list[int]


class LongLine(RolledLoops):
    """A straight line as loops, with the same operations; `code` is the number of those that are compiled.

    >>> x = ca.SX.sym("x", 200)
    >>> y = ca.vertcat(*(ca.sin(x[i]) * x[i] + 3 for i in range(200)))
    >>> LongLine(StraightLine(ca.Function("f", [x], [y]))).code
    48
    """

    def __init__(self, line: StraightLine) -> None:
        function, self._line = line.function, line
        cut = _CutTape(fuse(line.tape), [function.numel_in(i) for i in range(function.n_in())])
        super().__init__(cut.written())
        self.code = sum({chunk.kind: chunk.last + 1 - chunk.first for chunk in cut.chunks}.values())

    def count(self) -> OperationCount:
        """Count the operations of one evaluation."""
        return self._line.count()


class _CutTape:
    """A tape that is cut into chunks, and where their numbers are in work memory."""

    def __init__(self, tape: Tape, sizes: Sequence[int]) -> None:
        self.tape = tape
        self.body = [k for k, (name, _) in enumerate(tape.operations) if name not in _LEAVES]
        self.place = {k: i for i, k in enumerate(self.body)}  # of each operation among those that are no leaves
        self.sizes = sizes
        self.constants = sorted(tape.constants)
        self.chunks = self._cut()

    # ------------------------------------------------------------------ chunks

    def _operands(self, k: int) -> tuple[int, ...]:
        """Return the values that an operation reads; an exponent that is a number belongs to the operation."""
        name, operands = self.tape.operations[k]
        return operands[:1] if name == "pow" and operands[1] in self.tape.constants else operands

    def _cut(self) -> list[_TapeChunk]:
        """Cut the tape into chunks."""
        kinds: dict[Hashable, int] = {}
        chunks = []
        for i, k in enumerate(self.body):
            name, operands = self.tape.operations[k]
            reads = list(dict.fromkeys(self._operands(k)))
            own = self.tape.constants[operands[1]] if len(operands) > len(self._operands(k)) else None
            key = name, tuple(reads.index(o) for o in self._operands(k)), own
            chunks.append(_TapeChunk(kinds.setdefault(key, len(kinds)), i, i, reads))
        while True:
            before = len(chunks)
            chunks = self._joined(chunks, kinds)
            if len(chunks) > 0.99 * before:
                return self._filled(chunks, kinds)

    def _filled(self, chunks: list[_TapeChunk], kinds: dict[Hashable, int]) -> list[_TapeChunk]:
        """Join neighbours that are small."""
        found = chunks[:1]
        for chunk in chunks[1:]:
            before = found[-1]
            if max(before.last - before.first, chunk.last - chunk.first) < SMALL - 1:
                key = self._pair(before, chunk)
                found[-1] = self._join(before, chunk, kinds.setdefault(key, len(kinds)))
            else:
                found.append(chunk)
        return found

    def _joined(self, chunks: list[_TapeChunk], kinds: dict[Hashable, int]) -> list[_TapeChunk]:
        """Join chunks that stand side by side often: those of one half of the kinds with those of the other."""
        keys = [self._pair(a, b) for a, b in itertools.pairwise(chunks)]
        counts = Counter(keys)
        weights: dict[int, Counter[int]] = {}
        for (a, b, _), n in counts.items():
            if n >= OFTEN and a != b:
                weights.setdefault(a, Counter())[b] += n
                weights.setdefault(b, Counter())[a] += n
        front: dict[int, bool] = {}
        for kind in sorted(weights, key=lambda kind: (-sum(weights[kind].values()), kind)):
            ahead = sum(n for other, n in weights[kind].items() if front.get(other))
            behind = sum(n for other, n in weights[kind].items() if front.get(other) is False)
            front[kind] = ahead <= behind
        right = sum(n for (a, b, _), n in counts.items() if n >= OFTEN and front.get(a) and front.get(b) is False)
        left = sum(n for (a, b, _), n in counts.items() if n >= OFTEN and front.get(b) and front.get(a) is False)
        found: list[_TapeChunk] = []
        i = 0
        while i < len(chunks):
            key = keys[i] if i < len(keys) else None
            if key is not None and counts[key] >= OFTEN:
                a, b, _ = key
                goes = a == b or (front[a] != front[b] and front[a] == (right >= left))
                if goes and chunks[i + 1].last - chunks[i].first < LONGEST:
                    found.append(self._join(chunks[i], chunks[i + 1], kinds.setdefault(key, len(kinds))))
                    i += 2
                    continue
            found.append(chunks[i])
            i += 1
        return found

    def _pair(self, a: _TapeChunk, b: _TapeChunk) -> tuple[int, int, tuple[int, ...]]:
        """Return the kinds of two neighbours, and what the second reads of the first, or as the first does."""
        known = {value: n for n, value in enumerate(a.reads)}
        link = []
        for value in b.reads:
            at = self.place.get(value, -1)
            link.append(-1 - (at - a.first) if a.first <= at <= a.last else known.get(value, len(known)) + 1)
        return a.kind, b.kind, tuple(link)

    def _join(self, a: _TapeChunk, b: _TapeChunk, kind: int) -> _TapeChunk:
        more = [value for value in b.reads if not a.first <= self.place.get(value, -1) <= a.last]
        return _TapeChunk(kind, a.first, b.last, list(dict.fromkeys([*a.reads, *more])))

    # ------------------------------------------------------------------ memory

    def written(self) -> LoopProgram:
        """Write the program: inputs and constants into work memory, the chunks, and results out of it."""
        steps = self._load()
        self.owner = [c for c, chunk in enumerate(self.chunks) for _ in range(chunk.first, chunk.last + 1)]
        self.left, last = self._leavings()
        self.starts = self._give_memory(last)
        steps += [self._loop(), *self._store()] if self.chunks else self._store()
        return LoopProgram(tuple(steps), self.size, tuple(self.tape.constants[k] for k in self.constants))

    def _load(self) -> list[ProgramStep]:
        """Give inputs and constants their places, and copy them there."""
        steps: list[ProgramStep] = []
        self.size, self.leaves = 0, dict[int, int]()
        used = {argument for argument, _ in self.tape.inputs.values()}
        groups = [("input", argument, size) for argument, size in enumerate(self.sizes) if argument in used]
        starts: dict[int, int] = {}
        for memory, argument, size in [*groups, ("constant", -1, len(self.constants))]:
            target = Numbers("work", self.size, size)
            steps += copied(Numbers(memory, 0, size, argument=max(argument, 0)), target)
            starts[argument] = self.size
            self.size += size
        self.leaves = {k: starts[argument] + element for k, (argument, element) in self.tape.inputs.items()}
        self.leaves |= {k: starts[-1] + n for n, k in enumerate(self.constants)}
        return steps

    def _leavings(self) -> tuple[dict[int, dict[int, int]], list[int]]:
        """Return what each kind leaves, as places in its record by operation, and which chunk reads each one's last."""
        found: dict[int, set[int]] = {}
        last = list(range(len(self.chunks)))
        reads = [(c, value) for c, chunk in enumerate(self.chunks) for value in chunk.reads]
        for reader, value in [*reads, *((len(self.chunks), value) for _, _, value in self.tape.outputs)]:
            if value in self.place:
                owner = self.owner[self.place[value]]
                found.setdefault(self.chunks[owner].kind, set()).add(self.place[value] - self.chunks[owner].first)
                last[owner] = max(last[owner], reader)
        return {kind: {at: n for n, at in enumerate(sorted(places))} for kind, places in found.items()}, last

    def _give_memory(self, last: Sequence[int]) -> list[int]:
        """Return where each chunk's record starts; memory that has been read for the last time is used again."""
        free: dict[int, list[int]] = {}
        returned: dict[int, list[tuple[int, int]]] = {}
        starts = []
        for c, chunk in enumerate(self.chunks):
            for size, start in returned.pop(c, ()):
                free.setdefault(size, []).append(start)
            size = len(self.left[chunk.kind])
            if free.get(size):
                starts.append(free[size].pop())
            else:
                starts.append(self.size)
                self.size += size
            # a chunk reads before it writes, so that the last reader may write over a record
            returned.setdefault(max(last[c], c + 1), []).append((size, starts[-1]))
        return starts

    def _where(self, value: int) -> tuple[int, int]:
        """Return the record that a value is in, and its place there; of leaves, each is a record of its own."""
        if value in self.leaves:
            return self.leaves[value], 0
        at = self.place[value]
        owner = self.owner[at]
        return self.starts[owner], self.left[self.chunks[owner].kind][at - self.chunks[owner].first]

    # ------------------------------------------------------------------ the program

    def _loop(self) -> ItemLoop:
        """Return the loop over the chunks."""
        members: dict[int, list[_TapeChunk]] = {}
        for chunk in self.chunks:
            members.setdefault(chunk.kind, []).append(chunk)
        columns = {kind: self._columns(found) for kind, found in members.items()}
        numbers = {kind: n for n, kind in enumerate(members)}
        variants = tuple(self._step(found[0], columns[kind]) for kind, found in members.items())
        # not empty: asked where there are chunks
        width = 2 + max(len({column for column, _ in found}) for found in columns.values())
        table = []
        for chunk, start in zip(self.chunks, self.starts, strict=True):
            row = [numbers[chunk.kind], start] + [0] * (width - 2)
            for value, (column, offset) in zip(chunk.reads, columns[chunk.kind], strict=True):
                record, at = self._where(value)
                row[column] = record + at - offset
            table.append(tuple(row))
        return ItemLoop(variants, tuple(table))

    def _columns(self, members: Sequence[_TapeChunk]) -> list[tuple[int, int]]:
        """Return for each number that chunks of a kind read a column of the table, and its place behind what it says.

        Numbers that are in one record at the same places for all chunks share a column.
        """
        first = [self._where(value) for value in members[0].reads]
        groups: Sequence[Hashable] = [record for record, _ in first]
        for chunk in members[1:]:
            found = [self._where(value) for value in chunk.reads]
            groups = _numbered(
                [
                    (group, record) if at == place else ("alone", n)
                    for n, (group, (record, at), (_, place)) in enumerate(zip(groups, found, first, strict=True))
                ]
            )
        columns = _numbered(groups)
        return [(2 + column, place) for column, (_, place) in zip(columns, first, strict=True)]

    def _step(self, chunk: _TapeChunk, columns: Sequence[tuple[int, int]]) -> StepFunction:
        """Return the code of a kind."""
        tape, new = Tape(tables=self.tape.tables), dict[int, int]()
        for n, value in enumerate(chunk.reads):
            new[value] = len(tape.operations)
            tape.inputs[len(tape.operations)] = 0, n
            tape.operations.append(("input", ()))
        for k in self.body[chunk.first : chunk.last + 1]:
            name, operands = self.tape.operations[k]
            for own in operands[len(self._operands(k)) :]:
                if own not in new:
                    new[own] = tape.constant(self.tape.constants[own])
            new[k] = len(tape.operations)
            tape.operations.append((name, tuple([new[o] for o in operands])))
        left = self.left[chunk.kind]
        tape.outputs = [(0, n, new[self.body[chunk.first + at]]) for at, n in left.items()]
        sources = tuple(MemoryRef("work", place, column) for column, place in columns)
        return TapeStep(_NOTHING, sources, tuple(MemoryRef("work", n, 1) for n in left.values()), tape)

    def _store(self) -> list[ProgramStep]:
        """Copy the results out."""
        table, x = LoopTable(), ca.SX.sym("x")
        for argument, element, value in self.tape.outputs:
            target = Numbers("output", 0, 1, 2, argument)
            make = partial(step_function, [(x, Numbers("work", 0, 1, 1))], [(x, target)])
            table.add(argument, make, (sum(self._where(value)), element))
        return [table.loop()] if table.rows else []


def _numbered(groups: Sequence[Hashable]) -> list[int]:
    """Return equal numbers for equal groups."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(group, len(numbers)) for group in groups]
