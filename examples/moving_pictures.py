"""Pictures that move: a run as a page for browsers, as a glTF file, and as a picture; a mode; two runs over each other.

A four-bar swings. Its bodies are drawn with the shapes they were described with: the crank and the rocker are rods, and
the coupler is a bar given by numbers, to which a box of mass zero lends its looks.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import whippletree as wt


def describe() -> wt.Mechanism:
    """A four-bar with a frame at the middle of its coupler."""
    m = wt.Mechanism("four-bar", gravity=(0, 0, -9.81))
    crank = m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x"))
    bar = wt.MassProperties(2.0, com=(1.0, 0, 0), inertia=(0.01, 0.7, 0.7))
    coupler = m.body("coupler", bar + wt.box((2.0, 0.05, 0.16), mass=0.0, at=(1.0, 0, 0)))
    rocker = m.body("rocker", wt.rod(length=1.5, mass=1.5, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    m.frame("middle", on=coupler, at=(1, 0, 0))
    return m


def main(folder: str | Path | None = None) -> dict[str, Any]:
    """Write the files into a folder, a temporary one unless given, and return their sizes in bytes."""
    place = Path(tempfile.mkdtemp() if folder is None else folder)
    s = describe().build(guess={"A": 1.0})
    run = s.simulate(2.0, every=0.02)
    other = s.simulate(2.0, every=0.02, q=s.assemble({"A": 1.2}))

    # The run, with the path of a frame, the forces in the joints, plots beside it, and another run over it.
    run.animate(place / "run.html", paths=["middle"], forces=True, plots=["A", "energy"], beside={"from 1.2": other})
    run.animate(place / "run.glb")

    # Where it is at the start, as a picture without a browser; and how it oscillates about its equilibrium.
    s.show(s.q0, place / "start.png")
    q = s.equilibrium().q
    s.show(q, place / "mode.html", mode=s.linearize(q).modes()[0])

    written = ("run.html", "run.glb", "start.png", "mode.html")
    sizes = {name: (place / name).stat().st_size for name in written}
    for name, size in sizes.items():
        print(f"{name:12} {size:9} bytes")
    print(f"in {place}; open run.html in a browser")
    return {"folder": place, "sizes": sizes, "run": run}


if __name__ == "__main__":
    main(".")
