"""How long a kernel takes: repeated in machine code, so that Python is not in the figures.

Contestants take turns in short bursts, and of each the least counts: whatever else the processor does only adds to it.
"""

from __future__ import annotations

import ctypes
import functools
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array, Kernel, aligned
from whippletree.kernels.native import NativeCode, compile_ir, load_code

__all__ = ["Repeated", "least_seconds"]

_REPEAT = """
define void @repeat(ptr %kernel, ptr %in, ptr %out, ptr %work, ptr %constants, ptr %tables, i64 %count) {
entry:
  br label %again
again:
  %i = phi i64 [0, %entry], [%next, %again]
  call void %kernel(ptr %in, ptr %out, ptr %work, ptr %constants, ptr %tables)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}
"""


_MOST = 1_000_000_000
"""How often a kernel is repeated in one call, which cannot be interrupted."""


class Repeated:
    """A kernel at one state, ready to be repeated; inputs that are not given are at their defaults.

    >>> import casadi as ca
    >>> from whippletree.kernels.entry import Signature
    >>> from whippletree.kernels.lowering import StraightLine
    >>> x = ca.SX.sym("x")
    >>> program = StraightLine(ca.Function("f", [x], [2 * x]))
    >>> kernel = Kernel("", Signature((("x", 1),), (("y", 1),), (1,), ()), lambda: program, None)
    >>> twice = Repeated(kernel, {"x": np.array([21.0])})
    >>> twice.run(3) > 0
    True
    >>> print(twice.result)
    [42.]
    """

    def __init__(self, kernel: Kernel, given: Mapping[str, object]) -> None:
        values = [given.get(name, kernel.default_input(name)) for name in kernel.input_names]
        try:
            arrays = [np.array(value, dtype=np.float64).ravel() for value in values]
        except Exception:  # whatever they raise, they are no numbers
            raise StateError("a kernel is repeated at numbers") from None
        self.result: Array = np.zeros(kernel.output_sizes[0])
        work = aligned(max(kernel.work_size, 1))
        inputs = (ctypes.c_void_p * max(len(arrays), 1))(*(a.ctypes.data for a in arrays))
        outputs = (ctypes.c_void_p * 1)(self.result.ctypes.data)
        self._keep = kernel, arrays, work
        self._arguments = (
            kernel.address,
            inputs,
            outputs,
            work.ctypes.data,
            kernel.constants_address,
            kernel.tables_address,
        )

    def run(self, count: int) -> float:
        """Evaluate so many times and return the seconds of the thread that took."""
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST:
            raise StateError(f"count must be a whole number from 1 to {_MOST}")
        repeat = _repeat()[1]
        repeat(*self._arguments, 1)
        begin = time.thread_time()
        repeat(*self._arguments, count)
        return max(time.thread_time() - begin, 1e-9)


@functools.cache
def _repeat() -> tuple[NativeCode, Any]:
    """Return the loop, made once."""
    code = load_code(compile_ir(_REPEAT), ["repeat"])
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6, ctypes.c_int64)
    return code, kind(code.addresses["repeat"])


def least_seconds(contestants: Mapping[str, Repeated], rounds: int = 25, burst: float = 2e-4) -> dict[str, float]:
    """Return the seconds of one evaluation of each: the least of many bursts, in which each takes its turn."""
    counts = {name: max(1, round(burst / (each.run(20) / 20))) for name, each in contestants.items()}
    least = dict.fromkeys(contestants, math.inf)
    order = list(contestants)
    for r in range(rounds):
        turn = r % len(order)
        for name in order[turn:] + order[:turn]:
            least[name] = min(least[name], contestants[name].run(counts[name]) / counts[name])
    return least
