"""Random mechanisms with closed loops, assembled by construction, the same for the same family and number.

All bodies are put anywhere first. A joint is then a frame in space and coordinates q: the frame stands on the parent,
and carried on by the joint it stands on the child. Whatever graph the joints form, the drawn coordinates close it, and
no engine has to find them. Loops whose frames respect a subgroup of motions (a plane, a sphere about a point,
translations, ...) are overconstrained and move nevertheless.

A draw is accepted, if it moves (mobility of at least 1), accelerates, and is well conditioned, as computed by
`absolute_balance` apart from the engine; otherwise the next one is taken:

- singular values of the constraints are above 1e-4 of the largest or below 1e-10 of it: the rank is beyond doubt;
- the condition number of the equations of motion (`Equations.condition`, lengths in metres, masses of kilograms) is at
  most `CONDITION`;
- the largest acceleration is above `ACCELERATION`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from support.absolute_balance import GAP, Equations, Solution, Stand, joint_pose
from support.loop_models import FREEDOMS, GROUND, Coupling, Hinge, Law, Looped, Part, Point, Rod
from support.random_trees import random_mass_properties, random_pose, random_rotation

Array = np.ndarray
Rng = np.random.Generator

CONDITION = 1e5
ACCELERATION = 0.1
SPEED = 3.0
ATTEMPTS = 200

KINDS = ("fixed", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "screw")
PLAIN = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar")  # coordinates that can be coupled


# ---------------------------------------------------------------------------------------------------------
# Where joints' frames may be


def frame_along(rng: Rng, z: Array, point: Array) -> Array:
    """A frame with this z, turned about it anyhow."""
    z = z / np.linalg.norm(z)
    x = np.cross(z, rng.normal(size=3))
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    pose[:3, 3] = point
    return pose


@dataclass(frozen=True)
class Space:
    """No restriction."""

    kinds = ("fixed", "revolute", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "screw")
    dimension = 6

    def frame(self, rng: Rng, kind: str, near: Array) -> Array:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = random_rotation(rng), near
        return pose


@dataclass(frozen=True)
class Plane:
    """Motions in a plane, which is tilted anyhow."""

    normal: Array
    kinds = ("revolute", "revolute", "revolute", "prismatic", "planar")
    dimension = 3

    def frame(self, rng: Rng, kind: str, near: Array) -> Array:
        if kind == "prismatic":
            return frame_along(rng, np.cross(self.normal, rng.normal(size=3)), near)
        return frame_along(rng, self.normal * rng.choice([-1, 1]), near)


@dataclass(frozen=True)
class Sphere:
    """Turns about one point: all axes go through it."""

    centre: Array
    kinds = ("revolute", "revolute", "revolute", "universal", "spherical")
    dimension = 3

    def frame(self, rng: Rng, kind: str, near: Array) -> Array:
        if kind == "revolute":
            axis = near - self.centre
            return frame_along(rng, axis, self.centre + rng.uniform(0.2, 1.0) * axis)
        return frame_along(rng, rng.normal(size=3), self.centre)


@dataclass(frozen=True)
class Shifts:
    """Translations."""

    kinds = ("prismatic",)
    dimension = 3

    def frame(self, rng: Rng, kind: str, near: Array) -> Array:
        return frame_along(rng, rng.normal(size=3), near)


@dataclass(frozen=True)
class Schoenflies:
    """Translations, and turns about one direction."""

    axis: Array
    kinds = ("revolute", "prismatic", "screw", "cylindrical", "planar")
    dimension = 4

    def frame(self, rng: Rng, kind: str, near: Array) -> Array:
        axis = rng.normal(size=3) if kind == "prismatic" else self.axis * rng.choice([-1, 1])
        return frame_along(rng, axis, near)


@dataclass(frozen=True)
class Shaft:
    """Turns about one line and shifts along it."""

    point: Array
    axis: Array
    kinds = ("revolute", "prismatic", "screw", "cylindrical")
    dimension = 2

    def frame(self, rng: Rng, kind: str, near: Array) -> Array:
        axis = self.axis * rng.choice([-1, 1])
        if kind == "prismatic":
            return frame_along(rng, axis, near)
        return frame_along(rng, axis, self.point + rng.uniform(-0.5, 0.5) * self.axis)


Group = Any


def unit(rng: Rng) -> Array:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_group(rng: Rng) -> Group:
    """Any of the groups in which loops of joints move."""
    match int(rng.integers(0, 5)):
        case 0:
            return Plane(unit(rng))
        case 1:
            return Sphere(rng.uniform(-0.5, 0.5, 3))
        case 2:
            return Schoenflies(unit(rng))
    return Space()


# ---------------------------------------------------------------------------------------------------------
# Drafts


class Draft:
    """A mechanism that is being drawn."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.parts: dict[str, Part] = {}
        self.hinges: list[Hinge] = []
        self.points: list[Point] = []
        self.rods: list[Rod] = []
        self.couplings: list[Coupling] = []
        self.laws: list[Law] = []
        self.cut: list[str] = []
        self.timed = False
        self.t = 0.0
        self.backward = 0.4  # the share of joints that are described from the far body to the near one

    def pose(self, body: str) -> Array:
        return np.eye(4) if body == GROUND else self.parts[body].pose

    def body(self) -> str:
        name = f"body {len(self.parts)}"
        pose = random_pose(self.rng)
        pose[:3, 3] *= 2.0
        self.parts[name] = Part(name, pose, **random_mass_properties(self.rng))
        return name

    def coordinates(self, kind: str) -> Array:
        """Coordinates at which a joint is found, far from neutral."""
        rng = self.rng
        angle, shift = (lambda n=1: rng.uniform(-3.5, 3.5, n)), (lambda n=1: rng.uniform(-0.4, 0.4, n))
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        match kind:
            case "fixed":
                return np.zeros(0)
            case "revolute" | "screw":
                return angle()
            case "prismatic":
                return shift()
            case "cylindrical":
                return np.concatenate([angle(), shift()])
            case "universal":
                return angle(2)
            case "planar":
                return np.concatenate([angle(), shift(2)])
            case "spherical":
                return quaternion
        return np.concatenate([quaternion, rng.uniform(-0.5, 0.5, 3)])

    def join(self, kind: str, a: str, b: str, group: Group | None = None, frame: Array | None = None) -> str:
        """Add a joint between two bodies as they stand; which of them is the parent is left to chance."""
        rng = self.rng
        if frame is None:
            near = (self.pose(a)[:3, 3] + self.pose(b)[:3, 3]) / 2 + rng.uniform(-0.3, 0.3, 3)
            frame = (group or Space()).frame(rng, kind, near)
        parent, child = (b, a) if rng.random() < self.backward else (a, b)
        lead = float(rng.choice([-1, 1]) * rng.uniform(0.2, 2.0)) if kind == "screw" else 0.0
        name = f"joint {len(self.hinges)}"
        hinge = Hinge(name, kind, parent, child, np.eye(4), np.eye(4), self.coordinates(kind), lead)
        on_parent = np.linalg.inv(self.pose(parent)) @ frame
        on_child = np.linalg.inv(self.pose(child)) @ frame @ joint_pose(hinge, hinge.q)
        self.hinges.append(replace(hinge, on_parent=straight(on_parent), on_child=straight(on_child)))
        return name

    def chain(self, a: str, b: str, kinds: Sequence[str], group: Group | None = None) -> list[str]:
        """Join two bodies (or a body with itself) by joints in a row, with new bodies between; return the bodies."""
        new = [self.body() for _ in kinds[1:]]
        row = [a, *new, b]
        for kind, before, after in zip(kinds, row[:-1], row[1:], strict=True):
            self.join(kind, before, after, group)
        return new

    def kinds(self, group: Group, freedoms: int, at_least: int = 2, without: tuple[str, ...] = ()) -> list[str]:
        """Random kinds of joints of a group with so many freedoms in all."""
        usable = [kind for kind in group.kinds if kind not in without]
        while True:
            drawn: list[str] = []
            while sum(FREEDOMS[kind] for kind in drawn) < freedoms:
                drawn.append(str(self.rng.choice(usable)))
            if sum(FREEDOMS[kind] for kind in drawn) == freedoms and len(drawn) >= at_least and len(drawn) < 9:
                return drawn

    def loop(self, base: str, group: Group | None = None, mobility: int | None = None) -> list[str]:
        """Add a loop of joints from a body back to itself, of one group, with some mobility."""
        group = Space() if group is None else group
        mobility = int(self.rng.choice([1, 1, 1, 2, 3])) if mobility is None else mobility
        return self.chain(base, base, self.kinds(group, group.dimension + mobility), group)

    def branches(self, count: int) -> None:
        """Hang bodies on any of those there are."""
        for _ in range(count):
            on = self.any_body()
            kind = str(self.rng.choice(KINDS))
            self.join(kind, on, self.body())

    def any_body(self, *, moving: bool = False) -> str:
        names = list(self.parts) if moving else [GROUND, *self.parts]
        return str(self.rng.choice(names))

    def two_bodies(self) -> tuple[str, str]:
        first, second = self.rng.choice([GROUND, *self.parts], 2, replace=False)
        return str(first), str(second)

    def base(self) -> str:
        """The ground, or a body that hangs on it."""
        if self.rng.random() < 0.75:
            return GROUND
        body = self.body()
        self.join(str(self.rng.choice(["revolute", "universal", "cylindrical"])), GROUND, body)
        return body

    def float(self) -> str:
        """A body that floats."""
        body = self.body()
        self.join("free", GROUND, body)
        return body

    def point(self, body: str | None = None) -> str:
        """A new frame on a body."""
        name = f"frame {len(self.points)}"
        self.points.append(Point(name, body or self.any_body(moving=True), random_pose(self.rng)))
        return name

    def place(self, point: str) -> Array:
        """The pose of a frame."""
        own = next(p for p in self.points if p.name == point)
        return self.pose(own.body) @ own.pose

    def on(self, point: str) -> str:
        return next(p.body for p in self.points if p.name == point)

    def plain_coordinate(self, *without: tuple[str, int]) -> tuple[str, int] | None:
        """A coordinate of a joint whose velocity is its rate; None if there is none left."""
        found = [(h.name, k) for h in self.hinges if h.kind in PLAIN for k in range(h.nv)]
        found = [key for key in found if key not in without]
        return found[int(self.rng.integers(0, len(found)))] if found else None

    def value(self, key: tuple[str, int]) -> float:
        return float(next(h for h in self.hinges if h.name == key[0]).q[key[1]])

    def finished(self, name: str, mobility: int | None = None) -> Looped:
        """The mechanism, its bodies and joints in shuffled order."""
        rng = self.rng
        parts, hinges = list(self.parts.values()), list(self.hinges)
        return Looped(
            name,
            rng.uniform(-10.0, 10.0, 3),
            tuple(parts[i] for i in rng.permutation(len(parts))),
            tuple(hinges[i] for i in rng.permutation(len(hinges))),
            tuple(self.points),
            tuple(self.rods),
            tuple(self.couplings),
            tuple(self.laws),
            tuple(self.cut),
            self.t,
            mobility,
            {"timed": self.timed},
        )


def straight(pose: Array) -> Array:
    """A pose with its rotation made orthonormal to the last bit."""
    left, _, right = np.linalg.svd(pose[:3, :3])
    pose = pose.copy()
    pose[:3, :3], pose[3] = left @ right, [0.0, 0.0, 0.0, 1.0]
    return pose


# ---------------------------------------------------------------------------------------------------------
# Families: one loop, several, coupled


def one_loop(d: Draft, i: int) -> int:
    base = d.base()
    d.loop(base)
    d.branches(int(d.rng.integers(0, 2)))
    return -1


def in_a_row(d: Draft, i: int) -> int:
    """Cells one behind the other, each on a body of the one before."""
    base = d.base()
    for _ in range(int(d.rng.integers(2, 4))):
        bodies = d.loop(base, random_group(d.rng), int(d.rng.integers(1, 3)))
        base = str(d.rng.choice(bodies))
    d.branches(int(d.rng.integers(0, 2)))
    return -1


def one_base(d: Draft, i: int) -> int:
    """A platform on legs, or loops on loops, which all stand on one body."""
    rng = d.rng
    base = d.base()
    if i % 2 == 0:
        legs = int(rng.integers(2, 6))
        mobility = int(rng.integers(1, 4))
        loss = np.diff([0, *np.sort(rng.integers(0, 6 - mobility + 1, legs - 1)), 6 - mobility])
        platform = d.body()
        for lost in loss:
            d.chain(base, platform, d.kinds(Space(), max(6 - int(lost), 1), 1), Space())
        return -1
    bodies = d.loop(base, mobility=int(rng.integers(2, 4)))
    for _ in range(int(rng.integers(1, 3))):
        bodies += d.chain(base, str(rng.choice(bodies)), d.kinds(Space(), int(rng.integers(5, 8))), Space())
    return -1


def other_bases(d: Draft, i: int) -> int:
    """Loops that share bodies and stand on different ones."""
    rng = d.rng
    bodies = d.loop(d.base(), mobility=int(rng.integers(2, 4)))
    for _ in range(int(rng.integers(1, 4))):
        if len(bodies) < 2:
            bodies += d.chain(bodies[0], bodies[0], d.kinds(Space(), 7))
        first, second = (str(x) for x in rng.choice(bodies, 2, replace=False))
        bodies += d.chain(first, second, d.kinds(Space(), int(rng.integers(5, 8))), Space())
    return -1


def planar(d: Draft, i: int) -> int:
    """Loops in a plane: each has three equations too many."""
    rng = d.rng
    plane = Plane(unit(rng))
    bodies = d.loop(d.base(), plane, 1 + int(rng.integers(0, 2)) + (i % 4 > 1))
    if i % 4 == 1:  # another plane on a body of the first
        d.loop(str(rng.choice(bodies)), Plane(unit(rng)), 1)
    if i % 4 > 1:
        for _ in range(int(rng.integers(1, 3))):
            ends = rng.choice(bodies, 2, replace=False) if len(bodies) > 1 else [bodies[0], bodies[0]]
            bodies += d.chain(str(ends[0]), str(ends[1]), d.kinds(plane, int(rng.integers(2, 5))), plane)
    if i % 3 == 0:
        d.branches(1)
    return -1


# ---------------------------------------------------------------------------------------------------------
# Families: overconstrained


def along_lines(d: Draft, base: str, lines: Sequence[tuple[Array, Array]]) -> list[str]:
    """A loop of hinges on given lines (point, direction)."""
    bodies = [d.body() for _ in lines[1:]]
    row = [base, *bodies, base]
    for (point, axis), a, b in zip(lines, row[:-1], row[1:], strict=True):
        d.join("revolute", a, b, frame=frame_along(d.rng, axis, point + d.rng.uniform(-0.3, 0.3) * axis))
    return bodies


def placed_loop(rng: Rng, lines: Sequence[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """Lines moved to another place together."""
    pose = random_pose(rng)
    return [(pose[:3, :3] @ p + pose[:3, 3], pose[:3, :3] @ z) for p, z in lines]


def link(angle: float, length: float, twist: float) -> Array:
    """From one hinge to the next, as Denavit and Hartenberg have it, without offset."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array([[c, -s * ct, s * st, length * c], [s, c * ct, -c * st, length * s], [0, st, ct, 0], [0, 0, 0, 1]])


def hinge_lines(angles: Array, lengths: Array, twists: Array) -> list[tuple[Array, Array]]:
    """The axes of a closed chain of links."""
    lines, pose = [], np.eye(4)
    for angle, length, twist in zip(angles, lengths, twists, strict=True):
        lines.append((pose[:3, 3].copy(), pose[:3, 2].copy()))
        pose = pose @ link(angle, length, twist)
    assert np.abs(pose - np.eye(4)).max() < 1e-12, "the links do not close"
    return lines


def bennett(rng: Rng) -> list[tuple[Array, Array]]:
    """Bennett's loop of four hinges: opposite links equal, a sin(beta) = b sin(alpha)."""
    a, alpha = rng.uniform(0.5, 1.0), rng.uniform(0.4, 1.2)
    beta = rng.uniform(1.3, 2.2)
    b = a * np.sin(beta) / np.sin(alpha)
    first = rng.uniform(0.5, 2.0)
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    second = 2 * np.arctan2(ratio, np.tan(first / 2))
    angles = np.array([first, second, -first, -second])
    return hinge_lines(angles, np.array([a, b, a, b]), np.array([alpha, beta, alpha, beta]))


def trihedral(rng: Rng) -> list[tuple[Array, Array]]:
    """Bricard's trihedral loop: right angles, and the squares of every second link have equal sums."""
    twists = np.array([1, -1, 1, -1, 1, -1]) * np.pi / 2
    while True:
        lengths = rng.uniform(0.6, 1.0, 6)
        rest = lengths[0] ** 2 + lengths[2] ** 2 + lengths[4] ** 2 - lengths[1] ** 2 - lengths[3] ** 2
        lengths[5] = np.sqrt(max(rest, 0.1))
        angles = closed(np.pi / 2 * np.array([1, -1, 1, -1, 1, -1]) + rng.uniform(-0.3, 0.3, 6), lengths, twists)
        if rest > 0.1 and angles is not None:
            return hinge_lines(angles, lengths, twists)


def closed(angles: Array, lengths: Array, twists: Array) -> Array | None:
    """Angles near the given ones that close a chain of links, the first of them kept; None if Newton finds none."""

    def error(x: Array) -> Array:
        pose = np.eye(4)
        for k in range(len(x)):
            pose = pose @ link(x[k], lengths[k], twists[k])
        return (pose - np.eye(4))[:3].ravel()

    for _ in range(30):
        jacobian = np.array([(error(angles + h) - error(angles - h)) / 2e-6 for h in np.eye(len(angles))[1:] * 1e-6]).T
        angles = angles + np.concatenate([[0.0], np.linalg.lstsq(jacobian, -error(angles), rcond=1e-6)[0]])
    return angles if np.abs(error(angles)).max() < 1e-14 else None


def line_symmetric(rng: Rng) -> list[tuple[Array, Array]]:
    """Bricard's line-symmetric loop: three hinges anywhere, and the same after half a turn about a line."""
    centre, axis = rng.uniform(-0.3, 0.3, 3), unit(rng)
    half_turn = 2 * np.outer(axis, axis) - np.eye(3)
    first = [(rng.uniform(-1.0, 1.0, 3), unit(rng)) for _ in range(3)]
    return [*first, *((centre + half_turn @ (p - centre), half_turn @ z) for p, z in first)]


def plane_symmetric(rng: Rng) -> list[tuple[Array, Array]]:
    """Bricard's plane-symmetric loop: two hinges in a plane, two others, and their mirror images."""
    centre, normal = rng.uniform(-0.3, 0.3, 3), unit(rng)
    mirror = np.eye(3) - 2 * np.outer(normal, normal)
    inside = np.eye(3) - np.outer(normal, normal)
    first, fourth = ((centre + inside @ rng.uniform(-1, 1, 3), inside @ unit(rng)) for _ in range(2))
    second, third = ((rng.uniform(-1.0, 1.0, 3), unit(rng)) for _ in range(2))
    fifth, sixth = ((centre + mirror @ (p - centre), mirror @ z) for p, z in (third, second))
    return [(p, z / np.linalg.norm(z)) for p, z in (first, second, third, fourth, fifth, sixth)]


def sarrus(rng: Rng) -> list[tuple[Array, Array]]:
    """Two elbows of three parallel hinges each, whose common motion is a straight line."""
    first, second = unit(rng), unit(rng)
    return [(rng.uniform(-1.0, 1.0, 3), first if k < 3 else second) for k in range(6)]


LINKAGES = {
    "bennett": (bennett, 1),
    "trihedral": (trihedral, 1),
    "line symmetric": (line_symmetric, 1),
    "plane symmetric": (plane_symmetric, 1),
    "sarrus": (sarrus, 1),
}
OVERCONSTRAINED = ("door", "sphere", *LINKAGES, "screws", "shifts", "shafts")


def overconstrained(d: Draft, i: int) -> int:
    """Linkages that move although equations count them rigid; every second one carries something."""
    rng, kind = d.rng, OVERCONSTRAINED[i % len(OVERCONSTRAINED)]
    base = d.base()
    before = sum(hinge.nv for hinge in d.hinges)
    known = -1
    if kind == "door":
        shaft, leaf = Shaft(rng.uniform(-0.5, 0.5, 3), unit(rng)), d.body()
        for _ in range(int(rng.integers(2, 4))):
            d.join("revolute", base, leaf, shaft)
        known = 1
    elif kind == "sphere":
        sphere = Sphere(rng.uniform(-0.5, 0.5, 3))
        bodies = d.loop(base, sphere, int(rng.integers(1, 3)))
        if rng.random() < 0.5 and len(bodies) > 1:
            d.chain(bodies[0], base, d.kinds(sphere, 3), sphere)
    elif kind in LINKAGES:
        draw, known = LINKAGES[kind]
        along_lines(d, base, placed_loop(rng, draw(rng)))
    elif kind == "screws":
        d.loop(base, Schoenflies(unit(rng)), int(rng.integers(1, 3)))
    elif kind == "shifts":
        d.loop(base, Shifts(), 1)
        known = 1
    else:
        shaft = Shaft(rng.uniform(-0.5, 0.5, 3), unit(rng))
        bodies = d.chain(base, base, d.kinds(shaft, 3), shaft)
    if i % 2:
        d.branches(1)
        return -1
    return known + before if known > 0 else -1


# ---------------------------------------------------------------------------------------------------------
# Families: floating bases, every kind of closure


def floating(d: Draft, i: int) -> int:
    base = d.float()
    if i % 4 == 3:
        lines = LINKAGES[list(LINKAGES)[i % len(LINKAGES)]][0](d.rng)
        along_lines(d, base, placed_loop(d.rng, lines))
        return -1
    bodies = d.loop(base, random_group(d.rng))
    if i % 4 == 1:
        d.loop(str(d.rng.choice(bodies)), random_group(d.rng), 1)
    if i % 4 == 2:
        d.chain(base, str(d.rng.choice(bodies)), d.kinds(Space(), int(d.rng.integers(5, 7))), Space())
    d.branches(int(d.rng.integers(0, 2)))
    return -1


CUT_KINDS = (*KINDS, "free")
HOMES: dict[str, Callable[[Rng], Group]] = {
    "revolute": lambda rng: Plane(unit(rng)),
    "prismatic": lambda rng: Plane(unit(rng)),
    "planar": lambda rng: Plane(unit(rng)),
    "universal": lambda rng: Sphere(rng.uniform(-0.5, 0.5, 3)),
    "spherical": lambda rng: Sphere(rng.uniform(-0.5, 0.5, 3)),
    "screw": lambda rng: Schoenflies(unit(rng)),
    "cylindrical": lambda rng: Schoenflies(unit(rng)),
}


def cut_joints(d: Draft, i: int) -> int:
    """A loop that is to be cut at a joint of a given kind, in space or where equations are too many."""
    rng, kind = d.rng, CUT_KINDS[i % len(CUT_KINDS)]
    group = HOMES[kind](rng) if i // len(CUT_KINDS) % 2 and kind in HOMES else Space()
    base = d.base()
    if kind == "free":
        others = d.kinds(Space(), int(rng.integers(2, 5)))
    else:
        others = d.kinds(group, max(group.dimension + int(rng.integers(1, 3)) - FREEDOMS[kind], 1), 1)
    kinds = [*others, kind]
    place = int(rng.integers(0, len(kinds)))
    kinds[place], kinds[-1] = kinds[-1], kinds[place]
    first = len(d.hinges)
    d.chain(base, base, kinds, group)
    d.cut = [d.hinges[first + place].name]
    return -1


def rods(d: Draft, i: int) -> int:
    """Massless rods on a tree or on a loop."""
    rng = d.rng
    d.branches(int(rng.integers(2, 5)))
    if i % 3 == 0:
        d.loop(d.any_body(), random_group(rng), 2)
    if i % 4 == 1:
        d.float()
    for _ in range(int(rng.integers(1, 4))):
        a, b = d.two_bodies()
        at, at_child = rng.uniform(-0.5, 0.5, (2, 3))
        ends = [(d.pose(body) @ [*point, 1.0])[:3] for body, point in ((a, at), (b, at_child))]
        length = float(np.linalg.norm(ends[1] - ends[0]))
        d.rods.append(Rod(f"rod {len(d.rods)}", a, b, at, at_child, length))
    return -1


def some_loops(d: Draft) -> None:
    """Something that moves enough to be bound further: a tree, a loop on it, sometimes afloat."""
    rng = d.rng
    base = d.float() if rng.random() < 0.3 else d.base()
    d.loop(base, random_group(rng), int(rng.integers(2, 4)))
    d.branches(int(rng.integers(2, 5)))


def couplings(d: Draft, i: int) -> int:
    """Gears, racks and differentials, on trees and on loops."""
    rng = d.rng
    if i % 2:
        some_loops(d)
    else:
        d.branches(int(rng.integers(4, 8)))
    for k in range(int(rng.integers(1, 3))):
        keys: list[tuple[str, int]] = []
        for _ in range(2 if (i + k) % 3 else int(rng.integers(3, 5))):
            key = d.plain_coordinate(*keys)
            if key is not None:
                keys.append(key)
        if len(keys) < 2:
            continue
        ratios = rng.choice([-1, 1], len(keys)) * rng.uniform(0.3, 2.0, len(keys))
        gear = len(keys) == 2 and rng.random() < 0.6
        if gear:
            ratios[1] = 1.0
        terms = {key: float(ratio) for key, ratio in zip(keys, ratios, strict=True)}
        offset = sum(ratio * d.value(key) for key, ratio in terms.items())
        d.couplings.append(Coupling(f"coupling {k}", terms, offset, gear))
    return -1


# ---------------------------------------------------------------------------------------------------------
# Families: what users write themselves


def dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def wave(d: Draft) -> Callable[[Any], Any]:
    """A function of time that is zero at time 0, when systems are built, and again at the state's time, but moving."""
    speed = 2 * np.pi / d.t
    size = d.rng.uniform(0.3, 1.0) / speed
    d.timed = True
    return lambda s: size * (s.sin(speed * s.time) + s.cos(speed * s.time) - 1.0)


def cam(d: Draft, name: str) -> Law | None:
    """One coordinate follows another by a curve."""
    lead = d.plain_coordinate()
    follow = d.plain_coordinate(lead) if lead else None
    if lead is None or follow is None:
        return None
    lift, wave = d.rng.uniform(0.3, 1.0, 2)
    x = d.value(lead)
    offset = d.value(follow) - lift * np.sin(x) - wave * np.cos(2.0 * x)

    def write(s: Any) -> list[Any]:
        angle = s.coordinate(*lead)
        return [s.coordinate(*follow) - lift * s.sin(angle) - wave * s.cos(2.0 * angle) - offset]

    return Law(name, write, 1, joints=tuple({lead[0], follow[0]}))


def drive(d: Draft, name: str) -> Law | None:
    """A coordinate as a function of time."""
    key = d.plain_coordinate()
    if key is None:
        return None
    course, offset = wave(d), d.value(key)
    return Law(name, lambda s: [s.coordinate(*key) - course(s) - offset], 1, joints=(key[0],))


def sheet(d: Draft, name: str, timed: bool) -> Law:
    """A point stays on a plane, which may rise and fall."""
    point, normal = d.point(), unit(d.rng)
    height = float(normal @ d.place(point)[:3, 3])
    rise = wave(d) if timed else lambda s: 0.0
    return Law(name, lambda s: [dot(normal, s.position(point)) - rise(s) - height], 1, bodies=(d.on(point),))


def aim(d: Draft, name: str) -> Law:
    """Axes of two frames keep their angle."""
    a, b = d.point(), d.point()
    value = float(d.place(a)[:3, 0] @ d.place(b)[:3, 2])

    def write(s: Any) -> list[Any]:
        R, Q = s.rotation(a), s.rotation(b)
        return [R[0, 0] * Q[0, 2] + R[1, 0] * Q[1, 2] + R[2, 0] * Q[2, 2] - value]

    return Law(name, write, 1, bodies=(d.on(a), d.on(b)))


def piston(d: Draft, name: str, timed: bool) -> Law:
    """The distance between two points as a function of time, like a hydraulic cylinder."""
    a, b = d.point(), d.point()
    while timed and d.on(a) == d.on(b):  # a rigid body cannot grow
        b = d.point()
    between = d.place(a)[:3, 3] - d.place(b)[:3, 3]
    square = float(between @ between)
    stroke = wave(d) if timed else lambda s: 0.0

    def write(s: Any) -> list[Any]:
        r = s.position(a) - s.position(b)
        return [dot(r, r) - stroke(s) - square]

    return Law(name, write, 1, bodies=(d.on(a), d.on(b)))


def wire(d: Draft, name: str) -> Law:
    """A point stays on a straight wire: two rows."""
    point = d.point()
    R, p = random_rotation(d.rng), d.place(point)[:3, 3]

    def write(s: Any) -> list[Any]:
        r = s.position(point) - p
        return [dot(R[:, 0], r), dot(R[:, 1], r)]

    return Law(name, write, 2, bodies=(d.on(point),))


def winch(d: Draft, name: str) -> Law | None:
    """A coordinate is wound up as a point rises."""
    key, point = d.plain_coordinate(), d.point()
    if key is None:
        return None
    ratio = d.rng.uniform(0.5, 2.0)
    offset = d.value(key) - ratio * float(d.place(point)[2, 3])
    return Law(
        name,
        lambda s: [s.coordinate(*key) - ratio * s.position(point)[2] - offset],
        1,
        bodies=(d.on(point),),
        joints=(key[0],),
    )


def expressions(d: Draft, i: int) -> int:
    """Closures that a user writes, some of them with time."""
    rng = d.rng
    d.t = float(rng.uniform(0.5, 2.0))
    some_loops(d)
    timed = i % 2 == 1
    writers: list[Callable[[str], Law | None]] = [
        lambda name: cam(d, name),
        lambda name: drive(d, name),
        lambda name: sheet(d, name, timed),
        lambda name: aim(d, name),
        lambda name: piston(d, name, timed),
        lambda name: wire(d, name),
        lambda name: winch(d, name),
    ]
    for k in range(1 + int(rng.random() < 0.5)):
        law = writers[(i + 3 * k) % len(writers)](f"law {k}")
        if law is not None:
            d.laws.append(law)
    return -1


def knife(d: Draft, name: str) -> Law:
    """A blade does not slip sideways."""
    point = d.point()

    def write(s: Any) -> list[Any]:
        R, twist = s.rotation(point), s.velocity(point)
        return [R[0, 1] * twist[3] + R[1, 1] * twist[4] + R[2, 1] * twist[5]]

    return Law(name, write, 1, bodies=(d.on(point),), holonomic=False)


def rolling(d: Draft, name: str, belt: bool) -> Law:
    """A ball rolls on a plane, which may be a belt that speeds up: the velocity at the contact is the belt's."""
    point, radius, speed = d.point(), d.rng.uniform(0.2, 0.5), d.rng.uniform(0.5, 1.0)
    R = random_rotation(d.rng)
    d.timed |= belt

    def write(s: Any) -> list[Any]:
        twist = s.velocity(point)
        # u + w x (-radius n), n the third column of R, along the first two
        w = [dot(R[:, k], [twist[0], twist[1], twist[2]]) for k in range(3)]
        u = [dot(R[:, k], [twist[3], twist[4], twist[5]]) for k in range(3)]
        moved = speed * s.time * s.time if belt else 0.0
        return [u[0] - radius * w[1] - moved, u[1] + radius * w[0]]

    return Law(name, write, 2, bodies=(d.on(point),), holonomic=False)


def varying_gear(d: Draft, name: str, drift: bool) -> Law | None:
    """Rates in a ratio that depends on a coordinate."""
    first = d.plain_coordinate()
    second = d.plain_coordinate(first) if first else None
    if first is None or second is None:
        return None
    a, b, c = d.rng.uniform(0.3, 1.0, 3)
    d.timed |= drift

    def write(s: Any) -> list[Any]:
        pull = c * s.cos(2.0 * s.time) if drift else 0.0
        return [s.rate(*first) - (a + b * s.sin(s.coordinate(*second))) * s.rate(*second) - pull]

    return Law(name, write, 1, joints=tuple({first[0], second[0]}), holonomic=False)


def chase(d: Draft, name: str) -> Law | None:
    """A point's velocity along a turning axis of another body goes with a joint's rate."""
    key, a, b = d.plain_coordinate(), d.point(), d.point()
    if key is None:
        return None

    def write(s: Any) -> list[Any]:
        R, twist = s.rotation(b), s.velocity(a)
        return [R[0, 2] * twist[3] + R[1, 2] * twist[4] + R[2, 2] * twist[5] - 0.5 * s.rate(*key)]

    return Law(name, write, 1, bodies=(d.on(a), d.on(b)), joints=(key[0],), holonomic=False)


def velocity_only(d: Draft, i: int) -> int:
    """Closures of velocities: blades, rolling, varying gears; on trees, on loops, with others beside them."""
    rng = d.rng
    d.t = float(rng.uniform(0.5, 2.0))
    if i % 3 == 0:
        d.float()
        d.branches(int(rng.integers(1, 4)))
    else:
        some_loops(d)
    writers: list[Callable[[str], Law | None]] = [
        lambda name: knife(d, name),
        lambda name: rolling(d, name, belt=i % 2 == 1),
        lambda name: varying_gear(d, name, drift=i % 2 == 1),
        lambda name: chase(d, name),
    ]
    law = writers[i % len(writers)]("law 0")
    if law is not None:
        d.laws.append(law)
    if i % 5 == 4:
        d.laws.append(aim(d, "law 1"))
    return -1


# ---------------------------------------------------------------------------------------------------------
# All of them


Family = Callable[[Draft, int], int]

FAMILIES: dict[str, tuple[Family, int, int]] = {
    "one loop": (one_loop, 32, 0),
    "in a row": (in_a_row, 24, 1),
    "coupled, one base": (one_base, 24, 0),
    "coupled, other bases": (other_bases, 24, 5),
    "planar": (planar, 32, 0),
    "overconstrained": (overconstrained, 40, 0),
    "floating": (floating, 24, 0),
    "cut joints": (cut_joints, 36, 0),
    "rods": (rods, 12, 0),
    "couplings": (couplings, 16, 0),
    "expressions": (expressions, 20, 5),
    "velocity only": (velocity_only, 16, 0),
}
"""What draws a family, how many there are, and which of them always runs."""

MEMBERS = tuple((family, i) for family, (_, count, _) in FAMILIES.items() for i in range(count))
QUICK = tuple((family, always) for family, (_, _, always) in FAMILIES.items())


@dataclass(frozen=True)
class Case:
    """A mechanism in a consistent state with loads, and what is known of it apart from the engine."""

    looped: Looped
    equations: Equations
    tau: Array
    loads: dict[str, Array]
    solution: Solution

    @property
    def q(self) -> Array:
        return self.looped.q

    @property
    def v(self) -> Array:
        """The joints' velocities."""
        return self.equations.v[self.equations.columns.of_joints]

    @property
    def a(self) -> Array:
        """The joints' accelerations, by the reference."""
        return self.solution.joints

    @property
    def condition(self) -> float:
        return self.equations.condition


def accepted(draft: Draft, name: str, mobility: int) -> Case | None:
    """A draft with a state and loads; None if it does not move, is badly conditioned or does not accelerate."""
    rng = draft.rng
    loads = {draft.point(): rng.uniform(-5.0, 5.0, 6) for _ in range(int(rng.integers(0, 3)))}
    looped = draft.finished(name, None if mobility < 0 else mobility)
    stand = Stand.of(looped)
    at_rest = Equations(stand)
    bound = bool(looped.loops or looped.rods or looped.couplings or looped.laws)
    if not bound or at_rest.mobility < 1 or at_rest.gap < GAP:
        return None
    assert mobility in (-1, at_rest.mobility), (name, mobility, at_rest.mobility)
    equations = Equations(stand, at_rest.consistent(rng.uniform(-SPEED, SPEED, at_rest.mobility)))
    if equations.condition > CONDITION:
        return None
    tau = rng.uniform(-5.0, 5.0, looped.nv)
    solution = equations.solve(tau, loads)
    if np.abs(solution.joints).max() < ACCELERATION:
        return None
    return Case(looped, equations, tau, loads, solution)


def first_accepted(draw: Family, i: int, name: str, seed: int) -> Case:
    """The first draw that is accepted, of those that belong to a seed and a number."""
    for attempt in range(ATTEMPTS):
        draft = Draft(np.random.default_rng([seed, i, attempt]))
        found = accepted(draft, f"{name} {i}", draw(draft, i))
        if found is not None:
            return found
    raise AssertionError(f"{name} {i}: none of {ATTEMPTS} draws was accepted")


@functools.cache
def case(family: str, i: int) -> Case:
    """The i-th mechanism of a family: the first draw that is accepted.

    >>> case("one loop", 0).looped.loops
    1
    """
    return first_accepted(FAMILIES[family][0], i, family, list(FAMILIES).index(family))
