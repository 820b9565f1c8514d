"""Handing a job to a thread that listens for one, in machine code.

To wake a sleeping thread takes some fifty microseconds, and it must then get the interpreter's lock: meanwhile a
thousand states are done. So a thread that has just helped listens a moment for the next job, without the lock. Each
listener has a slot, one word, which others change by compare-and-swap only:

    ASLEEP     no thread listens
    LISTENING  a job that is offered is taken at once
    BUSY       a job is being done
    otherwise  the address of a job that is offered

A job is five words: the address of the driver, of the batch, and of scratch memory; then the slot that it is offered
to, and whether it is done. `driver(batch, scratch, wait)` works on a batch until nothing is left to claim and, if
`wait` is not zero, until all of it is done.

A job and all it needs belong to the thread that offers it. That thread takes back what has not been taken, and
waits for the end of what has: a listener never touches what may be gone.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Sequence
from typing import Any

from whippletree.kernels.native import compile_ir, host, load_code

__all__ = ["ASLEEP", "BUSY", "LISTENING", "Relay"]

ASLEEP, LISTENING, BUSY = range(3)

_APART = 16  # words from slot to slot: processors fetch neighbouring cache lines together
_JOB_WORDS = 5
"""Words of 64 bits that describe a job to a helper."""

_PATIENCE = 200e-6  # seconds for which a thread listens
_TRIAL = 1000  # rounds that are timed

_HINT = "@llvm.aarch64.hint(i32 1)"
_PAUSES = {"x86_64": "@llvm.x86.sse2.pause()", "aarch64": _HINT, "arm64": _HINT}
"""The instruction for a thread that waits, by the first part of the processor's triple."""

_TEXT = """
@slots = global [{words} x i64] zeroinitializer, align 128

define void @listen(ptr %slot, ptr %bell, i64 %rounds) nounwind {{
entry:
  store atomic i64 {LISTENING}, ptr %slot release, align 8
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %pause], [%next, %leave], [%k, %take], [0, %work]
  %word = load atomic i64, ptr %slot monotonic, align 8
  %offered = icmp ne i64 %word, {LISTENING}
  br i1 %offered, label %take, label %wait
wait:
  %next = add i64 %k, 1
  %late = icmp sgt i64 %next, %rounds
  %calls = load atomic i64, ptr %bell monotonic, align 8
  %rings = icmp ne i64 %calls, 0
  %end = or i1 %late, %rings
  br i1 %end, label %leave, label %pause
pause:
  {pause}
  br label %look
leave:
  %leaving = cmpxchg ptr %slot, i64 {LISTENING}, i64 {ASLEEP} monotonic monotonic
  %left = extractvalue {{i64, i1}} %leaving, 1
  br i1 %left, label %over, label %look
over:
  ret void
take:
  %taking = cmpxchg ptr %slot, i64 %word, i64 {BUSY} acquire monotonic
  %taken = extractvalue {{i64, i1}} %taking, 1
  br i1 %taken, label %work, label %look
work:
  %job = inttoptr i64 %word to ptr
  %batchp = getelementptr i64, ptr %job, i64 1
  %scratchp = getelementptr i64, ptr %job, i64 2
  %done = getelementptr i64, ptr %job, i64 4
  %driver = load ptr, ptr %job, align 8
  %batch = load ptr, ptr %batchp, align 8
  %scratch = load ptr, ptr %scratchp, align 8
  call void %driver(ptr %batch, ptr %scratch, i64 0)
  store atomic i64 {LISTENING}, ptr %slot release, align 8
  store atomic i64 1, ptr %done release, align 8
  br label %look
}}

define void @lead(ptr %slots, i64 %size, ptr %jobs, i64 %count, ptr %driver, ptr %batch, ptr %scratch) nounwind {{
entry:
  br label %offers
offers:
  %i = phi i64 [0, %entry], [%i2, %offer]
  %j = phi i64 [0, %entry], [%j2, %offer]
  %slots_left = icmp slt i64 %i, %size
  %jobs_left = icmp slt i64 %j, %count
  %both = and i1 %slots_left, %jobs_left
  br i1 %both, label %offer, label %work
offer:
  %at = mul i64 %i, {_APART}
  %slot = getelementptr i64, ptr %slots, i64 %at
  %to = mul i64 %j, {_JOB_WORDS}
  %job = getelementptr i64, ptr %jobs, i64 %to
  %slotp = getelementptr i64, ptr %job, i64 3
  store ptr %slot, ptr %slotp, align 8
  %address = ptrtoint ptr %job to i64
  %giving = cmpxchg ptr %slot, i64 {LISTENING}, i64 %address release monotonic
  %given = extractvalue {{i64, i1}} %giving, 1
  %one = zext i1 %given to i64
  %i2 = add i64 %i, 1
  %j2 = add i64 %j, %one
  br label %offers
work:
  call void %driver(ptr %batch, ptr %scratch, i64 1)
  br label %ends
ends:
  %e = phi i64 [0, %work], [%e2, %ended]
  %more = icmp slt i64 %e, %j
  br i1 %more, label %withdraw, label %over
withdraw:
  %from = mul i64 %e, {_JOB_WORDS}
  %mine = getelementptr i64, ptr %jobs, i64 %from
  %placep = getelementptr i64, ptr %mine, i64 3
  %done = getelementptr i64, ptr %mine, i64 4
  %place = load ptr, ptr %placep, align 8
  %offered = ptrtoint ptr %mine to i64
  %taking = cmpxchg ptr %place, i64 %offered, i64 {LISTENING} monotonic monotonic
  %back = extractvalue {{i64, i1}} %taking, 1
  br i1 %back, label %ended, label %wait
wait:
  %state = load atomic i64, ptr %done acquire, align 8
  %is_done = icmp ne i64 %state, 0
  br i1 %is_done, label %ended, label %pause
pause:
  {pause}
  br label %wait
ended:
  %e2 = add i64 %e, 1
  br label %ends
over:
  ret void
}}
"""
"""`listen` is the loop of a helper, and `lead` that of the caller.

An offer is made by release and taken by acquire, so that the listener sees all that was written before. The end of a
job is told by release and seen by acquire, so that the caller sees its results. The slot listens again before the job
is told to be done, so that the next call finds it listening.
"""


class Relay:
    """Slots for a number of listeners, and the code that they share. It is never freed: a thread may be in it."""

    def __init__(self, size: int) -> None:
        code = load_code(compile_ir(_text(size)), ["listen", "lead", "slots"])
        code.keep()
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        self._size = size
        self._start = code.addresses["slots"]
        self._words = (word * (_APART * size)).from_address(self._start)
        self._bell = self._slot(size)
        self._ring = word.from_address(self._bell)
        self._listen = ctypes.CFUNCTYPE(None, pointer, pointer, word)(code.addresses["listen"])
        self._lead = ctypes.CFUNCTYPE(None, pointer, word, pointer, word, *[pointer] * 3)(code.addresses["lead"])
        self._rounds = self._calibrate()

    @property
    def states(self) -> list[int]:
        """The words in the slots, at this moment."""
        return self._words[::_APART]

    @property
    def bell(self) -> bool:
        """Whether listeners are called away; one who listens while it rings returns at once."""
        return self._ring.value != 0

    @bell.setter
    def bell(self, rings: bool) -> None:
        self._ring.value = rings

    def listen(self, slot: int) -> None:
        """Do the jobs that are offered to this slot, until there has been none for a while or the bell rings."""
        self._listen(self._slot(slot), self._bell, self._rounds)

    def lead(self, driver: int, batch: int, scratch: Sequence[int]) -> None:
        """Run the driver here, on the first scratch memory, and in threads that listen, on the others."""
        count = len(scratch) - 1
        jobs = _jobs(count)(*[word for own in scratch[1:] for word in (driver, batch, own, 0, 0)])
        self._lead(self._start, self._size, jobs, count, driver, batch, scratch[0])

    def _slot(self, index: int) -> int:
        return self._start + 8 * _APART * index

    def _calibrate(self) -> int:
        """Return for how many rounds a listener listens, by timing some at a slot to which nothing is offered."""
        spare, shortest = self._slot(self._size + 1), float("inf")
        for _ in range(3):
            start = time.perf_counter()
            self._listen(spare, self._bell, _TRIAL)
            shortest = min(shortest, time.perf_counter() - start)
        return max(1, int(_PATIENCE / shortest * _TRIAL))


@functools.cache
def _jobs(count: int) -> Any:
    return ctypes.c_int64 * (_JOB_WORDS * count)


def _text(size: int) -> str:
    """Return the module's text; after the slots come the bell, and a slot to which nothing is offered."""
    name = _PAUSES.get(host().triple.split("-")[0])
    words = _APART * (size + 2)
    names = {"LISTENING": LISTENING, "ASLEEP": ASLEEP, "BUSY": BUSY, "_APART": _APART, "_JOB_WORDS": _JOB_WORDS}
    text = _TEXT.format(words=words, pause=f"call void {name}" if name else "", **names)
    return text + (f"declare void {name.replace('i32 1', 'i32')}\n" if name else "")
