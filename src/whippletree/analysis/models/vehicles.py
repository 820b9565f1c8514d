"""Garcia de Jalon and Bayo: the vehicles, a heavy truck and a car."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.analysis.models.common import PaperModel, Point, along, link, segment
from whippletree.elements.bodies import box, cylinder, rod, sphere
from whippletree.model import Mechanism

__all__ = ["car", "heavy_truck"]


def heavy_truck() -> PaperModel:
    """Return a heavy truck of 33 bodies, two of them rods that have balls at both ends, with 18 freedoms.

    Chassis (floating). Two axles, each on a ball 0.8 m before it and on two leaf springs of four bodies: front half,
    rear half, shackle, and a rod to the axle. Knuckles, four wheels. Steering: pitman arm, drag link, tie rod. Front
    stabiliser of a bar on a ball and two links; rear one of two halves, whose links are stiff springs. Wheelbase 5 m,
    track 2 m, 7.5 t.

    23 hinges, 15 balls and 6 cardan joints, as in the book. Drag link and tie rod have four of the balls, and are
    conditions here, as in the book's formulation B, with their masses at their ends: 31 bodies remain. Ten joints are
    cut, and the tree has 48 freedoms. Of the 36 conditions six follow from others, since leaf springs are plane:
    48 - 30 = 18. The front left spring stays in its plane and guides the axle; the others can swing about the line of
    their eyes.

    >>> from whippletree.analysis.models import body_joint_pairs
    >>> s = heavy_truck().build()
    >>> len(s.description.bodies), s.mobility.mobility, body_joint_pairs(s)
    (31, 18, 51)
    """
    m = Mechanism("heavy truck")
    chassis = m.body("chassis", box((7.0, 1.0, 0.4), mass=5500.0, at=(-2.3, 0.0, 0.3)))
    m.free("flight", m.ground, chassis)
    springs = {
        "front left": ("RRSR", 3),
        "front right": ("URRS", 4),
        "rear left": ("URRU", 3),
        "rear right": ("URRU", 3),
    }
    cut: list[str] = []
    for end, x, mass in (("front", 0.0, 400.0), ("rear", -5.0, 700.0)):
        axle = m.body(f"{end} axle", box((0.15, 1.7, 0.15), mass=mass, at=_AXLE) + rod(0.8, 30.0, axis="-x"))
        m.spherical(f"{end} axle ball", chassis, axle, at=(x + 0.8, 0.0, _BALL))
        for side, y in _SIDES:
            cut += _leaf_spring(m, f"{end} {side}", (x, 0.5 * y, 0.0), *springs[f"{end} {side}"])
    _steering(m)
    for side, y in _SIDES:
        _wheel(m, f"front {side}", f"{side} knuckle", (0.0, 0.15 * y, 0.0), 90.0)
        _wheel(m, f"rear {side}", "rear axle", (-0.8, y, -0.1), 180.0)
    cut += _front_stabiliser(m)
    _rear_stabiliser(m)
    return PaperModel(m, cut=tuple(cut))


_SIDES = (("left", 1.0), ("right", -1.0))

_BALL = -0.3
"""Height of the balls on which axles turn, over the chassis' origin."""

_AXLE: Point = (-0.8, 0.0, -0.1)
"""The middle of an axle, seen from its ball."""


def _wheel(m: Mechanism, name: str, on: Any, at: Point, mass: float) -> None:
    wheel = m.body(f"{name} wheel", cylinder(0.5, 0.28, mass=mass, axis="y"))
    m.revolute(f"{name} wheel joint", on, wheel, at=at, axis="y")


def _leaf_spring(m: Mechanism, name: str, middle: Point, kinds: str, cut: int) -> list[str]:
    """Add a leaf spring, its joints of these kinds from the front eye to the rear one; return the joints to be cut.

    Cardan joints of eyes turn about the line of the eyes first, along x: so the whole spring can swing.
    """
    x, y, _ = middle
    front = m.body(f"{name} leaf front", segment(0.7, 18.0, 0.06, "-x"))
    rear = m.body(f"{name} leaf rear", segment(0.75, 18.0, 0.06, "-x"))
    shackle = m.body(f"{name} shackle", segment(0.15, 4.0, 0.04, "z"))
    places: tuple[tuple[str, Any, Any, Point, Point], ...] = (
        ("front eye", "chassis", front, (x + 0.7, y, -0.1), (0.0, 0.0, 0.0)),
        ("leaf joint", front, rear, (-0.7, 0.0, -0.12), (0.0, 0.0, 0.0)),
        ("shackle pin", rear, shackle, (-0.78, 0.0, -0.03), (0.0, 0.0, 0.0)),
        ("rear eye", "chassis", shackle, (x - 0.75, y, -0.1), (0.03, 0.0, 0.15)),
    )
    for kind, (joint, parent, child, at, at_child) in zip(kinds, places, strict=True):
        _joint(m, kind, f"{name} {joint}", parent, child, at, at_child)
    m.torsion_spring(f"{name} leaf stiffness", f"{name} leaf joint", stiffness=6e4, damping=2e3)
    if kinds[0] == "U":
        m.torsion_spring(f"{name} side stiffness", f"{name} front eye", stiffness=4e4, damping=1e3)
    seat = m.body(f"{name} seat rod", segment(0.14, 6.0, 0.05, "-z"))
    m.revolute(f"{name} seat pin", front, seat, at=(-0.62, 0.0, -0.06), axis="y")
    on_axle = (-0.72, y, 0.0)
    m.spherical(f"{name} seat ball", seat, f"{name.partition(' ')[0]} axle", at=(0.0, 0.0, -0.14), at_child=on_axle)
    return [f"{name} {places[cut - 1][0]}", f"{name} seat ball"]


def _joint(m: Mechanism, kind: str, name: str, parent: Any, child: Any, at: Point, at_child: Point) -> None:
    """Add a hinge about y, a cardan joint about x and then y, or a ball."""
    if kind == "R":
        m.revolute(name, parent, child, at=at, axis="y", at_child=at_child, axis_child="y")
    elif kind == "U":
        m.universal(name, parent, child, at=at, axis="x", at_child=at_child, axis_child="y")
    else:
        m.spherical(name, parent, child, at=at, at_child=at_child)


def _steering(m: Mechanism) -> None:
    """Add knuckles, pitman arm, drag link and tie rod; half the mass of a rod is at either end."""
    arm, back = (0.02, -0.2, 0.15), (-0.18, -0.07, -0.02)
    for side, y in _SIDES:
        shape = box((0.1, 0.1, 0.3), mass=40.0, at=(0.0, 0.05 * y, 0.0)) + sphere(0.03, mass=6.0, at=_mirrored(back, y))
        if side == "left":
            shape = shape + sphere(0.03, mass=4.0, at=arm)
        knuckle = m.body(f"{side} knuckle", shape)
        m.revolute(f"{side} kingpin", "front axle", knuckle, at=(-0.8, 0.85 * y, -0.1), axis=(-0.05, -0.08 * y, 1.0))
    pitman = m.body("pitman arm", segment(0.25, 6.0, 0.05, "-z") + sphere(0.03, mass=4.0, at=(0.0, 0.0, -0.25)))
    m.revolute("steering", "chassis", pitman, at=(0.6, 0.62, 0.0), axis="y")
    m.torsion_spring("steering stiffness", "steering", stiffness=5e3, damping=2e2)
    m.distance("drag link", pitman, "left knuckle", at=(0.0, 0.0, -0.25), at_child=arm)
    m.distance("tie rod", "left knuckle", "right knuckle", at=back, at_child=_mirrored(back, -1.0))


def _mirrored(at: Point, y: float) -> Point:
    return (at[0], at[1] * y, at[2])


def _front_stabiliser(m: Mechanism) -> list[str]:
    """Add a bar on a ball in rubber, and its links: a hinge and a ball, a cardan joint and a ball."""
    shape = rod(1.2, 14.0, axis="y", at=(0.0, -0.6, 0.0))
    for _, y in _SIDES:
        shape = shape + rod(0.5, 5.0, axis=(-0.5, 0.0, -0.1), at=(0.0, 0.6 * y, 0.0))
    bar = m.body("front stabiliser", shape)
    m.spherical("front stabiliser ball", "chassis", bar, at=(0.65, 0.0, -0.05))
    rubber = (2e4, 0.0, 2e4, 0.0, 0.0, 0.0)
    m.bushing(
        "front stabiliser rubber",
        "chassis",
        bar,
        at=(0.65, 0.0, -0.05),
        stiffness=rubber,
        damping=(4e2, 4e1, 4e2, 0.0, 0.0, 0.0),
    )
    for kind, (side, y) in zip("RU", _SIDES, strict=True):
        one = m.body(f"{side} stabiliser link", segment(0.2, 3.0, 0.03, "-z"))
        _joint(m, kind, f"{side} stabiliser pin", bar, one, (-0.5, 0.6 * y, -0.1), (0.0, 0.0, 0.0))
        on_axle = (-0.65, 0.6 * y, -0.05)
        m.spherical(f"{side} stabiliser end", one, "front axle", at=(0.0, 0.0, -0.2), at_child=on_axle)
    return [f"{side} stabiliser end" for side, _ in _SIDES]


def _rear_stabiliser(m: Mechanism) -> None:
    """Add two halves that turn about one axis, the second on the first, and stiff springs as links to the axle."""
    on: Any = "chassis"
    at: Point = (-5.65, 0.0, -0.05)
    for side, y in _SIDES:
        end = (0.5, 0.6 * y, -0.05)
        shape = rod(0.6, 8.0, axis=(0.0, y, 0.0)) + rod(0.5, 5.0, axis=(0.5, 0.0, -0.05), at=(0.0, 0.6 * y, 0.0))
        half = m.body(f"rear {side} stabiliser", shape)
        m.revolute(f"rear {side} stabiliser joint", on, half, at=at, axis="y")
        on_axle = (-0.95, 0.6 * y, -0.05)
        m.spring(
            f"rear {side} stabiliser link",
            half,
            "rear axle",
            at=end,
            at_child=on_axle,
            stiffness=2e5,
            damping=3e2,
            free_length=0.25,
        )
        on, at = half, (0.0, 0.0, 0.0)
    m.torsion_spring("rear stabiliser stiffness", "rear right stabiliser joint", stiffness=2e4, damping=4e1)


def car() -> PaperModel:
    """Return a car with 25 bodies and 15 freedoms: McPherson front and five-point rear suspension, rack steering.

    Chassis (floating); at the front on either side an arm (hinge), a knuckle (ball), a strut (cardan joint to the
    chassis, cylindrical joint to the knuckle, cut), a wheel, and a massless tie rod to the rack; at the rear five links
    (cardan joints), a carrier held by five balls, four of them cut, and a wheel; rack (slide) and steering wheel,
    geared together. Wheelbase 2.6 m, track 1.5 m, 1.3 t.

    >>> s = car().build()
    >>> len(s.description.bodies), s.mobility.mobility
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
