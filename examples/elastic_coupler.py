"""A slider-crank whose coupler is an elastic beam, driven at a steady speed.

The crank is driven, so the mechanism has no freedom left but the bending of its coupler. Inertia bends it at the pace
of the crank; the faster, the more: at low speeds the deflection grows with the square of the speed, and near the
coupler's own frequency it leaves that law. The loop is closed at interfaces of the flexible body, whose kinematics are
exact. With `--plot` the deflection is drawn.
"""

from __future__ import annotations

import sys

import numpy as np

import whippletree as wt

CRANK, COUPLER = 0.15, 0.6
SECTION = wt.rectangle(width=0.02, height=0.006)


def describe(speed: float) -> wt.Mechanism:
    m = wt.Mechanism("slider-crank", gravity=(0, 0, 0))
    crank = m.body("crank", wt.rod(length=CRANK, mass=0.5))
    coupler = m.body(
        "coupler",
        wt.beam(
            length=COUPLER,
            section=SECTION,
            material=wt.steel,
            modes=2,
            reference="chord",
            damping=0.05,
        ),
    )
    slider = m.body("slider", mass=0.5)
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(CRANK, 0, 0), at_child="root", axis="y")
    m.revolute("C", coupler, slider, at="tip", axis="y")
    m.prismatic("D", m.ground, slider, axis="x")
    m.drive("drive", "A", position=speed * m.time)
    return m


def deflection(speed: float, plot: bool = False) -> float:
    """Return the largest deflection of the coupler's middle in the third turn, in metres."""
    turn = 2 * np.pi / speed
    run = describe(speed).build(guess={"B": 0.0}).simulate(3 * turn, every=turn / 100)
    bent = run.deformation("coupler")
    middle = int(np.argmin(np.abs(bent.positions[:, 0] - COUPLER / 2)))
    mid = bent.displacement[:, middle, 2]
    if plot:
        import matplotlib.pyplot as plt

        plt.plot(run.t / turn, 1e3 * mid)
        plt.xlabel("turns of the crank")
        plt.ylabel("deflection of the coupler's middle [mm]")
        plt.show()
    return float(np.abs(mid[200:]).max())


def main(plot: bool = False) -> dict[float, float]:
    """Return the largest deflections at two speeds in rad/s."""
    found = {speed: deflection(speed, plot and speed == 20.0) for speed in (10.0, 20.0)}
    for speed, most in found.items():
        print(f"{speed:g} rad/s: the middle of the coupler bends by up to {1e3 * most:.3f} mm")
    return found


if __name__ == "__main__":
    main(plot="--plot" in sys.argv)
