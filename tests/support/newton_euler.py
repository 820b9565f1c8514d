"""Newton and Euler's balance of every body in absolute coordinates, in plain NumPy.

Nothing is shared with the engine: the graph is walked here, joint transforms are composed here, and
velocities and accelerations of bodies are the first and second derivatives of their poses along the motion
q(t). The derivatives are exact: all numbers are polynomials in time, cut after the second power.

Of the description only names, masses, placements and joint types are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from whippletree.model.description import Description, JointUse

Array = np.ndarray


class Jet:
    """A quantity and its motion: c[0] + c[1] t + c[2] t^2, each coefficient a scalar, vector or matrix.

    >>> t = Jet([0.0, 1.0, 0.0])
    >>> (t * t + 3.0).c.tolist()
    [3.0, 0.0, 1.0]
    """

    def __init__(self, coefficients: object) -> None:
        self.c = np.asarray(coefficients, dtype=float)

    @staticmethod
    def constant(value: object) -> Jet:
        value = np.asarray(value, dtype=float)
        return Jet([value, 0 * value, 0 * value])

    def _with(self, other: object) -> Jet:
        return other if isinstance(other, Jet) else Jet.constant(other)

    def __add__(self, other: object) -> Jet:
        o = self._with(other)
        return Jet([self.c[k] + o.c[k] for k in range(3)])

    def __sub__(self, other: object) -> Jet:
        o = self._with(other)
        return Jet([self.c[k] - o.c[k] for k in range(3)])

    def __neg__(self) -> Jet:
        return Jet(-self.c)

    def _product(self, o: Jet, times: object) -> Jet:
        a, b = self.c, o.c
        return Jet(
            [
                times(a[0], b[0]),
                times(a[0], b[1]) + times(a[1], b[0]),
                times(a[0], b[2]) + times(a[1], b[1]) + times(a[2], b[0]),
            ]
        )

    def __mul__(self, other: object) -> Jet:
        return self._product(self._with(other), np.multiply)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: object) -> Jet:
        return -self + other

    def __matmul__(self, other: object) -> Jet:
        return self._product(self._with(other), np.matmul)

    @property
    def T(self) -> Jet:
        return Jet([x.T for x in self.c])

    def __getitem__(self, k: object) -> Jet:
        return Jet([x[k] for x in self.c])


def sine_and_cosine(angle: Jet) -> tuple[Jet, Jet]:
    """Sine and cosine of a jet, by Taylor's series."""
    s, c = np.sin(angle.c[0]), np.cos(angle.c[0])
    a1, a2 = angle.c[1], angle.c[2]
    return Jet([s, c * a1, c * a2 - s * a1**2 / 2]), Jet([c, -s * a1, -s * a2 - c * a1**2 / 2])


def matrix(rows: list[list[object]]) -> Jet:
    """A matrix of jets and numbers."""
    jets = [[x if isinstance(x, Jet) else Jet.constant(x) for x in row] for row in rows]
    return Jet([[[x.c[k] for x in row] for row in jets] for k in range(3)])


def vector(*parts: object) -> Jet:
    """A vector of jets and numbers."""
    jets = [x if isinstance(x, Jet) else Jet.constant(x) for x in parts]
    return Jet([[x.c[k] for x in jets] for k in range(3)])


def about_x(angle: Jet) -> Jet:
    s, c = sine_and_cosine(angle)
    return matrix([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_z(angle: Jet) -> Jet:
    s, c = sine_and_cosine(angle)
    return matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def quaternion_times(a: Array, b: Array) -> Array:
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def turning(e: Array, w: Array, dw: Array) -> Jet:
    """The rotation of a quaternion that starts at e and turns with w + dw t in its axes: e' = e w / 2."""
    rate = quaternion_times(e, np.concatenate([[0.0], w])) / 2
    second = quaternion_times(rate, np.concatenate([[0.0], w])) / 2
    second = second + quaternion_times(e, np.concatenate([[0.0], dw])) / 2
    path = Jet([e, rate, second / 2])
    w_, x, y, z = (path[k] for k in range(4))
    # Homogeneous in the quaternion, whose length is one all along.
    return matrix(
        [
            [w_ * w_ + x * x - y * y - z * z, 2 * (x * y - w_ * z), 2 * (x * z + w_ * y)],
            [2 * (x * y + w_ * z), w_ * w_ - x * x + y * y - z * z, 2 * (y * z - w_ * x)],
            [2 * (x * z - w_ * y), 2 * (y * z + w_ * x), w_ * w_ - x * x - y * y + z * z],
        ]
    )


@dataclass(frozen=True)
class Moving:
    """A frame that moves: its axes and its origin as jets."""

    R: Jet
    p: Jet

    @staticmethod
    def still(rotation: object = np.eye(3), point: object = np.zeros(3)) -> Moving:
        return Moving(Jet.constant(rotation), Jet.constant(point))

    def __matmul__(self, other: Moving) -> Moving:
        return Moving(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Moving:
        return Moving(self.R.T, -(self.R.T @ self.p))

    @property
    def pose(self) -> Array:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.R.c[0], self.p.c[0]
        return pose

    @property
    def velocity(self) -> Array:
        """[angular; linear]: R' R^T is the matrix of the angular velocity."""
        return np.concatenate([axial(self.R.c[1] @ self.R.c[0].T), self.p.c[1]])

    @property
    def acceleration(self) -> Array:
        """[angular; linear]: the derivative of R' R^T is R'' R^T + R' R'^T."""
        R = self.R.c
        return np.concatenate([axial(2 * R[2] @ R[0].T + R[1] @ R[1].T), 2 * self.p.c[2]])


def axial(W: Array) -> Array:
    """The vector of a skew matrix."""
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def across(use: JointUse, q: Array, v: Array, a: Array) -> Moving:
    """The motion of the child's joint frame in the parent's joint frame, for each joint type."""
    zero = Jet.constant(0.0)
    path = [Jet([q[k], v[k], a[k] / 2]) for k in range(len(v))] if len(q) == len(v) else []
    straight = Jet.constant(np.eye(3))
    match use.joint.kind:
        case "fixed":
            return Moving.still()
        case "revolute":
            return Moving(about_z(path[0]), Jet.constant(np.zeros(3)))
        case "prismatic":
            return Moving(straight, vector(zero, zero, path[0]))
        case "cylindrical":
            return Moving(about_z(path[0]), vector(zero, zero, path[1]))
        case "screw":
            return Moving(about_z(path[0]), vector(zero, zero, path[0] * (float(use.joint.lead) / (2 * np.pi))))
        case "universal":
            return Moving(about_x(path[0]) @ about_z(path[1]), Jet.constant(np.zeros(3)))
        case "planar":
            return Moving(about_z(path[0]), vector(path[1], path[2], zero))
        case "spherical":
            return Moving(turning(q, v, a), Jet.constant(np.zeros(3)))
        case "free":
            R = turning(q[:4], v[:3], a[:3])
            speed = R @ Jet([v[3:], a[3:], np.zeros(3)])  # p' = R u
            return Moving(R, Jet([q[4:], speed.c[0], speed.c[1] / 2]))
    raise ValueError(f"no joint {use.joint.kind} here")


def placed(placement: object) -> Moving:
    return Moving.still(np.array(placement.rotation), np.array(placement.point, dtype=float))


@dataclass(frozen=True)
class Absolute:
    """All bodies in absolute coordinates at one state."""

    description: Description
    bodies: dict[str, Moving]
    q: dict[str, Array]

    def frame(self, name: str) -> Moving:
        """A body, or a frame on one."""
        if name in self.bodies:
            return self.bodies[name]
        frame = self.description.frame(name)
        return self.bodies[frame.body] @ placed(frame.placement)

    def joint_point(self, use: JointUse) -> Array:
        return (self.bodies[use.child] @ placed(use.on_child)).p.c[0]

    def joint_axes(self, use: JointUse) -> Array:
        """The (6, nv) twists of the child relative to the parent, at its joint point, in ground axes."""
        side = (self.bodies[use.parent] @ placed(use.on_parent)).R.c[0]
        columns = []
        for unit in np.eye(use.joint.nv):
            twist = across(use, self.q[use.name], unit, np.zeros(use.joint.nv)).velocity
            columns.append(np.concatenate([side @ twist[:3], side @ twist[3:]]))
        return np.array(columns).reshape(-1, 6).T

    def imbalance(self, reactions: Mapping[str, Array], loads: Mapping[str, Array]) -> Array:
        """What is left of the equations of every body, (n, 6) of [moment about the centre of mass; force].

        `reactions` are the wrenches on the described children at their joint points, `loads` the wrenches at
        frames or bodies, all [moment; force] in ground axes.
        """
        d = self.description
        rest = {}
        centre = {}
        gravity = np.array(d.gravity, dtype=float)
        for body in d.bodies:
            own, moving = body.properties, self.bodies[body.name]
            at_com = moving @ Moving.still(point=np.array(own.com, dtype=float))
            R = moving.R.c[0]
            I = R @ np.array(own.inertia, dtype=float) @ R.T
            w, acceleration = at_com.velocity[:3], at_com.acceleration
            moment = -(I @ acceleration[:3] + np.cross(w, I @ w))
            force = float(own.mass) * (gravity - acceleration[3:])
            rest[body.name] = np.concatenate([moment, force])
            centre[body.name] = at_com.p.c[0]

        def act(body: str, wrench: Array, point: Array) -> None:
            if body != "ground":
                arm = point - centre[body]
                rest[body][:3] += wrench[:3] + np.cross(arm, wrench[3:])
                rest[body][3:] += wrench[3:]

        for use in d.joints:
            point, wrench = self.joint_point(use), np.asarray(reactions[use.name])
            act(use.child, wrench, point)
            act(use.parent, -wrench, point)
        for name, wrench in loads.items():
            body = name if name in self.bodies else d.frame(name).body
            act(body, np.asarray(wrench), self.frame(name).p.c[0])
        return np.array(list(rest.values()))

    def efforts(self, reactions: Mapping[str, Array]) -> Array:
        """The reactions' power per unit joint velocity (nv): what the actuators give."""
        parts = [self.joint_axes(use).T @ reactions[use.name] for use in self.description.joints]
        return np.concatenate([np.zeros(0), *parts])


def absolute(description: Description, q: Array, v: Array, a: Array) -> Absolute:
    """Place all bodies: joints' numbers are in the order of declaration; joints are crossed either way."""
    motion, coordinates, at_q, at_v = {}, {}, 0, 0
    for use in description.joints:
        nq, nv = use.joint.nq, use.joint.nv
        own = q[at_q : at_q + nq]
        coordinates[use.name] = own
        motion[use.name] = across(use, own, v[at_v : at_v + nv], a[at_v : at_v + nv])
        at_q, at_v = at_q + nq, at_v + nv
    assert (at_q, at_v) == (len(q), len(v))
    bodies = {"ground": Moving.still()}
    waiting = list(description.joints)
    while waiting:
        later = []
        for use in waiting:
            side, other = placed(use.on_parent), placed(use.on_child)
            if use.parent in bodies:
                bodies[use.child] = bodies[use.parent] @ side @ motion[use.name] @ other.inverse()
            elif use.child in bodies:
                bodies[use.parent] = bodies[use.child] @ other @ motion[use.name].inverse() @ side.inverse()
            else:
                later.append(use)
        assert len(later) < len(waiting), "the graph is not connected"
        waiting = later
    return Absolute(description, bodies, coordinates)
