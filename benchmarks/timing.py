"""How time is measured: short bursts that alternate between all contestants, thread CPU time, medians.

Only bursts count that nobody disturbed (see `quiet`).
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from quiet import undisturbed

Run = Callable[[int], float]
"""Does so many evaluations and returns the seconds they took."""

BURSTS = 31
BURST_SECONDS = 4e-3


@dataclass(frozen=True)
class Times:
    """Seconds per evaluation, one figure per burst; bursts of one round stand side by side.

    `disturbed`: the machine was never left alone, and the figures have in them what else it did.
    """

    bursts: tuple[float, ...]
    disturbed: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.bursts)

    @property
    def best(self) -> float:
        return min(self.bursts)

    def times_as_fast_as(self, other: Times) -> float:
        """The median over the rounds of other / self: what disturbs a whole round cancels."""
        pairs = zip(self.bursts, other.bursts, strict=True)
        return statistics.median(theirs / ours for ours, theirs in pairs)


def bursts(contestants: Mapping[str, Run], rounds: int = BURSTS, seconds: float = BURST_SECONDS) -> dict[str, Times]:
    """In each round every contestant has one burst; each round starts with another one. So many rounds count."""
    counts = {}
    for name, run in contestants.items():
        run(3)  # first touches
        trial = max(run(5) / 5, 1e-9)
        count = max(1, round(seconds / trial))
        counts[name] = max(1, round(seconds / max(run(count) / count, 1e-9)))  # warm by now

    def burst(name: str) -> float:
        return contestants[name](counts[name]) / counts[name]

    taken = undisturbed({name: partial(burst, name) for name in contestants}, rounds, together=True)
    return {name: Times(tuple(times), taken.disturbed) for name, times in taken.bursts.items()}


def calls(function: Callable[[], object]) -> Run:
    """A Python call repeated, thread CPU time; the empty loop (about 20 ns a turn) is included."""

    def run(count: int) -> float:
        turns = range(count)
        begin = time.thread_time()
        for _ in turns:
            function()
        return time.thread_time() - begin

    return run


@contextmanager
def one_core() -> Iterator[int]:
    """The calling thread stays on one core, the last it may use, until the end of the block."""
    allowed = os.sched_getaffinity(0)
    core = max(allowed)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, allowed)


# ---------------------------------------------------------------------------------------------------------
# Printing


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """The short commit of this checkout, with a plus sign if files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    head = git("rev-parse", "--short", "HEAD")
    return (head + ("+" if git("status", "--porcelain") else "")) or "no commit"


def versions(packages: Sequence[str]) -> str:
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} -")
    return ", ".join(found)


def banner() -> None:
    packages = ["whippletree", "numpy", "casadi", "llvmlite", "pin", "mujoco", "drake"]
    print(f"- {time.strftime('%Y-%m-%d %H:%M')}, commit {commit()}")
    print(f"- {processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"- Python {platform.python_version()}, {versions(packages)}")


def figure(value: object) -> str:
    """Three digits of a number, words as they are, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], notes: str = "") -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(figure(cell) for cell in row) + " |")
    if notes:
        print(f"\n{notes}")
    print(flush=True)
