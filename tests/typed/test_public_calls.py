"""The calls whose types checkers look at (`public_calls.py`) are calls that work."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from typed import public_calls
from whippletree.system import System


@pytest.fixture(scope="module")
def system() -> System:
    return public_calls.four_bar().build(guess={"A": 1.0, "B": -0.5, "D": 1.5})


def test_forty_calls_are_typed() -> None:
    tree = ast.parse(Path(public_calls.__file__).read_text(encoding="utf-8"))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "assert_type"]
    assert len(calls) >= 40


def test_systems(system: System) -> None:
    public_calls.calls_of_systems(system)


def test_analyses(system: System) -> None:
    public_calls.analyses(system)


def test_runs(system: System, tmp_path: Path) -> None:
    public_calls.runs(system, tmp_path)


def test_files(tmp_path: Path) -> None:
    public_calls.files(public_calls.four_bar(), tmp_path)
