"""Joint types, one per file."""

from whippletree.elements.declaration import quantity
from whippletree.elements.joints.base import Joint
from whippletree.elements.joints.cylindrical import Cylindrical
from whippletree.elements.joints.fixed import Fixed
from whippletree.elements.joints.free import Free
from whippletree.elements.joints.free_angles import FreeBryant, FreeEuler
from whippletree.elements.joints.planar import Planar
from whippletree.elements.joints.prismatic import Prismatic
from whippletree.elements.joints.reversal import Reversed
from whippletree.elements.joints.revolute import Revolute
from whippletree.elements.joints.screw import Screw
from whippletree.elements.joints.spherical import Spherical
from whippletree.elements.joints.spherical_angles import SphericalBryant, SphericalEuler
from whippletree.elements.joints.universal import Universal

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
