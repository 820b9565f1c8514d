"""A slender rod is bent into an arc by a moment at its tip: large deflections by substructures.

A flexible body bends a little within its own frame. A rod that bends much is several such bodies, welded: each bends
a little in a frame that turns with it. Under a moment the rod becomes an arc of a circle of radius E I / M, so the tip
is at L sin(a) / a along the rod's first direction and L (1 - cos(a)) / a across it, a = M L / (E I) being the angle by
which it has turned.
"""

from __future__ import annotations

import numpy as np

import whippletree as wt

LENGTH, ANGLE = 1.0, 0.5 * np.pi
ROD = wt.circle(radius=0.004)


def describe(parts: int) -> wt.Mechanism:
    m = wt.Mechanism("bent rod", gravity=(0, 0, 0))
    rod = m.body("rod", wt.beam(length=LENGTH, section=ROD, material=wt.steel, elements=8, substructures=parts))
    m.fixed("clamp", m.ground, rod)
    moment = ANGLE * wt.steel.youngs_modulus * ROD.second_moment_z / LENGTH
    m.load("wrench", "rod.tip", moment=(0, 0, moment))
    return m


def main() -> dict[int, float]:
    """Return the distance of the tip from where it is on the arc, in lengths of the rod, by the number of parts."""
    exact = LENGTH / ANGLE * np.array([np.sin(ANGLE), 1 - np.cos(ANGLE), 0])
    found = {}
    for parts in (2, 4):
        s = describe(parts).build()
        tip = s.pose(s.equilibrium().q, "rod.tip")[:3, 3]
        found[parts] = float(np.linalg.norm(tip - exact)) / LENGTH
        print(f"{parts} parts: the tip is at {tip.round(4)}, {found[parts]:.1e} lengths from the arc's end")
    return found


if __name__ == "__main__":
    main()
