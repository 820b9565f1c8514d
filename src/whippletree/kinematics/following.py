"""A mechanism moved by its inputs, from one configuration to others, always on the same branch.

A stride sets the inputs to their next values, foresees the other joints, and closes the loops. What is foreseen is the
last stride again, or at first the motion that the loops allow; where the correction is not small beside it, or loops do
not close, the stride is halved. So a path is followed through positions where another branch crosses it, and ends where
the inputs cannot go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.kinematics.allowed_motions import MotionSpace
from whippletree.kinematics.batch_assembly import BatchCloser
from whippletree.kinematics.kinematic_tolerances import (
    BRANCH_TURN,
    FARTHEST_INPUT,
    HALVED_WAYS,
    LONGEST_STRIDE,
    SHORT_CORRECTION,
)
from whippletree.system import System
from whippletree.system.evaluator import ParameterValues
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.tolerances import CLOSED

__all__ = ["Followed", "InputPath", "check_vector", "coordinate_places"]


class Followed(NamedTuple):
    """Where inputs have been brought: the configuration, their values there, the last stride, and whether that is all.

    `open` is the least open configuration of the stride that failed, if one did.
    """

    q: Array
    inputs: Array
    stride: Array | None
    arrived: bool
    open: Array | None = None


class InputPath:
    """Moves the inputs of a system, freedoms by their places in v, with those in `held` at rest.

    >>> s = four_bar()
    >>> path = InputPath(s, [0], np.zeros(4, dtype=bool))
    >>> there = path.follow(s.q0, np.array([1.5]))
    >>> there.arrived, bool(abs(s.closure_residual(there.q)).max() < 1e-10)
    (True, True)
    """

    def __init__(
        self, system: System, inputs: list[int], held: Mask, t: float = 0.0, parameters: ParameterValues = None
    ) -> None:
        self.system, self.inputs = system, np.array(inputs)
        self.places = coordinate_places(system, inputs)
        self.space = MotionSpace(system, t, parameters)
        self.closer = BatchCloser(system, t, parameters, 1) if system.kernels.closed else None
        self.held = held.copy()
        self.held[self.inputs] = True

    def follow(self, q: Array, target: Array, stride: Array | None = None) -> Followed:
        """Bring the inputs to their target values in strides from a closed configuration, as far as they go."""
        at = Followed(q, q[self.places], stride, True)
        way = target - at.inputs
        size = float(np.abs(way / self.space.scale[self.inputs]).max(initial=0.0))
        if not size <= FARTHEST_INPUT:
            raise StateError(
                f"an input is to go to {target.tolist()}, too far from {at.inputs.tolist()} to be followed"
            )
        done, share, halvings = 0.0, 1.0 / max(1.0, np.ceil(size / LONGEST_STRIDE)), 0
        first = at.inputs
        while done < 1.0:
            ahead = min(1.0, done + share)
            new, failed = self._stride(at, first + ahead * way if ahead < 1.0 else target)
            if new is None:
                halvings, share = halvings + 1, share / 2
                if halvings > HALVED_WAYS:
                    return at._replace(arrived=False, open=failed)
                continue
            at, done = new, ahead
            if halvings and share < 1.0:
                halvings, share = halvings - 1, share * 2
        return at

    def _stride(self, at: Followed, values: Array) -> tuple[Followed | None, Array]:
        """Take one stride; None if it leads nowhere, or elsewhere; and where it led."""
        foreseen = self._foreseen(at, values - at.inputs)
        start = self.system.integrate(at.q, foreseen)
        start[self.places] = values
        if self.closer is None:
            return Followed(start, values, None, True), start
        found, worst = self.closer.close(start[None], self.held)
        q = found[0]
        if worst[0] > max(CLOSED, self.closer.assembler.numbers.accuracy):
            return None, q
        correction = float(np.abs(self.system.difference(start, q) / self.space.scale).max(initial=0.0))
        expected = float(np.abs(foreseen / self.space.scale).max(initial=0.0))
        if correction > max(BRANCH_TURN * expected, SHORT_CORRECTION):
            return None, q
        return Followed(q, values, self.system.difference(at.q, q), True), q

    def _foreseen(self, at: Followed, change: Array) -> Array:
        """Return the displacement (nv) that a change of the inputs will bring."""
        if at.stride is not None:
            before = at.stride[self.inputs]
            along = float(before @ change) / max(float(before @ before), 1e-300)
            if np.abs(along * before - change).max(initial=0.0) <= 1e-9 * np.abs(change).max(initial=0.0):
                return along * at.stride
        return self.ratios(at.q) @ change

    def ratios(self, q: Array) -> Array:
        """Return the velocities (nv, k) of all joints for unit rates of the inputs, what is held being at rest.

        Of idle freedoms, which inputs do not determine, those of least norm. Where an input cannot move, at a dead
        position of the mechanism, they are NaN.
        """
        return np.asarray(self.ratios_of(self.space.basis(q)[None])[0])

    def ratios_of(self, motions: Array) -> Array:
        """Return the same (n, nv, k) for the motions (n, nv, m) of many configurations."""
        scale = self.space.scale
        N, fixed = motions / scale[:, None], np.flatnonzero(self.held)
        right = np.zeros((len(fixed), len(self.inputs)))
        right[np.searchsorted(fixed, self.inputs), np.arange(len(self.inputs))] = 1 / scale[self.inputs]
        y = np.linalg.pinv(N[:, fixed], rcond=1e-9) @ right
        v = (N @ y) * scale[:, None]
        missed = np.abs(N[:, fixed] @ y - right).max(axis=(1, 2), initial=0.0) * scale.max()
        return np.where(missed[:, None, None] > 1e-6, np.nan, v)

    def conditioning(self, q: Array) -> Array:
        """Return the singular values of the loops with inputs and `held` fixed: the smallest one is zero in a dead
        position, and where two branches cross."""
        return np.asarray(np.linalg.svd(self.space.rows(q)[:, ~self.held], compute_uv=False), dtype=np.float64)


def coordinate_places(system: System, freedoms: list[int]) -> Indices:
    """Return where in q the coordinates of some freedoms are, of joints whose coordinates are vectors.

    >>> coordinate_places(four_bar(), [2])
    array([2])
    """
    places = []
    for i in freedoms:
        joint = system.kernels.states.joint_of(i)
        q, v = system.q_slice(joint), system.v_slice(joint)
        places.append(q.start + i - v.start)
    return np.array(places, dtype=np.intp)


def check_vector(system: System, freedom: int) -> None:
    """Refuse a freedom of a joint with a quaternion: its coordinates cannot be set one by one."""
    name = system.kernels.states.joint_of(freedom)
    q, v = system.q_slice(name), system.v_slice(name)
    if q.stop - q.start != v.stop - v.start:
        raise StateError(f'joint "{name}" has a quaternion, whose coordinates cannot be set one by one')
