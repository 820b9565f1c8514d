"""The papers' models: mechanisms with the numbers of bodies, joints and freedoms that the papers state.

Where a paper gives no dimensions, and most give none, they are plausible ones, in metres and kilograms, stated here.
Every function returns a `PaperModel`: a mechanism, roughly where its joints are, and where its loops are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whippletree.elements.bodies import MassProperties, box, cylinder, rod, sphere
from whippletree.errors import ModelError
from whippletree.model import Mechanism
from whippletree.system import System

__all__ = [
    "MODELS",
    "PaperModel",
    "body_joint_pairs",
    "bricard",
    "car",
    "closed_chain",
    "five_bar_pendulum",
    "heavy_truck",
    "human_body",
    "quarter_car",
    "serial_chain",
    "slider_four_bar",
    "stanford_arm",
    "star",
]

Point = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class PaperModel:
    """A mechanism of a paper, and how it is built.

    >>> five_bar_pendulum().build().nv
    5
    """

    mechanism: Mechanism
    guess: Mapping[str, Any] = field(default_factory=dict)
    cut: tuple[str, ...] = ()

    def build(self) -> System:
        """Return the system, loops closed and cut where the paper cuts them."""
        return self.mechanism.build(guess=dict(self.guess), cut=list(self.cut) or None)

    def state(self, system: System, seed: int = 0) -> tuple[Any, Any]:
        """Return a consistent state near the described one, moving.

        >>> model = quarter_car()
        >>> q, v = model.state(model.build())
        >>> q.shape
        (23,)
        """
        rng = np.random.default_rng(seed)
        q = system.q0
        v = 0.3 * rng.standard_normal(system.nv)
        if system.description.closures or system.plan.cuts:
            return q, system.consistent_velocities(q, v)
        return system.integrate(q, 0.3 * rng.standard_normal(system.nv)), v


def body_joint_pairs(system: System) -> int:
    """Return the number of pairs of a body and a joint on its way to the base, a floating base not counted.

    >>> body_joint_pairs(serial_chain(3).build())
    6
    """
    bones = system._engine.equations.skeleton().bones
    depth: list[int] = []
    for bone in bones:
        above = 0 if bone.parent < 0 else depth[bone.parent]
        depth.append(above + (bone.use.joint.kind != "free"))
    return sum(depth)


def _segment(length: float, mass: float, thick: float, axis: str = "-z") -> MassProperties:
    """Return a rod with thickness: a part of a body."""
    sizes = [thick, thick, thick]
    k = "xyz".index(axis[-1])
    sizes[k] = length
    at = [0.0, 0.0, 0.0]
    at[k] = -length / 2 if axis[0] == "-" else length / 2
    return box(sizes, mass=mass, at=at)


# ---------------------------------------------------------------------------------------------------------
# Kang and Yoon


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
    arm = m.body("lower arm", _segment(0.36, 5.0, 0.06, "y"))
    m.revolute("arm", m.ground, arm, at=(0.02, 0.35, 0.22), axis=(1.0, 0.05, 0.03))
    links = {
        "front link": ((0.12, 0.42, 0.48), (0.04, 0.68, 0.50)),
        "rear link": ((-0.16, 0.44, 0.47), (-0.05, 0.68, 0.49)),
        "tie rod": ((0.15, 0.40, 0.27), (0.13, 0.70, 0.26)),
    }
    center = np.array((0.0, 0.72, 0.32))
    for name, (inner, outer) in links.items():
        _link(m, name, m.ground, inner, outer, mass=1.5)
    ends = {name: np.subtract(outer, center) for name, (_, outer) in links.items()}
    m.spherical("front ball", "front link", knuckle, at=_along(links["front link"]), at_child=tuple(ends["front link"]))
    m.spherical("rear ball", "rear link", knuckle, at=_along(links["rear link"]), at_child=tuple(ends["rear link"]))
    m.spherical("tie ball", "tie rod", knuckle, at=_along(links["tie rod"]), at_child=tuple(ends["tie rod"]))
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


def _along(ends: tuple[Point, Point]) -> Point:
    """Return the far end of a link in its own frame, which is parallel to the ground at the near end."""
    (a, b, c), (x, y, z) = ends
    return (x - a, y - b, z - c)


def _link(m: Mechanism, name: str, parent: Any, inner: Point, outer: Point, mass: float, *, base: Any = None) -> None:
    """Add a thin link with a cardan joint at its inner end; its frame is parallel to the parent's."""
    way = np.subtract(outer, inner)
    length = float(np.linalg.norm(way))
    first = np.array((0.0, 0.0, 1.0)) - way * way[2] / length**2
    first = first / np.linalg.norm(first)
    second = np.cross(way / length, first)
    shape = rod(length, mass=mass, axis=way / length) + sphere(0.03, mass=0.3)
    at = inner if base is None else tuple(np.subtract(inner, base))
    m.universal(f"{name} joint", parent, m.body(name, shape), at=at, axis=tuple(first), axis_child=tuple(second))


# ---------------------------------------------------------------------------------------------------------
# Nikravesh and others


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
    joints: list[Callable[[], Any]] = [
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
    """Weld what has no joint yet to the last link."""
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
    before: Any = m.ground
    for i in range(_count(n, kind)):
        link = m.body(f"link {i + 1}", box((0.4, 0.08, 0.06), mass=2.0, at=(0.2, 0.01, 0.005)))
        _join(m, kind, i, before, link, (0.4, 0.02, 0.01) if i else (0.0, 0.0, 0.0))
        before = link
    return PaperModel(m)


def closed_chain(n: int) -> PaperModel:
    """Return a serial chain of n hinges whose tip is held by a ball on the ground: n freedoms less three equations.

    >>> closed_chain(5).build().mobility.mobility
    2
    """
    open_chain = serial_chain(n)
    m, tip = open_chain.mechanism, (0.4, 0.02, 0.01)
    m.frame("tip", on=f"link {n}", at=tip)
    bent = {f"joint {i + 1}": 0.3 * np.cos(2.4 * i) for i in range(n)}
    s = m.build()
    m.spherical("closing", f"link {n}", m.ground, at=tip, at_child=tuple(s.pose(s.coordinates(bent), "tip")[:3, 3]))
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


def _join(m: Mechanism, kind: str, i: int, parent: Any, child: Any, at: Point) -> None:
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


# ---------------------------------------------------------------------------------------------------------
# Garcia de Jalon and Bayo


POINTS: tuple[Point, ...] = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
AXES = ("y", "z", "x", "y", "z", "x")


def bricard(closed: bool = True) -> PaperModel:
    """Return Bricard's mechanism: five rods of 1 m and 1 kg, 0.1 m square, in a ring of six hinges.

    >>> bricard().build().mobility.mobility
    1
    """
    m = Mechanism("Bricard" if closed else "five-bar pendulum", gravity=(0, -9.81, 0))
    before: Any = m.ground
    origin = np.array(POINTS[0], dtype=float)
    for k in range(5):
        here, there = np.array(POINTS[k], dtype=float), np.array(POINTS[k + 1], dtype=float)
        along = there - here
        link = m.body(f"rod {k + 1}", box(np.where(along == 0, 0.1, 1.0), mass=1.0, at=along / 2))
        m.revolute(f"R{k + 1}", before, link, at=tuple(here - origin), axis=AXES[k])
        before, origin = link, here
    if closed:
        m.revolute("R6", before, m.ground, at=tuple(POINTS[5] - origin), at_child=POINTS[5], axis=AXES[5])
    return PaperModel(m)


def five_bar_pendulum() -> PaperModel:
    """Return Bricard's mechanism without its last hinge: five freedoms.

    >>> five_bar_pendulum().build().nv
    5
    """
    return bricard(closed=False)


LEG = (
    ("hip flexion", "y", 0.04, 0.9),
    ("hip abduction", "x", 0.04, 0.9),
    ("thigh", "z", 0.42, 8.0),
    ("shank", "y", 0.42, 3.5),
    ("talus", "y", 0.03, 0.3),
    ("foot", "x", 0.08, 0.9),
    ("toes", "y", 0.06, 0.2),
)
ARM = (
    ("shoulder flexion", "y", 0.03, 0.4),
    ("shoulder abduction", "x", 0.03, 0.4),
    ("upper arm", "z", 0.29, 2.0),
    ("elbow", "y", 0.05, 0.4),
    ("forearm", "z", 0.22, 1.0),
    ("wrist", "x", 0.02, 0.1),
    ("hand", "y", 0.1, 0.4),
)
NECK = (("neck", "y", 0.04, 0.5), ("neck side", "x", 0.04, 0.5), ("head", "z", 0.2, 4.2))


def human_body() -> PaperModel:
    """Return a human body with 40 bodies, 6 + 39 freedoms, all hinges, and 175 pairs of a body and a joint on its way.

    A joint with several freedoms is several hinges with small bodies between. Pelvis (floating), two lumbar hinges to
    the chest, three of the neck; legs of seven hinges (hip 3, knee, ankle 2, toes), arms of seven (shoulder 3, elbow,
    forearm, wrist 2); a shoulder blade and a half of the ribs on either side of the chest, and a soft mass on either
    thigh. 1.75 m, 75 kg. The figure of the book is lost; its counts leave little else.

    >>> s = human_body().build()
    >>> s.n_bodies, s.nv, body_joint_pairs(s)
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
        soft = m.body(f"{side} soft mass", box((0.1, 0.1, 0.25), mass=2.0, at=(0.0, 0.0, -0.02)))
        m.revolute(f"{side} soft mass joint", f"{side} thigh", soft, at=(0.0, 0.0, -0.18), axis="y")
    return PaperModel(m)


def _limb(
    m: Mechanism, side: str, parts: tuple[tuple[str, str, float, float], ...], on: Any, at: Point, axis: str
) -> None:
    """Add a chain of hinged parts."""
    sign = -1.0 if axis[0] == "-" else 1.0
    for name, hinge, length, mass in parts:
        called = f"{side} {name}".strip()
        shape = _segment(length, mass, 0.04 + 0.1 * length, axis).moved(at=(0.004, 0.0, 0.0))
        part = m.body(called, shape)
        m.revolute(f"{called} joint", on, part, at=at, axis=hinge)
        on, at = part, (0.0, 0.0, sign * length)


def heavy_truck() -> PaperModel:
    """Return a heavy truck with 33 bodies, 18 freedoms, 48 with its loops open, and 51 pairs of a body and a joint.

    Chassis (floating). Front and rear axle: each turns about a ball on the chassis and is held sideways by a rod. Front
    wheels on knuckles, four rear wheels, a pinion on the rear axle. Steering arm and two drag links to the knuckles.
    Front stabiliser of two halves and two links. Four leaf springs, each of a front half, a rear half and a shackle on
    parallel hinges, closed by a ball, and tied to its axle by a massless rod. Wheelbase 5 m, track 2 m, 9 t.

    Ten balls are cut. Of their thirty equations four are redundant, since the leaf springs are plane, and the four rods
    make up for them: 48 - 30 = 18. The book has 23 hinges, 15 balls and 6 cardan joints, which cannot give its own 48
    and 18 freedoms with 33 bodies; here are 24, 12 and 6.

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
        half = m.body(f"{side} stabiliser", _segment(0.5, 8.0, 0.05, "-x"))
        m.revolute(f"{side} stabiliser joint", chassis, half, at=(0.9, 0.55 * y, 0.0), axis=(0.0, 1.0, 0.06 * y))
        _link(m, f"{side} stabiliser link", half, (-0.5, 0.0, 0.0), (-0.52, 0.03 * y, -0.28), 3.0)
        m.spherical(
            f"{side} stabiliser ball",
            f"{side} stabiliser link",
            "front axle",
            at=(-0.02, 0.03 * y, -0.28),
            at_child=tuple(np.subtract((0.38, 0.58 * y, -0.28), (0.8, 0.0, 0.0))),
        )
        cut.append(f"{side} stabiliser ball")
    steering = m.body("steering arm", _segment(0.25, 6.0, 0.05, "-z"))
    m.revolute("steering", chassis, steering, at=(0.5, 0.1, 0.1), axis="y")
    for side, y in (("left", 1.0), ("right", -1.0)):
        inner, outer = (0.5, 0.1, -0.15), (0.1, 0.75 * y, -0.05)
        _link(m, f"{side} drag link", steering, inner, outer, 6.0, base=(0.5, 0.1, 0.1))
        m.spherical(
            f"{side} drag ball",
            f"{side} drag link",
            f"{side} knuckle",
            at=_along((inner, outer)),
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
    _link(m, f"{name} cross rod", "chassis", inner, outer, 10.0)
    m.spherical(
        f"{name} cross ball",
        f"{name} cross rod",
        axle,
        at=_along((inner, outer)),
        at_child=tuple(np.subtract(outer, (x + 0.8, 0.0, 0.0))),
    )
    cut.append(f"{name} cross ball")


def _wheel(m: Mechanism, name: str, on: Any, at: Point, mass: float) -> None:
    wheel = m.body(f"{name} wheel", cylinder(0.5, 0.28, mass=mass, axis="y"))
    m.revolute(f"{name} wheel joint", on, wheel, at=at, axis="y")


def _leaf_spring(m: Mechanism, name: str, x: float, y: float, cut: list[str]) -> None:
    """Add a front half, a rear half on a shackle, the ball between the halves, and the rod to the axle."""
    front = m.body(f"{name} leaf front", _segment(0.7, 18.0, 0.06, "-x"))
    shackle = m.body(f"{name} shackle", _segment(0.15, 4.0, 0.04, "-z"))
    rear = m.body(f"{name} leaf rear", _segment(0.7, 18.0, 0.06, "x"))
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
    m.spherical(f"front {side} ball", arm, knuckle, at=_along((inner, outer)), at_child=tuple(np.subtract(outer, hub)))
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
        _link(m, name, "chassis", inner, outer, 1.2)
        m.spherical(f"{name} ball", name, carrier, at=_along((inner, outer)), at_child=tuple(np.subtract(outer, hub)))
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


MODELS: dict[str, Callable[[], PaperModel]] = {
    "quarter car": quarter_car,
    "Stanford arm": stanford_arm,
    "four-bar on a slide": slider_four_bar,
    "Bricard": bricard,
    "five-bar pendulum": five_bar_pendulum,
    "car": car,
    "human body": human_body,
    "heavy truck": heavy_truck,
}
"""The papers' models by name; families are `serial_chain` and `star`."""
