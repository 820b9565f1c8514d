"""A loop whose last coordinates cannot be the dependent ones: the five-bar of Critchley and Anderson.

Three hinges and two parallel telescopes. With the loop opened at the last telescope, q5, the joints before it would be
the natural dependent coordinates, q3, q4 and q5; but q4 slides along the line that q5 leaves open, and nothing depends
on it. The plan looks at numbers and takes others. `dependent=` says which ones are wanted, and a warning names those
that cannot be had. The paper's own choice is q2, q3 and q5. A fictitious joint, which holds nothing that is not held
already, turns the loop into two coupled ones. The motion is the same.

The paper does not print how the telescopes lie. Along bar 3, its own choice would be singular at its start, with q1 at
a dead centre; at a right angle to bar 3 it is regular, so that is how they lie here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import whippletree as wt

START = {"q1": math.pi / 4, "q2": math.pi / 2, "q3": -math.pi / 2, "q4": 0.0, "q5": 0.0}
ACROSS = math.pi / 2  # from bar 3 to the telescopes


def five_bar(*, fictitious: bool = False, telescopes: float = ACROSS) -> wt.Mechanism:
    """Return four rods of 1 kg and 1 m; a fictitious joint lets bar 3 move in the plane, and makes two loops.

    `telescopes` is the angle from bar 3 to the telescopes.
    """
    m = wt.Mechanism("five-bar", gravity=(0.0, -9.81, 0.0))
    bars: list[Any] = [m.body(f"bar {i}", wt.rod(length=1.0, mass=1.0)) for i in range(1, 5)]
    angles = np.cumsum([START["q1"], START["q2"], START["q3"], 0.0])
    m.revolute("q1", m.ground, bars[0])
    m.revolute("q2", bars[0], bars[1], at=(1, 0, 0))
    m.revolute("q3", bars[1], bars[2], at=(1, 0, 0))
    m.prismatic("q4", bars[2], bars[3], at=(1, 0, 0), axis=(math.cos(telescopes), math.sin(telescopes), 0.0))
    end = (float(np.cos(angles).sum()), float(np.sin(angles).sum()), 0.0)
    m.prismatic(
        "q5", m.ground, bars[3], pose=along(angles[-1] + telescopes, end), pose_child=along(telescopes, (1.0, 0.0, 0.0))
    )
    if fictitious:
        m.planar("plane", m.ground, bars[2])
    return m


def along(angle: float, point: tuple[float, float, float]) -> Any:
    """Return a pose whose z axis is a direction in the x-y plane."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[0, s, c, point[0]], [0, -c, s, point[1]], [1, 0, 0, point[2]], [0, 0, 0, 1.0]])


def main(duration: float = 1.0) -> dict[str, Any]:
    """Move the five-bar with its dependent coordinates chosen in three ways."""
    systems = {
        "the last ones asked for": five_bar().build(guess=START, cut=["q5"], dependent=["q3", "q4", "q5"]),
        "the paper's": five_bar().build(guess=START, cut=["q5"], dependent=["q2", "q3", "q5"]),
        "two coupled loops": five_bar(fictitious=True).build(guess=START, cut=["q3", "q5"], dependent=[]),
    }
    found: dict[str, Any] = {}
    for name, system in systems.items():
        run = system.simulate(duration, formulation="coordinate_reduction", method="dop853", tolerance=1e-11)
        found[name] = np.array([run["q1"][-1], run["q2"][-1]]).ravel()
        print(f"{name}: independent {', '.join(system.mobility.independent)}; q1, q2 at the end {found[name]}")
    return found


if __name__ == "__main__":
    main()
