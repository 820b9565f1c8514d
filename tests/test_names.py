"""Names in the package: each class and each module is found by its name alone, and each room in the table of rooms."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import whippletree

SOURCE = Path(whippletree.__file__).parent
SHARED = {"__init__", "__main__", "base"}
ROOT = Path(__file__).parents[1]


def class_names() -> Iterator[str]:
    """The names of all classes, a leading underscore aside."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name.lstrip("_")


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
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    of_package, of_formulations = (
        re.findall(r"^\| `(\w+)/` \|", table, re.M) for table in page.split("The rooms of `")
    )
    assert of_package == [name for name in layers(0) if name != "errors"]
    assert of_formulations == layers(1)
    assert set(of_package) == rooms_in(SOURCE)
    assert set(of_formulations) == rooms_in(SOURCE / "formulations")


def test_no_modules_stand_loose_beside_the_rooms() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py", "_version.py", "errors.py"}
