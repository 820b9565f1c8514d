"""Fuzzing in child processes whose memory and time are limited: whatever a case does there, it cannot hurt the tests.

A campaign is a module with `prepare(folder)`, which returns what its cases need, and `case(number, prepared)`, which
raises nothing if the case is right or is refused by an error of the package. Every case follows from its number alone,
so that one that fails can be repeated:

    python -m support.limited_child fuzz.tampered_checkpoints 17 18

A child takes many cases in turn. A case that takes longer than it may is ended by a signal, and so is one that runs
wild in memory that is not its own; the next child goes on behind it.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["failures"]

SECONDS = 10
"""What a case may take, of the processor's time: how busy the machine is does not count."""

WAITING = 120
"""What it may take of the clock."""

MEMORY = 2 << 30
"""What it may take of memory, in bytes."""

LONGEST_MESSAGE = 4000
"""What an error may say, in characters: long names are shortened."""


def failures(campaign: str, start: int, end: int, folder: Path) -> list[str]:
    """Run the cases from one number to another in children; return what was not as it should be."""
    found: list[str] = []
    root = str(Path(__file__).resolve().parents[1])
    env = os.environ | {"PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)])}
    at = start
    while at < end:
        command = [sys.executable, "-m", "support.limited_child", campaign, str(at), str(end), str(folder)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        found += [line.removeprefix("wrong ") for line in lines if line.startswith("wrong ")]
        begun = [int(line.split()[1]) for line in lines if line.startswith("case ")]
        if done.returncode == 0:
            break
        if not begun:
            raise AssertionError(f"{campaign} cannot begin:\n{done.stderr[-3000:]}")
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        found.append(f"{campaign} {begun[-1]}: the process ended by {how}: {done.stderr[-500:]}")
        at = begun[-1] + 1
    return found


def _check(campaign: str, start: int, end: int, folder: Path) -> None:
    """Run cases in this process, within limits."""
    from whippletree.errors import WhippletreeError

    module = importlib.import_module(campaign)
    prepared = module.prepare(folder)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    for number in range(start, end):
        print("case", number, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITING)
        try:
            module.case(number, prepared)
        except WhippletreeError as error:
            if not str(error).strip() or len(str(error)) > LONGEST_MESSAGE:
                print(f"wrong {campaign} {number}: an error of {len(str(error))} characters", flush=True)
        except Exception as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
            said = " ".join(str(error).split())[:300]
            print(f"wrong {campaign} {number}: {type(error).__name__} at {where}: {said}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MEMORY:
        print(f"wrong {campaign} {start} to {end}: more memory than {MEMORY} bytes", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        _check(given[0], int(given[1]), int(given[2]), Path(given[3] if len(given) > 3 else scratch))
