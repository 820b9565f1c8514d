"""Guesses by poses of bodies: joint coordinates of the spanning tree that bring bodies to where they are said to be.

With R_k, p_k the axes and the origin of a named body, and R_k*, p_k* those that are asked for,

    e_k = [rotation vector of R_k R_k*^T; (p_k - p_k*) / length],        de_k = J_k dv                          (1)

near the solution, J_k being the body's Jacobian in ground axes. The sum of squares is minimised by Levenberg and
Marquardt's method: a pose need not be one that the joints can reach.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.system.configuration_space import ConfigurationSpace
from whippletree.system.equations import Equations, Request
from whippletree.system.input_reader import Mask
from whippletree.system.loop_plan import Conditions
from whippletree.system.tolerances import (
    NEARER,
    POSE_DAMPING,
    POSE_REACHED,
    POSE_STARTS,
    POSE_STEPS,
)

__all__ = ["PoseGuess"]


class PoseGuess:
    """Poses (4, 4) that a guess gives to bodies or frames, by name, and how to come near them.

    `scale` is what displacements of freedoms are measured by, `length` the same for positions of bodies.
    """

    def __init__(
        self,
        equations: Equations,
        space: ConfigurationSpace,
        poses: Mapping[str, Array],
        where: Conditions,
        scale: Array,
        length: float,
    ) -> None:
        self.poses, self._space, self._scale, self._length = poses, space, scale, length
        self._values = {"t": np.array([where.t]), "parameters": where.parameters}
        self._functions = {
            name: [equations.trace(Request(function, "kinematics", name)) for function in ("pose", "jacobian")]
            for name in poses
        }

    def coordinates(self, q: Array, held: Mask) -> Array:
        """Return the configuration nearest to the poses, from a first one of which freedoms that are `held` stay."""
        best, least = self._nearest(q, held)
        rng = np.random.default_rng(0)
        for _ in range(POSE_STARTS if least > POSE_REACHED else 0):
            away = self._space.difference(q, self._space.random(rng))
            found, error = self._nearest(self._space.integrate(q, np.where(held, 0.0, away)), held)
            if error < (1 - NEARER) * least:
                best, least = found, error
        return best

    def moving(self, q: Array, name: str) -> Mask:
        """Return which freedoms (nv) move a body."""
        return np.asarray((self._jacobian(q, name) != 0.0).any(axis=0))

    def errors(self, q: Array, name: str) -> tuple[float, float]:
        """Return by what angle, in radians, and how far, in metres, a body is from where the guess has it."""
        e = self._error(q, name)
        return float(np.linalg.norm(e[:3])), float(np.linalg.norm(e[3:]) * self._length)

    def _nearest(self, q: Array, held: Mask) -> tuple[Array, float]:
        """Return where damped steps lead from a configuration, and the norm of the errors there."""
        free = np.flatnonzero(~held)
        e, damping = self._all_errors(q), POSE_DAMPING
        for _ in range(POSE_STEPS):
            if np.linalg.norm(e) <= POSE_REACHED or not free.size:
                break
            J = np.vstack([self._jacobian(q, name) for name in self.poses])[:, free] * self._scale[free]
            J[:] = J / np.tile([1.0, 1.0, 1.0, *[self._length] * 3], len(self.poses))[:, None]
            step = np.zeros(len(held))
            step[free] = -np.linalg.solve(J.T @ J + damping * np.eye(len(free)), J.T @ e) * self._scale[free]
            there = self._space.integrate(q, step)
            new = self._all_errors(there)
            if np.linalg.norm(new) < np.linalg.norm(e):
                q, e, damping = there, new, damping / 4
            else:
                damping *= 8
                if damping > 1 / POSE_REACHED:
                    break
        return q, float(np.linalg.norm(e))

    def _all_errors(self, q: Array) -> Array:
        return np.concatenate([self._error(q, name) for name in self.poses])

    def _error(self, q: Array, name: str) -> Array:
        """Return (1) for one body."""
        here, wanted = self._evaluated(self._functions[name][0], q).reshape(4, 4), self.poses[name]
        turn = _rotation_vector(here[:3, :3] @ wanted[:3, :3].T)
        return np.concatenate([turn, (here[:3, 3] - wanted[:3, 3]) / self._length])

    def _jacobian(self, q: Array, name: str) -> Array:
        return self._evaluated(self._functions[name][1], q).reshape(6, -1)

    def _evaluated(self, function: ca.Function, q: Array) -> Array:
        given = {"q": q, **self._values}
        found = function.call([ca.DM(given[function.name_in(i)]) for i in range(function.n_in())])[0]
        return np.asarray(found.full())


def _rotation_vector(R: Array) -> Array:
    """Return axis times angle of a rotation, the angle from 0 to pi.

    >>> _rotation_vector(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).round(6)
    array([0.      , 0.      , 1.570796])
    """
    twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = np.linalg.norm(twice) / 2
    angle = np.arctan2(sine, (np.trace(R) - 1) / 2)
    if sine > 1e-6:
        return np.asarray(twice / (2 * sine) * angle)
    if angle < 1.0:
        return twice / 2
    axis = np.linalg.eigh((R + R.T) / 2)[1][:, -1]  # half a turn
    return np.asarray(axis * angle)
