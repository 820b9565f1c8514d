"""A robot from a file: a URDF with a loop, what was made of it, and the torques of its motors.

leg.urdf describes a leg whose knee is moved from the hip, by a crank and a rod beside the thigh. The linkage is a
parallelogram, so that the shank stays parallel to the crank: with hip motor and knee motor at angles h and k, the knee
is at k - h, whatever the leg does. The torques that hold it against its weight follow from the heights of its parts:

    hip motor     g (0.2 m_thigh + 0.4 m_shank + 0.2 m_rod) sin h
    knee motor    g (0.15 m_shank sin k + (0.03 m_crank + 0.06 m_rod) cos k)

The model is then written in other formats and read again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt

FILE = Path(__file__).with_name("leg.urdf")


def torques(system: wt.System, h: float, k: float) -> np.ndarray:
    """What the motors must do to hold the leg."""
    q = system.assemble({"hip motor": h, "knee motor": k}, hold=["hip motor", "knee motor"])
    still = np.zeros(system.nv)
    found = system.inverse_dynamics(q, still, still, actuators=["hip motor", "knee motor"])
    return np.array([found[system.v_slice(name)][0] for name in ("hip motor", "knee motor")])


def by_formula(h: float, k: float) -> np.ndarray:
    """The same from the heights of the parts."""
    thigh, shank, crank, rod = 2.0, 1.0, 0.2, 0.3
    hip = (0.2 * thigh + 0.4 * shank + 0.2 * rod) * np.sin(h)
    knee = 0.15 * shank * np.sin(k) + (0.03 * crank + 0.06 * rod) * np.cos(k)
    return 9.81 * np.array([hip, knee])


def main() -> dict[str, Any]:
    """Read, look at the report, compute, write and read again."""
    model = wt.read(FILE)
    print(f"{model.mechanism}\n")
    print("What is not in the mechanism as it stands in the file:")
    print(model.report, end="\n\n")

    system = model.build()
    print(f"mobility {system.mobility.mobility}, with {len(system.mobility.redundant)} redundant equations\n")

    h, k = 0.4, 0.9
    held, formula = torques(system, h, k), by_formula(h, k)
    print(f"torques that hold it:      hip {held[0]:.6f}, knee {held[1]:.6f} N m")
    print(f"by formula:                hip {formula[0]:.6f}, knee {formula[1]:.6f} N m")

    again = {}
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("yaml", "urdf", "sdf"):
            place = Path(folder) / f"leg.{ending}"
            wt.write(model, place)
            again[ending] = torques(wt.read(place).build(), h, k)
            print(f"read again from {place.name:9}: hip {again[ending][0]:.6f}, knee {again[ending][1]:.6f} N m")
    return {"held": held, "formula": formula, "again": again, "report": model.report, "system": system}


if __name__ == "__main__":
    main()
