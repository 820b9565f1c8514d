"""Many runs in one call: the period of a pendulum, over amplitude and length.

Leading sizes broadcast: 30 amplitudes by 20 lengths are 600 runs of one system, each with the bits that it has alone.
An event ends a run where the pendulum turns back, after half a period, and only these times are kept. The curve is the
complete elliptic integral of the first kind. A file name as argument draws both.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.special import ellipk

import whippletree as wt

G = 9.81


def describe() -> wt.Mechanism:
    """A point mass on a rod without mass, whose length is a parameter; angles are from where it hangs."""
    m = wt.Mechanism("pendulum", gravity=(G, 0, 0))
    length = m.parameter("length", 1.0)
    bob = m.body("bob", wt.point_mass(1.0, at=(length, 0, 0)))
    m.revolute("pivot", m.ground, bob, axis="z")
    m.event("turned back", m.rate("pivot"), direction="rising", stop=True)
    return m


def main(picture: str = "", amplitudes: int = 30, lengths: int = 20) -> dict[str, Any]:
    """Return the periods by simulation and by the elliptic integral."""
    system = describe().build()
    angle, length = np.linspace(0.1, 3.0, amplitudes)[:, None], np.linspace(0.2, 3.0, lengths)
    runs = system.simulate_many(10.0, q={"pivot": angle}, parameters={"length": length}, outputs="final")
    periods = 2 * runs.dataset["end_time"].values
    exact = 4 * np.sqrt(length / G) * ellipk(np.sin(angle / 2) ** 2)
    worst = np.abs(periods / exact - 1).max()
    print(f"{len(runs)} runs, periods from {periods.min():.3f} to {periods.max():.3f} s, at most {worst:.1e} off")
    print(f"run [0, 0] alone: {runs[0, 0]}, {runs[0, 0].info['ended_by']}")
    if picture:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        drawn = left.contourf(length, np.degrees(angle[:, 0]), periods, levels=12)
        left.set(xlabel="length [m]", ylabel="amplitude [degrees]")
        figure.colorbar(drawn, ax=left, label="period [s]")
        shares = periods / (2 * np.pi * np.sqrt(length / G))
        right.plot(np.degrees(angle[:, 0]), shares, "C0.", markersize=3)
        fine = np.linspace(0.1, 3.0, 200)
        right.plot(np.degrees(fine), 2 / np.pi * ellipk(np.sin(fine / 2) ** 2), "k-", linewidth=0.8)
        right.set(xlabel="amplitude [degrees]", ylabel="period / that of small swings")
        figure.savefig(picture, dpi=150)
    return {"runs": runs, "periods": periods, "exact": exact}


if __name__ == "__main__":
    main(*sys.argv[1:2])
