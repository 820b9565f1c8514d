"""A mechanism moved by a point: the origin of a body or frame goes where it is told, and all else follows.

The mechanism takes the steps of inverse kinematics from what is foreseen, with the loops closed after each.
"""

from __future__ import annotations

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.kinematics.following import MotionPath
from whippletree.kinematics.inverse_kinematics import PoseSolver
from whippletree.kinematics.kinematic_tolerances import IK_REACHED
from whippletree.kinematics.pose_targets import FrameTarget, PoseTargets
from whippletree.model.argument_types import Freedoms
from whippletree.system import System
from whippletree.system.evaluator import ParameterValues
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)

__all__ = ["PointPath"]


class PointPath(MotionPath):
    """Moves the origin of a body or frame: its inputs are some of the coordinates x, y, z in the ground, by number.

    >>> s = four_bar()
    >>> path = PointPath(s, "coupler", [0], None)
    >>> there = path.follow(s.q0, path.inputs_at(s.q0) + 0.01)
    >>> there.arrived, bool(abs(s.closure_residual(there.q)).max() < 1e-9)
    (True, True)
    """

    def __init__(
        self,
        system: System,
        frame: str,
        axes: list[int],
        hold: Freedoms | None,
        t: float = 0.0,
        parameters: ParameterValues = None,
    ) -> None:
        self.frame, self.axes, self.parameters = frame, axes, parameters
        self.length = system.kernels.closures.characteristic_length
        self.size = np.full(len(axes), self.length)
        self.solver = PoseSolver(system, self._target(system, np.zeros(len(axes))), hold, False, t, parameters, 1)
        super().__init__(system, self.solver.held, t, parameters)

    def inputs_at(self, q: Array) -> Array:
        """Return where the point is."""
        return np.asarray(self.system.pose(q, self.frame, parameters=self.parameters)[self.axes, 3])

    def along(self, q: Array, change: Array) -> Array:
        """Return the least velocities at which the point has some velocity; NaN if it cannot have it."""
        motions = self.space.basis(q)
        A = np.concatenate([(motions / self.space.scale[:, None])[self.held], self._rows(q) @ motions])
        right = np.concatenate([np.zeros(int(self.held.sum())), change / self.length])
        y = np.linalg.pinv(A, rcond=1e-9) @ right
        missed = np.abs(A @ y - right).max(initial=0.0)
        return np.where(missed > 1e-6 * np.abs(right).max(initial=0.0), np.nan, motions @ y)

    def conditioning(self, q: Array) -> Array:
        """Return the singular values of the rows of the loops and the point, without the columns of held freedoms."""
        rows = np.concatenate([self.space.rows(q), self._rows(q) * self.space.scale])
        return np.asarray(np.linalg.svd(rows[:, ~self.held], compute_uv=False), dtype=np.float64)

    def obstacle(self, q: Array) -> str:
        """Say that the point gets no farther."""
        return "the point cannot get"

    def _rows(self, q: Array) -> Array:
        """Return the derivatives (k, nv) of the inputs by the velocities, in characteristic lengths."""
        J = self.system.jacobian(q, self.frame, parameters=self.parameters)
        return np.asarray(J[3:][self.axes] / self.length)

    def _brought(self, start: Array, values: Array) -> tuple[Array, Array, bool]:
        """Close the loops, and take steps to where the point is to be."""
        self.solver.targets = self._target(self.system, values)
        there, closed = self.solver.within_limits(start[None])
        q, error = self.solver.nearest(there, np.array([0]))
        return start, q[0], bool(closed[0] and error[0] <= IK_REACHED)

    def _target(self, system: System, values: Array) -> PoseTargets:
        pose, weights = np.eye(4), np.zeros(6)
        pose[self.axes, 3] = values
        weights[3:][self.axes] = 1.0
        return PoseTargets(system, [FrameTarget(self.frame, pose[None], weights)], self.parameters)
