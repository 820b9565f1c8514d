"""Docstrings as reStructuredText: paragraphs, lists, examples and blocks of code, with links for names in backticks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

Link = Callable[[str], str | None]
"""Returns the full name of a public thing that is called so in a docstring, None if there is none."""

_CODE = re.compile(r"`+([^`]+)`+")
_MARKUP = re.compile(r"([\\*|_])")


def restructured(text: str, link: Link) -> str:
    """Return a docstring, without its common indentation, as reStructuredText.

    >>> restructured("Return `x`.\\n\\n>>> 1 + 1\\n2", lambda name: None)
    'Return ``x``.\\n\\n.. code-block:: pycon\\n\\n   >>> 1 + 1\\n   2'
    """
    return "\n\n".join(_block(block, link) for block in blocks(text))


def blocks(text: str) -> list[str]:
    """Return the blocks of a docstring: each example, each indented block and each paragraph or list."""
    found: list[str] = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        lines = part.split("\n")
        cut = next((i for i, line in enumerate(lines) if i and line.startswith(">>>")), None)
        pieces = [part] if cut is None or part.startswith(">>>") else ["\n".join(lines[:cut]), "\n".join(lines[cut:])]
        for piece in pieces:
            if piece.startswith((" ", ">>>")) and found and found[-1][:1] == piece[:1]:
                found[-1] += f"\n\n{piece}"
            else:
                found.append(piece)
    return [block for block in found if block.strip()]


def _block(block: str, link: Link) -> str:
    if block.startswith(">>>"):
        return _code("pycon", block)
    if block.startswith(" "):
        return _code("text", textwrap.dedent(block))
    lines = block.split("\n")
    begins = next((i for i, line in enumerate(lines) if line.startswith("- ")), None)
    if begins is not None:
        items = re.split(r"^- ", "\n".join(lines[begins:]), flags=re.MULTILINE)[1:]
        listed = "\n".join(f"- {inline(_joined(item), link)}" for item in items)
        return f"{inline(_joined(chr(10).join(lines[:begins])), link)}\n\n{listed}" if begins else listed
    if any(line.startswith("  ") for line in lines):  # a table or a formula among lines of text
        return _code("text", block)
    return inline(_joined(block), link)


def _joined(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()).removesuffix("::")


def _code(language: str, text: str) -> str:
    return f".. code-block:: {language}\n\n{textwrap.indent(text, '   ')}"


def inline(text: str, link: Link) -> str:
    """Return a line of text with its markup: backticks become links or code, the rest stands as it is.

    >>> inline("`q` of *all* joints", lambda name: "whippletree.q")
    ':py:obj:`q <whippletree.q>` of \\\\*all\\\\* joints'
    """
    pieces, at = [], 0
    for found in _CODE.finditer(text):
        pieces.append(_plain(text[at : found.start()], before=True))
        full, shown = link(found[1]), _MARKUP.sub(r"\\\1", found[1])
        pieces.append(f":py:obj:`{shown} <{full}>`" if full else f"``{found[1].strip()}``")
        at = found.end()
        if at < len(text) and (text[at].isalnum() or text[at] in "`'"):
            pieces.append("\\ ")
    return "".join(pieces) + _plain(text[at:], before=False)


def _plain(text: str, *, before: bool) -> str:
    escaped = _MARKUP.sub(r"\\\1", text)
    if escaped.lstrip().startswith((".. ", ":")):
        escaped = f"\\ {escaped}"
    return f"{escaped}\\ " if before and escaped and (escaped[-1].isalnum() or escaped[-1] in "=*") else escaped
