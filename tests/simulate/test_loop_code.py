"""The machine code of the time loops: that it belongs to its source, where it is loaded from, and what it gives."""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from whippletree.kernels.native import host
from whippletree.simulate import loop_code
from whippletree.simulate.loop_code import IR_FILE, LEVELS, SHIPPED, TABLE_FILE, make_ir, object_file, source_digest
from whippletree.simulate.loop_compiler import shipped_loops
from whippletree.simulate.steppers import method_names

TABLE = json.loads((SHIPPED / TABLE_FILE).read_text(encoding="utf-8"))
REMAKE = "the time loops were edited: run `make loops`"
LINUX = pytest.mark.skipif("linux" not in host().triple or not host().triple.startswith("x86_64"), reason="no object")

RUNS = """
    import hashlib, sys
    from whippletree.simulate.steppers import method_names
    from whippletree.system.example_systems import four_bar
    found = hashlib.sha256()
    for method in method_names():
        fixed = method not in ("dopri5", "dop853", "adams")
        run = four_bar().simulate(0.3, method=method, **({"step": 1e-3} if fixed else {}))
        found.update(run.q.tobytes() + run.v.tobytes())
    print(found.hexdigest(), "numba" in sys.modules, "llvmlite" in sys.modules)
"""


def runs(folder: Path, before: str = "", terminal: int | None = None) -> list[str]:
    """What another process, with an empty cache, prints about runs; `before` is what it does first."""
    program = textwrap.dedent(before) + textwrap.dedent(RUNS)
    paths = {"WHIPPLETREE_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": str(folder / "numba")}
    environment = {**os.environ, **paths, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=terminal, check=True, timeout=300)
    return done.stdout.decode().split()


@pytest.fixture(scope="module")
def as_shipped(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return runs(tmp_path_factory.mktemp("shipped"))


# ---------------------------------------------------------------------- it belongs to its source


def test_what_is_shipped_is_of_these_files():
    assert TABLE["files"] == shipped_loops.source_files(), REMAKE
    assert TABLE["source"] == source_digest(TABLE["files"]), REMAKE
    assert TABLE["symbols"] == [one.symbol for one in shipped_loops.exported()], REMAKE


def test_constants_of_the_loops_are_in_these_files():
    """Functions, structs, names of entries, and tolerances: each comes from another file."""
    assert {"runge_kutta.py", "kernel_calls.py", "run_state.py", "run_tolerances.py"} <= set(TABLE["files"])
    assert {"native_structs.py", "loop_compiler/numba_structs.py"} <= set(TABLE["files"])
    assert not {"driver.py", "simulation.py", "controllers.py"} & set(TABLE["files"])


def body(text: str, symbol: str) -> str:
    """A function of a module, with the module's numbers for other things replaced by its own."""
    found = re.search(rf"^define [^\n]*@{symbol}\(.*?^}}$", text, re.MULTILINE | re.DOTALL)
    assert found, symbol
    own: dict[str, str] = {}
    return re.sub(r'"?part\d+"?|![0-9]+|#[0-9]+', lambda m: own.setdefault(m[0].strip('"'), f"<{len(own)}>"), found[0])


def shipped_ir() -> str:
    return lzma.decompress((SHIPPED / IR_FILE).read_bytes()).decode()


@pytest.mark.rest
def test_a_function_made_anew_is_the_shipped_one():
    """By the same versions to the letter; by others it has to be there, and runs are compared below."""
    made, shipped = body(make_ir("x86-64", "evaluate_end"), "evaluate_end"), body(shipped_ir(), "evaluate_end")
    assert made.count("\n") > 100
    if shipped_loops.made_by() == TABLE["made_by"]:
        assert made == shipped, REMAKE


def test_what_all_other_processors_compile_names_none_and_nothing_of_numba():
    """Only what every C library has is called from outside."""
    text = shipped_ir()
    assert not re.findall(r"llvm\.x86|target (?:triple|datalayout)|NumbaEnv|Py[A-Z]\w+_|pickle|inttoptr \(", text)
    outside = set(re.findall(r"^declare .*@([\w.]+)\(", text, re.MULTILINE))
    assert {name for name in outside if not name.startswith("llvm.")} == {"malloc", "free", "sqrt"}


@pytest.mark.deep
def test_it_is_compiled_for_arm_processors():
    """Not run there; 0xB7 is the number of AArch64 in an ELF file."""
    code = shipped_loops.object_code(shipped_ir(), "generic", "aarch64-unknown-linux-gnu")
    assert (code[:4], code[18], len(code) > 100_000) == (b"\x7fELF", 0xB7, True)


@pytest.mark.deep
@pytest.mark.parametrize("level", LEVELS)
def test_all_made_anew_is_what_is_shipped(level: str, tmp_path: Path, as_shipped: list[str]):
    text = make_ir(level)
    code = shipped_loops.object_code(text, level)
    (tmp_path / "code").write_bytes(code)
    if shipped_loops.made_by() == TABLE["made_by"]:
        assert code == lzma.decompress((SHIPPED / object_file(level)).read_bytes()), REMAKE
        assert level != "x86-64" or text == shipped_ir(), REMAKE
    remade = f"""
        from pathlib import Path
        from whippletree.simulate import loop_code
        code = Path({str(tmp_path / "code")!r}).read_bytes()
        loop_code.lzma.decompress = lambda data: code
    """
    assert runs(tmp_path, remade) == as_shipped


# ---------------------------------------------------------------------- where it is loaded from


def test_a_run_by_any_method_needs_no_numba(as_shipped: list[str]):
    assert as_shipped[1:] == ["False", "True"]
    assert len(method_names()) >= 7


@pytest.mark.rest
@LINUX
def test_all_levels_of_processors_give_the_same_bits(tmp_path: Path, as_shipped: list[str]):
    lowest = 'from whippletree.simulate import loop_code\nloop_code.processor_level = lambda: "x86-64"\n'
    assert runs(tmp_path, lowest) == as_shipped


OTHER = 'from whippletree.simulate import loop_code\nloop_code.processor_level = lambda: "generic"\n'


@pytest.mark.rest
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
def test_another_processor_compiles_once_and_says_so(tmp_path: Path, as_shipped: list[str]):
    """The cache is the user's own, and Numba's is not looked at."""
    import pty

    ours, theirs = pty.openpty()
    assert runs(tmp_path, OTHER, terminal=theirs) == as_shipped
    assert b"compiling the time loops, once for this processor, about 5 s" in os.read(ours, 10_000)
    kept = sorted((tmp_path / "cache" / "kernels").iterdir())
    assert all(file.stat().st_mode & 0o077 == 0 for file in kept)
    assert not (tmp_path / "numba").exists()


def test_code_that_others_can_write_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is in the cache under the same name, but open to others, is made again."""
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path))
    made = []
    monkeypatch.setattr(loop_code, "compile_ir", lambda text: made.append(text) or b"code of " + text.encode())
    keep = loop_code._kept
    assert keep("loops", "", 0.0, lambda: "one") == keep("loops", "", 0.0, lambda: "two") == b"code of one"
    (file,) = (tmp_path / "kernels").iterdir()
    file.chmod(0o666)
    assert keep("loops", "", 0.0, lambda: "three") == b"code of three"
    assert made == ["one", "three"]


@pytest.mark.rest
def test_edited_loops_are_made_anew_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Here by a stand-in for Numba, which would take a minute."""
    made = []
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(loop_code, "source_digest", lambda files: "edited")
    monkeypatch.setattr(loop_code, "make_ir", lambda level: made.append(level) or shipped_ir())
    monkeypatch.setattr(loop_code, "compile_ir", lambda text: shipped_loops.object_code(text, "x86-64", host().triple))
    for _ in range(2):
        loaded = loop_code._loops.__wrapped__()
        assert loaded.addresses.keys() == set(TABLE["symbols"])
        assert all(loaded.addresses.values())
    assert made == [loop_code.processor_level()]


def test_loops_that_cannot_be_compiled_are_refused_in_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop_code.sys, "executable", "/bin/false")
    with pytest.raises(loop_code.WhippletreeError, match=r"edited.*takes Numba.*pip install"):
        make_ir("x86-64")


def test_an_older_llvm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path))
    with pytest.raises(loop_code.WhippletreeError, match=r"llvmlite [\d.]+, LLVM .*pip install --upgrade llvmlite"):
        loop_code._kept("loops", "", 0.0, lambda: "define void @f(ptr words_of_another_version) {")
