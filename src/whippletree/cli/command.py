"""The command `whippletree`: its words, and what each of them runs."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

from whippletree._version import __version__
from whippletree.cli.cache import clear
from whippletree.cli.demo import demo
from whippletree.cli.info import info
from whippletree.errors import CacheWarning, WhippletreeError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 after an error of the package, told in one line.

    >>> code = main([])  # doctest: +ELLIPSIS
    usage: whippletree ...
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.run is None:
        parser.print_help()
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("always", CacheWarning)
        warnings.showwarning = _tell  # type: ignore[assignment]
        try:
            chosen.run()
        except WhippletreeError as error:
            print(f"whippletree: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="whippletree", description="Multibody dynamics in Python, run as machine code."
    )
    parser.add_argument("--version", action="version", version=f"whippletree {__version__}")
    parser.set_defaults(run=None)
    words = parser.add_subparsers(title="commands", metavar="command")
    for word, run, what in (
        ("info", info, "versions, processor and the cache of compiled code"),
        ("demo", demo, "a seven-joint arm, from its description to machine code"),
    ):
        words.add_parser(word, help=what, description=f"Show {what}.").set_defaults(run=run)
    cache = words.add_parser("cache", help="the cache of compiled code", description="The cache of compiled code.")
    actions = cache.add_subparsers(title="actions", metavar="action", required=True)
    what = "remove all compiled code; it is made again when needed"
    actions.add_parser("clear", help=what, description=f"{what.capitalize()}.").set_defaults(run=clear)
    return parser


def _tell(message: Warning | str, *_: object) -> None:
    """Show a warning as one line."""
    print(f"whippletree: {message}", file=sys.stderr)
