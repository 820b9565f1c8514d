"""A satellite with an arm, floating freely: its arm turns it, and its momentum stays what it was.

The base hangs on nothing: a free joint leads to it from the ground. Motors at the arm's joints push arm
and base against each other, so neither the linear momentum nor the angular momentum about the centre of
mass can change.

The motion is found with a small fourth-order Runge-Kutta method. The state of the free joint holds a
unit quaternion; `coordinate_rates` gives its rate and `normalize` takes away the length that a step
adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]


def describe() -> wt.Mechanism:
    """A box with two arm segments, without gravity."""
    m = wt.Mechanism("satellite", gravity=(0, 0, 0))
    base = m.body("base", wt.box((1.0, 1.2, 1.5), mass=120.0))
    boom = m.body("boom", wt.rod(length=1.5, mass=8.0, axis="x"))
    hand = m.body("hand", wt.rod(length=1.0, mass=4.0, axis="x") + wt.sphere(0.1, mass=6.0, at=(1, 0, 0)))
    m.free("flight", m.ground, base)
    m.revolute("shoulder", base, boom, at=(0.5, 0.3, 0.2), axis="z")
    m.revolute("elbow", boom, hand, at=(1.5, 0, 0), axis="y")
    return m


def motor_torques(system: wt.System, t: float) -> Array:
    """Swing the arm out and back; the free joint has no motor."""
    return system.velocities({"shoulder": 6 * np.cos(2 * t), "elbow": 3 * np.sin(3 * t)})


def step(system: wt.System, t: float, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """Take one Runge-Kutta step."""

    def rates(t: float, q: Array, v: Array) -> tuple[Array, Array]:
        q = system.configuration(q)
        return system.coordinate_rates(q, v), system.forward_dynamics(q, v, motor_torques(system, t))

    q1, v1 = rates(t, q, v)
    q2, v2 = rates(t + h / 2, q + h / 2 * q1, v + h / 2 * v1)
    q3, v3 = rates(t + h / 2, q + h / 2 * q2, v + h / 2 * v2)
    q4, v4 = rates(t + h, q + h * q3, v + h * v3)
    q = q + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4)
    return system.configuration(q), v + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)


def start(system: wt.System) -> tuple[Array, Array]:
    """Return the first state: drifting and tumbling slowly."""
    q = system.configuration({"elbow": 0.4})
    return q, system.velocities({"flight": (0.05, -0.02, 0.03, 0.1, 0.0, 0.0)})


def fly(system: wt.System, seconds: float, steps: int) -> tuple[Array, Array]:
    """Return the state after some seconds."""
    q, v = start(system)
    h = seconds / steps
    for i in range(steps):
        q, v = step(system, i * h, q, v, h)
    return q, v


def main() -> dict[str, Any]:
    """Fly for ten seconds with two step sizes, and see what happens to the momentum."""
    system = describe().build()
    q, v = start(system)
    before, energy_before = system.momentum(q, v), float(system.energy(q, v).kinetic)
    print("angular momentum at the start:", before.angular)
    print("linear momentum at the start: ", before.linear)
    drifts = []
    for steps in (500, 1000):
        q, v = fly(system, 10.0, steps)
        after = system.momentum(q, v)
        drift = max(np.abs(after.angular - before.angular).max(), np.abs(after.linear - before.linear).max())
        drifts.append(float(drift))
        print(f"{steps:5d} steps: the momentum has changed by {drift:.1e}")
    turned = 2 * np.arccos(min(1.0, abs(q[0])))
    energy = float(system.energy(q, v).kinetic)
    print(f"The base has turned by {np.degrees(turned):.1f} degrees, and the motors have raised", end=" ")
    print(f"the kinetic energy from {energy_before:.3f} to {energy:.3f} J.")
    return {"before": before, "after": after, "drifts": drifts, "turned": turned, "q": q}


if __name__ == "__main__":
    main()
