"""A tower of parallelograms, like the arm of a desk lamp: many loops in a row, and which formulation they are for.

Each cell is a parallelogram: two cranks on the platform below, and a platform on them that stays level. One cell's loop
shares no moving body with the next one's, so every cell is a group of its own. A formulation that solves all loops at
once pays for each pair of cells; constraint embedding makes a node of each group, and the sweeps go from node to node:
every further cell costs the same.

`system.plan` says what `auto` has chosen, and what it weighed: first a method for each group, which is traced apart
from the rest (groups that are alike once), then that against the formulations for the whole.
"""

from __future__ import annotations

from typing import Any

import whippletree as wt

CRANK, WIDTH, CRANK_MASS, PLATFORM_MASS = 0.4, 0.3, 0.5, 1.2
FORMULATIONS = ("constraint_embedding", "coordinate_reduction", "independent_coordinates", "tree_augmented")


def describe(cells: int = 4) -> wt.Mechanism:
    """Cranks along z, platforms along x; everything moves in the x-z plane."""
    m = wt.Mechanism("tower")
    below = m.ground
    for i in range(cells):
        platform = m.body(f"platform {i}", wt.rod(length=WIDTH, mass=PLATFORM_MASS, axis="x"))
        for side, x in (("left", 0.0), ("right", WIDTH)):
            crank = m.body(f"{side} crank {i}", wt.rod(length=CRANK, mass=CRANK_MASS, axis="z"))
            m.revolute(f"{side} foot {i}", below, crank, at=(x, 0, 0), axis="y")
            m.revolute(f"{side} head {i}", crank, platform, at=(0, 0, CRANK), at_child=(x, 0, 0), axis="y")
        below = platform
    return m


def start(cells: int) -> dict[str, float]:
    """Cells that lean to and fro."""
    return {f"{side} foot {i}": 0.3 + 0.2 * i for i in range(cells) for side in ("left", "right")}


def main() -> dict[str, Any]:
    """Count what each formulation costs, let go of a tower, and print the plan."""
    towers = {n: describe(n).build(guess=start(n)) for n in (2, 4, 8)}
    counts = {}
    print("operations of the forward dynamics")
    print(f"{'cells':>24}" + "".join(f"{n:>8}" for n in towers))
    for name in FORMULATIONS:
        counts[name] = [
            tower.kernels.operations("forward_dynamics", formulation=name).total for tower in towers.values()
        ]
        print(f"{name:>24}" + "".join(f"{n:8}" for n in counts[name]))

    system = towers[4]
    print(f"\n{system.plan}\n")
    v = system.consistent_velocities(system.q0, {f"left foot {i}": 0.5 - i for i in range(4)})
    a = system.forward_dynamics(system.q0, v)
    lean = [float(a[system.v_slice(f"left foot {i}")][0]) for i in range(4)]
    print("accelerations of the cranks:", ", ".join(f"{x:.3f}" for x in lean), "rad/s^2")
    return {"system": system, "counts": counts, "v": v, "lean": lean}


if __name__ == "__main__":
    main()
