"""Poses and Jacobians of the stations of flexible bodies, from those of their frames and the bodies' own shapes."""

from __future__ import annotations

import numpy as np

from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.elements.bodies.station_motions import rotations, tangents
from whippletree.errors import ModelError
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import BodyLike
from whippletree.model.description import Description
from whippletree.model.names import suggestion

__all__ = ["flexible_kind", "station_jacobians", "station_poses"]


def flexible_kind(description: Description, body: BodyLike) -> tuple[str, FlexibleBody]:
    """Return the name and the kind of a flexible body, by name or handle."""
    name = getattr(body, "name", body)
    known = {each.name: each.kind for each in description.bodies if isinstance(each.kind, FlexibleBody)}
    if not isinstance(name, str) or name not in known:
        raise ModelError(f"there is no flexible body {suggestion(name, known)}")
    return name, known[name]


def station_poses(kind: FlexibleBody, frame: Array, eta: Array) -> Array:
    """Return the poses (..., S, 4, 4) of the stations of a body whose frame is at a pose (..., 4, 4)."""
    found, R = kind.motion(eta), frame[..., None, :3, :3]
    poses = np.zeros((*found.displacement.shape[:-1], 4, 4))
    poses[..., 3, 3] = 1.0
    poses[..., :3, :3] = R @ rotations(found.rotation)
    arm = (R @ (found.positions + found.displacement)[..., None])[..., 0]
    poses[..., :3, 3] = frame[..., None, :3, 3] + arm
    return poses


def station_jacobians(kind: FlexibleBody, frame: Array, eta: Array, jacobian: Array, own: slice) -> Array:
    """Return the Jacobians (..., S, 6, nv) of the stations, from that of the frame (..., 6, nv), in ground axes."""
    found, R = kind.motion(eta), frame[..., None, :3, :3]
    arm = (R @ (found.positions + found.displacement)[..., None])[..., 0]
    whole = np.repeat(jacobian[..., None, :, :], arm.shape[-2], axis=-3)
    angular = whole[..., :3, :].copy()
    whole[..., 3:, :] -= np.cross(arm[..., None, :], angular.swapaxes(-1, -2)).swapaxes(-1, -2)
    whole[..., :3, own] += R @ tangents(found.rotation) @ found.turning
    whole[..., 3:, own] += R @ found.translation
    return whole
