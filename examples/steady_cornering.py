"""A car in a bend: four tyres that slip, against the formula of the single-track model.

A body on four wheels rolls at 20 m/s; the front wheels are then turned by a small angle. A tyre's side force grows with
its slip angle, and needs some metres of rolling to build up, so the car leans into the bend over about a second. For
little slip the yaw rate in the end is known: with the axles a and b from the centre of mass, and the cornering
stiffnesses C_f and C_r of both tyres of an axle,

    r = V delta / (a + b + K V^2),      K = m / (a + b) (b / C_f - a / C_r)

Then the wheels are locked: the car slides to a stop, at friction times g.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.spatial.placement import Placement

MASS, A, B, HALF_TRACK, RADIUS = 1200.0, 1.1, 1.5, 0.75, 0.3
FRONT, REAR, FRICTION = 5.5e4, 6.0e4, 0.9  # cornering stiffness of one tyre, N/rad
SPEED, ANGLE = 20.0, np.radians(0.5)
WHEEL = 10.0
WHEELS = {
    "front left": (A, HALF_TRACK),
    "front right": (A, -HALF_TRACK),
    "rear left": (-B, HALF_TRACK),
    "rear right": (-B, -HALF_TRACK),
}


def describe(*, steered: bool) -> wt.Mechanism:
    """Return a car whose front wheels are turned between 0.5 and 1 s, or whose wheels are locked."""
    m = wt.Mechanism("car")
    # low, so that it hardly leans on its tyres
    looks = [Shape("box", (A + B + 0.8, 2 * HALF_TRACK - 0.4, 0.2), Placement(point=((A - B) / 2, 0, 0)))]
    body = m.body("body", wt.MassProperties(MASS, (0, 0, -0.25), np.diag([300.0, 1500.0, 1700.0]), looks))
    m.free("moves", m.ground, body)
    share = ca.fmin(ca.fmax((m.time - 0.5) / 0.5, 0), 1)
    for name, (x, y) in WHEELS.items():
        hub, at = body, (x, y, 0.0)
        if name.startswith("front"):
            hub = m.body(f"{name} hub")
            m.revolute(f"{name} steering", body, hub, at=at, axis="z")
            m.drive(f"{name} angle", f"{name} steering", position=ANGLE * share * share * (3 - 2 * share))
            at = (0.0, 0.0, 0.0)
        wheel = m.body(name, wt.cylinder(mass=WHEEL, radius=RADIUS, length=0.2, axis="y"))
        if steered:
            m.revolute(f"{name} bearing", hub, wheel, at=at, axis="y")
        else:
            m.fixed(f"{name} brake", hub, wheel, at=at)
        stiffness = FRONT if name.startswith("front") else REAR
        m.tyre(
            f"{name} tyre", wheel, radius=RADIUS, stiffness=2e5, damping=4e3, cornering_stiffness=stiffness,
            friction=None if steered else FRICTION, relaxation=0.4, lateral_relaxation=0.5,
        )  # fmt: skip
    return m


def rolling(system: wt.System) -> dict[str, object]:
    """Return velocities at which the car rolls straight on."""
    turning = {name: SPEED / RADIUS for name in system.joint_names if name.endswith("bearing")}
    return {"moves": [0, 0, 0, SPEED, 0, 0], **turning}


def expected_yaw_rate(speed: float) -> float:
    """Return the yaw rate of the single-track model."""
    mass, length = MASS + 4 * WHEEL, A + B
    K = mass / length * (B / (2 * FRONT) - A / (2 * REAR))
    return float(speed * ANGLE / (length + K * speed * speed))


def main() -> tuple[wt.Trajectory, wt.Trajectory]:
    """Drive through the bend, and slide to a stop."""
    sunk = (MASS + 4 * WHEEL) * 9.81 / 4 / 2e5
    start = {"body": wt.Placement(point=(0, 0, RADIUS - sunk))}
    system = describe(steered=True).build(guess=start)
    bend = system.simulate(4.0, every=0.02, v=rolling(system))
    yaw, speed = bend.velocity("body")[-1][2], np.linalg.norm(bend.velocity("body")[-1][3:5])
    print(f"yaw rate {yaw:.5f} rad/s, by the single-track model {expected_yaw_rate(speed):.5f} rad/s")

    locked = describe(steered=False).build(guess=start)
    stop = locked.simulate(3.0, every=0.02, v={"moves": [0, 0, 0, SPEED, 0, 0]})
    way = stop.position("body")[-1][0]
    print(f"with locked wheels it slides {way:.2f} m; V^2 / (2 mu g) = {SPEED**2 / (2 * FRICTION * 9.81):.2f} m")
    print(stop.certificate)
    return bend, stop


if __name__ == "__main__":
    main()
