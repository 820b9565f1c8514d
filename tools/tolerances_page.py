"""The page of all tolerances, made of the two files that hold them: ``make api``.

    python tools/tolerances_page.py docs/theory/tolerances.md

Each constant is there with its value and the text below it, under the heading that it has in its file.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    "Systems and loops": "src/whippletree/system/tolerances.py",
    "Runs": "src/whippletree/simulate/run_tolerances.py",
}
"""The files, each under the heading of its part of the page."""

HEAD = """# All tolerances

Every number by which the engine decides, with its value and its reason. The page is made from the source by
`make api`; [accuracy](accuracy.md) says what they mean for results. *Scaled* lengths are in radians or characteristic
lengths of a group of loops; a *share* is relative to the largest of its kind.
"""

_HEADING = re.compile(r"^# -+ (.*)$")


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(line for title, file in FILES.items() for line in _part(title, file))]) + "\n"


def constants(file: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the heading, the name, the value and the text of each constant of a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    headings = {i: found[1] for i, line in enumerate(text.splitlines(), 1) if (found := _HEADING.match(line))}
    waiting: list[tuple[int, str, str]] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            waiting.append((node.lineno, node.targets[0].id, ast.unparse(node.value)))
        elif waiting and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for line, name, value in waiting:
                heading = next((headings[at] for at in sorted(headings, reverse=True) if at < line), "")
                yield heading, name, value, " ".join(str(node.value.value).split())
            waiting = []
    assert not waiting, f"{file}: {waiting[0][1]} has no text below it"


def _part(title: str, file: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"`{file}`"
    last = ""
    for heading, name, value, text in constants(file):
        if heading != last:
            yield f"\n### {heading[:1].upper()}{heading[1:]}\n\n| name | value | |\n|---|---|---|"
            last = heading
        yield f"| `{name}` | {value} | {text.replace('|', chr(92) + '|')} |"
    yield ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
