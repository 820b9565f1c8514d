"""The language between formulations and kernels for models that are walked in a loop.

A loop program evaluates small functions over many work items without writing the same code once for each. Beside inputs
and outputs it knows two kinds of memory:

- *work* holds the records that items leave for each other, and is used again where a record has been read;
- *constants* are numbers of an item's own that differ between items of a kind.

A `StepFunction` is a function together with where its arguments come from and where its results go. An item's row in a
loop's table says which function it takes, and where its own numbers start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca

__all__ = [
    "Climb",
    "ForestSolve",
    "ItemLoop",
    "LoopProgram",
    "MemoryRef",
    "ProgramStep",
    "RowSweep",
    "Segment",
    "StepFunction",
]


@dataclass(frozen=True)
class MemoryRef:
    """Where a number is: in a kind of memory, at a fixed offset, plus an offset from the item's row.

    `memory` is "input" or "output" (of argument `argument`), "pointer" (of the input whose number is in column
    `argument` of the table), "constant" or "work". `column` is the table's column with the item's offset, or -1.
    `add` lets a result be added to what is there.
    """

    memory: str
    offset: int
    column: int = -1
    argument: int = 0
    add: bool = False


@dataclass(frozen=True)
class StepFunction:
    """A function of one item: `sources` of its argument's elements, `targets` of its result's."""

    function: ca.Function
    sources: tuple[MemoryRef, ...]
    targets: tuple[MemoryRef, ...]


@dataclass(frozen=True)
class Segment:
    """A function evaluated once, with fixed places."""

    variant: StepFunction


@dataclass(frozen=True)
class ItemLoop:
    """One function per item, in the table's order; column 0 of the table is the function's number."""

    variants: tuple[StepFunction, ...]
    table: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Climb:
    """For every start, walk a chain of items to its end, and fill a symmetric matrix of the given `order`.

    A row of `starts` is (first item, where the numbers to carry start in work, column of the matrix). The items'
    `table` is as in a loop, its last column being the next item or -1. The carried numbers, `size` of them, are at
    `carried` in work. A result at an "output" place goes to the row that its place says, in the start's column, and
    to the mirror image of that entry. If the matrix is `packed` for a `ForestSolve`, a start's third number is where
    its unknown's row begins in work, and the place says how deep the results are.
    """

    variants: tuple[StepFunction, ...]
    table: tuple[tuple[int, ...], ...]
    starts: tuple[tuple[int, ...], ...]
    carried: int
    size: int
    order: int
    packed: bool = False


@dataclass(frozen=True)
class ForestSolve:
    """Solve a symmetric system whose zeros follow a forest, in place: the right-hand side becomes the solution.

    Without a `vector` the matrix is only factored: rows then hold L, and one over the pivot last.

    A row of the table is (the unknown's place in the vector, the row of the unknown above it or -1, how many are above
    it, where its entries with these start in work, the highest one's first and its own last). Rows come after those
    that are above them. `vector` is an output, or None. If `given` names two inputs, a matrix, row after row, and a
    right-hand side, these are copied first; otherwise earlier steps have left them in place. `least` holds for each
    unknown the pivot below which nothing but rounding is left: the solution is then not finite.
    """

    table: tuple[tuple[int, int, int, int], ...]
    vector: int | None = 0
    given: tuple[int, int] | None = None
    order: int = 0
    least: tuple[float, ...] = ()


@dataclass(frozen=True)
class RowSweep:
    """Take multiples of rows of a matrix from other rows, in the table's order; `columns` is how long rows are.

    The matrix is output 0. A row of the table is (where the row of the matrix begins, the first of what is taken from
    it, how many). What is taken (`taken`) is (where that row begins, where its factor is in work). If it is `scaled`,
    the row is first multiplied by a number whose place in work is the last entry of the table's row.
    """

    columns: int
    table: tuple[tuple[int, ...], ...]
    taken: tuple[tuple[int, int], ...]
    scaled: bool = False


ProgramStep: TypeAlias = Segment | ItemLoop | Climb | ForestSolve | RowSweep


@dataclass(frozen=True)
class LoopProgram:
    """Steps in order, the memory they need, and the items' constants."""

    steps: tuple[ProgramStep, ...]
    work_size: int
    constants: tuple[float, ...]
    zeroed: tuple[tuple[int, int], ...] = ()  # outputs (argument, size) to be cleared first
