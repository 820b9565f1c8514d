"""A gripper follows a path: which torques do the motors of the arm need?

The tip of a two-link arm is driven along a closed path, given by points that are passed at given times: a periodic
spline for each direction. One run gives the arm's motion and the force that leads the tip by its name; the motors that
would make the same motion by themselves follow from inverse dynamics. The energy balance of the run counts the work of
the drive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

TIMES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
X = np.array([0.6, 0.9, 1.1, 0.9, 0.6, 0.5, 0.6])
Z = np.array([0.2, 0.4, 0.0, -0.4, -0.3, 0.0, 0.2])


def describe(*, driven: bool = True) -> wt.Mechanism:
    """An arm in the plane of x and z, its tip driven along the path."""
    m = wt.Mechanism("arm on a path")
    upper = m.body("upper", wt.rod(length=0.7, mass=4.0, axis="x"))
    lower = m.body("lower", wt.rod(length=0.6, mass=2.5, axis="x") + wt.point_mass(1.0, at=(0.6, 0, 0)))
    m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper, lower, at=(0.7, 0, 0), axis="y")
    m.frame("tip", on=lower, at=(0.6, 0, 0))
    if driven:
        path = wt.Spline(TIMES, X, ends="periodic"), None, wt.Spline(TIMES, Z, ends="periodic")
        m.drive_point("hand", "tip", position=path)
    return m


def main() -> dict[str, Any]:
    """Follow the path twice, and find the motors' torques."""
    system = describe().build(guess={"shoulder": -1.3, "elbow": 2.1})
    run = system.simulate(6.0, every=0.02, tolerance=1e-9)
    print(run.certificate)
    hand = run.driving_forces()["hand"]
    motors = describe(driven=False).build().inverse_dynamics(run.q, run.v, run.accelerations())
    print(f"largest force on the tip {np.linalg.norm(hand, axis=1).max():.1f} N")
    print(f"largest torques {np.abs(motors[:, 0]).max():.1f} N m and {np.abs(motors[:, 1]).max():.1f} N m")
    return {"run": run, "hand": hand, "motors": motors}


if __name__ == "__main__":
    main()
