"""Our speed on trees beside the peers', in markdown: ``python benchmarks/trees.py [section ...]``.

Sections: native (loop against loop), batch (10 000 states), call (one state from Python), start (import to
first result), chain (100 and 1000 joints). Without a name, all of them. README.md says what each one shows.
"""

from __future__ import annotations

import argparse
import os
import tempfile

from bars import Options
from timing import BURSTS, banner
from tree_chain import long_chains
from tree_native import native
from tree_python import batch, call
from tree_start import start

SECTIONS = {"native": native, "batch": batch, "call": call, "start": start, "chain": long_chains}


def main() -> None:
    names = ", ".join(SECTIONS)
    parser = argparse.ArgumentParser(description="Speed on trees beside Pinocchio, MuJoCo and Drake.")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of {names} (default: all)")
    parser.add_argument("--rounds", type=int, default=BURSTS, help="bursts per contestant, default %(default)s")
    parser.add_argument("--peers", action="store_true", help="time the peers alone")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {names}")
    options = Options(arguments.rounds, arguments.peers)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["WHIPPLETREE_CACHE"] = cache  # compile times are those of an empty cache
        print("## Trees\n")
        banner()
        for name in arguments.sections or SECTIONS:
            SECTIONS[name](options)


if __name__ == "__main__":
    main()
