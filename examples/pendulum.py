"""A pendulum: the smallest mechanism, checked against closed forms.

A uniform rod hangs on a hinge. Its angle is measured from straight down, positive when the rod swings
towards -x (a right-handed turn about y takes -z to -x). Textbooks give

    acceleration      -(3 g / 2 L) sin(angle)
    hinge force       what accelerates the centre of mass, minus the weight
    period            4 K(sin(amplitude / 2)) sqrt(2 L / 3 g), with the complete elliptic integral K

and this example computes the same from a description of one body and one joint.
"""

from __future__ import annotations

from math import atan, pi, sin, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
LENGTH, MASS, G = 0.8, 1.5, 9.81
AMPLITUDE = 2.0  # radians: far from small


def describe() -> wt.Mechanism:
    """One rod that hangs down at zero, one hinge about y."""
    m = wt.Mechanism("pendulum", gravity=(0, 0, -G))
    rod = m.body("rod", wt.rod(length=LENGTH, mass=MASS, axis="-z"))
    m.revolute("hinge", m.ground, rod, axis="y")
    m.frame("tip", on=rod, at=(0, 0, -LENGTH))
    return m


def period_by_formula() -> float:
    """K by the arithmetic-geometric mean: K(k) = pi / (2 agm(1, sqrt(1 - k^2)))."""
    a, b = 1.0, sqrt(1 - sin(AMPLITUDE / 2) ** 2)
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2, sqrt(a * b)
    return 4 * pi / (2 * a) * sqrt(2 * LENGTH / (3 * G))


def period_by_stepping(system: wt.System, h: float = 1e-3) -> float:
    """Let it go and wait until it passes the lowest point: that is a quarter of the period."""

    def rates(y: Array) -> Array:
        return np.concatenate([y[1:], system.forward_dynamics(y[:1], y[1:])])

    y, t = np.array([AMPLITUDE, 0.0]), 0.0
    while True:
        k1 = rates(y)
        k2 = rates(y + h / 2 * k1)
        k3 = rates(y + h / 2 * k2)
        k4 = rates(y + h * k3)
        new = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if new[0] <= 0:
            # the last bit of the way is a small swing: angle cos(w t) + rate / w sin(w t) = 0
            w = sqrt(1.5 * G / LENGTH)
            return 4 * (t + atan(-y[0] * w / y[1]) / w)
        y, t = new, t + h


def main() -> dict[str, Any]:
    """Compute accelerations, the hinge's force, energy and the period."""
    system = describe().build()
    angles = np.linspace(-3, 3, 7)[:, None]
    rates = np.full_like(angles, 0.5)

    accelerations = system.forward_dynamics(angles, rates)  # seven states in one call
    force = system.reactions(angles, rates)["hinge"].force
    energy = system.energy(angles, rates)
    tip = system.pose(angles, "tip")[:, :3, 3]

    print("angle    acceleration  hinge force x, z       energy")
    for q, a, f, e in zip(angles[:, 0], accelerations[:, 0], force, energy.total, strict=True):
        print(f"{q:5.1f}  {a:12.4f}    {f[0]:8.4f} {f[2]:8.4f}   {e:9.5f}")
    by_formula, by_stepping = period_by_formula(), period_by_stepping(system)
    print(f"period from {AMPLITUDE} rad: {by_stepping:.9f} s by stepping, {by_formula:.9f} s by formula")
    return {
        "angles": angles[:, 0],
        "rates": rates[:, 0],
        "accelerations": accelerations[:, 0],
        "force": force,
        "energy": energy.total,
        "tip": tip,
        "period": by_stepping,
        "period by formula": by_formula,
    }


if __name__ == "__main__":
    main()
