"""Solving symmetric systems whose zeros follow a forest, in loops: M x = b with M = L^T D L.

Each unknown has at most one unknown above it, and an entry of M is zero unless one of its two unknowns is above the
other, however far. Eliminated from the tips, such a matrix gets no new entries. The row of an unknown holds its entries
with all that is above it, by depth, and its own pivot last; so the rows of two unknowns that are above each other are
alike as far as the shorter one goes, and one is subtracted from the other without looking anything up.
"""

from __future__ import annotations

from whippletree.kernels.tape import OperationCount
from whippletree.kernels.trig import number, vector_type
from whippletree.programs.loop_program import ForestSolve

__all__ = ["count_solve", "solve_ir"]

_COLUMNS = ("place", "above", "depth", "start")
_AT_ONCE = 4  # entries in a round of the innermost loop, if each is a vector of lanes


def count_solve(step: ForestSolve) -> OperationCount:
    """Count the operations: for each unknown, those that subtract its row from the rows above, and substitute.

    >>> count_solve(ForestSolve(((0, -1, 0, 0), (1, 0, 1, 1))))
    6 multiplications, 3 additions, 2 divisions
    """
    pairs = sum(depth for _, _, depth, _ in step.table)
    updates = sum(depth * (depth + 1) // 2 for _, _, depth, _ in step.table)
    unknowns = len(step.table)
    solved = step.vector is not None
    return OperationCount(updates + pairs + solved * (2 * pairs + unknowns), updates + solved * 2 * pairs, unknowns)


def solve_ir(step: ForestSolve, table: int, prefix: str, *, width: int, pack: int, fused: bool) -> list[str]:
    """Return the lines that solve a system for `width` states; the step's table begins at an entry of %tables."""
    writer = _Lines(prefix, table, width, fused)
    if step.vector is not None:
        writer.find_vector(step)
    if step.given is not None:
        writer.copy(step)
    writer.factor(step, pack if width == 1 else width)
    if step.vector is not None:
        writer.substitute(step)
    return writer.lines


class _Lines:
    """Writes loops over unknowns and over their ancestors."""

    def __init__(self, prefix: str, table: int, width: int, fused: bool) -> None:
        self.p, self.table, self.width, self.fused = prefix, table, width, fused
        self.T, self.align = vector_type(width), 8 * width
        self.lines: list[str] = []

    def write(self, *lines: str) -> None:
        """Add lines; $ stands for the prefix of names, {T} for the type of a number, {A} for its alignment."""
        for line in lines:
            self.lines.append(line.replace("$", self.p).replace("{T}", self.T).replace("{A}", str(self.align)))

    def entries(self, of: str) -> None:
        """Load an unknown's row of the table, and find its entries and its place in the vector."""
        self.write(f"  %${of}_at = mul i64 %${of}, {len(_COLUMNS)}", f"  %${of}_from = add i64 %${of}_at, {self.table}")
        for i, name in enumerate(_COLUMNS):
            self.write(
                f"  %${of}_{name}o = add i64 %${of}_from, {i}",
                f"  %${of}_{name}p = getelementptr i32, ptr %tables, i64 %${of}_{name}o",
                f"  %${of}_{name}n = load i32, ptr %${of}_{name}p, align 4, !invariant.load !0",
                f"  %${of}_{name} = sext i32 %${of}_{name}n to i64",
            )
        self.write(f"  %${of}_row = getelementptr {{T}}, ptr %work, i64 %${of}_start")

    def add_product(self, name: str, a: str, b: str, c: str, kind: str, width: int) -> None:
        """Write name = a b + c."""
        if self.fused:
            suffix = "f64" if width == 1 else f"v{width}f64"
            self.write(f"  {name} = call {kind} @llvm.fma.{suffix}({kind} {a}, {kind} {b}, {kind} {c})")
        else:
            self.write(f"  {name}m = fmul {kind} {a}, {b}", f"  {name} = fadd {kind} {name}m, {c}")

    def find_vector(self, step: ForestSolve) -> None:
        """Find where the right-hand side begins."""
        base, at = ("work", step.vector) if step.in_work else (f"o{step.vector}", 0)
        self.write(f"  %$vector = getelementptr {{T}}, ptr %{base}, i64 {at}")

    def copy(self, step: ForestSolve) -> None:
        """Bring the given matrix and right-hand side to where they are worked on."""
        assert step.given is not None
        matrix, right = step.given
        last = len(step.table) - 1
        self.write("  br label %$copy_before", "$copy_before:", "  br label %$copy", "$copy:")
        self.write("  %$c = phi i64 [0, %$copy_before], [%$c_next, %$copied]")
        self.entries("c")
        self.write(
            f"  %$c_rightp = getelementptr {{T}}, ptr %i{right}, i64 %$c_place",
            "  %$c_right = load {T}, ptr %$c_rightp, align {A}",
            "  %$c_vectorp = getelementptr {T}, ptr %$vector, i64 %$c_place",
            "  store {T} %$c_right, ptr %$c_vectorp, align {A}",
            f"  %$c_line = mul i64 %$c_place, {step.order}",
            "  br label %$copy_up",
            "$copy_up:",
            "  %$e = phi i64 [%$c, %$copy], [%$e_above, %$copy_up]",
        )
        self.entries("e")
        self.write(
            "  %$e_o = add i64 %$c_line, %$e_place",
            f"  %$e_p = getelementptr {{T}}, ptr %i{matrix}, i64 %$e_o",
            "  %$e_x = load {T}, ptr %$e_p, align {A}",
            "  %$e_q = getelementptr {T}, ptr %$c_row, i64 %$e_depth",
            "  store {T} %$e_x, ptr %$e_q, align {A}",
            "  %$e_more = icmp sge i64 %$e_above, 0",
            "  br i1 %$e_more, label %$copy_up, label %$copied",
            "$copied:",
            "  %$c_next = add i64 %$c, 1",
            f"  %$c_more = icmp sle i64 %$c_next, {last}",
            "  br i1 %$c_more, label %$copy, label %$copy_done",
            "$copy_done:",
        )

    def factor(self, step: ForestSolve, lanes: int) -> None:
        """Eliminate from the tips; the right-hand side goes along, and is divided by the pivots."""
        last = len(step.table) - 1
        self.write("  br label %$before", "$before:", "  br label %$down", "$down:")
        self.write(f"  %$k = phi i64 [{last}, %$before], [%$k_next, %$up_done]")
        self.entries("k")
        self.write(
            "  %$pivotp = getelementptr {T}, ptr %$k_row, i64 %$k_depth",
            "  %$pivot = load {T}, ptr %$pivotp, align {A}",
        )
        trusted = self.trusted(step)
        self.write(
            f"  %$inverse = fdiv {{T}} {number(1.0, self.width)}, {trusted}",
            "  store {T} %$inverse, ptr %$pivotp, align {A}",
        )
        if step.vector is not None:
            self.write(
                "  %$xp = getelementptr {T}, ptr %$vector, i64 %$k_place",
                "  %$x = load {T}, ptr %$xp, align {A}",
            )
        self.write(
            "  br label %$up",
            "$up:",
            "  %$i = phi i64 [%$k_above, %$down], [%$i_above, %$subtracted]",
            "  %$some = icmp sge i64 %$i, 0",
            "  br i1 %$some, label %$subtract, label %$up_done",
            "$subtract:",
        )
        self.entries("i")
        self.write(
            "  %$hp = getelementptr {T}, ptr %$k_row, i64 %$i_depth",
            "  %$h = load {T}, ptr %$hp, align {A}",
            "  %$l = fmul {T} %$h, %$inverse",
            "  %$minus = fneg {T} %$l",
        )
        if step.vector is not None:
            self.write(
                "  %$yp = getelementptr {T}, ptr %$vector, i64 %$i_place",
                "  %$y = load {T}, ptr %$yp, align {A}",
            )
            self.add_product("%$y2", "%$minus", "%$x", "%$y", self.T, self.width)
            self.write("  store {T} %$y2, ptr %$yp, align {A}")
        self.subtract_rows(lanes)
        self.write(
            "$subtracted:",
            "  store {T} %$l, ptr %$hp, align {A}",
            "  br label %$up",
            "$up_done:",
        )
        if step.vector is not None:
            self.write("  %$z = fmul {T} %$x, %$inverse", "  store {T} %$z, ptr %$xp, align {A}")
        self.write(
            "  %$k_next = sub i64 %$k, 1",
            "  %$k_more = icmp sge i64 %$k_next, 0",
            "  br i1 %$k_more, label %$down, label %$factored",
            "$factored:",
        )

    def trusted(self, step: ForestSolve) -> str:
        """Return the pivot's name, or that of zero if it is not above the least, which follow the table as floats."""
        if not step.least:
            return "%$pivot"
        first = self.table + len(_COLUMNS) * len(step.table)
        self.write(
            f"  %$least_o = add i64 %$k, {first}",
            "  %$least_p = getelementptr float, ptr %tables, i64 %$least_o",
            "  %$least_f = load float, ptr %$least_p, align 4, !invariant.load !0",
            "  %$least_d = fpext float %$least_f to double",
        )
        least, flag = "%$least_d", "i1"
        if self.width > 1:
            flag = f"<{self.width} x i1>"
            self.write(
                "  %$least_1 = insertelement {T} poison, double %$least_d, i32 0",
                f"  %$least_w = shufflevector {{T}} %$least_1, {{T}} poison, <{self.width} x i32> zeroinitializer",
            )
            least = "%$least_w"
        self.write(
            f"  %$above = fcmp ogt {{T}} %$pivot, {least}",
            f"  %$trusted = select {flag} %$above, {{T}} %$pivot, {{T}} {number(0.0, self.width)}",
        )
        return "%$trusted"

    def subtract_rows(self, lanes: int) -> None:
        """Subtract the multiple of row k from row i, as far as that goes: several entries at once, then the rest."""
        alone = self.width == 1
        kind = vector_type(lanes) if alone else self.T
        at_once = lanes if alone else _AT_ONCE
        if alone:
            self.write(
                f"  %$spread = insertelement {kind} poison, double %$minus, i32 0",
                f"  %$minuses = shufflevector {kind} %$spread, {kind} poison, <{lanes} x i32> zeroinitializer",
            )
        self.write(
            "  %$count = add i64 %$i_depth, 1",
            f"  %$whole = and i64 %$count, {-at_once}",
            "  %$long = icmp sgt i64 %$whole, 0",
            "  br i1 %$long, label %$several, label %$rest",
            "$several:",
            "  %$d = phi i64 [0, %$subtract], [%$d_next, %$several]",
            "  %$d_k = getelementptr {T}, ptr %$k_row, i64 %$d",
            "  %$d_i = getelementptr {T}, ptr %$i_row, i64 %$d",
        )
        for e in range(1 if alone else at_once):
            align = 8 if alone else self.align
            factor = "%$minuses" if alone else "%$minus"
            self.write(
                f"  %$a{e}p = getelementptr {{T}}, ptr %$d_k, i64 {e}",
                f"  %$b{e}p = getelementptr {{T}}, ptr %$d_i, i64 {e}",
                f"  %$a{e} = load {kind}, ptr %$a{e}p, align {align}",
                f"  %$b{e} = load {kind}, ptr %$b{e}p, align {align}",
            )
            self.add_product(f"%$c{e}", factor, f"%$a{e}", f"%$b{e}", kind, lanes)
            self.write(f"  store {kind} %$c{e}, ptr %$b{e}p, align {align}")
        self.write(
            f"  %$d_next = add i64 %$d, {at_once}",
            "  %$d_more = icmp slt i64 %$d_next, %$whole",
            "  br i1 %$d_more, label %$several, label %$rest",
            "$rest:",
            "  %$r0 = phi i64 [0, %$subtract], [%$whole, %$several]",
            "  %$left = icmp slt i64 %$r0, %$count",
            "  br i1 %$left, label %$one, label %$subtracted",
            "$one:",
            "  %$r = phi i64 [%$r0, %$rest], [%$r_next, %$one]",
            "  %$r_k = getelementptr {T}, ptr %$k_row, i64 %$r",
            "  %$r_i = getelementptr {T}, ptr %$i_row, i64 %$r",
            "  %$r_a = load {T}, ptr %$r_k, align {A}",
            "  %$r_b = load {T}, ptr %$r_i, align {A}",
        )
        self.add_product("%$r_c", "%$minus", "%$r_a", "%$r_b", self.T, self.width)
        self.write(
            "  store {T} %$r_c, ptr %$r_i, align {A}",
            "  %$r_next = add i64 %$r, 1",
            "  %$r_more = icmp slt i64 %$r_next, %$count",
            "  br i1 %$r_more, label %$one, label %$subtracted",
        )

    def substitute(self, step: ForestSolve) -> None:
        """Go outward: each unknown less its multiples of those above."""
        last = len(step.table) - 1
        self.write("  br label %$out", "$out:", "  %$m = phi i64 [0, %$factored], [%$m_next, %$out_done]")
        self.entries("m")
        self.write(
            "  %$vp = getelementptr {T}, ptr %$vector, i64 %$m_place",
            "  %$v0 = load {T}, ptr %$vp, align {A}",
            "  br label %$out_up",
            "$out_up:",
            "  %$j = phi i64 [%$m_above, %$out], [%$j_above, %$out_add]",
            "  %$v = phi {T} [%$v0, %$out], [%$v_next, %$out_add]",
            "  %$j_some = icmp sge i64 %$j, 0",
            "  br i1 %$j_some, label %$out_add, label %$out_done",
            "$out_add:",
        )
        self.entries("j")
        self.write(
            "  %$j_lp = getelementptr {T}, ptr %$m_row, i64 %$j_depth",
            "  %$j_l = load {T}, ptr %$j_lp, align {A}",
            "  %$j_minus = fneg {T} %$j_l",
            "  %$j_xp = getelementptr {T}, ptr %$vector, i64 %$j_place",
            "  %$j_x = load {T}, ptr %$j_xp, align {A}",
        )
        self.add_product("%$v_next", "%$j_minus", "%$j_x", "%$v", self.T, self.width)
        self.write(
            "  br label %$out_up",
            "$out_done:",
            "  store {T} %$v, ptr %$vp, align {A}",
            "  %$m_next = add i64 %$m, 1",
            f"  %$m_more = icmp sle i64 %$m_next, {last}",
            "  br i1 %$m_more, label %$out, label %$solved",
            "$solved:",
        )
