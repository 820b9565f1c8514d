"""A crank whose motion is given: which torque does its motor need?

A hinge declared with `prescribed=True` has no torque as input: its acceleration is given, and the
driving torque comes out. Here a crank turns half a turn along a smooth profile and a rod swings freely
at its end. The work of the motor must be the change of energy, whatever the rod does.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
DURATION = 0.8


def describe() -> wt.Mechanism:
    """A crank about y, with a rod hanging at its pin."""
    m = wt.Mechanism("driven crank")
    crank = m.body("crank", wt.rod(length=0.2, mass=0.5, axis="x"))
    rod = m.body("rod", wt.rod(length=0.6, mass=1.2, axis="-z"))
    m.revolute("motor", m.ground, crank, axis="y", prescribed=True)
    m.revolute("pin", crank, rod, at=(0.2, 0, 0), axis="y")
    return m


def profile(t: float) -> tuple[float, float, float]:
    """Angle, rate and acceleration: half a turn that starts and ends at rest (a cycloidal cam)."""
    w, mean = 2 * pi / DURATION, pi / DURATION
    return mean * (t - sin(w * t) / w), mean * (1 - cos(w * t)), mean * w * sin(w * t)


def main(steps: int = 400) -> dict[str, Any]:
    """Drive the crank, integrate the rod's swing, and add up the motor's work."""
    system = describe().build()

    def evaluate(t: float, y: Array) -> tuple[Array, Array, Array, float]:
        """State, rates of (pin angle, pin rate, work), and the driving torque."""
        angle, rate, acceleration = profile(t)
        q, v = np.array([angle, y[0]]), np.array([rate, y[1]])
        a = {"motor": acceleration}
        torque = float(system.driving_forces(q, v, a=a)[0])
        pin = float(system.forward_dynamics(q, v, a=a)[1])
        return q, v, np.array([y[1], pin, torque * rate]), torque

    h, y = DURATION / steps, np.zeros(3)
    q, v, _, torque = evaluate(0.0, y)
    start, torques = float(system.energy(q, v).total), [torque]
    for i in range(steps):
        t = i * h
        k1 = evaluate(t, y)[2]
        k2 = evaluate(t + h / 2, y + h / 2 * k1)[2]
        k3 = evaluate(t + h / 2, y + h / 2 * k2)[2]
        k4 = evaluate(t + h, y + h * k3)[2]
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        q, v, _, torque = evaluate(t + h, y)
        torques.append(torque)
    end, work = float(system.energy(q, v).total), float(y[2])
    print(f"largest torque {max(map(abs, torques)):.4f} N m")
    print(f"work of the motor {work:.9f} J, change of energy {end - start:.9f} J")
    return {"torques": np.array(torques), "work": work, "change of energy": end - start, "system": system}


if __name__ == "__main__":
    main()
