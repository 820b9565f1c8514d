"""A load at a named frame, and the torques that hold it.

An external wrench is given at a frame or body, [moment; force] at its origin in ground axes. The
principle of virtual work says which joint torques balance it: gravity's share minus J^T times the
wrench. The engine gets the same from its force sweep, without a Jacobian; with those torques nothing
accelerates, and the base carries weight and load.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt


def describe() -> wt.Mechanism:
    """A jib crane: a mast that turns, a boom that lifts, a trolley that slides on the boom, a hook."""
    m = wt.Mechanism("jib crane")
    mast = m.body("mast", wt.cylinder(radius=0.15, length=3.0, mass=300.0, at=(0, 0, 1.5)))
    boom = m.body("boom", wt.rod(length=4.0, mass=120.0, axis="x"))
    trolley = m.body("trolley", wt.box((0.3, 0.3, 0.2), mass=25.0))
    m.revolute("slew", m.ground, mast, axis="z")
    m.revolute("luff", mast, boom, at=(0, 0, 3), axis="-y")
    m.prismatic("travel", boom, trolley, axis="x")
    m.frame("hook", on=trolley, at=(0, 0, -0.25))
    return m


def main() -> dict[str, Any]:
    """Hang a load on the hook, with wind from the side, and check the balance in three ways."""
    system = describe().build()
    q = system.configuration({"slew": 0.7, "luff": 0.35, "travel": 3.2})
    v = system.v0
    load = np.array([0.0, 0.0, 0.0, 60.0, -80.0, -1500.0])  # no moment; wind along x and y, weight down
    wrenches = {"hook": load}

    efforts = system.bias_force(q, v, wrenches=wrenches)
    for name, effort in zip(system.joint_names, efforts, strict=True):
        print(f"  {name:<7} {effort:10.3f} {'N' if name == 'travel' else 'N m'}")

    by_virtual_work = system.bias_force(q, v) - system.jacobian(q, "hook").T @ load
    acceleration = system.forward_dynamics(q, v, efforts, wrenches=wrenches)
    base = system.reactions(q, v, efforts, wrenches=wrenches)["slew"]
    print("difference to virtual work:", np.abs(efforts - by_virtual_work).max())
    print("largest acceleration:      ", np.abs(acceleration).max())
    print("force at the foot:         ", base.force)
    return {
        "efforts": efforts,
        "by virtual work": by_virtual_work,
        "acceleration": acceleration,
        "foot": base,
        "load": load,
        "hook": system.pose(q, "hook")[:3, 3],
        "centre of mass": system.center_of_mass(q),
    }


if __name__ == "__main__":
    main()
