"""Gears, a differential, a rack, and a joint that mimics another: linear relations between joint coordinates.

`gear` keeps one joint's coordinate at a ratio times another's; that is a pair of wheels, a rack and its pinion (the
ratio is then the pinion's radius), or a joint that follows another. `coupling` takes any number of joints. Here are
the insides of a car: a motor drives the carrier of a differential, whose two output shafts turn, on average, as
fast as the carrier; a steering column moves a rack; two wipers go together.

Each relation has a multiplier: the effort that passes through it (`closure_forces`), which acts on each coordinate
times its ratio. The two shafts of a differential have the same ratio. So both get the same torque, however
different their speeds: that is what a differential is for, and why one wheel on ice takes the grip of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

FINAL_DRIVE, PINION = 3.5, 0.008
SHAFTS = {"motor": 2.0, "carrier": 6.0, "left": 15.0, "right": 25.0}  # masses of discs with a radius of 0.1 m


def describe() -> wt.Mechanism:
    """The car stands still: all joints are on the ground."""
    m = wt.Mechanism("inside a car")
    for name, mass in SHAFTS.items():
        m.revolute(name, m.ground, m.body(f"{name} shaft", wt.cylinder(radius=0.1, length=0.05, mass=mass)))
    m.gear("final drive", "carrier", "motor", ratio=FINAL_DRIVE)
    m.coupling("differential", {"left": 1.0, "right": 1.0, "carrier": -2.0})

    column = m.body("column", wt.cylinder(radius=0.02, length=0.8, mass=2.0))
    rack = m.body("rack", wt.rod(length=0.6, mass=3.0, axis="y"))
    m.revolute("steering", m.ground, column)
    m.prismatic("tie", m.ground, rack, axis="y")
    m.gear("rack and pinion", "steering", "tie", ratio=PINION)

    for name, length in (("wiper", 0.6), ("second wiper", 0.4)):
        blade = m.body(f"blade of {name}", wt.rod(length=length, mass=0.5 * length, axis="z"))
        m.revolute(name, m.ground, blade, axis="x")
    m.gear("mimic", "wiper", "second wiper", ratio=1.0)
    return m


def main() -> dict[str, Any]:
    """Drive, steer and wipe."""
    system = describe().build(guess={"wiper": 0.4})
    print(system.mobility)

    # The second wiper starts where the first one is, and the shafts of a corner fit together.
    q = system.q0
    corner = system.consistent_velocities(q, {"left": 10.0, "right": 14.0})
    speeds = {name: float(corner[system.v_slice(name)][0]) for name in SHAFTS}
    print("\nin a corner:", ", ".join(f"{name} {speed:.1f} rad/s" for name, speed in speeds.items()))

    # Torques of the motor and of the steering column; the right wheel is heavier.
    tau = system.velocities({"motor": 40.0, "steering": 0.5})
    a = system.forward_dynamics(q, corner, tau)
    efforts = {name: float(x[0]) for name, x in system.closure_forces(q, corner, tau).items()}
    reactions = system.reactions(q, corner, tau)
    accelerations = {name: float(a[system.v_slice(name)][0]) for name in system.joint_names}
    print("accelerations:", ", ".join(f"{name} {x:.3f}" for name, x in accelerations.items()))
    torques = {name: float(reactions[name].moment[2]) for name in ("left", "right")}
    print(f"torque on the left shaft {torques['left']:.4f} N m, on the right one {torques['right']:.4f} N m")

    # Equal torques on unequal wheels: to accelerate both alike takes a brake on the lighter one as well.
    drives = ["motor", "steering", "wiper"]
    wanted = system.consistent_accelerations(q, corner, {"left": 3.0, "right": 3.0, "tie": 0.1})
    needed = system.inverse_dynamics(q, corner, wanted, actuators=[*drives, "left"])
    try:
        system.inverse_dynamics(q, corner, wanted, actuators=drives)
        refused = ""
    except wt.DynamicsError as error:
        refused = str(error)
    print("with a brake on the left shaft:", needed.round(4))
    print("without it:", refused)
    return {
        "system": system,
        "q": q,
        "corner": corner,
        "speeds": speeds,
        "accelerations": accelerations,
        "efforts": efforts,
        "torques": torques,
        "wanted": wanted,
        "needed": needed,
        "refused": refused,
        "again": system.forward_dynamics(q, corner, needed),
        "start": np.array([q[system.q_slice(name)][0] for name in ("wiper", "second wiper")]),
    }


if __name__ == "__main__":
    main()
