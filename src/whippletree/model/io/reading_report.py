"""The report on a file of another program: parts not understood, changed or guessed, or left out when written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["KINDS", "ReadingReport", "Remark"]

KINDS = ("guessed", "changed", "kept aside", "not understood", "left out")
"""The kinds of remarks, the gravest first: data that the file does not have, data that became something else, data
that the mechanism does not use but the model keeps, what was not read, and what a file that is written has no place
for."""


@dataclass(frozen=True)
class Remark:
    """One thing about a file that is not in the mechanism as it stands there.

    >>> print(Remark("guessed", 'link "base" is fixed to the ground', 3))
    guessed: link "base" is fixed to the ground (line 3)
    """

    kind: str
    text: str
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        times = f"{self.count} times" if self.count > 1 else ""
        where = f"{'first in ' if self.count > 1 else ''}line {self.line}" if self.line else ""
        place = ", ".join(part for part in (times, where) if part)
        return f"{self.kind}: {self.text}" + (f" ({place})" if place else "")


class ReadingReport(Sequence[Remark]):
    """The remarks about a file, the gravest first; it is empty if all of the file is in the mechanism.

    >>> report = ReadingReport([Remark("not understood", "<gazebo>", 9), Remark("changed", "a soft weld is exact")])
    >>> print(report)
    changed: a soft weld is exact
    not understood: <gazebo> (line 9)
    """

    def __init__(self, remarks: Sequence[Remark] = ()) -> None:
        self._remarks = tuple(sorted(remarks, key=lambda remark: KINDS.index(remark.kind)))

    def __len__(self) -> int:
        return len(self._remarks)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._remarks[index]

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._remarks)

    def __str__(self) -> str:
        return "\n".join(map(str, self._remarks))

    def __repr__(self) -> str:
        return f"<ReadingReport: {len(self)} remarks>"

    def about(self, kind: str) -> tuple[str, ...]:
        """Return the texts of the remarks of one kind.

        >>> ReadingReport([Remark("guessed", "density 1000")]).about("guessed")
        ('density 1000',)
        """
        return tuple(remark.text for remark in self._remarks if remark.kind == kind)
