"""Snap-through of a flat arch: equilibria of a linkage over a load.

Two rigid bars of 1 m form an arch. Its left foot is pinned, the right one slides on a spring, and the load presses on
the crown. As the load grows the arch sinks, until it has nothing to balance the load with and snaps to the other
side. The path of equilibria is followed through that: down the unstable part, where the load would have to pull, and
up again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.equilibria import equilibrium_path

ANGLE, STIFFNESS = 0.35, 500.0


def describe() -> wt.Mechanism:
    """The arch, without load as it was built."""
    m = wt.Mechanism("arch", gravity=(0, 0, 0))
    load = m.parameter("load", 0.0)
    bars = [m.body(name, wt.rod(length=1.0, mass=1.0, axis="x")) for name in ("left bar", "right bar")]
    foot = m.body("foot", mass=0.5)
    m.revolute("left", m.ground, bars[0], axis="-y")
    m.revolute("crown", bars[0], bars[1], at=(1, 0, 0), axis="y")
    m.revolute("right", bars[1], foot, at=(1, 0, 0), axis="-y")
    m.prismatic("slide", m.ground, foot, axis="x")
    m.torsion_spring("spring", "slide", stiffness=STIFFNESS, rest=2 * np.cos(ANGLE), damping=5.0)
    m.load("press", bars[0], at=(1, 0, 0), force=(0, 0, -load))
    return m


def main(picture: str | Path | None = None) -> dict[str, Any]:
    """Follow the equilibria up to a load at which the arch has snapped through."""
    s = describe().build(guess={"left": ANGLE, "slide": 2 * np.cos(ANGLE)})
    path = equilibrium_path(s, "load", np.linspace(0.0, 40.0, 9))
    print(path)
    for k in path.turning:
        print(f"the path turns back at {path.values[k]:.4f} N, {path.coordinates('left')[k]:.5f} rad")
    print(f"at 10 N there are {len(path.at(10.0))} equilibria:", ", ".join(one.stability for one in path.at(10.0)))
    if picture is not None:
        path.plot("left", path=picture)
    return {"path": path}


if __name__ == "__main__":
    main("snap_through.png")
