"""How hard the package is to read, in figures: ``python benchmarks/house.py [--names]``.

A table of measure, now and aim; with `--names` also what was found: files, names, functions. `--json FILE` keeps the
figures, `--compare FILE` prints them beside those of such a file. `--source FOLDER` measures another package, such as
that of the commit before a rework: ``git worktree add before COMMIT``, then ``--source before/src``.

How each is counted:

- Files and functions entered: those of the package that are called during `build`, the first `forward_dynamics` or
  the first `simulate` of a four-bar in a new process (`sys.setprofile`). The bodies of modules and classes are no
  functions; functions that run while a module is imported by the call are. `forward_dynamics` names its formulation
  and runs without the cache on disk; `simulate` has all defaults and an empty cache. A change of room is a call of a
  function in another room than the last caller of the package's own.
- Code lines: without empty lines, comments, docstrings, imports, `__all__`, and files whose first line has the word
  "generated".
- Public names of a class: those of `tools/public_names.py`, which says what is public.
- Signatures: public functions and methods of the package, by the names and annotations of their parameters, `self`
  aside; those of contracts (methods that a base class of the package declares too) and of generated files do not count.
- Names twice: names of classes, a leading underscore aside, and of modules, `base`, `__init__` and the commands of
  the command line aside. (With `base` and the commands there were 17 modules at the start, and 13 without.)
- Privates: what ruff finds by SLF, exceptions by `noqa` included; those are into another module whose file does not
  define the name itself.
- `Any`: the word, wherever it stands.
- Parameters typed `object`: those of all functions, nested ones included, whose annotation is that word alone. A
  method that Python calls with anything (`__eq__`, `__exit__`) counts too. Public ones are parameters of functions and
  methods without leading underscore.
- Docstrings that lean on "what": those of modules, classes, functions and constants whose first line has the word. A
  clause such as "what is left" stands where a noun should, and the reader has to guess it. (A count without modules and
  constants found 888 of 5744 at the start, this one 1170 of 7180.)
- Functions: from `def` to the last line, without decorators. Those with LLVM instructions in their strings are apart.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = "whippletree"
LONG = 80
"""Lines of the longest function that is not too long."""

SHARED = frozenset({"base", "__init__"})
"""Names of modules that every room may have."""

MANY = 5
"""Parameters that two public functions should not share."""

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
# What runs in a process of its own


def probed(what: str, source: Path, cache: str = "off") -> Any:
    """Return what `house_probe.py` prints in a new process with this cache."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WHIPPLETREE_")}
    environment |= {"WHIPPLETREE_CACHE": cache, "PYTHONPATH": str(source)}
    command = [sys.executable, str(Path(__file__).with_name("house_probe.py")), what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the process that looks at {what} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def entered(source: Path) -> Iterator[Measure]:
    """Yield the files and functions that calls on a four-bar enter, and how often they go from room to room."""
    with tempfile.TemporaryDirectory() as folder:
        for what, cache, words, files, functions in (
            ("build", "off", "build", "-", "-"),
            ("forward_dynamics", "off", "the first forward_dynamics, formulation named", "45", "430"),
            ("simulate", folder, "the first simulate", "95", "950"),
        ):
            found = probed(what, source, cache)
            yield Measure(f"files entered by {words}", len(found["files"]), files, tuple(found["files"]))
            yield Measure(f"functions entered by {words}", found["functions"], functions)
            yield Measure(f"changes of room by {words}", found["switches"], "-")


PUBLIC_AIMS = {"System": "60", "Certificate": "25"}


def public_names(source: Path) -> Iterator[Measure]:
    """Yield the number of public names of each public class, those of instances included."""
    classes = probed("classes", source)
    for name, names in sorted(classes.items(), key=lambda each: (-len(each[1]), each[0])):
        yield Measure(f"public names of {name}", len(names), PUBLIC_AIMS.get(name, "-"), tuple(names))


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
    def generated(self) -> bool:
        return "generated" in self.text.split("\n", 1)[0]

    @cached_property
    def code_lines(self) -> int:
        """Lines with code: neither empty nor comment, docstring, import or `__all__`."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        lines = {n for each in tokens if each.type not in NO_CODE for n in range(each.start[0], each.end[0] + 1)}
        for node in self.nodes:
            if _says_nothing(node):
                lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if (
                isinstance(node, ast.Module | ast.ClassDef | Function)
                and ast.get_docstring(node, clean=False) is not None
            ):
                lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        return len(lines)

    @cached_property
    def first_lines(self) -> list[tuple[int, str]]:
        """The line and the first line of text of each string that stands by itself: a docstring."""
        strings = ((node.lineno, node.value.value) for node in self.nodes if _is_text(node))
        return [(line, text.strip().split("\n", 1)[0]) for line, text in strings]

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


NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _says_nothing(node: ast.AST) -> TypeGuard[ast.stmt]:
    """Tell whether a statement is an import, `__all__`, or text about the constant above it."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if _is_text(node):
        return True
    return isinstance(node, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


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


# ---------------------------------------------------------------------------------------------------------
# Signatures


@dataclass(frozen=True)
class Signature:
    """A public function or method, its parameters with their annotations, and the classes that it comes from."""

    place: str
    method: str
    bases: tuple[str, ...]
    parameters: tuple[str, ...]


def signatures(package: Sequence[Module]) -> list[Signature]:
    """The public functions and methods with many parameters, but for what a base class of the package declares."""
    found: list[Signature] = []
    declared: dict[str, set[str]] = {}
    for module in package:
        for scope in (node for node in module.nodes if isinstance(node, ast.Module | ast.ClassDef)):
            owner, bases = ("", ()) if isinstance(scope, ast.Module) else (scope.name, _bases(scope))
            for one in (each for each in scope.body if isinstance(each, Function)):
                declared.setdefault(one.name, set()).add(owner)
                if not one.name.startswith("_") and not owner.startswith("_") and not module.generated:
                    name = f"{owner}.{one.name}".lstrip(".")
                    found.append(Signature(f"{module.name}: {name}", one.name, bases, _parameters(one)))
    return [each for each in found if len(each.parameters) >= MANY and not declared[each.method] & set(each.bases)]


def _bases(cls: ast.ClassDef) -> tuple[str, ...]:
    nodes = [base.value if isinstance(base, ast.Subscript) else base for base in cls.bases]
    return tuple(node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in nodes)


def _parameters(function: Function) -> tuple[str, ...]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return tuple(ast.unparse(each) for each in every if each.arg not in ("self", "cls"))


def signatures_again(package: Sequence[Module]) -> tuple[str, ...]:
    """The signatures that occur more than once, parameter by parameter, and where."""
    places: dict[str, list[str]] = {}
    for each in signatures(package):
        places.setdefault(f"({', '.join(each.parameters)})", []).append(each.place)
    return twice(places)


def signatures_shared(package: Sequence[Module]) -> tuple[str, ...]:
    """The pairs of public functions with many equal parameters."""
    every = [(each.place, frozenset(each.parameters)) for each in signatures(package)]
    pairs = ((a, b) for number, a in enumerate(every) for b in every[:number])
    return tuple(f"{len(a[1] & b[1])} parameters: {b[0]}; {a[0]}" for a, b in pairs if len(a[1] & b[1]) >= MANY)


def long_functions(package: Sequence[Module], *, llvm: bool) -> tuple[str, ...]:
    found = [(length(f), module.name, f.name) for module in package for f in module.functions if _long(f, llvm)]
    return tuple(f"{lines} lines: {name}, {function}" for lines, name, function in sorted(found, reverse=True))


def _long(function: Function, llvm: bool) -> bool:
    return length(function) > LONG and writes_llvm(function) == llvm


def words_any(package: Sequence[Module]) -> tuple[str, ...]:
    counts = Counter({module.name: len(re.findall(r"\bAny\b", module.text)) for module in package})
    return tuple(f"{count} in {name}" for name, count in counts.most_common() if count)


def untyped(package: Sequence[Module], *, public: bool) -> tuple[str, ...]:
    """The parameters whose annotation says no more than `object`, of all functions or of public ones."""
    return tuple(
        f"{module.name}: {function.name}({each.arg})"
        for module in package
        for function in module.functions
        for each in _every_parameter(function)
        if each.annotation is not None and ast.unparse(each.annotation) == "object"
        if not (public and function.name.startswith("_"))
    )


def _every_parameter(function: Function) -> list[ast.arg]:
    given = function.args
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


# ---------------------------------------------------------------------------------------------------------
# Words


WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)


def first_lines(package: Sequence[Module]) -> list[str]:
    """The first line of each docstring, with its place; texts below constants count too."""
    return [f"{module.name}:{line}: {text}" for module in package for line, text in module.first_lines]


def leaning_on_what(lines: Sequence[str]) -> tuple[str, ...]:
    """The first lines with the word "what", but for their places.

    >>> leaning_on_what(["what.py:1: A wheel.", "wheel.py:9: Return what is left."])
    ('wheel.py:9: Return what is left.',)
    """
    return tuple(each for each in lines if WHAT.search(each.split(": ", 1)[1]))


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
    written = [module for module in package if not module.generated]
    yield Measure("files", len(package), "430")
    yield Measure("lines of src", sum(module.lines for module in package), "-")
    yield Measure("code lines", sum(module.code_lines for module in written), "48500")
    longest = max(written, key=lambda module: module.lines)
    yield Measure("lines of the longest file", longest.lines, "800", (longest.name,))
    yield from entered(source)
    for words, pairs in (
        ("signatures that occur more than once", signatures_again(package)),
        (f"pairs of public functions with {MANY} or more equal parameters", signatures_shared(package)),
    ):
        yield Measure(words, len(pairs), "0", pairs)
    for what, found in (("class", classes_twice(package)), ("module", modules_twice(package))):
        yield Measure(f"{what} names that occur twice", len(found), "0", found)
    yield from privates(package, source)
    uses = words_any(package)
    yield Measure("uses of Any", sum(int(each.split()[0]) for each in uses), "500", uses)
    for words, public, aim in (("", False, "100"), (" of public functions", True, "-")):
        found = untyped(package, public=public)
        yield Measure(f"parameters typed object{words}", len(found), aim, found)
    for words, llvm, aim in (("", False, "0"), (" that write LLVM text", True, "-")):
        found = long_functions(package, llvm=llvm)
        yield Measure(f"functions of more than {LONG} lines{words}", len(found), aim, found)
    yield Measure("median length of a function", _median_length(package), "7")
    lines = first_lines(package)
    leaning = leaning_on_what(lines)
    yield Measure("docstrings", len(lines), "-")
    yield Measure(
        'per cent of docstrings whose first line leans on "what"', 100 * len(leaning) / len(lines), "3", leaning
    )
    yield from public_names(source)


def _median_length(package: Sequence[Module]) -> float:
    return statistics.median(length(function) for module in package for function in module.functions)


def print_table(rows: Sequence[Measure], before: Mapping[str, float], *, names: bool) -> None:
    """Print the table, with a column of earlier figures if there are any."""
    print(f"| measure |{' before |' if before else ''} now | aim |\n|---|---|---|{'---|' if before else ''}")
    for row in rows:
        earlier = f" {before[row.name]:g} |" if row.name in before else " |" if before else ""
        print(f"| {row.name} |{earlier} {row.now:g} | {row.aim} |")
    for row in rows if names else [row for row in rows if row.name.startswith("functions of more")]:
        if row.found:
            print(f"\n{row.name}:")
            print("\n".join(f"- {each}" for each in row.found))


def main() -> None:
    """Measure, print, and keep what is asked for."""
    parser = argparse.ArgumentParser(description="How hard the package is to read, in figures.")
    parser.add_argument("--source", type=Path, default=SOURCE, help="a folder that holds the package")
    parser.add_argument("--names", action="store_true", help="list what was counted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures in a file")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="print the figures of such a file beside")
    arguments = parser.parse_args()
    rows = list(measures(arguments.source.resolve()))
    before = json.loads(arguments.compare.read_text(encoding="utf-8")) if arguments.compare else {}
    print_table(rows, before, names=arguments.names)
    if arguments.json:
        arguments.json.write_text(json.dumps({row.name: row.now for row in rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
