"""`whippletree papers`: the papers' tables and figures with ours beside them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from whippletree.errors import WhippletreeError
from whippletree.model.names import suggestion
from whippletree.results.output_files import new_file, write_whole

if TYPE_CHECKING:
    from whippletree.analysis.reports import PaperTable

__all__ = ["add"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    what = "the papers' tables and figures with ours beside them"
    command = words.add_parser("papers", help=what, description=f"Print {what}, and why they differ where they do.")
    command.add_argument(
        "text", nargs="?", help="a text, such as kang-yoon: its equations, one by one, instead; or errata"
    )
    command.add_argument("--counts", action="store_true", help="only what is counted: nothing is compiled or timed")
    command.add_argument("--plot", metavar="FOLDER", help="write plots of the curves into this folder as well")
    command.add_argument("--page", metavar="FILE", help="write the tables as a page in Markdown as well")
    command.set_defaults(run=_papers)


def _papers(chosen: argparse.Namespace) -> int:
    from whippletree.analysis.papers import HEAD, reports
    from whippletree.analysis.reports import page

    plots = _folder(chosen.plot) if chosen.plot else None
    written = _file(chosen.page) if chosen.page else None
    shown = []
    for table in _equations(chosen.text) if chosen.text else reports(times=not chosen.counts):
        print(f"{table}\n", flush=True)
        shown.append(table)
    if written:
        _write(written, page(shown, HEAD if not chosen.text else _ERRATA if chosen.text == "errata" else _EQUATIONS))
        print(f"wrote {written}")
    if plots:
        from whippletree.analysis.plots import save_plots

        for path in save_plots(plots, times=not chosen.counts):
            print(f"wrote {path}")
    return 0


_ERRATA = """# Errata of the texts

What the texts print otherwise than it has to be, by derivation and on numbers: each corrected form is worked out in the
tests. Some of it may be due to the machine that read the texts. Written by `whippletree papers errata --page FILE`."""

_EQUATIONS = """# Equation by equation

Every numbered equation of a text: what it says, its corrected form, and the function that computes it. Written by
`whippletree papers TEXT --page FILE`; the tests work out both sides of every row."""


def _equations(text: str) -> Iterator[PaperTable]:
    from whippletree.analysis.equations import TEXTS

    if text == "errata":
        yield from (one.errata() for one in TEXTS.values())
        return
    if text not in TEXTS:
        raise WhippletreeError(f"there is no text {suggestion(text, (*TEXTS, 'errata'))}")
    yield TEXTS[text].table()


def _folder(named: str) -> Path:
    """Return a folder, made if it is not there: found out now, not after minutes of work."""
    folder = Path(named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WhippletreeError(f"{named} cannot be a folder for plots: {error.strerror}") from None
    return folder


def _write(file: Path, text: str) -> None:
    def write(out: BinaryIO) -> None:
        out.write(text.encode())

    write_whole(file, write)


def _file(named: str) -> Path:
    """Return a file that can be written."""
    file = new_file(named)
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise WhippletreeError(f"{named} cannot be written: name a file in a folder that is there and is yours")
    return file
