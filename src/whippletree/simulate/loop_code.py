"""The machine code of the time loops: where it comes from, and the addresses of its functions.

The package carries it in `compiled/`, as `loop_compiler` made it: object files for Linux on two levels of x86-64, and
the same in LLVM's language for all others. These compile it when they first need it, in a few seconds, and keep the
result in the disk cache. So does whoever has edited the loops: then Numba makes them anew, in a process of its own.
Results are the same to the bit on all levels, since LLVM neither reorders sums nor joins products with them.

Code is loaded from the package's own folder, which is trusted as its Python is, and from the disk cache, which takes
care that it belongs to the user alone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import lzma
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from whippletree.errors import WhippletreeError
from whippletree.foundation.once import Lock
from whippletree.kernels.cache import open_cache
from whippletree.kernels.compile_notice import compiling
from whippletree.kernels.native import NativeCode, compile_ir, host, load_code
from whippletree.simulate.native_functions import MARKED, MarkedFunction

__all__ = [
    "IR_FILE",
    "LEVELS",
    "SHIPPED",
    "TABLE_FILE",
    "address",
    "in_package",
    "make_ir",
    "object_file",
    "processor_level",
    "source_digest",
]

SHIPPED = Path(__file__).parent / "compiled"
"""The folder of the time loops that the package carries."""

TABLE_FILE, IR_FILE = "loops.json", "loops.ll.xz"

LEVELS = {"x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "x86-64": ()}
"""Levels of x86-64 by LLVM's names, the higher ones first, and the features that a processor has to have."""

_LOADING = Lock()
"""The lock under which loops are loaded, once. It is not that of LLVM, whose compiler works in a thread of its own."""

_PACKAGE = "whippletree.simulate."
_MAKER = "whippletree.simulate.loop_compiler.make_loops"


def address(symbol: str) -> int:
    """Return the address of a function by address, or of an entry."""
    return _address(symbol, len(MARKED))


@functools.cache
def _address(symbol: str, count: int) -> int:
    """Return the address of one of so many functions."""
    marked = _by_symbol(count).get(symbol)
    with _LOADING:
        if marked is None or in_package(marked):
            return _loops().addresses[symbol]
        return _compiled_here(marked).addresses[symbol]


@functools.lru_cache(maxsize=1)
def _by_symbol(count: int) -> dict[str, MarkedFunction]:
    """Return the functions by their names in machine code, of those of the same name the last; there are so many."""
    return {one.symbol: one for one in MARKED[:count]}


def in_package(marked: MarkedFunction) -> bool:
    """Tell whether a function is one of the package's own."""
    return marked.function.__module__.startswith(_PACKAGE)


@functools.cache
def _loops() -> NativeCode:
    """Return the package's own time loops in memory."""
    table = json.loads((SHIPPED / TABLE_FILE).read_text(encoding="utf-8"))
    source = source_digest(table["files"])
    if source not in (table["source"], None):
        edited = functools.partial(make_ir, processor_level())
        code = _kept(f"edited time loops {source}", "the time loops, which were edited", 60.0, edited)
    elif processor_level() in LEVELS and "linux" in host().triple:
        code = lzma.decompress((SHIPPED / object_file(processor_level())).read_bytes())
    else:
        code = _kept(f"time loops {table['source']}", "the time loops, once for this processor", 5.0, _shipped_ir)
    return load_code(code, table["symbols"])


def processor_level() -> str:
    """Return the highest level of this machine's processor, if it is an x86-64, or `generic`.

    >>> processor_level() in (*LEVELS, "generic")
    True
    """
    if not host().triple.startswith("x86_64"):
        return "generic"
    there = set(host().features.split(","))
    fit = (level for level, needed in LEVELS.items() if there.issuperset(f"+{one}" for one in needed))
    return next(fit)  # not empty: the last level needs nothing


def object_file(level: str) -> str:
    """Return the name of the object file for a level.

    >>> object_file("x86-64-v3")
    'loops-x86-64-v3.o.xz'
    """
    return f"loops-{level}.o.xz"


def source_digest(files: Sequence[str]) -> str | None:
    """Return a digest of source files of `simulate/`, or None if the package is installed without them."""
    digest = hashlib.sha256()
    for name in files:
        try:
            digest.update(name.encode() + b"\n" + (SHIPPED.parent / name).read_bytes().replace(b"\r\n", b"\n"))
        except FileNotFoundError:
            return None
    return digest.hexdigest()


def _shipped_ir() -> str:
    return lzma.decompress((SHIPPED / IR_FILE).read_bytes()).decode()


def _kept(name: str, what: str, seconds: float, make: Callable[[], str]) -> bytes:
    """Return machine code from the disk cache, or make it, which takes some seconds, and keep it."""
    cache, key = open_cache(), f"{name}|{host().key()}"
    entry = None if cache is None else cache.load(key)
    if entry is None:
        try:
            with compiling(what, seconds):
                entry = {"code": compile_ir(make())}
        except RuntimeError as error:
            raise WhippletreeError(
                f"the time loops cannot be compiled by {host().versions}; they were made for llvmlite 0.50: "
                f"pip install --upgrade llvmlite ({str(error)[:200]})"
            ) from error
        if cache is not None:
            cache.store(key, entry)
    return entry["code"]


def make_ir(level: str, *symbols: str) -> str:
    """Return the package's time loops as Numba makes them now, for a level of processors, in a process of its own.

    It makes all of them, unless some are named, and has none of the user's settings for Numba, so that the result is
    always the same.
    """
    import subprocess  # which runs do without

    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-P", "-m", _MAKER, "--print", *symbols]
    done = subprocess.run(command, env=environment, cwd=SHIPPED, capture_output=True, check=False)
    if done.returncode:
        raise WhippletreeError(
            "the time loops in whippletree/simulate were edited, and could not be compiled (this takes Numba: "
            f"pip install whippletree[loops]):\n{done.stderr.decode(errors='replace')[-2000:]}"
        )
    return done.stdout.decode()


@functools.cache
def _compiled_here(marked: MarkedFunction) -> NativeCode:
    """Return a function of the user's own in memory."""
    try:
        from whippletree.simulate.loop_compiler.linked_loops import linked_ir
    except ImportError as error:
        raise WhippletreeError(
            f"{marked.symbol} is to be compiled, which takes Numba: pip install whippletree[loops]"
        ) from error
    return load_code(compile_ir(linked_ir([marked])), [marked.symbol])
