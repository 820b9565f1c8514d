"""Mechanisms for the tests of natural coordinates."""

from __future__ import annotations

import numpy as np

import whippletree as wt
from whippletree.analysis.models import bricard


def five_links(closed: bool) -> wt.System:
    """The pendulum of example 8.6, or Bricard's mechanism of example 8.7: half a kilogram at the ends of each link."""
    return bricard(closed, lumped=True).build()


def all_joints() -> wt.System:
    """A tree with a joint of every type, bodies and axes in general position."""
    m = wt.Mechanism("all joints")
    rng = np.random.default_rng(3)
    before = m.ground
    for k, kind in enumerate(
        ("free", "universal", "screw", "spherical", "cylindrical", "planar", "prismatic", "revolute")
    ):
        body = m.body(f"body {k}", wt.box((0.2, 0.3, 0.5), mass=1.0 + k / 3, at=(0.1, 0.05, -0.1)))
        place = {"at": tuple(rng.normal(size=3)), "at_child": tuple(rng.normal(size=3) / 3)}
        more = {"lead": 0.3} if kind == "screw" else {}
        if kind not in ("free", "spherical", "universal"):
            more["axis"] = tuple(rng.normal(size=3))
        getattr(m, kind)(kind, before, body, **place, **more)
        before = body
    return m.build()


def geared_pair() -> wt.System:
    """Two wheels on a swinging arm, geared together."""
    m = wt.Mechanism("pair")
    arm = m.body("arm", wt.box((0.6, 0.1, 0.1), mass=2.0, at=(0.3, 0, 0)))
    m.revolute("A", m.ground, arm, axis="y")
    for name, x, radius in (("B", 0.3, 0.1), ("C", 0.55, 0.15)):
        wheel = m.body(f"wheel {name}", wt.cylinder(radius, 0.05, mass=3.0, at=(0.02, 0, 0)))
        m.revolute(name, arm, wheel, at=(x, 0, 0), axis="y")
    m.gear("pair", "B", "C", ratio=-1.5)
    return m.build()


def inversor() -> wt.System:
    """Peaucellier's linkage: seven rods that lead a bob at P along a straight line while QC turns."""
    long, short, radius, phi = 1.2, 0.5, 0.55, -1.0
    c = radius * np.array([1 + np.cos(phi), np.sin(phi), 0])
    to_c = float(np.linalg.norm(c))
    to_p = (long**2 - short**2) / to_c
    along, middle = c / to_c, (to_c + to_p) / 2
    aside = np.sqrt(long**2 - middle**2) * np.array([-along[1], along[0], 0])
    x = {"O": np.zeros(3), "Q": np.array([radius, 0, 0]), "C": c, "P": along * to_p}
    x |= {"A": along * middle + aside, "B": along * middle - aside}
    m = wt.Mechanism("Peaucellier's linkage", gravity=(9.81, 0, 0))
    for start, end in ("OA", "OB", "AC", "CB", "BP", "PA", "QC"):
        size = float(np.linalg.norm(x[end] - x[start]))
        rod = wt.rod(length=size, mass=size, axis=x[end] - x[start], at=x[start])
        m.body(start + end, rod + wt.point_mass(2.0, at=x["P"]) if start + end == "BP" else rod)
    joints = "O1 . OA, O2 . OB, Q . QC, A1 OA AC, A2 OA PA, B1 OB CB, B2 OB BP, C1 QC AC, C2 QC CB, P BP PA"
    for name, parent, child in (one.split() for one in joints.split(", ")):
        place = x[name[0]]
        m.revolute(name, m.ground if parent == "." else parent, child, at=place, at_child=place, axis="z")
    return m.build()
