"""A mechanism moved by its inputs, from one configuration to others, always on the same branch.

A stride sets the inputs to their next values, foresees the other joints, and closes the loops. What is foreseen is the
last stride again, or at first the motion that the loops allow; where the correction is not small beside it, or loops do
not close, the stride is halved. So a path is followed through positions where another branch crosses it, and ends where
the inputs cannot go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from whippletree.spatial.scales import scale_of, vanishing
from whippletree.system import System
from whippletree.system.evaluator import ParameterValues
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.tolerances import CLOSED

__all__ = ["Followed", "InputPath", "MotionPath", "Stride", "check_vector", "coordinate_places"]


class Stride(NamedTuple):
    """A stride: by how much the inputs went on, and the displacement (nv) of all joints."""

    inputs: Array
    moved: Array


class Followed(NamedTuple):
    """Where inputs have been brought: the configuration, their values there, the last stride, and whether that is all.

    `open` is the least open configuration of the stride that failed, if one did.
    """

    q: Array
    inputs: Array
    stride: Stride | None
    arrived: bool
    open: Array | None = None


class MotionPath(ABC):
    """Moves inputs of a system, numbers that belong to a configuration, with the freedoms in `held` at rest.

    `size` (k) is what inputs are measured by: strides are short beside it.
    """

    size: Array

    def __init__(self, system: System, held: Mask, t: float = 0.0, parameters: ParameterValues = None) -> None:
        self.system, self.held, self.space = system, held, MotionSpace(system, t, parameters)

    @abstractmethod
    def inputs_at(self, q: Array) -> Array:
        """Return the values (k) of the inputs at a configuration."""

    @abstractmethod
    def along(self, q: Array, change: Array) -> Array:
        """Return the least displacement (nv), or velocities, for a small change of the inputs, or their rates.

        Where the inputs cannot move, at a dead position of the mechanism, it is NaN.
        """

    @abstractmethod
    def conditioning(self, q: Array) -> Array:
        """Return the singular values of the rows that fix the mechanism, with inputs and `held` fixed.

        The smallest one is zero in a dead position, and where two branches cross.
        """

    @abstractmethod
    def obstacle(self, q: Array) -> str:
        """Say which input stops at a dead position; q is the configuration that came nearest to it."""

    @abstractmethod
    def _brought(self, start: Array, values: Array) -> tuple[Array, Array, bool]:
        """Bring the inputs to their values, starting from the predicted configuration.

        Returns the prediction, its correction, and whether the inputs are at their values there.
        """

    def follow(self, q: Array, target: Array, stride: Stride | None = None) -> Followed:
        """Bring the inputs to their target values in strides from a closed configuration, as far as they go."""
        at = Followed(q, self.inputs_at(q), stride, True)
        way = target - at.inputs
        size = float(np.abs(way / self.size).max(initial=0.0))
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
        change = values - at.inputs
        foreseen = self._foreseen(at, change)
        start, q, fine = self._brought(self.system.integrate(at.q, foreseen), values)
        if not fine:
            return None, q
        correction = float(np.abs(self.system.difference(start, q) / self.space.scale).max(initial=0.0))
        expected = float(np.abs(foreseen / self.space.scale).max(initial=0.0))
        if correction > max(BRANCH_TURN * expected, SHORT_CORRECTION):
            return None, q
        return Followed(q, values, Stride(change, self.system.difference(at.q, q)), True), q

    def _foreseen(self, at: Followed, change: Array) -> Array:
        """Return the displacement (nv) that a change of the inputs will bring; none from a dead position."""
        if at.stride is not None:
            before = at.stride.inputs
            along = float(before @ change) / scale_of(before @ before)
            if vanishing(along * before - change, change, share=1e-9).all():
                return along * at.stride.moved
        return np.nan_to_num(self.along(at.q, change))


class InputPath(MotionPath):
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
        super().__init__(system, held.copy(), t, parameters)
        self.inputs, self.places = np.array(inputs), coordinate_places(system, inputs)
        self.size = self.space.scale[self.inputs]
        self.closer = BatchCloser(system, t, parameters, 1) if system.kernels.closed else None
        self.held[self.inputs] = True

    def inputs_at(self, q: Array) -> Array:
        """Return the coordinates of the inputs."""
        return np.asarray(q[self.places])

    def along(self, q: Array, change: Array) -> Array:
        """Return `ratios` times a change."""
        return np.asarray(self.ratios(q) @ change)

    def obstacle(self, q: Array) -> str:
        """Say which loop stays open."""
        assert self.closer is not None
        assembler = self.closer.assembler
        row = assembler.numbers.rows[int(np.abs(assembler.numbers.residual(q, *self.closer.conditions())).argmax())]
        return f"{assembler.loop_in_words(row.closure)} cannot be closed"

    def _brought(self, start: Array, values: Array) -> tuple[Array, Array, bool]:
        """Set the inputs and close the loops."""
        start[self.places] = values
        if self.closer is None:
            return start, start, True
        found, worst = self.closer.close(start[None], self.held)
        return start, found[0], bool(worst[0] <= max(CLOSED, self.closer.assembler.numbers.accuracy))

    def ratios(self, q: Array) -> Array:
        """Return the velocities (nv, k) of all joints for unit rates of the inputs, with held joints at rest.

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
        """Return the singular values of the loops with inputs and `held` fixed."""
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
