"""Nikravesh and others: the Stanford arm, chains and stars of one kind of joint, the four-bar on a slide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whippletree.analysis.models.common import PaperModel, Point
from whippletree.elements.bodies import box, cylinder
from whippletree.errors import ModelError
from whippletree.model import Mechanism
from whippletree.model.element_registry import BodyLike

__all__ = ["closed_chain", "deformable_chain", "serial_chain", "slider_four_bar", "stanford_arm", "star"]


def stanford_arm(freedoms: int = 6) -> PaperModel:
    """Return the Stanford arm: hinge, hinge, slide, hinge, hinge, hinge; or only its first joints.

    Denavit and Hartenberg's arrangement with a shoulder at 0.41 m, an offset of 0.15 m, a boom of 0.6 m, a hand of
    0.26 m; masses 9.3, 5.0, 4.3, 1.1, 0.6 and 0.5 kg; inertias of boxes and cylinders.

    >>> [stanford_arm(n).build().nv for n in (1, 6)]
    [1, 6]
    """
    if not 1 <= freedoms <= 6:
        raise ModelError(f"stanford_arm: freedoms must be 1 to 6, got {freedoms}")
    m = Mechanism("Stanford arm")
    column = m.body("column", cylinder(0.09, 0.4, mass=9.3, at=(0.0, 0.01, -0.1)))
    shoulder = m.body("shoulder", box((0.18, 0.16, 0.2), mass=5.0, at=(0.0, 0.05, 0.01)))
    boom = m.body("boom", box((0.06, 0.06, 0.9), mass=4.3, at=(0.0, 0.005, -0.45)))
    wrist = [
        m.body("wrist 1", cylinder(0.04, 0.1, mass=1.1, at=(0.0, 0.002, 0.02))),
        m.body("wrist 2", box((0.05, 0.07, 0.05), mass=0.6, at=(0.001, 0.0, 0.01))),
        m.body("hand", box((0.1, 0.06, 0.16), mass=0.5, at=(0.002, 0.001, 0.16))),
    ]
    joints: list[Callable[[], object]] = [
        lambda: m.revolute("J1", m.ground, column, at=(0, 0, 0.41), axis="z"),
        lambda: m.revolute("J2", column, shoulder, at=(0, 0.15, 0), axis="y"),
        lambda: m.prismatic("J3", shoulder, boom, axis="z"),
        lambda: m.revolute("J4", boom, wrist[0], axis="z"),
        lambda: m.revolute("J5", wrist[0], wrist[1], axis="y"),
        lambda: m.revolute("J6", wrist[1], wrist[2], axis="z"),
    ]
    for join in joints[:freedoms]:
        join()
    if freedoms < 6:
        return _without(m, freedoms)
    return PaperModel(m, {"J1": 0.4, "J2": 0.9, "J3": 0.6, "J4": 0.3, "J5": 0.5, "J6": -0.2})


def _without(m: Mechanism, freedoms: int) -> PaperModel:
    """Weld bodies without a joint to the last link."""
    names = ["column", "shoulder", "boom", "wrist 1", "wrist 2", "hand"]
    for i in range(freedoms, 6):
        offset = (0, 0.15, 0) if names[i] == "shoulder" else (0, 0, 0.6) if names[i] == "boom" else (0, 0, 0)
        m.fixed(f"J{i + 1}", names[i - 1], names[i], at=offset)
    return PaperModel(m)


KINDS = ("revolute", "prismatic", "spherical")


def serial_chain(n: int, kind: str = "revolute") -> PaperModel:
    """Return a serial chain of n equal bodies: joints of one kind, axes y, z, x in turn, links of 0.4 m and 2 kg.

    >>> serial_chain(4, "spherical").build().nv
    12
    """
    m = Mechanism(f"serial chain of {n} {kind} joints")
    before = m.ground
    for i in range(_count(n, kind)):
        link = m.body(f"link {i + 1}", box((0.4, 0.08, 0.06), mass=2.0, at=(0.2, 0.01, 0.005)))
        _join(m, kind, i, before, link, (0.4, 0.02, 0.01) if i else (0.0, 0.0, 0.0))
        before = link
    return PaperModel(m)


def deformable_chain(n: int, modes: int) -> PaperModel:
    """Return a serial chain of n hinges between equal aluminium tubes of 0.4 m, each with so many modes; 0 is rigid.

    >>> deformable_chain(3, 2).build().nv
    9
    """
    from whippletree.flexible_bodies import aluminium, beam, tube

    m = Mechanism(f"serial chain of {n} hinges, {modes} modes a body")
    if modes < 0:
        raise ModelError(f"deformable_chain: modes must not be negative, got {modes}")
    section = tube(radius=0.02, wall=0.002)
    made: Any = beam(length=0.4, section=section, material=aluminium, elements=8, modes=max(modes, 1))
    if not modes:
        made = cylinder(0.02, 0.4, mass=aluminium.density * section.area * 0.4, axis="x", at=(0.2, 0.0, 0.0))
    before: Any = m.ground
    for i in range(_count(n, "revolute")):
        link = m.body(f"link {i + 1}", made)
        end: Any = "tip" if modes else (0.4, 0.0, 0.0)
        _join(m, "revolute", i, before, link, end if i else (0.0, 0.0, 0.0))
        before = link
    return PaperModel(m)


def closed_chain(n: int) -> PaperModel:
    """Return a serial chain of n hinges whose tip is held by a hinge on the ground, where it is cut: five equations.

    >>> closed_chain(7).build().mobility.mobility
    2
    """
    open_chain = serial_chain(n)
    m, tip = open_chain.mechanism, (0.4, 0.02, 0.01)
    m.frame("tip", on=f"link {n}", at=tip)
    bent = {f"joint {i + 1}": 0.3 * np.cos(2.4 * i) for i in range(n)}
    s = m.build()
    m.revolute("closing", f"link {n}", m.ground, at=tip, pose_child=s.pose(s.configuration(bent), "tip"))
    return PaperModel(m, bent, ("closing",))


def star(n: int, kind: str = "revolute") -> PaperModel:
    """Return a star: n equal bodies, each on a joint of its own to the ground.

    >>> star(4, "prismatic").build().nv
    4
    """
    m = Mechanism(f"star of {n} {kind} joints")
    for i in range(_count(n, kind)):
        angle = 2 * np.pi * i / n
        ray = m.body(f"ray {i + 1}", box((0.4, 0.08, 0.06), mass=2.0, at=(0.2, 0.01, 0.005)))
        _join(m, kind, i, m.ground, ray, (np.cos(angle), np.sin(angle), 0.0))
    return PaperModel(m)


def _count(n: int, kind: str) -> int:
    if kind not in KINDS:
        raise ModelError(f"the joints must be one of {', '.join(KINDS)}, not {kind!r}")
    if n < 1:
        raise ModelError(f"there must be at least one joint, got {n}")
    return n


def _join(m: Mechanism, kind: str, i: int, parent: BodyLike, child: BodyLike, at: Point) -> None:
    if kind == "spherical":
        m.spherical(f"joint {i + 1}", parent, child, at=at)
    else:
        join = m.revolute if kind == "revolute" else m.prismatic
        join(f"joint {i + 1}", parent, child, at=at, axis="yzx"[i % 3])


def slider_four_bar() -> PaperModel:
    """Return the example of Nikravesh and others: four bodies, one on a slide, in a loop of four parallel hinges.

    The printed matrix determines the hinges' places; the bodies are cubes of 1 kg.

    >>> slider_four_bar().build().mobility.mobility
    2
    """
    u = (np.sqrt(0.5), -np.sqrt(0.5), 0.0)
    points = {"R2": (0.0, 0.0, 0.0), "R3": (0.0, 0.0, 2.0), "R4": (1.0, 1.0, 2.0), "R5": (1.0, 1.0, 0.0)}
    m = Mechanism("four-bar on a slide")
    names = [f"body {i}" for i in range(1, 5)]
    for name in names:
        m.body(name, box((0.2, 0.2, 0.2), mass=1.0))
    m.prismatic("T1", m.ground, names[0], axis="x")
    for i, hinge in enumerate(("R2", "R3", "R4")):
        m.revolute(hinge, names[i], names[i + 1], at=points[hinge], at_child=points[hinge], axis=u)
    m.revolute("R5", names[0], names[3], at=points["R5"], at_child=points["R5"], axis=u)
    return PaperModel(m, cut=("R5",))
