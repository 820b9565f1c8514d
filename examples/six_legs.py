"""A plate on six legs: which forces in the legs make it follow a path?

Every leg is a universal joint on the ground, a slider with a motor, and a ball under the plate: 13 bodies in five
independent loops, six freedoms, no redundancy. The pose of the plate is not a joint coordinate of such a machine.
A `free` joint between the ground and the plate makes it one: it holds nothing, but it has coordinates, and in a
mechanism with loops every joint's coordinates are at hand. So the path is given as the plate's pose, velocity and
acceleration, and all else follows from it.

Inverse dynamics with the six sliders as actuators then gives the legs' forces, for all instants in one call. Put
into forward dynamics they give the accelerations of the path back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
BASE_RADIUS, PLATE_RADIUS, ROD = 1.0, 0.5, 0.6
TUBE_MASS, ROD_MASS, PLATE_MASS = 1.0, 0.7, 12.0
LEGS = tuple(f"leg {k}" for k in range(6))
PERIOD = 2.0


def corners() -> tuple[Array, Array]:
    """The legs' points on the ground and on the plate: pairs that lean against each other."""
    low, high = (np.radians([angle + way for angle in (0, 120, 240) for way in (-d, d)]) for d in (12, 48))
    flat = np.zeros(6)
    return (
        BASE_RADIUS * np.column_stack([np.cos(low), np.sin(low), flat]),
        PLATE_RADIUS * np.column_stack([np.cos(high), np.sin(high), flat]),
    )


def describe() -> wt.Mechanism:
    """Six legs, a plate, and a free joint that gives the plate coordinates."""
    m = wt.Mechanism("platform")
    plate = m.body("plate", wt.cylinder(radius=0.6, length=0.05, mass=PLATE_MASS))
    m.free("pose", m.ground, plate)
    for leg, low, high in zip(LEGS, *corners(), strict=True):
        tube = m.body(f"tube of {leg}", wt.rod(length=0.6, mass=TUBE_MASS, axis="z"))
        rod = m.body(f"rod of {leg}", wt.rod(length=ROD, mass=ROD_MASS, axis="z"))
        m.universal(f"foot of {leg}", m.ground, tube, at=low, axis="x", axis_child="y")
        m.prismatic(leg, tube, rod, axis="z")
        m.spherical(f"ball of {leg}", rod, plate, at=(0, 0, ROD), at_child=high)
    return m


def path(t: float) -> tuple[Array, Array, Array]:
    """The plate's pose [quaternion; position], velocity and acceleration, as the free joint has them.

    The plate's centre goes in a circle, up and down twice, and the plate rocks about x. Velocities of a free joint
    are in the plate's own axes; these turn, which is the last term of the acceleration.
    """
    w = 2 * np.pi / PERIOD
    s, c, s2, c2 = np.sin(w * t), np.cos(w * t), np.sin(2 * w * t), np.cos(2 * w * t)
    position = np.array([0.15 * c, 0.15 * s, 0.9 + 0.05 * s2])
    velocity = w * np.array([-0.15 * s, 0.15 * c, 0.1 * c2])
    acceleration = w**2 * np.array([-0.15 * c, -0.15 * s, -0.2 * s2])
    angle, rate, change = 0.2 * s, 0.2 * w * c, -0.2 * w**2 * s
    ca, sa = np.cos(angle), np.sin(angle)
    R = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    own = R.T @ velocity
    return (
        np.array([np.cos(angle / 2), np.sin(angle / 2), 0, 0, *position]),
        np.array([rate, 0, 0, *own]),
        np.array([change, 0, 0, *(R.T @ acceleration - np.cross([rate, 0, 0], own))]),
    )


def follow(system: wt.System, times: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of all joints on the path."""
    states, q = [], system.q0
    where = system.q_slice("pose")
    for t in times:
        pose, velocity, acceleration = path(t)
        q[where] = pose
        q = system.assemble(q, hold=["pose"])
        v = system.consistent_velocities(q, {"pose": velocity}, hold=["pose"])
        states.append((q.copy(), v, system.consistent_accelerations(q, v, {"pose": acceleration}, hold=["pose"])))
    Q, V, A = (np.array(part) for part in zip(*states, strict=True))
    return Q, V, A


def main(count: int = 32) -> dict[str, Any]:
    """Find the legs' forces on the path, and let forward dynamics confirm them."""
    system = describe().build(guess={"pose": path(0.0)[0]}, hold=["pose"])
    print(system.mobility)

    times = PERIOD / count * np.arange(count)
    Q, V, A = follow(system, times)
    efforts = system.inverse_dynamics(Q, V, A, actuators=LEGS)
    legs = [system.v_slice(leg).start for leg in LEGS]
    forces = efforts[:, legs]
    print("\nforce in   at least   at most (N)")
    for leg, least, most in zip(LEGS, forces.min(0), forces.max(0), strict=True):
        print(f"  {leg}  {least:9.3f} {most:9.3f}")

    again = system.forward_dynamics(Q, V, efforts)
    print(f"forward dynamics gives the path's accelerations back to {np.abs(again - A).max():.1e}")

    # At rest the forces only carry weight.
    still = system.inverse_dynamics(Q, np.zeros(system.nv), actuators=LEGS)[:, legs]
    print(f"at rest at the start the legs carry {still[0].round(3)}")
    energy = system.energy(Q, V).total
    lengths = Q[:, [system.q_slice(leg).start for leg in LEGS]] + ROD
    return {
        "system": system,
        "Q": Q,
        "V": V,
        "A": A,
        "efforts": efforts,
        "forces": forces,
        "again": again,
        "still": still,
        "energy": energy,
        "lengths": lengths,
        "rates": V[:, legs],
    }


if __name__ == "__main__":
    main()
