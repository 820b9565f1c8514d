"""Andrews' squeezing mechanism: seven small bodies, three loops, one freedom, and a stiff spring.

A well-known test of methods for mechanisms with loops (problem A03 of the IFToMM library). All bodies move in one
plane; K2, K4 and K6 meet K3 in the same point E. A motor turns the crank K1 with a constant torque, and the plate
K3 is held by a spring from its corner D to a fixed point. The sizes are centimetres and the masses grams: what
counts as small is judged by the mechanism's own length, not in metres.

A spring is nothing that the description has to know: its force is worked out in Python, from the pose of D, and
given as a wrench at each call. The motion is followed for a few milliseconds, in which the spring does most of the
work. What motor and spring give must be the kinetic energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
A, B, C = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0), (0.014, 0.072, 0)  # fixed points; the motor's is the origin
TORQUE, STIFFNESS, FREE_LENGTH = 0.033, 4530.0, 0.07785
START = {"beta": -0.0617138900142764, "theta": 0.0}
GUESS = START | {"gamma": 0.455, "phi": 0.223, "delta": 0.487, "omega": -0.223, "epsilon": 1.231}

# mass, inertia about the centre, and the centre from the joint on which the body hangs, in axes that turn with it
BODIES = {
    "K1": (0.04325, 2.194e-6, (0.00092, 0, 0)),
    "K2": (0.00365, 4.410e-7, (-0.0115, 0, 0)),
    "K3": (0.02373, 5.255e-6, (0.01043, -0.01874, 0)),
    "K4": (0.00706, 5.667e-7, (0, -0.02 + 0.01421, 0)),
    "K5": (0.0705, 1.169e-5, (0.02308, 0.00916, 0)),
    "K6": (0.00706, 5.667e-7, (0.02 - 0.01421, 0, 0)),
    "K7": (0.05498, 1.912e-5, (-0.00449, -0.01228, 0)),
}


def describe() -> wt.Mechanism:
    """Bodies and joints as the problem lists them; the angles keep its names."""
    m = wt.Mechanism("squeezer", gravity=(0, 0, 0))
    K1, K2, K3, K4, K5, K6, K7 = (
        m.body(name, mass=mass, com=centre, inertia=inertia * np.eye(3))
        for name, (mass, inertia, centre) in BODIES.items()
    )
    m.revolute("beta", m.ground, K1)
    m.revolute("theta", K1, K2, at=(0.007, 0, 0))
    m.revolute("gamma", m.ground, K3, at=B)
    m.revolute("delta", m.ground, K5, at=A)
    m.revolute("phi", K5, K4, at=(0.04, 0, 0))
    m.revolute("epsilon", m.ground, K7, at=A)
    m.revolute("omega", K7, K6, at=(0, -0.04, 0))
    for name, body, end in (("E2", K2, (-0.028, 0, 0)), ("E4", K4, (0, -0.02, 0)), ("E6", K6, (0.02, 0, 0))):
        m.revolute(name, K3, body, at=(0, -0.035, 0), at_child=end)
    m.frame("D", on=K3, at=(0.02, -0.018, 0))
    return m


def spring(system: wt.System, q: Array) -> tuple[Array, Array]:
    """The wrench of the spring at D, and its energy; for one position or many."""
    to_c = np.array(C) - system.pose(q, "D")[..., :3, 3]
    length = np.linalg.norm(to_c, axis=-1, keepdims=True)
    stretch = length - FREE_LENGTH
    force = STIFFNESS * stretch * to_c / length
    return np.concatenate([np.zeros_like(force), force], axis=-1), STIFFNESS / 2 * stretch[..., 0] ** 2


def step(system: wt.System, q: Array, v: Array, tau: Array, h: float) -> tuple[Array, Array]:
    """Take a Runge-Kutta step and close the loops again."""

    def acceleration(q: Array, v: Array) -> Array:
        return system.forward_dynamics(q, v, tau, wrenches={"D": spring(system, q)[0]}, check=False)

    a1 = acceleration(q, v)
    v2 = v + h / 2 * a1
    a2 = acceleration(q + h / 2 * v, v2)
    v3 = v + h / 2 * a2
    a3 = acceleration(q + h / 2 * v2, v3)
    v4 = v + h * a3
    a4 = acceleration(q + h * v3, v4)
    q = system.assemble(q + h / 6 * (v + 2 * v2 + 2 * v3 + v4))
    return q, system.consistent_velocities(q, v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4))


def main(seconds: float = 0.01, steps: int = 200) -> dict[str, Any]:
    """Assemble near the given angles, find the first accelerations, and follow the motion."""
    system = describe().build(guess=GUESS, hold=list(START))
    report = system.mobility
    print(
        f"mobility {report.mobility}, Gruebler's count {report.gruebler}, {len(report.redundant)} redundant equations"
    )
    print(f"characteristic length {system.kernels.closures.characteristic_length:.4f} m")
    q, v, tau = system.q0, system.v0, system.velocities({"beta": TORQUE})
    wrench, _ = spring(system, q)
    start = system.forward_dynamics(q, v, tau, wrenches={"D": wrench})
    print("\n joint      angle at the start    acceleration")
    for name, angle, acceleration in zip(system.joint_names, q, start, strict=True):
        print(f" {name:<8} {angle:20.15f} {acceleration:15.6f}")

    states = [(q, v)]
    for _ in range(steps):
        q, v = step(system, q, v, tau, seconds / steps)
        states.append((q, v))
    Q, V = (np.array(part) for part in zip(*states, strict=True))
    kinetic, tension = system.energy(Q, V).kinetic, spring(system, Q)[1]
    work = TORQUE * (Q[:, 0] - Q[0, 0])
    balance = kinetic + tension - tension[0] - work
    print(f"\nafter {1000 * seconds:g} ms the crank has turned by {Q[-1, 0] - Q[0, 0]:.6f} rad:", end=" ")
    print(f"work {work[-1]:.6f} J, kinetic {kinetic[-1]:.6f} J, from the spring {tension[0] - tension[-1]:.6f} J")
    print(f"the balance of energy is within {np.abs(balance).max():.1e} J")
    return {"system": system, "start": start, "Q": Q, "V": V, "work": work, "balance": balance, "wrench": wrench}


if __name__ == "__main__":
    main()
