"""Joint reactions of an arm: what the bearings have to carry, at rest and in motion.

A reaction is the whole wrench that a joint transmits to its child body, the motor's torque included, at
the joint point and in ground axes. Two things are easy to check by hand:

- at rest, the first joint carries the weight of everything, and its moment balances that weight about
  the joint;
- in motion, the first joint's force is the rate of the total linear momentum, less the weight (Newton's
  second law).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

MASSES = (6.0, 4.0, 2.0)


def describe() -> wt.Mechanism:
    """A turntable, an upper arm and a forearm, the last with a tool at its end."""
    m = wt.Mechanism("arm")
    column = m.body("column", wt.cylinder(radius=0.1, length=0.4, mass=MASSES[0], at=(0, 0, 0.2)))
    upper = m.body("upper arm", wt.rod(length=0.5, mass=MASSES[1], axis="x"))
    fore = m.body("forearm", wt.rod(length=0.4, mass=1.5, axis="x") + wt.point_mass(0.5, at=(0.4, 0, 0)))
    m.revolute("turntable", m.ground, column, axis="z")
    m.revolute("shoulder", column, upper, at=(0, 0, 0.4), axis="y")
    m.revolute("elbow", upper, fore, at=(0.5, 0, 0), axis="y")
    return m


def main() -> dict[str, Any]:
    """Print the reactions at rest and in motion, and compare with Newton's law for the whole."""
    system = describe().build()
    q = system.configuration({"shoulder": 0.3, "elbow": -0.9})

    # At rest: bias_force is the torque that holds the arm still.
    holding = system.bias_force(q, system.v0)
    rest = system.reactions(q, system.v0, holding)
    print("at rest          force x, y, z                     moment x, y, z")
    for name, reaction in rest.items():
        print(f"  {name:<10}", *(f"{x:10.4f}" for x in (*reaction.force, *reaction.moment)))

    # In motion, with no motor torque at all: the arm falls while the turntable spins.
    v = system.velocities({"turntable": 3.0, "shoulder": 0.5, "elbow": -1.0})
    motion = system.reactions(q, v)
    print("in motion")
    for name, reaction in motion.items():
        print(f"  {name:<10}", *(f"{x:10.4f}" for x in (*reaction.force, *reaction.moment)))

    # Newton's second law for everything at once: the rate of momentum by a central difference.
    a = system.forward_dynamics(q, v)
    h = 1e-4
    ahead = system.momentum(q + h * v + h * h / 2 * a, v + h * a).linear
    behind = system.momentum(q - h * v + h * h / 2 * a, v - h * a).linear
    rate = (ahead - behind) / (2 * h)
    weight = np.array([0, 0, -9.81 * sum(MASSES)])
    print("rate of momentum less weight", *(f"{x:10.4f}" for x in rate - weight))

    # The same reaction in the column's own axes: a turntable bearing is chosen by its radial and axial load.
    own = system.reactions(q, v, frame="column")["turntable"].force
    print(f"turntable bearing: {np.hypot(own[0], own[1]):.3f} N radial, {own[2]:.3f} N axial")
    return {
        "holding": holding,
        "rest": rest,
        "motion": motion,
        "rate of momentum less weight": rate - weight,
        "centre of mass": system.center_of_mass(q),
        "weight": weight,
        "own": own,
    }


if __name__ == "__main__":
    main()
