"""The motions that a mechanism has at a configuration, by singular values, and how they look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from whippletree.foundation.arrays import Indices
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.kinematics.kinematic_tolerances import LEAST_MOTION
from whippletree.system.evaluator import ParameterValues
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.loop_plan import Conditions
from whippletree.system.tolerances import SINGULAR_HERE

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.system.mobility import Mobility

__all__ = ["MotionSpace", "mobility_at", "motion_in_words"]


@user_facing
def mobility_at(system: System, q: ArrayLike, *, t: float = 0.0) -> Mobility:
    """Return the mobility as found around a closed configuration; see `System.mobility`.

    >>> s = four_bar()
    >>> mobility_at(s, s.q0).mobility
    1
    """
    kernels = system.kernels
    where, conditions = kernels.inputs.configuration(q), kernels.loops.conditions(kernels.inputs.time(t))
    if not kernels.closed:
        return system.mobility
    return kernels.loops.planner.analyse(where, conditions, kernels.loop_plan.dependent)


class MotionSpace:
    """Motions of a system under some conditions, measured by the velocities of all joints.

    Velocities count in radians and characteristic lengths per second (`scale`), so that a motion of unit size is one
    whose joints move by one together, whichever joints the spanning tree has.
    """

    def __init__(self, system: System, t: float = 0.0, parameters: ParameterValues = None) -> None:
        inputs, loops = system.kernels.inputs, system.kernels.loops
        self.system, self.nv = system, system.nv
        self.scale: Array = loops.numbers.column_scale
        self.conditions: Conditions = loops.conditions(inputs.time(t), inputs.parameter_set(parameters))

    def basis(self, q: Array) -> Array:
        """Return the motions at a configuration (nv, k): orthogonal, of unit size, and not scaled.

        At a singular configuration of the loops there are more of them than elsewhere.

        >>> MotionSpace(four_bar()).basis(four_bar().q0).shape
        (4, 1)
        """
        (_, N), *_ = self.bases(q[None])
        return np.asarray(N[0])

    def bases(self, q: Array) -> Iterator[tuple[Indices, Array]]:
        """Yield the motions (k, nv, m) at many configurations (n, nq), those with the same number of motions together.

        With each come the numbers (k) of its configurations.
        """
        if not self.system.kernels.closed:
            yield np.arange(len(q)), np.tile(np.diag(self.scale), (len(q), 1, 1))
            return
        rows = self.system.kernels.loops.numbers.full_rows_of_all(q, *self.conditions)
        least = self.system.kernels.loop_plan.negligible(SINGULAR_HERE)
        _, s, Vt = np.linalg.svd(rows)
        ranks = (s > least * s.max(axis=1, initial=0.0, keepdims=True)).sum(axis=1)
        for rank in np.unique(ranks):
            which = np.flatnonzero(ranks == rank)
            yield which, Vt[which, rank:].transpose(0, 2, 1) * self.scale[:, None]

    def rows(self, q: Array) -> Array:
        """Return the closures' rows, scaled; the motions in their null space are allowed."""
        if not self.system.kernels.closed:
            return np.zeros((0, self.nv))
        return self.system.kernels.loops.numbers.full_rows(q, *self.conditions)[0]


class _BodyMotion(NamedTuple):
    """How a body moves: its name, its size in the motion, its twist [angular; linear] at the ground's origin."""

    body: str
    size: float
    turn: Array
    way: Array


def motion_in_words(system: System, q: Array, v: Array, parameters: ParameterValues = None) -> str:
    """Say how bodies move with velocities v: the one that moves most, how, and which others move with it.

    >>> s = four_bar()
    >>> motion_in_words(s, s.q0, s.kernels.closures.motion_basis(s.q0)[:, 0])
    'body "crank" turns about (0, 1, 0) through (0, 0, 0); with it move "coupler" and "rocker"'
    """
    length = system.kernels.closures.characteristic_length
    moves = []
    for body in system.description.bodies:
        pose = system.pose(q, body.name, parameters=parameters)
        twist = system.velocity(q, v, body.name, parameters=parameters)
        size = float(np.hypot(np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:]) / length))
        moves.append(_BodyMotion(body.name, size, twist[:3], twist[3:] - np.cross(twist[:3], pose[:3, 3])))
    most = max((move.size for move in moves), default=0.0)
    if not most:
        return "nothing moves"
    largest = next(move for move in moves if move.size >= (1 - LEAST_MOTION) * most)  # not empty: the largest is one
    others = [move.body for move in moves if move is not largest and move.size > LEAST_MOTION * most]
    with_it = f"; with it move {_listed(others)}" if others else ""
    return f'body "{largest.body}" {_twist_in_words(largest, length)}{with_it}'


def _twist_in_words(move: _BodyMotion, length: float) -> str:
    """Say how a twist moves: along a direction, or about an axis, with its advance if there is one."""
    turn, way = move.turn, move.way
    rate = float(np.linalg.norm(turn))
    if rate * length < LEAST_MOTION**2 * float(np.linalg.norm(way)):
        return f"moves along {_vector(way / np.linalg.norm(way))}"
    axis, point = turn / rate, np.cross(turn, way) / rate**2
    pitch = float(turn @ way) / rate**2
    advance = f", advancing by {abs(pitch):.3g} m per radian" if abs(pitch) > 1e-6 * length else ""
    axis = axis if axis[np.argmax(np.abs(axis))] > 0 else -axis
    return f"turns about {_vector(axis)} through {_vector(point, length)}{advance}"


def _vector(x: Array, size: float = 1.0) -> str:
    """Return a vector in three digits, with zeros for entries that are rounding beside a size.

    >>> _vector(np.array([0.0, -0.0, 1.23456]))
    '(0, 0, 1.23)'
    """
    return f"({', '.join(f'{value:.3g}' for value in np.where(np.abs(x) < 1e-9 * size, 0.0, x) + 0.0)})"


def _listed(names: list[str]) -> str:
    """Return names in quotes, the first four of them.

    >>> _listed(["a", "b", "c"]), _listed(["a"] * 6)
    ('"a", "b" and "c"', '"a", "a", "a", "a" and 2 more')
    """
    quoted = [f'"{name}"' for name in names]
    if len(quoted) > 4:
        return f"{', '.join(quoted[:4])} and {len(quoted) - 4} more"
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
