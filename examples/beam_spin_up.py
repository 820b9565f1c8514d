"""The spin-up of a beam (Simo and Vu-Quoc 1986): it lags behind its hub, then straightens and is stretched.

A slender beam on a hub is brought to a steady speed of rotation. Inertia bends it backwards while it is accelerated;
without geometric stiffening the same beam would diverge. In the end it is straight, and longer than at rest by
rho A Omega^2 L^3 / (3 E A). `python examples/beam_spin_up.py 4` takes four substructures, `--plot` draws how its tip
moves in the frame of the hub.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import casadi as ca
import numpy as np

import whippletree as wt

LENGTH, AXIAL, BENDING, MASS = 10.0, 2.8e7, 1.4e4, 1.2  # m, N, N m^2, kg/m
SPEED, RISE = 6.0, 15.0  # rad/s, s


class SpinUp(NamedTuple):
    """Times, and how the tip moves along and across the undeformed beam, in the frame of the hub."""

    t: np.ndarray
    along: np.ndarray
    across: np.ndarray

    @property
    def stretch(self) -> float:
        """How much longer the beam is in the end, on average over its remaining oscillation."""
        return float(self.along[self.t > RISE].mean())


def describe(substructures: int = 1) -> wt.Mechanism:
    """Return the beam on its hub, whose angle is given."""
    square = BENDING / AXIAL
    section = wt.section(area=1.0, second_moment_y=square, second_moment_z=square, torsion_constant=2 * square)
    material = wt.Material(density=MASS, youngs_modulus=AXIAL, poisson_ratio=0.3)
    modes = {"modes": 2, "attachment": "tip"} if substructures == 1 else {"substructures": substructures}
    m = wt.Mechanism("spin-up", gravity=(0, 0, 0))
    beam = m.body("beam", wt.beam(length=LENGTH, section=section, material=material, elements=8, **modes))
    m.revolute("hub", m.ground, beam, axis="z")
    t = m.time
    rising = SPEED / RISE * (t**2 / 2 + (RISE / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / RISE) - 1))
    m.drive("spin", "hub", position=ca.if_else(t < RISE, rising, SPEED * (t - RISE / 2)))
    return m


def spin_up(substructures: int = 1) -> SpinUp:
    """Return how the tip moves."""
    run = describe(substructures).build().simulate(18.0, every=0.05, method="dopri5", tolerance=1e-6)
    tip = np.einsum("nji,nj->ni", run.pose("beam")[:, :3, :3], run.pose("beam.tip")[:, :3, 3])
    return SpinUp(run.t, tip[:, 0] - LENGTH, tip[:, 1])


def main(substructures: int = 1, plot: bool = False) -> SpinUp:
    found = spin_up(substructures)
    wanted = MASS * SPEED**2 * LENGTH**3 / (3 * AXIAL)
    worst = int(np.argmin(found.across))
    print(f"the tip lags behind by up to {-found.across[worst]:.4f} m, at {found.t[worst]:.2f} s")
    print(f"in the end the beam is longer by {1e3 * found.stretch:.4f} mm; closed form: {1e3 * wanted:.4f} mm")
    if plot:
        import matplotlib.pyplot as plt

        _, (above, below) = plt.subplots(2, sharex=True)
        above.plot(found.t, found.across)
        above.set_ylabel("across [m]")
        below.plot(found.t, 1e3 * found.along)
        below.set(ylabel="along [mm]", xlabel="time [s]")
        plt.show()
    return found


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(*numbers, plot="--plot" in sys.argv)
