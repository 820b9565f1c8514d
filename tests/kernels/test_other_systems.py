"""The language in which kernels go to LLVM is read for other systems: object files for Windows and for Arm processors.

They are compiled here and not run. LLVM of llvmlite compiles for all of these; a deep test lets the compiler of another
maker (`ziglang` of the package index, which brings the C libraries of these systems) read the same text.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import whippletree as wt
from whippletree.kernels import kernel as kernels

COFF, ELF, MACHO = "COFF", "ELF", "Mach-O"
SYSTEMS = {
    "x86_64-pc-windows-msvc": ("haswell", COFF, 0x8664),
    "aarch64-unknown-linux-gnu": ("generic", ELF, 183),
    "arm64-apple-darwin": ("apple-m1", MACHO, 0x0100000C),
}
"""For each system a processor, the form of its object files, and the number of the processor in these."""


def rolled() -> wt.System:
    m = wt.Mechanism("chain")
    above: Any = m.ground
    for i in range(70):
        link = m.body(f"link {i}", wt.rod(length=0.1, mass=0.10375, axis="-z"))
        m.revolute(f"hinge {i}", above, link, at=(0, 0, -0.1 if i else 0), axis="y")
        above = link
    return m.build()


def hung(mass: float) -> wt.System:
    """A pendulum of a mass that no other test has: nothing of it is compiled yet."""
    m = wt.Mechanism("pendulum")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=1.0, mass=mass, axis="-z")), axis="y")
    return m.build()


def ring(mass: float) -> wt.System:
    """A four-bar, likewise."""
    m = wt.Mechanism("four-bar")
    crank, coupler, rocker = (
        m.body(name, wt.rod(length=length, mass=mass, axis="x"))
        for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5))
    )
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    return m.build(guess={"A": 1.0})


def one(system: wt.System) -> Any:
    return system.forward_dynamics(system.q0, system.v0)


def batch(system: wt.System) -> Any:
    return system.forward_dynamics(np.tile(system.q0, (9, 1)), np.tile(system.v0, (9, 1)))


def carried(system: wt.System) -> Any:
    return system.reactions(system.q0, system.v0)


SAMPLE: dict[str, tuple[Callable[[], wt.System], Callable[[wt.System], Any]]] = {
    "a tree": (lambda: hung(1.0371), one),
    "a batch of trees": (lambda: hung(1.0372), batch),
    "a loop": (lambda: ring(1.0373), one),
    "reactions in a loop": (lambda: ring(1.0374), carried),
    "a loop over many bodies": (rolled, one),
}


@pytest.fixture(scope="module", params=SAMPLE)
def texts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The modules of kernels that a call makes."""
    make, call = SAMPLE[request.param]
    found: list[str] = []
    compile_ir = kernels.compile_ir

    def kept(text: str, **options: Any) -> bytes:
        found.append(text)
        return compile_ir(text, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHIPPLETREE_CACHE", str(tmp_path_factory.mktemp("empty")))
        patch.setattr(kernels, "compile_ir", kept)
        call(make())
    assert found
    yield found


def compiled(text: str, system: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(system).create_target_machine(cpu=SYSTEMS[system][0], opt=1, reloc="pic")
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple, module.data_layout = system, str(machine.target_data)
    return bytes(machine.emit_object(module))


def processor(code: bytes, form: str) -> int:
    """The number of the processor that an object file is for."""
    if form == COFF:
        return int(struct.unpack_from("<H", code)[0])
    if form == ELF:
        assert code[:4] == b"\x7fELF"
        return int(struct.unpack_from("<H", code, 18)[0])
    assert code[:4] == b"\xcf\xfa\xed\xfe"
    return int(struct.unpack_from("<I", code, 4)[0])


@pytest.mark.parametrize("system", SYSTEMS)
def test_kernels_compile_for_other_systems(texts: list[str], system: str) -> None:
    for text in texts:
        code = compiled(text, system)
        assert processor(code, SYSTEMS[system][1]) == SYSTEMS[system][2]
        for name in ("kernel", "batch", "entry"):
            assert (name.encode() in code) or f"@{name}(" not in text


@pytest.mark.deep
@pytest.mark.parametrize("target", ["x86_64-windows-gnu", "aarch64-linux-gnu", "aarch64-macos"])
def test_the_compiler_of_another_maker_reads_kernels(texts: list[str], target: str, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the extra `cross` brings it")
    for i, text in enumerate(texts):
        source = tmp_path / f"kernel_{i}.ll"
        source.write_text(text, encoding="utf-8")
        code = source.with_suffix(".o")
        command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-O1", "-c", str(source), "-o", str(code)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
        assert code.stat().st_size > 500
