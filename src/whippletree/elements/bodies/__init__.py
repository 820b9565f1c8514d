"""Bodies: their mass properties, appearance and inner coordinates."""

from typing import TYPE_CHECKING

from whippletree.elements.bodies.appearance import Shape
from whippletree.elements.bodies.kind import BodyKind, MovingFrame, OwnCoordinates, rigid_parts
from whippletree.elements.bodies.rigid import MassProperties
from whippletree.elements.bodies.shapes import box, cylinder, point_mass, point_masses, rod, sphere
from whippletree.foundation.late_imports import late_names

if TYPE_CHECKING:
    from whippletree.elements.bodies.flexible import (
        FlexibleBody,
        GeometricStiffness,
        Interface,
        Invariants,
        LumpedNodes,
        Stations,
    )

__all__ = [
    "BodyKind",
    "FlexibleBody",
    "GeometricStiffness",
    "Interface",
    "Invariants",
    "LumpedNodes",
    "MassProperties",
    "MovingFrame",
    "OwnCoordinates",
    "Shape",
    "Stations",
    "box",
    "cylinder",
    "point_mass",
    "point_masses",
    "rigid_parts",
    "rod",
    "sphere",
]

__getattr__ = late_names(
    __name__,
    {f"{__name__}.flexible": "FlexibleBody GeometricStiffness Interface Invariants LumpedNodes Stations"},
)
