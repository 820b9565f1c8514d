"""The same mechanism has the same machine code in every process, whatever the seed of Python's hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import warnings
import whippletree as wt
warnings.simplefilter("ignore")
m = wt.Mechanism("gear train")
for k, name in enumerate("ABCDE"):
    m.revolute(name, m.ground, m.body(name.lower(), mass=1.0, inertia=(1, 1, 1)), at=(k, 0, 0), axis="z")
for one, other in ("AB", "BC", "CD"):
    m.gear(f"{one} to {other}", one, other, ratio=-2.0)
m.coupling("sum", {"A": 1.0, "D": 1.0, "E": -1.0})
s = m.build()
s.forward_dynamics(s.q0, s.v0, [1.0, 0, 0, 0, 0])
s.reactions(s.q0, s.v0)

bars, guess = wt.Mechanism("four-bars with parameters and a beam"), {}
mass, stiffness = bars.parameter("mass", 2.0), bars.parameter("stiffness", 3.0)
strip = wt.rectangle(width=0.03, height=0.006)
for k in range(2):
    crank, coupler = (bars.body(f"{name} {k}", mass=mass, inertia=(1, 1, 1)) for name in ("crank", "coupler"))
    beam = wt.beam(length=1.0, section=strip, material=wt.steel, elements=2, modes=1)
    rocker = bars.body(f"rocker {k}", beam if k else None, **({} if k else {"mass": mass, "inertia": (1, 1, 1)}))
    bars.revolute(f"A{k}", bars.ground, crank, at=(3 * k, 0, 0), axis="y", armature=stiffness)
    bars.revolute(f"B{k}", crank, coupler, at=(1, 0, 0), axis="y")
    bars.revolute(f"D{k}", bars.ground, rocker, at=(3 * k + 1, 0, 0), axis="y")
    end, at = ("rocker 1.tip", (0, 0, 0)) if k else (rocker, (1, 0, 0))
    bars.revolute(f"C{k}", coupler, end, at=(1, 0, 0), at_child=at, axis="y")
    bars.torsion_spring(f"spring {k}", f"A{k}", stiffness=stiffness)
    guess |= {f"A{k}": -1.5, f"B{k}": 1.5, f"D{k}": -1.5}
s = bars.build(guess=guess)
s.forward_dynamics(s.q0, s.v0)
s.simulate(0.002)

plain, last = wt.Mechanism("chain"), None
for k in range(200):
    link = plain.body(f"link {k}", mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
    plain.revolute(f"joint {k}", last or plain.ground, link, at=(1, 0, 0), axis="xyz"[k % 3])
    last = link
s = plain.build()
s.forward_dynamics(s.q0, s.v0)

swing = wt.Mechanism("natural")
arm = swing.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(1, 1, 1))
swing.revolute("hinge", swing.ground, arm, axis="y")
s = swing.build()
s.forward_dynamics([0.3], [0.1], formulation="natural")
s.inverse_dynamics([0.3], [0.1], [0.2])
s.mass_matrix([0.3])
"""


@pytest.mark.rest
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    def files_after(seed: str) -> set[Path]:
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed, "WHIPPLETREE_CACHE": str(tmp_path)}
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
        return {*tmp_path.rglob("*")}

    first = files_after("1")
    assert any(path.is_file() for path in first)
    for seed in ("2", "3"):
        assert files_after(seed) == first
