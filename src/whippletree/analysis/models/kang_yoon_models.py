"""Kang and Yoon: the quarter car."""

from __future__ import annotations

import numpy as np

from whippletree.analysis.models.common import PaperModel, along, link, segment
from whippletree.elements.bodies import cylinder
from whippletree.model import Mechanism

__all__ = ["quarter_car"]


def quarter_car() -> PaperModel:
    """Return the quarter car of Kang and Yoon: chassis fixed, five moving bodies, ten joint coordinates, m = 9.

    A lower arm (hinge), two upper links and a tie rod (cardan joints) hold a knuckle by four ball joints; three of
    them are cut. Tree: 1 + 2 + 2 + 2 + 3 = 10 freedoms, less nine equations: the wheel's travel is left. A
    spring-damper stands between the lower arm and the chassis. Wheel on the left, x forward, y to the left, z up; track
    half 0.75 m, wheel 0.30 m.

    >>> s = quarter_car().build()
    >>> len(s.plan.nodes), s.mobility.mobility
    (5, 1)
    """
    m = Mechanism("quarter car")
    knuckle = m.body("knuckle", cylinder(0.15, 0.06, mass=12.0, axis="y") + cylinder(0.3, 0.2, mass=18.0, axis="y"))
    arm = m.body("lower arm", segment(0.36, 5.0, 0.06, "y"))
    m.revolute("arm", m.ground, arm, at=(0.02, 0.35, 0.22), axis=(1.0, 0.05, 0.03))
    links = {
        "front link": ((0.12, 0.42, 0.48), (0.04, 0.68, 0.50)),
        "rear link": ((-0.16, 0.44, 0.47), (-0.05, 0.68, 0.49)),
        "tie rod": ((0.15, 0.40, 0.27), (0.13, 0.70, 0.26)),
    }
    center = np.array((0.0, 0.72, 0.32))
    for name, (inner, outer) in links.items():
        link(m, name, m.ground, inner, outer, mass=1.5)
    ends = {name: np.subtract(outer, center) for name, (_, outer) in links.items()}
    m.spherical("front ball", "front link", knuckle, at=along(links["front link"]), at_child=tuple(ends["front link"]))
    m.spherical("rear ball", "rear link", knuckle, at=along(links["rear link"]), at_child=tuple(ends["rear link"]))
    m.spherical("tie ball", "tie rod", knuckle, at=along(links["tie rod"]), at_child=tuple(ends["tie rod"]))
    m.spherical("lower ball", arm, knuckle, at=(0.0, 0.36, -0.02), at_child=tuple((0.02, 0.71, 0.20) - center))
    m.spring(
        "strut",
        m.ground,
        arm,
        at=(0.0, 0.5, 0.75),
        at_child=(0.0, 0.25, 0.0),
        stiffness=4e4,
        damping=2.5e3,
        free_length=0.62,
    )
    return PaperModel(m, cut=("rear ball", "tie ball", "lower ball"))
