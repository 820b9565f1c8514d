"""Pages name only things that exist: calls and their arguments, modules, files, commands, options, targets."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whippletree as wt
from test_links import PAGES, ROOT
from whippletree.cli import command
from whippletree.results.example_runs import swing
from whippletree.system.example_systems import pendulum

pytestmark = pytest.mark.rest

SYSTEM = pendulum()
OWNERS = {"wt": wt, "m": wt.Mechanism("m"), "s": SYSTEM, "run": swing(), "study": wt.Study}
OWNERS["lin"] = SYSTEM.linearize(SYSTEM.q0)
"""The things that pages call by these letters."""

OTHERS = {"derivatives.md": {"m"}}
"""Letters that stand for something else on a page."""

SUFFIXES = {"py", "md", "yaml", "nc", "csv", "png", "html", "gif", "glb", "ckpt", "json", "zarr"}
FOLDERS = [ROOT, ROOT / "benchmarks", ROOT / "docs", ROOT / "src" / "whippletree"]
FOLDERS += [ROOT / "src" / "whippletree" / room for room in ("formulations", "elements", "model", "simulate")]

NAME = re.compile(rf"(?<![\w.'\"/*])({'|'.join(OWNERS)})\.([A-Za-z]\w*)")
PATH = re.compile(r"(?<![\w./~$-])((?:\w+/)+\w+\.(?:py|md|yaml))\b")


def code_of(page: Path) -> list[str]:
    """The pieces of code of a page, in blocks and within lines."""
    found = re.findall(r"```[a-z]*\n(.*?)```|`([^`\n]+)`", page.read_text(encoding="utf-8"), re.DOTALL)
    return [block or inline for block, inline in found]


def arguments(code: str, start: int) -> set[str]:
    """The keywords of the call whose name ends at a place of the code: `at=` and `at=(1, 0, 0)`."""
    if code[start : start + 1] != "(":
        return set()
    depth, keywords = 0, set()
    for place in range(start, len(code)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[place], 0)
        if depth == 0:
            break
        word = re.compile(r"(?<=[(,\s])([a-z_]\w*)=(?!=)").match(code, place) if depth == 1 else None
        keywords |= {word.group(1)} if word else set()
    return keywords


def unknown(call: Any, keywords: set[str]) -> set[str]:
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(call).parameters
        if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            return keywords - {*parameters}
    return set()


def faults(page: Path) -> Iterator[str]:
    elsewhere = OTHERS.get(page.name, set())
    for code in code_of(page):
        plain = re.sub(r"#.*", "", code)
        for found in NAME.finditer(plain):
            owner, name = found.groups()
            if owner in elsewhere or name in SUFFIXES:
                continue
            if not hasattr(OWNERS[owner], name):
                yield found.group()
            else:
                lost = unknown(getattr(OWNERS[owner], name), arguments(plain, found.end()))
                yield from (f"{found.group()}({word}=)" for word in lost)
        for path in PATH.findall(code):
            if not any((folder / path).exists() for folder in (*FOLDERS, page.parent)):
                yield path
        targets = re.findall(r"^make ([a-z-]+)", code, re.MULTILINE)
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        yield from (f"make {one}" for one in targets if not re.search(rf"^{one}:", makefile, re.MULTILINE))
        yield from lost_modules(code)
        for line in code.splitlines():
            yield from lost_options(line.partition("#")[0].split())


def lost_modules(code: str) -> Iterator[str]:
    for name in re.findall(r"(?:from|import) (whippletree(?:\.\w+)*)", code):
        try:
            importlib.import_module(name)
        except ImportError:
            yield name
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("whippletree"):
                module = importlib.import_module(node.module or "")
                yield from (f"{node.module}.{one.name}" for one in node.names if not hasattr(module, one.name))


def lost_options(words: list[str]) -> Iterator[str]:
    """Options and commands of `whippletree ...` that do not exist."""
    if words[:1] != ["whippletree"] or len(words) < 2:
        return
    parser = command._parser()
    for given in words[1:]:
        word = given.rstrip(":,;")
        commands = next((one for one in parser._actions if isinstance(one, argparse._SubParsersAction)), None)
        if commands is not None and not word.startswith("-"):
            if word not in commands.choices:
                yield f"whippletree {word}"
                return
            parser = commands.choices[word]
        elif re.fullmatch(r"--?[a-z][a-z-]*", word) and word not in parser._option_string_actions:
            yield f"{parser.prog} {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_what_exists(page: Path) -> None:
    assert sorted(set(faults(page))) == []


def test_faults_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`wt.nothing`, `m.revolute(name, parent, child, axes=)`, `s.simulate(1.0, every=0.1, sample=0.1)`,\n"
        "```\nwhippletree run car.yaml --plot a.png --nothing\nwhippletree fly\nmake nothing\n```\n"
        "`simulate/nothing.py`",
        encoding="utf-8",
    )
    assert sorted(faults(page)) == [
        "m.revolute(axes=)", "make nothing", "s.simulate(sample=)", "simulate/nothing.py", "whippletree fly",
        "whippletree run --nothing", "wt.nothing",
    ]  # fmt: skip
