"""Garcia de Jalon and Bayo: the vehicles, a heavy truck and a car."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.analysis.models.common import PaperModel, Point, along, link, segment
from whippletree.elements.bodies import box, cylinder, rod, sphere
from whippletree.model import Mechanism

__all__ = ["car", "heavy_truck"]


def heavy_truck() -> PaperModel:
    """Return a heavy truck with 33 bodies, 18 freedoms, 48 with its loops open, and 51 pairs of a body and a joint.

    Chassis (floating). Front and rear axle: each turns about a ball on the chassis and is held sideways by a rod. Front
    wheels on knuckles, four rear wheels, a pinion on the rear axle. Steering arm and two drag links to the knuckles.
    Front stabiliser of two halves and two links. Four leaf springs, each of a front half, a rear half and a shackle on
    parallel hinges, closed by a ball, and tied to its axle by a massless rod. Wheelbase 5 m, track 2 m, 9 t.

    Ten balls are cut. Of their thirty equations four are redundant, since the leaf springs are plane, and the four rods
    make up for them: 48 - 30 = 18. The book has 23 hinges, 15 balls and 6 cardan joints, which cannot give its own 48
    and 18 freedoms with 33 bodies; here are 24, 12 and 6.

    >>> from whippletree.analysis.models import body_joint_pairs
    >>> s = heavy_truck().build()
    >>> s.n_bodies, s.mobility.mobility, body_joint_pairs(s)
    (33, 18, 51)
    """
    m = Mechanism("heavy truck")
    chassis = m.body("chassis", box((7.0, 1.0, 0.4), mass=5500.0, at=(-2.3, 0.0, 0.3)))
    m.free("flight", m.ground, chassis)
    cut: list[str] = []
    for name, x, mass in (("front", 0.0, 400.0), ("rear", -5.0, 700.0)):
        _axle(m, name, x, mass, cut)
    for side, y in (("left", 1.0), ("right", -1.0)):
        knuckle = m.body(f"{side} knuckle", box((0.1, 0.1, 0.3), mass=40.0, at=(0.0, 0.05 * y, 0.0)))
        m.revolute(f"{side} kingpin", "front axle", knuckle, at=(-0.8, 0.85 * y, -0.05), axis=(-0.05, -0.08 * y, 1.0))
        _wheel(m, f"front {side}", knuckle, (0.0, 0.15 * y, 0.0), 90.0)
        for twin, out in (("inner", 0.85), ("outer", 1.15)):
            _wheel(m, f"rear {side} {twin}", "rear axle", (-0.8, out * y, -0.05), 90.0)
        for end, x in (("front", 0.0), ("rear", -5.0)):
            _leaf_spring(m, f"{end} {side}", x, 0.5 * y, cut)
        half = m.body(f"{side} stabiliser", segment(0.5, 8.0, 0.05, "-x"))
        m.revolute(f"{side} stabiliser joint", chassis, half, at=(0.9, 0.55 * y, 0.0), axis=(0.0, 1.0, 0.06 * y))
        link(m, f"{side} stabiliser link", half, (-0.5, 0.0, 0.0), (-0.52, 0.03 * y, -0.28), 3.0)
        m.spherical(
            f"{side} stabiliser ball",
            f"{side} stabiliser link",
            "front axle",
            at=(-0.02, 0.03 * y, -0.28),
            at_child=tuple(np.subtract((0.38, 0.58 * y, -0.28), (0.8, 0.0, 0.0))),
        )
        cut.append(f"{side} stabiliser ball")
    steering = m.body("steering arm", segment(0.25, 6.0, 0.05, "-z"))
    m.revolute("steering", chassis, steering, at=(0.5, 0.1, 0.1), axis="y")
    for side, y in (("left", 1.0), ("right", -1.0)):
        inner, outer = (0.5, 0.1, -0.15), (0.1, 0.75 * y, -0.05)
        link(m, f"{side} drag link", steering, inner, outer, 6.0, base=(0.5, 0.1, 0.1))
        m.spherical(
            f"{side} drag ball",
            f"{side} drag link",
            f"{side} knuckle",
            at=along((inner, outer)),
            at_child=tuple(np.subtract(outer, (0.0, 0.85 * y, -0.05))),
        )
        cut.append(f"{side} drag ball")
    pinion = m.body("pinion", cylinder(0.08, 0.3, mass=20.0, axis="x", at=(0.01, 0.0, 0.02)))
    m.revolute("pinion joint", "rear axle", pinion, at=(-0.6, 0.0, 0.0), axis="x")
    return PaperModel(m, cut=tuple(cut))


def _axle(m: Mechanism, name: str, x: float, mass: float, cut: list[str]) -> None:
    """Add an axle on a ball 0.8 m before it, and its cross rod; its frame is at the ball."""
    axle = m.body(f"{name} axle", box((0.15, 1.7, 0.15), mass=mass, at=(-0.8, 0.0, -0.05)) + rod(0.8, 30.0, axis="-x"))
    m.spherical(f"{name} axle ball", "chassis", axle, at=(x + 0.8, 0.0, 0.0))
    inner, outer = (x - 0.1, 0.55, 0.08), (x - 0.1, -0.5, 0.02)
    link(m, f"{name} cross rod", "chassis", inner, outer, 10.0)
    m.spherical(
        f"{name} cross ball",
        f"{name} cross rod",
        axle,
        at=along((inner, outer)),
        at_child=tuple(np.subtract(outer, (x + 0.8, 0.0, 0.0))),
    )
    cut.append(f"{name} cross ball")


def _wheel(m: Mechanism, name: str, on: Any, at: Point, mass: float) -> None:
    wheel = m.body(f"{name} wheel", cylinder(0.5, 0.28, mass=mass, axis="y"))
    m.revolute(f"{name} wheel joint", on, wheel, at=at, axis="y")


def _leaf_spring(m: Mechanism, name: str, x: float, y: float, cut: list[str]) -> None:
    """Add a front half, a rear half on a shackle, the ball between the halves, and the rod to the axle."""
    front = m.body(f"{name} leaf front", segment(0.7, 18.0, 0.06, "-x"))
    shackle = m.body(f"{name} shackle", segment(0.15, 4.0, 0.04, "-z"))
    rear = m.body(f"{name} leaf rear", segment(0.7, 18.0, 0.06, "x"))
    m.revolute(f"{name} leaf front joint", "chassis", front, at=(x + 0.7, y, -0.08), axis="y")
    m.revolute(f"{name} shackle joint", "chassis", shackle, at=(x - 0.72, y, 0.07), axis="y")
    m.revolute(f"{name} leaf rear joint", shackle, rear, at=(-0.02, 0.0, -0.15), axis="y")
    m.spherical(f"{name} leaf ball", front, rear, at=(-0.7, 0.0, -0.05), at_child=(0.74, 0.0, -0.05))
    m.torsion_spring(f"{name} leaf stiffness", f"{name} leaf front joint", stiffness=6e4, damping=2e3)
    cut.append(f"{name} leaf ball")
    axle = name.partition(" ")[0]
    m.distance(
        f"{name} leaf rod",
        front,
        f"{axle} axle",
        at=(-0.7, 0.0, -0.05),
        at_child=(-0.8, y, -0.28),
        length=0.15,
    )


def car() -> PaperModel:
    """Return a car with 25 bodies and 15 freedoms: McPherson front and five-point rear suspension, rack steering.

    Chassis (floating); at the front on either side an arm (hinge), a knuckle (ball), a strut (cardan joint to the
    chassis, cylindrical joint to the knuckle, cut), a wheel, and a massless tie rod to the rack; at the rear five links
    (cardan joints), a carrier held by five balls, four of them cut, and a wheel; rack (slide) and steering wheel,
    geared together. Wheelbase 2.6 m, track 1.5 m, 1.3 t.

    >>> s = car().build()
    >>> s.n_bodies, s.mobility.mobility
    (25, 15)
    """
    m = Mechanism("car")
    chassis = m.body("chassis", box((4.0, 1.4, 0.6), mass=1000.0, at=(-1.2, 0.0, 0.4)))
    m.free("flight", m.ground, chassis)
    rack = m.body("rack", rod(0.8, mass=3.0, axis="y", at=(0.0, -0.4, 0.0)))
    m.prismatic("rack slide", chassis, rack, at=(-0.14, 0.0, 0.1), axis="y")
    column = m.body("steering wheel", cylinder(0.18, 0.03, mass=2.0))
    m.revolute("steering", chassis, column, at=(-0.9, 0.35, 0.6), axis=(-0.4, 0.0, 0.9))
    m.gear("pinion", "steering", "rack slide", ratio=0.008)
    cut: list[str] = []
    for side, y in (("left", 1.0), ("right", -1.0)):
        _mcpherson(m, side, y, cut)
        _five_links(m, side, y, cut)
    return PaperModel(m, cut=tuple(cut))


def _mcpherson(m: Mechanism, side: str, y: float, cut: list[str]) -> None:
    inner, outer, hub, top = (0.0, 0.35 * y, 0.0), (0.0, 0.7 * y, -0.03), (0.0, 0.75 * y, 0.05), (-0.03, 0.58 * y, 0.6)
    arm = m.body(f"front {side} arm", box((0.25, 0.3, 0.04), mass=4.0, at=(0.0, 0.17 * y, 0.0)))
    m.revolute(f"front {side} arm joint", "chassis", arm, at=inner, axis=(1.0, 0.0, 0.03))
    knuckle = m.body(f"front {side} knuckle", box((0.1, 0.08, 0.3), mass=14.0, at=(0.0, 0.0, 0.05)))
    m.spherical(f"front {side} ball", arm, knuckle, at=along((inner, outer)), at_child=tuple(np.subtract(outer, hub)))
    low = (-0.01, 0.66 * y, 0.15)
    way = np.subtract(top, low)
    way = way / np.linalg.norm(way)
    strut = m.body(f"front {side} strut", rod(0.3, mass=3.0, axis=tuple(-way)) + sphere(0.03, mass=0.3))
    first = np.cross(way, (0.0, 1.0, 0.0))
    first = first / np.linalg.norm(first)
    m.universal(
        f"front {side} mount", "chassis", strut, at=top, axis=tuple(first), axis_child=tuple(np.cross(way, first))
    )
    m.cylindrical(
        f"front {side} damper",
        strut,
        knuckle,
        at=tuple(np.subtract(low, top)),
        axis=tuple(way),
        at_child=tuple(np.subtract(low, hub)),
        axis_child=tuple(way),
    )
    cut.append(f"front {side} damper")
    m.spring(
        f"front {side} spring",
        "chassis",
        knuckle,
        at=top,
        at_child=tuple(np.subtract(low, hub)),
        stiffness=3e4,
        damping=2e3,
        free_length=0.58,
    )
    tie, end = (-0.14, 0.4 * y, 0.1), (-0.12, 0.7 * y, 0.09)
    m.distance(
        f"front {side} tie rod",
        "rack",
        knuckle,
        at=(0.0, 0.4 * y, 0.0),
        at_child=tuple(np.subtract(end, hub)),
        length=float(np.linalg.norm(np.subtract(end, tie))),
    )
    _wheel(m, f"front {side}", knuckle, (0.0, 0.04 * y, 0.0), 16.0)


def _five_links(m: Mechanism, side: str, y: float, cut: list[str]) -> None:
    hub = (-2.6, 0.72 * y, 0.05)
    ends: tuple[tuple[Point, Point], ...] = (
        ((-2.5, 0.35 * y, -0.02), (-2.57, 0.7 * y, -0.06)),
        ((-2.75, 0.36 * y, 0.0), (-2.66, 0.7 * y, -0.05)),
        ((-2.52, 0.42 * y, 0.22), (-2.58, 0.68 * y, 0.2)),
        ((-2.3, 0.5 * y, 0.16), (-2.56, 0.66 * y, 0.18)),
        ((-2.82, 0.4 * y, 0.08), (-2.74, 0.7 * y, 0.06)),
    )
    carrier = m.body(f"rear {side} carrier", box((0.12, 0.08, 0.28), mass=13.0, at=(0.0, -0.01 * y, 0.0)))
    for k, (inner, outer) in enumerate(ends, start=1):
        name = f"rear {side} link {k}"
        link(m, name, "chassis", inner, outer, 1.2)
        m.spherical(f"{name} ball", name, carrier, at=along((inner, outer)), at_child=tuple(np.subtract(outer, hub)))
        if k > 1:
            cut.append(f"{name} ball")
    m.spring(
        f"rear {side} spring",
        "chassis",
        carrier,
        at=(-2.62, 0.58 * y, 0.5),
        at_child=(0.0, -0.06 * y, 0.0),
        stiffness=3e4,
        damping=2e3,
        free_length=0.55,
    )
    _wheel(m, f"rear {side}", carrier, (0.0, 0.05 * y, 0.0), 16.0)
