"""A knee from an OpenSim file: the shank rolls and slides on the thigh as splines say, and the kneecap follows.

The joint has one coordinate. Its two shifts are cubic splines of the angle, and so are shift and turn of the kneecap,
whose own coordinate a coupler holds to the knee's. The muscle of the file is left out, and the report says so.

The moment that holds the leg follows from the height of its parts: it is the derivative of the potential energy by the
angle. Here that is taken by a difference of two positions, beside what inverse dynamics gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt

FILE = Path(__file__).with_name("knee.osim")
MASSES = {"shank": (3.7, (0.0, -0.19, 0.0)), "kneecap": (0.09, (0.0, 0.0, 0.0))}


def at(system: wt.System, angle: float) -> np.ndarray:
    """The position with the knee at an angle."""
    return system.assemble({"knee_angle": angle}, hold=["knee_angle"])


def holding(system: wt.System, angle: float) -> float:
    """The moment at the knee that holds the leg."""
    still = np.zeros(system.nv)
    found = system.inverse_dynamics(at(system, angle), still, still, actuators=["knee_angle"])
    return float(found[system.v_slice("knee_angle")][0])


def by_heights(system: wt.System, angle: float, step: float = 1e-5) -> float:
    """The same from heights on both sides of the angle."""

    def energy(angle: float) -> float:
        q = at(system, angle)
        return 9.80665 * sum(m * float((system.pose(q, name) @ [*com, 1.0])[1]) for name, (m, com) in MASSES.items())

    return (energy(angle + step) - energy(angle - step)) / (2 * step)


def main() -> dict[str, Any]:
    """Read, look at the report, hold the leg, and let it swing."""
    model = wt.read(FILE)
    print(f"{model.mechanism}\n\n{model.report}\n")
    system = model.build()
    print(f"{system.mobility}\n")

    print("knee angle   shank's origin x, y      holding moment   by heights")
    rows = []
    for angle in (-1.8, -1.2, -0.6, 0.0):
        x, y, _ = system.pose(at(system, angle), "shank")[:3, 3]
        rows.append((angle, holding(system, angle), by_heights(system, angle)))
        print(f"{angle:8.2f}     {x:9.6f} {y:9.6f} m    {rows[-1][1]:10.6f}    {rows[-1][2]:10.6f} N m")

    run = model.simulate(q=at(system, -0.08), duration=1.0, every=0.01)
    swing = run["knee_angle"]
    print(f"\nit swings between {swing.min():.3f} and {swing.max():.3f} rad: certificate ok: {run.certificate.ok}")
    return {"rows": rows, "run": run, "report": model.report, "system": system}


if __name__ == "__main__":
    main()
