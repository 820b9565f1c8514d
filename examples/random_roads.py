"""A thousand quarter cars over random roads: a study whose cases differ in road, spring and damper.

A road is a sum of waves with random phases, whose heights fall with the square of their number. Each case has its own
phases, spring and damper, from a Latin hypercube. Statistics alone are kept of each run, so that a thousand runs take
no memory to speak of. A file name as argument draws the comfort over the spring.
"""

from __future__ import annotations

import sys
from typing import Any

import casadi as ca
import numpy as np
from scipy import stats

import whippletree as wt

WAVES, SPEED, HEIGHT, LENGTH = 6, 20.0, 0.02, 40.0  # m/s, m, m
WHEEL, CHASSIS, TYRE = 40.0, 250.0, 2e5  # kg, kg, N/m


def describe() -> wt.Mechanism:
    """A wheel on a tyre that follows the road, and a chassis on a strut above it; heights from rest."""
    m = wt.Mechanism("quarter car", gravity=(0, 0, 0))
    spring, damper = m.parameter("spring", 2e4), m.parameter("damper", 1500.0)
    phases = [m.parameter(f"phase {k + 1}", 0.0) for k in range(WAVES)]
    road = sum(
        HEIGHT / (k + 1) ** 2 * ca.sin(2 * np.pi * (k + 1) * SPEED / LENGTH * m.time + phase)
        for k, phase in enumerate(phases)
    )
    wheel, chassis = m.body("wheel", mass=WHEEL), m.body("chassis", mass=CHASSIS)
    m.prismatic("wheel travel", m.ground, wheel)
    m.prismatic("chassis travel", m.ground, chassis, at=(0, 0, 0.5))
    m.spring("strut", wheel, chassis, stiffness=spring, free_length=0.5, damping=damper)
    m.load("tyre", wheel, force=(0, 0, TYRE * (road - m.coordinate("wheel travel"))))
    return m


def roads(count: int) -> Any:
    """Cases: a spring, a damper and the phases of a road for each car."""
    phases = {f"phase {k + 1}": stats.uniform(0.0, 2 * np.pi) for k in range(WAVES)}
    spring, damper = wt.cases.plus_minus(2e4, 8e3), wt.cases.standard_deviation(1500.0, 150.0)
    return wt.cases.latin_hypercube(count, {**phases, "spring": spring, "damper": damper}, seed=1)


def main(picture: str = "", count: int = 1000) -> dict[str, Any]:
    """Run the study and return it with what it found."""
    keep = {"chassis travel": ["rms", "max"], "wheel travel": "max"}
    study = wt.Study(describe(), roads(count), keep=keep, duration=4.0, every=0.02, tolerance=1e-6)
    data = study.run()
    print(study.status())
    travel = data["chassis travel rms"].values
    print(f"the chassis moves by {1e3 * np.median(travel):.1f} mm (rms, median of the cars),")
    print(f"and by {1e3 * np.quantile(travel, 0.95):.1f} mm in the worst twentieth")
    softer, harder = (travel[pick].mean() for pick in (data["spring"] < 2e4, data["spring"] >= 2e4))
    print(f"soft springs: {1e3 * softer:.1f} mm, hard springs: {1e3 * harder:.1f} mm")
    for one in study.worst("chassis travel max", 3):
        print(f"car {one.case} moves farthest: {1e3 * one.value:.1f} mm")
    if picture:
        study.plot("chassis travel rms", "chassis travel max", over="spring", path=picture)
    return {"study": study, "data": data, "softer": softer, "harder": harder}


if __name__ == "__main__":
    main(*sys.argv[1:2])
