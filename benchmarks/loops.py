"""Our speed with closed loops beside the peers', in markdown: ``python benchmarks/loops.py [section ...]``.

Sections: four-bars (IFToMM A02, N = 1, 2, 5, 10, 20), platform (on six legs). Without a name, both. README.md
says what is compared.
"""

from __future__ import annotations

from bars import Options
from command import main
from loop_models import four_bars
from loop_platform import platform
from loop_tables import compare

LENGTHS = (1, 2, 5, 10, 20)


def chains(options: Options) -> None:
    compare([four_bars(count) for count in LENGTHS], options)


def six_legs(options: Options) -> None:
    compare([platform()], options)


SECTIONS = {"four-bars": chains, "platform": six_legs}

if __name__ == "__main__":
    main("Closed loops", SECTIONS)
