"""The command `whippletree`: its words, and the function that each of them runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence

from whippletree._version import __version__
from whippletree.cli import check, convert, equilibrium, modes, papers, plot, run, study, sweep, view
from whippletree.cli.cache import clear, prune
from whippletree.cli.demo import demo
from whippletree.cli.info import info
from whippletree.cli.said import in_one_line
from whippletree.errors import AssemblyWarning, CacheWarning, WhippletreeError
from whippletree.kernels.cache import LIMIT

__all__ = ["main"]

_NOBODY_READS = 141
"""The exit code by which a shell reports a command that a closed pipe has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0; 1 if the model or run fails a check; 2 after an error of ours,
    told in one line; 141 if what is printed is not read any more.

    >>> code = main([])  # doctest: +ELLIPSIS
    usage: whippletree ...
    """
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _be_quiet()
        return _NOBODY_READS
    except OSError as error:
        _be_quiet()
        with contextlib.suppress(OSError):
            print(f"whippletree: the output could not be written: {in_one_line(error)}", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command; errors of ours are told in one line."""
    parser = _parser()
    chosen, rest = parser.parse_known_args(arguments)
    if any(word.startswith("-") for word in rest) or (rest and "names" not in chosen):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        chosen.names += rest  # names that come after an option
    if chosen.run is None:
        parser.print_help()
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("always", CacheWarning)
        warnings.simplefilter("always", AssemblyWarning)
        warnings.showwarning = _tell  # type: ignore[assignment]
        try:
            code: int = chosen.run(chosen)
        except WhippletreeError as error:
            print(f"whippletree: {in_one_line(error)}", file=sys.stderr)
            return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="whippletree", description="Multibody dynamics in Python, run as machine code."
    )
    parser.add_argument("--version", action="version", version=f"whippletree {__version__}")
    parser.set_defaults(run=None)
    words = parser.add_subparsers(title="commands", metavar="command")
    for command in (check, run, equilibrium, modes, plot, view, sweep, study, convert, papers):
        command.add(words)
    what = "versions, processor and the cache of compiled code"
    words.add_parser("info", help=what, description=f"Show {what}.").set_defaults(run=_plain(info))
    what = "a seven-joint arm, from its description to machine code"
    shown = words.add_parser("demo", help=what, description=f"Show {what}.")
    shown.add_argument("subject", nargs="?", choices=["arm"], default="arm", help="what to show (default: arm)")
    shown.set_defaults(run=_plain(demo))
    cache = words.add_parser("cache", help="the cache of compiled code", description="The cache of compiled code.")
    actions = cache.add_subparsers(title="actions", metavar="action", required=True)
    what = "remove all compiled code; it is made again when needed"
    actions.add_parser("clear", help=what, description=f"{what.capitalize()}.").set_defaults(run=_plain(clear))
    what = "remove the compiled code that was used least recently"
    pruning = actions.add_parser("prune", help=what, description=f"{what.capitalize()}.")
    pruning.add_argument(
        "--to", type=_megabytes, default=LIMIT / 1e6, metavar="MB", help="what may stay (default: 2000)"
    )
    pruning.set_defaults(run=_prune)
    return parser


def _megabytes(text: str) -> float:
    """Read a size of the cache."""
    try:
        size = float(text)
    except ValueError:
        size = -1.0
    if not 0 <= size < 1e9:
        raise argparse.ArgumentTypeError("give a number of megabytes, 0 or more")
    return size


def _prune(arguments: argparse.Namespace) -> int:
    prune(arguments.to)
    return 0


def _plain(do: Callable[[], None]) -> Callable[[argparse.Namespace], int]:
    """Return a command that takes no arguments and succeeds unless it raises."""

    def run(_: argparse.Namespace) -> int:
        do()
        return 0

    return run


def _be_quiet() -> None:
    """Send the rest of the output nowhere: the interpreter would complain about the closed pipe when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, sys.stdout.fileno())
        finally:
            os.close(nowhere)


def _tell(message: Warning | str, *_: object) -> None:
    """Show a warning as one line."""
    print(f"whippletree: {message}", file=sys.stderr)
