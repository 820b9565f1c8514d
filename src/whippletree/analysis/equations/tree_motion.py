"""A small mechanism in motion, on whose numbers the equations of a text are worked out, and the letters of all texts.

Poses, velocities and accelerations of bodies come from the kinematics of the package, a text's own matrices from
`matrices(q, v, tau, text=...)`, masses and places from the description. Letters go by body; "" is the ground.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from whippletree.analysis.equations.equation import Array, rot
from whippletree.elements.bodies import box
from whippletree.foundation.once import made_once
from whippletree.model import BodyHandle, Mechanism
from whippletree.system import System
from whippletree.system.text_letters import ROWS, TEXTS, function_name

__all__ = ["EDGES", "GRAVITY", "Hung", "HungTree", "Letters", "TreeMotion"]

EDGES = (0.2, 0.3, 0.5)
"""The edges of all bodies, which are boxes."""

GRAVITY = np.array([0.0, 0.0, -9.81])
"""What pulls them."""


class Hung(NamedTuple):
    """How a body hangs on its parent: the joint's kind, its place on the parent and its axis there.

    On the body the joint is at the origin.
    """

    parent: str
    joint: str
    at: tuple[float, float, float]
    axis: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class HungTree:
    """Bodies in the order of a tree, what closes their loops, and the options of the closed system."""

    bodies: Mapping[str, Hung]
    close: Callable[[Mechanism, Mapping[str, BodyHandle]], None]
    options: Mapping[str, Any] = field(default_factory=dict)

    def mass(self, body: str) -> float:
        """Return a body's mass, apart from the factor of a motion."""
        return 1.0 + list(self.bodies).index(body) / 3

    def centre(self, body: str) -> Array:
        """Return a body's centre in its own axes."""
        return np.array([0.1, 0.05 * list(self.bodies).index(body), -0.1])

    def build(self, heavier: float, *, closed: bool) -> System:
        """Return the mechanism with all masses times a factor, its loops closed or not there."""
        m = Mechanism("tree", gravity=tuple(GRAVITY))
        bodies: dict[str, BodyHandle] = {"": m.ground}
        for name, hung in self.bodies.items():
            shape = box(EDGES, mass=heavier * self.mass(name), at=tuple(self.centre(name)))
            bodies[name] = m.body(name, shape)
            axis = {"axis": hung.axis} if hung.axis else {}
            getattr(m, hung.joint)(name.upper(), bodies[hung.parent], bodies[name], at=hung.at, **axis)
            m.frame(f"{name} centre", on=bodies[name], at=tuple(self.centre(name)))
            m.frame(f"{name} point", on=bodies[name], at=(0.3, -0.2, 0.4))
            m.frame(f"{name} seat", on=bodies[hung.parent], at=hung.at)
        if closed:
            self.close(m, bodies)
        return m.build(**(self.options if closed else {}))


class SeenFrame(NamedTuple):
    """A frame's rotation and place, velocity and acceleration, angular parts first, in ground axes."""

    A: Array
    p: Array
    velocity: Array
    acceleration: Array


_GROUND = SeenFrame(np.eye(3), np.zeros(3), np.zeros(6), np.zeros(6))

Letters = Mapping[str, Callable[[Any], Any]]
"""What makes the numbers of each letter from a motion."""

_STATE = ("q", "v", "tau")


class TreeMotion:
    """A tree at a state of motion; each has masses of its own, so that everything is traced anew."""

    _made = itertools.count()

    def __init__(self, tree: HungTree, letters: Letters, text: str, *, closed: bool = False) -> None:
        self.tree, self.text = tree, text
        self.letters: Letters = {**COMMON, **letters}
        self.heavier = 1.0 + 1e-3 * next(self._made)  # not empty: it counts on
        self.system = system = tree.build(self.heavier, closed=closed)
        rng = np.random.default_rng(7)
        self.q = system.q0 if closed else system.integrate(system.q0, 0.4 * rng.normal(size=system.nv))
        v = rng.normal(size=system.nv)
        self.v = system.consistent_velocities(self.q, v) if closed else v
        self.tau = rng.normal(size=system.nv)
        self.functions: dict[tuple[str, str, str], Any] = {}
        self.values: dict[str, Any] = {}
        self.a = self.function("forward_dynamics")
        self.is_closed = closed

    @made_once
    def closed(self) -> TreeMotion:
        """The same tree with its loops closed."""
        return self if self.is_closed else type(self)(self.tree, self.letters, self.text, closed=True)

    def letter(self, name: str) -> Any:
        """Return the numbers of a letter."""
        if name not in self.values:
            self.values[name] = self.letters[name](self)
        return self.values[name]

    def pairs(self, on: str) -> list[tuple[str, str]]:
        """Return bodies and their parents: those on others, or `all`; with kinds of joints only those behind these."""
        words = on.split()
        kinds = [word for word in words if word != "all"]
        every = [(name, hung.parent) for name, hung in self.tree.bodies.items() if hung.parent or "all" in words]
        return [pair for pair in every if not kinds or self.tree.bodies[pair[0]].joint in kinds]

    def later(self, h: float) -> TreeMotion:
        """Return the motion a time h later; the joints' accelerations stay."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, values={}, v=self.v + h * self.a)
        other.q = self.system.integrate(self.q, h * self.v)
        return other

    def function(self, name: str, inputs: Sequence[str] = _STATE, frame: str = "", formulation: str = "auto") -> Array:
        """Return what a function of the system gives at the state, without compiling it."""
        key = (name, frame, formulation)
        if key not in self.functions:
            self.functions[key] = self.system.function(name, frame=frame, formulation=formulation)
        return np.array(self.functions[key](*(getattr(self, one) for one in inputs))).ravel()

    def whole(self, name: str, text: str = "") -> Array:
        """Return a matrix of a text."""
        of = text or self.text
        one = TEXTS[of][name]
        found = self.function(function_name(of, name), one.inputs)
        return found.reshape(self.system.kernels.equations.size(ROWS[one.rows]), -1)

    def six(self, body: str) -> slice:
        """Return where a body's rows are."""
        k = self.system.kernels.equations.node_tree().where[body][0]
        return slice(6 * k, 6 * k + 6)

    def joint(self, body: str) -> slice:
        """Return where the velocities of a body's joint are."""
        return self.system.v_slice(body.upper())

    def on_bodies(self, name: str, text: str = "", columns: str = "own") -> dict[str, Array]:
        """Return the rows of bodies in a matrix, and of these the columns of the bodies, their parents or joints."""
        whole, found = self.whole(name, text), {}
        for body, parent in self.parents:
            rows = whole[self.six(body)]
            if rows.shape[1] == 1:
                found[body] = rows[:, 0]
            elif columns == "all":
                found[body] = rows
            elif columns != "parent":
                found[body] = rows[:, self.six(body) if columns == "own" else self.joint(body)]
            elif parent:
                found[body] = rows[:, self.six(parent)]
        return found

    def on_joints(self, name: str, text: str = "", columns: str = "all") -> dict[str, Array]:
        """Return the rows of joints in a matrix, in all columns or their own."""
        whole, found = self.whole(name, text), {}
        for body, _ in self.parents:
            rows = whole[self.joint(body)]
            found[body] = rows[:, 0] if rows.shape[1] == 1 else rows[:, self.joint(body)] if columns == "own" else rows
        return found

    @property
    def parents(self) -> list[tuple[str, str]]:
        """All bodies with their parents, in the order of the tree."""
        return self.pairs("all")

    def by_joint(self, vector: Array, positions: bool = False) -> dict[str, Array]:
        """Return the parts of a vector that belong to the bodies' joints."""
        where = self.system.q_slice if positions else self.system.v_slice
        return {body: vector[where(body.upper())] for body, _ in self.parents}

    def frames(self, which: str) -> dict[str, SeenFrame]:
        """Return the motion of a frame of every body, or with "" of the bodies themselves."""
        names = {body: f"{body} {which}".strip() for body in self.tree.bodies}
        return {"": _GROUND} | {body: self.seen(name) for body, name in names.items()}

    def seen(self, frame: str) -> SeenFrame:
        """Return the motion of a frame."""
        pose = self.function("pose", ["q"], frame=frame).reshape(4, 4)
        Y = self.function("velocity", ["q", "v"], frame=frame)
        return SeenFrame(pose[:3, :3], pose[:3, 3], Y, self.function("acceleration", ["q", "v", "a"], frame=frame))

    def parts(self, letter: str, make: Callable[[SeenFrame], Array]) -> dict[str, Array]:
        """Return something of the motion of every frame."""
        return {body: make(seen) for body, seen in self.letter(letter).items()}


def _axes(s: TreeMotion) -> dict[str, Array]:
    return {b: np.array(h.axis) / np.linalg.norm(h.axis) for b, h in s.tree.bodies.items() if h.axis}


def _inertia(s: TreeMotion) -> dict[str, Array]:
    """Return the inertia tensors of the boxes at their centres, in ground axes."""
    x, y, z = EDGES
    own = np.diag([y * y + z * z, z * z + x * x, x * x + y * y]) / 12
    return {b: m * s.letter("A")[b] @ own @ s.letter("A")[b].T for b, m in s.letter("m").items()}


def _displacements(s: TreeMotion) -> dict[str, Array]:
    """Return how far joints displace their points, from the description: slides and cylinders along their axes."""
    along = {"prismatic": 0, "cylindrical": 1}
    u, q = s.letter("u"), s.letter("q")
    kinds = {body: hung.joint for body, hung in s.tree.bodies.items()}
    return {b: u[b] * q[b][along[kind]] if kind in along else np.zeros(3) for b, kind in kinds.items()}


COMMON: Letters = {
    "motion": lambda s: s.frames(""),
    "motion_of_centres": lambda s: s.frames("centre"),
    "motion_of_points": lambda s: s.frames("point"),
    "A": lambda s: s.parts("motion", lambda one: one.A),
    "r": lambda s: s.parts("motion", lambda one: one.p),
    "w": lambda s: s.parts("motion", lambda one: one.velocity[:3]),
    "d_r": lambda s: s.parts("motion", lambda one: one.velocity[3:]),
    "d_w": lambda s: s.parts("motion", lambda one: one.acceleration[:3]),
    "dd_r": lambda s: s.parts("motion", lambda one: one.acceleration[3:]),
    "rc": lambda s: s.parts("motion_of_centres", lambda one: one.p),
    "Y": lambda s: s.parts("motion_of_centres", lambda one: one.velocity),
    "d_Y": lambda s: s.parts("motion_of_centres", lambda one: one.acceleration),
    "d_rc": lambda s: s.parts("motion_of_centres", lambda one: one.velocity[3:]),
    "dd_rc": lambda s: s.parts("motion_of_centres", lambda one: one.acceleration[3:]),
    "rho": lambda s: {b: s.letter("rc")[b] - r for b, r in s.letter("r").items()},
    "p": lambda s: s.parts("motion_of_points", lambda one: one.p),
    "Y_p": lambda s: s.parts("motion_of_points", lambda one: one.velocity),
    "d_Y_p": lambda s: s.parts("motion_of_points", lambda one: one.acceleration),
    "local": lambda s: {b: s.tree.centre(b) for b in s.tree.bodies},  # the centre in the body's axes
    "local_axis": _axes,  # the joint's axis in the parent's axes
    "u": lambda s: {b: s.letter("A")[s.tree.bodies[b].parent] @ axis for b, axis in s.letter("local_axis").items()},
    "s": lambda s: {b: s.letter("A")[h.parent] @ np.array(h.at) for b, h in s.tree.bodies.items()},
    "d": _displacements,
    "m": lambda s: {b: s.heavier * s.tree.mass(b) for b in s.tree.bodies},
    "J": _inertia,
    "F": lambda s: {b: m * GRAVITY for b, m in s.letter("m").items()},
    "q": lambda s: s.by_joint(s.q, positions=True),
    "d_q": lambda s: s.by_joint(s.v),
    "dd_q": lambda s: s.by_joint(s.a),
    "tau": lambda s: s.by_joint(s.tau),
    "turn": lambda s: {b: rot(u, s.letter("q")[b][0]) for b, u in s.letter("local_axis").items()},
}
"""The letters of all texts."""
