"""The same mechanism has the same machine code in every process, whatever the seed of Python's hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import whippletree as wt
m = wt.Mechanism("gear train")
for k, name in enumerate("ABCDE"):
    m.revolute(name, m.ground, m.body(name.lower(), mass=1.0, inertia=(1, 1, 1)), at=(k, 0, 0), axis="z")
for one, other in ("AB", "BC", "CD"):
    m.gear(f"{one} to {other}", one, other, ratio=-2.0)
m.coupling("sum", {"A": 1.0, "D": 1.0, "E": -1.0})
s = m.build()
s.forward_dynamics(s.q0, s.v0, [1.0, 0, 0, 0, 0])
s.reactions(s.q0, s.v0)
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    def files_after(seed: str) -> set[Path]:
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed, "WHIPPLETREE_CACHE": str(tmp_path)}
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
        return {*tmp_path.rglob("*")}

    first = files_after("1")
    assert any(path.is_file() for path in first)
    for seed in ("2", "3", "4"):
        assert files_after(seed) == first
