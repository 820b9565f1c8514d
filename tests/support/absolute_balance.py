"""Mechanisms with closed loops in absolute coordinates, in plain NumPy: a reference apart from the engine.

The unknowns are the accelerations of all bodies *and* of all joint coordinates, and every joint, cut or not, is six
equations between them: the frame on the child moves like the frame on the parent carried on by the joint. So no
spanning tree is chosen, no joint is special, and nothing of the engine's sweeps or closures is used:

    M x'' = F + G^T lambda        bodies: Newton and Euler; joint coordinates: no mass, their efforts in F
    G x'' + bias = 0              six rows for each joint; then rods, couplings and laws

The multipliers of a joint's six rows are the whole wrench on its child at the joint point, in ground axes, motor
included. Biases are second derivatives along the motion, by exact jets (see `newton_euler`). The equations may be
redundant: they are solved in the null space of G, found by singular values, and the vectors with G^T z = 0 are the
states of self-stress, from which follows which reactions are unique.

Vectors x hold [angular; linear] of every body's origin in ground axes, then the joints' velocities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from support.loop_models import GROUND, Hinge, Looped
from support.newton_euler import Jet, Moving, across, quaternion_times, sine_and_cosine

Array = np.ndarray

ZERO = 1e-10  # singular values below this share of the largest are zeros
EPSILON = float(np.finfo(float).eps)
GAP = 1e-4  # and in accepted mechanisms there are none between the two


def skew(r: Array) -> Array:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def moving(pose: Array, twist: Array, acceleration: Array) -> Moving:
    """A pose in motion, from [angular; linear] velocity and acceleration of its origin in ground axes."""
    R, W = pose[:3, :3], skew(twist[:3])
    second = (skew(acceleration[:3]) + W @ W) @ R
    return Moving(Jet([R, W @ R, second / 2]), Jet([pose[:3, 3], twist[3:], acceleration[3:] / 2]))


def still(pose: Array) -> Moving:
    return Moving.still(pose[:3, :3], pose[:3, 3])


def joint_pose(hinge: Hinge, q: Array) -> Array:
    """The child's joint frame in the parent's joint frame."""
    return across(hinge, q, np.zeros(hinge.nv), np.zeros(hinge.nv)).pose


@dataclass(frozen=True)
class Stand:
    """A configuration: all poses and all joints' coordinates, at a time."""

    looped: Looped
    poses: dict[str, Array]
    q: dict[str, Array]
    t: float

    @staticmethod
    def of(looped: Looped) -> Stand:
        """The configuration that the mechanism was drawn in."""
        return Stand(looped, looped.poses(), {hinge.name: hinge.q for hinge in looped.hinges}, looped.t)


class Moved:
    """What laws are written in, as jets along a motion (see `loop_models.Law`)."""

    def __init__(self, stand: Stand, v: Array, a: Array, clock: float) -> None:
        columns = Columns(stand.looped)
        self._stand, self._v, self._a, self._columns = stand, v, a, columns
        self.time = Jet([stand.t, clock, 0.0])

    @staticmethod
    def sin(x: Jet) -> Jet:
        return sine_and_cosine(x)[0]

    @staticmethod
    def cos(x: Jet) -> Jet:
        return sine_and_cosine(x)[1]

    def coordinate(self, joint: str, index: int = 0) -> Jet:
        k = self._columns.joints[joint].start + index
        return Jet([self._stand.q[joint][index], self._v[k], self._a[k] / 2])

    def rate(self, joint: str, index: int = 0) -> Jet:
        k = self._columns.joints[joint].start + index
        return Jet([self._v[k], self._a[k], 0.0])

    def _place(self, name: str) -> Moving:
        point = self._stand.looped.point(name)
        if point.body == GROUND:
            return still(point.pose)
        at = self._columns.bodies[point.body]
        return moving(self._stand.poses[point.body], self._v[at], self._a[at]) @ still(point.pose)

    def position(self, place: str) -> Jet:
        return self._place(place).p

    def rotation(self, place: str) -> Jet:
        return self._place(place).R

    def velocity(self, place: str) -> Jet:
        """[angular; linear] and its first derivative; higher ones are not known."""
        frame = self._place(place)
        return Jet([frame.velocity, frame.acceleration, np.zeros(6)])


class Columns:
    """Where bodies and joints are in the vector of all velocities."""

    def __init__(self, looped: Looped) -> None:
        self.bodies = {part.name: slice(6 * i, 6 * i + 6) for i, part in enumerate(looped.parts)}
        start = 6 * len(looped.parts)
        self.of_joints = slice(start, start + looped.nv)
        self.joints = {}
        for hinge in looped.hinges:
            self.joints[hinge.name] = slice(start, start + hinge.nv)
            start += hinge.nv
        self.count = start


# ---------------------------------------------------------------------------------------------------------
# The rows


@dataclass(frozen=True)
class Rows:
    """Rows of constraints: residual, G x' + drift = 0 with the drift of time alone, G x'' + bias = 0."""

    residual: Array
    G: Array
    drift: Array
    bias: Array

    @staticmethod
    def stacked(parts: list[Rows], columns: int) -> Rows:
        empty = Rows(np.zeros(0), np.zeros((0, columns)), np.zeros(0), np.zeros(0))
        parts = [empty, *parts]
        return Rows(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("residual", "G", "drift", "bias")))


def hinge_rows(stand: Stand, hinge: Hinge, v: Array, columns: Columns) -> Rows:
    """Six rows: the velocity of the frame on the child less that of the parent's frame carried on by the joint."""
    zero = np.zeros(columns.count)
    q, own = stand.q[hinge.name], columns.joints[hinge.name]

    def body(name: str, x: Array) -> Moving:
        at = columns.bodies.get(name)
        return Moving.still() if at is None else moving(stand.poses[name], x[at], zero[at])

    side = body(hinge.parent, v) @ still(hinge.on_parent)
    carried = side @ across(hinge, q, v[own], np.zeros(hinge.nv))
    reached = body(hinge.child, v) @ still(hinge.on_child)
    point = reached.p.c[0]
    G = np.zeros((6, columns.count))
    for name, sign in ((hinge.child, 1.0), (hinge.parent, -1.0)):
        at = columns.bodies.get(name)
        if at is not None:
            arm = skew(point - stand.poses[name][:3, 3])
            G[:, at] += sign * np.block([[np.eye(3), np.zeros((3, 3))], [-arm, np.eye(3)]])
    axes = side.R.c[0]
    for k, unit in enumerate(np.eye(hinge.nv)):
        twist = across(hinge, q, unit, np.zeros(hinge.nv)).velocity
        G[:, own.start + k] = -np.concatenate([axes @ twist[:3], axes @ twist[3:]])
    turned = reached.R.c[0] @ carried.R.c[0].T
    rotation = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]]) / 2
    residual = np.concatenate([rotation, point - carried.p.c[0]])
    return Rows(residual, G, np.zeros(6), reached.acceleration - carried.acceleration)


def written_rows(stand: Stand, law: Any, v: Array, columns: Columns) -> Rows:
    """The rows of a law, differentiated by seeding one velocity at a time."""
    zero = np.zeros(columns.count)
    order = 1 if law.holonomic else 0

    def coefficient(k: int, x: Array, clock: float) -> Array:
        return np.array([float(row.c[k]) for row in law.write(Moved(stand, x, zero, clock))])

    drift = coefficient(order, zero, 1.0)
    still_there = coefficient(order, zero, 0.0)
    touched = [columns.bodies[name] for name in law.bodies if name != GROUND]
    touched += [columns.joints[name] for name in law.joints]
    G = np.zeros((law.rows, columns.count))
    for at in touched:
        for k in range(at.start, at.stop):
            unit = zero.copy()
            unit[k] = 1.0
            G[:, k] = coefficient(order, unit, 0.0) - still_there
    bias = coefficient(order + 1, v, 1.0) * (2.0 if law.holonomic else 1.0)
    residual = coefficient(0, zero, 0.0) if law.holonomic else np.zeros(law.rows)
    return Rows(residual, G, drift, bias)


@dataclass(frozen=True)
class _Distance:
    """A rod as a law: its force is the multiplier of (d d / L - L) / 2, d between its ends."""

    rod: Any
    rows: int = 1
    joints: tuple[str, ...] = ()
    holonomic: bool = True

    @property
    def bodies(self) -> tuple[str, ...]:
        return self.rod.parent, self.rod.child

    def write(self, x: Moved) -> list[Jet]:
        rod = self.rod
        d = x.position(rod.child) + x.rotation(rod.child) @ rod.at_child
        d = d - x.position(rod.parent) - x.rotation(rod.parent) @ rod.at
        return [(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * (0.5 / rod.length) - 0.5 * rod.length]


def coupling_rows(stand: Stand, coupling: Any, columns: Columns) -> Rows:
    G = np.zeros((1, columns.count))
    total = -coupling.offset
    for (joint, index), ratio in coupling.terms.items():
        G[0, columns.joints[joint].start + index] += ratio
        total += ratio * stand.q[joint][index]
    return Rows(np.array([total]), G, np.zeros(1), np.zeros(1))


# ---------------------------------------------------------------------------------------------------------
# Equations at a state


class Equations:
    """All equations of a mechanism at a configuration and velocities x' (see `Columns`; zero unless given).

    The rank is counted unless it is given; it must be where redundant equations are not quite satisfied.
    """

    def __init__(self, stand: Stand, v: Array | None = None, rank: int | None = None) -> None:
        self.stand, self.looped = stand, stand.looped
        self.columns, self._rank = Columns(self.looped), rank
        self.v = np.zeros(self.columns.count) if v is None else v
        parts = [hinge_rows(stand, hinge, self.v, self.columns) for hinge in self.looped.hinges]
        own = [written_rows(stand, _Distance(rod), self.v, self.columns) for rod in self.looped.rods]
        own += [coupling_rows(stand, coupling, self.columns) for coupling in self.looped.couplings]
        own += [written_rows(stand, law, self.v, self.columns) for law in self.looped.laws]
        self.rows = Rows.stacked([*parts, *own], self.columns.count)
        self.of_hinges = slice(0, 6 * len(self.looped.hinges))
        self.of_closures = slice(self.of_hinges.stop, len(self.rows.bias))
        named = [*self.looped.rods, *self.looped.couplings, *self.looped.laws]
        self.closures, start = {}, self.of_hinges.stop
        for closure, rows in zip(named, own, strict=True):
            self.closures[closure.name] = slice(start, start + len(rows.bias))
            start += len(rows.bias)

    # -------------------------------------------------------------- kinematics

    @cached_property
    def _values(self) -> tuple[Array, Array, Array, int]:
        left, values, right = np.linalg.svd(self.rows.G, full_matrices=True)
        counted = int((values > ZERO * values[0]).sum()) if len(values) else 0
        rank = counted if self._rank is None else self._rank
        return left, values, right, rank

    @property
    def rank(self) -> int:
        return self._values[3]

    @property
    def gap(self) -> float:
        """The smallest singular value that is not zero, over the largest."""
        _, values, _, rank = self._values
        return float(values[rank - 1] / values[0]) if rank else 1.0

    @property
    def mobility(self) -> int:
        return self.columns.count - self.rank

    @property
    def redundant(self) -> int:
        return len(self.rows.bias) - self.rank

    @property
    def motions(self) -> Array:
        """An orthonormal basis (n, mobility) of all velocities with G x' = 0."""
        return self._values[2][self.rank :].T

    @property
    def joint_motions(self) -> Array:
        """The joints' part of `motions` (nv, mobility): it determines the rest."""
        return self.motions[self.columns.of_joints]

    @property
    def stresses(self) -> Array:
        """An orthonormal basis (rows, redundant) of the states of self-stress, G^T z = 0."""
        return self._values[0][:, self.rank :]

    def particular(self, right: Array) -> Array:
        """The least x with G x = right, in the range of G."""
        left, values, rights, rank = self._values
        return rights[:rank].T @ ((left[:, :rank].T @ right) / values[:rank])

    def consistent(self, coefficients: Array) -> Array:
        """Velocities that satisfy all rows, drift included; the coefficients are along `motions`."""
        return self.motions @ coefficients - self.particular(self.rows.drift)

    # -------------------------------------------------------------- dynamics

    @cached_property
    def mass(self) -> Array:
        """M, with nothing for joint coordinates."""
        M = np.zeros((self.columns.count, self.columns.count))
        for part in self.looped.parts:
            at, R = self.columns.bodies[part.name], self.stand.poses[part.name][:3, :3]
            r = skew(R @ part.com)
            I = R @ part.inertia @ R.T
            M[at, at] = np.block([[I - part.mass * r @ r, part.mass * r], [-part.mass * r, part.mass * np.eye(3)]])
        return M

    def forces(self, tau: Array, loads: Mapping[str, Array]) -> Array:
        """F: gravity, gyroscopic terms, wrenches at places, and efforts."""
        F = np.zeros(self.columns.count)
        F[self.columns.of_joints] = tau
        for part in self.looped.parts:
            at, R = self.columns.bodies[part.name], self.stand.poses[part.name][:3, :3]
            w, r = self.v[at][:3], R @ part.com
            I = R @ part.inertia @ R.T
            force = part.mass * (self.looped.gravity - np.cross(w, np.cross(w, r)))
            F[at] += np.concatenate([np.cross(r, force) - np.cross(w, I @ w), force])
        for name, wrench in loads.items():
            point = self.looped.point(name)
            if point.body != GROUND:
                arm = self.stand.poses[point.body][:3, :3] @ point.pose[:3, 3]
                moment = wrench[:3] + np.cross(arm, wrench[3:])
                F[self.columns.bodies[point.body]] += np.concatenate([moment, wrench[3:]])
        return F

    @cached_property
    def condition(self) -> float:
        """The condition number of [[M, G^T], [G, 0]] on its range."""
        G = self.rows.G
        K = np.block([[self.mass, G.T], [G, np.zeros((len(G), len(G)))]])
        values = np.linalg.svd(K, compute_uv=False)
        return float(values[0] / values[self.columns.count + self.rank - 1])

    def solve(self, tau: Array, loads: Mapping[str, Array] | None = None) -> Solution:
        """Accelerations and multipliers."""
        M, F, N = self.mass, self.forces(tau, loads or {}), self.motions
        start = self.particular(-self.rows.bias)
        x = start + N @ np.linalg.solve(N.T @ M @ N, N.T @ (F - M @ start))
        left, values, right, rank = self._values
        multipliers = left[:, :rank] @ ((right[:rank] @ (M @ x - F)) / values[:rank])
        return Solution(self, x, multipliers)

    # -------------------------------------------------------------- reactions

    def weights(self, length: float) -> Array:
        """The metric of reactions: |force|^2 + |moment / length|^2, as a factor for each joint row."""
        return np.tile(np.repeat([1.0 / length, 1.0], 3), len(self.looped.hinges))

    def unique(self, length: float = 1.0, tolerance: float = 1e-7) -> dict[str, Array]:
        """For each joint, which components of its reaction no state of self-stress touches."""
        Z = self.stresses[self.of_hinges] * self.weights(length)[:, None]
        size = np.abs(Z).max() if Z.size else 0.0
        touched = np.abs(Z).max(axis=1, initial=0.0) > tolerance * max(size, 1e-300)
        if size < tolerance:  # self-stress is among closures only
            touched[:] = False
        return {hinge.name: ~touched[6 * i : 6 * i + 6] for i, hinge in enumerate(self.looped.hinges)}

    def stressed(self, rows: slice) -> bool:
        """Whether a state of self-stress touches these rows."""
        return bool(np.abs(self.stresses[rows]).max(initial=0.0) > 1e-9)

    def shared(self, reactions: Mapping[str, Array], length: float) -> float:
        """How far reactions are from the least ones: their part along states of self-stress, over their size."""
        given = np.concatenate([reactions[hinge.name] for hinge in self.looped.hinges]) * self.weights(length)
        Z = self.stresses[self.of_hinges] * self.weights(length)[:, None]
        if not Z.size:
            return 0.0
        left, values, _ = np.linalg.svd(Z, full_matrices=False)
        left = left[:, values > 1e-8 * max(values[0], 1e-300)] if values[0] > 1e-8 else left[:, :0]
        return float(np.linalg.norm(left.T @ given) / np.linalg.norm(given))

    def imbalance(
        self, x: Array, reactions: Mapping[str, Array], tau: Array, loads: Mapping[str, Array] | None = None
    ) -> Imbalance:
        """What is left of Newton's and Euler's equations with accelerations x'' and reactions that somebody claims.

        Here the equations of a body are written at its centre of mass, apart from `mass` and `forces`. Forces of rods
        and laws, which act on bodies directly, and what couplings add to the efforts of joints are not among the
        reactions: they are the best multipliers there are, by least squares.
        """
        columns, looped = self.columns, self.looped
        rest = np.zeros(columns.count)
        for part in looped.parts:
            at = columns.bodies[part.name]
            body = moving(self.stand.poses[part.name], self.v[at], x[at])
            centre = body @ Moving.still(point=part.com)
            R = body.R.c[0]
            I, w, acceleration = R @ part.inertia @ R.T, centre.velocity[:3], centre.acceleration
            force = part.mass * (looped.gravity - acceleration[3:])
            moment = -(I @ acceleration[:3] + np.cross(w, I @ w))
            rest[at] = np.concatenate([moment + np.cross(centre.p.c[0] - body.p.c[0], force), force])

        def act(body: str, wrench: Array, point: Array) -> None:
            if body != GROUND:
                arm = point - self.stand.poses[body][:3, 3]
                rest[columns.bodies[body]] += np.concatenate([wrench[:3] + np.cross(arm, wrench[3:]), wrench[3:]])

        rest[columns.of_joints] = tau
        for i, hinge in enumerate(looped.hinges):
            wrench = np.asarray(reactions[hinge.name], dtype=float)
            point = (self.stand.poses[hinge.child] @ hinge.on_child)[:3, 3]
            act(hinge.child, wrench, point)
            act(hinge.parent, -wrench, point)
            own = columns.joints[hinge.name]
            rest[own] += self.rows.G[6 * i : 6 * i + 6, own].T @ wrench  # G is minus the joint's axes there
        for name, wrench in (loads or {}).items():
            point = looped.point(name)
            act(point.body, np.asarray(wrench), (self.stand.poses[point.body] @ point.pose)[:3, 3])
        own_rows = self.rows.G[self.of_closures]
        multipliers = np.linalg.lstsq(own_rows.T, -rest, rcond=1e-10)[0]
        rest = rest + own_rows.T @ multipliers
        scale = max(np.abs(np.asarray(reactions[hinge.name])).max() for hinge in looped.hinges)
        bodies, joints = rest[: columns.of_joints.start], rest[columns.of_joints]
        names = {
            name: multipliers[at.start - self.of_closures.start :][: at.stop - at.start]
            for name, at in self.closures.items()
        }
        return Imbalance(
            float(np.abs(bodies).max(initial=0.0) / scale), float(np.abs(joints).max(initial=0.0) / scale), names
        )


@dataclass(frozen=True)
class Imbalance:
    """The largest rest of any body's and of any joint's equations over the largest reaction, and closures' forces."""

    bodies: float
    joints: float
    closures: dict[str, Array]


@dataclass(frozen=True)
class Solution:
    """The accelerations of bodies and joints, and multipliers (one set of many if there is redundancy)."""

    equations: Equations
    x: Array
    multipliers: Array

    @property
    def joints(self) -> Array:
        """The joints' accelerations (nv)."""
        return self.x[self.equations.columns.of_joints]

    def reactions(self, length: float) -> dict[str, Array]:
        """The wrench on every joint's child, the least of all that are possible in the design's metric."""
        e = self.equations
        W = e.weights(length)
        Z, own = e.stresses[e.of_hinges] * W[:, None], self.multipliers[e.of_hinges] * W
        if Z.size:
            own = own - Z @ np.linalg.lstsq(Z, own, rcond=1e-8)[0]
        own = own / W
        return {hinge.name: own[6 * i : 6 * i + 6] for i, hinge in enumerate(e.looped.hinges)}


# ---------------------------------------------------------------------------------------------------------
# The same where masses and lengths are of many sizes


def balanced(K: Array, rounds: int = 30) -> Array:
    """Factors d for which diag(d) K diag(d), K symmetric, has entries of at most about 1 in every row (Ruiz)."""
    d = np.ones(len(K))
    for _ in range(rounds):
        largest = np.abs(K * np.outer(d, d)).max(axis=1, initial=0.0)
        d /= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return d


def independent_rows(G: Array, rank: int) -> list[int]:
    """So many rows of G, each the one that is farthest from those before it (Gram and Schmidt with pivoting)."""
    rest, chosen = G.astype(float), []
    for _ in range(rank):
        row = int(np.argmax(np.linalg.norm(rest, axis=1)))
        unit = rest[row] / np.linalg.norm(rest[row])
        for _ in range(2):  # twice is enough
            rest = rest - np.outer(rest @ unit, unit)
        chosen.append(row)
        rest[chosen] = 0.0
    return chosen


def independent_system(equations: Equations) -> tuple[Array, list[int]]:
    """[[M, G^T], [G, 0]] with independent rows of G, and which rows these are."""
    M, G, n = equations.mass, equations.rows.G, equations.columns.count
    m, size = len(G), np.linalg.norm(G, axis=1, keepdims=True)
    G = np.where(size > 1e-13 * size.max(initial=0.0), G, 0.0)  # a row that is rounding is not made large
    d = balanced(np.block([[M, G.T], [G, np.zeros((m, m))]]))
    kept = independent_rows(d[n:, None] * G * d[:n], equations.rank)
    rows, r = G[kept], len(kept)
    return np.block([[M, rows.T], [rows, np.zeros((r, r))]]), kept


def rounding_of(solution: Solution, tau: Array) -> Array:
    """How far the joints' accelerations go if every entry of the equations, and every force, is rounded once.

    That is |K^-1| (|K| |x| + |f|), by Skeel: forces that balance each other count, however little they leave.
    """
    equations = solution.equations
    K, kept = independent_system(equations)
    d = balanced(K)
    inverse = np.abs(np.linalg.inv(K * np.outer(d, d))) * np.outer(d, d)
    x = np.abs(np.concatenate([solution.x, solution.multipliers[kept]]))
    right = np.abs(np.concatenate([equations.forces(tau, {}), equations.rows.bias[kept]]))
    found = inverse @ (np.abs(K) @ x + right)
    return EPSILON * found[equations.columns.of_joints]


def refined(equations: Equations, tau: Array, loads: Mapping[str, Array] | None = None) -> tuple[Solution, float]:
    """Accelerations and multipliers of independent rows by the augmented matrix, and its condition number.

    The matrix is balanced first, so that neither units nor sizes of parts count, and the solution is refined with
    residuals in extended precision: it is as accurate as the entries of the matrix.
    """
    n, m = equations.columns.count, len(equations.rows.G)
    K, kept = independent_system(equations)
    d = balanced(K)
    scaled = K * np.outer(d, d)
    right = d * np.concatenate([equations.forces(tau, loads or {}), -equations.rows.bias[kept]])
    condition = float(np.linalg.cond(scaled))
    if not condition < 1e15:
        return Solution(equations, np.full(n, np.nan), np.full(m, np.nan)), np.inf
    exact, x = scaled.astype(np.longdouble), np.zeros(len(K), dtype=np.longdouble)
    inverse = np.linalg.inv(scaled)
    for _ in range(8):
        x = x + inverse @ (right - exact @ x).astype(float)
    found = (x * d).astype(float)
    multipliers = np.zeros(m)
    multipliers[kept] = -found[n:]
    return Solution(equations, found[:n], multipliers), condition


# ---------------------------------------------------------------------------------------------------------
# Motion, for tests of the reference itself


def turn(w: Array) -> Array:
    """The rotation by a vector, Rodrigues' formula."""
    angle = np.linalg.norm(w)
    W = skew(w)
    return np.eye(3) + np.sinc(angle / np.pi) * W + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * W @ W


def shifted(stand: Stand, x: Array, time: float = 0.0) -> Stand:
    """The configuration reached by a displacement x of all bodies and joints, each going its own way."""
    columns = Columns(stand.looped)
    poses, q = {GROUND: np.eye(4)}, {}
    for name, at in columns.bodies.items():
        poses[name] = stand.poses[name].copy()
        poses[name][:3, :3] = turn(x[at][:3]) @ poses[name][:3, :3]
        poses[name][:3, 3] += x[at][3:]
    for hinge in stand.looped.hinges:
        own, step = stand.q[hinge.name], x[columns.joints[hinge.name]]
        if hinge.kind not in ("spherical", "free"):
            q[hinge.name] = own + step
            continue
        half = step[:3] / 2
        size = np.linalg.norm(half)
        turned = quaternion_times(own[:4], np.array([np.cos(size), *(np.sinc(size / np.pi) * half)]))
        moved = joint_pose(hinge, own)[:3, :3] @ step[3:] + own[4:] if hinge.kind == "free" else []
        q[hinge.name] = np.concatenate([turned / np.linalg.norm(turned), moved])
    return Stand(stand.looped, poses, q, stand.t + time)


def closed(stand: Stand, rank: int | None = None, tolerance: float = 1e-13) -> Stand:
    """The configuration near by that satisfies all rows, by Newton's method with equations of a given rank."""
    rank = Equations(stand).rank if rank is None else rank
    for _ in range(20):
        equations = Equations(stand, rank=rank)
        if np.abs(equations.rows.residual).max() < tolerance:
            return stand
        stand = shifted(stand, equations.particular(-equations.rows.residual))
    raise AssertionError(f"no configuration near by: {np.abs(equations.rows.residual).max():.1e} is left")


def energy(equations: Equations) -> float:
    """Kinetic and potential energy."""
    height = 0.0
    for part in equations.looped.parts:
        height -= part.mass * equations.looped.gravity @ (equations.stand.poses[part.name] @ [*part.com, 1.0])[:3]
    return float(equations.v @ equations.mass @ equations.v / 2 + height)


def power(equations: Equations, tau: Array, loads: Mapping[str, Array]) -> float:
    """What efforts and wrenches give per second."""
    total = float(tau @ equations.v[equations.columns.of_joints])
    for name, wrench in loads.items():
        point = equations.looped.point(name)
        if point.body != GROUND:
            body = moving(
                equations.stand.poses[point.body], equations.v[equations.columns.bodies[point.body]], np.zeros(6)
            )
            total += float(wrench @ (body @ still(point.pose)).velocity)
    return total
