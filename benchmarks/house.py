"""How hard the package is to read, in figures: ``python benchmarks/house.py [--names]``.

A table of measure, now and aim; with `--names` also what was found: files, names, functions.

How each is counted:

- Files entered: those of the package in which a function is called during the first `forward_dynamics`, or `simulate`,
  of a four-bar in a new process (`sys.setprofile`). The bodies of modules and classes are no functions; functions that
  run while a module is imported by the call are. `forward_dynamics` names its formulation and runs without the cache on
  disk (with an empty one there is one file more, the cache's); `simulate` has all defaults and an empty cache.
- Lines: all of them, empty ones and comments included.
- Names twice: names of classes, a leading underscore aside, and of modules, `base`, `__init__` and the commands of
  the command line aside. (With `base` and the commands there were 17 modules at the start, and 13 without.)
- Privates: what ruff finds by SLF, exceptions by `noqa` included; those are into another module whose file does not
  define the name itself.
- `Any`: the word, wherever it stands.
- Functions: from `def` to the last line, without decorators. Those with LLVM instructions in their strings are apart.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = "whippletree"
FORMULATION = "coordinate_reduction"
LONG = 80
"""Lines of the longest function that is not too long."""

SHARED = frozenset({"base", "__init__"})
"""Names of modules that every room may have."""

LLVM = re.compile(r"getelementptr|\balloca\b|\bbr i1\b|\bret void\b|\bphi i\d|\bfmul\b|\bdefine ")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Measure:
    """A row of the table, and what was counted."""

    name: str
    now: float
    aim: str
    found: tuple[str, ...] = ()


# ---------------------------------------------------------------------------------------------------------
# Files entered by a call, in a process of its own


def four_bar() -> Any:
    """A parallelogram of thin rods, crank and rocker upright."""
    import whippletree as wt

    m = wt.Mechanism("four-bar", gravity=(0.0, -9.81, 0.0))
    tip = (1.0, 0.0, 0.0)
    inertia = [[0.0, 0.0, 0.0], [0.0, 1 / 12, 0.0], [0.0, 0.0, 1 / 12]]
    crank, coupler, rocker = (
        m.body(name, mass=1.0, com=(0.5, 0.0, 0.0), inertia=inertia) for name in ("crank", "coupler", "rocker")
    )
    m.revolute("A", m.ground, crank)
    m.revolute("B", crank, coupler, at=tip)
    m.revolute("C", coupler, rocker, at=tip, at_child=tip)
    m.revolute("D", m.ground, rocker, at=tip)
    quarter = 1.5707963267948966
    return m.build(guess={"A": quarter, "B": -quarter, "C": quarter, "D": quarter})


CALLS: dict[str, Callable[[Any], object]] = {
    "forward_dynamics": lambda s: s.forward_dynamics(s.q0, s.v0, formulation=FORMULATION),
    "simulate": lambda s: s.simulate(0.5),
}


def files_entered(call: Callable[[], object]) -> list[str]:
    """The files of the package in which a function is called."""
    root = str(Path(sys.modules[PACKAGE].__file__ or "").parent) + os.sep
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(root):
            found.add(code.co_filename.removeprefix(root))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(found)


def probe(name: str) -> None:
    """Print the files that a call enters; this is what the new process does."""
    system = four_bar()
    print(json.dumps(files_entered(lambda: CALLS[name](system))))


def probed(name: str, cache: str, source: Path) -> tuple[str, ...]:
    """The files that a call enters, in a new process with this cache."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WHIPPLETREE_")}
    environment |= {"WHIPPLETREE_CACHE": cache, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--probe", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the process that calls {name} failed:\n{done.stderr}")
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def entered(source: Path) -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        forward = probed("forward_dynamics", "off", source)
        simulate = probed("simulate", folder, source)
    return [
        Measure("files entered by the first forward_dynamics, formulation named", len(forward), "30", forward),
        Measure("files entered by the first simulate", len(simulate), "50", simulate),
    ]


# ---------------------------------------------------------------------------------------------------------
# Text


@dataclass(frozen=True)
class Module:
    """A file of the package."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text)))

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def classes(self) -> Iterator[str]:
        return (node.name for node in self.nodes if isinstance(node, ast.ClassDef))

    @property
    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    @cached_property
    def defined(self) -> set[str]:
        """The names that are defined in this file: functions, classes, variables, and attributes of `self`."""
        found = {node.name for node in self.nodes if isinstance(node, Function | ast.ClassDef)}
        found |= {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return found | {node.attr for node in self.nodes if isinstance(node, ast.Attribute) and _of_self(node)}


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def modules(source: Path) -> list[Module]:
    root = source / PACKAGE
    return [Module(path, path.relative_to(root).as_posix()) for path in sorted(root.rglob("*.py"))]


def twice(places: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The names with more than one place, and these.

    >>> twice({"Loop": ["a.py", "b.py"], "Row": ["a.py"]})
    ('Loop: a.py, b.py',)
    """
    return tuple(f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1)


def classes_twice(package: Sequence[Module]) -> tuple[str, ...]:
    places: dict[str, list[str]] = {}
    for module in package:
        for name in module.classes:
            places.setdefault(name.lstrip("_"), []).append(module.name)
    return twice(places)


def modules_twice(package: Sequence[Module]) -> tuple[str, ...]:
    places: dict[str, list[str]] = {}
    for module in package:
        if module.path.stem not in SHARED and not module.name.startswith("cli/"):
            places.setdefault(module.path.stem, []).append(module.name)
    return twice(places)


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def writes_llvm(function: Function) -> bool:
    """Whether there are LLVM instructions in its strings."""
    strings = (node.value for node in ast.walk(function) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and LLVM.search(text) for text in strings)


def long_functions(package: Sequence[Module], *, llvm: bool) -> tuple[str, ...]:
    found = [(length(f), module.name, f.name) for module in package for f in module.functions if _long(f, llvm)]
    return tuple(f"{lines} lines: {name}, {function}" for lines, name, function in sorted(found, reverse=True))


def _long(function: Function, llvm: bool) -> bool:
    return length(function) > LONG and writes_llvm(function) == llvm


def words_any(package: Sequence[Module]) -> tuple[str, ...]:
    counts = Counter({module.name: len(re.findall(r"\bAny\b", module.text)) for module in package})
    return tuple(f"{count} in {name}" for name, count in counts.most_common() if count)


# ---------------------------------------------------------------------------------------------------------
# Privates


def private_accesses(source: Path) -> list[tuple[str, int, str]]:
    """What ruff says of accesses to privates: file, line, name."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa", "--select", "SLF"]
    command += ["--output-format", "json", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"ruff failed:\n{done.stderr}")
    return [(each["filename"], each["location"]["row"], _quoted(each["message"])) for each in json.loads(done.stdout)]


def _quoted(message: str) -> str:
    found = re.search(r"`(\w+)`", message)
    return found.group(1) if found else message


def privates(package: Sequence[Module], source: Path) -> list[Measure]:
    by_path = {str(module.path): module for module in package}
    inside: list[str] = []
    across: list[str] = []
    for path, line, name in private_accesses(source):
        module = by_path[path]
        (inside if name in module.defined else across).append(f"{module.name}:{line}: {name}")
    return [
        Measure("reaches into another module's privates", len(across), "0", tuple(across)),
        Measure("all that ruff's SLF finds", len(across) + len(inside), "0", tuple(inside)),
    ]


# ---------------------------------------------------------------------------------------------------------
# The table


def measures(source: Path) -> Iterator[Measure]:
    package = modules(source)
    yield from entered(source)
    yield Measure("lines of src", sum(module.lines for module in package), "36000")
    for what, found in (("class", classes_twice(package)), ("module", modules_twice(package))):
        yield Measure(f"{what} names that occur twice", len(found), "0", found)
    yield from privates(package, source)
    uses = words_any(package)
    yield Measure("uses of Any", sum(int(each.split()[0]) for each in uses), "500", uses)
    for words, llvm, aim in (("", False, "0"), (" that write LLVM text", True, "-")):
        found = long_functions(package, llvm=llvm)
        yield Measure(f"functions of more than {LONG} lines{words}", len(found), aim, found)
    yield Measure("median length of a function", _median_length(package), "7")


def _median_length(package: Sequence[Module]) -> float:
    return statistics.median(length(function) for module in package for function in module.functions)


def print_table(rows: Sequence[Measure], *, names: bool) -> None:
    print("| measure | now | aim |\n|---|---|---|")
    for row in rows:
        print(f"| {row.name} | {row.now:g} | {row.aim} |")
    for row in rows if names else [row for row in rows if row.name.startswith("functions of more")]:
        if row.found:
            print(f"\n{row.name}:")
            print("\n".join(f"- {each}" for each in row.found))


def main() -> None:
    parser = argparse.ArgumentParser(description="How hard the package is to read, in figures.")
    parser.add_argument("--source", type=Path, default=SOURCE, help="a folder that holds the package")
    parser.add_argument("--names", action="store_true", help="list what was counted")
    parser.add_argument("--probe", choices=list(CALLS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        probe(arguments.probe)
    else:
        print_table(list(measures(arguments.source.resolve())), names=arguments.names)


if __name__ == "__main__":
    main()
