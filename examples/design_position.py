"""Loops as they are drawn: the design position, which needs no guess, and a guess by the pose of a body.

If the frames of all bodies lie upon the ground's in the position in which a mechanism is drawn, a joint has the same
point on both of its bodies, all coordinates are zero there, and the loops are closed. Where links have frames of their
own, say at one end, relative angles are awkward to guess; the pose of a body is not.
"""

import math
import tempfile
from pathlib import Path

import numpy as np

import whippletree as wt

A, B, C, D = (0.0, 0.0, 0.0), (0.3, 0.0, 0.9), (2.1, 0.0, 1.4), (2.0, 0.0, 0.0)
LINKS = {"crank": (A, B), "coupler": (B, C), "rocker": (D, C)}


def as_drawn() -> wt.Mechanism:
    """All points in the ground frame, as on the drawing."""
    m = wt.Mechanism("four-bar, as drawn")
    for name, (start, end) in LINKS.items():
        along = np.subtract(end, start)
        m.body(name, wt.box((math.hypot(*along), 0.1, 0.1), 1.0, axis=along, at=np.add(start, end) / 2))
    for name, parent, child, at in (
        ("A", m.ground, "crank", A),
        ("B", "crank", "coupler", B),
        ("C", "coupler", "rocker", C),
        ("D", m.ground, "rocker", D),
    ):
        m.revolute(name, parent, child, at=at, at_child=at, axis="y")
    return m


def by_links() -> wt.Mechanism:
    """The same links, each with its frame at one end and its x axis along it."""
    m = wt.Mechanism("four-bar, by links")
    length = {name: math.dist(*ends) for name, ends in LINKS.items()}
    for name in LINKS:
        m.body(
            name, mass=1.0, com=(length[name] / 2, 0, 0), inertia=(0.0, length[name] ** 2 / 12, length[name] ** 2 / 12)
        )
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank", "coupler", at=(length["crank"], 0, 0), axis="y")
    m.revolute("D", m.ground, "rocker", at=D, axis="y")
    m.revolute("C", "coupler", "rocker", at=(length["coupler"], 0, 0), at_child=(length["rocker"], 0, 0), axis="y")
    return m


def main() -> tuple[wt.System, wt.System, wt.Trajectory]:
    """Build both, let the first one swing, and return the systems and the run as it was loaded."""
    drawn = as_drawn().build()
    print("as drawn, the coordinates are", drawn.q0, "and the gap is", abs(drawn.closure_residual(drawn.q0)).max())

    m = as_drawn()  # a rod between the crank's end and the ground: as long as the two are apart on the drawing
    m.distance("stay", m.ground, "crank", at=(0.0, 0.0, 2.0), at_child=B)
    print(
        "the stay is",
        round(m.describe().closures[0].closure.length, 6),
        "m long; mobility",
        m.build().mobility.mobility,
    )

    x, z = np.subtract(C, B)[[0, 2]] / math.dist(B, C)
    coupler = wt.Placement([[x, 0, -z], [0, 1, 0], [z, 0, x]], B)  # on the drawing: at B, with its x axis towards C
    links = by_links().build(guess={"coupler": coupler})
    print("the crank's angle by the coupler's pose:", round(links.q0[0], 4), "drawn:", round(-math.atan2(0.9, 0.3), 4))

    run = drawn.simulate(2.0, every=0.02, v={"A": 1.0}, tau={"A": 0.5})
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run.nc")
        again = wt.Trajectory.load(Path(folder) / "run.nc")  # with its system
    print(again.certificate.summary)
    print("reaction at C at the end:", again.reactions()["C"].force[-1].round(3))
    return drawn, links, again


if __name__ == "__main__":
    main()
