"""Multiples of rows of a matrix taken from other rows, in loops: solving a factored system for many columns."""

from __future__ import annotations

from whippletree.kernels.tape import OperationCount
from whippletree.kernels.trig import vector_type
from whippletree.programs.loop_program import RowSweep

__all__ = ["count_sweep", "sweep_ir"]

_AT_ONCE = 8  # sums that are kept in registers


def count_sweep(step: RowSweep) -> OperationCount:
    """Count the operations.

    >>> count_sweep(RowSweep(10, ((0, 0, 1),), ((10, 0),))).total
    20
    """
    products = len(step.taken) * step.columns
    return OperationCount(products + step.scaled * len(step.table) * step.columns, products)


def sweep_ir(step: RowSweep, tables: tuple[int, int], prefix: str, *, width: int, pack: int, fused: bool) -> list[str]:
    """Return the lines of a sweep for `width` states; its table and what is taken begin at entries of %tables."""
    return _SweepLines(step, tables, prefix, width, pack if width == 1 else 1, fused).written()


class _SweepLines:
    """Writes the loop over rows: as many sums as fit into registers at once, then what is left of the row.

    With one state, a number of lanes stand for entries beside each other.
    """

    def __init__(
        self, step: RowSweep, tables: tuple[int, int], prefix: str, width: int, lanes: int, fused: bool
    ) -> None:
        self.step, self.table, self.taken = step, tables[0], tables[1]
        self.p, self.width, self.lanes, self.fused = prefix, width, lanes, fused
        self.T = vector_type(width)
        self.lines: list[str] = []

    def write(self, *lines: str) -> None:
        """Add lines; $ stands for the prefix of names, {T} for the type of a number."""
        self.lines += [line.replace("$", self.p).replace("{T}", self.T) for line in lines]

    def written(self) -> list[str]:
        """Return all lines."""
        step, size = self.step, len(self.step.table[0])
        self.write("  br label %$before", "$before:", "  br label %$row", "$row:")
        self.write("  %$r = phi i64 [0, %$before], [%$r_next, %$row_done]", f"  %$r_at = mul i64 %$r, {size}")
        names = ("to", "first", "count", "scale")[:size]
        self._load_numbers("r", "%$r_at", self.table, names)
        self.write("  %$r_end = add i64 %$r_first, %$r_count", "  %$r_p = getelementptr {T}, ptr %o0, i64 %$r_to")
        if step.scaled:
            self._load_factor("%$scale", "%$r_scale")
        at = 0
        chunk = _AT_ONCE * self.lanes
        if step.columns >= chunk:
            at = step.columns // chunk * chunk
            self.write("  br label %$turns", "$turns:", "  %$c = phi i64 [0, %$row], [%$c_next, %$main_done]")
            self._sums("main", "%$c", "$turns", self.lanes, _AT_ONCE)
            self.write(f"  %$c_next = add i64 %$c, {chunk}", f"  %$c_more = icmp slt i64 %$c_next, {at}")
            self.write("  br i1 %$c_more, label %$turns, label %$rest", "$rest:")
        before = "$rest" if at else "$row"
        for name, lanes in (("wide", self.lanes), ("single", 1)):
            count = (step.columns - at) // lanes
            if count:
                self._sums(name, str(at), before, lanes, count)
                at, before = at + count * lanes, f"${name}_done"
        self.write(
            "  br label %$row_done",
            "$row_done:",
            "  %$r_next = add i64 %$r, 1",
            f"  %$r_more = icmp slt i64 %$r_next, {len(step.table)}",
            "  br i1 %$r_more, label %$row, label %$swept",
            "$swept:",
        )
        return self.lines

    def _load_numbers(self, of: str, at: str, table: int, names: tuple[str, ...]) -> None:
        """Load a row of a table."""
        for i, name in enumerate(names):
            self.write(
                f"  %${of}_{name}o = add i64 {at}, {table + i}",
                f"  %${of}_{name}p = getelementptr i32, ptr %tables, i64 %${of}_{name}o",
                f"  %${of}_{name}n = load i32, ptr %${of}_{name}p, align 4, !invariant.load !0",
                f"  %${of}_{name} = sext i32 %${of}_{name}n to i64",
            )

    def _load_factor(self, name: str, at: str) -> None:
        """Load a number from work, and spread it over lanes if entries stand in them."""
        self.write(f"  {name}p = getelementptr {{T}}, ptr %work, i64 {at}")
        self.write(f"  {name} = load {{T}}, ptr {name}p, align {8 * self.width}")
        if self.lanes > 1:
            V = vector_type(self.lanes)
            self.write(f"  {name}s = insertelement {V} poison, double {name}, i32 0")
            self.write(f"  {name}w = shufflevector {V} {name}s, {V} poison, <{self.lanes} x i32> zeroinitializer")

    def _sums(self, name: str, start: str, before: str, lanes: int, count: int) -> None:
        """Write so many sums from an entry of the row on; `before` is the block that this one follows."""
        kind = vector_type(lanes) if lanes > 1 else self.T
        wide, align = "w" if lanes > 1 else "", 8 if self.width == 1 else 8 * self.width
        x = f"%${name}"
        self.write(f"  {x}_p = getelementptr {{T}}, ptr %$r_p, i64 {start}")
        for i in range(count):
            self.write(f"  {x}_p{i} = getelementptr {{T}}, ptr {x}_p, i64 {i * lanes}")
            self.write(f"  {x}_l{i} = load {kind}, ptr {x}_p{i}, align {align}")
            if self.step.scaled:
                self.write(f"  {x}_b{i} = fmul {kind} {x}_l{i}, %$scale{wide}")
        first = "b" if self.step.scaled else "l"
        entered = f"${name}_enter"
        self.write(f"  br label %{entered}", f"{entered}:", f"  br label %${name}_head", f"${name}_head:")
        self.write(f"  {x}_e = phi i64 [%$r_first, %{entered}], [{x}_e_next, %${name}_take]")
        for i in range(count):
            self.write(f"  {x}_s{i} = phi {kind} [{x}_{first}{i}, %{entered}], [{x}_n{i}, %${name}_take]")
        self.write(f"  {x}_more = icmp slt i64 {x}_e, %$r_end")
        self.write(f"  br i1 {x}_more, label %${name}_take, label %${name}_done", f"${name}_take:")
        self.write(f"  {x}_at = mul i64 {x}_e, 2")
        self._load_numbers(f"{name}_t", f"{x}_at", self.taken, ("from", "factor"))
        self._load_factor(f"{x}_f", f"%${name}_t_factor")
        factor = f"{x}_f{wide}"
        self.write(f"  {x}_m = fneg {kind} {factor}", f"  {x}_q = getelementptr {{T}}, ptr %o0, i64 %${name}_t_from")
        self.write(f"  {x}_u = getelementptr {{T}}, ptr {x}_q, i64 {start}")
        for i in range(count):
            self.write(f"  {x}_u{i} = getelementptr {{T}}, ptr {x}_u, i64 {i * lanes}")
            self.write(f"  {x}_x{i} = load {kind}, ptr {x}_u{i}, align {align}")
            self._add_product(f"{x}_n{i}", f"{x}_m", f"{x}_x{i}", f"{x}_s{i}", kind, lanes if lanes > 1 else self.width)
        self.write(f"  {x}_e_next = add i64 {x}_e, 1", f"  br label %${name}_head", f"${name}_done:")
        for i in range(count):
            self.write(f"  store {kind} {x}_s{i}, ptr {x}_p{i}, align {align}")

    def _add_product(self, name: str, a: str, b: str, c: str, kind: str, width: int) -> None:
        """Write name = a b + c."""
        if self.fused:
            suffix = "f64" if width == 1 else f"v{width}f64"
            self.write(f"  {name} = call {kind} @llvm.fma.{suffix}({kind} {a}, {kind} {b}, {kind} {c})")
        else:
            self.write(f"  {name}m = fmul {kind} {a}, {b}", f"  {name} = fadd {kind} {name}m, {c}")
