"""A way into a kernel from Python in a fraction of a microsecond.

For one state, most of the time of an ordinary call goes into checking and converting arguments. The function here is
machine code that Python calls directly, the result first: it checks that each argument is a plain float64 array of
the right shape, with finite numbers and quaternions of unit length, runs the kernel on the arrays' own memory, and
answers with a number:

    0  done          1  not the plain case: take the long way
    2  an input is not finite          3  a result is not finite

It reads the fields that NumPy publishes for arrays; `supported` checks, once, that they are where they should be.
Arrays that share memory with the result, and quaternions that are not of unit length, are left to the long way.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whippletree.foundation.arrays import AnyArray
from whippletree.kernels.native import NativeCode
from whippletree.kernels.trig import number

__all__ = [
    "DONE",
    "NOT_FINITE_INPUT",
    "NOT_FINITE_RESULT",
    "SLOW_PATH",
    "UNIT_TOLERANCE",
    "Entry",
    "Signature",
    "address_of",
    "entry_ir",
    "supported",
]

DONE, SLOW_PATH, NOT_FINITE_INPUT, NOT_FINITE_RESULT = range(4)

_FASTCALL = 0x0080
"""METH_FASTCALL of CPython: arguments come as an array."""

_FIXED = 6  # entries of the table before the defaults
_DATA, _NDIM, _DIMENSIONS, _DESCRIPTION, _FLAGS = 16, 24, 32, 56, 64
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
"""Flags of a NumPy array."""


@functools.cache
def supported() -> bool:
    """Tell whether arrays are laid out in memory as this module expects."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.maxsize < 2**32:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    sample = np.arange(6.0).reshape(2, 3)

    def at(offset: int, kind: Any) -> Any:
        return kind.from_address(id(sample) + offset).value

    pointer = ctypes.c_int64
    dimensions = at(_DIMENSIONS, pointer)
    return bool(
        at(8, pointer) == id(np.ndarray)
        and at(_DATA, pointer) == sample.ctypes.data
        and at(_NDIM, ctypes.c_int32) == 2
        and [ctypes.c_int64.from_address(dimensions + 8 * i).value for i in range(2)] == [2, 3]
        and at(_DESCRIPTION, pointer) == id(np.dtype(np.float64))
        and at(_FLAGS, ctypes.c_int32) & 0x501 == _CONTIGUOUS | _ALIGNED | _WRITEABLE
    )


def address_of(array: AnyArray) -> int:
    """Return where an array's numbers are in memory, in a tenth of the time that `array.ctypes.data` takes.

    >>> sample = np.arange(3.0)
    >>> address_of(sample[1:]) - address_of(sample)
    8
    """
    place: int = _word_at(id(array) + _DATA).value if supported() else array.ctypes.data
    return place


_word_at = ctypes.c_int64.from_address


def entry_ir(signature: Signature, kernel: str) -> str:
    """Return the text of `entry(self, arguments, count)`: the result comes first, then inputs, as many as are given.

    `self` holds the address of a table: array type, float64 description, None, node constants, index tables, scratch
    memory, then a default pointer for each input (zero where it may not be left out).
    """
    inputs = signature.input_sizes
    n = len(inputs)
    lines = [
        "declare ptr @PyLong_AsVoidPtr(ptr)",
        "declare ptr @PyLong_FromLong(i64)",
        "define ptr @entry(ptr %self, ptr %arguments, i64 %count) #0 {",
        f"  %ki = alloca [{max(n, 1)} x ptr], align 16",
        "  %ko = alloca [1 x ptr], align 16",
        "  %table = call ptr @PyLong_AsVoidPtr(ptr %self)",
    ]
    for i, name in enumerate(("array", "float64", "none", "constants", "tables", "work")):
        lines.append(f"  %{name}p = getelementptr ptr, ptr %table, i64 {i}")
        lines.append(f"  %{name} = load ptr, ptr %{name}p, align 8")
    lines += [
        "  %some = icmp sge i64 %count, 1",
        f"  %fits = icmp sle i64 %count, {n + 1}",
        "  %counted = and i1 %some, %fits",
        "  br i1 %counted, label %a0, label %long",
    ]
    _argument_ir(lines, 0, signature.shape, result=True)
    for a, size in enumerate(inputs):
        _argument_ir(lines, a + 1, (size,), result=False)
    lines.append(f"a{n + 1}:")
    _overlap_ir(lines, [signature.output_sizes[0], *inputs])
    lines.append("finite:")
    _finite_ir(lines, [(f"%d{a + 1}", size) for a, size in enumerate(inputs)], "i", "unit", "bad")
    lines.append("unit:")
    _unit_ir(lines, signature.quaternions)
    lines.append("run:")
    for a in range(n):
        lines.append(f"  %ki{a} = getelementptr ptr, ptr %ki, i64 {a}")
        lines.append(f"  store ptr %d{a + 1}, ptr %ki{a}, align 8")
    lines.append("  store ptr %d0, ptr %ko, align 8")
    lines.append(f"  call void @{kernel}(ptr %ki, ptr %ko, ptr %work, ptr %constants, ptr %tables)")
    _finite_ir(lines, [("%d0", signature.output_sizes[0])], "o", "done", "wrong")
    codes = {"done": DONE, "long": SLOW_PATH, "bad": NOT_FINITE_INPUT, "wrong": NOT_FINITE_RESULT}
    for label, code in codes.items():
        lines += [f"{label}:", f"  %{label}c = call ptr @PyLong_FromLong(i64 {code})", f"  ret ptr %{label}c"]
    lines.append("}")
    return "\n".join(lines) + "\n" + _UNSOUND


def _argument_ir(lines: list[str], a: int, shape: tuple[int, ...], *, result: bool) -> None:
    """Check argument `a` and leave the address of its numbers in %d{a}; one that is left off counts as None."""
    flags = _CONTIGUOUS | _ALIGNED | (_WRITEABLE if result else 0)
    lines += [f"a{a}:", f"  %g{a}a = getelementptr ptr, ptr %arguments, i64 {a}"]
    if result:
        lines += [f"  %g{a} = load ptr, ptr %g{a}a, align 8", f"  br label %t{a}"]
    else:
        lines += [
            f"  %there{a} = icmp sgt i64 %count, {a}",
            f"  %g{a}p = select i1 %there{a}, ptr %g{a}a, ptr %nonep",
            f"  %g{a} = load ptr, ptr %g{a}p, align 8",
            f"  %f{a}p = getelementptr ptr, ptr %table, i64 {_FIXED + a - 1}",
            f"  %f{a} = load ptr, ptr %f{a}p, align 8",
            f"  %isnone{a} = icmp eq ptr %g{a}, %none",
            f"  %hasdefault{a} = icmp ne ptr %f{a}, null",
            f"  %default{a} = and i1 %isnone{a}, %hasdefault{a}",
            f"  br i1 %default{a}, label %e{a}, label %t{a}",
        ]
    lines += [
        f"t{a}:",
        f"  %type{a}p = getelementptr i8, ptr %g{a}, i64 8",
        f"  %type{a} = load ptr, ptr %type{a}p, align 8",
        f"  %isarray{a} = icmp eq ptr %type{a}, %array",
        f"  br i1 %isarray{a}, label %c{a}, label %long",
        f"c{a}:",
    ]
    for name, offset, kind in (
        ("data", _DATA, "ptr"),
        ("ndim", _NDIM, "i32"),
        ("dims", _DIMENSIONS, "ptr"),
        ("desc", _DESCRIPTION, "ptr"),
        ("flag", _FLAGS, "i32"),
    ):
        lines.append(f"  %{name}{a}p = getelementptr i8, ptr %g{a}, i64 {offset}")
        lines.append(f"  %{name}{a} = load {kind}, ptr %{name}{a}p, align 4")
    lines += [
        f"  %okd{a} = icmp eq ptr %desc{a}, %float64",
        f"  %mf{a} = and i32 %flag{a}, {flags}",
        f"  %okf{a} = icmp eq i32 %mf{a}, {flags}",
        f"  %okn{a} = icmp eq i32 %ndim{a}, {len(shape)}",
        f"  %ok1{a} = and i1 %okd{a}, %okf{a}",
        f"  %ok2{a} = and i1 %ok1{a}, %okn{a}",
        f"  br i1 %ok2{a}, label %s{a}, label %long",
        f"s{a}:",
    ]
    fits = "true"
    for i, size in enumerate(shape):
        lines += [
            f"  %dim{a}_{i}p = getelementptr i64, ptr %dims{a}, i64 {i}",
            f"  %dim{a}_{i} = load i64, ptr %dim{a}_{i}p, align 8",
            f"  %oks{a}_{i} = icmp eq i64 %dim{a}_{i}, {size}",
            f"  %okm{a}_{i} = and i1 {fits}, %oks{a}_{i}",
        ]
        fits = f"%okm{a}_{i}"
    lines += [f"  br i1 {fits}, label %e{a}, label %long", f"e{a}:"]
    if result:
        lines.append(f"  %d{a} = getelementptr i8, ptr %data{a}, i64 0")
    else:
        lines.append(f"  %d{a} = phi ptr [%f{a}, %a{a}], [%data{a}, %s{a}]")
    lines.append(f"  br label %a{a + 1}")


def _unit_ir(lines: list[str], quaternions: Sequence[tuple[int, int]]) -> None:
    """Go the long way, which explains, if a quaternion is not of unit length."""
    good = "true"
    for k, (argument, start) in enumerate(quaternions):
        total = "-1.0"
        for i in range(4):
            lines += [
                f"  %u{k}_{i}p = getelementptr double, ptr %d{argument + 1}, i64 {start + i}",
                f"  %u{k}_{i} = load double, ptr %u{k}_{i}p, align 8",
                f"  %w{k}_{i} = fmul double %u{k}_{i}, %u{k}_{i}",
                f"  %x{k}_{i} = fadd double {total}, %w{k}_{i}",
            ]
            total = f"%x{k}_{i}"
        lines += [
            f"  %y{k} = call double @llvm.fabs.f64(double {total})",
            f"  %z{k} = fcmp ole double %y{k}, {number(UNIT_TOLERANCE)}",
            f"  %v{k} = and i1 {good}, %z{k}",
        ]
        good = f"%v{k}"
    lines.append(f"  br i1 {good}, label %run, label %long")


def _overlap_ir(lines: list[str], sizes: Sequence[int]) -> None:
    """Go the long way if the result, the first of the arrays, shares memory with an input."""
    together = "false"
    for a, size in enumerate(sizes):
        lines.append(f"  %lo{a} = ptrtoint ptr %d{a} to i64")
        lines.append(f"  %hi{a} = add i64 %lo{a}, {8 * size}")
    for a in range(1, len(sizes)):
        lines += [
            f"  %m{a} = icmp ult i64 %lo{a}, %hi0",
            f"  %n{a} = icmp ult i64 %lo0, %hi{a}",
            f"  %o{a} = and i1 %m{a}, %n{a}",
            f"  %p{a} = or i1 {together}, %o{a}",
        ]
        together = f"%p{a}"
    lines.append(f"  br i1 {together}, label %long, label %finite")


def _finite_ir(lines: list[str], arrays: list[tuple[str, int]], tag: str, good: str, bad: str) -> None:
    """Branch to `bad` if a number in the arrays is not finite: then its product with zero is not zero."""
    total = "0.0"
    for k, (pointer, size) in enumerate(arrays):
        lines += [
            f"  %n{tag}{k} = call double @unsound(ptr {pointer}, i64 {size})",
            f"  %s{tag}{k} = fadd double {total}, %n{tag}{k}",
        ]
        total = f"%s{tag}{k}"
    lines.append(f"  %q{tag} = fcmp uno double {total}, 0.0")
    lines.append(f"  br i1 %q{tag}, label %{bad}, label %{good}")


_UNSOUND = """
define internal double @unsound(ptr %x, i64 %n) #0 {
entry:
  %whole = and i64 %n, -4
  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %blocks, label %ends
blocks:
  %i = phi i64 [0, %entry], [%i4, %blocks]
  %s = phi <4 x double> [zeroinitializer, %entry], [%t, %blocks]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load <4 x double>, ptr %p, align 8
  %z = fmul <4 x double> %v, zeroinitializer
  %t = fadd <4 x double> %s, %z
  %i4 = add i64 %i, 4
  %more = icmp slt i64 %i4, %whole
  br i1 %more, label %blocks, label %ends
ends:
  %j0 = phi i64 [0, %entry], [%whole, %blocks]
  %w = phi <4 x double> [zeroinitializer, %entry], [%t, %blocks]
  %w0 = extractelement <4 x double> %w, i32 0
  %w1 = extractelement <4 x double> %w, i32 1
  %w2 = extractelement <4 x double> %w, i32 2
  %w3 = extractelement <4 x double> %w, i32 3
  %a = fadd double %w0, %w1
  %b = fadd double %w2, %w3
  %r0 = fadd double %a, %b
  %left = icmp slt i64 %j0, %n
  br i1 %left, label %singles, label %done
singles:
  %j = phi i64 [%j0, %ends], [%j1, %singles]
  %r = phi double [%r0, %ends], [%r1, %singles]
  %q = getelementptr double, ptr %x, i64 %j
  %u = load double, ptr %q, align 8
  %y = fmul double %u, 0.0
  %r1 = fadd double %r, %y
  %j1 = add i64 %j, 1
  %again = icmp slt i64 %j1, %n
  br i1 %again, label %singles, label %done
done:
  %result = phi double [%r0, %ends], [%r1, %singles]
  ret double %result
}
"""


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Entry:
    """A Python function, `call`, that runs `entry` of some machine code.

    The function keeps alive all that it points to; `keep` owns the memory at the given addresses.
    """

    def __init__(
        self,
        code: NativeCode,
        defaults: Sequence[int],
        constants: int,
        tables: int,
        work: AnyArray,
        keep: object = None,
    ) -> None:
        self._table = (ctypes.c_int64 * (_FIXED + len(defaults)))(
            id(np.ndarray), id(np.dtype(np.float64)), id(None), constants, tables, work.ctypes.data, *defaults
        )
        # one work array is enough: the interpreter lets one call in at a time
        self._definition = _MethodDefinition(b"kernel", code.addresses["entry"], _FASTCALL, None)
        create = ctypes.pythonapi.PyCFunction_NewEx
        create.restype, create.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.py_object, ctypes.py_object],
        )
        owned = (self._table, self._definition, code, work, keep)  # in the place of the function's module
        self.call: Callable[..., int] = create(ctypes.addressof(self._definition), ctypes.addressof(self._table), owned)


UNIT_TOLERANCE = 1e-6
"""How far the square of a quaternion's length may be from one."""


@dataclass(frozen=True)
class Signature:
    """Names and sizes of a kernel's inputs and outputs, and the shape of the first output as users see it.

    `quaternions` lists (input, start) of four numbers that must have unit length.

    >>> Signature((("x", 2),), (("y", 1),), (1,)).input_sizes
    [2]
    """

    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    quaternions: tuple[tuple[int, int], ...] = ()

    @property
    def input_sizes(self) -> list[int]:
        """The sizes of the inputs."""
        return [size for _, size in self.inputs]

    @property
    def output_sizes(self) -> list[int]:
        """The sizes of the outputs."""
        return [size for _, size in self.outputs]
