"""The instructions of a real-time step, one by one: how many they are, and which.

The processor can be told to stop after every instruction (the trap flag of x86). A handler of that signal counts, and
folds the address of each instruction into one number. Two steps with equal counts and equal numbers have run the same
instructions in the same order, those of called functions included. It is written in C, for Linux on x86, and takes
some 40 µs an instruction.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from whippletree.kernels.kernel import aligned
from whippletree.realtime import RealtimeStepper

__all__ = ["InstructionTrace", "Instructions", "traceable", "varied_states"]

_SOURCE = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

static volatile uint64_t count, path;

static void after_instruction(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  count++;
  path = (path ^ (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]) * 0x9E3779B97F4A7C15u;
  path ^= path >> 29;
}

typedef void step(void *, void *, void *, void *, void *);

int trace(step *kernel, void *in, void *out, void *work, void *constants, void *tables, uint64_t *found) {
  struct sigaction act = {0}, before;
  act.sa_sigaction = after_instruction;
  act.sa_flags = SA_SIGINFO;
  if (sigaction(SIGTRAP, &act, &before)) return 1;
  count = path = 0;
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  kernel(in, out, work, constants, tables);
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  found[0] = count;
  found[1] = path;
  return sigaction(SIGTRAP, &before, 0);
}
"""


class Instructions(NamedTuple):
    """What a step has run: how many instructions, and a number that stands for their addresses in order."""

    count: int
    path: int


def traceable() -> bool:
    """Tell whether this machine can be traced."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@functools.cache
def _library() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp())
    source, library = folder / "trace.c", folder / "trace.so"
    source.write_text(_SOURCE)
    flags = ["-O1", "-mno-red-zone", "-shared", "-fPIC"]  # what is pushed must not meet the compiler's own numbers
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    return ctypes.CDLL(str(library))


class InstructionTrace:
    """Runs a stepper's kernel from given states, instruction by instruction."""

    def __init__(self, stepper: RealtimeStepper) -> None:
        kernel = stepper.kernel
        self.state, self.next = stepper.state, np.zeros(stepper.state.size + 1)
        arrays = [self.state, *stepper.inputs.values()]
        self._work = aligned(max(kernel.work_size, 8))
        inputs = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        output = (ctypes.c_void_p * 1)(self.next.ctypes.data)
        addresses = kernel.constants_address, kernel.tables_address
        self._arguments = (ctypes.c_void_p(kernel.address), inputs, output, ctypes.c_void_p(self._work.ctypes.data))
        self._arguments += tuple(map(ctypes.c_void_p, addresses))  # type: ignore[assignment]
        self._keep = stepper, arrays

    def of(self, state: np.ndarray) -> Instructions:
        """Return what a step from a state runs; `next` is then the new state and the status."""
        self.state[:] = state
        found = (ctypes.c_uint64 * 2)()
        assert _library().trace(*self._arguments, found) == 0
        return Instructions(*found)


def varied_states(stepper: RealtimeStepper, count: int, seed: int = 1) -> list[np.ndarray]:
    """Return states far apart: angles up to 1e5 rad, velocities up to 1e3; half of them tiny, or subnormal."""
    s, rng, states = stepper.system, np.random.default_rng(seed), []
    for k in range(count):
        state = stepper.state
        turned, speeds = rng.normal(size=(2, s.nv))
        turned *= 10.0 ** (rng.uniform(-2, 5) if k % 2 else rng.uniform(-320, -2))
        speeds *= 10.0 ** (rng.uniform(-2, 3) if k % 4 > 1 else rng.uniform(-320, -2))
        state[: s.nq] = s.integrate(state[: s.nq], turned)
        state[s.nq : s.nq + s.nv] = speeds
        state[-1] = rng.uniform(0.0, 10.0)
        states.append(state)
    return states
