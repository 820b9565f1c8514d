"""Names in the package: each class and each module is found by its name alone, and each room in the table of rooms."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import whippletree
from whippletree.formulations.methods import registry

SOURCE = Path(whippletree.__file__).parent
SHARED = {"__init__", "__main__", "base"}
ROOT = Path(__file__).parents[1]
FROM_OUTSIDE = {"pyproject", "toml", "ctypes", "double"}


@functools.cache
def statements(path: Path) -> list[ast.AST]:
    """All that a file is made of and that can define a name."""
    defining = (ast.ClassDef, ast.FunctionDef, ast.arg, ast.Name, ast.Attribute)
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, defining)]


def class_names() -> Iterator[str]:
    """The names of all classes, a leading underscore aside."""
    for path in SOURCE.rglob("*.py"):
        for node in statements(path):
            if isinstance(node, ast.ClassDef):
                yield node.name.lstrip("_")


@pytest.mark.rest
def test_no_class_name_occurs_twice() -> None:
    assert [name for name, count in Counter(class_names()).items() if count > 1] == []


def test_no_module_name_occurs_twice() -> None:
    modules = [p.stem for p in SOURCE.rglob("*.py") if p.parent.name != "cli" and p.stem not in SHARED]
    assert [name for name, count in Counter(modules).items() if count > 1] == []


def layers(contract: int) -> list[str]:
    """The last parts of the layers of an import contract, the first that may be imported by all others first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = reversed(settings["tool"]["importlinter"]["contracts"][contract]["layers"])
    return [name.strip().split(".")[-1] for layer in found for name in layer.split("|")]


def rooms_in(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def test_the_table_of_rooms_is_the_import_contract_and_the_folders() -> None:
    page = (ROOT / "docs" / "developers" / "architecture.md").read_text(encoding="utf-8")
    of_package, of_formulations = (
        re.findall(r"^\| `(\w+)/` \|", table, re.M) for table in page.split("The rooms of `")
    )
    assert of_package == [name for name in layers(0) if name != "errors"]
    assert of_formulations == layers(1)
    assert set(of_package) == rooms_in(SOURCE)
    assert set(of_formulations) == rooms_in(SOURCE / "formulations")


def test_no_modules_stand_loose_beside_the_rooms() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py", "_version.py", "errors.py"}


@functools.cache
def names_defined_in(path: Path) -> set[str]:
    """What a file defines: classes, functions, arguments, attributes and constants."""
    found: set[str] = set()
    for node in statements(path):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case _:
                pass
    return found


@functools.cache
def names_in_the_package() -> set[str]:
    """What is defined anywhere, the names of files and folders, and those of formulations."""
    paths = list(SOURCE.rglob("*"))
    defined = {name for path in paths if path.suffix == ".py" for name in names_defined_in(path)}
    return (
        defined
        | {path.stem for path in paths}
        | {f.name for f in (*registry.tree_formulations(), *registry.loop_formulations())}
        | FROM_OUTSIDE
    )


@functools.cache
def files_named(ending: str) -> list[Path]:
    """The files and folders of the package, or of the repository, whose paths end like that."""
    return [*SOURCE.parent.rglob(ending), *ROOT.glob(ending)]


def strange_names(line: str) -> Iterator[str]:
    """Code in backticks that is not there: paths, names, and names that are not in the file right before them."""
    for before, code in re.findall(r"(?:`([\w/]+\.py)` )?(?<!`)`([^`]+)`", line):
        if re.fullmatch(r"[\w/]+(\.py|/)", code):
            if not files_named(code.rstrip("/")):
                yield code
        elif re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(.*\))?", code):
            names = set(code.partition("(")[0].split("."))
            if not names <= names_in_the_package():
                yield code
            elif before and not any(names & names_defined_in(path) for path in files_named(before)):
                yield f"{before} {code}"


@pytest.mark.parametrize("page", ["vocabulary", "architecture"])
def test_names_in_the_pages_exist(page: str) -> None:
    lines = (ROOT / "docs" / "developers" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    assert [(number, name) for number, line in enumerate(lines, start=1) for name in strange_names(line)] == []


def test_a_name_that_does_not_exist_is_found() -> None:
    line = "`topology/plan.py` `Plan`, `topology/gone.py`, `Tree.climbed_nowhere`, `system/guards.py` `Side`"
    assert list(strange_names(line)) == [
        "topology/gone.py",
        "Tree.climbed_nowhere",
        "system/guards.py Side",
    ]
