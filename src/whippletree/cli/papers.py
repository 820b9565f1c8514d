"""`whippletree papers`: the papers' tables and figures with ours beside them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add"]


def add(words: Any) -> None:
    """Add the command."""
    what = "the papers' tables and figures with ours beside them"
    command = words.add_parser("papers", help=what, description=f"Print {what}, and why they differ where they do.")
    command.add_argument("--counts", action="store_true", help="only what is counted: nothing is compiled or timed")
    command.add_argument("--plot", metavar="FOLDER", help="write plots of the curves into this folder as well")
    command.set_defaults(run=_papers)


def _papers(chosen: argparse.Namespace) -> int:
    from whippletree.analysis.papers import reports

    for table in reports(times=not chosen.counts):
        print(f"{table}\n", flush=True)
    if chosen.plot:
        from whippletree.analysis.plots import save_plots

        for path in save_plots(Path(chosen.plot), times=not chosen.counts):
            print(f"wrote {path}")
    return 0
