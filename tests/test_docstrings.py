"""The small examples in docstrings give what they say."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import whippletree

MODULES = sorted(module.name for module in pkgutil.walk_packages(whippletree.__path__, "whippletree."))


@pytest.mark.parametrize("name", ["whippletree", *MODULES])
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def first_lines() -> Iterator[str]:
    """The first line of each text that stands by itself, as `benchmarks/house.py` counts them."""
    for path in Path(whippletree.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node.value.value.strip().split("\n", 1)[0]


@pytest.mark.rest
def test_first_lines_name_the_thing_and_do_not_lean_on_what() -> None:
    lines = list(first_lines())
    leaning = [line for line in lines if re.search(r"\bwhat\b", line, re.IGNORECASE)]
    assert len(leaning) < 0.03 * len(lines), f"docs/developers/style.md has better words for {leaning[-5:]}"
