"""Names in the package: each class and each module is found by its name alone."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import whippletree

SOURCE = Path(whippletree.__file__).parent
SHARED = {"__init__", "__main__", "base"}


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
