"""Fingerprints of kernels, bit by bit: ``python benchmarks/bits.py [mechanism ...] [--compare FILE] [--source FOLDER]``

One line for each kernel: SHA-256 (its first 16 digits) of the LLVM text, for one state and in lanes, and of the outputs
at 32 seeded states: one by one, in lanes on one thread, in lanes on two. `--compare FILE` prints what differs from an
earlier output, text and outputs apart: a rework that moves code only changes neither, one that rewrites what kernels
are made of may change the first. `--source FOLDER` looks at another package, such as that of an earlier commit.

The kernels are those of `counts.py`; then come accelerations in natural coordinates, a flexible four-bar, a mechanism
with every element of force, and for all mechanisms derivatives of the accelerations, poses and rows of closures.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

STATES = 32
COPIES = 8
"""Times that the states stand in a batch, so that there is work for two threads."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def digest(*parts: bytes) -> str:
    """Return the beginning of a hash.

    >>> digest(b"a", b"b") == digest(b"ab")
    True
    """
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


# ---------------------------------------------------------------------------------------------------------
# Kernels: all that is used of the package's inside


def texts(kernel: Any) -> tuple[str, str]:
    """Return the hash of a kernel's LLVM text, constants and tables, for one state and in lanes."""
    from whippletree.kernels.native import host

    machine, program = host(), kernel.program()
    found = []
    for width in (1, machine.lanes):
        text = program.ir(name="kernel", width=width, pack=machine.lanes, fused=machine.fused)
        found.append(digest(text.encode(), program.constants.tobytes(), program.tables.tobytes()))
    return found[0], found[1]


def inputs_of(kernel: Any, system: Any) -> list[Array]:
    """Return seeded inputs (32, size): coordinates and parameters near the mechanism's own, anything else anywhere."""
    rng = np.random.default_rng(20)
    found = []
    for name, size in kernel.signature.inputs:
        some = rng.normal(size=(STATES, size))
        if name == "q":
            some = system.kernels.states.normalize(system.q0 + 0.01 * some)
        elif name == "parameters":
            some = kernel.default_input(name) * (1.0 + 0.01 * some)
        found.append(np.ascontiguousarray(some))
    return found


def outputs(kernel: Any, system: Any) -> Iterator[str]:
    """Yield the hashes of a kernel's outputs, equal for equal bits: one by one, in lanes on one thread and on two."""
    given = inputs_of(kernel, system)
    yield told(lambda out: state_by_state(kernel, given, out), kernel.output_sizes)
    copies = [np.tile(a, (COPIES, 1)) for a in given]
    for threads in (1, 2):
        yield told(lambda out, n=threads: kernel.many(copies, out, len(out[0]), n), kernel.output_sizes)


def state_by_state(kernel: Any, given: Sequence[Array], out: Sequence[Array]) -> None:
    for state in range(STATES):
        row = [a[state].copy() for a in out]
        kernel.one([a[state].copy() for a in given], row)
        for a, values in zip(out, row, strict=True):
            a[state::STATES] = values


def told(call: Callable[[list[Array]], None], sizes: Sequence[int]) -> str:
    """Return the hash of what a call writes; the name of the error if a number is not finite."""
    out = [np.zeros((STATES * COPIES, size)) for size in sizes]
    try:
        call(out)
    except ArithmeticError as error:
        return type(error).__name__
    return digest(*(a.tobytes() for a in out))


# ---------------------------------------------------------------------------------------------------------
# Mechanisms of our own


def every_force() -> Any:
    """Build a mechanism with every element of force."""
    import whippletree as wt

    m = wt.Mechanism("every force")
    k = m.parameter("k", 200.0)
    last: Any = m.ground
    for number, axis in enumerate("xyz"):
        body = m.body(f"b{number}", mass=1.0 + number, com=(0.1, 0.05, 0.2), inertia=(0.1, 0.2, 0.25))
        m.revolute(f"j{number}", last, body, at=(0.1, 0.2, -0.3), axis=axis)
        last = body
    ball, other = m.body("ball", mass=0.5, inertia=(0.1, 0.1, 0.1)), m.body("other", mass=2.0, inertia=(0.2, 0.3, 0.3))
    m.free("float", m.ground, ball)
    m.prismatic("slide", m.ground, other, axis="z", at=(0.4, 0, 0))
    lag = m.state("lag", 0.1, rate=lambda z: (m.coordinate("j0") - z) / 0.2)
    m.spring("spring", m.ground, last, stiffness=k, damping=3.0, free_length=0.4, at=(0.3, 0.2, 1.0))
    m.torsion_spring("coil", "j1", stiffness=5.0, damping=0.1)
    m.bushing("rubber", "b2", ball, stiffness=(5, 5, 2, 100, 100, 50), damping=(0.1, 0.1, 0.1, 1, 1, 1))
    m.friction("dry", "j0", coulomb=0.3, viscous=0.01)
    m.friction("bearing", "slide", coefficient=0.1, length=0.2)
    m.limit("stop", "j1", lower=-0.1, upper=0.1, stiffness=1e3, damping=2.0)
    m.actuator("motor", "j2", effort=lag - 0.5 * m.rate("j2"))
    m.load("wind", ball, force=(m.time, 1.0, 2.0 * m.position("ball")[0]))
    m.contact("ground", ball, radius=0.2, stiffness=1e4, damping=10.0, friction=0.4)
    m.contact_between("hit", ball, other, radius=0.2, radius_child=0.3, stiffness=1e4)
    m.contact_between("edge", ball, other, radius=0.2, size_child=(0.3, 0.2, 0.2), stiffness=1e4)
    m.tyre("tyre", other, radius=0.3, stiffness=1e4, cornering_stiffness=2e3, friction=0.8)
    return m.build()


def flexible_four_bar() -> Any:
    """Build a four-bar with an elastic coupler."""
    import whippletree as wt

    m = wt.Mechanism("flexible four-bar", gravity=(0.0, 0.0, -9.81))
    coupler = wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, elements=4, modes=3)
    m.body("coupler", coupler)
    crank, rocker = (
        m.body("crank", wt.rod(length=0.5, mass=1.0, axis="z")),
        m.body("rocker", wt.rod(length=0.5, mass=1.0, axis="z")),
    )
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, "coupler", at=(0, 0, 0.5), axis="y")
    m.revolute("C", "coupler.tip", rocker, at_child=(0, 0, 0.5), axis="y")
    m.revolute("D", m.ground, rocker, at=(1.0, 0, 0), axis="y")
    return m.build()


# ---------------------------------------------------------------------------------------------------------
# Lines


def wanted(name: str, words: Sequence[str]) -> bool:
    return not words or name.startswith(tuple(words))


OF_ALL = ("forward_dynamics_derivatives", "node_poses")
OF_CLOSURES = ("closure_residual", "closure_jacobian")


def kernels(words: Sequence[str]) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """Yield the name of each kernel, its system, and a function that makes it."""
    from counts import CASES, Kernel, systems, trees

    for models, some in CASES:
        for name, system in models():
            for each in some if wanted(name, words) else ():
                yield f"{name}, {each}", system, lambda s=system, k=each: made(s, k)
    asked = ("forward_dynamics", "reactions", "inverse_dynamics", "mass_matrix", "energy", "newton_residual")
    for name, build in (("flexible four-bar", flexible_four_bar), ("every force", every_force)):
        for function in asked if wanted(name, words) else ():
            yield f"{name}, {function}", (system := build()), lambda s=system, f=function: made(s, Kernel(f))
    for name in ("squeezer", "N-four-bar, 1"):
        natural = Kernel("forward_dynamics", "natural")
        if wanted(f"{name}, natural", words):
            system = next(s for key, s in systems().items() if key.endswith(name))
            yield f"{name}, natural", system, lambda s=system, k=natural: made(s, k)
    for models, some in ((trees, OF_ALL), (lambda: iter(systems().items()), (*OF_ALL, *OF_CLOSURES))):
        for name, system in models():
            for function in some if wanted(name, words) else ():
                yield f"{name}, {function}", system, lambda s=system, f=function: made(s, Kernel(f))


def made(system: Any, kernel: Any) -> Any:
    return system.kernels.kernel(kernel.function, formulation=kernel.formulation, **kernel.options)


def lines(words: Sequence[str]) -> Iterator[str]:
    """Yield all lines: what it is, its text's hashes, and its outputs'."""
    from whippletree.errors import WhippletreeError

    for name, system, make in kernels(words):
        try:
            kernel = make()
            yield f"{name}: text {' '.join(texts(kernel))} outputs {' '.join(outputs(kernel, system))}"
        except WhippletreeError as error:
            yield f"{name}: text - outputs {type(error).__name__}"


# ---------------------------------------------------------------------------------------------------------
# Comparing


def parsed(text: str) -> dict[str, tuple[str, str]]:
    """Return text's and outputs' hashes by name.

    >>> parsed("arm, energy: text 1 2 outputs 3 4 5")
    {'arm, energy': ('1 2', '3 4 5')}
    """
    split = (line.rpartition(": text ") for line in text.splitlines())
    found = ((name, hashes.partition(" outputs ")) for name, _, hashes in split if name)
    return {name: (words, values) for name, (words, _, values) in found}


def differences(before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what differs.

    >>> list(differences({"arm": ("1", "2"), "leg": ("1", "2")}, {"arm": ("1", "3")}))
    ['arm: other outputs', 'leg: gone']
    """
    for name in before.keys() | after.keys():
        if name not in after or name not in before:
            yield f"{name}: {'gone' if name in before else 'new'}"
            continue
        pairs = zip(("text", "outputs"), before[name], after[name], strict=True)
        found = [word for word, old, new in pairs if old != new]
        if found:
            yield f"{name}: other {' and '.join(found)}"


def main() -> None:
    """Print the lines, or what differs from others."""
    parser = argparse.ArgumentParser(description="Fingerprints of kernels, bit by bit.")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="print what differs from this earlier output")
    parser.add_argument("--source", type=Path, metavar="FOLDER", help="a folder that holds another package")
    parser.add_argument("mechanisms", nargs="*", help="how their names begin (default: all)")
    arguments = parser.parse_args()
    if arguments.source is not None and os.environ.get("PYTHONPATH") != str(arguments.source.resolve()):
        environment = os.environ | {"PYTHONPATH": str(arguments.source.resolve())}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode)
    os.environ |= {"WHIPPLETREE_CACHE": "off", "WHIPPLETREE_CHOICE": "counted"}
    warnings.simplefilter("ignore")  # of starts from which loops were closed
    if arguments.compare is None:
        for line in lines(arguments.mechanisms):
            print(line, flush=True)
        return
    earlier = parsed(arguments.compare.read_text(encoding="utf-8"))
    before = {name: each for name, each in earlier.items() if wanted(name, arguments.mechanisms)}
    found = sorted(differences(before, parsed("\n".join(lines(arguments.mechanisms)))))
    print("\n".join(found) or "nothing has changed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
