"""Mechanisms with closed loops, written once as bodies and joints; what each engine is given is made from that.

Ours gets all bodies and joints. The peers get a spanning tree and the points in which the loops close: a
revolute joint of a planar loop and a spherical joint are one point each for them, the cheapest closure they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from models import Ring, State, state_to_pinocchio

GROUND = "ground"
STATES = 64
"""How many different states a native loop goes round."""

ORIGIN = (0.0, 0.0, 0.0)
X, Y, Z = np.eye(3)
JOINTS = {
    "revolute": ({"axis": "z"}, pin.JointModelRZ()),
    "prismatic": ({"axis": "z"}, pin.JointModelPZ()),
    "universal": ({"axis": "x", "axis_child": "y"}, pin.JointModelUniversal(X, Y)),
    "spherical": ({}, pin.JointModelSpherical()),
    "free": ({}, pin.JointModelFreeFlyer()),
}
"""Joints by kind: our options, and what Pinocchio calls it."""


class Part(NamedTuple):
    """A body; `inertia` holds the moments about its centre of mass and its axes."""

    name: str
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]


class Link(NamedTuple):
    """A joint between points of two bodies, whose axes are parallel at zero coordinates."""

    kind: str
    name: str
    parent: str
    child: str
    at: tuple[float, float, float] = ORIGIN
    at_child: tuple[float, float, float] = ORIGIN


class Anchor(NamedTuple):
    """Points of two bodies that coincide, in the frames of the joints that carry the bodies."""

    joints: tuple[str, str]
    points: tuple[np.ndarray, np.ndarray]


class Tree(NamedTuple):
    """What the peers are given: a tree with its states and exact accelerations, and where its loops close."""

    ring: Ring
    anchors: tuple[Anchor, ...]


@dataclass(frozen=True)
class Problem:
    """A mechanism, its states and its exact accelerations.

    motion: states and accelerations of every joint of `links` and of the trees, in our numbers, ``(k, n)``
    arrays; trees: spanning trees for the peers, by name.
    """

    name: str
    gravity: tuple[float, float, float]
    parts: tuple[Part, ...]
    links: tuple[Link, ...]
    motion: Mapping[str, State]
    trees: Mapping[str, tuple[Link, ...]]

    def mechanism(self) -> Any:
        """Our model: bodies and joints, without a word about loops."""
        import whippletree as wt

        mechanism = wt.Mechanism(self.name, gravity=self.gravity)
        bodies = {GROUND: mechanism.ground}
        for part in self.parts:
            bodies[part.name] = mechanism.body(part.name, mass=part.mass, com=part.com, inertia=np.diag(part.inertia))
        for link in self.links:
            join, (options, _) = getattr(mechanism, link.kind), JOINTS[link.kind]
            parent, child = bodies[link.parent], bodies[link.child]
            join(link.name, parent, child, at=link.at, at_child=link.at_child, **options)
        return mechanism

    def ours(self) -> State:
        """The states of all joints in declared order."""
        return _joined(self.links, self.motion)

    def guess(self) -> dict[str, Any]:
        """The coordinates of the first state by joint."""
        return {link.name: self.motion[link.name].q[0] for link in self.links}

    def tree(self, name: str) -> Tree:
        links = _depth_first(self.trees[name])  # Pinocchio needs every subtree in one piece
        model, carrier, origin = pin.Model(), {GROUND: 0}, {GROUND: np.zeros(3)}
        model.name = f"{self.name}, {name}"
        model.gravity.linear = np.array(self.gravity)
        parts = {part.name: part for part in self.parts}
        for link in links:  # a body's frame is its joint's there
            part, offset = parts[link.child], np.array(link.at_child)
            place = pin.SE3(np.eye(3), np.array(link.at) - origin[link.parent])
            j = model.addJoint(carrier[link.parent], JOINTS[link.kind][1], place, link.name)
            body = pin.Inertia(part.mass, np.array(part.com), np.diag(part.inertia))
            model.appendBodyToJoint(j, body, pin.SE3(np.eye(3), -offset))
            carrier[link.child], origin[link.child] = j, offset
        anchors = [
            Anchor(
                (model.names[carrier[link.parent]], model.names[carrier[link.child]]),
                (np.array(link.at) - origin[link.parent], np.array(link.at_child) - origin[link.child]),
            )
            for link in self.links
            if link not in links
        ]
        state = _joined(links, self.motion)
        return Tree(Ring(model, state_to_pinocchio(model, *state)), tuple(anchors))


def _joined(links: Sequence[Link], motion: Mapping[str, State]) -> State:
    columns = zip(*(motion[link.name] for link in links), strict=True)
    return State(*(np.concatenate(column, axis=1) for column in columns))


def _depth_first(links: Sequence[Link], root: str = GROUND) -> list[Link]:
    return [below for link in links if link.parent == root for below in (link, *_depth_first(links, link.child))]


# ---------------------------------------------------------------------------------------------------------
# IFToMM A02: N + 1 rockers on the ground, N couplers between their ends, thin rods of 1 kg and 1 m

G = 9.81
FIRST = (1.1, -1.0)
"""Angle of the rockers from the x axis and its rate in the first state."""


def four_bars(count: int) -> Problem:
    """Motion in the x-y plane, x along every rod; gravity along -y."""
    moments = (1e-6, 1.0 / 12.0, 1.0 / 12.0)  # about its own axis a rod never turns, but MuJoCo insists
    tip = (1.0, 0.0, 0.0)
    rockers = [f"rocker {i}" for i in range(count + 1)]
    couplers = [f"coupler {i}" for i in range(1, count + 1)]
    grounds = [
        Link("revolute", f"ground {i}", GROUND, rocker, at=(float(i), 0.0, 0.0)) for i, rocker in enumerate(rockers)
    ]
    nears = [
        Link("revolute", f"near {i}", rocker, coupler, at=tip)
        for i, (rocker, coupler) in enumerate(zip(rockers[:-1], couplers, strict=True), 1)
    ]
    fars = [
        Link("revolute", f"far {i}", coupler, rocker, at=tip, at_child=tip)
        for i, (coupler, rocker) in enumerate(zip(couplers, rockers[1:], strict=True), 1)
    ]
    rng = np.random.default_rng(1)
    angle, rate = rng.uniform(0.4, 2.7, (STATES, 1)), rng.uniform(-3.0, 3.0, (STATES, 1))
    angle[0], rate[0] = FIRST
    rocker = State(angle, rate, rocker_acceleration(count, angle), np.zeros_like(angle))
    coupler = State(*(-x for x in rocker))  # stays parallel to the ground, so it turns back on its rocker
    motion = {link.name: coupler if link in nears else rocker for link in (*grounds, *nears, *fars)}
    return Problem(
        f"four-bars, N = {count}",
        (0.0, -G, 0.0),
        tuple(Part(name, 1.0, (0.5, 0.0, 0.0), moments) for name in (*rockers, *couplers)),
        (*grounds, *nears, *fars),
        motion,
        {"far ends cut": (*grounds, *nears)},
    )


def rocker_acceleration(count: int, angle: np.ndarray) -> np.ndarray:
    """Exact: one freedom; rods of 1 m and 1 kg that turn about one end, couplers that do not turn.

    >>> round(float(rocker_acceleration(1, np.array(0.0))), 12)  # horizontal: 2 halves and 1, over 2 thirds and 1
    -11.772
    """
    rods, inertia = (count + 1) / 2 + count, (count + 1) / 3 + count
    return -G * np.cos(angle) * rods / inertia
