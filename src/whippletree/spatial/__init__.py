"""Spatial algebra on small symbolic matrices: shifts, inertias and rotations.

Spatial vectors are [angular; linear], spatial forces [moment; force]. The array type is CasADi's SX matrix.
"""

from whippletree.spatial.inertia import ArticulatedInertia, RigidInertia
from whippletree.spatial.placement import Placement
from whippletree.spatial.rotation import (
    axis_angle,
    displacement_series,
    exponential_series,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    rotation_of_quaternion,
    rotation_vector_terms,
    screw_displacement,
    screw_velocity,
    twist_cross,
)
from whippletree.spatial.shift import Rotation, Shift, Translation, Turn
from whippletree.spatial.vectors import centripetal, cross, mirror, skew, stack

__all__ = [
    "ArticulatedInertia",
    "Placement",
    "RigidInertia",
    "Rotation",
    "Shift",
    "Translation",
    "Turn",
    "axis_angle",
    "centripetal",
    "cross",
    "displacement_series",
    "exponential_series",
    "mirror",
    "quaternion_exp",
    "quaternion_log",
    "quaternion_product",
    "rotation_of_quaternion",
    "rotation_vector_terms",
    "screw_displacement",
    "screw_velocity",
    "skew",
    "stack",
    "twist_cross",
]
