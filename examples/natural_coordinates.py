"""Natural coordinates: the five-link pendulum and Bricard's mechanism of Garcia de Jalon and Bayo (8.6, 8.7).

Links are known by points and unit vectors that they share at their hinges. Half a kilogram sits at each end of a link,
so the vectors have no mass at all, and the constant mass matrix is singular. The runs are made in these coordinates by
the trapezoidal rule with penalties, two iterations a step; their trajectories are in joint angles like any other. The
form with projections satisfies the conditions a thousand times better at the same step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

POINTS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)


def describe(closed: bool) -> wt.Mechanism:
    """Five links along the edges of a cube on hinges y, z, x, y, z, and a sixth hinge that closes the ring."""
    m = wt.Mechanism("Bricard" if closed else "five links", gravity=(0, -9.81, 0))
    before, origin = m.ground, POINTS[0]
    for k in range(5):
        along = POINTS[k + 1] - POINTS[k]
        masses = wt.point_masses([(0.5, (0, 0, 0)), (0.5, tuple(along))])
        bar = wt.rod(1.0, 0.0, axis=tuple(along))  # without mass: for pictures alone
        link = m.body(f"link {k + 1}", masses + bar)
        m.revolute(f"R{k + 1}", before, link, at=tuple(POINTS[k] - origin), axis="yzxyz"[k])
        before, origin = link, POINTS[k]
    if closed:
        m.revolute("R6", before, m.ground, at=tuple(POINTS[5] - origin), at_child=tuple(POINTS[5]), axis="x")
    else:
        m.frame("tip", on=before, at=tuple(POINTS[5] - origin))
    return m


def main() -> dict[str, Any]:
    """Show the coordinates, and run both examples."""
    pendulum, ring = describe(closed=False).build(), describe(closed=True).build()
    print(pendulum.natural)
    found: dict[str, Any] = {"sizes": (pendulum.natural.n_coordinates, pendulum.natural.n_conditions)}
    h = 0.008
    swing = pendulum.simulate(20.0, formulation="natural", step=h, iterations=2, alpha=1e7, mu=h / 80, every=h)
    h = 0.03
    fold = ring.simulate(39.99, formulation="natural", step=h, alpha=1e7, mu=h / 60)
    for name, run in (("pendulum", swing), ("ring", fold)):
        energy = run.energy().total
        found[name] = float(np.abs(energy - energy[0]).max() / 29.43)
        conditions = run.certificate["condition_residual"]
        print(f"{name}: energy within {found[name]:.2%}, conditions within {conditions:.1e}")
    return found


if __name__ == "__main__":
    main()
