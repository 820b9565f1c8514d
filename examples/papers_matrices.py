"""The papers' matrices: the four-bar on a slide of Nikravesh and others, by name, and runs in absolute coordinates.

Bodies follow joints by B; the cut hinge holds D* on the bodies and C on the joints, of which rows that follow from
others are left out; E is what motion that leaves. The same mechanism is then run twice: in joint coordinates, and in
absolute ones, with a position and a quaternion for each body and multipliers for all joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt


def describe() -> wt.Mechanism:
    """A block on a slide carries two cranks and a coupler on four parallel hinges."""
    m = wt.Mechanism("four-bar on a slide")
    bodies = [m.body(f"body {k}", wt.box((0.2, 0.2, 0.2), mass=1.0)) for k in range(1, 5)]
    m.prismatic("T1", m.ground, bodies[0], axis="x")
    places = {"R2": (0, 0, 0), "R3": (0, 0, 2), "R4": (1, 1, 2)}
    for (name, at), near, far in zip(places.items(), bodies, bodies[1:], strict=False):
        m.revolute(name, near, far, at=at, at_child=at, axis=(1, -1, 0))
    m.revolute("R5", bodies[0], bodies[3], at=(1, 1, 0), at_child=(1, 1, 0), axis=(1, -1, 0))
    return m


def main() -> dict[str, Any]:
    """Show the matrices where the mechanism is drawn, and compare the two runs."""
    s = describe().build(cut=["R5"], dependent=["R3", "R4"])
    found = s.matrices(s.q0)
    C, E = found["C"], found["E"]
    for row, line in zip(C.rows, C.values, strict=True):
        print(f"{row:28s}", " ".join(f"{x:8.4f}" for x in line))
    print("independent:", ", ".join(E.columns))
    q = s.assemble({"R2": 2.6, "R3": -2.6, "R4": 2.6})  # it swings from here without ever lying flat
    joint, absolute = (s.simulate(2.0, q=q, method="rk4", step=2e-3, coordinates=c) for c in ("joint", "absolute"))
    apart = float(np.abs(joint.q - absolute.q).max())
    print(f"{s.absolute.n_coordinates} absolute coordinates, {s.absolute.n_conditions} conditions")
    print(f"after 2 s the two runs are apart by {apart:.1e}")
    return {"C": C.values, "E": E.values, "apart": apart, "B": found["B"].values, "D*": found["D*"].values}


if __name__ == "__main__":
    main()
