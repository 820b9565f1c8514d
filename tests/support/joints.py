"""The joint types that tests walk through."""

from __future__ import annotations

from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Free,
    FreeBryant,
    FreeEuler,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    SphericalBryant,
    SphericalEuler,
    Universal,
)

JOINTS: list[Joint] = [
    Fixed(),
    Revolute(),
    Prismatic(),
    Cylindrical(),
    Universal(),
    Spherical(),
    Planar(),
    Screw(lead=0.7),
    Screw(lead=-0.2),
    Free(),
    SphericalBryant(),
    SphericalEuler(),
    FreeBryant(),
    FreeEuler(),
]
