"""Garcia de Jalon and Bayo: Bricard's mechanism, the five-bar pendulum, the human body."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.analysis.models.common import PaperModel, Point, segment
from whippletree.elements.bodies import box, point_masses
from whippletree.model import Mechanism
from whippletree.model.element_registry import BodyLike

__all__ = ["bricard", "five_bar_pendulum", "human_body", "two_arms"]


POINTS: tuple[Point, ...] = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
AXES = ("y", "z", "x", "y", "z", "x")


def bricard(closed: bool = True, lumped: bool = False) -> PaperModel:
    """Return Bricard's mechanism: five rods of 1 m and 1 kg, 0.1 m square, in a ring of six hinges.

    `lumped` rods have half a kilogram at either end, as in examples 8.6 and 8.7.

    >>> bricard().build().mobility.mobility
    1
    """
    m = Mechanism("Bricard" if closed else "five-bar pendulum", gravity=(0, -9.81, 0))
    before: Any = m.ground
    origin = np.array(POINTS[0], dtype=float)
    for k in range(5):
        here, there = np.array(POINTS[k], dtype=float), np.array(POINTS[k + 1], dtype=float)
        along = there - here
        square = box(np.where(along == 0, 0.1, 1.0), mass=1.0, at=along / 2)
        link = m.body(f"rod {k + 1}", point_masses([(0.5, (0, 0, 0)), (0.5, tuple(along))]) if lumped else square)
        m.revolute(f"R{k + 1}", before, link, at=tuple(here - origin), axis=AXES[k])
        before, origin = link, here
    if closed:
        m.revolute("R6", before, m.ground, at=tuple(POINTS[5] - origin), at_child=POINTS[5], axis=AXES[5])
    elif lumped:
        m.frame("tip", on=before, at=tuple(POINTS[5] - origin))
    return PaperModel(m)


def five_bar_pendulum(lumped: bool = False) -> PaperModel:
    """Return Bricard's mechanism without its last hinge: five freedoms; `lumped` as there, with a point at the tip.

    >>> five_bar_pendulum().build().nv
    5
    """
    return bricard(closed=False, lumped=lumped)


def two_arms() -> PaperModel:
    """Return the plane system of examples 8.1 and 8.2: a floating base that carries two arms of three links.

    Its nine points are those of figure 8.7: 1 and 2 on the base, 3 to 6 on the first arm, whose second link has three
    of them, 7 to 9 on the second arm.

    >>> s = two_arms().build()
    >>> len(s.description.bodies), s.nv
    (7, 9)
    """
    m = Mechanism("two arms", gravity=(0, -9.81, 0))
    base = m.body("base", box((1.0, 0.3, 0.2), mass=5.0))
    m.planar("base motion", m.ground, base)
    links = (
        ("1", base, "1-3", (-0.5, 0.1, 0.0), 0.6),
        ("3", "1-3", "3-4-5", (0.6, 0.0, 0.0), 0.5),
        ("5", "3-4-5", "5-6", (0.5, 0.0, 0.0), 0.4),
        ("2", base, "2-7", (0.5, 0.1, 0.0), 0.6),
        ("7", "2-7", "7-8", (0.6, 0.0, 0.0), 0.5),
        ("8", "7-8", "8-9", (0.5, 0.0, 0.0), 0.4),
    )
    for point, on, name, at, length in links:
        m.revolute(point, on, m.body(name, segment(length, 1.0, 0.05, "x")), at=at)
    for point, on, at in (
        ("4", "3-4-5", (0.2, 0.3, 0.0)),
        ("6", "5-6", (0.4, 0.0, 0.0)),
        ("9", "8-9", (0.4, 0.0, 0.0)),
    ):
        m.frame(point, on=on, at=at)
    return PaperModel(m)


Part = tuple[str, str | Point, float, float]
"""Name, hinge axis, length, mass; a part with a minus before its length carries the next hinge where its own is."""

OBLIQUE: Point = (0.25, 0.25, 1.0)
"""Limbs turn about axes that are not along them, so that axis and the way to the next joint are two directions."""

LEG: tuple[Part, ...] = (
    ("hip flexion", "y", -0.04, 0.9),
    ("hip abduction", "x", -0.04, 0.9),
    ("thigh", OBLIQUE, 0.42, 8.0),
    ("shank", "y", 0.42, 3.5),
    ("talus", "y", 0.03, 0.3),
    ("foot", "x", 0.08, 0.9),
    ("toes", "y", 0.06, 0.2),
)
ARM: tuple[Part, ...] = (
    ("shoulder flexion", "y", -0.03, 0.4),
    ("shoulder abduction", "x", -0.03, 0.4),
    ("upper arm", OBLIQUE, 0.29, 2.0),
    ("elbow", "y", 0.05, 0.4),
    ("forearm", OBLIQUE, 0.22, 1.0),
    ("wrist", "x", 0.02, 0.1),
    ("hand", "y", 0.1, 0.4),
)
NECK: tuple[Part, ...] = (("neck", "y", -0.04, 0.5), ("neck side", "x", 0.04, 0.5), ("head", OBLIQUE, 0.2, 4.2))


def human_body() -> PaperModel:
    """Return a human body with 40 bodies, 6 + 39 freedoms, all hinges, and 175 pairs of a body and a joint on its way.

    A joint with several freedoms is several hinges with small bodies between. The hinges of each hip, with that of
    a soft mass, of each shoulder, and two of the neck meet in one point, which gives the book's 28 points and 62
    vectors. Pelvis (floating), two lumbar hinges to the chest, three of the neck; legs of seven hinges (hip 3,
    knee, ankle 2, toes), arms of seven (shoulder 3, elbow, forearm, wrist 2); a shoulder blade and a half of the
    ribs on either side of the chest, and a soft mass on either thigh. 1.75 m, 75 kg. The figure of the book is
    lost; its counts leave little else.

    >>> from whippletree.analysis.models import body_joint_pairs
    >>> s = human_body().build()
    >>> len(s.description.bodies), s.nv, body_joint_pairs(s)
    (40, 45, 175)
    """
    m = Mechanism("human body")
    pelvis = m.body("pelvis", box((0.2, 0.3, 0.16), mass=9.0, at=(0.005, 0.0, 0.02)))
    m.free("flight", m.ground, pelvis)
    lumbar = m.body("lumbar", box((0.16, 0.26, 0.14), mass=6.0, at=(0.01, 0.0, 0.07)))
    chest = m.body("chest", box((0.2, 0.32, 0.3), mass=15.0, at=(0.01, 0.0, 0.15)))
    m.revolute("lumbar joint", pelvis, lumbar, at=(-0.02, 0.0, 0.1), axis="y")
    m.revolute("chest joint", lumbar, chest, at=(0.0, 0.0, 0.14), axis="x")
    _limb(m, "", NECK, chest, (0.0, 0.0, 0.32), "z")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _limb(m, side, LEG, pelvis, (0.0, 0.09 * sign, -0.04), "-z")
        _limb(m, side, ARM, chest, (0.0, 0.18 * sign, 0.26), "-z")
        for name, at, mass in (
            ("shoulder blade", (-0.08, 0.09 * sign, 0.2), 0.8),
            ("ribs", (0.06, 0.06 * sign, 0.1), 1.2),
        ):
            part = m.body(f"{side} {name}", box((0.02, 0.1, 0.14), mass=mass, at=(0.01, 0.02 * sign, 0.0)))
            m.revolute(f"{side} {name} joint", chest, part, at=at, axis="z")
        soft = m.body(f"{side} soft mass", box((0.1, 0.1, 0.25), mass=2.0, at=(0.0, 0.0, -0.2)))
        m.revolute(f"{side} soft mass joint", f"{side} thigh", soft, axis="y")
    return PaperModel(m)


def _limb(m: Mechanism, side: str, parts: tuple[Part, ...], on: BodyLike, at: Point, axis: str) -> None:
    """Add a chain of hinged parts."""
    sign = -1.0 if axis[0] == "-" else 1.0
    for name, hinge, length, mass in parts:
        called = f"{side} {name}".strip()
        shape = segment(abs(length), mass, 0.04 + 0.1 * abs(length), axis).moved(at=(0.004, 0.0, 0.0))
        part = m.body(called, shape)
        m.revolute(f"{called} joint", on, part, at=at, axis=hinge)
        on, at = part, (0.0, 0.0, sign * max(length, 0.0))
