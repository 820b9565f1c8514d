"""Times of single steps in machine code, beside work that is known to be constant, and bursts nobody disturbed.

The loop is machine code. In every turn it reads the processor's cycle counter around six things, in turns: three runs
of a *control*, the step's kernel from a state that stays the same, so that it is the same work on the same numbers;
and three runs of the step from one and the same state, after which the new state becomes the old one. So neither
Python nor a clock of the operating system is in the figures. A step's *own time* is the median of its three: what
makes a step long shows in all of them, and what the machine does at that moment in one. The control is treated alike:
what it shows, constant work has on this machine.

A burst is some hundred turns, after a few that fill the caches, which Python has used in between; it runs on one core,
before all ordinary processes (SCHED_FIFO) where that is allowed. It is *quiet* if during it

- no interrupt came to the core (`/proc/interrupts`), the thread was not taken off it and met no page that was not
  there (context switches and page faults of the thread, from `getrusage`), and the host stole no time (`/proc/stat`),

and *undisturbed* if it is quiet and

- every run of the control took at most 1.2 times as long as the median of its fastest burst, and two ticks of the
  counter, which on some processors moves on by some 25 cycles at once. A neighbour on the other half of the core,
  another clock rate, and a host that uses the core for a while and leaves cold caches, show there as they show in
  steps: what holds up two of a step's three runs holds up the control between them.

What the steps themselves took does not decide whether a burst counts. In all quiet bursts, 99.9th percentile over
median of control and step are to be compared: the first is the machine's floor, and no program can be better on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whippletree.kernels.kernel import aligned
from whippletree.kernels.native import compile_ir, load_code
from whippletree.realtime import RealtimeStepper

WARM = 4
"""Turns before those that count, which bring code and state into the first cache."""

LENGTH, FEWEST, MOST = 3e-4, 4, 60
"""Seconds of a burst, shorter than the timer's period, and how many turns it has at least and at most."""

SLOWER = 1.2
"""How much longer than in the fastest burst the control may take."""

_CODE = """
declare i64 @llvm.readcyclecounter()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i64 @steps(ptr %kernel, ptr %in, ptr %out, ptr %work, ptr %constants, ptr %tables, ptr %state, ptr %next,
                  ptr %fixed, ptr %aside, i64 %size, ptr %times, i64 %count) {
entry:
  %bytes = mul i64 %size, 8
  %status_at = getelementptr double, ptr %next, i64 %size
  br label %again
again:
  %i = phi i64 [0, %entry], [%i2, %good]
  %row = mul i64 %i, 6
  %a0 = getelementptr i64, ptr %times, i64 %row
#RUNS#
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
_RUN = """\
  %b# = call i64 @llvm.readcyclecounter()
  call void %kernel(ptr %&, ptr %work, ptr %constants, ptr %tables)
  %e# = call i64 @llvm.readcyclecounter()
  %d# = sub i64 %e#, %b#
  %p# = getelementptr i64, ptr %a0, i64 #
  store i64 %d#, ptr %p#
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
    arrays = ("fixed, ptr %aside", "in, ptr %out")
    runs = "".join(_RUN.replace("&", arrays[k % 2]).replace("#", str(k)) for k in range(6))
    code = load_code(compile_ir(_CODE.replace("#RUNS#", runs)), ["steps"])
    pointers, number = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(number, *[pointers] * 10, number, pointers, number)
    return code, kind(code.addresses["steps"])


class Burst(NamedTuple):
    """Cycles (turns, 3, 2) of three runs of control and step, and whether the operating system kept away."""

    cycles: np.ndarray
    quiet: bool

    @property
    def own(self) -> np.ndarray:
        """The own times (turns, 2) of control and step, in cycles."""
        return np.median(self.cycles, axis=1)


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
        control = [self.start, *stepper.inputs.values()]
        self._control = (ctypes.c_void_p * len(control))(*(a.ctypes.data for a in control))
        self._aside = (ctypes.c_void_p * 1)(aside.ctypes.data)
        self._keep = stepper, arrays, work, aside
        self._fixed = (kernel.address, self._inputs, self._outputs, work.ctypes.data)
        self._fixed += (kernel.constants_address, kernel.tables_address)
        self._cycles = np.ones((0, 3, 2), dtype=np.int64)

    def usual(self) -> int:
        """Return how many turns a burst has."""
        turn = min(float(np.median(self.burst(FEWEST).own)) for _ in range(5)) * 6 / cycles_per_second()
        return min(MOST, max(FEWEST, round(LENGTH / turn) - WARM))

    def burst(self, count: int) -> Burst:
        """Take so many steps after some that do not count; where one cannot be taken, begin again at the start."""
        count += WARM
        if len(self._cycles) < count:
            self._cycles = np.ones((count, 3, 2), dtype=np.int64)  # all of its pages are there
        with before_others():
            before = _interference()
            done = _code()[1](
                *self._fixed, self.state.ctypes.data, self.next.ctypes.data, self._control, self._aside,
                self.state.size, self._cycles.ctypes.data, count,
            )  # fmt: skip
            after = _interference()
        if done < count:
            self.state[:] = self.start
        return Burst(self._cycles[WARM:done].copy(), before == after)


def undisturbed(bursts: list[Burst]) -> list[Burst]:
    """Return the bursts that count."""
    controls = [(one, one.cycles[:, :, 0]) for one in bursts if len(one.cycles)]
    most = SLOWER * min(float(np.median(control)) for _, control in controls) + 2 * tick()
    return [one for one, control in controls if one.quiet and control.max() <= most]


@contextlib.contextmanager
def before_others() -> Iterator[None]:
    """Let no ordinary process take the core, where that is allowed."""
    policy = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, os.sched_param(0))


@functools.cache
def _now() -> Any:
    """Return the function that reads the cycle counter, and the code that it is in."""
    code = load_code(compile_ir(_NOW), ["now"])
    return code, ctypes.CFUNCTYPE(ctypes.c_int64)(code.addresses["now"])


@functools.cache
def cycles_per_second() -> float:
    """The rate of the cycle counter, by the clock of the wall."""
    now = _now()[1]
    begin, first = time.perf_counter(), now()
    time.sleep(0.2)
    return float((now() - first) / (time.perf_counter() - begin))


@functools.cache
def tick() -> int:
    """How many cycles the counter moves on by at once: how far apart the times between two readings are."""
    readings = [_now()[1]() for _ in range(10_000)]
    return int(np.median(np.diff(np.unique(np.diff(readings))[:50])))


def _interference() -> tuple[int, ...]:
    """Return what counts how often this thread was held up: switches, page faults, stolen time, interrupts."""
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_nvcsw, used.ru_nivcsw, used.ru_minflt, used.ru_majflt, _stolen(), _interrupts()


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
