"""Joint types, one per file; those by three angles are imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from whippletree.foundation.late_imports import late_names

if TYPE_CHECKING:
    from whippletree.elements.joints.angle_joints import FreeBryant, FreeEuler, SphericalBryant, SphericalEuler

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

__getattr__ = late_names(__name__, {f"{__name__}.angle_joints": "FreeBryant FreeEuler SphericalBryant SphericalEuler"})
