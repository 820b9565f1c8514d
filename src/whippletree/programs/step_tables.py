"""Loop programs written step by step: places in memory by name, and loops whose kinds of items are found by a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import casadi as ca

from whippletree.programs.loop_program import ItemLoop, MemoryRef, Segment, StepFunction

__all__ = ["LoopTable", "Numbers", "WorkMemory", "copied", "segment", "step_function"]

_AT_ONCE = 8
"""So many numbers are copied by one item."""


class Numbers(NamedTuple):
    """Some numbers one after the other: `start` is where those of the first item are, `column` where an item's are.

    >>> [ref.offset for ref in Numbers("work", 5, 2).refs()]
    [5, 6]
    """

    memory: str
    start: int
    size: int
    column: int = -1
    argument: int = 0
    add: bool = False

    def refs(self) -> list[MemoryRef]:
        """Return the places, one by one."""
        return [MemoryRef(self.memory, self.start + i, self.column, self.argument, self.add) for i in range(self.size)]

    def by(self, column: int, size: int | None = None) -> Numbers:
        """Return an item's share: its offset is in this column of the table."""
        return self._replace(column=column, size=self.size if size is None else size)

    def part(self, first: int, size: int) -> Numbers:
        """Return a part of them."""
        return self._replace(start=self.start + first, size=size)

    @property
    def added(self) -> Numbers:
        """The same places, to which results are added."""
        return self._replace(add=True)


@dataclass
class WorkMemory:
    """Gives out work memory.

    >>> memory = WorkMemory()
    >>> memory.take(3).start, memory.take(2).start, memory.size
    (0, 3, 5)
    """

    size: int = 0

    def take(self, size: int) -> Numbers:
        """Return room for so many numbers."""
        start, self.size = self.size, self.size + size
        return Numbers("work", start, size)


Bound = tuple[ca.SX, Numbers]
"""An expression, or a symbol, and where its numbers are."""


def step_function(given: Sequence[Bound], results: Sequence[Bound]) -> StepFunction:
    """Return a step: symbols with where they are read, results with where they go. Zeros are not added."""
    pairs = [
        (value, ref)
        for expression, numbers in results
        for value, ref in zip(ca.vertsplit(ca.vec(ca.densify(expression))), numbers.refs(), strict=True)
        if not (ref.add and value.is_zero())
    ]
    column = ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *(value for value, _ in pairs))))
    used = {one.element_hash() for one in ca.symvar(column)}
    read = [
        (symbol, ref)
        for symbols, numbers in given
        if numbers.size
        for symbol, ref in zip(ca.vertsplit(ca.vec(symbols)), numbers.refs(), strict=True)
        if symbol.element_hash() in used
    ]
    function = ca.Function("step", [ca.SX(ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in read)))], [column])
    return StepFunction(function, tuple(ref for _, ref in read), tuple(ref for _, ref in pairs))


def segment(given: Sequence[Bound], results: Sequence[Bound]) -> Segment:
    """Return a step that runs once."""
    return Segment(step_function(given, results))


@dataclass
class LoopTable:
    """A loop in the making: its kinds by key, and a row for each item.

    >>> x, one, two = ca.SX.sym("x"), Numbers("work", 0, 1, 1), Numbers("work", 0, 1, 2)
    >>> table = LoopTable()
    >>> for k in range(3):
    ...     table.add("double", lambda: step_function([(x, one)], [(2 * x, two)]), (k, 3 + k))
    >>> table.loop().table
    ((0, 0, 3), (0, 1, 4), (0, 2, 5))
    """

    kinds: dict[Hashable, tuple[int, StepFunction]] = field(default_factory=dict)
    rows: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, key: Hashable, make: Callable[[], StepFunction], columns: Sequence[int]) -> None:
        """Add an item with the numbers of its row from column 1 on; the function is made for the first of a kind."""
        if key not in self.kinds:
            self.kinds[key] = len(self.kinds), make()
        self.rows.append((self.kinds[key][0], *columns))

    def loop(self) -> ItemLoop:
        """Return the loop."""
        width = max(len(row) for row in self.rows)  # not empty: asked where there are items
        table = tuple((*row, *(0,) * (width - len(row))) for row in self.rows)
        return ItemLoop(tuple(function for _, function in self.kinds.values()), table)


def copied(source: Numbers, target: Numbers) -> list[ItemLoop]:
    """Return a loop that copies numbers.

    >>> [len(one.table) for one in copied(Numbers("input", 0, 17), Numbers("work", 3, 17))]
    [3]
    """
    table = LoopTable()
    done = 0
    while done < source.size:
        size = _AT_ONCE if source.size - done >= _AT_ONCE else 1
        x = ca.SX.sym("x", size)
        given, result = source.by(1, size), target.by(1, size)
        table.add(size, partial(step_function, [(x, given)], [(x, result)]), (done,))
        done += size
    return [table.loop()] if table.rows else []
