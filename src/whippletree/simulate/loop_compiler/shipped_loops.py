"""The time loops that the package carries (see `loop_code`), and the source files that they belong to."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import lzma
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

from whippletree.simulate.loop_code import (
    IR_FILE,
    LEVELS,
    SHIPPED,
    TABLE_FILE,
    in_package,
    make_ir,
    object_file,
    source_digest,
)
from whippletree.simulate.loop_compiler.linked_loops import linked_ir
from whippletree.simulate.native_functions import MARKED, MarkedFunction
from whippletree.simulate.native_structs import NativeStruct

__all__ = ["loops_ir", "object_code", "source_files", "write_shipped"]

_ROOM = "whippletree.simulate."
_METHODS = ("built_in_methods", "python_stepping")  # which import all loops
_MAKING = (
    "native_functions",
    "native_structs",
    "loop_compiler.linked_loops",
    "loop_compiler.numba_functions",
    "loop_compiler.numba_structs",
)


def loops_ir(symbols: Sequence[str] = ()) -> str:
    """Return the time loops of the package as one module of LLVM's language: all of them, or some by name."""
    return linked_ir(one for one in exported() if not symbols or one.symbol in symbols)


def exported() -> list[MarkedFunction]:
    """Return the functions that are called by address, in the order of their names."""
    for name in _METHODS:
        importlib.import_module(_ROOM + name)
    found = [one for one in MARKED if one.mark in ("by_address", "entry") and in_package(one)]
    return sorted(found, key=lambda one: one.symbol)


def object_code(text: str, level: str, triple: str = "x86_64-unknown-linux-gnu") -> bytes:
    """Compile a module for a level of processors."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=level, opt=3, reloc="pic", codemodel="jitdefault")
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    return bytes(machine.emit_object(module))


def write_shipped(folder: Path = SHIPPED) -> None:
    """Make the time loops of the package: a table, the loops in LLVM's language, object files; about two minutes."""
    files = source_files()
    table = {
        "source": source_digest(files),
        "files": files,
        "symbols": [one.symbol for one in exported()],
        "made_by": made_by(),
    }
    folder.mkdir(exist_ok=True)
    for level in LEVELS:
        text = make_ir(level)
        (folder / object_file(level)).write_bytes(_compressed(object_code(text, level)))
    (folder / IR_FILE).write_bytes(_compressed(text.encode()))  # that of the lowest level suits all others
    (folder / TABLE_FILE).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def made_by() -> dict[str, str]:
    """Return the versions of the programs that make the loops."""
    versions = {"numba": numba.__version__, "llvmlite": llvmlite.__version__, "numpy": np.__version__}
    return versions | {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}


def _compressed(data: bytes) -> bytes:
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


# ---------------------------------------------------------------------- which files it is made of


def source_files() -> list[str]:
    """Return the files of `simulate/` that the loops are made of: functions, structs, and the constants they use."""
    exported()
    loops = [one.function for one in MARKED if in_package(one)]
    structs = [one for one in NativeStruct.__subclasses__() if one.__module__.startswith(_ROOM)]
    modules = {one.__module__ for one in (*loops, *structs)} | {_ROOM + name for name in _MAKING}
    for function in loops:
        used = set(_names(function.__code__))
        modules |= {module for module, name in _imported(function.__module__) if name in used}
    return sorted(f"{name.removeprefix(_ROOM).replace('.', '/')}.py" for name in modules)


def _names(code: CodeType) -> Iterator[str]:
    """Iterate over the global names that a function uses."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _imported(module: str) -> Iterator[tuple[str, str]]:
    """Iterate over names that a module imports from others of `simulate/`."""
    tree: Any = ast.parse(inspect.getsource(sys.modules[module]))
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(_ROOM):
            for alias in statement.names:
                yield statement.module or "", alias.asname or alias.name
