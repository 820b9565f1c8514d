"""Bodies that touch: a ball rolls off a ramp onto a crate, and a rod falls across both.

Spheres and capsules touch each other, the ground and the faces of boxes; a box stands on the ground by its corners. All
of it is smooth and rubs, and the energy that it takes is in the balance.
"""

from __future__ import annotations

import numpy as np

import whippletree as wt

BALL, CRATE, SLOPE = 0.15, (1.0, 0.6, 0.4), 0.3
RUBBER = {"stiffness": 2e4, "damping": 200.0, "friction": 0.6}


def describe() -> wt.Mechanism:
    """Return a ramp on the ground, a ball on it, a crate at its foot and a rod in the air."""
    m = wt.Mechanism("touching")
    ball = m.body("ball", wt.sphere(radius=BALL, mass=3.0))
    crate = m.body("crate", wt.box(size=CRATE, mass=10.0))
    rod = m.body("rod", wt.cylinder(radius=0.03, length=0.8, mass=2.0, axis="y"))
    for body in (ball, crate, rod):
        m.free(f"{body.name} moves", m.ground, body)
    tilted = [[np.cos(SLOPE), 0, np.sin(SLOPE)], [0, 1, 0], [-np.sin(SLOPE), 0, np.cos(SLOPE)]]
    ramp = m.frame("ramp", on=m.ground, at=(-1, 0, 0.5), rotation=tilted)
    m.contact_between("on the ramp", ball, ramp, radius=BALL, size_child=(2.0, 1.0, 0.1), **RUBBER)
    m.contact_between("against the crate", ball, crate, radius=BALL, size_child=CRATE, **RUBBER)
    m.contact_between("across the ball", rod, ball, radius=0.03, length=0.8, axis="y",
                      radius_child=BALL, **RUBBER)  # fmt: skip
    m.contact_between("across the crate", rod, crate, radius=0.03, length=0.8, axis="y",
                      size_child=CRATE, **RUBBER)  # fmt: skip
    m.contact("ball on the floor", ball, radius=BALL, **RUBBER)
    m.contact("crate on the floor", crate, size=CRATE, **RUBBER)
    m.contact("rod on the floor", rod, radius=0.03, length=0.8, axis="y", **RUBBER)
    return m


def main() -> wt.Trajectory:
    """Let go, and print where everything comes to rest."""
    start = {
        "ball": wt.Placement(point=(-1.6, 0, 0.5 + 0.6 * np.sin(SLOPE) + 0.27)),
        "crate": wt.Placement(point=(0.9, 0, CRATE[2] / 2)),
        "rod": wt.Placement(point=(0.7, 0, 0.9)),
    }
    run = describe().build(guess=start).simulate(4.0, every=0.02)
    for name in ("ball", "crate", "rod"):
        x, y, z = run.position(name)[-1]
        print(f"{name:<5} at ({x:+.3f}, {y:+.3f}, {z:+.3f}) m")
    print(run.certificate)
    return run


if __name__ == "__main__":
    main()
