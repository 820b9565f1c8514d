"""The loop over the steps in machine code: four kernels called by address, and nothing else.

It is written in LLVM's language, as the loop that repeats a kernel for timing is (`kernels/repeat.py`). The words that
it is called with hold addresses: of each kernel, its arguments, and the buffers that they read and write.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from whippletree.kernels.kernel import Array, Kernel, aligned
from whippletree.kernels.native import NativeCode, compile_ir, load_code

__all__ = ["March", "march_code"]

_LOST = 100.0
"""An iteration that moves coordinates by more, relative to the largest of them at the start, has lost the motion."""

_KERNELS = ("predict", "iterate", "augment", "finish")

_CALL = """
define internal void @call(ptr %words, i64 %kernel) {{
  %at = mul i64 %kernel, 6
{loads}
  call void %w0(ptr %w1, ptr %w2, ptr %w3, ptr %w4, ptr %w5)
  ret void
}}
"""

_LOAD = """  %i{k} = add i64 %at, {k}
  %p{k} = getelementptr ptr, ptr %words, i64 %i{k}
  %w{k} = load ptr, ptr %p{k}
"""

_MARCH = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @correct(ptr %words, ptr %start, ptr %augmented, i64 %bytes) {
  call void @call(ptr %words, i64 2)
  call void @llvm.memcpy.p0.p0.i64(ptr %start, ptr %augmented, i64 %bytes, i1 false)
  ret void
}
define i64 @march(ptr %words, ptr %start, ptr %x, ptr %y, ptr %augmented, ptr %end, ptr %rows, ptr %counts, ptr %time,
                  i64 %n, i64 %size, i64 %steps, i64 %most, i64 %rounds, i64 %each, double %tolerance, double %h,
                  double %limit) {
entry:
  %x_bytes = mul i64 %n, 8
  %bytes = mul i64 %size, 8
  %dx_at = getelementptr double, ptr %y, i64 %n
  br label %step
step:
  %i = phi i64 [0, %entry], [%i2, %next]
  %t0 = load double, ptr %time
  %t1 = fadd double %t0, %h
  store double %t1, ptr %time
  call void @call(ptr %words, i64 0)
  br label %round
round:
  %r = phi i64 [0, %step], [%r2, %again]
  %c0 = phi i64 [0, %step], [%c1, %again]
  br label %iteration
iteration:
  %k = phi i64 [0, %round], [%k2, %more]
  call void @call(ptr %words, i64 1)
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 %x_bytes, i1 false)
  %k2 = add i64 %k, 1
  %dx = load double, ptr %dx_at
  %sound = fcmp olt double %dx, %limit
  br i1 %sound, label %good, label %lost
good:
  %every = icmp ne i64 %each, 0
  br i1 %every, label %corrected, label %look
corrected:
  call void @correct(ptr %words, ptr %start, ptr %augmented, i64 %bytes)
  br label %look
look:
  %small = fcmp olt double %dx, %tolerance
  br i1 %small, label %settled, label %more
more:
  %left = icmp slt i64 %k2, %most
  br i1 %left, label %iteration, label %settled
settled:
  %c1 = add i64 %c0, %k2
  %r2 = add i64 %r, 1
  %another = icmp slt i64 %r2, %rounds
  br i1 %another, label %again, label %close
again:
  call void @correct(ptr %words, ptr %start, ptr %augmented, i64 %bytes)
  br label %round
close:
  call void @call(ptr %words, i64 3)
  call void @llvm.memcpy.p0.p0.i64(ptr %start, ptr %end, i64 %bytes, i1 false)
  %offset = mul i64 %i, %size
  %row = getelementptr double, ptr %rows, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %end, i64 %bytes, i1 false)
  %count = getelementptr i64, ptr %counts, i64 %i
  store i64 %c1, ptr %count
  br label %next
next:
  %i2 = add i64 %i, 1
  %on = icmp slt i64 %i2, %steps
  br i1 %on, label %step, label %done
lost:
  ret i64 %i
done:
  ret i64 %steps
}
"""


@functools.cache
def march_code() -> tuple[NativeCode, Any]:
    """Return the loop, made once."""
    text = _CALL.format(loads="".join(_LOAD.format(k=k) for k in range(6))) + _MARCH
    code = load_code(compile_ir(text), ["march"])
    integers = [ctypes.c_int64] * 6
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 9, *integers, *[ctypes.c_double] * 3)
    return code, kind(code.addresses["march"])


class March:
    """A time loop bound to its kernels: `go(steps)` takes so many and returns rows and iterations.

    `kernels` are those of `NaturalSteps` by name; `given` are inputs that stay the same: settings, efforts, parameters.
    """

    def __init__(self, kernels: dict[str, Kernel], start: Array, n: int, given: dict[str, Array], t: float) -> None:
        self.n, size = n, len(start)
        self.start, self.end, self.augmented = start.copy(), np.zeros(size), np.zeros(size)
        self.x, self.y, self.time = np.zeros(n), np.zeros(n + 1), np.array([t])
        inputs = {"start": self.start, "d": self.x, "t": self.time, **given}
        outputs = {"predict": self.x, "iterate": self.y, "augment": self.augmented, "finish": self.end}
        self._limit = _LOST * float(np.abs(start[:n]).max(initial=1.0))
        self._keep: list[Any] = [kernels, given]
        words: list[int] = []
        for name in _KERNELS:
            kernel = kernels[name]
            pointers = [inputs.get(one, kernel.default_input(one)).ctypes.data for one in kernel.input_names]
            sources = (ctypes.c_void_p * len(pointers))(*pointers)
            targets = (ctypes.c_void_p * 1)(outputs[name].ctypes.data)
            work = aligned(max(kernel.work_size, 1))
            self._keep += [sources, targets, work]
            words += [kernel.address, ctypes.addressof(sources), ctypes.addressof(targets), work.ctypes.data]
            words += [kernel.constants_address, kernel.tables_address]
        self._words = np.array(words, dtype=np.uint64)

    def go(
        self, steps: int, h: float, *, most: int, tolerance: float, rounds: int = 1, each: bool = False
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """Take steps; return their ends (steps, size) and iterations, fewer if the iterations have lost the motion."""
        size = len(self.start)
        rows, counts = np.empty((steps, size)), np.zeros(steps, dtype=np.int64)
        buffers = (self.start, self.x, self.y, self.augmented, self.end, rows, counts, self.time)
        addresses = [array.ctypes.data for array in buffers]
        done = march_code()[1](
            self._words.ctypes.data, *addresses, self.n, size, steps, most, rounds, int(each), tolerance, h, self._limit
        )
        return rows[:done], counts[:done]
