"""A kernel: a function of named arrays, in machine code, for one state or for many.

It is compiled when it is first needed, separately for one state and for batches. Kernels are re-entrant: scratch
memory belongs to the call.
"""

from __future__ import annotations

import ctypes
import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whippletree.foundation.arrays import Array
from whippletree.foundation.once import made_once, present_lock, without_collecting
from whippletree.kernels import entry as fast
from whippletree.kernels.batch import FAULT, batch_ir, batch_words, lane_buffer
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.compile_notice import compiling, compiling_seconds
from whippletree.kernels.entry import Signature, address_of
from whippletree.kernels.native import NativeCode, compile_ir, host, load_code
from whippletree.kernels.threads import help_with, lead, listening, processors

__all__ = ["Array", "Kernel", "NotFiniteError", "Program", "Signature"]


_FORMAT = "2"
_KERNEL = "kernel"
_PER_THREAD = 64  # states; fewer are not worth a thread
_MOST = 2**30  # states in one go
_APART = 64  # doubles between what different threads write


class Program(Protocol):
    """The source of a kernel: an object that can write itself as LLVM IR."""

    @property
    def work_size(self) -> int:
        """Doubles of scratch memory for one state."""
        ...

    @property
    def constants(self) -> Array:
        """The numbers that the code written last reads."""
        ...

    @property
    def tables(self) -> npt.NDArray[np.int32]:
        """The index tables that the code reads."""
        ...

    def ir(self, *, name: str, width: int, pack: int, fused: bool) -> str:
        """Return a module with the kernel function for `width` states."""
        ...


class NotFiniteError(ArithmeticError):
    """A number was not finite: in the inputs, or in the results, near the given state."""

    def __init__(self, where: str, state: int) -> None:
        super().__init__(where)
        self.where, self.state = where, state


class Kernel:
    """One function in machine code.

    `trace` is called only if the code is not in the cache. `what` is what is written on a terminal if that takes long,
    and `seconds` returns how long it is expected to take, None if that is not known before it is traced. `effort` is
    how much of it the compiler spends on code for one state (`compile_ir`).
    """

    def __init__(
        self,
        key: str,
        signature: Signature,
        trace: Callable[[], Program],
        cache: DiskCache | None,
        defaults: Mapping[str, Array] | None = None,
        *,
        what: str = "a function",
        seconds: Callable[[], float | None] = lambda: None,
        effort: int = 1,
    ) -> None:
        self.key, self.signature = key, signature
        self._what, self._seconds, self._effort = what, seconds, effort
        self._trace, self._cache = trace, cache
        self._program: Program | None = None
        self._defaults = {
            name: np.zeros(size) if defaults is None or name not in defaults else defaults[name]
            for name, size in signature.inputs
        }
        self._optional = frozenset(defaults or ())  # what a caller may leave out
        self._buffers: list[Array] = []
        self._lock = present_lock()  # that of the model that it is made for

    # ------------------------------------------------------------------ for callers by address

    @property
    def address(self) -> int:
        """The address of `void kernel(in, out, work, constants, tables)` for one state."""
        return self._one.code.addresses[_KERNEL]

    @made_once
    def input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return [name for name, _ in self.signature.inputs]

    @property
    def input_sizes(self) -> list[int]:
        """The sizes of the inputs, in order."""
        return self.signature.input_sizes

    @property
    def output_sizes(self) -> list[int]:
        """The sizes of the outputs, in order."""
        return self.signature.output_sizes

    @property
    def work_size(self) -> int:
        """Doubles of scratch memory that a call needs."""
        return self._one.work_size

    @property
    def constants_address(self) -> int:
        """The address of the nodes' constants."""
        return self._one.constants_address

    @property
    def tables_address(self) -> int:
        """The address of the index tables."""
        return self._one.tables_address

    def default_input(self, name: str) -> Array:
        """Return the value of an input that is not given."""
        return self._defaults[name]

    # ------------------------------------------------------------------ calls

    @made_once
    def entry(self) -> Callable[..., int] | None:
        """The fast way in for one state, or None if there is none (see `entry`)."""
        return None if self._entry is None else self._entry.call

    @made_once
    def _entry(self) -> fast.Entry | None:
        part = self._one
        if "entry" not in part.code.addresses:
            return None
        defaults = [self._defaults[n].ctypes.data if n in self._optional else 0 for n in self.input_names]
        work = self.take_buffer(part.work_size)
        keep = part, self._defaults
        return fast.Entry(part.code, defaults, part.constants_address, part.tables_address, work, keep)

    def one(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        """Evaluate one state: contiguous float64 arrays of the right sizes, not overlapping the outputs."""
        part = self._one
        arrays = [self._defaults[n] if a is None else a for n, a in zip(self.input_names, inputs, strict=True)]
        if not all(np.isfinite(a).all() for a in arrays):
            raise NotFiniteError("input", 0)
        pointers = (ctypes.c_void_p * max(len(arrays), 1))(*map(address_of, arrays))
        results = (ctypes.c_void_p * len(outputs))(*map(address_of, outputs))
        work = self.take_buffer(part.work_size)
        try:
            part.call(pointers, results, address_of(work), part.constants_address, part.tables_address)
        finally:
            self._buffers.append(work)
        if not all(np.isfinite(a).all() for a in outputs):
            raise NotFiniteError("result", 0)

    def many(self, inputs: Sequence[Array | None], outputs: Sequence[Array], count: int, threads: int) -> None:
        """Evaluate `count` states: inputs (count, size) or (size,), contiguous; outputs (count, size)."""
        if count > _MOST:  # the halves of a counter hold no more
            middle = count // 2
            for rows in (slice(None, middle), slice(middle, None)):
                some = [a if a is None or a.ndim == 1 else a[rows] for a in inputs]
                self.many(some, [a[rows] for a in outputs], len(outputs[0][rows]), threads)
            return
        part = self._many
        arrays = [self._defaults[n] if a is None else a for n, a in zip(self.input_names, inputs, strict=True)]
        call = _BatchCall(self, part, arrays, outputs, count)
        helpers = min(threads, -(-count // _PER_THREAD)) - 1
        call.lead(min(helpers, processors() - 1) if helpers else 0)
        if call.fault >= 0:
            raise NotFiniteError("input" if call.fault & 1 else "result", (call.fault - 1) >> 1)

    @made_once
    def batch_buffer(self) -> int:
        """Doubles of scratch memory for a batch."""
        return lane_buffer(self.input_sizes, self.output_sizes, host().lanes, self._many.work_size)

    def give_back(self, *buffers: Array) -> None:
        """Keep work memory for the next call."""
        self._buffers += buffers

    def take_buffer(self, size: int) -> Array:
        """Return scratch memory of at least `size` doubles, on a cache line."""
        try:
            buffer = self._buffers.pop()
            if buffer.size >= size:
                return buffer
        except IndexError:
            pass
        return aligned(size)

    # ------------------------------------------------------------------ code

    def program(self) -> Program:
        """Return the trace, made now if need be."""
        if self._program is None:
            self._program = self._trace()
        return self._program

    @made_once
    def _one(self) -> _KernelPart:
        return self._part("one")

    @made_once
    def _many(self) -> _KernelPart:
        return self._part("many")

    def _part(self, form: str) -> _KernelPart:
        """Load code from the cache, or make it and keep it."""
        key = f"{_FORMAT}|{form}|{self.key}|{self.signature}|{host().key()}"
        entry = self._cache.load(key) if self._cache else None
        if entry is None:
            entry = self._make(form)
            if self._cache:
                self._cache.store(key, entry)
        return _KernelPart(form, entry)

    def _make(self, form: str) -> dict[str, bytes]:
        """Trace and compile, with a word about it on a terminal if that takes long."""
        with compiling(self._what, self._seconds) as notice, without_collecting():
            return self._compile(form, notice)

    def _compile(self, form: str, notice: compiling) -> dict[str, bytes]:
        program, machine = self.program(), host()
        width = 1 if form == "one" else machine.lanes
        text = program.ir(name=_KERNEL, width=width, pack=machine.lanes, fused=machine.fused)
        constants = program.constants.tobytes()
        symbols = [_KERNEL]
        if form == "many":
            text += batch_ir(self.signature, width, _KERNEL, program.work_size)
            symbols.append("batch")
        elif fast.supported() and len(self.signature.outputs) == 1:
            text += fast.entry_ir(self.signature, _KERNEL)
            symbols.append("entry")
        notice.expect(compiling_seconds(text))
        code = compile_ir(text, opt=self._effort if form == "one" else 2)
        meta = {"symbols": symbols, "work": program.work_size}
        return {
            "meta": json.dumps(meta).encode(),
            "constants": constants,
            "tables": program.tables.tobytes(),
            "code": code,
        }


def aligned(size: int) -> Array:
    """Return an array of doubles that starts on a cache line, with no other memory near it.

    Processors fetch neighbouring lines together, so that threads disturb each other even across a line's edge.

    >>> aligned(3).ctypes.data % 64
    0
    """
    raw = np.empty(size + 3 * _APART)
    return raw[_APART + (-raw.ctypes.data // 8) % _APART :][:size]


class _KernelPart:
    """The code of one form of a kernel, loaded."""

    def __init__(self, form: str, entry: Mapping[str, bytes]) -> None:
        meta = json.loads(entry["meta"])
        self.work_size: int = meta["work"]
        self.code: NativeCode = load_code(entry["code"], meta["symbols"])
        self._constants = aligned(len(entry["constants"]) // 8)
        self._constants[:] = np.frombuffer(entry["constants"], dtype=np.float64)
        self._tables = np.frombuffer(entry["tables"], dtype=np.int32)
        self.constants_address = self._constants.ctypes.data
        self.tables_address = self._tables.ctypes.data
        pointer, index = ctypes.c_void_p, ctypes.c_int64
        if form == "one":
            kind = ctypes.CFUNCTYPE(None, *[pointer] * 5)
            self.call: Any = kind(self.code.addresses[_KERNEL])
        else:
            self.call = ctypes.CFUNCTYPE(None, pointer, pointer, index)(self.code.addresses["batch"])


class _BatchCall:
    """A batch and its arguments; several threads may work on it at once, each on a share of the remaining states."""

    def __init__(
        self, kernel: Kernel, part: _KernelPart, inputs: Sequence[Array], outputs: Sequence[Array], count: int
    ) -> None:
        self._kernel, self._part = kernel, part
        self._keep = (inputs, outputs)
        self._size = kernel.batch_buffer
        sources = [(address_of(a), 8 * a.shape[1] if a.ndim > 1 else 0) for a in inputs]
        targets = [(address_of(a), 8 * a.shape[1]) for a in outputs]
        words = batch_words(count, part.constants_address, part.tables_address, sources, targets)
        self._words = array("q", words)  # in a tenth of the time that an array of ctypes takes
        self._at = self._words.buffer_info()[0]

    @property
    def fault(self) -> int:
        """The error code (see `batch`)."""
        return int(self._words[FAULT])

    def lead(self, helpers: int) -> None:
        """Do the whole batch, with as many helpers: those that listen begin at once, others are asked to come."""
        ready = min(helpers, listening()) if helpers else 0
        for _ in range(helpers - ready):
            help_with(self)
        buffers = [self._kernel.take_buffer(self._size) for _ in range(1 + ready)]
        if ready:
            lead(self._part.code.addresses["batch"], self._at, [address_of(b) for b in buffers])
        else:
            self._part.call(self._at, address_of(buffers[0]), 1)
        self._kernel.give_back(*buffers)

    def __call__(self) -> None:
        """Work on the states that have not been claimed."""
        buffer = self._kernel.take_buffer(self._size)
        self._part.call(self._at, address_of(buffer), 0)
        self._kernel.give_back(buffer)
