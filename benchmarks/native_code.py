"""Compiles the C and C++ loops into shared libraries, once per content, and loads them."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import processor

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"


def library(
    source: str, compiler: str, flags: list[str], libraries: list[str] | None = None, *, tuned: bool = True
) -> ctypes.CDLL:
    """The shared library of one source file; compiled if source, command, compiler or processor is new.

    tuned: for this very processor, otherwise for any of its family.
    """
    path = HERE / "native" / source
    text = path.read_text()
    headers = _headers(path)
    program = shutil.which(compiler)
    if program is None:
        raise SystemExit(f"{compiler} is needed to compile benchmarks/native/{source}")
    tuning = ["-march=native"] if tuned else []
    command = [program, "-O3", *tuning, "-fPIC", "-shared", *flags, str(path), *(libraries or [])]
    release = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    content = "\n".join([text, *headers, *command, release, processor()])
    target = BUILD / f"{path.stem}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.so"
    if not target.exists():
        BUILD.mkdir(exist_ok=True)
        print(f"compiling benchmarks/native/{source} ...", file=sys.stderr, flush=True)
        handle, scratch = tempfile.mkstemp(suffix=".so", dir=BUILD)
        os.close(handle)
        try:
            subprocess.run([*command, "-o", scratch], check=True)
            Path(scratch).replace(target)
        finally:
            Path(scratch).unlink(missing_ok=True)
    return ctypes.CDLL(str(target))


def _headers(path: Path) -> list[str]:
    """The texts of our own headers that a file includes, and of those that these include."""
    found = [path.with_name(name) for name in re.findall(r'#include "(.+)"', path.read_text())]
    return [text for header in found for text in (header.read_text(), *_headers(header))]


def pointer(array: object) -> ctypes.c_void_p:
    """The address of a float64 or int array's first element."""
    return ctypes.c_void_p(array.ctypes.data)  # type: ignore[attr-defined]
