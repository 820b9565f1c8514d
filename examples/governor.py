"""A centrifugal governor: how far its arms open over the speed of its spindle.

Two arms with balls hang from the top of a spindle, and two links lead from the balls down to a sleeve on it, which a
spring holds down. The arms stay closed until the spindle is fast enough. Both loops are planar, so that the mechanism
is overconstrained. The spindle turns at a given speed; `equilibrium_path` follows the arms over that speed, and tells
for every point whether it is stable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.equilibria import equilibrium_path

LENGTH, BALL, SLEEVE, STIFFNESS = 0.3, 1.2, 1.0, 400.0


def describe() -> wt.Mechanism:
    """The governor, its links without mass."""
    m = wt.Mechanism("governor")
    spindle = m.body("spindle", mass=2.0, inertia=(0.05, 0.05, 0.01))
    sleeve = m.body("sleeve", mass=SLEEVE, inertia=(0.002, 0.002, 0.002))
    m.revolute("spin", m.ground, spindle, axis="z", prescribed=True)
    m.prismatic("slide", spindle, sleeve, at=(0, 0, -2 * LENGTH), axis="z")
    m.torsion_spring("spring", "slide", stiffness=STIFFNESS, damping=8.0)
    for side, axis in (("left", "y"), ("right", "-y")):
        arm = m.body(f"{side} ball", mass=BALL, com=(0, 0, -LENGTH))
        link = m.body(f"{side} link")
        m.revolute(f"{side} arm", spindle, arm, axis=axis)
        m.revolute(f"{side} elbow", arm, link, at=(0, 0, -LENGTH), axis=axis)
        m.revolute(f"{side} foot", link, sleeve, at=(0, 0, -LENGTH), axis=axis)
    return m


def main(picture: str | Path | None = None) -> dict[str, Any]:
    """Follow the arms from a slow spindle to a fast one."""
    s = describe().build(guess={"left arm": 0.4, "right arm": 0.4})
    path = equilibrium_path(s, "spin.speed", np.linspace(14.0, 30.0, 9), guess={"left arm": 0.6, "right arm": 0.6})
    print("spindle [rad/s]  arm [degrees]  sleeve [mm]")
    for speed, arm, slide in zip(path.values, path.coordinates("left arm"), path.coordinates("slide"), strict=True):
        print(f"{speed:15.3f} {np.degrees(arm):14.3f} {1000 * slide:12.2f}")
    if picture is not None:
        path.plot("left arm", "slide", path=picture)
    return {"path": path}


if __name__ == "__main__":
    main("governor.png")
