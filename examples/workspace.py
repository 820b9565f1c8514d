"""Sampling a workspace: thousands of poses and Jacobians in one call.

Calls take one state (n,) or any batch (..., n). This samples the joint angles of a six-joint arm, asks
where its tool is and how well it can move there (the manipulability of the tool point, sqrt(det J J^T)),
and looks for the best spot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

UPPER, FORE, TOOL = 0.45, 0.40, 0.12


def describe() -> wt.Mechanism:
    """Kinematics only: bodies without mass are fine as long as no dynamics is asked for."""
    m = wt.Mechanism("six-joint arm")
    names = ("column", "upper arm", "forearm", "wrist 1", "wrist 2", "flange")
    column, upper, fore, wrist_1, wrist_2, flange = (m.body(name) for name in names)
    m.revolute("turn", m.ground, column, axis="z")
    m.revolute("shoulder", column, upper, axis="y")
    m.revolute("elbow", upper, fore, at=(UPPER, 0, 0), axis="y")
    m.revolute("roll", fore, wrist_1, at=(FORE, 0, 0), axis="x")
    m.revolute("bend", wrist_1, wrist_2, axis="y")
    m.revolute("spin", wrist_2, flange, axis="x")
    m.frame("tool", on=flange, at=(TOOL, 0, 0))
    return m


def main(count: int = 20_000) -> dict[str, Any]:
    """Sample, and report the reach and the most agile configuration."""
    system = describe().build()
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (count, system.nq))

    points = system.pose(q, "tool")[:, :3, 3]
    J = system.jacobian(q, "tool")[:, 3:, :]  # rows 0-2 are angular, 3-5 linear
    agility = np.sqrt(np.maximum(np.linalg.det(J @ J.transpose(0, 2, 1)), 0))

    distance = np.linalg.norm(points, axis=1)
    best = int(agility.argmax())
    print(f"{count} configurations: the tool is between {distance.min():.3f} and {distance.max():.3f} m away")
    print(f"(straight, the arm measures {UPPER + FORE + TOOL:.3f} m)")
    print("most agile at", *(f"{name} {x:.2f}" for name, x in zip(system.joint_names, q[best], strict=True)))
    return {"system": system, "q": q, "points": points, "J": J, "agility": agility, "distance": distance}


if __name__ == "__main__":
    main()
