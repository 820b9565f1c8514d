"""Tables that set a paper's figures beside ours."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Table"]

WIDTH = 118


@dataclass(frozen=True)
class Table:
    """A table: its title, the heads of its columns, rows of words, and what there is to say about it.

    >>> print(Table("Sums", ("what", "paper", "ours"), [("one and one", "2", "2")], "They agree."))
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

    def column(self, head: str) -> list[str]:
        """Return a column by its head."""
        k = self.heads.index(head)
        return [row[k] for row in self.rows]
