"""Programs of one straight-line trace."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from whippletree.kernels.lowering import SEARCH, LoweredBody, Pool, declarations, table_numbers
from whippletree.kernels.tape import Tape, arrange, fuse, read_tape
from whippletree.kernels.trig import vector_type

__all__ = ["ARGUMENTS", "StraightLine"]

ARGUMENTS = "ptr noalias %in, ptr noalias %out, ptr noalias %work, ptr noalias %constants, ptr noalias %tables"
"""The arguments of every kernel: pointers to inputs and outputs, scratch memory, node constants, index tables."""


BLOCK = 400
"""Operations to a block: within one, the compiler may reorder; across, it keeps the order given."""


class StraightLine:
    """A program from one CasADi function.

    >>> x = ca.SX.sym("x")
    >>> program = StraightLine(ca.Function("f", [x], [2 * x]))
    >>> "define void @f" in program.ir(name="f", width=1, pack=4, fused=True)
    True
    """

    work_size = 0
    tables = np.zeros(0, dtype=np.int32)

    def __init__(self, function: ca.Function) -> None:
        self.function = function
        self._pool = Pool(1, 0)

    @property
    def constants(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The numbers that the code written last reads."""
        numbers = table_numbers(self.tape)
        return np.concatenate([numbers, np.zeros(self._pool.start - numbers.size), self._pool.values])

    @cached_property
    def tape(self) -> Tape:
        """The operations, as counted."""
        return read_tape(self.function)

    def ir(self, *, name: str, width: int, pack: int, fused: bool) -> str:
        """Return a module that evaluates the trace for `width` states, element by element beside each other."""
        self._pool = Pool(max(width, pack), table_numbers(self.tape).size)
        tape, T, align = arrange(fuse(self.tape)), vector_type(width), 8 * width
        head: list[str] = ["  %go = icmp ne ptr %out, null"]
        for a in sorted({argument for argument, _ in tape.inputs.values()}):
            head.append(f"  %pi{a} = getelementptr ptr, ptr %in, i64 {a}")
            head.append(f"  %i{a} = load ptr, ptr %pi{a}, align 8, !invariant.load !0")
        for a in sorted({argument for argument, _, _ in tape.outputs}):
            head.append(f"  %po{a} = getelementptr ptr, ptr %out, i64 {a}")
            head.append(f"  %o{a} = load ptr, ptr %po{a}, align 8, !invariant.load !0")

        count = 0

        def load(lines: list[str], argument: int, element: int) -> str:
            nonlocal count
            count += 1
            at = f"%a{count}"
            lines.append(f"  {at}p = getelementptr {T}, ptr %i{argument}, i64 {element}")
            lines.append(f"  {at} = load {T}, ptr {at}p, align {align}, !invariant.load !0")
            return at

        body = LoweredBody(tape, width, pack, load, fused=fused, pool=self._pool, block=BLOCK)
        body.write()
        for number, (argument, element, value) in enumerate(tape.outputs):
            if number % BLOCK == BLOCK - 1:
                body.lines += [f"  br i1 %go, label %more{number}, label %stop", f"more{number}:"]
            at = f"%r{argument}_{element}"
            result = body.result(value)
            body.lines.append(f"  {at} = getelementptr {T}, ptr %o{argument}, i64 {element}")
            body.lines.append(f"  store {T} {result}, ptr {at}, align {align}")
        lines = [
            f"define void @{name}({ARGUMENTS}) #0 {{",
            *head,
            *body.lines,
            "  br label %stop",
            "stop:",
            "  ret void",
            "}",
        ]
        search = SEARCH if tape.tables else ""
        return "\n".join(lines) + "\n" + search + declarations({width, pack}, self._pool)
