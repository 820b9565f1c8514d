"""Kang and Yoon, "On the improvement of a fully recursive formulation": its equations, on two short chains in a ring.

Letters are the paper's, but velocities and forces are [angular; linear] here. Bodies j have their parents i. Checks are
in plain NumPy: poses, velocities and accelerations of bodies come from the kinematics of the package, or from
differences of poses along the motion; the text's matrices from `matrices(q, v, tau, text="kang-yoon/...")`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from whippletree.analysis.equations.equation import Array, Equation, Text
from whippletree.elements.bodies import box
from whippletree.model import Mechanism
from whippletree.system import System
from whippletree.system.text_letters import ROWS, TEXTS, function_name

__all__ = ["KANG_YOON"]

PARENTS = {"a": "", "b": "a", "c": "b", "d": "", "e": "d", "f": "e"}
"""The bodies with their parents; the first three are a chain, and so are the others."""

MASS = {name: 1.0 + k / 3 for k, name in enumerate(PARENTS)}
CENTRE = {name: np.array([0.1, 0.05 * k, -0.1]) for k, name in enumerate(PARENTS)}
EDGES = (0.2, 0.3, 0.5)
"""Mass of each body, its centre in its own axes, and the edges of all of them, which are boxes."""

JOINTS = {"a": "cylindrical", "b": "revolute", "c": "prismatic", "d": "revolute", "e": "universal", "f": "revolute"}
AXES = {"a": (0.2, 0.3, 1.0), "b": (1.0, 0.2, -0.3), "c": (0.1, 1.0, 0.4), "d": (0.5, 1.0, 0.1), "f": (1.0, 0.0, 0.7)}
AT = {
    "a": (0.0, 0.0, 0.0),
    "b": (0.3, 0.1, 0.4),
    "c": (-0.1, 0.3, 0.2),
    "d": (0.0, 0.0, 0.0),
    "e": (0.2, 0.4, 0.1),
    "f": (0.3, -0.2, 0.3),
}
"""The joints' kinds and axes, and their points on the parents; on the bodies they are at the origins."""


HOOK = (0.5, 0.6, -0.4)
"""Where a rod on the ground is hooked in."""


def chains(closed: bool, heavier: float = 1.0) -> System:
    """Return the two chains; `closed` ones have a ring of d1 and d2 in one of them, and a rod to the ground, ss."""
    m = Mechanism("two chains", gravity=(0.0, 0.0, -9.81))
    bodies = {"": m.ground}
    for name, parent in PARENTS.items():
        bodies[name] = m.body(name, box(EDGES, mass=heavier * MASS[name], at=tuple(CENTRE[name])))
        axis = {} if name == "e" else {"axis": AXES[name]}
        getattr(m, JOINTS[name])(name.upper(), bodies[parent], bodies[name], at=AT[name], **axis)
        m.frame(f"{name} centre", on=bodies[name], at=tuple(CENTRE[name]))
        m.frame(f"{name} point", on=bodies[name], at=(0.3, -0.2, 0.4))
        m.frame(f"{name} seat", on=bodies[parent], at=AT[name])
    if closed:
        m.perpendicular("d1", bodies["d"], bodies["f"], axis="x", axis_child="z")
        m.in_plane("d2", bodies["d"], bodies["f"], normal="y", offset=0.3, at_child=(0.1, 0.0, 0.2))
        m.distance("ss", m.ground, bodies["e"], at=HOOK)
    return m.build()


class FrameMotion(NamedTuple):
    """A frame's rotation and place, and its angular and linear velocity and acceleration, in ground axes."""

    R: Array
    p: Array
    w: Array
    v: Array
    dw: Array
    a: Array

    @property
    def Y(self) -> Array:
        """Velocity [angular; linear]."""
        return np.concatenate([self.w, self.v])

    @property
    def dY(self) -> Array:
        """Acceleration [angular; linear]."""
        return np.concatenate([self.dw, self.a])


def tilde(r: Array) -> Array:
    """Return the matrix of r x."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def lever(r: Array) -> Array:
    """Return T, which moves velocities [w; u] to a point at r."""
    T = np.eye(6)
    T[3:, :3] = -tilde(r)
    return T


Sides = tuple[Array, Array]
"""Both sides of an equation."""

GROUND = FrameMotion(np.eye(3), *(np.zeros(3) for _ in range(5)))


class ChainState:
    """The two chains at a state of motion; each state has masses of its own, so that everything is traced anew."""

    _made = itertools.count()

    def __init__(self, closed: bool = False) -> None:
        self.heavier = 1.0 + 1e-3 * next(self._made)  # not empty: it counts on
        self.system = system = chains(closed, self.heavier)
        rng = np.random.default_rng(7)
        self.q = system.q0 if closed else 0.4 * rng.normal(size=system.nq)
        v = rng.normal(size=system.nv)
        self.v = system.consistent_velocities(self.q, v) if closed else v
        self.tau = rng.normal(size=system.nv)
        self._matrices: dict[tuple[str, str], Array] = {}
        self._motions: dict[str, FrameMotion] = {}

    @cached_property
    def closed(self) -> ChainState:
        """The chains with their tips held together."""
        return ChainState(closed=True)

    @cached_property
    def a(self) -> Array:
        """Accelerations of the joints."""
        return self.function("forward_dynamics", ["q", "v", "tau"], formulation="fully_recursive/centroid")

    def letter(self, name: str, reference: str = "centroid") -> Array:
        """Return a matrix of the text, evaluated without compiling it."""
        text = f"kang-yoon/{reference}"
        if (text, name) not in self._matrices:
            found = self.function(function_name(text, name), TEXTS[text][name].inputs)
            rows = self.system.kernels.equations.size(ROWS[TEXTS[text][name].rows])
            self._matrices[text, name] = found if found.size == rows else found.reshape(rows, -1)
        return self._matrices[text, name]

    def function(self, name: str, inputs: Sequence[str], frame: str = "", formulation: str = "auto") -> Array:
        """Return the value of a function of the system at the state."""
        given = {"q": self.q, "v": self.v, "a": self.a if "a" in inputs else None, "tau": self.tau}
        function = self.system.function(name, frame=frame, formulation=formulation)
        return np.array(function(*(given[one] for one in inputs))).ravel()

    def of_body(self, name: str, body: str, reference: str = "centroid") -> Array:
        """Return a body's rows of a matrix."""
        return self.letter(name, reference)[self._six(body)]

    def block(self, name: str, body: str, other: str = "", reference: str = "centroid") -> Array:
        """Return a body's rows in the columns of another body, or of its own joint."""
        return self.of_body(name, body, reference)[:, self._six(other) if other else self.joint(body)]

    def _six(self, body: str) -> slice:
        k = self.system.kernels.equations.node_tree().where[body][0]
        return slice(6 * k, 6 * k + 6)

    def of_joint(self, name: str, body: str, reference: str = "centroid") -> Array:
        """Return the rows of a body's joint, and its columns alone where these are joints'."""
        rows = self.letter(name, reference)[self.joint(body)]
        return rows[:, self.joint(body)] if name == "M22" else rows

    def joint(self, body: str) -> slice:
        """Return where the velocities of a body's joint are."""
        return self.system.v_slice(body.upper())

    def rates(self, body: str) -> Array:
        """Return the velocities of a body's joint."""
        return self.v[self.joint(body)]

    def at(self, frame: str) -> FrameMotion:
        """Return the motion of a body or frame."""
        if not frame:
            return GROUND
        if frame not in self._motions:
            pose = self.function("pose", ["q"], frame=frame).reshape(4, 4)
            twist = self.function("velocity", ["q", "v"], frame=frame)
            rate = self.function("acceleration", ["q", "v", "a"], frame=frame)
            self._motions[frame] = FrameMotion(pose[:3, :3], pose[:3, 3], twist[:3], twist[3:], rate[:3], rate[3:])
        return self._motions[frame]

    def place(self, frame: str, h: float) -> tuple[Array, Array]:
        """Return the rotation and place of a body or frame a time h later along the velocities."""
        q = self.system.integrate(self.q, h * self.v)
        pose = np.array(self.system.function("pose", frame=frame)(q)).reshape(4, 4)
        return pose[:3, :3], pose[:3, 3]

    def along(self, value: Callable[[float], Array], h: float = 1e-5) -> Array:
        """Return how fast a number changes along the velocities, by differences."""
        return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)

    def mass(self, body: str) -> float:
        """Return the mass of a body."""
        return self.heavier * MASS[body]

    def inertia(self, body: str) -> Array:
        """Return the inertia tensor of a box at its centre, in ground axes."""
        x, y, z = EDGES
        own = self.mass(body) / 12 * np.diag([y * y + z * z, z * z + x * x, x * x + y * y])
        R = self.at(body).R
        return np.asarray(R @ own @ R.T)

    def rho(self, body: str) -> Array:
        """Return the centre of a body from its joint point."""
        return np.asarray(self.at(body).R @ CENTRE[body])

    def centre(self, body: str) -> FrameMotion:
        """Return the motion of a body's centre."""
        return self.at(f"{body} centre") if body else GROUND


def _mass_at_centre(s: ChainState, body: str) -> Array:
    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = s.inertia(body), s.mass(body) * np.eye(3)
    return M


def _force_at_centre(s: ChainState, body: str) -> Array:
    w, weight = s.at(body).w, np.array([0.0, 0.0, -9.81 * s.mass(body)])
    return np.concatenate([-np.cross(w, s.inertia(body) @ w), weight])


def _relative(s: ChainState, body: str) -> tuple[Array, Array]:
    """Return the velocity of a joint's point and its turning as the parent sees them, from the motions of both."""
    j, seat = s.at(body), s.at(f"{body} seat")
    return j.w - seat.w, j.v - seat.v - np.cross(seat.w, j.p - seat.p)


def _own_twist(s: ChainState, body: str) -> Array:
    """Return the joint's columns at its point times its velocities."""
    return s.block("B2", body, reference="joint") @ s.rates(body)


def _turning(s: ChainState, body: str) -> Array:
    """Return e = w_i x w_ij + A_i C_j B'w q'w, where axes stay in the parent or turn with the first angle."""
    i, (w_ij, _) = s.at(PARENTS[body]), _relative(s, body)
    e = np.cross(i.w, w_ij)
    if JOINTS[body] == "universal":
        axes = s.block("B2", body, reference="joint")[:3]
        first, second = s.rates(body)
        e = e + np.cross(axes[:, 0] * first, axes[:, 1] * second)
    return e


def _square_at_centre(s: ChainState, body: str) -> Array:
    i, (w_ij, v_ij), e = s.at(PARENTS[body]), _relative(s, body), _turning(s, body)
    between = s.along(lambda h: s.place(f"{body} centre", h)[1] - s.place(f"{PARENTS[body]} centre", h)[1])
    rho = s.rho(body)
    rate = np.cross(s.at(body).w, rho)
    return np.concatenate([e, np.cross(i.w, between + v_ij) + np.cross(w_ij, rate) - np.cross(rho, e)])


def _square_at_origin(s: ChainState, body: str) -> Array:
    i, j, (w_ij, v_ij), e = s.at(PARENTS[body]), s.at(body), _relative(s, body), _turning(s, body)
    linear = np.cross(i.w, v_ij) + np.cross(j.v, w_ij) + np.cross(j.p, e)
    return np.concatenate([e, linear])


def _at_origin(motion: FrameMotion) -> tuple[Array, Array]:
    """Return velocity and acceleration of the body's points that pass through the ground's origin."""
    u = motion.v + np.cross(motion.p, motion.w)
    rate = motion.a + np.cross(motion.v, motion.w) + np.cross(motion.p, motion.dw)
    return np.concatenate([motion.w, u]), np.concatenate([motion.dw, rate])


def _mass_at_origin(s: ChainState, body: str) -> tuple[Array, Array]:
    m, J, j, c = s.mass(body), s.inertia(body), s.at(body), s.centre(body)
    R = tilde(c.p)
    M = np.block([[J - m * R @ R, m * R], [-m * R, m * np.eye(3)]])
    f = np.array([0.0, 0.0, -9.81 * m]) + m * np.cross(c.v, j.w)
    return M, np.concatenate([-np.cross(j.w, J @ j.w) + np.cross(c.p, f), f])


def _seen(s: ChainState, body: str, M: Array, left: Array, reference: str = "centroid") -> tuple[Array, ...]:
    """Return M11, M21, M22, Q1, Q2 of (28) from the inertia of a body with all that hangs on it."""
    B1, B2 = s.block("B1", body, PARENTS[body], reference), s.block("B2", body, reference=reference)
    effort = B2.T @ left + s.tau[s.joint(body)]
    return B1.T @ M @ B1, B2.T @ M @ B1, B2.T @ M @ B2, B1.T @ left, effort


def _with_tips(s: ChainState, body: str, reference: str = "centroid") -> tuple[Array, Array]:
    """Return M and Q of a body with all that hangs on it (29)."""
    M, Q = s.block("M", body, body, reference).copy(), s.of_body("Q", body, reference).copy()
    for child in (name for name, parent in PARENTS.items() if parent == body):
        beyond, force = _with_tips(s, child, reference)
        left = force - beyond @ s.of_body("D", child, reference)
        M11, M21, M22, Q1, Q2 = _seen(s, child, beyond, left, reference)
        M += M11 - M21.T @ np.linalg.solve(M22, M21)
        Q += Q1 - M21.T @ np.linalg.solve(M22, Q2)
    return M, Q


def _joined(parts: Sequence[Array], scaled: bool = False) -> Array:
    """Return all entries of some matrices in one row, `scaled` each to its own largest."""
    return np.concatenate([np.ravel(x) / (np.abs(x).max() if scaled else 1.0) for x in parts])


def _reduced(s: ChainState, body: str) -> Sides:
    """Return both sides of (28) or (29): the text's matrices, and the same from M, Q, B1, B2 and D."""
    M, Q = _with_tips(s, body)
    right = _seen(s, body, M, Q - M @ s.of_body("D", body))
    left = (
        s.of_body("M11", body),
        *(s.of_joint(name, body) for name in ("M21", "M22")),
        s.of_body("Q1", body),
        s.of_joint("Q2", body),
    )
    return _joined(left, scaled=True), _joined(right, scaled=True)


def _rows_on_bodies(s: ChainState) -> dict[str, Array]:
    """Return the closures' rows on velocities of the centres, by body, from (37) and table 1 in plain NumPy."""
    d, e, f = (s.at(x) for x in "def")
    rows = {name: np.zeros((3, 6)) for name in PARENTS}
    n = np.cross(d.R[:, 0], f.R[:, 2])  # d1
    rows["d"][0, :3], rows["f"][0, :3] = n, -n
    normal, point = d.R[:, 1], f.p + f.R @ np.array([0.1, 0.0, 0.2])  # d2
    rows["d"][1] = np.concatenate([np.cross(normal, point - d.p), -normal]) @ lever(-s.rho("d"))
    rows["f"][1] = np.concatenate([np.zeros(3), normal]) @ lever(point - s.centre("f").p)
    direction = (e.p - HOOK) / np.linalg.norm(e.p - HOOK)  # ss
    rows["e"][2] = np.concatenate([np.zeros(3), direction]) @ lever(-s.rho("e"))
    return rows


def _rates_of_rows(s: ChainState) -> Array:
    """Return the factor of Y' in (37): minus the rows' own rates times Y, by differences."""
    system, moved = s.system, []
    for h in (-2e-5, -1e-5, 1e-5, 2e-5):
        other = ChainState.__new__(ChainState)
        other.__dict__.update(s.__dict__, q=system.integrate(s.q, h * s.v), _matrices={}, _motions={})
        moved.append(sum(block @ s.centre(name).Y for name, block in _rows_on_bodies(other).items()))
    return -np.asarray(8 * (moved[2] - moved[1]) - (moved[3] - moved[0])) / 12e-5


def _carried(s: ChainState, reference: str = "centroid") -> tuple[Array, Array, Array]:
    """Return Phi2 of every joint, the reduced matrix, and the terms of (41) in gamma, in plain NumPy."""
    waiting = _rows_on_bodies(s)
    if reference == "origin":
        waiting = {name: block @ lever(s.centre(name).p) for name, block in waiting.items()}
    taken, Phi2 = np.zeros(3), np.zeros((s.system.nv, 3))
    L = np.zeros((3, 3))
    for body in reversed(PARENTS):
        M, Q = _with_tips(s, body, reference)
        D, parent = s.of_body("D", body, reference), PARENTS[body]
        B1 = s.block("B1", body, parent, reference) if parent else np.eye(6)
        B2, Phi = s.block("B2", body, reference=reference), waiting[body]
        M21, M22 = B2.T @ M @ B1, B2.T @ M @ B2
        Q2 = B2.T @ (Q - M @ D) + s.tau[s.joint(body)]
        own = Phi @ B2
        Phi2[s.joint(body)] = own.T
        L += own @ np.linalg.solve(M22, own.T)
        taken = taken + Phi @ D + own @ np.linalg.solve(M22, Q2)
        if parent:
            waiting[parent] = waiting[parent] + Phi @ B1 - own @ np.linalg.solve(M22, M21)
    return Phi2, L, taken


def _gamma(s: ChainState, reference: str = "centroid") -> Array:
    """Return gamma of all closures as the engine has it: (41) backwards."""
    return s.letter("gamma", reference) + _carried(s, reference)[2]


def _multiplied(s: ChainState) -> Array:
    return np.asarray(np.linalg.solve(s.letter("L"), s.letter("gamma")), dtype=float)


def _accelerations(s: ChainState, multipliers: Array) -> Array:
    """Return the joints' accelerations by (30), or by (43) under multipliers, from the text's matrices."""
    found, rates = np.zeros(s.system.nv), dict[str, Array]()
    for body, parent in PARENTS.items():
        right = s.of_joint("Q2", body) + s.letter("Phi2")[s.joint(body)] @ multipliers
        if parent:
            right = right - s.of_joint("M21", body) @ rates[parent]
        found[s.joint(body)] = np.linalg.solve(s.of_joint("M22", body), right)
        before = s.block("B1", body, parent) @ rates[parent] if parent else 0.0
        rates[body] = before + s.block("B2", body) @ found[s.joint(body)] + s.of_body("D", body)
    return found


GA = "formulations.recursions.ground_axes"
FR = "formulations.methods.fully_recursive"
GC = "formulations.closures.ground_closures"


def _parted(s: ChainState, body: str) -> Sides:
    """Return the joint point from the parent's, and its part that the joint displaces (12, 13)."""
    i, j = s.at(PARENTS[body]), s.at(body)
    seat = i.p + i.R @ np.array(AT[body])
    return j.p - i.p, j.p - seat


def _axis(s: ChainState, body: str) -> Array:
    """Return a joint's axis in ground axes, fixed in its parent."""
    axis = np.array(AXES[body])
    return np.asarray(s.at(PARENTS[body]).R @ (axis / np.linalg.norm(axis)))


def _turned(s: ChainState, body: str) -> Array:
    """Return the rotation about a joint's axis by its angle (Rodrigues)."""
    u, angle = np.array(AXES[body]) / np.linalg.norm(AXES[body]), s.q[s.system.q_slice(body.upper())][0]
    return np.asarray(np.eye(3) + np.sin(angle) * tilde(u) + (1 - np.cos(angle)) * tilde(u) @ tilde(u))


def _displaced(s: ChainState) -> Sides:
    """Return (4) for a body's marked point: how far it moves, and T on how the centre moves and the body turns."""
    h = 1e-4
    (R_back, back), (R_ahead, ahead) = (s.place("e centre", x) for x in (-h, h))
    turn = R_ahead @ R_back.T
    angle = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
    T = lever(s.at("e point").p - s.centre("e").p)
    moved = s.place("e point", h)[1] - s.place("e point", -h)[1]
    return moved, (T @ np.concatenate([angle, ahead - back]))[3:]


def _about_joint(s: ChainState) -> Sides:
    """Return (8) at the joint point: M and Q there, and T^T M T, T^T (Q - M T' Y) from those at the centre."""
    T, w = lever(s.rho("e")), s.at("e").w
    M, Q = s.block("M", "e", "e"), s.of_body("Q", "e")
    extra = np.concatenate([np.zeros(3), np.cross(w, np.cross(w, s.rho("e")))])
    left = s.block("M", "e", "e", "joint"), s.of_body("Q", "e", "joint")
    right = T.T @ M @ T, T.T @ (Q - M @ extra)
    return _joined(left), _joined(right)


def _accelerated(s: ChainState, body: str, reference: str) -> Sides:
    """Return (26) or (34): a body's acceleration, and that of its parent with the joint's and D."""
    if reference == "origin":
        own, before = _at_origin(s.at(body))[1], _at_origin(s.at(PARENTS[body]))[1]
    else:
        own, before = s.centre(body).dY, s.block("B1", body, PARENTS[body]) @ s.centre(PARENTS[body]).dY
    joint = s.block("B2", body, reference=reference) @ s.a[s.joint(body)]
    return own, before + joint + s.of_body("D", body, reference)


def _columns(s: ChainState, body: str, r: Array) -> Array:
    """Return [Bw; Bv - r~ Bw] from the joint's columns at its point."""
    own = s.block("B2", body, reference="joint")
    return np.vstack([own[:3], own[3:] - tilde(r) @ own[:3]])


def _held(s: ChainState) -> Sides:
    """Return both sides of (37), stacked as in (38), for the accelerations that occur."""
    rows = _rows_on_bodies(s)
    return sum((block @ s.centre(name).dY for name, block in rows.items()), np.zeros(3)), _gamma(s)


def _held_at_origin(s: ChainState) -> Sides:
    """Return both sides of (44), stacked as in (46): the same about the ground's origin."""
    rows = {name: block @ lever(s.centre(name).p) for name, block in _rows_on_bodies(s).items()}
    moved = (block @ _at_origin(s.at(name))[1] for name, block in rows.items())
    return sum(moved, np.zeros(3)), _gamma(s, "origin")


def _moved(s: ChainState) -> Sides:
    """Return both sides of (45): gamma about the origin, and that at the centres with Phi_r rc' x w added."""
    rows, c = _rows_on_bodies(s), {name: s.centre(name) for name in PARENTS}
    square = (block[:, 3:] @ np.cross(c[name].v, c[name].w) for name, block in rows.items())
    return _gamma(s, "origin"), _gamma(s) + sum(square, np.zeros(3))


def _rows_alone(sides: Sides, row: int) -> Sides:
    """Return one row of both sides."""
    return sides[0][row], sides[1][row]


def _passed_rows(s: ChainState) -> Sides:
    Phi2, _, _ = _carried(s)
    tip = s.joint("f")
    return s.letter("Phi2")[tip], Phi2[tip]


_COMPUTED = [
    Equation(
        "3",
        "A",
        "inertia of a body at its centre, and its force less the gyroscopic moment",
        "M = diag(m 1, J), Q = [F; tau - w~ J w]",
        f"{GA}.bodies",
        "M, Q",
        sides=lambda s: (
            np.vstack([s.block("M", "e", "e"), s.of_body("Q", "e")]),
            np.vstack([_mass_at_centre(s, "e"), _force_at_centre(s, "e")]),
        ),
    ),
    Equation(
        "4",
        "A",
        "a small displacement, moved to another point of the body",
        "T = [1 s~; 0 1]",
        "formulations.recursions.kinematics.place",
        "shift",
        sides=_displaced,
        digits=6,
    ),
    Equation(
        "5",
        "A",
        "a velocity, moved in the same way",
        "Yc = T Y",
        "system.tree_equations.velocity",
        "velocity",
        sides=lambda s: (s.at("e point").Y, lever(s.at("e point").p - s.centre("e").p) @ s.centre("e").Y),
    ),
    Equation(
        "6",
        "A",
        "an acceleration, moved with what the turning adds",
        "Yc' = T Y' + T' Y",
        "system.tree_equations.acceleration",
        "acceleration",
        sides=lambda s: (
            s.at("e point").dY,
            lever(r := s.at("e point").p - s.centre("e").p) @ s.centre("e").dY
            + np.concatenate([np.zeros(3), np.cross(w := s.at("e").w, np.cross(w, r))]),
        ),
    ),
    Equation(
        "8",
        "A",
        "inertia and force at another point",
        "T^T M T, T^T (Q - M T' Y)",
        f"{GA}.bodies",
        "M, Q",
        sides=_about_joint,
    ),
    Equation(
        "9",
        "A",
        "axes of a body from those of its parent and the joint's turning",
        "A_j = A_i C_j R_j",
        "formulations.recursions.kinematics.place",
        "R",
        sides=lambda s: (s.at("b").R, s.at("a").R @ _turned(s, "b")),
    ),
    Equation(
        "11",
        "A",
        "lever of the joint and place of the centre, turned into ground axes",
        "s_j = A_i s'_j, rho_j = A_j rho'_j",
        f"{GA}.bodies",
        "s, rho",
        "a prime has become a superscript i",
        sides=lambda s: (
            s.block("B1", "e", "d", "centroid")[3:, :3],
            -tilde(_parted(s, "e")[0] + s.rho("e") - s.rho("d")),
        ),
    ),
    Equation(
        "12",
        "A",
        "what translational coordinates displace",
        "d' = d'_0 + B'v qv",
        "formulations.recursions.kinematics.place",
        "shift",
        "a sum of coordinates, which holds for three slides only",
        sides=lambda s: (_parted(s, "c")[1], _axis(s, "c") * s.q[s.system.q_slice("C")][0]),
    ),
    Equation(
        "13",
        "A",
        "the joint point from that of the parent",
        "r_ij = s_j + d_j",
        f"{GA}.bodies",
        "s",
        "the sum is not printed",
        sides=lambda s: (
            s.block("B1", "c", "b", "joint")[3:, :3],
            -tilde(s.at("b").R @ np.array(AT["c"]) + _axis(s, "c") * s.q[s.system.q_slice("C")][0]),
        ),
    ),
    Equation(
        "14",
        "A",
        "joint point and centre, from body to body",
        "r_j = r_i + r_ij, rc_j = r_j + rho_j",
        f"{GA}.bodies",
        "r, p",
        "superscripts are lost",
        sides=lambda s: (
            s.centre("c").p,
            sum((_parted(s, name)[0] for name in "abc"), np.zeros(3)) + s.rho("c"),
        ),
    ),
    Equation(
        "15",
        "A",
        "columns of the joint, turned into ground axes",
        "A_i C_j B'",
        f"{GA}.bodies",
        "axes",
        "C with a superscript",
        sides=lambda s: (s.block("B2", "b", reference="joint")[:3, 0], _axis(s, "b")),
    ),
    Equation(
        "16",
        "A",
        "columns of the joint from its rotation and its translation",
        "w_ij = B'w q', d' = B'v q'",
        f"{GA}.bodies",
        "joint_map",
        "one of two dots is lost",
        sides=lambda s: (
            _own_twist(s, "a"),
            np.concatenate([s.along(lambda h: _angle(s, h)) * _axis(s, "a"), s.along(lambda h: s.place("a", h)[1])]),
        ),
        digits=8,
    ),
    Equation(
        "17",
        "A",
        "turning of a body against its parent",
        "w_ij = Bw q'",
        f"{GA}.bodies",
        "w_ij",
        "q for q'",
        sides=lambda s: (_own_twist(s, "e")[:3], _relative(s, "e")[0]),
    ),
    Equation(
        "18",
        "A",
        "translation of a joint point against the parent",
        "v_ij = Bv q'",
        f"{GA}.bodies",
        "v_ij",
        "q for q'",
        sides=lambda s: (_own_twist(s, "c")[3:], _relative(s, "c")[1]),
    ),
    Equation(
        "19",
        "A",
        "angular velocities add up along the chain",
        "w_j = w_i + w_ij",
        f"{GA}.bodies",
        "w",
        "a subscript of w_i is lost",
        sides=lambda s: (s.at("f").w, sum((_own_twist(s, name)[:3] for name in "def"), np.zeros(3))),
    ),
    Equation(
        "20",
        "A",
        "rates of the vectors to joint point and centre",
        "r'_ij = w_i x r_ij + v_ij, rho' = w_j x rho",
        f"{GA}.bodies",
        "v",
        sides=lambda s: (
            np.concatenate(
                [
                    s.along(lambda h: s.place("c", h)[1] - s.place("b", h)[1]),
                    s.along(lambda h: s.place("c", h)[0] @ CENTRE["c"]),
                ]
            ),
            np.concatenate(
                [
                    np.cross(s.at("b").w, _parted(s, "c")[0]) + _own_twist(s, "c")[3:],
                    np.cross(s.at("c").w, s.rho("c")),
                ]
            ),
        ),
        digits=8,
    ),
    Equation(
        "21",
        "A",
        "velocities of joint point and centre",
        "r'_j = r'_i + r'_ij, rc'_j = r'_j + rho'_j",
        f"{GA}.bodies",
        "v",
        sides=lambda s: (
            s.centre("c").v,
            s.at("b").v
            + np.cross(s.at("b").w, _parted(s, "c")[0])
            + _own_twist(s, "c")[3:]
            + np.cross(s.at("c").w, s.rho("c")),
        ),
    ),
    Equation(
        "24",
        "A",
        "velocity of a body from its parent's and the joint's",
        "Y_j = B1 Y_i + B2 q'",
        f"{GA}.bodies",
        "B1, B2",
        "Y_j for Y_i",
        sides=lambda s: (
            s.centre("f").Y,
            s.block("B1", "f", "e") @ s.centre("e").Y + s.block("B2", "f") @ s.rates("f"),
        ),
    ),
    Equation(
        "25",
        "A",
        "B1 by the way between centres, B2 with the lever of the centre",
        "B1 = [1 -rc_ij~; 0 1], B2 = [Bv, -rho_j~ Bw; 0, Bw]",
        f"{GA}.bodies",
        "B1, B2",
        "rho_i for rho_j",
        sides=lambda s: (
            np.hstack([s.block("B1", "e", "d"), s.block("B2", "e")]),
            np.hstack([lever(s.centre("e").p - s.centre("d").p), _columns(s, "e", s.rho("e"))]),
        ),
    ),
    Equation(
        "26",
        "A",
        "acceleration of a body from its parent's and the joint's",
        "Y'_j = B1 Y'_i + B2 q'' + D",
        f"{FR}.accelerate",
        "Y",
        sides=lambda s: _accelerated(s, "e", "centroid"),
        digits=10,
    ),
    Equation(
        "27",
        "A",
        "accelerations that velocities alone give, at the centre",
        "D = [w_i x (rc'_ij + v_ij) + w_ij x rho'_j - rho_j~ e; e], e = w_i x w_ij + A_i C_j B'w' q'w",
        f"{GA}.bodies",
        "D",
        "q for q' in the last term; B'v is taken for constant",
        sides=lambda s: (s.of_body("D", "e"), _square_at_centre(s, "e")),
        digits=8,
    ),
    Equation(
        "28",
        "A",
        "inertia and force of a body seen through B1 and B2",
        "M11 = B1^T M B1, M21 = B2^T M B1, M22 = B2^T M B2, Q1 = B1^T (Q - M D), Q2 = B2^T (Q - M D) + tau",
        f"{FR}.eliminate",
        "M11, M21, M22, Q1, Q2",
        "no motor: Q2 lacks tau",
        sides=lambda s: _reduced(s, "c"),
    ),
    Equation(
        "29",
        "A",
        "the parent takes over what is left when a joint is eliminated",
        "M_i += M11 - M21^T M22^-1 M21, Q_i += Q1 - M21^T M22^-1 Q2",
        f"{FR}.eliminate",
        "M, Q",
        sides=lambda s: _reduced(s, "b"),
    ),
    Equation(
        "30",
        "A",
        "accelerations of joints and bodies, outward",
        "q'' = M22^-1 (Q2 - M21 Y'_i)",
        f"{FR}.accelerate",
        "acceleration",
        sides=lambda s: (s.a, _accelerations(s, np.zeros(0))),
        digits=10,
    ),
    Equation(
        "31",
        "A",
        "velocity of the body's point that passes through the origin",
        "v_O = v_j + r_j~ w_j",
        f"{GA}.bodies",
        "u",
        "the tilde of r is lost",
        sides=lambda s: (
            sum((s.block("B2", name, reference="origin") @ s.rates(name) for name in "def"), np.zeros(6)),
            _at_origin(s.at("f"))[0],
        ),
    ),
    Equation(
        "33",
        "A",
        "about the origin B1 is the identity, and B2 has the lever of the joint point",
        "B1 = 1, B2 = [Bv, r_j~ Bw; 0, Bw]",
        f"{GA}.bodies",
        "B2",
        "the tilde of r is lost",
        sides=lambda s: (
            np.hstack([s.block("B1", "e", "d", "origin"), s.block("B2", "e", reference="origin")]),
            np.hstack([np.eye(6), _columns(s, "e", -s.at("e").p)]),
        ),
    ),
    Equation(
        "34",
        "A",
        "acceleration of a body from its parent's, about the origin",
        "Y'_j = B1 Y'_i + B2 q'' + D",
        f"{FR}.accelerate",
        "Y",
        "q' for q''",
        sides=lambda s: _accelerated(s, "e", "origin"),
        digits=10,
    ),
    Equation(
        "35",
        "A",
        "accelerations that velocities alone give, about the origin",
        "D = [w_i x v_ij + r'_j~ w_ij + r_j~ e; e]",
        f"{GA}.bodies",
        "D",
        "dots and tildes are lost",
        sides=lambda s: (s.of_body("D", "e", "origin"), _square_at_origin(s, "e")),
    ),
    Equation(
        "36",
        "A",
        "inertia and force of a body about the origin",
        "M = [m 1, -m rc~; m rc~, J - m rc~ rc~], f = F + m rc'~ w, Q = [f; tau - w~ J w + rc~ f]",
        f"{GA}.bodies",
        "M, Q",
        "dots are lost; w_1 is that of the body itself",
        sides=lambda s: (
            np.vstack([s.block("M", "e", "e", "origin"), s.of_body("Q", "e", "origin")]),
            np.vstack(_mass_at_origin(s, "e")),
        ),
    ),
    Equation(
        "37",
        "A",
        "a closure on the accelerations of two bodies",
        "Phi_i Y'_i + Phi_j Y'_j = gamma",
        f"{GC}.closures_on_ground",
        "ClosureState",
        sides=lambda s: _rows_alone(_held(s.closed), 0),
        digits=7,
    ),
    Equation(
        "38",
        "A",
        "all closures, stacked",
        "Phi Y' = gamma",
        f"{GC}.closures_on_ground",
        "ClosureState",
        sides=lambda s: _held(s.closed),
        digits=7,
    ),
    Equation(
        "39",
        "A",
        "rows of the closures through B1 and B2",
        "Phi1 = Phi B1, Phi2 = Phi B2",
        f"{FR}.carried",
        "Phi2",
        sides=lambda s: _passed_rows(s.closed),
    ),
    Equation(
        "40",
        "A",
        "the parent takes over rows of the closures",
        "Phi_i += Phi1 - Phi2 M22^-1 M21",
        f"{FR}.carried",
        "Phi2",
        sides=lambda s: (s.closed.letter("Phi2"), _carried(s.closed)[0]),
    ),
    Equation(
        "41",
        "A",
        "reduced matrix and right side of the closures, added up over joints",
        "L = sum Phi2 M22^-1 Phi2^T, gamma_bar = gamma - sum (Phi2 M22^-1 Q2 + Phi D)",
        f"{FR}.reduced_matrix",
        "L, gamma",
        "gamma_bar on both sides; rows are those of (40)",
        sides=lambda s: (
            np.vstack([s.closed.letter("L"), s.closed.letter("gamma")]),
            np.vstack([(carried := _carried(s.closed))[1], _rates_of_rows(s.closed) - carried[2]]),
        ),
        digits=7,
    ),
    Equation(
        "42",
        "A",
        "multipliers from the reduced matrix",
        "L lambda = gamma_bar",
        f"{FR}.solve",
        "multipliers",
        sides=lambda s: (_multipliers(s.closed), _multiplied(s.closed)),
        digits=9,
    ),
    Equation(
        "43",
        "A",
        "accelerations of joints under the multipliers",
        "q'' = M22^-1 (Q2 - M21 Y'_i + Phi2^T lambda)",
        f"{FR}.solve",
        "a",
        "Y''_i for Y'_i",
        sides=lambda s: (s.closed.a, _accelerations(s.closed, _multiplied(s.closed))),
        digits=9,
    ),
    Equation(
        "44",
        "A",
        "a closure on accelerations about the origin",
        "Phi^_i Y^'_i + Phi^_j Y^'_j = gamma^",
        f"{GC}.closures_on_ground",
        "ClosureState",
        "the dots of Y^' are lost",
        sides=lambda s: _rows_alone(_held_at_origin(s.closed), 1),
        digits=7,
    ),
    Equation(
        "45",
        "A",
        "rows and right side moved to the origin",
        "Phi^ = [Phi_r, Phi_pi - Phi_r rc~], gamma^ = gamma + Phi_ri rc'_i~ w_i + Phi_rj rc'_j~ w_j",
        f"{GC}.closures_on_ground",
        "ClosureState",
        "subscripts and dots are lost",
        sides=lambda s: _moved(s.closed),
    ),
    Equation(
        "46",
        "A",
        "all closures about the origin, stacked",
        "Phi^ Y^' = gamma^",
        f"{GC}.closures_on_ground",
        "ClosureState",
        "the dots of Y^' are lost",
        sides=lambda s: _held_at_origin(s.closed),
        digits=7,
    ),
]


def _angle(s: ChainState, h: float) -> Array:
    return np.array(s.system.integrate(s.q, h * s.v)[s.system.q_slice("A")][0])


def _multipliers(s: ChainState) -> Array:
    """Return the multipliers that the engine finds: forces and moment of the closures."""
    return s.function("closure_efforts", ["q", "v", "tau"], formulation="fully_recursive/centroid")


_OTHERS = {
    "1": ("S", "virtual power of one body, Newton's and Euler's equations at its centre"),
    "2": ("S", "the same with columns of six"),
    "7": ("S", "virtual power at another point"),
    "10": ("S", "axes of the centre's frame, which the paper itself does not need"),
    "22": ("S", "velocity of a centre from that of the parent's centre; the lever is rho_j throughout"),
    "23": ("D", "velocity of a body at its centre"),
    "32": ("D", "velocity of a body about the origin"),
}

KANG_YOON = Text(
    "kang-yoon",
    "Kang and Yoon, On the improvement of a fully recursive formulation",
    tuple(
        sorted(
            [*_COMPUTED, *(Equation(number, kind, says) for number, (kind, says) in _OTHERS.items())],
            key=lambda one: int(one.number),
        )
    ),
    ChainState,
)
"""All equations of the paper."""
