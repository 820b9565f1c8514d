"""A hopper from a file: shapes that collide become contacts, and it falls, hops on its spring and comes to rest.

hopper.xml has a trunk on a rail, a leg that slides in it on a spring, and a floor. Read with `contacts=True`, the foot
touches the floor; the report says how stiff that is. At rest the spring carries the trunk, and the foot both:

    trunk above the floor    0.3 + 0.25 + 0.04 - m_trunk g / stiffness - depth

where the depth is a thousandth of the largest shape, the shin, since one contact carries the whole weight. Its
stiffness is a parameter: with a tenth of it, the foot sinks in deeper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt

FILE = Path(__file__).with_name("hopper.xml")
G, TRUNK, LEG, SPRING, SHIN = 9.81, 8.0, 0.6, 3000.0, 0.44


def describe() -> wt.Mechanism:
    """Return the hopper on its floor."""
    return wt.read(FILE, contacts=True, stops=True).mechanism


def main() -> dict[str, Any]:
    """Let it fall, and print how high it hops, where it rests, and what the floor carries."""
    model = wt.read(FILE, contacts=True, stops=True)
    print(model.report)
    run = model.simulate(duration=12.0, every=0.01)
    height, speed = run.position("trunk")[:, 2], run.velocity("trunk")[:, 5]
    tops = height[1:-1][(speed[1:-1] >= 0) & (speed[2:] < 0) & (height[1:-1] > 0.65)]
    print("tops of its hops:", " ".join(f"{top:.3f}" for top in tops), "m")
    rest = 0.59 - TRUNK * G / SPRING - 1e-3 * SHIN
    print(f"rests at {height[-1]:.6f} m (by formula {rest:.6f})")
    carried = run.forces()["foot on floor"].on("leg")[-1, 5]
    print(f"the floor carries {carried:.4f} N of {(TRUNK + LEG) * G:.4f} N")
    system = model.build()
    stiffness = next(one.value for one in model.mechanism.describe().parameters if one.name == "contact stiffness")
    softer = system.simulate(12.0, q=run.q[-1], parameters={"contact stiffness": stiffness / 10})
    deeper = 1e3 * (height[-1] - softer.position("trunk")[-1, 2])
    print(f"on a floor a tenth as stiff it rests {deeper:.3f} mm lower")
    return {"run": run, "tops": tops, "rest": rest, "carried": carried, "deeper": deeper, "report": model.report}


if __name__ == "__main__":
    np.set_printoptions(precision=4)
    main()
