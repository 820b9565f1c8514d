"""The batch driver: states from rows into lanes, through the lane kernel, and back into rows.

Rows are transposed block by block. The last, partial block repeats its last state, so every state passes
through the same instructions whatever its place. Numbers that are not finite are noticed on the way in and
out, quaternions that are not of unit length on the way in.

Any number of threads may run the driver on one batch at once. Each claims a chunk of states, reports it when it is
done, and claims the next, until none is left; so a thread that comes late, or is held up, holds up none of the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from whippletree.kernels.entry import UNIT_TOLERANCE, Signature
from whippletree.kernels.trig import number, vector_type

__all__ = ["CHUNK", "FAULT", "batch_ir", "batch_words", "lane_buffer"]

FAULT = 2  # the word of a batch that tells what went wrong
_COUNT, _CONSTANTS, _TABLES, _ARRAYS = range(3, 7)  # other words

_LINE = 64  # bytes of a cache line
_AHEAD_BYTES = 2048  # how far ahead rows are asked for, at least
_MOST_LINES = 40  # of one argument in a block
CHUNK = 64
"""The fewest states that a thread claims at a time; while many are left, it claims an eighth of them."""


def lane_buffer(inputs: Sequence[int], outputs: Sequence[int], width: int, work: int) -> int:
    """Return how many doubles of scratch memory one thread needs.

    >>> lane_buffer([2], [1], 4, 0)
    13
    """
    return width * (sum(inputs) + sum(outputs) + work) + max(outputs, default=0)


def batch_words(
    count: int, constants: int, tables: int, inputs: Sequence[tuple[int, int]], outputs: Sequence[tuple[int, int]]
) -> list[int]:
    """Return the words that describe a batch to the driver; arrays are given by address and stride in bytes.

    >>> batch_words(5, 100, 200, [(300, 8)], [(400, 16)])
    [0, 0, -1, 5, 100, 200, 300, 8, 400, 16]
    """
    return [0, 0, -1, count, constants, tables, *(word for array in (*inputs, *outputs) for word in array)]


def batch_ir(signature: Signature, width: int, kernel: str, work: int = 0) -> str:
    """Return the driver's text: `batch`, and the functions that transpose blocks.

    batch(words, buffer, wait) works on chunks until all states are claimed and, if `wait` is not zero, then waits
    until all are done. The words (see `batch_words`) are shared by all who work on the batch; the first three tell of
    its progress: states claimed and states done, zero at first, and a fault, -1 at first. The caller claims from the
    front and helpers from the back, counted in the lower and the upper half of the first number, so that in repeated
    calls each finds its own part in its cache. A fault is twice the index of the first state of the first block in
    which something is wrong, plus one for an input (not finite, or a quaternion not of unit length), plus two for a
    result that is not finite.
    """
    T = vector_type(width)
    inputs, outputs = signature.input_sizes, signature.output_sizes
    n_in, n_out = len(inputs), len(outputs)
    lines = [
        f"define void @batch(ptr %progress, ptr noalias %buffer, i64 %wait) alignstack({8 * width}) #0 {{",
        "entry:",
        f"  %lanes = alloca [{width} x ptr], align 64",
        f"  %ki = alloca [{max(n_in, 1)} x ptr], align 64",
        f"  %ko = alloca [{max(n_out, 1)} x ptr], align 64",
    ]
    offset = 0
    for which, sizes in (("i", inputs), ("o", outputs)):
        for a, size in enumerate(sizes):
            lines += [
                f"  %s{which}{a} = getelementptr double, ptr %buffer, i64 {offset}",
                f"  %k{which}{a}p = getelementptr ptr, ptr %k{which}, i64 {a}",
                f"  store ptr %s{which}{a}, ptr %k{which}{a}p, align 8",
            ]
            offset += size * width
    total = width * (sum(inputs) + sum(outputs))
    lines.append(f"  %work = getelementptr double, ptr %buffer, i64 {total}")
    words = [("count", "i64", _COUNT), ("constants", "ptr", _CONSTANTS), ("tables", "ptr", _TABLES)]
    for k, name in enumerate([*(f"i{a}" for a in range(n_in)), *(f"o{a}" for a in range(n_out))]):
        words += [(f"b{name}", "ptr", _ARRAYS + 2 * k), (f"t{name}", "i64", _ARRAYS + 2 * k + 1)]
    for name, kind, place in words:
        lines.append(f"  %{name}p = getelementptr i64, ptr %progress, i64 {place}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}p, align 8")
    lines += [
        "  %finished = getelementptr i64, ptr %progress, i64 1",
        f"  %fault = getelementptr i64, ptr %progress, i64 {FAULT}",
        "  br label %claim",
        "claim:",
        "  %seen = load atomic i64, ptr %progress monotonic, align 8",
        "  br label %try",
        "try:",
        "  %word = phi i64 [%seen, %claim], [%found, %take]",
        "  %front = and i64 %word, 4294967295",
        "  %back = lshr i64 %word, 32",
        "  %claimed = add i64 %front, %back",
        "  %left = sub i64 %count, %claimed",
        "  %any = icmp sgt i64 %left, 0",
        "  br i1 %any, label %take, label %rest",
        "take:",
        "  %part = ashr i64 %left, 3",
        f"  %whole = and i64 %part, {-CHUNK}",
        f"  %small = icmp slt i64 %whole, {CHUNK}",
        f"  %enough = select i1 %small, i64 {CHUNK}, i64 %whole",
        "  %over = icmp sgt i64 %enough, %left",
        "  %size = select i1 %over, i64 %left, i64 %enough",
        "  %sizeback = shl i64 %size, 32",
        "  %unclaimed = sub i64 %count, %back",
        "  %startback = sub i64 %unclaimed, %size",
        "  %caller = icmp ne i64 %wait, 0",
        "  %start = select i1 %caller, i64 %front, i64 %startback",
        "  %step = select i1 %caller, i64 %size, i64 %sizeback",
        "  %claim2 = add i64 %word, %step",
        "  %swap = cmpxchg ptr %progress, i64 %word, i64 %claim2 monotonic monotonic",
        "  %found = extractvalue {i64, i1} %swap, 0",
        "  %won = extractvalue {i64, i1} %swap, 1",
        "  br i1 %won, label %own, label %try",
        "own:",
        "  %stop = add i64 %start, %size",
        "  %last = sub i64 %stop, 1",
        "  br label %block",
        "block:",
        "  %i = phi i64 [%start, %own], [%next, %advance]",
    ]
    for lane in range(width):
        lines += [
            f"  %x{lane} = add i64 %i, {lane}",
            f"  %g{lane} = icmp slt i64 %x{lane}, %stop",
            f"  %n{lane} = select i1 %g{lane}, i64 %x{lane}, i64 %last",
            f"  %l{lane} = getelementptr ptr, ptr %lanes, i64 {lane}",
        ]
    sums = []
    for a, size in enumerate(inputs):
        for lane in range(width):
            lines += [
                f"  %c{a}_{lane} = mul i64 %n{lane}, %ti{a}",
                f"  %d{a}_{lane} = getelementptr i8, ptr %bi{a}, i64 %c{a}_{lane}",
                f"  store ptr %d{a}_{lane}, ptr %l{lane}, align 8",
            ]
        lines.append(f"  %f{a} = call {T} @pack(ptr %lanes, i64 {size}, ptr %si{a})")
        sums.append(f"%f{a}")
    _prefetch(lines, inputs, outputs, width)
    _check(lines, sums, T, width, "in", "bad_in", "unit")
    lines.append("unit:")
    _check_units(lines, signature.quaternions, T, width)
    lines += [
        "run:",
        f"  call void @{kernel}(ptr %ki, ptr %ko, ptr %work, ptr %constants, ptr %tables)",
    ]
    end = total + width * work
    lines.append(f"  %dump = getelementptr double, ptr %buffer, i64 {end}")
    sums = []
    for a, size in enumerate(outputs):
        for lane in range(width):
            lines += [
                f"  %p{a}_{lane} = mul i64 %x{lane}, %to{a}",
                f"  %q{a}_{lane} = getelementptr i8, ptr %bo{a}, i64 %p{a}_{lane}",
                f"  %r{a}_{lane} = select i1 %g{lane}, ptr %q{a}_{lane}, ptr %dump",
                f"  store ptr %r{a}_{lane}, ptr %l{lane}, align 8",
            ]
        lines.append(f"  %u{a} = call {T} @unpack(ptr %lanes, i64 {size}, ptr %so{a})")
        sums.append(f"%u{a}")
    _check(lines, sums, T, width, "out", "bad_out", "advance")
    lines += [
        "advance:",
        f"  %next = add i64 %i, {width}",
        "  %more = icmp slt i64 %next, %stop",
        "  br i1 %more, label %block, label %report",
        "report:",
        "  %share = sub i64 %stop, %start",
        "  %before = atomicrmw add ptr %finished, i64 %share release",
        "  br label %claim",
        "bad_in:",
        "  br label %bad",
        "bad_out:",
        "  br label %bad",
        "bad:",
        "  %which = phi i64 [1, %bad_in], [2, %bad_out]",
        "  %twice = mul i64 %i, 2",
        "  %code = add i64 %twice, %which",
        "  %old = atomicrmw umin ptr %fault, i64 %code monotonic",
        "  br label %advance",
        "rest:",
        "  %waiting = icmp ne i64 %wait, 0",
        "  br i1 %waiting, label %spin, label %good",
        "spin:",
        "  %now = load atomic i64, ptr %finished acquire, align 8",
        "  %all = icmp sge i64 %now, %count",
        "  br i1 %all, label %good, label %spin",
        "good:",
        "  ret void",
        "}",
    ]
    declare = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    return "\n".join(lines) + "\n" + declare + _mover_ir("pack", width) + _mover_ir("unpack", width)


def _prefetch(lines: list[str], inputs: Sequence[int], outputs: Sequence[int], width: int) -> None:
    """Ask for the rows of a later block now, so that they arrive while this one is computed.

    Rows so large that they would push out what is in use are left to the processor.
    """
    row_bytes = 8 * width * (sum(inputs) + sum(outputs))
    ahead = width * max(1, -(-_AHEAD_BYTES // max(row_bytes, 1)))
    lines += [
        f"  %further = add i64 %i, {ahead}",
        "  %mine = icmp slt i64 %further, %stop",  # what comes after may be another thread's
        "  %ahead = select i1 %mine, i64 %further, i64 %i",
    ]
    for which, sizes, write in (("i", inputs, 0), ("o", outputs, 1)):
        for a, size in enumerate(sizes):
            count = -(-8 * width * size // _LINE) + 1
            if count > _MOST_LINES:
                continue
            tag = f"{which}{a}"
            lines.append(f"  %pf{tag}o = mul i64 %ahead, %t{tag}")
            lines.append(f"  %pf{tag} = getelementptr i8, ptr %b{tag}, i64 %pf{tag}o")
            for k in range(count):
                lines += [
                    f"  %pf{tag}_{k} = getelementptr i8, ptr %pf{tag}, i64 {_LINE * k}",
                    f"  call void @llvm.prefetch.p0(ptr %pf{tag}_{k}, i32 {write}, i32 3, i32 1)",
                ]


def _check(lines: list[str], sums: list[str], T: str, width: int, tag: str, bad: str, good: str) -> None:
    """Branch to `bad` if any of the sums is not a number."""
    total = number(0.0, width)
    for i, name in enumerate(sums):
        lines.append(f"  %z{tag}{i} = fadd {T} {total}, {name}")
        total = f"%z{tag}{i}"
    lines += [
        f"  %m{tag} = fcmp uno {T} {total}, {number(0.0, width)}",
        f"  %w{tag} = bitcast <{width} x i1> %m{tag} to i{width}",
        f"  %v{tag} = icmp ne i{width} %w{tag}, 0",
        f"  br i1 %v{tag}, label %{bad}, label %{good}",
    ]


def _check_units(lines: list[str], quaternions: Sequence[tuple[int, int]], T: str, width: int) -> None:
    """Branch to `bad_in` if a quaternion is not of unit length."""
    off = "zeroinitializer"
    B = vector_type(width, "i1")
    for k, (argument, start) in enumerate(quaternions):
        total = number(-1.0, width)
        for i in range(4):
            lines += [
                f"  %u{k}_{i}p = getelementptr {T}, ptr %si{argument}, i64 {start + i}",
                f"  %u{k}_{i} = load {T}, ptr %u{k}_{i}p, align {8 * width}",
                f"  %v{k}_{i} = fmul {T} %u{k}_{i}, %u{k}_{i}",
                f"  %w{k}_{i} = fadd {T} {total}, %v{k}_{i}",
            ]
            total = f"%w{k}_{i}"
        lines += [
            f"  %y{k} = call {T} @llvm.fabs.v{width}f64({T} {total})",
            f"  %o{k} = fcmp ugt {T} %y{k}, {number(UNIT_TOLERANCE, width)}",
            f"  %m{k} = or {B} {off}, %o{k}",
        ]
        off = f"%m{k}"
    if not quaternions:
        lines.append("  br label %run")
        return
    lines += [
        f"  %offbits = bitcast {B} {off} to i{width}",
        f"  %isoff = icmp ne i{width} %offbits, 0",
        "  br i1 %isoff, label %bad_in, label %run",
    ]


def _mover_ir(name: str, width: int) -> str:
    """Return `pack` (rows to lanes) or `unpack` (back); both return zeros, or NaN where not finite."""
    T, zero = vector_type(width), number(0.0, width)
    suffix = f"v{width}f64"
    pack = name == "pack"
    lines = [
        f"define internal {T} @{name}(ptr %lanes, i64 %n, ptr noalias %soa) #0 {{",
        "entry:",
    ]
    for lane in range(width):
        lines += [
            f"  %l{lane}p = getelementptr ptr, ptr %lanes, i64 {lane}",
            f"  %l{lane} = load ptr, ptr %l{lane}p, align 8",
        ]
    lines += [
        f"  %whole = and i64 %n, {-width}",
        "  %some = icmp sgt i64 %whole, 0",
        "  br i1 %some, label %blocks, label %tails",
        "blocks:",
        "  %j = phi i64 [0, %entry], [%j2, %blocks]",
        f"  %s0 = phi {T} [{zero}, %entry], [%s{width}, %blocks]",
    ]
    for k in range(width):
        lines.append(f"  %r{k} = getelementptr double, ptr %l{k}, i64 %j")
        lines.append(f"  %k{k} = add i64 %j, {k}")
        lines.append(f"  %c{k} = getelementptr {T}, ptr %soa, i64 %k{k}")
        source = f"%r{k}, align 8" if pack else f"%c{k}, align {8 * width}"
        lines.append(f"  %x{k} = load {T}, ptr {source}")
    rows = [f"%x{k}" for k in range(width)]
    for k in range(width):
        call = f"call {T} @llvm.fma.{suffix}({T} {rows[k]}, {T} {zero}, {T} %s{k})"
        lines.append(f"  %s{k + 1} = {call}")
    rows = _transpose(lines, rows, T, width)
    for k in range(width):
        target = f"%c{k}, align {8 * width}" if pack else f"%r{k}, align 8"
        lines.append(f"  store {T} {rows[k]}, ptr {target}")
    lines += [
        f"  %j2 = add i64 %j, {width}",
        "  %again = icmp slt i64 %j2, %whole",
        "  br i1 %again, label %blocks, label %tails",
        "tails:",
        "  %t0 = phi i64 [0, %entry], [%whole, %blocks]",
        f"  %ts0 = phi {T} [{zero}, %entry], [%s{width}, %blocks]",
        "  %left = icmp slt i64 %t0, %n",
        "  br i1 %left, label %tail, label %done",
        "tail:",
        "  %t = phi i64 [%t0, %tails], [%t2, %tail]",
        f"  %ts = phi {T} [%ts0, %tails], [%ts2, %tail]",
        f"  %tc = getelementptr {T}, ptr %soa, i64 %t",
    ]
    if pack:
        value = "poison"
        for k in range(width):
            lines += [
                f"  %e{k}p = getelementptr double, ptr %l{k}, i64 %t",
                f"  %e{k} = load double, ptr %e{k}p, align 8",
                f"  %y{k} = insertelement {T} {value}, double %e{k}, i32 {k}",
            ]
            value = f"%y{k}"
        lines.append(f"  store {T} {value}, ptr %tc, align {8 * width}")
    else:
        value = "%y"
        lines.append(f"  %y = load {T}, ptr %tc, align {8 * width}")
        for k in range(width):
            lines += [
                f"  %e{k}p = getelementptr double, ptr %l{k}, i64 %t",
                f"  %e{k} = extractelement {T} %y, i32 {k}",
                f"  store double %e{k}, ptr %e{k}p, align 8",
            ]
    lines += [
        f"  %ts2 = call {T} @llvm.fma.{suffix}({T} {value}, {T} {zero}, {T} %ts)",
        "  %t2 = add i64 %t, 1",
        "  %on = icmp slt i64 %t2, %n",
        "  br i1 %on, label %tail, label %done",
        "done:",
        f"  %end = phi {T} [%ts0, %tails], [%ts2, %tail]",
        f"  ret {T} %end",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _transpose(lines: list[str], rows: list[str], T: str, width: int) -> list[str]:
    """Write the transposition of a square block in log2(width) rounds of shuffles."""
    stride = 1
    while stride < width:
        new = list(rows)
        for a in range(width):
            if a & stride:
                continue
            b = a | stride
            low = [width + k - stride if k & stride else k for k in range(width)]
            high = [width + k if k & stride else k + stride for k in range(width)]
            for row, mask in ((a, low), (b, high)):
                name = f"%h{stride}_{row}"
                picks = ", ".join(f"i32 {k}" for k in mask)
                lines.append(f"  {name} = shufflevector {T} {rows[a]}, {T} {rows[b]}, <{width} x i32> <{picks}>")
                new[row] = name
        rows = new
        stride *= 2
    return rows
