"""The solids that show a body: its described shapes, or shapes that its joints and its inertia imply.

A body without shapes is drawn as a link between the points at which joints, closures and forces hold it: a bar between
two of them, a triangle between three, a star from their middle between more. A body that is held at one point only is
drawn as a bar to its centre of mass with a ball there, or as the box that has its mass and inertia.

Where a mesh is drawn, bodies look as their files say: no bars connect shapes with joints, and of bodies without a shape
only those with a mass that connect points are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.kernels.kernel import Array
from whippletree.spatial.orientation import axis_rotation
from whippletree.viewer.mesh_files import MeshSource
from whippletree.viewer.proportions import CONNECTED, SLENDER
from whippletree.viewer.scene import Solid

__all__ = ["bar", "body_solids", "distinct", "inertia_box", "own_size"]

_ROUND, _SQUARE_TO_ROUND = 1e-6, 3.0**0.5
"""Edges that differ by less than this share are those of a body of revolution; m r^2 / 4 = m a^2 / 12 then."""

_SAME = 1e-6
"""Points of a body that are nearer than this share of its size count as one."""


def body_solids(
    place: int, properties: MassProperties, held: Sequence[Array], unit: float, meshes: MeshSource
) -> list[Solid]:
    """Return the solids that show a body held at the points `held`; `unit` is the radius of a link.

    >>> import whippletree as wt
    >>> [one.kind for one in body_solids(0, wt.rod(1.0, 1.0), [np.zeros(3)], 0.03, MeshSource())]
    ['capsule']
    >>> [one.kind for one in body_solids(0, MassProperties(), [np.zeros(3), np.ones(3)], 0.03, MeshSource())]
    ['capsule']
    """
    drawn = [solid for shape in properties.shapes for solid in _of_shape(place, shape, unit, meshes)]
    if drawn:
        return drawn if meshes.drawn else [*drawn, *_connections(place, drawn, held, unit)]
    points = distinct(held)
    if len(points) >= 2 and (float(_plain(properties.mass)) > 0 or not meshes.drawn):
        return _link(place, points, unit)
    if meshes.drawn:
        return []
    return _lonely(place, properties, points, unit)


def distinct(points: Sequence[Array]) -> list[Array]:
    """Return points without those that are there already.

    >>> len(distinct([np.zeros(3), np.ones(3), np.zeros(3)]))
    2
    """
    size = max((float(np.abs(p).max()) for p in points), default=0.0)
    found: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > _SAME * size for other in found):
            found.append(point)
    return found


def own_size(properties: MassProperties, held: Sequence[Array]) -> float:
    """Return the size of a body: the largest distance between drawn points, zero if there is only one.

    >>> import whippletree as wt
    >>> own_size(wt.rod(2.0, 1.0), [])
    2.0
    """
    points = [*held, *(corner for shape in properties.shapes for corner in _ends(shape))]
    if len(distinct(points)) < 2 and float(_plain(properties.mass)) > 0:
        box = inertia_box(properties)
        points = [*points, _vector(properties.com), *([] if box is None else [_vector(properties.com) + box[1] / 2])]
    spread = [float(np.linalg.norm(a - b)) for k, a in enumerate(points) for b in points[:k]]
    return max(spread, default=0.0)


def bar(place: int, start: Array, end: Array, radius: float) -> Solid:
    """Return a bar with round ends from one point to another.

    >>> bar(0, np.zeros(3), np.array([0.0, 0.0, 2.0]), 0.1).size
    (0.1, 2.0)
    """
    length = float(np.linalg.norm(end - start))
    pose = np.eye(4)
    pose[:3, 3] = (start + end) / 2
    if length > 0:
        x, y, z = ((end - start) / length).tolist()
        pose[:3, :3] = axis_rotation((x, y, z))
    return Solid(place, "capsule", (min(radius, SLENDER * length) if length > 0 else radius, length), pose)


def inertia_box(properties: MassProperties) -> tuple[Array, Array] | None:
    """Return the axes (3, 3) and edges (3) of the homogeneous box with this mass and inertia, if there is one.

    >>> import whippletree as wt
    >>> inertia_box(wt.MassProperties(12.0, (0, 0, 0), (13.0, 10.0, 5.0)))[1].round(6).tolist()
    [1.0, 2.0, 3.0]
    """
    mass, inertia = float(_plain(properties.mass)), np.array(properties.inertia, dtype=np.float64)
    if mass <= 0 or not inertia.any():
        return None
    if np.allclose(inertia, np.diag(np.diag(inertia)), rtol=0, atol=1e-12 * np.abs(inertia).max()):
        moments, axes = np.diag(inertia), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(inertia)
        axes = axes * np.sign(np.linalg.det(axes))
    squares = 6.0 / mass * (moments.sum() - 2.0 * moments)
    return axes, np.sqrt(np.maximum(squares, 0.0))


# ---------------------------------------------------------------------- described shapes


def _of_shape(place: int, shape: Shape, unit: float, meshes: MeshSource) -> list[Solid]:
    """Return the solids of a described shape: none if its mesh cannot be drawn, or if it is transparent."""
    pose, size = shape.placement.matrix(), tuple(float(_plain(x)) for x in shape.size)
    made = partial(Solid, place, role="collision" if shape.collides else "body")
    if shape.color[7:] == "00":
        return []
    if shape.kind == "mesh":
        surfaces = meshes.surfaces(shape.file)
        return [made("mesh", size, pose, surface=one, paint=one.color or shape.color) for one in surfaces]
    flat = tuple(max(x, 0.2 * unit) for x in size)  # a disc or a plate has no thickness of its own
    kind, sizes = shape.kind, flat
    if shape.kind == "rod":
        kind, sizes = "capsule", (min(unit, SLENDER * size[0]), size[0])
    elif shape.kind == "point":
        kind, sizes = "sphere", (1.8 * unit,)
    return [made(kind, sizes, pose, paint=shape.color)]


def _connections(place: int, solids: Sequence[Solid], held: Sequence[Array], unit: float) -> list[Solid]:
    """Return bars from points that hold a body to the nearest of its shapes, if they are not at one."""
    found = []
    for point in distinct(held):
        ends = [_nearest(solid, point) for solid in solids]
        # not empty: asked for bodies with solids only
        nearest = min(ends, key=lambda one: float(np.linalg.norm(one - point)))
        if np.linalg.norm(nearest - point) > CONNECTED * unit:
            found.append(bar(place, point, nearest, 0.6 * unit))
    return found


def _nearest(solid: Solid, point: Array) -> Array:
    """Return the point of a solid that is next to a point, all on the place."""
    R, centre = solid.pose[:3, :3], solid.pose[:3, 3]
    local = R.T @ (point - centre)
    if solid.surface is not None:
        corners = solid.surface.points * np.array(solid.size)
        own = np.clip(local, corners.min(axis=0), corners.max(axis=0))
    elif solid.kind == "box":
        own = np.clip(local, -np.array(solid.size) / 2, np.array(solid.size) / 2)
    elif solid.kind == "sphere":
        own = local * min(1.0, solid.size[0] / max(float(np.linalg.norm(local)), 1e-300))
    else:
        radius, length = solid.size
        across = local[:2] * min(1.0, radius / max(float(np.linalg.norm(local[:2])), 1e-300))
        own = np.array([*across, np.clip(local[2], -length / 2, length / 2)])
    return np.asarray(centre + R @ own)


def _ends(shape: Shape) -> list[Array]:
    """Return points that tell how large a shape is."""
    size, pose = [float(_plain(x)) for x in shape.size], shape.placement.matrix()
    half = {"rod": [0.0, 0.0, *(x / 2 for x in size[:1])], "box": [x / 2 for x in size], "sphere": [0.0, 0.0, *size]}
    if shape.kind in ("cylinder", "capsule"):
        half[shape.kind] = [size[0], 0.0, size[1] / 2]
    reach = np.array(half.get(shape.kind, [0.0, 0.0, 0.0]))
    return [pose[:3, 3] + sign * (pose[:3, :3] @ reach) for sign in (-1.0, 1.0)]


# ---------------------------------------------------------------------- implied shapes


def _link(place: int, points: Sequence[Array], unit: float) -> list[Solid]:
    """Return bars between the points that hold a body."""
    if len(points) <= 3:
        pairs = [(points[i], points[j]) for i in range(len(points)) for j in range(i)]
        return [bar(place, a, b, unit) for a, b in pairs]
    middle = np.mean(points, axis=0)
    return [bar(place, middle, point, unit) for point in points if np.linalg.norm(point - middle) > 0]


def _lonely(place: int, properties: MassProperties, points: Sequence[Array], unit: float) -> list[Solid]:
    """Return the solids of a body that is held at one point, or nowhere."""
    mass, com = float(_plain(properties.mass)), _vector(properties.com)
    held = points[0] if points else (com if mass > 0 else np.zeros(3))
    if mass <= 0:
        return [_ball(place, held, 1.2 * unit)]
    arm = [bar(place, held, com, 0.6 * unit)] if np.linalg.norm(com - held) > CONNECTED * unit else []
    box = inertia_box(properties)
    if box is None:
        return [*arm, _ball(place, com, 1.8 * unit)]
    return [*arm, _solid_of_inertia(place, com, *box, unit)]


def _solid_of_inertia(place: int, com: Array, axes: Array, edges: Array, unit: float) -> Solid:
    """Return the box with a body's inertia, or the cylinder that has the same if two of the moments are equal."""
    pose = np.eye(4)
    pose[:3, 3] = com
    for axis in (2, 1, 0):
        a, b = edges[axis - 2], edges[axis - 1]
        if abs(a - b) <= _ROUND * max(a, b) and edges[axis] < a:
            pose[:3, :3] = np.roll(axes, 2 - axis, axis=1)  # that axis becomes z, in a right-handed frame
            return Solid(place, "cylinder", (float(a) / _SQUARE_TO_ROUND, max(float(edges[axis]), 0.8 * unit)), pose)
    pose[:3, :3] = axes
    return Solid(place, "box", tuple(float(edge) for edge in np.maximum(edges, 0.8 * unit)), pose)


def _ball(place: int, point: Array, radius: float) -> Solid:
    pose = np.eye(4)
    pose[:3, 3] = point
    return Solid(place, "sphere", (radius,), pose)


def _plain(value: object) -> float:
    """Return a number of a description whose parameters have been put in."""
    return float(value)  # type: ignore[arg-type]


def _vector(point: Sequence[object]) -> Array:
    return np.array([_plain(x) for x in point])
