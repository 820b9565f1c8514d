"""Mechanisms with closed loops as plain data, and the same as `wt.Mechanism`.

What is kept here is what a person would measure on a mechanism that stands before them: where every body is, where
each joint's frame is on its two bodies, and the joints' coordinates. So a consistent configuration is known without
any engine. `absolute_balance` computes from this data, `described` hands it to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

import whippletree as wt

Array = np.ndarray

GROUND = "ground"
POSITIONS = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "screw": 1,
    "cylindrical": 2,
    "universal": 2,
    "planar": 3,
    "spherical": 4,
    "free": 7,
}
FREEDOMS = POSITIONS | {"spherical": 3, "free": 6}


@dataclass(frozen=True)
class Part:
    """A body: where it is, its mass, and centre and inertia (about the centre) in its own frame."""

    name: str
    pose: Array
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True)
class Hinge:
    """A joint of any kind between two bodies, with its frame on each and its coordinates as it stands."""

    name: str
    kind: str
    parent: str
    child: str
    on_parent: Array
    on_child: Array
    q: Array
    lead: float = 0.0

    @property
    def nq(self) -> int:
        return POSITIONS[self.kind]

    @property
    def nv(self) -> int:
        return FREEDOMS[self.kind]

    @property
    def joint(self) -> SimpleNamespace:
        """What `newton_euler.across` asks about a joint."""
        return SimpleNamespace(kind=self.kind, lead=self.lead)


@dataclass(frozen=True)
class Point:
    """A named frame on a body."""

    name: str
    body: str
    pose: Array


@dataclass(frozen=True)
class Rod:
    """A massless rod with ball ends between two points."""

    name: str
    parent: str
    child: str
    at: Array
    at_child: Array
    length: float


@dataclass(frozen=True)
class Coupling:
    """The sum of ratio times coordinate is the offset; `gear` says to describe it as one pair."""

    name: str
    terms: dict[tuple[str, int], float]
    offset: float
    gear: bool = False


@dataclass(frozen=True)
class Law:
    """A condition that a user writes: `write(x)` returns scalars that must be zero.

    The text is written once and read twice, on CasADi's symbols of the engine and on exact derivatives in NumPy. `x`
    offers coordinate(joint, index), rate(joint, index), position(place), rotation(place), velocity(place), time,
    sin and cos; everything else is +, -, * and indexing. `bodies` and `joints` are those it depends on.
    """

    name: str
    write: Callable[[Any], list[Any]]
    rows: int
    bodies: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    holonomic: bool = True


@dataclass(frozen=True)
class Looped:
    """A mechanism as it stands, in a consistent configuration at time t.

    `cut` are the joints to insist on. `mobility` is what is known of it beforehand, if anything.
    """

    name: str
    gravity: Array
    parts: tuple[Part, ...]
    hinges: tuple[Hinge, ...]
    points: tuple[Point, ...] = ()
    rods: tuple[Rod, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    laws: tuple[Law, ...] = ()
    cut: tuple[str, ...] = ()
    t: float = 0.0
    mobility: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def q(self) -> Array:
        return np.concatenate([np.zeros(0), *(hinge.q for hinge in self.hinges)])

    @property
    def nq(self) -> int:
        return sum(hinge.nq for hinge in self.hinges)

    @property
    def nv(self) -> int:
        return sum(hinge.nv for hinge in self.hinges)

    @property
    def loops(self) -> int:
        """The number of independent loops of joints: edges minus edges of a spanning tree."""
        return len(self.hinges) - len(self.parts)

    def split_q(self, q: Array) -> dict[str, Array]:
        return _split(q, [(hinge.name, hinge.nq) for hinge in self.hinges])

    def split_v(self, v: Array) -> dict[str, Array]:
        return _split(v, [(hinge.name, hinge.nv) for hinge in self.hinges])

    def poses(self) -> dict[str, Array]:
        return {GROUND: np.eye(4)} | {part.name: part.pose for part in self.parts}

    def point(self, name: str) -> Point:
        """A named frame, or a body as the frame of its own."""
        for point in self.points:
            if point.name == name:
                return point
        return Point(name, name, np.eye(4))

    @property
    def timed(self) -> bool:
        return bool(self.notes.get("timed"))


def _split(x: Array, sizes: list[tuple[str, int]]) -> dict[str, Array]:
    parts, start = {}, 0
    for name, size in sizes:
        parts[name] = x[start : start + size]
        start += size
    assert start == len(x)
    return parts


# ---------------------------------------------------------------------------------------------------------
# The same as a description for the engine


class Spoken:
    """A mechanism's symbols, as laws use them."""

    sin = staticmethod(ca.sin)
    cos = staticmethod(ca.cos)

    def __init__(self, mechanism: wt.Mechanism) -> None:
        self._m = mechanism

    @property
    def time(self) -> ca.SX:
        return self._m.time

    def coordinate(self, joint: str, index: int = 0) -> ca.SX:
        return self._m.coordinate(joint, index=index)

    def rate(self, joint: str, index: int = 0) -> ca.SX:
        return self._m.rate(joint, index=index)

    def position(self, place: str) -> ca.SX:
        return self._m.position(place)

    def rotation(self, place: str) -> ca.SX:
        return self._m.rotation(place)

    def velocity(self, place: str) -> ca.SX:
        return self._m.velocity(place)


def described(looped: Looped, *, parameters: bool = False) -> wt.Mechanism:
    """The mechanism as a user would describe it.

    With `parameters`, masses, centres of mass, lengths and places of rods and offsets of couplings depend on these, and
    each body is held by a spring whose stiffness and place do; at their values the mechanism is where it is without.
    """
    m = wt.Mechanism(looped.name, gravity=looped.gravity)
    mass, shift = (m.parameter("mass", 1.0), m.parameter("shift", 0.0)) if parameters else (1.0, 0.0)
    for part in looped.parts:
        m.body(part.name, mass=part.mass * mass, com=_shifted(part.com, shift), inertia=part.inertia)
    for hinge in looped.hinges:
        options: dict[str, Any] = {"lead": hinge.lead} if hinge.kind == "screw" else {}
        join = getattr(m, hinge.kind)
        join(hinge.name, hinge.parent, hinge.child, pose=hinge.on_parent, pose_child=hinge.on_child, **options)
    for point in looped.points:
        m.frame(point.name, on=point.body, at=point.pose[:3, 3], rotation=point.pose[:3, :3])
    for rod in looped.rods:
        length, at = rod.length + 0.1 * shift, _shifted(rod.at, 0.1 * shift)
        m.distance(rod.name, rod.parent, rod.child, length=length, at=at, at_child=rod.at_child)
    for coupling in looped.couplings:
        _couple(m, looped, coupling, 0.1 * shift)
    for law in looped.laws:
        m.closure(law.name, ca.vertcat(*law.write(Spoken(m))))
    if parameters:
        stiffness = m.parameter("stiffness", 20.0)
        for part in looped.parts:
            at = _shifted(np.array([0.1, 0.2, 0.3]), shift)
            name = f"{part.name} held"
            m.spring(name, m.ground, part.name, at=(5, 6, 7), at_child=at, stiffness=stiffness, free_length=9.0)
    return m


def _shifted(place: Array, shift: Any) -> Any:
    """A place, moved along its first axis by an expression or by nothing."""
    return place if isinstance(shift, float) else [place[0] + shift, *place[1:]]


def _couple(m: wt.Mechanism, looped: Looped, coupling: Coupling, shift: Any) -> None:
    single = {hinge.name: hinge.nv == 1 for hinge in looped.hinges}
    keys: dict[Any, float] = {(key[0] if single[key[0]] else key): ratio for key, ratio in coupling.terms.items()}
    if not coupling.gear:
        m.coupling(coupling.name, keys, offset=coupling.offset + shift)
        return
    (first, ratio), (second, one) = keys.items()  # q_second = -ratio q_first + offset
    assert one == 1.0
    m.gear(coupling.name, first, second, ratio=-ratio, offset=coupling.offset + shift)


def built(looped: Looped, *, parameters: bool = False, **options: Any) -> wt.System:
    """The engine's system of a mechanism, told where it stands."""
    return described(looped, parameters=parameters).build(**{**where(looped), **options})


def where(looped: Looped) -> dict[str, Any]:
    """What a system of the mechanism is told: where it stands, and where it is cut."""
    guess = {hinge.name: (hinge.q if hinge.nq > 1 else float(hinge.q[0])) for hinge in looped.hinges if hinge.nq}
    return {"guess": guess, "cut": list(looped.cut) or None}


def inputs(function: ca.Function, given: Mapping[str, Any]) -> list[Array]:
    """The arguments of a CasADi function by their names; each column is a state."""
    names = [function.name_in(i) for i in range(function.n_in())]
    missing = [name for name in names if name not in given]
    assert not missing, f"{function.name()} wants {names}; {missing} are not at hand"
    return [np.asarray(given[name], dtype=float).T for name in names]
