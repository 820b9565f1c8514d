"""Our speed on trees beside the peers', in markdown: ``python benchmarks/trees.py [section ...]``.

Sections: native (loop against loop), batch (10 000 states), call (one state from Python), start (import to
first result), chain (100 and 1000 joints). Without a name, all of them. README.md says what each one shows.
"""

from __future__ import annotations

from command import main
from tree_chain import long_chains
from tree_native import native
from tree_python import batch, call
from tree_start import start

SECTIONS = {"native": native, "batch": batch, "call": call, "start": start, "chain": long_chains}

if __name__ == "__main__":
    main("Trees", SECTIONS)
