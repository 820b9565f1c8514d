"""Kernels for one straight-line trace: the scalar kernel, and the lane kernel."""

from __future__ import annotations

from whippletree.kernels.lowering import Body, declarations
from whippletree.kernels.tape import Tape
from whippletree.kernels.trig import vector_type

__all__ = ["kernel_ir", "straight_line"]

ARGUMENTS = "ptr noalias %in, ptr noalias %out, ptr noalias %work, ptr noalias %constants, ptr noalias %tables"
"""The arguments of every kernel: pointers to inputs and outputs, scratch memory, node constants, index tables."""


def kernel_ir(tape: Tape, *, name: str, width: int, pack: int, fused: bool = True) -> str:
    """Return the module text of a kernel for one trace."""
    return straight_line(tape, name=name, width=width, pack=pack, fused=fused) + declarations({width, pack})


def straight_line(tape: Tape, *, name: str, width: int, pack: int, fused: bool) -> str:
    """Return a function that evaluates the tape for `width` states, element by element beside each other."""
    T = vector_type(width)
    align = 8 * width
    head: list[str] = []
    arguments = sorted({argument for argument, _ in tape.inputs.values()})
    results = sorted({argument for argument, _, _ in tape.outputs})
    for a in arguments:
        head.append(f"  %pi{a} = getelementptr ptr, ptr %in, i64 {a}")
        head.append(f"  %i{a} = load ptr, ptr %pi{a}, align 8, !invariant.load !0")
    for a in results:
        head.append(f"  %po{a} = getelementptr ptr, ptr %out, i64 {a}")
        head.append(f"  %o{a} = load ptr, ptr %po{a}, align 8, !invariant.load !0")

    def load(lines: list[str], argument: int, element: int) -> str:
        at = f"%a{argument}_{element}"
        lines.append(f"  {at}p = getelementptr {T}, ptr %i{argument}, i64 {element}")
        lines.append(f"  {at} = load {T}, ptr {at}p, align {align}, !invariant.load !0")
        return at

    body = Body(tape, width, pack, load, fused=fused)
    body.write()
    tail: list[str] = []
    for argument, element, value in tape.outputs:
        at = f"%r{argument}_{element}"
        tail.append(f"  {at} = getelementptr {T}, ptr %o{argument}, i64 {element}")
        tail.append(f"  store {T} {body.result(value)}, ptr {at}, align {align}")
    lines = [f"define void @{name}({ARGUMENTS}) #0 {{", *head, *body.lines, *tail, "  ret void", "}"]
    return "\n".join(lines) + "\n"
