"""Whippletree: multibody dynamics in Python, at the speed of machine code.

Describe bodies and joints, build, and compute:

>>> import whippletree as wt
>>> m = wt.Mechanism("pendulum")
>>> rod = m.body("rod", wt.rod(length=1.0, mass=2.0, axis="x"))
>>> hinge = m.revolute("hinge", m.ground, rod, axis="y")
>>> system = m.build()
>>> system.nv
1
"""

from whippletree._version import __version__
from whippletree.elements.bodies import MassProperties, box, cylinder, point_mass, point_masses, rod, sphere
from whippletree.errors import (
    AssemblyError,
    AssemblyWarning,
    CacheError,
    CacheWarning,
    DynamicsError,
    FileError,
    ModelError,
    StateError,
    TopologyError,
    WhippletreeError,
)
from whippletree.model import Mechanism
from whippletree.model.io import Model, read, write
from whippletree.spatial.placement import Placement
from whippletree.system import Energy, Momentum, Reaction, Reactions, System

__all__ = [
    "AssemblyError",
    "AssemblyWarning",
    "CacheError",
    "CacheWarning",
    "DynamicsError",
    "Energy",
    "FileError",
    "MassProperties",
    "Mechanism",
    "Model",
    "ModelError",
    "Momentum",
    "Placement",
    "Reaction",
    "Reactions",
    "StateError",
    "System",
    "TopologyError",
    "WhippletreeError",
    "__version__",
    "box",
    "cylinder",
    "point_mass",
    "point_masses",
    "read",
    "rod",
    "sphere",
    "write",
]
