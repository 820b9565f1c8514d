"""How stations of a flexible body move with it, in numbers: poses in the body frame, and their exact derivatives.

A station is like an interface at which nothing is attached: r = x + Phi eta + 1/2 eta^T G eta, axes exp(theta~) with
theta = Psi eta + 1/2 eta^T H eta, v = (Phi + G eta) eta', w = T(theta) (Psi + H eta) eta'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.elements.bodies.array_store import ArrayStore
from whippletree.foundation.arrays import Array
from whippletree.foundation.short_text import readable

__all__ = ["SECOND_ORDER", "StationMotion", "main_products", "rotations", "station_motion", "tangents"]


@readable
class StationMotion(NamedTuple):
    """Stations at modal coordinates (..., n), in the body frame.

    >>> StationMotion(*[np.zeros((2, 3))] * 3, *[np.zeros((2, 3, 4))] * 2).translation.shape
    (2, 3, 4)
    """

    positions: Array  # (S, 3), undeformed
    displacement: Array  # (..., S, 3)
    rotation: Array  # (..., S, 3), rotation vectors theta
    translation: Array  # (..., S, 3, n), dr/deta
    turning: Array  # (..., S, 3, n), dtheta/deta


def station_motion(stations: ArrayStore, eta: Array) -> StationMotion:
    """Return where stations are, and how they move with the modal coordinates."""
    phi, psi = stations.array("translation"), stations.array("rotation")
    J_t, J_r = (np.broadcast_to(each, (*eta.shape[:-1], *each.shape)) for each in (phi, psi))
    G, H = SECOND_ORDER
    if G in stations:
        J_t = phi + np.einsum("sakl,...l->...sak", stations.array(G), eta)
    if H in stations:
        J_r = psi + np.einsum("sakl,...l->...sak", stations.array(H), eta)
    moved, turned = (
        np.einsum("...sak,...k->...sa", (first + whole) / 2, eta) for first, whole in ((phi, J_t), (psi, J_r))
    )
    return StationMotion(stations.array("positions"), moved, turned, J_t, J_r)


SECOND_ORDER = ("second_order", "second_order_rotation")
"""The names of G and H of stations."""


def main_products(stations: ArrayStore, scales: Array) -> Array:
    """Return the combinations (r, n, n) of products of modal coordinates by which stations move most to second order.

    Modal coordinates are in units of these scales, and the combinations orthogonal: few do where n (n + 1) / 2 are.

    >>> main_products(ArrayStore.of_arrays({"positions": np.zeros((1, 3))}), np.ones(2)).shape
    (0, 2, 2)
    """
    n = len(scales)
    if any(name not in stations for name in SECOND_ORDER):
        return np.zeros((0, n, n))
    G = stations.array(SECOND_ORDER[0]) * np.outer(scales, scales)
    _, sizes, rows = np.linalg.svd(G.reshape(-1, n * n), full_matrices=False)
    rows = rows[sizes > _SEEN * sizes.max(initial=0.0)]
    signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)])
    return np.asarray(rows * signs[:, None]).reshape(-1, n, n)


_SEEN = 0.05
"""Second-order displacements that are smaller than this share of the largest are not seen: within the range of modes
the largest are half a per cent of a body's size."""


def rotations(theta: Array) -> Array:
    """Return the rotation matrices (..., 3, 3) of rotation vectors (..., 3).

    >>> rotations(np.array([0.0, 0.0, np.pi / 2])).round(12)[0].tolist()
    [0.0, -1.0, 0.0]
    """
    first, second, _, crossed = _parts(theta)
    return np.asarray(np.eye(3) + first * crossed + second * (crossed @ crossed))


def tangents(theta: Array) -> Array:
    """Return T (..., 3, 3), by which a rotation vector's rate becomes an angular velocity in the body's axes.

    >>> tangents(np.zeros(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    _, second, third, crossed = _parts(theta)
    return np.asarray(np.eye(3) + second * crossed + third * (crossed @ crossed))


def _parts(theta: Array) -> tuple[Array, Array, Array, Array]:
    """Return sin a / a, (1 - cos a) / a^2 and (a - sin a) / a^3 of the angle a, and theta~."""
    angle = np.linalg.norm(theta, axis=-1)[..., None, None]
    large = np.where(angle > _SMALL, angle, 1.0)
    square = angle**2
    first = np.where(angle > _SMALL, np.sin(large) / large, 1 - square / 6 + square**2 / 120)
    second = np.where(angle > _SMALL, (1 - np.cos(large)) / large**2, 0.5 - square / 24 + square**2 / 720)
    third = np.where(angle > _SMALL, (large - np.sin(large)) / large**3, 1 / 6 - square / 120 + square**2 / 5040)
    x, y, z = np.moveaxis(theta, -1, 0)
    zero = np.zeros_like(x)
    crossed = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    return first, second, third, crossed


_SMALL = 0.03
"""Angles in radians up to which series of three terms are exact to rounding."""
