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
    "FOREST_SCRATCH",
    "SIDE_BY_SIDE",
    "Climb",
    "ForestColumns",
    "ForestSolve",
    "ItemLoop",
    "LoopProgram",
    "MemoryRef",
    "ProgramStep",
    "RepeatedSteps",
    "Segment",
    "StepFunction",
]


SIDE_BY_SIDE = 4
"""With one state, so many items or columns that stand side by side are worked on at once."""

FOREST_SCRATCH = 12 * SIDE_BY_SIDE
"""Room for so many numbers of each unknown is needed to solve for many columns."""


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
    """One function per item, in the table's order; column 0 of the table is the function's number.

    If columns are `abreast`, items do not depend on each other and replace what was there. Items that follow each other
    in the table, of one function, whose numbers in these columns go up by one while all others stay the same, may then
    be worked out several at once, in lanes, and one of them more than once.
    """

    variants: tuple[StepFunction, ...]
    table: tuple[tuple[int, ...], ...]
    abreast: tuple[int, ...] = ()


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
    that are above them. `vector` is an output, or None; or, `in_work`, a place in work. If `given` names two inputs, a
    matrix, row after row, and a right-hand side, these are copied first; otherwise earlier steps have left them in
    place. `least` holds for each unknown the pivot below which nothing but rounding is left: the solution is then not
    finite.
    """

    table: tuple[tuple[int, int, int, int], ...]
    vector: int | None = 0
    given: tuple[int, int] | None = None
    order: int = 0
    least: tuple[float, ...] = ()
    in_work: bool = False


@dataclass(frozen=True)
class ForestColumns:
    """Solve M X = B for many columns, M having been factored by a `ForestSolve` with the same `table`.

    X is output 0, and B begins at `right` in work: the row of each unknown at its place, `columns` entries long.
    `filled` has for every column the rows of the table in which B may differ from zero, as bits; columns of one family
    are alike in that, or nearly so. From `scratch` on there is room in work, `FOREST_SCRATCH` numbers to every unknown.
    """

    table: tuple[tuple[int, int, int, int], ...]
    columns: int
    filled: tuple[int, ...]
    families: tuple[int, ...]
    right: int
    scratch: int


@dataclass(frozen=True)
class RepeatedSteps:
    """Steps that run several `times`, one round after the other."""

    steps: tuple[Segment | ItemLoop, ...]
    times: int


ProgramStep: TypeAlias = Segment | ItemLoop | Climb | ForestSolve | ForestColumns | RepeatedSteps


@dataclass(frozen=True)
class LoopProgram:
    """Steps in order, the memory they need, and the items' constants."""

    steps: tuple[ProgramStep, ...]
    work_size: int
    constants: tuple[float, ...]
    zeroed: tuple[tuple[int, int], ...] = ()  # outputs (argument, size) to be cleared first
    zeroed_work: tuple[tuple[int, int], ...] = ()  # places in work (start, size) to be cleared first
