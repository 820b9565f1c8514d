"""Bodies: what a body weighs and how its mass is spread, and what it is inside."""

import importlib
from typing import TYPE_CHECKING, Any

from whippletree.elements.bodies.appearance import Shape
from whippletree.elements.bodies.kind import BodyKind, MovingFrame, OwnCoordinates, rigid_parts
from whippletree.elements.bodies.rigid import MassProperties
from whippletree.elements.bodies.shapes import box, cylinder, point_mass, point_masses, rod, sphere

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

_FLEXIBLE = ("FlexibleBody", "GeometricStiffness", "Interface", "Invariants", "LumpedNodes", "Stations")


def __getattr__(name: str) -> Any:
    """Return what belongs to flexible bodies, which is imported when it is first used."""
    if name in _FLEXIBLE:
        return getattr(importlib.import_module("whippletree.elements.bodies.flexible"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
