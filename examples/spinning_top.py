"""A spinning top in Euler's angles: steady precession, the nodding around it, and where angles lock.

A ball or a floating base can be described by three angles instead of a quaternion. Euler's have the meaning that a top
needs: precession about the vertical, nutation from it, spin about the top's own axis. Upright, precession and spin are
about the same line and cannot be told apart: the angles lock, which is told in words. A quaternion never locks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.spatial.placement import Placement

MASS, LENGTH, ACROSS, ALONG = 1.0, 0.3, 0.12, 0.02  # inertias about the tip
G = 9.81


def top(coordinates: str) -> wt.Mechanism:
    """A top on its tip."""
    m = wt.Mechanism(f"top in {coordinates} coordinates", gravity=(0, 0, -G))
    about_centre = np.diag([ACROSS - MASS * LENGTH**2, ACROSS - MASS * LENGTH**2, ALONG])
    looks = [
        Shape("cylinder", (0.2, 0.04), Placement(point=(0, 0, LENGTH))),
        Shape("cylinder", (0.015, 0.4), Placement(point=(0, 0, 0.2))),
    ]
    m.body("top", wt.MassProperties(MASS, (0, 0, LENGTH), about_centre, looks))
    m.spherical("tip", m.ground, "top", coordinates=coordinates)
    return m


def main() -> dict[str, Any]:
    """Run a steady precession, a nodding top, and ask for the accelerations upright."""
    leaning, precession = 0.6, 1.5
    spin = (MASS * G * LENGTH / precession + (ACROSS - ALONG) * precession * math.cos(leaning)) / ALONG
    s = top("euler").build(guess={"tip": (0.0, leaning, 0.0)})
    steady = s.simulate(4.0, v={"tip": (precession, 0.0, spin)}, tolerance=1e-10)
    sway = float(np.ptp(steady.q[:, 1]))
    print(f"spinning with {spin:.1f} rad/s it leans by {leaning} rad, within {sway:.1e}")
    nodding = s.simulate(4.0, v={"tip": (0.0, 0.0, spin)}, tolerance=1e-10)
    low, high = nodding.q[:, 1].min(), nodding.q[:, 1].max()
    print(f"let go without precession, it nods between {low:.3f} and {high:.3f} rad")
    said = ""
    try:
        s.forward_dynamics([0.0, 0.0, 0.0], s.v0)
    except wt.DynamicsError as error:
        said = str(error)
        print(said)
    upright = top("quaternion").build()
    turning = upright.forward_dynamics(upright.q0, upright.v0)
    return {"sway": sway, "nods": (float(low), float(high)), "said": said, "upright": turning, "spin": spin}


if __name__ == "__main__":
    main()
