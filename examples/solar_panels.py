"""A satellite with two flexible solar panels turns itself by a wheel; nothing holds it, and its momentum stays zero.

The panels are described by free-free modes: their frames move with the mean of their mass, and they are welded to the
satellite at their roots, which are interfaces like any other. The wheel is spun up and braked again, so that the
satellite turns; afterwards the panels ring. With `--plot` the tips' deflections are drawn, with `--show` the motion.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import whippletree as wt

LENGTH = 6.0


def describe() -> wt.Mechanism:
    m = wt.Mechanism("satellite with panels", gravity=(0, 0, 0))
    base = m.body("base", wt.box((1.2, 1.2, 1.5), mass=300.0))
    m.free("flight", m.ground, base)
    m.revolute("wheel axis", base, m.body("wheel", wt.cylinder(radius=0.3, length=0.05, mass=20.0)), axis="z")
    sheet = wt.rectangle(width=0.02, height=1.0)  # thin across the panel's plane
    for side, axis in (("left", "-y"), ("right", "y")):
        panel = wt.beam(
            length=LENGTH,
            section=sheet,
            material=wt.Material(density=100.0, youngs_modulus=1e9),
            axis=axis,
            across="x",
            modes=1,
            attachment=False,
            reference="free",
            damping=0.005,
        )
        sign = -1 if side == "left" else 1
        m.fixed(f"{side} hinge", base, m.body(side, panel), at=(0, 0.6 * sign, 0), at_child="root")
    t = m.time
    m.actuator("motor", "wheel axis", effort=wt.Table([0, 5, 10], [4.0, -4.0, 0.0], kind="hold")(t))
    return m


def main(plot: bool = False, show: bool = False) -> dict[str, Any]:
    """Return by how much the satellite turns, how far panels bend, and what momentum it has at the end."""
    system = describe().build()
    run = system.simulate(15.0, every=0.1, tolerance=1e-10)
    turned = np.unwrap(np.arctan2(run.pose("base")[:, 1, 0], run.pose("base")[:, 0, 0]))
    tips = {side: tip_deflection(run, side) for side in ("left", "right")}
    momentum = system.momentum(run.q, run.v, about="origin")
    found = {
        "angle": float(turned[-1]),
        "deflection": max(float(np.abs(each).max()) for each in tips.values()),
        "momentum": max(float(np.abs(part).max()) for part in momentum),
        "mirrored": float(np.abs(tips["left"] + tips["right"]).max()),
    }
    print(f"the satellite has turned by {np.degrees(found['angle']):.2f} degrees,")
    print(f"its panels were bent by up to {1e3 * found['deflection']:.1f} mm,")
    print(f"and its momentum stayed zero to {found['momentum']:.1e}")
    if show:
        run.animate()
    if plot:
        import matplotlib.pyplot as plt

        for side, tip in tips.items():
            plt.plot(run.t, 1e3 * tip, label=side)
        plt.xlabel("time [s]")
        plt.ylabel("deflection of the tip [mm]")
        plt.legend()
        plt.show()
    return found


def tip_deflection(run: wt.Trajectory, side: str) -> np.ndarray:
    """Return how far a panel's tip is from where a stiff panel would have it, across the panel."""
    seen = run.pose("base")[:, :3, :3].swapaxes(1, 2) @ (run.pose(f"{side}.tip") - run.pose("base"))[:, :3, 3:]
    return np.asarray(seen[:, 0, 0])


if __name__ == "__main__":
    main(plot="--plot" in sys.argv, show="--show" in sys.argv)
