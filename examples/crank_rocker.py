"""The transmission angle of a crank-rocker over a turn of its crank.

A motor turns the crank; the coupler pushes the rocker. Of the coupler's force only the part across the rocker moves it,
the sine of the *transmission angle* between the two. Designers keep that angle above 40 degrees or so. It is least and
greatest where crank and ground link are in line, and there it has a closed form, by the cosine law.

`sweep_joint` follows the linkage over a turn and knows angles, ratios and singular positions. The rocker's ratio to the
crank is zero where it turns back; driven from the rocker, these would be the dead positions, and `actuation` says so.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.kinematics import actuation

CRANK, COUPLER, ROCKER, GROUND = 0.04, 0.12, 0.08, 0.11


def describe() -> wt.Mechanism:
    """A linkage in the x-y plane, its pivots on the x axis."""
    m = wt.Mechanism("crank-rocker")
    crank = m.body("crank", wt.rod(CRANK, mass=0.1))
    coupler = m.body("coupler", wt.rod(COUPLER, mass=0.3))
    rocker = m.body("rocker", wt.rod(ROCKER, mass=0.2))
    m.revolute("A", m.ground, crank)
    m.revolute("B", crank, coupler, at=(CRANK, 0, 0))
    m.revolute("C", coupler, rocker, at=(COUPLER, 0, 0), at_child=(ROCKER, 0, 0))
    m.revolute("D", m.ground, rocker, at=(GROUND, 0, 0))
    m.frame("coupler point", on=coupler, at=(0.06, 0.04, 0))
    return m


def main(picture: str = "") -> dict[str, Any]:
    """Sweep a turn of the crank, and draw it if a file is named."""
    system = describe().build(guess={"A": 1.0, "D": 1.5})
    sweep = system.sweep_joint("A", np.linspace(0.0, 2 * np.pi, 73))
    angle = np.degrees(sweep.transmission_angle())
    print(sweep.table("D", "D.ratio", "transmission angle").iloc[::6].to_string(index=False, float_format="%.4f"))
    print(f"\ntransmission angle from {angle.min():.2f} to {angle.max():.2f} degrees")
    for apart in (GROUND - CRANK, GROUND + CRANK):
        cosine = (COUPLER**2 + ROCKER**2 - apart**2) / (2 * COUPLER * ROCKER)
        print(f"  by the cosine law, crank in line with the ground: {np.degrees(np.arccos(cosine)):.2f} degrees")

    # The rocker turns back where its ratio changes sign; there the crank and the coupler are in line.
    back = np.flatnonzero(np.diff(np.sign(sweep.ratio("D"))))
    swing = np.degrees(np.ptp(sweep.coordinates("D")))
    print(f"the rocker swings by {swing:.2f} degrees, and turns back near", *np.degrees(sweep.values[back]).round(1))

    dead = sweep.q[back[-1]].copy()
    dead[0] = np.pi + _inner_angle(COUPLER - CRANK)
    dead = system.assemble(dead, hold=["A"])
    print(f"driven at D instead: {actuation(system, dead, actuators=['D'])}")
    if picture:
        sweep.plot("D", "D.ratio", "transmission angle", path=picture)
    return {"system": system, "sweep": sweep, "angle": angle, "dead": dead, "back": back}


def _inner_angle(reach: float) -> float:
    """The angle at A of the triangle A, C, D when C is `reach` away from A."""
    return float(np.arccos((reach**2 + GROUND**2 - ROCKER**2) / (2 * reach * GROUND)))


if __name__ == "__main__":
    main(*sys.argv[1:2])
