"""The first, the least and the largest of nothing: where there may be none, the code has an answer, or says why not."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import whippletree

SOURCE = Path(whippletree.__file__).parent


def certainly_something(node: ast.expr) -> bool:
    """Tell whether one sees at once that an iterable is not empty: it is written out, or made of one that is."""
    match node:
        case ast.Tuple(elts=entries) | ast.List(elts=entries) | ast.Set(elts=entries):
            return any(not isinstance(entry, ast.Starred) for entry in entries)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]):
            return count > 0
        case ast.Call(func=ast.Name(id="map"), args=[_, over]):
            return certainly_something(over)
        case ast.GeneratorExp(generators=parts) | ast.ListComp(generators=parts):
            return all(not part.ifs and certainly_something(part.iter) for part in parts)
        case _:
            return False


def asks_for_one(node: ast.AST) -> bool:
    """Tell whether code asks for one of several that may be none, and says nothing for that case."""
    match node:
        case ast.Call(func=ast.Name(id="next"), args=[_]):
            return True
        case ast.Call(func=ast.Name(id="min" | "max"), args=[only], keywords=keywords):
            return "default" not in {one.arg for one in keywords} and not certainly_something(only)
        case _:
            return False


REASON = re.compile(r"# not empty: \S+ \S+")


def lines_with_reasons(text: str) -> set[int]:
    """Return the lines on which a comment says why something is not empty, or right above if it stands alone."""
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and REASON.match(token.string):
            alone = not token.line[: token.start[1]].strip()
            found.add(token.start[0] + alone)
    return found


def unexplained(text: str) -> Iterator[int]:
    """Yield the lines that ask for one of several without an answer for none, and give no reason."""
    explained = lines_with_reasons(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and asks_for_one(node):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if explained.isdisjoint(lines):
                yield node.lineno


@pytest.mark.rest
def test_what_may_be_empty_has_an_answer_or_a_comment_says_why_it_is_not() -> None:
    """Give `default=`, an error in words, or a comment on the line or above it: "# not empty: the ground is one"."""
    files = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    found = [f"{path.relative_to(SOURCE)}:{line}" for path, text in files.items() for line in unexplained(text)]
    assert found == []


def test_what_is_refused() -> None:
    refused = ["next(x)", "next(y for y in x if y)", "min(x)", "max(x, key=len)", "max([*x])", "min(map(f, x))"]
    refused += ["max(y for y in (1, 2) if y)", "min(range(n))", "max(\n    x,\n    key=len,\n)"]
    refused += [
        "min(x)  # two",
        "# the least\nmin(x)",
        "min(x)  # noqa: X1",
        "min(x)  # not empty",
        "min(x)  # not empty: ",
    ]
    allowed = ["next(x, None)", "min(x, default=0)", "max(1, x)", "max([0, *x])", "min(f(y) for y in (1, 2))"]
    allowed += ["min(range(3))", "max(map(abs, (a, b)))", "min(x)  # not empty: there are two", "x.max()", "max(*x, 0)"]
    allowed += ["# not empty: there are two\nmin(x)", "max(\n    x,  # not empty: there are two\n    key=len,\n)"]
    assert [one for one in refused if not list(unexplained(one))] == []
    assert [one for one in allowed if list(unexplained(one))] == []
