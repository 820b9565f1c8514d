"""Spatial algebra on small symbolic matrices: shifts, inertias, rotations and unrolled solves.

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
    screw_displacement,
    screw_velocity,
    twist_cross,
)
from whippletree.spatial.shift import Rotation, Shift, Translation, Turn
from whippletree.spatial.solve import Factors, factor, factored, solve_factored
from whippletree.spatial.vectors import centripetal, cross, mirror, skew, stack

__all__ = [
    "ArticulatedInertia",
    "Factors",
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
    "factor",
    "factored",
    "mirror",
    "quaternion_exp",
    "quaternion_log",
    "quaternion_product",
    "rotation_of_quaternion",
    "screw_displacement",
    "screw_velocity",
    "skew",
    "solve_factored",
    "stack",
    "twist_cross",
]
