"""A loop whose last coordinates cannot be the dependent ones: the five-bar of Critchley and Anderson.

Three hinges and two parallel telescopes. With the loop opened at the last telescope, q5, the joints before it would be
the natural dependent coordinates; but q4 slides along the line that q5 leaves open, and nothing depends on it. The plan
looks at numbers and takes others. `dependent=` says which ones are wanted, and a warning names those that cannot be
had. A fictitious joint, which holds nothing that is not held already, turns the loop into two coupled ones. The motion
is the same.

The paper's start has bar 2 perpendicular to the telescopes: q1 is at a dead centre there, and with q2 and q3 dependent
the equations are singular. The plan takes other coordinates by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import whippletree as wt

START = {"q1": math.pi / 4, "q2": math.pi / 2, "q3": -math.pi / 2, "q4": 0.0, "q5": 0.0}
AWAY = 0.1  # radians of bar 2 from the dead centre


def five_bar(*, fictitious: bool = False) -> wt.Mechanism:
    """Return four rods of 1 kg and 1 m; a fictitious joint lets bar 3 move in the plane, and makes two loops."""
    m = wt.Mechanism("five-bar", gravity=(0.0, -9.81, 0.0))
    bars: list[Any] = [m.body(f"bar {i}", wt.rod(length=1.0, mass=1.0)) for i in range(1, 5)]
    angles = np.cumsum([START["q1"], START["q2"], START["q3"], 0.0])
    m.revolute("q1", m.ground, bars[0])
    m.revolute("q2", bars[0], bars[1], at=(1, 0, 0))
    m.revolute("q3", bars[1], bars[2], at=(1, 0, 0))
    m.prismatic("q4", bars[2], bars[3], at=(1, 0, 0), axis="x")
    end = (float(np.cos(angles).sum()), float(np.sin(angles).sum()), 0.0)
    m.prismatic("q5", m.ground, bars[3], pose=along(angles[-1], end), pose_child=along(0.0, (1.0, 0.0, 0.0)))
    if fictitious:
        m.planar("plane", m.ground, bars[2])
    return m


def along(angle: float, point: tuple[float, float, float]) -> Any:
    """Return a pose whose z axis is a direction in the x-y plane."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[0, s, c, point[0]], [0, -c, s, point[1]], [1, 0, 0, point[2]], [0, 0, 0, 1.0]])


def started(m: wt.Mechanism, away: float, **options: Any) -> wt.System:
    """Return the system with bar 2 turned away from the dead centre."""
    guess = dict(START)
    guess["q1"] += math.asin(1 - math.cos(away))  # bar 2's end stays on its line
    guess["q2"] += away - math.asin(1 - math.cos(away))
    guess["q3"] -= away
    return m.build(guess=guess, **options)


def main(duration: float = 1.0) -> dict[str, Any]:
    """Move the five-bar with its dependent coordinates chosen in three ways."""
    systems = {
        "the last ones asked for": started(five_bar(), AWAY, cut=["q5"], dependent=["q3", "q4"]),
        "the paper's": started(five_bar(), AWAY, cut=["q5"], dependent=["q2", "q3"]),
        "two coupled loops": started(five_bar(fictitious=True), AWAY, cut=["q3", "q5"], dependent=[]),
    }
    found: dict[str, Any] = {}
    for name, system in systems.items():
        run = system.simulate(duration, formulation="coordinate_reduction", method="dop853", tolerance=1e-11)
        found[name] = np.array([run["q1"][-1], run["q2"][-1]]).ravel()
        print(f"{name}: independent {', '.join(system.mobility.independent)}; q1, q2 at the end {found[name]}")
    print("at the dead centre:", ", ".join(started(five_bar(), 0.0, dependent=["q2", "q3", "q5"]).mobility.independent))
    return found


if __name__ == "__main__":
    main()
