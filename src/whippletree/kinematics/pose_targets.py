"""Targets of inverse kinematics: poses or positions of frames, with weights, and the error of a configuration.

The error of a frame with axes R and origin p from a target R*, p* is, in ground axes,

    e = [rotation vector of R R*^T; (p - p*) / L],        de = [w; u / L] dt                                   (1)

with L the mechanism's characteristic length; the second near e = 0. Each of the six numbers has a weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.kinematics.given_numbers import given_numbers
from whippletree.model.argument_types import PlaceValues, PoseTarget
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import shown
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["FrameTarget", "PoseTargets", "read_targets", "rotation_vectors"]


class FrameTarget(NamedTuple):
    """A frame, its poses (n, 4, 4), and the weights of the six numbers of (1), zero for those that do not count."""

    frame: str
    poses: Array
    weights: Array


class PoseTargets:
    """Targets of one or several frames, for n configurations each."""

    def __init__(self, system: System, targets: list[FrameTarget], parameters: ParameterValues) -> None:
        self.system, self.targets, self.parameters = system, targets, parameters
        self.length = system.kernels.closures.characteristic_length
        self.count = len(targets[0].poses)

    def errors(self, q: Array, rows: Indices) -> Array:
        """Return (1) with its weights, frame after frame, at configurations of the targets with these numbers."""
        parts = []
        for target in self.targets:
            here, there = self.system.pose(q, target.frame, parameters=self.parameters), target.poses[rows]
            turn = rotation_vectors(here[:, :3, :3] @ there[:, :3, :3].transpose(0, 2, 1))
            shift = (here[:, :3, 3] - there[:, :3, 3]) / self.length
            parts.append(np.concatenate([turn, shift], axis=1) * target.weights)
        return np.concatenate(parts, axis=1)

    def jacobians(self, q: Array) -> Array:
        """Return the derivatives (n, 6 k, nv) of `errors` by the velocities, as (1) has them."""
        size = np.array([1.0, 1.0, 1.0, *[1 / self.length] * 3])
        found = [
            self.system.jacobian(q, one.frame, parameters=self.parameters) * (size * one.weights)[:, None]
            for one in self.targets
        ]
        return np.concatenate(found, axis=1)

    def misses(self, q: Array) -> tuple[Array, Array]:
        """Return the angles (radians) and distances (metres) by which frames are off, (n, k) each, where they count."""
        turns, shifts = [], []
        for target in self.targets:
            counts = target.weights > 0
            here = self.system.pose(q, target.frame, parameters=self.parameters)
            turn = rotation_vectors(here[:, :3, :3] @ target.poses[:, :3, :3].transpose(0, 2, 1))
            turns.append(np.linalg.norm(turn * counts[:3], axis=1))
            shifts.append(np.linalg.norm((here[:, :3, 3] - target.poses[:, :3, 3]) * counts[3:], axis=1))
        return np.array(turns).T, np.array(shifts).T


def read_targets(
    system: System, targets: Mapping[Any, PoseTarget], weights: PlaceValues | None, parameters: ParameterValues
) -> tuple[PoseTargets, bool]:
    """Return targets by frame, checked, and whether they are for many configurations.

    >>> found, many = read_targets(four_bar(), {"coupler": (0.0, 0.0, 1.0)}, None, None)
    >>> found.targets[0].weights, many
    (array([0., 0., 0., 1., 1., 1.]), False)
    """
    if not isinstance(targets, Mapping) or not targets:
        raise StateError("give targets by frame: a mapping from names to poses (4 x 4) or positions (3)")
    inputs, given = system.kernels.inputs, {} if weights is None else weights
    if not isinstance(given, Mapping):
        raise StateError("weights= must map frames to a number, or to six: turns about, shifts along x, y, z")
    by_name = inputs.by_place(given, "weights=")
    read = {name: _poses(name, value) for name, value in inputs.by_place(targets, "targets=").items()}
    for name in by_name:
        if name not in read:
            raise StateError(f'weights= names "{name}", for which there is no target')
    counts = {len(poses) for poses, _, many in read.values() if many}
    if len(counts) > 1:
        raise StateError(f"the targets are for {' and '.join(map(str, sorted(counts)))} configurations: give as many")
    count = counts.pop() if counts else 1
    found = [
        FrameTarget(
            name,
            np.ascontiguousarray(np.broadcast_to(poses, (count, 4, 4))),
            _weights(name, by_name.get(name, 1.0), whole),
        )
        for name, (poses, whole, _) in read.items()
    ]
    return PoseTargets(system, found, parameters), any(many for _, _, many in read.values())


def _poses(name: str, value: PoseTarget) -> tuple[Array, bool, bool]:
    """Return a target as poses (n, 4, 4), whether its axes count, and whether it is for many configurations."""
    if isinstance(value, Placement):
        return np.asarray(value.matrix())[None], True, False
    numbers = given_numbers(value, f'the target of "{name}"')
    if numbers.shape[-2:] == (4, 4) and numbers.ndim in (2, 3):
        poses = numbers.reshape(-1, 4, 4)
        for one in poses:
            Placement.from_matrix(one, f'the target of "{name}"')
        return poses, True, numbers.ndim == 3
    if numbers.ndim in (1, 2) and numbers.shape[-1] == 3 and numbers.size:
        poses = np.tile(np.eye(4), (numbers.size // 3, 1, 1))
        poses[:, :3, 3] = numbers.reshape(-1, 3)
        return poses, False, numbers.ndim == 2
    raise StateError(f'the target of "{name}" must be a pose (4 x 4) or a position (3), or many, not {shown(value)}')


def _weights(name: str, value: ArrayLike, whole: bool) -> Array:
    given = given_numbers(value, f'the weights of "{name}"')
    numbers = np.full(6, float(given)) if given.ndim == 0 else given
    if numbers.shape != (6,) or (numbers < 0).any() or not numbers.any():
        raise StateError(f'the weights of "{name}" must be one number, or six, not negative and not all zero')
    if not whole:
        numbers[:3] = 0.0
    return numbers


def rotation_vectors(R: Array) -> Array:
    """Return axis times angle of rotations (n, 3, 3), angles from 0 to pi.

    >>> rotation_vectors(np.array([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])).round(6)
    array([[0.      , 0.      , 1.570796]])
    """
    twice = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    sine = np.linalg.norm(twice, axis=1) / 2
    angle = np.arctan2(sine, (np.trace(R, axis1=1, axis2=2) - 1) / 2)
    found = twice * (np.where(sine > 1e-6, angle / np.maximum(sine, 1e-300), 1.0) / 2)[:, None]
    for i in np.flatnonzero((sine <= 1e-6) & (angle > 1.0)):  # half a turn, whose axis is an eigenvector
        found[i] = np.linalg.eigh((R[i] + R[i].T) / 2)[1][:, -1] * angle[i]
    return found
