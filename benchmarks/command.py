"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping

from bars import Options
from quiet import report
from timing import BURSTS, banner


def main(title: str, sections: Mapping[str, Callable[[Options], None]]) -> None:
    """Print the sections that were asked for, or all."""
    names = ", ".join(sections)
    parser = argparse.ArgumentParser(description=f"{title}: our speed beside Pinocchio's, MuJoCo's and Drake's.")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of {names} (default: all)")
    parser.add_argument("--rounds", type=int, default=BURSTS, help="bursts per contestant, default %(default)s")
    parser.add_argument("--peers", action="store_true", help="time the peers alone")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in sections]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {names}")
    options = Options(arguments.rounds, arguments.peers)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["WHIPPLETREE_CACHE"] = cache  # compile times are those of an empty cache
        print(f"## {title}\n")
        banner()
        for name in arguments.sections or sections:
            sections[name](options)
        print(report())
