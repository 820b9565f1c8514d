"""Other libraries in the process stay as they are: nothing of theirs is replaced, and their symbols behave as ever."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import math
import casadi as ca, numpy as np, scipy.sparse, xarray

def parts():
    for library in (ca, np, scipy.sparse, xarray):
        for name, value in list(vars(library).items()):
            if not name.startswith("__"):
                yield (library.__name__, name), value
            if isinstance(value, type):
                yield from (((library.__name__, name, own), each) for own, each in list(vars(value).items()))

before = dict(parts())
import whippletree as wt
m = wt.Mechanism("pendulum")
hinge = m.revolute("hinge", m.ground, m.body("arm", mass=1.0, com=(0, -1, 0), inertia=(1, 1, 1)), axis="z")
m.actuator("motor", hinge, effort=ca.sin(m.time) - m.rate(hinge))
m.build().simulate(0.1)
after = dict(parts())
assert len(before) > 2000
print([name for name in before if before[name] is not after.get(name)])

x = ca.SX.sym("x")
assert math.isnan(float(x)) and math.isnan(math.sin(x))
try:
    bool(x > 0)
except RuntimeError as error:
    print(type(error).__name__, "CasADi" in str(error))
"""


def test_nothing_of_another_library_is_replaced() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "RuntimeError True"]
