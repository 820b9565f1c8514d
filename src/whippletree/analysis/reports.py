"""Tables that set a paper's figures beside ours, on a screen or on a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["PaperTable", "page"]

WIDTH = 118
"""Characters of a line of a printed table."""


@dataclass(frozen=True)
class PaperTable:
    """A table: its title, the heads of its columns, rows of words, and a remark.

    >>> print(PaperTable("Sums", ("what", "paper", "ours"), [("one and one", "2", "2")], "They agree."))
    Sums
    what         paper  ours
    one and one  2      2
    They agree.
    """

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    remark: str = ""

    def __str__(self) -> str:
        """Return the table as text; the last column is wrapped."""
        widths = [max(len(row[k]) for row in [self.heads, *self.rows]) for k in range(len(self.heads))]
        left = sum(widths[:-1]) + 2 * (len(widths) - 1)
        room = max(WIDTH - left, 30)
        lines = [self.title]
        for row in [self.heads, *self.rows]:
            start = "".join(f"{cell:<{width + 2}}" for cell, width in zip(row[:-1], widths, strict=False))
            parts = textwrap.wrap(row[-1], room) or [""]
            lines.append((start + parts[0]).rstrip())
            lines += [" " * left + part for part in parts[1:]]
        if self.remark:
            lines += textwrap.wrap(self.remark, WIDTH)
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the table as a section of a page.

        >>> print(PaperTable("Sums", ("what", "ours"), [("|1| + 1", "2")]).markdown())
        ## Sums
        <BLANKLINE>
        | what | ours |
        |---|---|
        | \\|1\\| + 1 | 2 |
        """
        lines = [f"## {self.title}", "", _row(self.heads), "|" + "---|" * len(self.heads), *map(_row, self.rows)]
        return "\n".join([*lines, "", *textwrap.wrap(self.remark, WIDTH)] if self.remark else lines)

    def column(self, head: str) -> list[str]:
        """Return a column by its head."""
        k = self.heads.index(head)
        return [row[k] for row in self.rows]


def page(tables: Iterable[PaperTable], head: str) -> str:
    """Return tables as a page in Markdown; `head` comes first.

    >>> page([PaperTable("Sums", ("what",), [("1 + 1",)])], "# All").splitlines()[2]
    '## Sums'
    """
    return "\n\n".join([head, *(table.markdown() for table in tables)]) + "\n"


def _row(cells: Iterable[str]) -> str:
    """Return a line of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
