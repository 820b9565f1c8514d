"""What is loaded when: who only computes does not wait for libraries that serve files, plots and time loops."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import whippletree as wt

m = wt.Mechanism("arm")
first = m.body("first", wt.rod(length=1.0, mass=2.0, axis="x"))
second = m.body("second", wt.rod(length=1.0, mass=1.0, axis="x"))
m.revolute("shoulder", m.ground, first, axis="y")
m.revolute("elbow", first, second, at=[1.0, 0.0, 0.0], axis="y")
s = m.build()
q, v = np.full(2, 0.3), np.ones(2)
s.forward_dynamics(q, v), s.mass_matrix(q), s.energy(q, v)
s.forward_dynamics(np.tile(q, (300, 1)), np.tile(v, (300, 1)), threads=2)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
print(*sorted(name for name in sys.modules if name.startswith("whippletree.")))
wt.Trajectory, wt.Certificate, wt.Event, wt.Simulation, wt.resume
s.simulate(0.1)
print("numba" in sys.modules)
"""

HEAVY = {
    "difflib",
    "h5netcdf",
    "h5py",
    "matplotlib",
    "netCDF4",
    "numba",
    "pandas",
    "pyarrow",
    "pydantic",
    "ruamel",
    "scipy",
    "xarray",
    "yaml",
}

OF_LOOPS_AND_LARGE_MODELS = {
    "whippletree.formulations.methods.coordinate_reduction",
    "whippletree.formulations.rolled.rolled_walk",
    "whippletree.kernels.loop_lowering",
    "whippletree.system.assembly",
    "whippletree.system.closure_numbers",
    "whippletree.system.large_derivatives",
}


def test_computing_loads_no_library_that_it_does_not_need():
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, timeout=300)
    listed, own, after_a_run = done.stdout.splitlines()
    loaded = set(listed.split())
    assert {"whippletree", "numpy", "casadi", "llvmlite"} <= loaded
    assert not HEAVY & loaded
    assert not OF_LOOPS_AND_LARGE_MODELS & set(own.split())
    assert after_a_run == "False"
