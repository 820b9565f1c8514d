"""Why a bicycle stays up by itself: eigenvalues of Whipple's bicycle over its speed.

Four rigid bodies with the parameters of the benchmark by Meijaard, Papadopoulos, Ruina and Schwab (2007): a frame
with a rigid rider, a fork, and two thin wheels that roll without slipping. Each wheel is two closures: it touches the
ground, and its lowest point is at rest. x is forward, y to the right and z down.

Between the weave speed of 4.29 m/s and the capsize speed of 6.02 m/s it needs no rider who steers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.equilibria import eigenvalues_over

WHEELBASE, TRAIL, TILT, REAR, FRONT = 1.02, 0.08, np.pi / 10, 0.3, 0.35


def describe() -> wt.Mechanism:
    """The bicycle upright, its rear wheel touching the ground at the origin."""
    m = wt.Mechanism("bicycle", gravity=(0, 0, 9.81))
    axis = WHEELBASE + TRAIL  # where the steering axis meets the ground
    frame = m.body("frame", mass=85, com=(0.3, 0, -0.9), inertia=[[9.2, 0, 2.4], [0, 11, 0], [2.4, 0, 2.8]])
    turned = [[0.05892, 0, -0.00756], [0, 0.06, 0], [-0.00756, 0, 0.00708]]
    fork = m.body("fork", mass=4, com=(0.9 - axis, 0, -0.7), inertia=turned)
    rear = m.body("rear wheel", mass=2, inertia=(0.0603, 0.12, 0.0603))
    front = m.body("front wheel", mass=3, inertia=(0.1405, 0.28, 0.1405))
    m.free("base", m.ground, frame)
    m.revolute("steer", frame, fork, at=(axis, 0, 0), axis=(np.sin(TILT), 0, np.cos(TILT)))
    m.revolute("rear hub", frame, rear, at=(0, 0, -REAR), axis="-y")
    m.revolute("front hub", fork, front, at=(-TRAIL, 0, -FRONT), axis="-y")
    for wheel, radius in ((rear, REAR), (front, FRONT)):
        roll(m, wheel, radius)
    return m


def roll(m: wt.Mechanism, wheel: Any, radius: float) -> None:
    """Let a thin wheel touch the ground and not slip."""
    axle = m.rotation(wheel)[:, 1]
    down = ca.vertcat(0, 0, 1) - axle[2] * axle
    to_ground = radius * down / ca.norm_2(down)
    m.closure(f"{wheel.name} touches", m.position(wheel)[2] + to_ground[2])
    slip = m.velocity(wheel)[3:] + ca.cross(m.velocity(wheel)[:3], to_ground)
    m.closure(f"{wheel.name} rolls", slip[:2])


def main(picture: str | Path | None = None) -> dict[str, Any]:
    """Print the eigenvalues at some speeds, and where stability changes."""
    s = describe().build()
    for speed in (2.0, 5.0, 8.0):
        values = s.linearize(s.q0, {"rear hub": speed / REAR}).eigenvalues
        print(f"{speed:4.1f} m/s:", "  ".join(f"{x:.4f}" for x in values[values != 0]))
    branches = eigenvalues_over(s, "rear hub.speed", np.linspace(0, 10, 41) / REAR)
    weave, capsize = (REAR * value for value in branches.changes)
    print(f"weave speed {weave:.9f} m/s, capsize speed {capsize:.9f} m/s")
    if picture is not None:
        branches.plot(path=picture)
    return {"weave": weave, "capsize": capsize, "branches": branches}


if __name__ == "__main__":
    main("bicycle.png")
