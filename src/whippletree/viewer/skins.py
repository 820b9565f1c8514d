"""The skins of flexible bodies: surfaces whose points move with the modal coordinates.

A beam is the surface of its sections, a solid that of its mesh; of any other body the stations are seen. With modal
coordinates a that are scaled such that a unit of each moves the station that it moves most by a metre, a point at arm d
from its station moves by

    Phi a + (Psi a) x d + 1/2 a^T Q a,       Q_kl = G_kl + H_kl x d + sym(Psi_k x (Psi_l x d))                    (1)

if the body has second-order displacements G and H, and else by the first two. Of all Q_kl, which are n (n + 1) / 2, a
few combinations are drawn, by which stations move most while modes stay within their range (`coordinate_scales`): with
products of modal coordinates as further amplitudes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whippletree.elements.bodies.array_store import ArrayStore
from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.elements.bodies.station_motions import SECOND_ORDER
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.viewer.creases import split_at_creases
from whippletree.viewer.scene import Skin

__all__ = ["has_skin", "mode_sizes", "skin_amplitudes", "skin_of"]


_ROUND_FROM = 8
"""Outlines with so many corners are round, others have edges."""


def skin_of(kind: FlexibleBody, place: int, unit: float, color: int) -> Skin | None:
    """Return the skin of a flexible body on a place; none if it is known at its interfaces only.

    >>> from whippletree.flexible_bodies import beam, circle, steel
    >>> made = skin_of(beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2), 0, 0.01, 0)
    >>> made.points.shape, made.shapes.shape
    ((208, 3), (3, 208, 3))
    """
    stations = kind.drawn
    if stations is None or not has_skin(kind):
        return None
    if "outline" in stations and "axes" in stations:
        station, arm, triangles = _tube(stations, unit)
    elif "triangles" in stations:
        corners = stations.array("triangles").astype(np.intp)
        points = stations.array("positions")
        station, triangles = split_at_creases(points, _outward(points, corners))
        arm = np.zeros((len(station), 3))
    else:
        station, arm, triangles = _cloud(len(stations.array("positions")), 0.4 * unit)
    shapes = np.concatenate([*_shapes(kind, station, arm)])
    return Skin(place, stations.array("positions")[station] + arm, triangles, shapes, color)


def _shapes(kind: FlexibleBody, station: Indices, arm: Array) -> Iterator[Array]:
    """Yield how points at arms from stations move with the amplitudes (1), each (shapes, N, 3)."""
    places, scales = kind.places(), kind.coordinate_scales()
    phi, psi = (places.array(name)[station] for name in ("translation", "rotation"))
    turned = np.cross(psi, arm[..., None], axis=1)
    yield np.moveaxis(phi + turned, 2, 0) / mode_sizes(kind)[:, None, None]
    few = kind.main_products * np.outer(scales, scales)
    if len(few):
        G, H = (np.einsum("rkl,sakl->rsa", few, places.array(name))[:, station] for name in SECOND_ORDER)
        twice = np.einsum("rkl,sakl->rsa", few, np.cross(psi[..., :, None], turned[..., None, :], axis=1))
        yield (G + np.cross(H, arm) + twice) / 2


def skin_amplitudes(kind: FlexibleBody, eta: Array) -> Array:
    """Return the amplitudes (..., shapes) of a skin's shapes at modal coordinates (..., n) (1).

    >>> from whippletree.flexible_bodies import beam, circle, steel
    >>> made = beam(length=1.0, section=circle(radius=0.01), material=steel, modes=1)
    >>> skin_amplitudes(made, made.coordinate_scales() / 2).round(3).tolist()
    [0.036, 0.25]
    """
    share = eta / kind.coordinate_scales()
    squares = np.einsum("...k,rkl,...l->...r", share, kind.main_products, share)
    return np.concatenate([eta * mode_sizes(kind), squares], axis=-1)


def has_skin(kind: FlexibleBody) -> bool:
    """Tell whether a body is known at enough stations for a skin."""
    return kind.drawn is not None and len(kind.drawn.array("positions")) > 1


def mode_sizes(kind: FlexibleBody) -> Array:
    """Return how far a unit of each modal coordinate moves the station that it moves most, in metres (n,)."""
    moved = np.linalg.norm(kind.places().array("translation"), axis=1).max(axis=0, initial=0.0)
    turned = np.linalg.norm(kind.places().array("rotation"), axis=1).max(axis=0, initial=0.0)
    sizes = np.maximum(moved, _TURNED * float(kind.size) * turned)
    return np.asarray(np.where(sizes > 0, sizes, 1.0))


_TURNED = 1e-3
"""A mode that turns stations without moving them counts as moving points at this share of the body's size."""


def _tube(stations: ArrayStore, unit: float) -> tuple[Indices, Array, Indices]:
    """Return for the points of a beam's surface their stations and arms, and the triangles between them."""
    outline, axes = stations.array("outline"), stations.array("axes")
    S, K, _ = outline.shape
    thin = np.maximum(1.0, _THINNEST * unit / max(float(np.abs(outline).max()), 1e-300))
    ring = np.einsum("sak,sck->sca", axes[:, :, 1:], thin * outline)  # (S, K, 3)
    if K < _ROUND_FROM:  # each side has corners of its own, so that edges are sharp
        sides = np.stack([ring, np.roll(ring, -1, axis=1)], axis=2).reshape(S, 2 * K, 3)
        first = 2 * np.arange(K)
        second = first + 1
    else:
        sides, first = ring, np.arange(K)
        second = (first + 1) % K
    width = sides.shape[1]
    start = width * np.arange(S - 1)[:, None]
    a, b, c, d = (start + first), (start + second), (start + width + first), (start + width + second)
    triangles = [np.stack([a, b, d], axis=-1).reshape(-1, 3), np.stack([a, d, c], axis=-1).reshape(-1, 3)]
    station = np.repeat(np.arange(S), width)
    arms = sides.reshape(-1, 3)
    for end in (0, S - 1):  # the two faces at the ends
        own = len(station) + np.arange(K)
        fan = np.stack([np.full(K - 2, own[0]), own[1:-1], own[2:]], axis=1)
        triangles.append(fan[:, ::-1] if end == 0 else fan)
        station, arms = np.append(station, np.full(K, end)), np.concatenate([arms, ring[end]])
    return station, arms, np.concatenate(triangles)


_THINNEST = 0.5
"""Half the width of a beam that is drawn, over the radius of links, at least."""


def _outward(points: Array, triangles: Indices) -> Indices:
    """Return triangles whose corners go round counter-clockwise, seen from outside of a body without hollows."""
    a, b, c = (points[triangles[:, k]] - points.mean(axis=0) for k in range(3))
    away = np.einsum("ti,ti->t", a, np.cross(b, c)) < 0
    return np.where(away[:, None], triangles[:, ::-1], triangles)


def _cloud(count: int, radius: float) -> tuple[Indices, Array, Indices]:
    """Return small octahedra, one for each station."""
    arms = radius * np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]])
    triangles = (6 * np.arange(count)[:, None, None] + faces).reshape(-1, 3)
    return np.repeat(np.arange(count), 6), np.tile(arms, (count, 1)), triangles
