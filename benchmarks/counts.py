"""Operation counts of the kernels that the benchmarks run.

``python benchmarks/counts.py [mechanism ...] [--compare FILE] [--bare]``

One line for each kernel, always in the same order, so that two outputs can be compared; `--compare FILE` prints what
differs from an earlier output, with the ratio. Counted is what is traced, after folding and merging and before fusing:
no machine code is made, nothing is timed, and `auto` chooses by counts.

`--bare` leaves out all that watches over results: checks of pivots, of closures, of estimated errors, and the numbers
that tell how regular closures are. What remains are the equations.

The trees are an arm, a humanoid, the human body of the papers, the same with straight axes, and a chain of 100
joints; the mechanisms with loops are those of `choice.py` and the N-four-bar with 1000 loops. Where a kernel is a loop,
further lines tell how large it is: the kinds of steps with the operations of each and how often it is done, the rows
of the tables, and the memory.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
from choice import systems
from growth_models import FAMILIES
from models import chain, mechanism_from_pinocchio, panda, talos
from straight_body import straight_body

from whippletree.analysis.models import human_body
from whippletree.errors import WhippletreeError
from whippletree.kernels.tape import read_tape
from whippletree.symbolic.sparse_factors import trusted
from whippletree.system import guards, loop_equations

# ---------------------------------------------------------------------------------------------------------
# All that is used of the package's inside: imports, and what these five functions know of a system and its loops


def rolled_program(system: Any, kernel: Kernel) -> Rolled | None:
    """The loops of a kernel, or None if it is a straight line."""
    engine = system._engine
    request = engine.request(kernel.function, formulation=kernel.formulation, **kernel.options)
    if not engine.equations.rolls(request):
        return None
    program = engine.equations.roll(request)
    return Rolled(program.steps, program.work_size, len(program.constants))


def watch_nothing() -> None:
    """Let kernels that are traced from now on be without what watches over results."""
    alone: dict[Callable[..., object], Callable[..., object]] = {
        trusted: lambda pivot, least, negative=False: pivot,
        guards.guard: lambda result, ok: result,
    }
    for module in [m for name, m in sys.modules.items() if name.startswith("whippletree.")]:
        for name, watched in list(vars(module).items()):
            if any(watched is each for each in alone):
                setattr(module, name, alone[watched])
    loop_equations.smallest = lambda values: ca.SX(1)


def operations_of(kind: Any) -> int:
    """The operations of one kind of step."""
    return read_tape(kind.function).count().total


def kinds_of(step: Any) -> tuple[Any, ...]:
    """The kinds of a step: those of a loop or a climb, the one of a segment, none of a solve."""
    return step.variants if hasattr(step, "variants") else (step.variant,) if hasattr(step, "variant") else ()


def table_of(step: Any) -> tuple[tuple[int, ...], ...]:
    """The rows of a step's table; the first number of a loop's row is its kind."""
    return getattr(step, "table", ())


# ---------------------------------------------------------------------------------------------------------
# Kernels


class Rolled(NamedTuple):
    """A kernel that is a loop: its steps, how many numbers it keeps in memory, and how many are constants."""

    steps: tuple[Any, ...]
    memory: int
    constants: int


class Kernel(NamedTuple):
    """A function by a formulation, with what is chosen within that."""

    function: str
    formulation: str = "auto"
    options: Mapping[str, str] = {}

    def __str__(self) -> str:
        return ", ".join([self.function, self.formulation, *self.options.values()])


REFERENCES = [("fully_recursive", {"reference": name}) for name in ("origin", "centroid", "joint")]
TREE_FORMULATIONS: list[tuple[str, Mapping[str, str]]] = [
    ("auto", {}),
    ("articulated", {}),
    ("composite", {}),
    *REFERENCES,
    ("velocity_transformation", {}),
]
LOOP_FORMULATIONS: list[tuple[str, Mapping[str, str]]] = [
    ("auto", {}),
    ("tree_augmented", {}),
    ("joint_multipliers", {}),
    ("independent_coordinates", {}),
    ("constraint_embedding", {}),
    ("coordinate_reduction", {}),
    ("by_group", {}),
    ("penalty", {}),
    ("absolute", {}),
    *REFERENCES,
    *(("velocity_transformation", {"closed_by": name}) for name in ("multipliers", "penalty", "independent")),
]

SOLVED = ("forward_dynamics", "reactions")
OTHERS = ("inverse_dynamics", "mass_matrix", "bias_force", "inverse_dynamics_derivatives", "newton_matrix", "energy")
OF_TREES = [Kernel(function, *by) for function in SOLVED for by in TREE_FORMULATIONS] + [*map(Kernel, OTHERS)]
OF_LONG_TREES = [
    *(Kernel("forward_dynamics", *by) for by in TREE_FORMULATIONS if by[0] != "velocity_transformation"),
    Kernel("reactions", "articulated"),
    *map(Kernel, ("inverse_dynamics", "mass_matrix", "bias_force", "energy")),
]
OF_LOOPS = [
    *(Kernel("forward_dynamics", *by) for by in LOOP_FORMULATIONS),
    *(Kernel("derivatives", name) for name in dict(LOOP_FORMULATIONS)),
    Kernel("reactions", "coordinate_reduction"),
    *map(Kernel, ("project", "newton_matrix", "newton_residual")),
]
OF_MANY_LOOPS = [Kernel("forward_dynamics", "coordinate_reduction"), *map(Kernel, ("inverse_dynamics", "energy"))]


def trees() -> Iterator[tuple[str, Any]]:
    yield "arm", mechanism_from_pinocchio(panda()).build()
    yield "humanoid", mechanism_from_pinocchio(talos()).build()
    yield "human body", human_body().build()
    yield "straight body", straight_body().build()


def long_trees() -> Iterator[tuple[str, Any]]:
    yield "chain of 100", mechanism_from_pinocchio(chain(100)).build()


def many_loops() -> Iterator[tuple[str, Any]]:
    mechanism, guess = FAMILIES["N-four-bar"](1000)
    yield "N-four-bar, 1000", mechanism.build(guess=guess)


CASES: list[tuple[Callable[[], Iterator[tuple[str, Any]]], list[Kernel]]] = [
    (trees, OF_TREES),
    (long_trees, OF_LONG_TREES),
    (lambda: iter(systems().items()), OF_LOOPS),
    (many_loops, OF_MANY_LOOPS),
]


# ---------------------------------------------------------------------------------------------------------
# Lines


def wanted(what: str, words: Sequence[str]) -> bool:
    """Whether a line is asked for: its mechanism starts with one of these words, or there are none.

    >>> wanted("arm, energy", ["arm"]), wanted("ladder, 6", ["arm"]), wanted("ladder, 6", [])
    (True, False, True)
    """
    return not words or what.startswith(tuple(words))


def lines(words: Sequence[str]) -> Iterator[str]:
    """All lines: what is counted, a colon, the count and what it is made of."""
    for models, kernels in CASES:
        for name, system in models():
            for kernel in kernels if wanted(name, words) else ():
                for what, figure in counted(system, kernel):
                    yield f"{name}, {kernel}{what}: {figure}"


def counted(system: Any, kernel: Kernel) -> Iterator[tuple[str, str]]:
    """The operations of one evaluation, and for a loop its size as well."""
    try:
        count = system.kernels.operations(kernel.function, formulation=kernel.formulation, **kernel.options)
    except WhippletreeError as error:
        yield "", f"refused ({type(error).__name__})"
        return
    parts = {name: n for name, n in vars(count).items() if n}
    yield "", f"{count.total} ({', '.join(f'{n} {name}' for name, n in parts.items())})"
    program = rolled_program(system, kernel)
    if program is not None:
        yield from sizes(program)


def sizes(program: Rolled) -> Iterator[tuple[str, str]]:
    """How large a rolled program is."""
    kinds = kinds_and_items(program)
    yield " | steps", f"{len(program.steps)}"
    yield " | kinds", f"{len(kinds)}"
    yield " | operations of all kinds", f"{sum(operations for operations, _ in kinds)}"
    yield " | rows of tables", f"{sum(len(table_of(step)) for step in program.steps)}"
    yield " | numbers in tables", f"{sum(len(row) for step in program.steps for row in table_of(step))}"
    yield " | numbers in memory", f"{program.memory}"
    yield " | constants", f"{program.constants}"
    for number, (operations, items) in enumerate(kinds, start=1):
        yield f" | kind {number:03}", f"{operations} (operations, in {items} rows)"


def kinds_and_items(program: Rolled) -> list[tuple[int, int]]:
    """The operations of every kind and its rows, those first that have most in all."""
    found = []
    for step in program.steps:
        table = table_of(step)
        rows = Counter(row[0] for row in table)
        found += [(operations_of(kind), rows[k] if table else 1) for k, kind in enumerate(kinds_of(step))]
    return sorted(found, key=lambda each: (-each[0] * each[1], *each))


# ---------------------------------------------------------------------------------------------------------
# Comparing


def parsed(text: str) -> dict[str, str]:
    """Figures by what they count.

    >>> parsed("arm, energy: 3 (3 additions)")
    {'arm, energy': '3 (3 additions)'}
    """
    return {what: figure for line in text.splitlines() for what, _, figure in [line.rpartition(": ")] if what}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """What differs, with the ratio of the counts.

    >>> list(changes({"arm": "4 (4 additions)", "leg": "1"}, {"arm": "3 (3 additions)"}))
    ['arm: 4 (4 additions) -> 3 (3 additions), 0.7500', 'leg: 1 -> gone']
    """
    for what, old in before.items():
        new = after.get(what, "gone")
        if new != old:
            yield f"{what}: {old} -> {new}{ratio(old, new)}"
    yield from (f"{what}: new, {figure}" for what, figure in after.items() if what not in before)


def ratio(old: str, new: str) -> str:
    """New over old, if both are counts.

    >>> ratio("4 (4 additions)", "5"), ratio("4", "gone")
    (', 1.2500', '')
    """
    counts = [re.match(r"\d+", figure) for figure in (old, new)]
    a, b = (None if count is None else int(count[0]) for count in counts)
    return f", {b / a:.4f}" if a and b is not None else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Operation counts of the kernels that the benchmarks run.")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="print what differs from this earlier output")
    parser.add_argument("--bare", action="store_true", help="leave out what watches over results")
    parser.add_argument("mechanisms", nargs="*", help="how their names begin (default: all)")
    arguments = parser.parse_args()
    words = arguments.mechanisms
    os.environ |= {"WHIPPLETREE_CACHE": "off", "WHIPPLETREE_CHOICE": "counted"}
    warnings.simplefilter("ignore")  # of starts from which loops were closed
    if arguments.bare:
        watch_nothing()
    if arguments.compare is None:
        for line in lines(words):
            print(line, flush=True)
        return
    earlier = parsed(arguments.compare.read_text(encoding="utf-8"))
    before = {what: figure for what, figure in earlier.items() if wanted(what, words)}
    found = list(changes(before, parsed("\n".join(lines(words)))))
    print("\n".join(found) or "nothing has changed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
