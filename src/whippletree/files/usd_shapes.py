"""Colliders of USD stages: the shapes from which the mass and inertia of a body follow where it does not say them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.files.mesh_inertia import mesh_volume
from whippletree.files.neutral_model import Remarks
from whippletree.files.shape_inertias import scaled_to_mass, shape_properties
from whippletree.files.usd_values import UsdObject, number, word
from whippletree.foundation.arrays import Array
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    from pxr import Usd

__all__ = ["collider_properties", "collider_shape", "colliders", "material_density"]


_ALONG = {
    "X": ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)),
    "Y": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)),
}
"""Axes whose z is along x or y."""


_WITHOUT_SHAPE = ("", "Xform", "Scope", "Material", "Shader")
"""Prims that hold others or belong to their looks."""


def colliders(body: UsdObject, physics: ModuleType) -> Iterator[UsdObject]:
    """Yield the prims of a body that have a shape to collide with, and that no other body holds.

    What is said of a prim without a shape of its own is said of all below it.
    """
    from pxr import Usd

    waiting, within = [(body, False)], Usd.TraverseInstanceProxies()
    while waiting:
        prim, said = waiting.pop()
        if prim != body and prim.HasAPI(physics.RigidBodyAPI):
            continue
        said = said or prim.HasAPI(physics.CollisionAPI)
        shaped = prim.GetTypeName() not in _WITHOUT_SHAPE
        if said and shaped:
            yield prim
        waiting.extend((one, said and not shaped) for one in reversed(prim.GetFilteredChildren(within)))


def material_density(prim: UsdObject) -> float:
    """Return the density of the material that is bound to a prim for physics, 0 if there is none."""
    from pxr import UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    return number(material.GetPrim().GetAttribute("physics:density"), 0.0) if material else 0.0


def collider_shape(prim: Usd.Prim, pose: Placement, scale: Array, length: float) -> Shape | None:
    """Return the shape of a prim in metres, None for a mesh and for unknown kinds.

    `pose` and `scale` place it on its body; a ball or a cylinder must not be stretched more one way than another.
    """
    kind, stretch = prim.GetTypeName(), np.abs(scale) * length
    if kind == "Cube":
        edge = number(prim.GetAttribute("size"), 2.0)
        return Shape("box", tuple(float(edge * x) for x in stretch), pose)
    if kind not in ("Sphere", "Cylinder", "Capsule"):
        return None
    if np.ptp(stretch) > 1e-6 * stretch.max():
        return None
    radius = number(prim.GetAttribute("radius"), 1.0) * float(stretch[0])
    if kind == "Sphere":
        return Shape("sphere", (radius,), pose)
    height = number(prim.GetAttribute("height"), 2.0) * float(stretch[0])
    axis = word(prim.GetAttribute("axis"), ("X", "Y", "Z"), "Z")
    turned = pose @ Placement(_ALONG[axis]) if axis in _ALONG else pose
    return Shape(kind.lower(), (radius, height), turned)


def collider_properties(
    prim: Usd.Prim,
    physics: ModuleType,
    pose: Placement,
    scale: Array,
    units: tuple[float, float],
    density: float,
    remarks: Remarks,
) -> MassProperties:
    """Return the mass properties of a collider on its body: by its own mass, its own density, or the body's density.

    What cannot be done is a `ValueError` that says why. `units` are metres and kilograms.
    """
    length, mass_unit = units
    api = physics.MassAPI(prim)
    own, given = (number(attribute, 0.0) for attribute in (api.GetDensityAttr(), api.GetMassAttr()))
    rho = own * mass_unit / length**3 if own > 0.0 else density
    if prim.GetTypeName() == "Mesh":
        found = mesh_volume(_triangles(prim) * scale * length)
        if found.turned:
            remarks.add(
                "changed", f"the mesh {prim.GetName()} is inside out: its triangles are taken the other way round"
            )
        whole = found.of_density(rho).moved(at=pose.point, rotation=pose.rotation)
    else:
        shape = collider_shape(prim, pose, scale, length)
        if shape is None:
            raise ValueError(f"a {prim.GetTypeName()}, of which the volume is not known here")
        whole = shape_properties(shape, rho, None, remarks)
    return scaled_to_mass(whole, given * mass_unit) if given > 0.0 else whole


def _triangles(prim: Usd.Prim) -> Array:
    """Return the faces of a mesh as triangles; those with more corners are fans."""
    values = [prim.GetAttribute(key).Get() for key in ("points", "faceVertexCounts", "faceVertexIndices")]
    try:
        points = np.array([] if values[0] is None else values[0], dtype=np.float64).reshape(-1, 3)
        counts, corners = ([int(k) for k in one or []] for one in values[1:])
    except (TypeError, ValueError):
        raise ValueError("its points or faces are no numbers") from None
    if sum(counts) != len(corners) or not all(0 <= k < len(points) for k in corners) or not corners:
        raise ValueError("its faces name points that are not there, or it has none")
    fans, at = [], 0
    for n in counts:
        face = corners[at : at + n]
        fans += [(face[0], b, c) for b, c in pairwise(face[1:])]
        at += n
    turned = str(prim.GetAttribute("orientation").Get() or "rightHanded") == "leftHanded"
    faces = np.array(fans, dtype=np.intp).reshape(-1, 3)
    if not len(faces):
        raise ValueError("it has no triangles")
    return points[faces[:, ::-1] if turned else faces]
