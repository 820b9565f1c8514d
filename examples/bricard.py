"""Bricard's mechanism: six hinges in a ring that, by the usual count, cannot move at all.

Five rods of one metre hang on six hinges along the edges of a cube, each hinge at right angles to the next. Six
freedoms, less six equations of the closed ring, makes none: Gruebler's formula says that it is a frame. But its
dimensions are special, one equation follows from the five others, and it moves. (It is problem A04 of the IFToMM
library of benchmarks for multibody dynamics.) Nothing has to be told or tuned for that: the redundant equation is
found and named, and the mechanism works like any other.

It is let go at rest and followed with a fourth-order Runge-Kutta method in all six angles. After each step they
are put back on the closed ring, so that only the accuracy of the steps is left to see, in the energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
AXES = ("y", "z", "x", "y", "z", "x")


def describe() -> wt.Mechanism:
    """Five square rods, 1 m by 0.1 by 0.1, one after the other; gravity is along -y."""
    m = wt.Mechanism("bricard", gravity=(0, -9.81, 0))
    before, origin = m.ground, POINTS[0]
    for k in range(5):
        along = POINTS[k + 1] - POINTS[k]
        rod = m.body(f"rod {k + 1}", wt.box(np.where(along == 0, 0.1, 1.0), mass=1.0, at=along / 2))
        m.revolute(f"R{k + 1}", before, rod, at=POINTS[k] - origin, axis=AXES[k])
        before, origin = rod, POINTS[k]
    m.revolute("R6", before, m.ground, at=POINTS[5] - origin, at_child=POINTS[5], axis=AXES[5])
    m.frame("corner", on="rod 2", at=(0, -1, 0))
    return m


def step(system: wt.System, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """Take one Runge-Kutta step and return to the ring; between the two it is open by a little, which is meant."""

    def acceleration(q: Array, v: Array) -> Array:
        return system.forward_dynamics(q, v, check=False)

    a1 = acceleration(q, v)
    v2 = v + h / 2 * a1
    a2 = acceleration(q + h / 2 * v, v2)
    v3 = v + h / 2 * a2
    a3 = acceleration(q + h / 2 * v2, v3)
    v4 = v + h * a3
    a4 = acceleration(q + h * v3, v4)
    q = system.assemble(q + h / 6 * (v + 2 * v2 + 2 * v3 + v4))
    return q, system.consistent_velocities(q, v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4))


def fall(system: wt.System, seconds: float, steps: int) -> tuple[Array, Array]:
    """Return the states of a motion from rest."""
    q, v = system.q0, system.v0
    states = [(q, v)]
    for _ in range(steps):
        q, v = step(system, q, v, seconds / steps)
        states.append((q, v))
    Q, V = (np.array(part) for part in zip(*states, strict=True))
    return Q, V


def main(seconds: float = 1.5) -> dict[str, Any]:
    """Report the mobility, and let the mechanism go with two step sizes."""
    system = describe().build()
    print(system.mobility)
    start = system.forward_dynamics(system.q0, system.v0)
    print("accelerations at the start:", start.round(6) + 0.0)
    drifts = []
    for steps in (100, 200):
        Q, V = fall(system, seconds, steps)
        energy = system.energy(Q, V).total
        drifts.append(float(np.abs(energy - energy[0]).max()))
        print(f"{steps} steps in {seconds} s: the energy changes by {drifts[-1]:.1e} J")
    corner = system.pose(Q, "corner")[:, :3, 3]
    print("the corner that starts at (1, -1, 0) ends at", corner[-1].round(5))
    return {"system": system, "start": start, "Q": Q, "V": V, "drifts": drifts, "corner": corner}


if __name__ == "__main__":
    main()
