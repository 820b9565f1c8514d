"""Solving a factored symmetric system, whose zeros follow a forest, for many columns: L^T D L X = B in loops.

Columns are worked on in pieces. A piece goes inward from the tips, only through the rows in which its columns differ
from zero, and then outward through all rows, in scratch memory that stays in the nearest cache. As many sums as there
are vectors in a piece are kept in registers. With one state, entries that stand side by side share a vector; in lanes,
each entry is a vector of states. A piece may hold columns that another piece has, too: both find the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from whippletree.kernels.tape import OperationCount
from whippletree.kernels.trig import vector_type
from whippletree.programs.loop_program import FOREST_SCRATCH, SIDE_BY_SIDE, ForestColumns

__all__ = ["ColumnTables", "columns_ir", "count_columns"]

_MOST = FOREST_SCRATCH // SIDE_BY_SIDE  # sums that are kept in registers


class _ColumnPiece(NamedTuple):
    """Vectors of columns, each by its first, and the rows in which these differ from zero when they come inward."""

    starts: tuple[int, ...]
    rows: int


def count_columns(step: ForestColumns) -> OperationCount:
    """Count the operations.

    >>> step = ForestColumns(((0, -1, 0, 0), (1, 0, 1, 1)), 2, (1, 3), (0, 0), 3, 7)
    >>> count_columns(step).total
    12
    """
    total = OperationCount()
    outward = sum(depth for _, _, depth, _ in step.table)
    for piece in _pieces(step, 1):
        inward = sum(len(own) for own in _taken(step, piece.rows).values())
        products = len(piece.starts) * (inward + outward)
        total = total + OperationCount(products + len(piece.starts) * piece.rows.bit_count(), products)
    return total


@dataclass(frozen=True)
class ColumnTables:
    """The index tables of both forms, one after the other, for a step whose tables begin at `start`.

    A row of what goes inward is (unknown, where its row of the matrix begins, how many are taken, where these are
    listed); of those taken, (unknown, where the factor is). A row of what goes outward is (where its row of the matrix
    begins, how many are above, where these are listed, where their factors begin); its pivot follows these.
    """

    step: ForestColumns
    start: int

    def numbers(self) -> list[int]:
        """Return the tables."""
        return self._built()[0]

    def pieces(self, *, alone: bool) -> list[tuple[_ColumnPiece, int]]:
        """Return the pieces of a form, each with the place of its table."""
        return self._built()[1][alone]

    def outward(self) -> int:
        """Return where the table of the outward pass begins."""
        return self.start

    def _built(self) -> tuple[list[int], dict[bool, list[tuple[_ColumnPiece, int]]]]:
        step, n = self.step, len(self.step.table)
        above = [list(_above(step, k)) for k in range(n)]
        numbers: list[int] = []
        at = self.start + 4 * n
        for k, (place, _, depth, begin) in enumerate(step.table):
            numbers += [place * step.columns, depth, at, begin]
            at += len(above[k])
        numbers += [i for own in above for i in own]
        ways: dict[int, tuple[int, int, int]] = {}
        found: dict[bool, list[tuple[_ColumnPiece, int]]] = {True: [], False: []}
        for alone, lanes in ((True, SIDE_BY_SIDE), (False, 1)):
            for piece in _pieces(step, lanes):
                if piece.rows not in ways:
                    ways[piece.rows] = self._add_way(numbers, piece.rows)
                found[alone].append((piece, self.start + len(numbers)))
                numbers += [*ways[piece.rows], *piece.starts]
        return numbers, found

    def _add_way(self, numbers: list[int], rows: int) -> tuple[int, int, int]:
        """Add the way inward through some rows; return its place, its length, and where it is told which they are."""
        step, taken = self.step, _taken(self.step, rows)
        at = self.start + len(numbers) + 4 * len(taken)
        listed: list[int] = []
        way = self.start + len(numbers)
        for k, own in taken.items():
            numbers += [k, step.table[k][0] * step.columns, len(own), at + len(listed)]
            listed += [x for pair in own for x in pair]
        numbers += listed
        members = self.start + len(numbers)
        numbers += [rows >> k & 1 for k in range(len(step.table))]
        return way, len(taken), members


def _above(step: ForestColumns, k: int) -> Iterator[int]:
    """Return the rows above one, the highest first."""
    found = []
    while (k := step.table[k][1]) >= 0:
        found.append(k)
    return reversed(found)


def _taken(step: ForestColumns, rows: int) -> dict[int, list[tuple[int, int]]]:
    """Return, for each of some rows from the tips inward, those beyond that are taken from it, with their factors."""
    found: dict[int, list[tuple[int, int]]] = {k: [] for k in reversed(range(len(step.table))) if rows >> k & 1}
    for k in found:
        for i in _above(step, k):
            found[i].append((k, step.table[k][3] + step.table[i][2]))
    return found


def _pieces(step: ForestColumns, lanes: int) -> list[_ColumnPiece]:
    """Share the columns out to pieces: those of a family first, then families together if that costs less."""
    closed = [_closed(step, rows) for rows in step.filled]
    families: dict[int, list[int]] = {}
    for column, family in enumerate(step.families):
        families.setdefault(family, []).append(column)
    pieces: list[_ColumnPiece] = []
    for columns in families.values():
        starts = _vectors(columns, closed, lanes)
        count = -(-len(starts) // _MOST)
        for i in range(count):
            own = starts[i * len(starts) // count : (i + 1) * len(starts) // count]
            rows = 1  # so that there is one
            for start in own:
                rows |= _rows(closed, start, lanes)
            pieces.append(_ColumnPiece(tuple(own), rows))
    return _joined(step, pieces)


def _joined(step: ForestColumns, pieces: list[_ColumnPiece]) -> list[_ColumnPiece]:
    """Join pieces as long as that saves time."""
    cost: dict[_ColumnPiece, float] = {}
    while True:
        best, saved = None, 0.0
        for a, b in itertools.combinations(pieces, 2):
            both = _ColumnPiece(a.starts + b.starts, a.rows | b.rows)
            if len(both.starts) > _MOST:
                continue
            for piece in (a, b, both):
                if piece not in cost:
                    cost[piece] = _cycles(step, piece)
            if cost[a] + cost[b] - cost[both] > saved:
                best, saved = (a, b, both), cost[a] + cost[b] - cost[both]
        if best is None:
            return pieces
        pieces = [piece for piece in pieces if piece not in best[:2]] + [best[2]]


def _cycles(step: ForestColumns, piece: _ColumnPiece) -> float:
    """Estimate how long a piece takes: sums wait for each other, loads for their turn, and rows for their end."""
    pairs = sum(depth * (1 + (piece.rows >> k & 1)) for k, (_, _, depth, _) in enumerate(step.table))
    rows = len(step.table) + piece.rows.bit_count()
    return pairs * max(4.0, 1.0 + len(piece.starts) / 2) + 12.0 * rows


def _closed(step: ForestColumns, rows: int) -> int:
    """Return the rows, and all above them."""
    for k in reversed(range(len(step.table))):
        if rows >> k & 1 and step.table[k][1] >= 0:
            rows |= 1 << step.table[k][1]
    return rows


def _rows(closed: Sequence[int], start: int, lanes: int) -> int:
    """Return the rows in which any column of a vector differs from zero."""
    rows = 0
    for column in range(start, start + lanes):
        rows |= closed[column]
    return rows


def _vectors(columns: Sequence[int], closed: Sequence[int], lanes: int) -> list[int]:
    """Cover columns by vectors; where that does not come out even, a vector takes others along that cost least.

    >>> _vectors([0, 1, 2, 3, 4, 5], [1] * 8, 4), _vectors([3], [1] * 4 + [0] * 4, 4)
    ([0, 2], [3])
    """
    found: list[int] = []
    i = 0
    while i < len(columns):
        run = 1
        while i + run < len(columns) and columns[i + run] == columns[i] + run:
            run += 1
        first, last = columns[i], columns[i] + run - lanes
        if run >= lanes:
            found += [*range(first, last, lanes), last]
        else:
            starts = range(max(0, last), min(first, len(closed) - lanes) + 1)
            # not empty: there are more columns than lanes, see pairs_loop
            found.append(min(starts, key=lambda start: (_rows(closed, start, lanes).bit_count(), -start)))
        i += run
    return found


def columns_ir(tables: ColumnTables, prefix: str, *, width: int, fused: bool) -> tuple[list[str], str]:
    """Return the lines that solve for all columns, and the functions that they call, for `width` states."""
    pieces = tables.pieces(alone=width == 1)
    sizes = sorted({len(piece.starts) for piece, _ in pieces})
    functions = [_PieceFunction(tables, prefix, size, width, fused).written() for size in sizes]
    lines = []
    for i, (piece, at) in enumerate(pieces):
        lines.append(f"  %{prefix}p{i} = getelementptr i32, ptr %tables, i64 {at}")
        name = f"@{prefix}piece{len(piece.starts)}"
        lines.append(f"  call void {name}(ptr %o0, ptr %work, ptr %tables, ptr %{prefix}p{i})")
    return lines, "\n".join(functions)


class _PieceFunction:
    """Writes the function that solves for a piece of so many vectors."""

    def __init__(self, tables: ColumnTables, prefix: str, size: int, width: int, fused: bool) -> None:
        self.step, self.outward, self.size = tables.step, tables.outward(), size
        self.name, self.width, self.fused = f"@{prefix}piece{size}", width, fused
        self.T = vector_type(width)
        self.lanes = SIDE_BY_SIDE if width == 1 else width
        self.V = vector_type(self.lanes)
        self.stride = size * (SIDE_BY_SIDE if width == 1 else 1)  # numbers of an unknown in scratch memory
        self.lines: list[str] = []

    def write(self, *lines: str) -> None:
        """Add lines; {T} stands for the type of a number, {V} for the type of a register."""
        self.lines += [line.replace("{T}", self.T).replace("{V}", self.V) for line in lines]

    def written(self) -> str:
        """Return the function."""
        arguments = "ptr noalias %out, ptr noalias %work, ptr noalias readonly %tables, ptr %piece"
        self.write(f"define internal void {self.name}({arguments}) #0 {{", "entry:")
        self._load_row("piece", "%piece", ("way", "rows", "members", *(f"start{i}" for i in range(self.size))))
        self.write(f"  %scratch = getelementptr {{T}}, ptr %work, i64 {self.step.scratch}")
        self.write(f"  %right = getelementptr {{T}}, ptr %work, i64 {self.step.right}")
        self.write("  %way = getelementptr i32, ptr %tables, i64 %piece_way")
        self.write("  %members = getelementptr i32, ptr %tables, i64 %piece_members")
        self.write(f"  %ways = getelementptr i32, ptr %tables, i64 {self.outward}")
        self._inward()
        self._outward()
        self.write("  ret void", "}")
        return "\n".join(self.lines) + "\n"

    def _load_row(self, of: str, pointer: str, names: Sequence[str]) -> None:
        """Load a row of a table."""
        for i, name in enumerate(names):
            self.write(
                f"  %{of}_{name}p = getelementptr i32, ptr {pointer}, i64 {i}",
                f"  %{of}_{name}n = load i32, ptr %{of}_{name}p, align 4, !invariant.load !0",
                f"  %{of}_{name} = sext i32 %{of}_{name}n to i64",
            )

    def _inward(self) -> None:
        """Subtract from each row the terms of its descendants; only rows of the piece, which has one at least."""
        self.write("  br label %in", "in:", "  %r = phi i64 [0, %entry], [%r_next, %in_done]")
        self.write("  %r_at = mul i64 %r, 4", "  %r_row = getelementptr i32, ptr %way, i64 %r_at")
        self._load_row("r", "%r_row", ("unknown", "to", "count", "listed"))
        self.write("  %r_right = getelementptr {T}, ptr %right, i64 %r_to")
        self._load_entries("b", "%r_right")
        self.write("  %r_list = getelementptr i32, ptr %tables, i64 %r_listed")
        self._sums("in", "b", "%r_count", "in", listed=True)
        self._store_scratch("%r_unknown", "in")
        self.write(
            "  %r_next = add i64 %r, 1",
            "  %r_more = icmp slt i64 %r_next, %piece_rows",
            "  br i1 %r_more, label %in, label %turn",
            "turn:",
        )

    def _outward(self) -> None:
        """Divide by the pivots, and subtract from each row the terms of its ancestors."""
        zero = "zeroinitializer"
        self.write("  br label %outward", "outward:", "  %k = phi i64 [0, %turn], [%k_next, %out_done]")
        self.write("  %k_at = mul i64 %k, 4", "  %k_row = getelementptr i32, ptr %ways, i64 %k_at")
        self._load_row("k", "%k_row", ("to", "count", "listed", "factors"))
        self.write(
            "  %k_out = getelementptr {T}, ptr %out, i64 %k_to",
            "  %k_list = getelementptr i32, ptr %tables, i64 %k_listed",
            "  %k_l = getelementptr {T}, ptr %work, i64 %k_factors",
            f"  %k_o = mul i64 %k, {self.stride}",
            "  %k_own = getelementptr {T}, ptr %scratch, i64 %k_o",
            "  %k_mp = getelementptr i32, ptr %members, i64 %k",
            "  %k_m = load i32, ptr %k_mp, align 4, !invariant.load !0",
            "  %k_member = icmp ne i32 %k_m, 0",
            "  br i1 %k_member, label %some, label %begun",
            "some:",
            "  %k_dp = getelementptr {T}, ptr %k_l, i64 %k_count",
        )
        self._load_factor("%k_d", "%k_dp")
        for i in range(self.size):
            self.write(f"  %y{i}p = getelementptr {{V}}, ptr %k_own, i64 {i}")
            self.write(f"  %y{i}l = load {{V}}, ptr %y{i}p, align 8", f"  %y{i}s = fmul {{V}} %y{i}l, %k_d")
        self.write("  br label %begun", "begun:")
        for i in range(self.size):
            self.write(f"  %y{i} = phi {{V}} [%y{i}s, %some], [{zero}, %outward]")
        self._sums("out", "y", "%k_count", "begun", listed=False)
        self._store_scratch("%k", "out")
        for i in range(self.size):
            self.write(f"  %x{i}p = getelementptr {{T}}, ptr %k_out, i64 %piece_start{i}")
            self.write(f"  store {{V}} %out_s{i}, ptr %x{i}p, align 8")
        self.write(
            "  %k_next = add i64 %k, 1",
            f"  %k_more = icmp slt i64 %k_next, {len(self.step.table)}",
            "  br i1 %k_more, label %outward, label %solved",
            "solved:",
        )

    def _load_entries(self, name: str, row: str) -> None:
        """Load the piece's entries of a row of the matrix."""
        for i in range(self.size):
            self.write(f"  %{name}{i}p = getelementptr {{T}}, ptr {row}, i64 %piece_start{i}")
            self.write(f"  %{name}{i} = load {{V}}, ptr %{name}{i}p, align 8")

    def _load_factor(self, name: str, pointer: str) -> None:
        """Load a number from work, and spread it over lanes if entries stand in them."""
        if self.width > 1:
            self.write(f"  {name} = load {{V}}, ptr {pointer}, align 8")
            return
        self.write(f"  {name}x = load double, ptr {pointer}, align 8")
        self.write(f"  {name}y = insertelement {{V}} poison, double {name}x, i32 0")
        self.write(f"  {name} = shufflevector {{V}} {name}y, {{V}} poison, <{self.lanes} x i32> zeroinitializer")

    def _sums(self, name: str, first: str, count: str, before: str, *, listed: bool) -> None:
        """Take multiples of rows in scratch memory from sums, of which the `first` are at hand in the block `before`.

        `listed` says that each row's factor is in the table beside it; otherwise factors follow each other.
        """
        x = f"%{name}"
        self.write(f"  br label %{name}_head", f"{name}_head:")
        self.write(f"  {x}_e = phi i64 [0, %{before}], [{x}_next, %{name}_take]")
        for i in range(self.size):
            self.write(f"  {x}_s{i} = phi {{V}} [%{first}{i}, %{before}], [{x}_n{i}, %{name}_take]")
        self.write(f"  {x}_more = icmp slt i64 {x}_e, {count}")
        self.write(f"  br i1 {x}_more, label %{name}_take, label %{name}_done", f"{name}_take:")
        if listed:
            self.write(f"  {x}_at = mul i64 {x}_e, 2", f"  {x}_row = getelementptr i32, ptr %r_list, i64 {x}_at")
            self._load_row(name, f"{x}_row", ("from", "factor"))
            self.write(f"  {x}_fp = getelementptr {{T}}, ptr %work, i64 {x}_factor")
        else:
            self.write(f"  {x}_row = getelementptr i32, ptr %k_list, i64 {x}_e")
            self._load_row(name, f"{x}_row", ("from",))
            self.write(f"  {x}_fp = getelementptr {{T}}, ptr %k_l, i64 {x}_e")
        self._load_factor(f"{x}_f", f"{x}_fp")
        self.write(f"  {x}_m = fneg {{V}} {x}_f", f"  {x}_o = mul i64 {x}_from, {self.stride}")
        self.write(f"  {x}_u = getelementptr {{T}}, ptr %scratch, i64 {x}_o")
        for i in range(self.size):
            self.write(f"  {x}_u{i} = getelementptr {{V}}, ptr {x}_u, i64 {i}")
            self.write(f"  {x}_x{i} = load {{V}}, ptr {x}_u{i}, align 8")
            self._add_product(f"{x}_n{i}", f"{x}_m", f"{x}_x{i}", f"{x}_s{i}")
        self.write(f"  {x}_next = add i64 {x}_e, 1", f"  br label %{name}_head", f"{name}_done:")

    def _store_scratch(self, unknown: str, name: str) -> None:
        """Keep the sums of an unknown in scratch memory."""
        self.write(f"  %{name}_to = mul i64 {unknown}, {self.stride}")
        self.write(f"  %{name}_w = getelementptr {{T}}, ptr %scratch, i64 %{name}_to")
        for i in range(self.size):
            self.write(f"  %{name}_w{i} = getelementptr {{V}}, ptr %{name}_w, i64 {i}")
            self.write(f"  store {{V}} %{name}_s{i}, ptr %{name}_w{i}, align 8")

    def _add_product(self, name: str, a: str, b: str, c: str) -> None:
        """Write name = a b + c."""
        if self.fused:
            self.write(f"  {name} = call {{V}} @llvm.fma.v{self.lanes}f64({{V}} {a}, {{V}} {b}, {{V}} {c})")
        else:
            self.write(f"  {name}m = fmul {{V}} {a}, {b}", f"  {name} = fadd {{V}} {name}m, {c}")
