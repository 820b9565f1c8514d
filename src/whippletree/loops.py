"""The language between formulations and kernels for models that are walked in a loop.

A loop program evaluates small functions over many items without writing the same code once for each. It knows
three kinds of memory beside inputs and outputs:

- each item has a *row* of numbers that one loop writes and later loops read;
- *slots* hold what an item hands on to its neighbours within a loop, and are used again when they are free;
- *constants* are numbers of the item's own that differ between items of a kind.

A `Variant` is a function together with where its arguments come from and where its results go. An item's
entry in a loop's table says which variant it takes, and where its own numbers start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca

__all__ = ["Climb", "Loop", "LoopProgram", "Place", "Segment", "Solve", "Variant"]


@dataclass(frozen=True)
class Place:
    """Where a number is: in a kind of memory, at a fixed offset, plus an offset from the item's table entry.

    `kind` is "input" or "output" (of argument `argument`), "pointer" (of the input whose number is in column
    `argument` of the table), "constant" or "work". `column` is the table's column with the item's offset, or
    -1. `scale` multiplies that offset. `add` lets a result be added to what is there.
    """

    kind: str
    offset: int
    column: int = -1
    argument: int = 0
    scale: int = 1
    add: bool = False


Places: TypeAlias = tuple[tuple[Place, ...], ...]


@dataclass(frozen=True)
class Variant:
    """A function of one item: `sources` of the arguments' elements, `targets` of the results'."""

    function: ca.Function
    sources: Places
    targets: Places


@dataclass(frozen=True)
class Segment:
    """A function evaluated once, with fixed places."""

    variant: Variant


@dataclass(frozen=True)
class Loop:
    """One variant per item, in the table's order; column 0 of the table is the variant's number."""

    variants: tuple[Variant, ...]
    table: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Climb:
    """For every start, walk a chain of items to its end, and fill a symmetric matrix of the given `order`.

    A row of `starts` is (first item, where the numbers to carry start in work, column of the matrix). The items'
    `table` is as in a loop, its last column being the next item or -1. The carried numbers, `size` of them, are at
    `carried` in work. A result at an "output" place goes to the row that its place says, in the start's column, and
    to the mirror image of that entry. If the matrix is `packed` for a `Solve`, a start's third number is where its
    unknown's row begins in work, and the place says how deep the results are.
    """

    variants: tuple[Variant, ...]
    table: tuple[tuple[int, ...], ...]
    starts: tuple[tuple[int, ...], ...]
    carried: int
    size: int
    order: int
    packed: bool = False


@dataclass(frozen=True)
class Solve:
    """Solve a symmetric system whose zeros follow a forest, in place: the right-hand side becomes the solution.

    A row of the table is (the unknown's place in the vector, the row of the unknown above it or -1, how many are above
    it, where its entries with these start in work, the highest one's first and its own last). Rows come after those
    that are above them. `vector` is an output. If `given` names two inputs, a matrix, row after row, and a right-hand
    side, these are copied first; otherwise earlier steps have left them in place.
    """

    table: tuple[tuple[int, int, int, int], ...]
    vector: int = 0
    given: tuple[int, int] | None = None
    order: int = 0


Step: TypeAlias = Segment | Loop | Climb | Solve


@dataclass(frozen=True)
class LoopProgram:
    """Steps in order, the memory they need, and the items' constants."""

    steps: tuple[Step, ...]
    work_size: int
    constants: tuple[float, ...]
    zeroed: tuple[tuple[int, int], ...] = ()  # outputs (argument, size) to be cleared first
