"""A four-bar whose crank, coupler and rocker are beams: a loop of flexible bodies, closed at their interfaces.

The crank is driven faster and faster. How far the beams bend, what the bearings carry, and how long the loop stays
closed all come from the same run. With `--plot` the deflections of the middles are drawn, with `--show` the motion.
"""

from __future__ import annotations

import sys

import numpy as np

import whippletree as wt

LENGTHS = {"crank": 0.2, "coupler": 0.6, "rocker": 0.5}
BASE = 0.6
TURNS = 2


def describe() -> wt.Mechanism:
    m = wt.Mechanism("four-bar of beams")
    strip = wt.rectangle(width=0.03, height=0.006)
    for name, length in LENGTHS.items():
        own = {"modes": 1} if name == "crank" else {"modes": 1, "reference": "chord"}
        m.body(name, wt.beam(length=length, section=strip, material=wt.steel, elements=4, damping=0.02, **own))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank.tip", "coupler", axis="y")
    m.revolute("C", "coupler.tip", "rocker.tip", axis="y")
    m.revolute("D", m.ground, "rocker", at=(BASE, 0, 0), axis="y")
    m.drive("motor", "A", position=-0.5 * 2 * np.pi * m.time**2)  # two turns in two seconds
    return m


def main(plot: bool = False, show: bool = False) -> dict[str, float]:
    """Return the largest deflections in metres, the largest bearing force in newtons, and the open loop in metres."""
    system = describe().build(guess={"B": -1.0, "D": -1.7})
    run = system.simulate(2.0, every=0.01, tolerance=1e-8)
    middles = {name: run.deformation(name).largest for name in LENGTHS}
    found = {name: float(each.max()) for name, each in middles.items()}
    found["force"] = float(np.linalg.norm(run.reactions()["B"].force, axis=1).max())
    found["gap"] = float(np.abs(run.pose("coupler.tip") - run.pose("rocker.tip"))[:, :3, 3].max())
    print("largest deflections:", ", ".join(f"{name} {1e3 * found[name]:.3f} mm" for name in LENGTHS))
    print(f"bearing B carries up to {found['force']:.1f} N; the loop is open by {found['gap']:.1e} m at most")
    if show:
        run.animate(forces=True)
    if plot:
        import matplotlib.pyplot as plt

        for name, each in middles.items():
            plt.plot(run.t, 1e3 * each, label=name)
        plt.xlabel("time [s]")
        plt.ylabel("largest deflection [mm]")
        plt.legend()
        plt.show()
    return found


if __name__ == "__main__":
    main(plot="--plot" in sys.argv, show="--show" in sys.argv)
