"""Colliders of USD stages as shapes that touch, with the friction of the materials that are bound to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from whippletree.files.neutral_collisions import NeutralCollider
from whippletree.files.poses import with_axis
from whippletree.files.usd_shapes import collider_shape
from whippletree.files.usd_values import UsdObject, number, word
from whippletree.foundation.arrays import Array
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    from pxr import Usd

__all__ = ["usd_collider"]

_ROUND = ("Sphere", "Cylinder", "Capsule")
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def usd_collider(
    prim: Usd.Prim, link: str, pose: Placement, scale: Array, length: float, physics: ModuleType
) -> NeutralCollider | None:
    """Return a collider that is placed on a link in metres, None for one that is switched off."""
    if prim.GetAttribute("physics:collisionEnabled").Get() is False:
        return None
    name, kind, friction = prim.GetName(), prim.GetTypeName(), _friction(prim, physics)
    if kind == "Plane":
        axis = _AXES[word(prim.GetAttribute("axis"), tuple(_AXES), "Z")]
        return NeutralCollider(name, link, "plane", (), pose @ with_axis(axis), friction)
    if kind == "Mesh":
        return NeutralCollider(name, link, "mesh", (), pose, friction, corners=_corners(prim, scale * length))
    shape = collider_shape(prim, pose, scale, length)
    if shape is None:
        kind = f"stretched {kind}" if kind in _ROUND else str(kind)
        return NeutralCollider(name, link, kind.lower(), (), pose, friction)
    size = tuple(float(value) for value in shape.size)
    return NeutralCollider(name, link, shape.kind, size, shape.placement, friction)


def _corners(prim: Usd.Prim, stretch: Array) -> Callable[[], Array]:
    """Return a function that returns the points of a mesh; they are taken now, while the stage is open."""
    points = np.array(prim.GetAttribute("points").Get() or [], dtype=object)

    def corners() -> Array:
        try:
            return points.astype(float).reshape(-1, 3) * stretch
        except (TypeError, ValueError):
            raise ValueError("its points are no numbers") from None

    return corners


def _friction(prim: UsdObject, physics: ModuleType) -> float | None:
    """Return the friction of the physics material that is bound to a prim, None if there is none."""
    from pxr import UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    if not material or not material.GetPrim().HasAPI(physics.MaterialAPI):
        return None
    value = number(physics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr(), -1.0)
    return value if math.isfinite(value) and value >= 0.0 else None
