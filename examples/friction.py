"""Friction from what joints transmit: a drawer that wedges, and Painleve's sliding rod.

A drawer that is pushed beside its middle presses on its guide with a moment; the friction of the two ends of the guide
grows with the push, and from mu = length / (2 offset) on no push moves it.

A rod whose end slides on a rail is pressed onto the rail by its own friction where it leans into the motion. With
a = 3 sin cos / (1 + 3 cos^2) the normal force is N = N0 + a mu |N|. From mu = 4/3 on there are angles at which no force
or two satisfy that, as Painleve found in 1895: the engine says so instead of giving a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

LENGTH, OFFSET, MASS, PUSH = 0.3, 0.2, 1.5, 7.0


def drawer(mu: float) -> wt.System:
    """A drawer in a guide whose ends are 0.3 m apart, with a handle 0.2 m beside its middle."""
    m = wt.Mechanism("drawer", gravity=(0, 0, 0))
    box = m.body("drawer", wt.box(size=(0.4, 0.3, 0.1), mass=MASS))
    slide = m.prismatic("slide", m.ground, box, axis="x")
    m.friction("guide", slide, coefficient=mu, length=LENGTH)
    m.frame("handle", on=box, at=(0, OFFSET, 0))
    return m.build()


def sliding_rod(mu: float) -> wt.System:
    """A uniform rod of 2 m and 1 kg, hinged to a slider without mass on a rail along x."""
    m = wt.Mechanism("sliding rod")
    slider, rod = m.body("slider"), m.body("rod", wt.rod(length=2.0, mass=1.0, axis="x"))
    slide = m.prismatic("rail", m.ground, slider, axis="x")
    m.revolute("hinge", slider, rod, axis="y")
    m.friction("rub", slide, coefficient=mu, speed=1e-3)
    return m.build()


def normal_force(angle: float, mu: float, sign: float) -> float:
    """The rail's force on the rod at rest in its angle, in closed form; the rod points along (cos, -sin)."""
    c, s = np.cos(angle), np.sin(angle)
    a, N0 = 3 * s * c / (1 + 3 * c**2), 9.81 / (1 + 3 * c**2)
    return float(N0 / (1 - sign * a * mu))  # N0 > 0, and so is N while |a mu| < 1


def main() -> dict[str, Any]:
    """Compare with closed forms, and find where the rod jams."""
    moved, expected = [], []
    for mu in (0.2, 0.5, 0.75):
        push = {"handle": [0, 0, 0, PUSH, 0, 0]}
        moved.append(drawer(mu).forward_dynamics([0.0], [1.0], wrenches=push)[0])
        expected.append(PUSH * (1 - 2 * mu * OFFSET / LENGTH) / MASS)
        print(f"drawer, mu = {mu:4.2f}: {moved[-1]:8.4f} m/s^2, closed form {expected[-1]:8.4f}")

    rod, angles = sliding_rod(1.2), np.array([0.3, 0.8, np.arctan(2.0), 1.4])
    states = np.stack([0 * angles, angles], axis=1), np.tile([1.0, 0.0], (4, 1))
    force = rod.reactions(*states, joints=["rail"])["rail"].force  # a batch
    closed = np.array([normal_force(angle, 1.2, 1.0) for angle in angles])
    for angle, found, known in zip(angles, force[:, 2], closed, strict=True):
        print(f"rod at {angle:6.4f} rad, mu = 1.2: N = {found:9.4f} N, closed form {known:9.4f}")

    said = {}
    for mu in (1.333, 1.334):
        try:
            sliding_rod(mu).forward_dynamics([0.0, np.arctan(2.0)], [1.0, 0.0])
            said[mu] = "one solution"
        except wt.DynamicsError as error:
            said[mu] = str(error)
        print(f"mu = {mu}: {said[mu]}")

    run = sliding_rod(0.4).simulate(1.0, q=[0.0, 0.1], v=[3.0, 0.0])
    print(run.certificate)
    return {"drawer": (moved, expected), "rod": (force, closed), "said": said, "run": run}


if __name__ == "__main__":
    main()
