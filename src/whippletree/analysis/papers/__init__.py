"""The papers' tables and figures with our figures beside them, and why they differ where they do.

Times are CPU times of one core for one evaluation of the accelerations in machine code (`evaluation_times`). Operations
are counted as the papers count, on symbols with nothing folded (`unfolded`, `recounts`), and as traced (`cost`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whippletree.analysis.papers.garcia_de_jalon import jalon_counts, jalon_counts_a, jalon_times
from whippletree.analysis.papers.jain import jain_reactions, jain_tree_forces
from whippletree.analysis.papers.jalon_natural import jalon_realtime, jalon_shares, jalon_sizes
from whippletree.analysis.papers.kang_yoon import kang_yoon_quarter_car, kang_yoon_savings
from whippletree.analysis.papers.nikravesh import (
    break_even_curves,
    nikravesh_absolute,
    nikravesh_break_even,
    nikravesh_deformable,
    nikravesh_speed_up,
    speed_up_curves,
)
from whippletree.analysis.reports import PaperTable

__all__ = ["HEAD", "REPORTS", "break_even_curves", "reports", "speed_up_curves"]

HEAD = """# The papers' tables and figures beside ours

Written by `whippletree papers --page docs/theory/papers_tables.md`. [papers.md](papers.md) says what is compared and
how it is counted. Times are those of the machine on which the page was written."""
"""How the page of all tables begins."""


def reports(times: bool = True) -> Iterator[PaperTable]:
    """Return all tables, one after the other; without `times` nothing is compiled or measured.

    >>> next(reports(times=False)).title
    'Kang and Yoon, results: multiplications that the origin saves per body'
    """
    for report in REPORTS:
        yield from report(times)


def not_yet(times: bool = True) -> Iterator[PaperTable]:
    """The tables and figures that are not compared, and why."""
    yield PaperTable(
        "Not compared",
        ("table or figure", "why"),
        [
            ("examples 8.6 and 8.7", "beside the book's in docs/theory/natural_coordinates.md, and in the tests"),
            ("Critchley and Anderson, figures", "lost in the text; cost along loops is in docs/theory/loops.md"),
        ],
    )


REPORTS: tuple[Callable[[bool], Iterator[PaperTable]], ...] = (
    kang_yoon_savings,
    kang_yoon_quarter_car,
    nikravesh_break_even,
    nikravesh_deformable,
    nikravesh_speed_up,
    nikravesh_absolute,
    jalon_counts,
    jalon_counts_a,
    jalon_times,
    jalon_sizes,
    jalon_shares,
    jalon_realtime,
    jain_tree_forces,
    jain_reactions,
    not_yet,
)
"""All reports, in the order in which they are shown."""
