"""Tolerances of a four-bar: how the lengths of its bars decide where the rocker stands, by derivatives and by samples.

The exact derivatives of the rocker's angle for the four lengths, at a given angle of the crank, tell which tolerance
matters. A study of samples stands beside them: with tolerances this small both agree. A file name as argument draws
the samples with limits.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

import whippletree as wt

LENGTHS = {"crank": 0.1, "coupler": 0.25, "rocker": 0.2, "base": 0.22}  # m
DEVIATION = 1e-4  # m, the standard deviation of each
ANGLE = 1.0  # of the crank, rad


def describe() -> wt.Mechanism:
    """A four-bar whose lengths are parameters."""
    m = wt.Mechanism("four-bar with tolerances")
    length = {name: m.parameter(name, value) for name, value in LENGTHS.items()}
    bars = {name: m.body(name, wt.rod(length=length[name], mass=0.5, axis="x")) for name in [*LENGTHS][:3]}
    m.revolute("A", m.ground, bars["crank"], axis="y")
    m.revolute("B", bars["crank"], bars["coupler"], at=(length["crank"], 0, 0), axis="y")
    rocker_end = (length["rocker"], 0, 0)
    m.revolute("C", bars["coupler"], bars["rocker"], at=(length["coupler"], 0, 0), at_child=rocker_end, axis="y")
    m.revolute("D", m.ground, bars["rocker"], at=(length["base"], 0, 0), axis="y")
    return m


def rocker_angle(system: wt.System, case: Mapping[str, float]) -> dict[str, float]:
    """Return the rocker's angle in one case, in degrees, with the crank where it is."""
    q = system.assemble(system.q0, hold=["A"], parameters=dict(case))
    return {"rocker angle": float(np.degrees(q[system.q_slice("D").start]))}


def main(picture: str = "", count: int = 512) -> dict[str, Any]:
    """Return the study and the stack of tolerances."""
    system = describe().build(guess={"A": ANGLE, "D": 1.5}, hold=["A"], dependent=["B", "C", "D"])
    slopes = system.derivatives_of("joint_motion", system.q0, system.v0).parameters[0, system.v_slice("D").start]
    spread = {name: wt.cases.standard_deviation(length, DEVIATION) for name, length in LENGTHS.items()}
    study = wt.Study(system, wt.cases.sobol(count, spread, seed=1), rocker_angle)
    study.run()
    nominal = rocker_angle(system, LENGTHS)["rocker angle"]
    stack = study.tolerance_stack("rocker angle", dict(zip(LENGTHS, np.degrees(slopes), strict=True)), nominal)
    print(stack)
    if picture:
        limits = (nominal - 2 * stack.deviation, nominal + 2 * stack.deviation)
        study.plot("rocker angle", limits=limits, path=picture)
    return {"study": study, "stack": stack, "system": system}


if __name__ == "__main__":
    main(*sys.argv[1:2])
