"""Every bar of every benchmark, met or missed: ``python benchmarks/every_bar.py [program ...]``, or ``make bars``.

The programs run one after the other, since they time, and take some hours in all on a quiet machine. Of each, the lines
with a verdict are printed, then how many bars are met; the exit code is 1 if one is missed or a program fails. What a
program prints besides is in `benchmarks/.build/bars/`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
KEPT = HERE / ".build" / "bars"
MET, MISSED = re.compile(r"\bmet\b"), re.compile(r"\bMISSED\b")

PROGRAMS: dict[str, Sequence[str]] = {
    "trees": (),
    "loops": (),
    "simulation": (),
    "control": (),
    "growth": ("families", "lcaba", "compile"),
    "choice": (),
    "assembly": (),
    "accuracy": (),
    "verification": (),
    "derivatives": (),
    "natural": (),
    "ten_minutes": (),
    "realtime": (),
    "flexible": (),
    "flexible_chains": (),
    "robot_files": (),
    "first_calls": (),
}
"""Programs that have bars, and what they are called with."""


def verdicts(text: str) -> tuple[list[str], int, int]:
    """Return the lines with a verdict, and how many bars they say are met and missed.

    >>> verdicts("arm 5.2 met\\nplain\\nleg 0.9 met, 0.1 MISSED")
    (['arm 5.2 met', 'leg 0.9 met, 0.1 MISSED'], 2, 1)
    """
    lines = [line for line in text.splitlines() if MET.search(line) or MISSED.search(line)]
    return lines, sum(len(MET.findall(line)) for line in lines), sum(len(MISSED.findall(line)) for line in lines)


def run(program: str) -> tuple[int, int]:
    """Run a program, print its verdicts, and return how many bars are met and missed; a failure is one missed."""
    command = [sys.executable, str(HERE / f"{program}.py"), *PROGRAMS[program]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (KEPT / f"{program}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines, met, missed = verdicts(done.stdout)
    failed = not lines or (done.returncode != 0 and not missed)
    print(f"== {program}: {met} met, {missed} missed{', the program FAILED' if failed else ''}")
    print("\n".join(lines), flush=True)
    return met, missed + failed


def main(names: Sequence[str]) -> None:
    """Run the programs that are named, all of them without names."""
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        raise SystemExit(f"no benchmark with bars: {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    KEPT.mkdir(parents=True, exist_ok=True)
    counts = [run(name) for name in names or PROGRAMS]
    met, missed = sum(each[0] for each in counts), sum(each[1] for each in counts)
    print(f"all: {met} met, {missed} missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
