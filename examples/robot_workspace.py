"""Where a robot with two cranks can get, how well it works there, and its cranks' angles along a path.

Two cranks turn on the ground, and two arms join them at the tool: a planar parallel robot with the motors at rest. Its
tool reaches what lies within two rings. There is no formula to be written for that: `workspace` maps a grid of
positions, each from the solution next to it, so that the whole map is of one way to assemble the robot, and tells how
far every point is from positions where the motors lose control of the tool. `inverse_kinematics` finds the cranks'
angles for a path, all of its points in one call. Where the arms are in line, the tool gives way with both cranks held:
`actuation` says so, by name.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.kinematics import actuation, workspace

CRANK, ARM, PIVOT = 0.25, 0.30, 0.10
MOTORS = ("left", "right")


def describe() -> wt.Mechanism:
    """Two cranks with an arm each, in the x-y plane."""
    m = wt.Mechanism("two-crank robot")
    crank, arm, other_arm, other = (
        m.body(name, wt.rod(length, mass=1.0))
        for name, length in (("left crank", CRANK), ("left arm", ARM), ("right arm", ARM), ("right crank", CRANK))
    )
    m.revolute("left", m.ground, crank, at=(-PIVOT, 0, 0))
    m.revolute("left elbow", crank, arm, at=(CRANK, 0, 0))
    m.revolute("right", m.ground, other, at=(PIVOT, 0, 0))
    m.revolute("right elbow", other, other_arm, at=(CRANK, 0, 0))
    m.revolute("wrist", arm, other_arm, at=(ARM, 0, 0), at_child=(ARM, 0, 0))
    m.frame("tool", on=arm, at=(ARM, 0, 0))
    return m


def main(picture: str = "") -> dict[str, Any]:
    """Map the workspace, follow a circle, and look at the position where the arms are in line."""
    system = describe().build(guess={"left": 2.2, "right": 0.9, "left elbow": -1.6, "right elbow": 1.6})
    x, y = np.meshgrid(np.linspace(-0.51, 0.51, 31), np.linspace(0.17, 0.62, 16), indexing="ij")
    space = workspace(system, "tool", poses=np.stack([x, y, 0 * x], axis=-1), actuators=MOTORS)
    print(space)
    best = np.unravel_index(np.nanargmax(space.conditioning), space.conditioning.shape)
    print(f"best conditioned at {space.points[best].round(3)}: {space.conditioning[best]:.3f}")

    turn = np.linspace(0.0, 2 * np.pi, 24)
    path = np.stack([0.1 * np.cos(turn), 0.35 + 0.1 * np.sin(turn), 0 * turn], axis=-1)
    found = system.inverse_kinematics({"tool": path})
    print(found)
    tips = system.pose(found.q, "tool")[:, :3, 3]

    # Both cranks outward, the arms in one line: 2 ARM = 2 PIVOT + 2 CRANK cos(a).
    a = np.arccos((ARM - PIVOT) / CRANK)
    spread = system.assemble({"left": np.pi - a, "right": a, "left elbow": a - np.pi, "right elbow": np.pi - a})
    singular = actuation(system, spread, actuators=MOTORS)
    print(f"arms in line: {singular}")
    if picture:
        space.plot("xy", path=picture)
    return {"system": system, "space": space, "path": path, "tips": tips, "singular": singular}


if __name__ == "__main__":
    main(*sys.argv[1:2])
