"""The machine code of the time loops: where it comes from, and the addresses of its functions.

The package carries it in `compiled/`, as `loop_compiler` made it: an object file for Linux on x86-64, and the same in
LLVM's language for all others. These compile it when they first need it, in a few seconds, and keep the result in the
disk cache. So does whoever has changed the loops: then Numba makes them anew, in a process of its own.

Code is loaded from the package's own folder, which is trusted as its Python is, and from the disk cache, which takes
care that it belongs to the user alone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whippletree.errors import WhippletreeError
from whippletree.kernels.cache import open_cache
from whippletree.kernels.native import NativeCode, compile_ir, host, load_code
from whippletree.once import making
from whippletree.simulate.native_functions import MARKED, MarkedFunction

__all__ = ["IR_FILE", "OBJECT_FILE", "SHIPPED", "TABLE_FILE", "address", "in_package", "make_ir", "source_digest"]

SHIPPED = Path(__file__).parent / "compiled"
"""The folder of what the package carries."""

TABLE_FILE, IR_FILE, OBJECT_FILE = "loops.json", "loops.ll.xz", "loops-x86_64-linux.o.xz"

_PACKAGE = "whippletree.simulate."
_MODULE = "whippletree.simulate.loop_compiler"


def address(symbol: str) -> int:
    """Return the address of a function by address, or of an entry."""
    marked = next((one for one in reversed(MARKED) if one.symbol == symbol), None)
    with making():
        if marked is None or in_package(marked):
            return _loops().addresses[symbol]
        return _compiled_here(marked).addresses[symbol]


def in_package(marked: MarkedFunction) -> bool:
    """Tell whether a function is one of the package's own."""
    return marked.function.__module__.startswith(_PACKAGE)


@functools.cache
def _loops() -> NativeCode:
    """Return the package's own time loops in memory."""
    table = json.loads((SHIPPED / TABLE_FILE).read_text(encoding="utf-8"))
    source = source_digest(table["files"])
    if source not in (table["source"], None):
        code = _kept(f"edited time loops {source}", "they were edited; about 50 s", make_ir)
    elif host().triple.startswith("x86_64") and "linux" in host().triple:
        code = lzma.decompress((SHIPPED / OBJECT_FILE).read_bytes())
    else:
        code = _kept(f"time loops {table['source']}", "once for this processor; about 5 s", _shipped_ir)
    return load_code(code, table["symbols"])


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


def _kept(what: str, why: str, make: Any) -> bytes:
    """Return machine code from the disk cache, or make it and keep it."""
    cache, key = open_cache(), f"{what}|{host().key()}"
    entry = None if cache is None else cache.load(key)
    if entry is None:
        if sys.stderr.isatty():
            print(f"whippletree: compiling the time loops ({why})", file=sys.stderr, flush=True)
        entry = {"code": compile_ir(make())}
        if cache is not None:
            cache.store(key, entry)
    return entry["code"]


def make_ir() -> str:
    """Return the package's time loops as Numba makes them now, in a process of its own.

    That has none of the user's settings for Numba, so that the result is always the same.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {
        "NUMBA_CPU_NAME": "x86-64" if host().triple.startswith("x86_64") else "generic",
        "NUMBA_CPU_FEATURES": "",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-P", "-m", _MODULE, "--print"]
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
