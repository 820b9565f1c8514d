"""Times of single steps in machine code, each after a twin of it from a fixed state, and bursts nobody disturbed.

The loop is machine code: it reads the processor's cycle counter, runs the step's kernel from a state that stays the
same (the twin), reads it again, takes one step, and reads it once more; then the new state becomes the old one. So
neither Python nor a clock of the operating system is in the figures. A burst is some such steps, after a few that fill
the caches, which Python has used in between. It counts as undisturbed if during it

- no interrupt came to the core (`/proc/interrupts`), the thread was not taken off it (context switches of the thread,
  from `getrusage`), and the host stole no time from the machine (`/proc/stat`), and
- every run of the twin took at most 1.2 times as long as in the fastest burst: a neighbour on the same core, and a host
  that uses the core for a while and leaves cold caches, show there as they show in steps.

What the steps themselves took does not decide whether a burst counts; and the twin's own 99.9th percentile over its
median, in all bursts, says how much of the variation is the machine's.
"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whippletree.kernels.kernel import aligned
from whippletree.kernels.native import compile_ir, load_code
from whippletree.realtime import RealtimeStepper

WARM = 30
"""Steps before those that count, which bring code and state into the first cache."""

LENGTH, FEWEST = 3e-4, 20
"""Seconds of a burst, shorter than the timer's period, and how many steps it has at least."""

SLOWER = 1.2
"""How much longer than in the fastest burst the twin may take."""
_CODE = """
declare i64 @llvm.readcyclecounter()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i64 @steps(ptr %kernel, ptr %in, ptr %out, ptr %work, ptr %constants, ptr %tables, ptr %state, ptr %next,
                  ptr %fixed, ptr %aside, i64 %size, ptr %reference, ptr %times, i64 %count) {
entry:
  %bytes = mul i64 %size, 8
  %status_at = getelementptr double, ptr %next, i64 %size
  br label %again
again:
  %i = phi i64 [0, %entry], [%i2, %good]
  %t0 = call i64 @llvm.readcyclecounter()
  call void %kernel(ptr %fixed, ptr %aside, ptr %work, ptr %constants, ptr %tables)
  %t1 = call i64 @llvm.readcyclecounter()
  call void %kernel(ptr %in, ptr %out, ptr %work, ptr %constants, ptr %tables)
  %t2 = call i64 @llvm.readcyclecounter()
  %r = sub i64 %t1, %t0
  %t = sub i64 %t2, %t1
  %ra = getelementptr i64, ptr %reference, i64 %i
  store i64 %r, ptr %ra
  %ta = getelementptr i64, ptr %times, i64 %i
  store i64 %t, ptr %ta
  %status = load double, ptr %status_at
  %i2 = add i64 %i, 1
  %taken = fcmp oeq double %status, 0.0
  br i1 %taken, label %good, label %out_of_here
good:
  call void @llvm.memcpy.p0.p0.i64(ptr %state, ptr %next, i64 %bytes, i1 false)
  %more = icmp slt i64 %i2, %count
  br i1 %more, label %again, label %done
out_of_here:
  ret i64 %i
done:
  ret i64 %count
}
"""


_NOW = """
declare i64 @llvm.readcyclecounter()
define i64 @now() {
  %t = call i64 @llvm.readcyclecounter()
  ret i64 %t
}
"""


@functools.cache
def _code() -> tuple[Any, Any]:
    code = load_code(compile_ir(_CODE), ["steps"])
    pointers, number = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(number, *[pointers] * 10, number, *[pointers] * 2, number)
    return code, kind(code.addresses["steps"])


class Burst(NamedTuple):
    """Cycles of twins and steps, and whether the operating system interfered."""

    reference: np.ndarray
    steps: np.ndarray
    switched: bool


class StepClock:
    """A stepper's kernel, ready to be timed step by step from the stepper's present state."""

    def __init__(self, stepper: RealtimeStepper) -> None:
        kernel = stepper.kernel
        self.start = stepper.state
        self.state, self.next = self.start.copy(), np.zeros(self.start.size + 1)
        arrays = [self.state, *stepper.inputs.values()]
        work = aligned(max(kernel.work_size, 8))
        self._inputs = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        self._outputs = (ctypes.c_void_p * 1)(self.next.ctypes.data)
        aside = np.zeros_like(self.next)
        twin = [self.start, *stepper.inputs.values()]
        self._twin = (ctypes.c_void_p * len(twin))(*(a.ctypes.data for a in twin))
        self._aside = (ctypes.c_void_p * 1)(aside.ctypes.data)
        self._keep = stepper, arrays, work, aside
        self._fixed = (kernel.address, self._inputs, self._outputs, work.ctypes.data)
        self._fixed += (kernel.constants_address, kernel.tables_address)

    def usual(self) -> int:
        """Return how many steps a burst has."""
        trial = self.burst(FEWEST)
        cycle = float(np.median(trial.steps) + np.median(trial.reference)) / cycles_per_second()
        return max(FEWEST, round(LENGTH / cycle) - WARM)

    def burst(self, count: int) -> Burst:
        """Take so many steps after some that do not count; where one cannot be taken, begin again at the start."""
        count += WARM
        reference, steps = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        before = _switches(), _stolen(), _interrupts()
        done = _code()[1](
            *self._fixed, self.state.ctypes.data, self.next.ctypes.data, self._twin, self._aside, self.state.size,
            reference.ctypes.data, steps.ctypes.data, count,
        )  # fmt: skip
        after = _switches(), _stolen(), _interrupts()
        if done < count:
            self.state[:] = self.start
        return Burst(reference[WARM:done], steps[WARM : done - 1], before != after)  # a twin after each step


def undisturbed(bursts: list[Burst]) -> list[Burst]:
    """Return the bursts that count."""
    whole = [one for one in bursts if len(one.steps)]
    fastest = min(float(np.median(one.reference)) for one in whole)
    return [one for one in whole if not one.switched and one.reference.max() <= SLOWER * fastest]


@functools.cache
def cycles_per_second() -> float:
    """The rate of the cycle counter, by the clock of the wall."""
    code = load_code(compile_ir(_NOW), ["now"])
    now = ctypes.CFUNCTYPE(ctypes.c_int64)(code.addresses["now"])
    begin, first = time.perf_counter(), now()
    time.sleep(0.2)
    return (now() - first) / (time.perf_counter() - begin)


def _switches() -> tuple[int, int]:
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_nvcsw, used.ru_nivcsw


def _interrupts() -> int:
    """Interrupts that the first core in use has had."""
    try:
        head, *lines = Path("/proc/interrupts").read_text().splitlines()
    except OSError:
        return 0
    column = 1 + head.split().index(f"CPU{min(os.sched_getaffinity(0))}")
    counts = [words[column] for words in map(str.split, lines) if len(words) > column and words[column].isdigit()]
    return sum(map(int, counts))


def _stolen() -> int:
    """Ticks that the host took from this machine."""
    try:
        return int(Path("/proc/stat").read_text().splitlines()[0].split()[8])
    except (OSError, IndexError, ValueError):
        return 0
