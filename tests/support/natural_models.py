"""Mechanisms for the tests of natural coordinates."""

from __future__ import annotations

import numpy as np

import whippletree as wt

POINTS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)


def five_links(closed: bool) -> wt.System:
    """The pendulum of example 8.6, or Bricard's mechanism of example 8.7: half a kilogram at the ends of each link."""
    m = wt.Mechanism("Bricard" if closed else "five links", gravity=(0, -9.81, 0))
    before, origin = m.ground, POINTS[0]
    for k in range(5):
        along = POINTS[k + 1] - POINTS[k]
        link = m.body(f"rod {k + 1}", wt.point_masses([(0.5, (0, 0, 0)), (0.5, tuple(along))]))
        m.revolute(f"R{k + 1}", before, link, at=tuple(POINTS[k] - origin), axis="yzxyz"[k])
        before, origin = link, POINTS[k]
    if closed:
        m.revolute("R6", before, m.ground, at=tuple(POINTS[5] - origin), at_child=tuple(POINTS[5]), axis="x")
    else:
        m.frame("tip", on=before, at=tuple(POINTS[5] - origin))
    return m.build()


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
