"""The lengths of a linkage from measured positions: a least-squares fit with exact derivatives through the loop.

A four-bar stands in a machine. Its crank angle is known at twelve positions, and the point of the coupler that does the
work was measured there to a tenth of a millimetre. What are the lengths of crank, coupler and rocker, and where on the
coupler is the point?

The lengths are parameters of the mechanism. `derivatives_of("pose", ...)` tells how the coupler moves when a parameter
changes and the crank stays: the loop stays closed, and the other joints follow. So the fit needs no differences and no
guess of a step: five turns of Gauss and Newton's method, each one batch of poses and of their derivatives.

The second half asks how well such a measurement determines the lengths: their standard deviations come from the same
derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
TRUE = {"crank": 0.31, "coupler": 0.74, "rocker": 0.62, "along": 0.45, "above": 0.18}
DRAWN = {"crank": 0.30, "coupler": 0.80, "rocker": 0.60, "along": 0.40, "above": 0.20}
BASE, ACCURACY = 0.9, 1e-4
TURNS = 6


def describe() -> wt.Mechanism:
    """A four-bar in the x-z plane whose lengths, and the place of a point on its coupler, are parameters."""
    m = wt.Mechanism("linkage")
    length = {name: m.parameter(name, value) for name, value in DRAWN.items()}
    crank, coupler, rocker = (m.body(name, mass=1.0, inertia=[0.01, 0.01, 0.01]) for name in ("c", "link", "r"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(length["crank"], 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(length["coupler"], 0, 0), at_child=(length["rocker"], 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(BASE, 0, 0), axis="y")
    m.frame("point", on=coupler, at=(length["along"], 0, length["above"]))
    return m


def positions(system: wt.System, angles: Array, values: Array) -> Array:
    """The configurations at these crank angles with these lengths, each assembled from the one before it."""
    found, q = [], system.q0
    for angle in angles:
        q = system.assemble([angle, *q[1:]], hold=["A"], parameters=values)
        found.append(q)
    return np.array(found)


def points(system: wt.System, q: Array, values: Array) -> Array:
    """Where the point is, x and z, position after position."""
    return system.pose(q, "point", parameters=values)[:, (0, 2), 3].ravel()


def slopes(system: wt.System, q: Array, values: Array) -> Array:
    """The derivatives of these by the parameters, the crank angle being kept."""
    found = system.derivatives_of("pose", q, np.zeros(system.nv), frame="point", parameters=values)
    return found.parameters[:, (0, 2), 3, :].reshape(-1, len(values))


def main() -> dict[str, Any]:
    """Measure, fit, and tell how sure the lengths are."""
    system = describe().build(guess={"A": 1.0, "D": -2.2}, dependent=["B", "D"])
    angles = np.linspace(0.6, 0.6 + 2 * np.pi, 12, endpoint=False)
    true = np.array(list(TRUE.values()))
    noise = np.random.default_rng(4).normal(scale=ACCURACY, size=2 * len(angles))
    measured = points(system, positions(system, angles, true), true) + noise

    values = np.array(list(DRAWN.values()))
    for turn in range(TURNS):
        q = positions(system, angles, values)
        missed, J = measured - points(system, q, values), slopes(system, q, values)
        print(f"turn {turn}: off by {1e3 * np.sqrt(np.mean(missed**2)):.4f} mm")
        values = values + np.linalg.lstsq(J, missed, rcond=None)[0]

    sure = ACCURACY * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    for name, value, deviation in zip(TRUE, values, sure, strict=True):
        print(f"{name:8s}{1e3 * value:9.2f} mm, give or take {1e3 * deviation:.2f}")
    return {"system": system, "values": values, "true": true, "sure": sure, "q": q, "J": J, "missed": missed}


if __name__ == "__main__":
    main()
