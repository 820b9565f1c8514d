"""Robots from files: ``python benchmarks/robot_files.py [name ...]``

For each URDF of the package example-robot-data whose name is given (the G1 humanoid unless any is), seconds of CPU of
reading it, and of that together with building and the first forward dynamics: in a new process with an empty cache, and
in another that finds the compiled code. The least of three processes each; the import of the package does not count,
and is in the last two columns. The bars are for a robot of some 40 bodies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFAULT = ["g1_29dof_rev_1_0"]
COLD, WARM = 2.0, 0.6  # seconds
PROBE = """
import sys, time, warnings
begin = time.process_time()
import whippletree as wt
warnings.simplefilter("ignore")
start = time.process_time()
model = wt.read(sys.argv[1])
read = time.process_time()
s = model.build()
s.forward_dynamics(s.q0, s.v0)
end = time.process_time()
print(read - start, end - start, end - begin, len(model.mechanism.describe().bodies), s.nv)
"""


def probe(path: Path, cache: str) -> tuple[float, float, float, int, int]:
    """Read one file in a new process."""
    env = os.environ | {"WHIPPLETREE_CACHE": cache, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PROBE, str(path)]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    read, whole, imported, bodies, freedoms = done.stdout.split()
    return float(read), float(whole), float(imported), int(bodies), int(freedoms)


def main(names: list[str]) -> None:
    """Print a table."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.robot_files import all_robots

    print(f"{'robot':28} bodies  v   read   cold   warm   with the import")
    for path in all_robots():
        if path.stem not in names:
            continue
        cold, warm = [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(probe(path, cache))
                warm.append(probe(path, cache))
        read = min(one[0] for one in [*cold, *warm])
        first, later = min(one[1] for one in cold), min(one[1] for one in warm)
        imported = [min(one[2] for one in times) for times in (cold, warm)]
        words = [f"{'met' if value <= bar else 'MISSED'}" for value, bar in ((first, COLD), (later, WARM))]
        print(
            f"{path.stem:28} {cold[0][3]:5} {cold[0][4]:3} {read:6.3f} {first:6.2f} {later:6.2f}   "
            f"{imported[0]:6.2f} {imported[1]:6.2f}   cold <= {COLD:g} s {words[0]}, warm <= {WARM:g} s {words[1]}"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or DEFAULT)
