"""Closures of loops: cut joints, rods, couplings and constraints that a user writes. One type per file."""

from whippletree.elements.closures.base import Closure, DeclaredClosure, Rows, Side
from whippletree.elements.closures.basic import d1, d2, s, ss
from whippletree.elements.closures.basic_closures import Coincident, InPlane, Perpendicular
from whippletree.elements.closures.coupling import Coupling
from whippletree.elements.closures.distance import Distance
from whippletree.elements.closures.drive import JointDrive
from whippletree.elements.closures.expression import Expression
from whippletree.elements.closures.joint import JointClosure
from whippletree.elements.closures.relative import joint_rates, left_inverse, pose_error, relative_motion
from whippletree.elements.declaration import quantity

__all__ = [
    "Closure",
    "Coincident",
    "Coupling",
    "DeclaredClosure",
    "Distance",
    "Expression",
    "InPlane",
    "JointClosure",
    "JointDrive",
    "Perpendicular",
    "Rows",
    "Side",
    "d1",
    "d2",
    "joint_rates",
    "left_inverse",
    "pose_error",
    "quantity",
    "relative_motion",
    "s",
    "ss",
]
