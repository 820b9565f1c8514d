"""From a tape to LLVM IR text: the body of a kernel, for one state or for several in lanes.

IR is written as text, which is some twenty times as fast as building it object by object.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from whippletree.foundation.arrays import Array
from whippletree.kernels.native import host
from whippletree.kernels.tape import OperationCount, Tape, arrange, fuse, read_tape
from whippletree.kernels.trig import number, sincos_ir, tanh_ir, vector_type

if TYPE_CHECKING:
    from whippletree.kernels.tape_loops import LongLine

__all__ = [
    "ARGUMENTS",
    "BLOCK",
    "LIBRARY_FUNCTIONS",
    "SEARCH",
    "LoweredBody",
    "Pool",
    "StraightLine",
    "declarations",
    "flushing",
    "program_of",
    "table_numbers",
]

_LIBRARY_1 = (
    "tan asin acos atan sinh cosh asinh acosh atanh exp log expm1 log1p erf".split()  # noqa: SIM905
)
_LIBRARY_2 = ("atan2", "pow", "fmod", "hypot")
LIBRARY_FUNCTIONS = frozenset([*_LIBRARY_1, *_LIBRARY_2])
"""Operations that are calls of the C library, whose time depends on their argument."""

_INTRINSIC_1 = {"sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
SEARCH = """
define internal double @segment(double %x, ptr %knots, i64 %n) #0 {
entry:
  br label %look
look:
  %low = phi i64 [ 0, %entry ], [ %low2, %halve ]
  %left = phi i64 [ %n, %entry ], [ %left2, %halve ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %halve, label %found
halve:
  %left2 = lshr i64 %left, 1
  %half = sub i64 %left, %left2
  %above = add i64 %low, %half
  %at = sub i64 %above, 1
  %p = getelementptr double, ptr %knots, i64 %at
  %knot = load double, ptr %p, align 8, !invariant.load !0
  %reached = fcmp ole double %knot, %x
  %mask = sext i1 %reached to i64
  %further = and i64 %half, %mask
  %low2 = add i64 %low, %further
  br label %look
found:
  %row = uitofp i64 %low to double
  ret double %row
}
"""
"""The function that finds a number's row in a table: how many knots it has reached. The number of halvings of the range
depends on the table alone, so that it takes the same time for every number."""

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def declarations(width: int, vectors: set[int], pool: Pool, body: str = "") -> str:
    """Return the declarations of a module with a body: intrinsics, library functions, attributes, our own functions.

    `vectors` are the numbers of lanes that occur in a module for `width` states.

    >>> "@llvm.fma.f64" in declarations(1, {4}, Pool(1))
    True
    """
    lines, widths = _attributes(width), vectors | {width}
    for lanes in sorted(widths | {1}):
        T, suffix = vector_type(lanes), _suffix(lanes)
        lines.append(f"declare {T} @llvm.fma.{suffix}({T}, {T}, {T})")
        lines += [f"declare {T} @llvm.{name}.{suffix}({T})" for name in _INTRINSIC_1.values()]
        lines.append(f"declare {T} @llvm.copysign.{suffix}({T}, {T})")
    lines += [f"declare double @{name}(double)" for name in ("sin", "cos", *_LIBRARY_1)]
    lines += [f"declare double @{name}(double, double)" for name in _LIBRARY_2]
    own = [_own_function(sincos_ir, lanes, pool) for lanes in sorted(widths)]
    own += [_own_function(tanh_ir, lanes, pool) for lanes in sorted(widths | {1}) if f"@tanh{lanes}(" in body]
    return "\n".join(lines) + "\n" + "".join(own)


def _attributes(width: int) -> list[str]:
    """Return the attributes of functions: #0 of most, #1 of those that are hardly ever called, #2 of kernels.

    Values that wait in memory are addressed from the frame pointer, which takes a byte less than from the stack
    pointer: long kernels have been found to need a fifth less time. The compiler does so only in a stack that it need
    not align. For one state the stack is left as it is; with lanes, it is aligned by the driver of batches.
    """
    kernel = 'nounwind "frame-pointer"="all"'
    lines = ["attributes #0 = { nounwind }", "attributes #1 = { nounwind noinline cold }", "!0 = !{}"]
    if width == 1:
        return [*lines, f'attributes #2 = {{ {kernel} "no-realign-stack" }}']
    aligned = f'!1 = !{{i32 1, !"override-stack-alignment", i32 {8 * width}}}'
    return [*lines, f"attributes #2 = {{ {kernel} }}", "!llvm.module.flags = !{!1}", aligned]


def _own_function(write: Callable[..., str], width: int, pool: Pool) -> str:
    """Return a function for a number of lanes, its constants in the pool."""
    fresh = (f"%q{i}" for i in itertools.count())
    # not empty: there is always another
    return write(width, lambda lines, value: pool.load(lines, value, width, lambda: next(fresh)))


def _suffix(width: int) -> str:
    return "f64" if width == 1 else f"v{width}f64"


class Pool:
    """Numbers that the code reads from the constants it is called with, rather than carrying them itself.

    Each stands there once for every lane, so that an operation can take it straight from memory. `start` is where
    they begin; it is rounded up to a cache line.

    >>> pool = Pool(4)
    >>> pool.index(2.0), pool.index(3.0), pool.index(2.0)
    (0, 4, 0)
    """

    def __init__(self, width: int, start: int = 0) -> None:
        self.width, self.start = width, -(-start // 8) * 8
        self._index: dict[float, int] = {}

    def index(self, value: float) -> int:
        """Return where a number stands, adding it if it is new."""
        return self.start + self.width * self._index.setdefault(value, len(self._index))

    @property
    def values(self) -> list[float]:
        """The numbers in order, each as often as there are lanes."""
        return [value for value in self._index for _ in range(self.width)]

    def load(self, lines: list[str], value: float, width: int, fresh: Callable[[], str]) -> str:
        """Write the load of a number into all lanes."""
        pointer, loaded, T = fresh(), fresh(), vector_type(width)
        lines.append(f"  {pointer} = getelementptr double, ptr %constants, i64 {self.index(value)}")
        lines.append(f"  {loaded} = load {T}, ptr {pointer}, align {8 * width}, !invariant.load !0")
        return loaded


def table_numbers(tape: Tape) -> Array:
    """Return the numbers of a tape's tables one after the other, as the code reads them.

    >>> table_numbers(Tape()).size
    0
    """
    return np.concatenate([np.zeros(0), *(table.numbers for table in tape.tables)])


class LoweredBody:
    """Writes the operations of one tape as IR lines.

    `width` is the number of states in the lanes; `pack` is how many angles of one state share lanes for their sines
    and cosines when there is only one state. `load` writes the address computation of a leaf and returns the name of
    the pointer; `prefix` keeps names of several bodies in one function apart. `found`, if given, is called with each
    value that has been worked out, so that a result can be stored at once and needs no register any more. In the
    constants, the numbers of the tape's tables begin at `tables_at`.
    """

    def __init__(
        self,
        tape: Tape,
        width: int,
        pack: int,
        load: Callable[[list[str], int, int], str],
        prefix: str = "",
        fused: bool = True,
        pool: Pool | None = None,
        block: int = 0,
        found: Callable[[int], None] | None = None,
        tables_at: int = 0,
    ) -> None:
        self.tape, self.width, self.pack, self._tables_at = tape, width, pack, tables_at
        self._load, self._prefix, self._fused = load, prefix, fused
        self._pool, self._block, self._found = pool, block, found
        self._emitted = self._blocks = 0
        self.T, self._s = vector_type(width), _suffix(width)
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self._near: dict[int, str] = {}  # leaves loaded in this block
        self._temporary = 0

    def write(self) -> None:
        """Write everything: the arguments of the angles, their sines and cosines, then the rest in order."""
        angles = self._angles()
        while angles:
            ready = self._ready(angles)
            for angle in ready:
                self._emit_with_operands(angle)
            self._write_trigonometry(ready)
            angles = [a for a in angles if a not in set(ready)]
        for value in range(len(self.tape.operations)):
            if value not in self.names:
                self._emit(value)
                self._count()

    def _count(self) -> None:
        """Begin a new block now and then; values in memory are loaded again there."""
        self._emitted += 1
        if self._block and self._emitted % self._block == 0:
            self._blocks += 1
            label = f"{self._prefix}b{self._blocks}"
            self.lines.append(f"  br i1 %go, label %{label}, label %stop")
            self.lines.append(f"{label}:")
            self._near.clear()

    def result(self, value: int) -> str:
        """Return the name of a value, at the end of the body."""
        return self.use(value)

    def temporary(self) -> str:
        """Return a fresh name."""
        self._temporary += 1
        return f"%{self._prefix}t{self._temporary}"

    def _angles(self) -> list[int]:
        """Return the distinct arguments of sines and cosines, in order."""
        found = dict.fromkeys(operands[0] for name, operands in self.tape.operations if name in ("sin", "cos"))
        return list(found)

    def _ready(self, angles: list[int]) -> list[int]:
        """Return the angles that do not wait for another sine or cosine."""
        ready = []
        for angle in angles:
            pending, seen, waits = [angle], {angle}, False
            while pending and not waits:
                value = pending.pop()
                name, operands = self.tape.operations[value]
                if value in self.names:
                    continue
                waits = name in ("sin", "cos")
                pending.extend(o for o in operands if o not in seen)
                seen.update(operands)
            if not waits:
                ready.append(angle)
        return ready

    def _emit_with_operands(self, value: int) -> None:
        """Emit a value after all it needs."""
        pending = [value]
        while pending:
            top = pending[-1]
            missing = [o for o in self.tape.operations[top][1] if o not in self.names]
            if top in self.names:
                pending.pop()
            elif missing:
                pending.extend(missing)
            else:
                self._emit(top)
                pending.pop()

    def _write_trigonometry(self, angles: list[int]) -> None:
        """Write sines and cosines of angles that are at hand, several to a call if there is one state."""
        wanted: dict[int, dict[str, int]] = {}
        for value, (name, operands) in enumerate(self.tape.operations):
            if name in ("sin", "cos"):
                wanted.setdefault(operands[0], {})[name] = value
        step = self.pack if self.width == 1 else 1
        for start in range(0, len(angles), step):
            group = angles[start : start + step]
            if self.width == 1 and len(group) > 1:
                self._packed_pair(group, wanted)
            else:
                for angle in group:
                    self._pair(angle, wanted[angle])

    def _pair(self, angle: int, wanted: dict[str, int]) -> None:
        """Write the sine and cosine of one value."""
        pair, T = self.temporary(), self.T
        self.lines.append(f"  {pair} = call {{{T}, {T}}} @sincos{self.width}({T} {self.use(angle)}, ptr %constants)")
        for i, name in enumerate(("sin", "cos")):
            if name in wanted:
                self.names[wanted[name]] = f"%{self._prefix}v{wanted[name]}"
                self.lines.append(f"  {self.names[wanted[name]]} = extractvalue {{{T}, {T}}} {pair}, {i}")

    def _packed_pair(self, group: list[int], wanted: dict[int, dict[str, int]]) -> None:
        """Write the sines and cosines of several angles of one state in one call."""
        V = vector_type(self.pack)
        packed = "zeroinitializer"
        for i, angle in enumerate(group):
            name = self.temporary()
            self.lines.append(f"  {name} = insertelement {V} {packed}, double {self.use(angle)}, i32 {i}")
            packed = name
        pair = self.temporary()
        self.lines.append(f"  {pair} = call {{{V}, {V}}} @sincos{self.pack}({V} {packed}, ptr %constants)")
        for which, name in enumerate(("sin", "cos")):
            whole = self.temporary()
            self.lines.append(f"  {whole} = extractvalue {{{V}, {V}}} {pair}, {which}")
            for i, angle in enumerate(group):
                value = wanted[angle].get(name)
                if value is not None:
                    self.names[value] = f"%{self._prefix}v{value}"
                    self.lines.append(f"  {self.names[value]} = extractelement {V} {whole}, i32 {i}")

    def _emit(self, value: int) -> None:
        """Write one operation."""
        name, operands = self.tape.operations[value]
        if name in ("const", "input"):
            self.names[value] = name  # loaded where it is used
            return
        result = f"%{self._prefix}v{value}"
        x = [self.use(o) for o in operands]
        self.names[value] = result
        self._operation(result, name, x)
        if self._found is not None:
            self._found(value)

    def use(self, value: int) -> str:
        """Return the name of a value; leaves are loaded if this block has not done so."""
        name = self.tape.operations[value][0]
        if name not in ("const", "input"):
            return self.names[value]
        if value not in self._near:
            self._near[value] = self._leaf(value, name)
        return self._near[value]

    def _leaf(self, value: int, name: str) -> str:
        if name == "input":
            return self._load(self.lines, *self.tape.inputs[value])
        constant = self.tape.constants[value]
        if self._pool is None or constant == 0.0:
            return number(constant, self.width)
        return self._pool.load(self.lines, constant, self.width, self.temporary)

    def _operation(self, result: str, name: str, x: list[str]) -> None:
        """Write an operation on names."""
        T, put = self.T, self.lines.append
        if name in _ARITHMETIC:
            put(f"  {result} = {_ARITHMETIC[name]} {T} {x[0]}, {x[1]}")
        elif name == "neg":
            put(f"  {result} = fneg {T} {x[0]}")
        elif name in ("fma", "fnma", "fms"):
            self._fused_operation(result, name, x)
        elif name in _INTRINSIC_1:
            put(f"  {result} = call {T} @llvm.{_INTRINSIC_1[name]}.{self._s}({T} {x[0]})")
        elif name == "copysign":
            put(f"  {result} = call {T} @llvm.copysign.{self._s}({T} {x[0]}, {T} {x[1]})")
        elif name in _COMPARE:
            self._choice(result, _COMPARE[name], x[0], x[1], self._one)
        elif name == "not":
            self._choice(result, "oeq", x[0], self._zero, self._one)
        elif name == "if_else_zero":
            self._choice(result, "une", x[0], self._zero, x[1])
        elif name in ("fmin", "fmax"):
            self._extreme(result, name, x)
        elif name in ("and", "or"):
            self._logical(result, name, x)
        elif name == "sign":
            self._sign(result, x[0])
        elif name == "tanh":
            put(f"  {result} = call {T} @tanh{self.width}({T} {x[0]}, ptr %constants)")
        elif name.startswith(("segment:", "entry:")):
            self._by_lane(result, x, lambda value, parts: self._from_table(name, value, parts[0]))
        else:
            self._library(result, name, x)

    @property
    def _zero(self) -> str:
        return number(0.0, self.width)

    @property
    def _one(self) -> str:
        return number(1.0, self.width)

    def _fused_operation(self, result: str, name: str, x: list[str]) -> None:
        """Write a b + c, c - a b or a b - c."""
        T, a, c = self.T, x[0], x[2]
        if not self._fused:
            product = self.temporary()
            self.lines.append(f"  {product} = fmul {T} {x[0]}, {x[1]}")
            left, right = (c, product) if name == "fnma" else (product, c)
            self.lines.append(f"  {result} = {'fadd' if name == 'fma' else 'fsub'} {T} {left}, {right}")
            return
        if name == "fnma":
            a = self._negated(a)
        elif name == "fms":
            c = self._negated(c)
        self.lines.append(f"  {result} = call {T} @llvm.fma.{self._s}({T} {a}, {T} {x[1]}, {T} {c})")

    def _negated(self, x: str) -> str:
        name = self.temporary()
        self.lines.append(f"  {name} = fneg {self.T} {x}")
        return name

    def _choice(self, result: str, relation: str, a: str, b: str, chosen: str, other: str = "") -> None:
        """Write `chosen` where a and b are in a relation, else `other`, or zero.

        For one state that is done bit by bit, with a mask. A `select` of plain numbers may become a jump, and then
        the time of a step would depend on its state.
        """
        n = max(self.width, 2)
        T, B, I = vector_type(n), vector_type(n, "i1"), vector_type(n, "i64")
        a, b, chosen, other = (self._in_lanes(x) for x in (a, b, chosen, other or self._zero))
        flag, mask = self.temporary(), self.temporary()
        self.lines.append(f"  {flag} = fcmp {relation} {T} {a}, {b}")
        if self.width > 1:
            self.lines.append(f"  {result} = select {B} {flag}, {T} {chosen}, {T} {other}")
            return
        bits = [self.temporary() for _ in range(6)]
        self.lines += [
            f"  {mask} = sext {B} {flag} to {I}",
            f"  {bits[0]} = bitcast {T} {chosen} to {I}",
            f"  {bits[1]} = bitcast {T} {other} to {I}",
            f"  {bits[2]} = xor {I} {bits[0]}, {bits[1]}",
            f"  {bits[3]} = and {I} {bits[2]}, {mask}",
            f"  {bits[4]} = xor {I} {bits[3]}, {bits[1]}",
            f"  {bits[5]} = bitcast {I} {bits[4]} to {T}",
            f"  {result} = extractelement {T} {bits[5]}, i32 0",
        ]

    def _in_lanes(self, x: str) -> str:
        """Return a value in the lanes of a vector: a plain number in the first of two."""
        if self.width > 1:
            return x
        name = self.temporary()
        self.lines.append(f"  {name} = insertelement <2 x double> zeroinitializer, double {x}, i32 0")
        return name

    def _extreme(self, result: str, name: str, x: list[str]) -> None:
        """Write the smaller or the larger of two."""
        flag, B, T = self.temporary(), vector_type(self.width, "i1"), self.T
        self.lines.append(f"  {flag} = fcmp {'olt' if name == 'fmin' else 'ogt'} {T} {x[0]}, {x[1]}")
        self.lines.append(f"  {result} = select {B} {flag}, {T} {x[0]}, {T} {x[1]}")

    def _logical(self, result: str, name: str, x: list[str]) -> None:
        """Write a logical operation on numbers that are zero or not."""
        second = self.temporary()
        self._choice(second, "une", x[1], self._zero, self._one)
        chosen = (second, self._zero) if name == "and" else (self._one, second)
        self._choice(result, "une", x[0], self._zero, *chosen)

    def _sign(self, result: str, x: str) -> None:
        """Write -1, 0 or 1."""
        unit, T = self.temporary(), self.T
        self.lines.append(f"  {unit} = call {T} @llvm.copysign.{self._s}({T} {self._one}, {T} {x})")
        self._choice(result, "une", x, self._zero, unit)

    def _library(self, result: str, name: str, x: list[str]) -> None:
        """Write a call of a library function, lane by lane."""
        if name not in LIBRARY_FUNCTIONS:
            raise NotImplementedError(f"native code does not know the operation {name}")

        def call(value: str, parts: list[str]) -> None:
            arguments = ", ".join(f"double {p}" for p in parts)
            self.lines.append(f"  {value} = call double @{name}({arguments})")

        self._by_lane(result, x, call)

    def _by_lane(self, result: str, x: list[str], write: Callable[[str, list[str]], None]) -> None:
        """Write operations on plain numbers, lane by lane."""
        if self.width == 1:
            write(result, x)
            return
        whole = "poison"
        for lane in range(self.width):
            parts = [self.temporary() for _ in x]
            for part, a in zip(parts, x, strict=True):
                self.lines.append(f"  {part} = extractelement {self.T} {a}, i32 {lane}")
            value = self.temporary()
            write(value, parts)
            new = result if lane == self.width - 1 else self.temporary()
            self.lines.append(f"  {new} = insertelement {self.T} {whole}, double {value}, i32 {lane}")
            whole = new

    def _from_table(self, name: str, result: str, x: str) -> None:
        """Write the search for a number's row in a table, or the load of an entry of that row."""
        what, number, *entry = name.split(":")
        tables = self.tape.tables
        start = self._tables_at + sum(t.numbers.size for t in tables[: int(number)])
        knots, (_, m) = len(tables[int(number)].knots), tables[int(number)].entries.shape
        put = self.lines.append
        if what == "segment":
            at = self.temporary()
            put(f"  {at} = getelementptr double, ptr %constants, i64 {start}")
            put(f"  {result} = call double @segment(double {x}, ptr {at}, i64 {knots})")
            return
        row, skipped, index, at = (self.temporary() for _ in range(4))
        put(f"  {row} = fptosi double {x} to i64")
        put(f"  {skipped} = mul i64 {row}, {m}")
        put(f"  {index} = add i64 {skipped}, {start + knots + int(entry[0])}")
        put(f"  {at} = getelementptr double, ptr %constants, i64 {index}")
        put(f"  {result} = load double, ptr {at}, align 8, !invariant.load !0")


ARGUMENTS = "ptr noalias %in, ptr noalias %out, ptr noalias %work, ptr noalias %constants, ptr noalias %tables"
"""The arguments of every kernel: pointers to inputs and outputs, scratch memory, node constants, index tables."""


BLOCK = 400
"""Operations to a block: within one, the compiler may reorder; across, it keeps the order given."""


def flushing(wanted: bool) -> tuple[list[str], list[str], str]:
    """Return lines by which a processor takes numbers below 2e-308 for zero, lines that undo it, and declarations.

    All are empty where it is not wanted, and for processors other than x86, which need no longer for such numbers.

    >>> flushing(False)
    ([], [], '')
    """
    if not wanted or not host().triple.startswith("x86_64"):
        return [], [], ""
    begin = [
        "  %mode = alloca i32, align 4",
        "  %flushing = alloca i32, align 4",
        "  call void @llvm.x86.sse.stmxcsr(ptr %mode)",
        "  %before = load i32, ptr %mode, align 4",
        f"  %flush = or i32 %before, {_FLUSH}",
        "  store i32 %flush, ptr %flushing, align 4",
        "  call void @llvm.x86.sse.ldmxcsr(ptr %flushing)",
    ]
    declared = "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n"
    return begin, ["  call void @llvm.x86.sse.ldmxcsr(ptr %mode)"], declared


_FLUSH = 0x8040
"""The bits of the control register by which subnormal results and operands are zero."""


class StraightLine:
    """A program from one CasADi function.

    `flush` takes numbers below 2e-308 for zero while it runs, on x86 processors, which would need up to a hundred
    times as long with them: what a damped motion comes to in the end.

    >>> x = ca.SX.sym("x")
    >>> program = StraightLine(ca.Function("f", [x], [2 * x]))
    >>> "define void @f" in program.ir(name="f", width=1, pack=4, fused=True)
    True
    """

    work_size = 0
    tables = np.zeros(0, dtype=np.int32)

    def __init__(self, function: ca.Function, *, flush: bool = False) -> None:
        self.function = function
        self._flush = flush
        self._pool = Pool(1, 0)

    @property
    def constants(self) -> Array:
        """The numbers that the code written last reads."""
        numbers = table_numbers(self.tape)
        return np.concatenate([numbers, np.zeros(self._pool.start - numbers.size), self._pool.values])

    @cached_property
    def tape(self) -> Tape:
        """The operations, as counted."""
        return read_tape(self.function)

    def count(self) -> OperationCount:
        """Count the operations of one evaluation."""
        return self.tape.count()

    def operations(self) -> set[str]:
        """Return the names of all operations that occur."""
        return {name for name, _ in self.tape.operations}

    def ir(self, *, name: str, width: int, pack: int, fused: bool) -> str:
        """Return a module that evaluates the trace for `width` states, element by element beside each other."""
        self._pool = Pool(max(width, pack), table_numbers(self.tape).size)
        tape, T, align = arrange(fuse(self.tape)), vector_type(width), 8 * width
        flush, restore, declared = flushing(self._flush)
        head: list[str] = ["begin:", *flush, "  %go = icmp ne ptr %out, null"]
        for a in sorted({argument for argument, _ in tape.inputs.values()}):
            head.append(f"  %pi{a} = getelementptr ptr, ptr %in, i64 {a}")
            head.append(f"  %i{a} = load ptr, ptr %pi{a}, align 8, !invariant.load !0")
        for a in sorted({argument for argument, _, _ in tape.outputs}):
            head.append(f"  %po{a} = getelementptr ptr, ptr %out, i64 {a}")
            head.append(f"  %o{a} = load ptr, ptr %po{a}, align 8, !invariant.load !0")
        cleared = _mostly_zero(tape)
        head += _clear(cleared, T, align)

        count = 0

        def load(lines: list[str], argument: int, element: int) -> str:
            nonlocal count
            count += 1
            at = f"%a{count}"
            lines.append(f"  {at}p = getelementptr {T}, ptr %i{argument}, i64 {element}")
            lines.append(f"  {at} = load {T}, ptr {at}p, align {align}, !invariant.load !0")
            return at

        places: dict[int, list[tuple[int, int]]] = {}
        for argument, element, value in tape.outputs:
            if element >= cleared.get(argument, 0) or not _is_zero(tape, value):
                places.setdefault(value, []).append((argument, element))

        def store(value: int) -> None:
            for argument, element in places.pop(value, ()):
                at = f"%r{argument}_{element}"
                body.lines.append(f"  {at} = getelementptr {T}, ptr %o{argument}, i64 {element}")
                body.lines.append(f"  store {T} {body.result(value)}, ptr {at}, align {align}")

        body = LoweredBody(tape, width, pack, load, fused=fused, pool=self._pool, block=BLOCK, found=store)
        body.write()
        for index, value in enumerate(list(places)):
            if index % BLOCK == BLOCK - 1:
                body.lines += [f"  br i1 %go, label %more{index}, label %stop", f"more{index}:"]
            store(value)
        lines = [
            f"define void @{name}({ARGUMENTS}) #2 {{",
            *head,
            *body.lines,
            "  br label %stop",
            "stop:",
            *restore,
            "  ret void",
            "}",
        ]
        text = "\n".join(lines)
        return "\n".join([text, (SEARCH if tape.tables else "") + declared]) + declarations(
            width, {pack}, self._pool, text
        )


_ZEROS = 64
"""An output with more zeros than this is cleared by a loop, which compiles faster than a store for each."""


_AT_ONCE = 16
"""So many entries are cleared in one turn of the loop: the compiler makes wide stores of them."""


def _is_zero(tape: Tape, value: int) -> bool:
    """Tell whether a value is the constant zero, and not minus zero."""
    return tape.constants.get(value) == 0.0 and math.copysign(1.0, tape.constants[value]) > 0.0


def _mostly_zero(tape: Tape) -> dict[int, int]:
    """Return the outputs of which many entries are always zero, and how many of their entries to clear by a loop."""
    zeros = Counter(argument for argument, _, value in tape.outputs if _is_zero(tape, value))
    sizes = Counter(argument for argument, _, _ in tape.outputs)
    return {a: sizes[a] // _AT_ONCE * _AT_ONCE for a in sorted(zeros) if zeros[a] > _ZEROS}


def _clear(sizes: Mapping[int, int], T: str, align: int) -> list[str]:
    """Return loops that set so many entries of outputs to zero; they follow the block `begin`."""
    lines: list[str] = []
    before = "begin"
    for argument, size in sizes.items():
        lines += [
            f"  br label %clear{argument}",
            f"clear{argument}:",
            f"  %k{argument} = phi i64 [ 0, %{before} ], [ %n{argument}, %clear{argument} ]",
            f"  %z{argument} = getelementptr {T}, ptr %o{argument}, i64 %k{argument}",
            *(
                line
                for j in range(_AT_ONCE)
                for line in (
                    f"  %z{argument}_{j} = getelementptr {T}, ptr %z{argument}, i64 {j}",
                    f"  store {T} zeroinitializer, ptr %z{argument}_{j}, align {align}",
                )
            ),
            f"  %n{argument} = add i64 %k{argument}, {_AT_ONCE}",
            f"  %m{argument} = icmp ult i64 %n{argument}, {size}",
            f"  br i1 %m{argument}, label %clear{argument}, label %cleared{argument}",
            f"cleared{argument}:",
        ]
        before = f"cleared{argument}"
    return lines


LONG = 10_000
"""Tapes of more operations are searched for what repeats itself."""


def program_of(function: ca.Function) -> StraightLine | LongLine:
    """Return a function as a straight line, or as loops if it is long and repeats itself."""
    line = StraightLine(function)
    if len(line.tape.operations) <= LONG:
        return line
    from whippletree.kernels.tape_loops import LongLine

    loops = LongLine(line)
    return loops if 2 * loops.code <= len(line.tape.operations) else line
