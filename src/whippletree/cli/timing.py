"""How long things take."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["first_results", "seconds_per_call"]

_FIRST_RESULT = """
import time
start = time.perf_counter()
import whippletree
from whippletree.cli.arm import describe_arm
imported = time.perf_counter()
system = describe_arm().build()
system.forward_dynamics(system.q0, system.v0)
done = time.perf_counter()
print(done - start, done - imported)
"""


def seconds_per_call(call: Callable[[], object], calls: int, rounds: int = 7) -> float:
    """Return the time of one call: the median over some rounds of so many calls each, after one to warm up.

    >>> seconds_per_call(lambda: None, 10) < 1.0
    True
    """
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def first_results(folder: Path) -> tuple[float, float]:
    """Return the seconds from import, and from the build, to the arm's first result in a new Python process.

    `folder` is used as the cache of compiled code.
    """
    finished = subprocess.run(
        [sys.executable, "-c", _FIRST_RESULT],
        env={**os.environ, "WHIPPLETREE_CACHE": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    from_import, from_build = map(float, finished.stdout.split())
    return from_import, from_build
