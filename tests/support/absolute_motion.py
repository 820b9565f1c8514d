"""Motions of mechanisms with loops in absolute coordinates: `absolute_balance` integrated, far from the engine.

The state holds the pose of every body, the coordinates of every joint and all velocities; no coordinate is chosen as
independent and nothing is projected. The rows hold as second derivatives, so that loops open by the integrator's
error alone, which is about 1e-13; `opened` tells by how much they did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.absolute_balance import Equations, Stand
from support.loop_models import GROUND, Hinge, Looped
from support.newton_euler import quaternion_times
from support.references import extrapolated

Array = np.ndarray

TOLERANCE = 1e-13


def rotation(e: Array) -> Array:
    """The rotation matrix of a quaternion, which is made a unit."""
    w, x, y, z = e / np.linalg.norm(e)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion(R: Array) -> Array:
    """A unit quaternion of a rotation matrix: the eigenvector of its largest eigenvalue (Bar-Itzhack)."""
    K = np.array(
        [
            [R.trace(), R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[2, 0] + R[0, 2]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    return np.linalg.eigh(K, "U")[1][:, -1]


def coordinate_rates(hinge: Hinge, q: Array, v: Array) -> Array:
    """The rates of a joint's coordinates; quaternions turn with an angular velocity in child axes."""
    if hinge.kind not in ("spherical", "free"):
        return v
    turning = quaternion_times(q[:4], np.array([0.0, *v[:3]])) / 2
    moving = rotation(q[:4]) @ v[3:] if hinge.kind == "free" else []
    return np.concatenate([turning, moving])


@dataclass(frozen=True)
class Motion:
    """Where a mechanism is at some times, and how fast; `least_gap` is the least of `Equations.gap` on the way."""

    stands: tuple[Stand, ...]
    v: Array
    opened: float
    least_gap: float

    @property
    def q(self) -> Array:
        """The coordinates of all joints, a row for each time."""
        return np.array([np.concatenate([s.q[h.name] for h in s.looped.hinges]) for s in self.stands])

    def turned(self, body: str) -> float:
        """The largest angle that a body has turned by since the first time."""
        first, *others = (stand.poses[body][:3, :3] for stand in self.stands)
        return float(max(np.arccos(np.clip((np.trace(first.T @ R) - 1) / 2, -1, 1)) for R in others))


class State:
    """How bodies, joints and velocities are kept in one vector."""

    def __init__(self, looped: Looped) -> None:
        self.looped = looped
        self.bodies = 7 * len(looped.parts)
        self.size = self.bodies + looped.nq

    def packed(self, stand: Stand, v: Array) -> Array:
        poses = [stand.poses[part.name] for part in self.looped.parts]
        placed = [np.concatenate([quaternion(pose[:3, :3]), pose[:3, 3]]) for pose in poses]
        return np.concatenate([*placed, *(stand.q[h.name] for h in self.looped.hinges), v])

    def stand(self, y: Array, t: float) -> Stand:
        poses = {GROUND: np.eye(4)}
        for part, (*e, px, py, pz) in zip(self.looped.parts, y[: self.bodies].reshape(-1, 7), strict=True):
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = rotation(np.array(e)), (px, py, pz)
            poses[part.name] = pose
        q = self.looped.split_q(y[self.bodies : self.size])
        for hinge in self.looped.hinges:
            if hinge.kind in ("spherical", "free"):
                own = q[hinge.name].copy()
                own[:4] /= np.linalg.norm(own[:4])
                q[hinge.name] = own
        return Stand(self.looped, poses, q, t)

    def rates(self, equations: Equations, y: Array, a: Array) -> Array:
        parts, v = [], equations.v
        for part, own in zip(self.looped.parts, y[: self.bodies].reshape(-1, 7), strict=True):
            twist = v[equations.columns.bodies[part.name]]
            parts += [quaternion_times(np.array([0.0, *twist[:3]]), own[:4]) / 2, twist[3:]]
        q = self.looped.split_q(y[self.bodies : self.size])
        for hinge in self.looped.hinges:
            parts.append(coordinate_rates(hinge, q[hinge.name], v[equations.columns.joints[hinge.name]]))
        return np.concatenate([*parts, a])


def motion(start: Equations, times: Array, tau: Array | None = None, tolerance: float = TOLERANCE) -> Motion:
    """The motion from a state, at increasing times of which the first is the state's own.

    >>> from support.random_loops import case
    >>> c = case("planar", 1)
    >>> motion(c.equations, np.array([0.0, 0.01])).opened < 1e-12
    True
    """
    looped, rank = start.looped, start.rank
    effort = np.zeros(looped.nv) if tau is None else tau
    state, gaps = State(looped), [start.gap]

    def rates(t: float, y: Array) -> Array:
        equations = Equations(state.stand(y, t), y[state.size :], rank)
        gaps.append(equations.gap)
        return state.rates(equations, y, equations.solve(effort).x)

    rows = extrapolated(rates, state.packed(start.stand, start.v), times, tolerance)
    stands = tuple(state.stand(y, t) for t, y in zip(times, rows, strict=True))
    opened = max(float(np.abs(Equations(stand).rows.residual).max()) for stand in stands)
    return Motion(stands, rows[:, state.size :], opened, min(gaps))
