"""The payload envelope of an arm: how much it can hold, by where its hand is and what its motors can do.

A study over a grid of two angles: at rest the torques of the motors are linear in the payload, so each case gives the
largest payload that no motor refuses, and where the hand is. A file name as argument draws the envelope.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import whippletree as wt

UPPER, FORE = 0.5, 0.4  # m
MOTORS = {"shoulder": 120.0, "elbow": 45.0}  # N m


def describe() -> wt.Mechanism:
    """An arm of two links in a vertical plane with a payload in its hand."""
    m = wt.Mechanism("arm with payload")
    payload = m.parameter("payload", 1.0)
    upper = m.body("upper arm", wt.rod(length=UPPER, mass=6.0, axis="x"))
    fore = m.body("forearm", wt.rod(length=FORE, mass=3.0, axis="x") + wt.point_mass(payload, at=(FORE, 0, 0)))
    m.revolute("shoulder", m.ground, upper, axis="-y")
    m.revolute("elbow", upper, fore, at=(UPPER, 0, 0), axis="-y")
    m.frame("hand", on=fore, at=(FORE, 0, 0))
    return m


def holds(system: wt.System, case: Any) -> dict[str, float]:
    """Return the largest payload at a posture, and where the hand is."""
    q, still = np.array([case["shoulder"], case["elbow"]]), np.zeros(2)
    empty, loaded = (system.bias_force(q, still, parameters={"payload": mass}) for mass in (0.0, 1.0))
    limits, own, each = np.array([*MOTORS.values()]), empty, loaded - empty
    with np.errstate(divide="ignore"):
        most = (limits - np.sign(each) * own) / np.abs(each)  # each motor's, in the direction in which payload pulls
    x, _, z = system.pose(q, "hand")[:3, 3]
    return {"payload": float(np.clip(most.min(), 0.0, 100.0)), "x": float(x), "z": float(z)}


def main(picture: str = "", count: int = 41) -> dict[str, Any]:
    """Return the study over postures."""
    angles = {"shoulder": np.linspace(-0.5 * np.pi, 0.5 * np.pi, count), "elbow": np.linspace(0.05, 2.6, count)}
    study = wt.Study(describe().build(), wt.cases.grid(angles), holds)
    data = study.run()
    stretched = data["payload"].sel(shoulder=0.0, elbow=0.05, method="nearest")
    print(f"{study.status()}; it holds {float(stretched):.1f} kg stretched out level")
    reach = np.hypot(data["x"], data["z"])
    for low, high in ((0.3, 0.5), (0.5, 0.7), (0.7, 0.9)):
        here = data["payload"].values[((reach >= low) & (reach < high)).values]
        print(f"hand {low:.1f} to {high:.1f} m away: {here.min():5.1f} to {here.max():5.1f} kg")
    if picture:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 5.2), layout="constrained")
        axes = figure.subplots()
        x, z, payload = (data[name].values for name in ("x", "z", "payload"))
        filled = axes.pcolormesh(x, z, payload, shading="gouraud", vmin=0.0, vmax=40.0)
        figure.colorbar(filled, label="payload [kg]", extend="max")
        axes.set(xlabel="x of the hand [m]", ylabel="z of the hand [m]", aspect="equal")
        figure.savefig(picture, dpi=150)
    return {"study": study, "data": data}


if __name__ == "__main__":
    main(*sys.argv[1:2])
