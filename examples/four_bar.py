"""A four-bar linkage: a closed loop, described like anything else.

Four bodies (the ground is one) on four hinges. Nobody says that there is a loop, where to cut it, or which of the
four angles depend on which: the mechanism is assembled from a rough guess of one angle, and the system tells what
it found. Gruebler's formula counts -2 freedoms for four parallel hinges in space; the linkage has one, because
three of the equations follow from the others. That is also why not every component of a reaction means something:
the hinges hold each other sideways, and how much they do so is beyond the mechanics of rigid bodies.

The second half asks for the torque of a motor at the crank that keeps its speed constant over a full turn, in one
call for all positions. Its power must be the rate of the energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
CRANK, COUPLER, ROCKER, BASE = 1.0, 2.0, 1.5, 2.0
SPEED = 4.0  # of the crank, rad/s


def describe() -> wt.Mechanism:
    """Crank, coupler and rocker in the x-z plane; the hinge that happens to close the loop is nothing special."""
    m = wt.Mechanism("four-bar", gravity=(0, 0, -9.81))
    crank = m.body("crank", wt.rod(length=CRANK, mass=1.0, axis="x"))
    coupler = m.body("coupler", wt.rod(length=COUPLER, mass=2.0, axis="x"))
    rocker = m.body("rocker", wt.rod(length=ROCKER, mass=1.5, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(CRANK, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(COUPLER, 0, 0), at_child=(ROCKER, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(BASE, 0, 0), axis="y")
    return m


def full_turn(system: wt.System, count: int) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of all hinges while the crank turns once at constant speed.

    Each position is assembled from the one before it, so that the linkage stays on its branch.
    """
    states, q = [], system.q0
    for angle in q[0] + 2 * np.pi / count * np.arange(count):
        q = system.assemble([angle, *q[1:]], hold=["A"])
        v = system.consistent_velocities(q, {"A": SPEED})
        states.append((q, v, system.consistent_accelerations(q, v, {"A": 0.0})))
    positions, velocities, accelerations = (np.array(part) for part in zip(*states, strict=True))
    return positions, velocities, accelerations


def main(count: int = 128) -> dict[str, Any]:
    """Assemble, tell what was found, release the linkage, and drive it."""
    system = describe().build(guess={"A": 1.0})  # roughly where the crank is; the other angles follow
    print(system.mobility)
    print(system.plan)

    # Let go at rest: the accelerations of all four hinges, the cut one too, and what they carry.
    q, v = system.q0, system.v0
    a = system.forward_dynamics(q, v)
    reactions = system.reactions(q, v)
    print("\nreleased at rest:", *(f"{name} {x:8.4f}" for name, x in zip(system.joint_names, a, strict=True)))
    words = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
    determined = [word for word, unique in zip(words, reactions["C"].unique, strict=True) if unique]
    print("force on the rocker at C:", reactions["C"].force.round(4))
    print("determined there:", ", ".join(determined), "| the rest is shared by", ", ".join(reactions.shared))

    # A motor at A for a full turn: one call for all positions.
    Q, V, A = full_turn(system, count)
    torques = system.inverse_dynamics(Q, V, A, actuators=["A"])
    energy = system.energy(Q, V).total
    motor = torques[:, 0]
    print(f"\nmotor torque over a turn at {SPEED} rad/s: from {motor.min():.3f} to {motor.max():.3f} N m,", end=" ")
    print(f"{motor.mean():.1e} on average")

    # Two motors share the work with the least sum of squares.
    both = system.inverse_dynamics(Q, V, A, actuators=["A", "D"])
    print(f"with a second motor at D the crank's needs {np.abs(both[:, 0]).max():.3f} N m at most")
    return {
        "system": system,
        "q": q,
        "a": a,
        "reactions": reactions,
        "Q": Q,
        "V": V,
        "A": A,
        "torques": torques,
        "both": both,
        "energy": energy,
    }


if __name__ == "__main__":
    main()
