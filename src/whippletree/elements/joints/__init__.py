"""Joint types, one per file; those by three angles are imported when they are asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from whippletree.elements.declaration import quantity
from whippletree.elements.joints.base import Joint
from whippletree.elements.joints.cylindrical import Cylindrical
from whippletree.elements.joints.fixed import Fixed
from whippletree.elements.joints.free import Free
from whippletree.elements.joints.planar import Planar
from whippletree.elements.joints.prismatic import Prismatic
from whippletree.elements.joints.reversal import Reversed
from whippletree.elements.joints.revolute import Revolute
from whippletree.elements.joints.screw import Screw
from whippletree.elements.joints.spherical import Spherical
from whippletree.elements.joints.universal import Universal

if TYPE_CHECKING:
    from whippletree.elements.joints.free_angles import FreeBryant, FreeEuler
    from whippletree.elements.joints.spherical_angles import SphericalBryant, SphericalEuler

__all__ = [
    "Cylindrical",
    "Fixed",
    "Free",
    "FreeBryant",
    "FreeEuler",
    "Joint",
    "Planar",
    "Prismatic",
    "Reversed",
    "Revolute",
    "Screw",
    "Spherical",
    "SphericalBryant",
    "SphericalEuler",
    "Universal",
    "quantity",
]

_BY_ANGLES = {
    "FreeBryant": "free_angles",
    "FreeEuler": "free_angles",
    "SphericalBryant": "spherical_angles",
    "SphericalEuler": "spherical_angles",
}


def __getattr__(name: str) -> Any:
    if name not in _BY_ANGLES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_BY_ANGLES[name]}"), name)
