"""Modes of a car on its suspension: bounce, pitch, roll, and four wheels that hop.

The body heaves, pitches and rolls; each wheel moves up and down under it on a spring and a damper, and stands on its
tyre. The car is linearised where it is at rest, and its modes are printed with frequency and damping. Beside the linear
model stand mass, stiffness and damping matrix written by hand, as textbooks have them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.spatial.placement import Placement

MASS, PITCH, ROLL, WHEEL = 1400.0, 2300.0, 500.0, 38.0
SPRING, DAMPER, TYRE = {"front": 24e3, "rear": 28e3}, {"front": 1.6e3, "rear": 1.9e3}, 210e3
CORNERS = {
    f"{end} {side}": (end, x, y)
    for end, x in (("front", 1.2), ("rear", -1.5))
    for side, y in (("left", 0.75), ("right", -0.75))
}


def describe() -> wt.Mechanism:
    """The car: x forward, y to the left, z up."""
    m = wt.Mechanism("car")
    looks = [Shape("box", (3.4, 1.2, 0.15), Placement(point=(-0.15, 0, 0.3)))]
    lift, body = m.body("lift"), m.body("body", wt.MassProperties(MASS, inertia=(ROLL, PITCH, 2500.0), shapes=looks))
    m.prismatic("bounce", m.ground, lift, axis="z")
    m.universal("attitude", lift, body, axis="x", axis_child="y")
    for name, (end, x, y) in CORNERS.items():
        wheel = m.body(f"{name} wheel", wt.cylinder(mass=WHEEL, radius=0.3, length=0.2, axis="y"))
        m.prismatic(f"{name} hop", m.ground, wheel, at=(x, y, 0), axis="z")
        m.bushing(f"{name} tyre", m.ground, wheel, at=(x, y, 0), stiffness=[0, 0, 0, 0, 0, TYRE])
        m.bushing(
            f"{name} strut",
            wheel,
            body,
            at_child=(x, y, 0),
            stiffness=[0, 0, 0, 0, 0, SPRING[end]],
            damping=[0, 0, 0, 0, 0, DAMPER[end]],
        )
    return m


def by_hand() -> tuple[Any, Any, Any]:
    """Mass, stiffness and damping in bounce, roll, pitch and the wheels' heights, for a car that stands level."""
    M = np.diag([MASS, ROLL, PITCH, *[WHEEL] * 4])
    K, D = np.zeros((7, 7)), np.zeros((7, 7))
    for k, (end, x, y) in enumerate(CORNERS.values()):
        stroke = np.zeros(7)
        stroke[:3] = 1, y, -x  # how far the corner of the body rises
        stroke[3 + k] = -1
        K += SPRING[end] * np.outer(stroke, stroke)
        D += DAMPER[end] * np.outer(stroke, stroke)
        K[3 + k, 3 + k] += TYRE
    return M, K, D


def main(picture: str | Path | None = None) -> dict[str, Any]:
    """Find the rest, and the modes about it."""
    m = describe()
    m.gravity = (0, 0, 0)  # level: springs are given by what they do about the loaded position
    found = m.build().equilibrium()
    model = found.linearize()
    print(found.stability)
    print(model.modes())
    if picture is not None:
        model.plot("modes", path=picture)
    return {"model": model, "matrices": by_hand()}


if __name__ == "__main__":
    main("car_modes.png")
