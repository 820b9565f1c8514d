"""Many runs in one call: ``python benchmarks/many_runs.py [loop memory] [--source FOLDER]``

`loop` makes 1000 runs of 2 s of a UR5 with random payloads, `every=0.1`, on one thread: by `simulate_many`, and by a
loop of `simulate` of another source tree, `--source` (such as that of the commit before `simulate_many`); the two take
turns, each time in a new process, and the CPU seconds of the runs are compared. The bar is a half. `memory` makes
10 000 and 100 000 short runs with `outputs="final"`, and tells by how much the process has grown; the bar is 50 MB.

It needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RUNS, ROUNDS = 1000, 3
BAR_SHARE, BAR_MEMORY = 0.5, 50.0


def arm() -> object:
    """Return a UR5 with a payload that is a parameter, as a system."""
    import whippletree as wt

    folder = next(path for path in map(Path, sys.path) if (path / "cmeel.prefix").is_dir())
    file = folder / "cmeel.prefix/share/example-robot-data/robots/ur_description/urdf/ur5_robot.urdf"
    m = wt.read(file).mechanism
    load = m.body("payload", wt.point_mass(m.parameter("payload", 2.0), at=(0, 0.1, 0)))
    m.fixed("grip", "tool0", load)
    return m.build()


def probe(how: str) -> None:
    """Print the CPU seconds of the runs; this is what the new process does."""
    system = arm()
    payloads = np.random.default_rng(0).uniform(0.0, 5.0, RUNS)
    given = {"q": np.array([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]), "every": 0.1}
    for payload in payloads[:5]:
        system.simulate(2.0, parameters={"payload": float(payload)}, **given)
    began = time.thread_time()
    if how == "many":
        system.simulate_many(2.0, parameters={"payload": payloads}, threads=1, **given)
    else:
        for payload in payloads:
            system.simulate(2.0, parameters={"payload": float(payload)}, **given)
    print(time.thread_time() - began)


def seconds(how: str, source: Path) -> float:
    """Return the CPU seconds of the runs in a new process."""
    given = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--probe", how]
    return float(subprocess.run(command, env=given, capture_output=True, text=True, check=True).stdout)


def loop(source: Path) -> None:
    """Compare `simulate_many` with a loop of `simulate` of another source tree."""
    pairs = [(seconds("many", ROOT / "src"), seconds("loop", source)) for _ in range(ROUNDS)]
    share = statistics.median(ours / theirs for ours, theirs in pairs)
    ours, theirs = (statistics.median(one) for one in zip(*pairs, strict=True))
    verdict = "met" if share <= BAR_SHARE else "MISSED"
    print(f"{RUNS} runs: simulate_many {ours:.2f} s, the loop {theirs:.2f} s of CPU; {share:.3f}, bar 0.5: {verdict}")


def memory(source: Path) -> None:
    """Tell by how much final states of many runs make the process grow."""
    from whippletree.system.example_systems import pendulum

    system = pendulum()

    def grown(count: int) -> float:
        speeds = np.linspace(0.0, 1.0, count)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        runs = system.simulate_many(0.01, v={"hinge": speeds}, every=0.01, outputs="final", method="rk4", step=0.005)
        assert np.isfinite(runs.dataset["final_q"].values).all()
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    grown(1000)
    for count in (10_000, 100_000):
        size = grown(count)
        print(f'{count} runs with outputs="final": {size:.1f} MB; bar {BAR_MEMORY:g} MB: {verdict_of(size)}')


def verdict_of(size: float) -> str:
    return "met" if size <= BAR_MEMORY else "MISSED"


SECTIONS = {"loop": loop, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help="default: all")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="a folder that holds another package")
    parser.add_argument("--probe", choices=("many", "loop"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.probe:
        probe(given.probe)
        return
    for name in given.sections or SECTIONS:
        SECTIONS[name](given.source)


if __name__ == "__main__":
    main()
