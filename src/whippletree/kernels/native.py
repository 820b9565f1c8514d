"""The processor at hand, and machine code for it by LLVM."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from whippletree.foundation.once import Lock

__all__ = ["LLVM", "Host", "NativeCode", "compile_ir", "host", "load_code"]

LLVM = Lock()
"""The lock under which LLVM works. Whoever holds it takes no other."""

_PIECE = 0.2
"""For how many seconds at a time a compilation is waited for."""


@dataclass(frozen=True)
class Host:
    """The processor and system that machine code is for.

    >>> host().lanes in (4, 8)
    True
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fused: bool
    versions: str

    def key(self) -> str:
        """Return everything that a cached kernel's validity depends on."""
        return "|".join((self.triple, self.cpu, self.features, self.versions))


@functools.cache
def host() -> Host:
    """Return this machine's processor, its lanes and the compiler's version."""
    import llvmlite
    import llvmlite.binding as llvm

    _initialise()
    features = llvm.get_host_cpu_features()
    wide = all(features.get(name, False) for name in ("avx512f", "avx512dq", "avx512vl"))
    arm = llvm.get_process_triple().startswith(("aarch64", "arm64"))
    return Host(
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        lanes=8 if wide else 4,
        fused=bool(features.get("fma", False)) or arm,
        versions=f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}",
    )


@functools.cache
def _initialise() -> None:
    import llvmlite.binding as llvm

    with contextlib.suppress(RuntimeError):  # newer bindings need no such call, and say so by raising
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _offer_symbols()


def _offer_symbols() -> None:
    """Tell the linker where the interpreter's functions and the mathematical library are."""
    import llvmlite.binding as llvm

    for name in ("PyLong_AsVoidPtr", "PyLong_FromLong"):
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def _target_machine(opt: int = 2) -> Any:
    """Return a target machine that compiles with some effort; each engine owns, and frees, its own."""
    import llvmlite.binding as llvm

    _initialise()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=host().cpu, features=host().features, opt=opt, reloc="pic", codemodel="jitdefault"
    )


def compile_ir(text: str, *, opt: int = 2) -> bytes:
    """Compile a module's text to an object file.

    The text is optimised before it is written, so no passes over the IR are run: they would triple the time. With
    `opt=1` the instructions are the same, but are not put into another order after registers have been given out. That
    takes a third of the time, and speeds up lanes by a few per cent; for one state it changes nothing. With `opt=0`
    values wait in memory more often: a third of the time that is left, and code that takes up to twice as long.

    An interrupt (Ctrl-C) ends the call at once; the compiler, which hears of nothing, goes on in its thread, and its
    code is dropped.
    """
    import llvmlite.binding as llvm

    def emit() -> bytes:
        with LLVM:
            machine = _target_machine(opt)
            module = llvm.parse_assembly(text)
            module.triple = llvm.get_process_triple()
            module.data_layout = str(machine.target_data)
            return bytes(machine.emit_object(module))

    return _interruptible(emit)


def _interruptible(work: Callable[[], bytes]) -> bytes:
    """Return what some work in another thread makes, unless this one is interrupted while it waits.

    >>> _interruptible(lambda: b"done")
    b'done'
    """
    made: list[bytes] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            failed.append(error)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    while not ended.wait(_PIECE):  # in pieces: some systems do not interrupt a lock
        pass
    if failed:
        raise failed[0]
    return made[0]


class NativeCode:
    """Machine code in memory, alive as long as this object."""

    def __init__(self, engine: Any, addresses: dict[str, int]) -> None:
        self._engine = engine
        self.addresses = addresses

    def keep(self) -> None:
        """Keep the code in memory until the process ends, whatever becomes of this object."""
        self._engine.detach()


def load_code(code: bytes, symbols: Iterable[str]) -> NativeCode:
    """Link an object file into this process and return the addresses of its symbols."""
    import llvmlite.binding as llvm

    with LLVM:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
    return NativeCode(engine, {name: engine.get_function_address(name) for name in symbols})
