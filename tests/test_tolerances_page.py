"""The page of tolerances has every number of the files that hold them; accuracy.md names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import tolerances_page

ROOT = Path(__file__).parents[1]
THEORY = ROOT / "docs" / "theory"


def test_the_page_is_that_of_the_source() -> None:
    """After a tolerance has come, gone or changed: `make api`."""
    written = (THEORY / "tolerances.md").read_text(encoding="utf-8")
    assert written == tolerances_page.page(), "docs/theory/tolerances.md is stale: make api"


def test_every_number_of_the_files_is_on_the_page() -> None:
    written = (THEORY / "tolerances.md").read_text(encoding="utf-8")
    for file in tolerances_page.FILES.values():
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
        names = {target.id for target in targets if isinstance(target, ast.Name) and not target.id.startswith("_")}
        assert len(names) > 50
        assert {name for name in names if f"| `{name}` |" not in written} == {"__all__"} & names


def test_the_tests_that_accuracy_names_are_there() -> None:
    page = (THEORY / "accuracy.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", page))
    assert len(named) >= 20
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_the_tolerances_that_accuracy_names_have_the_values_that_it_says() -> None:
    page = (THEORY / "accuracy.md").read_text(encoding="utf-8")
    values = {
        name: value for file in tolerances_page.FILES.values() for _, name, value, _ in tolerances_page.constants(file)
    }
    said = re.findall(r"`([A-Z][A-Z_]+)` = ([\d.e+-]*\d)", page)
    assert len(said) >= 10
    assert [(name, value) for name, value in said if float(values[name]) != float(value)] == []
