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

import importlib
from typing import TYPE_CHECKING, Any

from whippletree._version import __version__
from whippletree.elements.bodies import (
    BodyKind,
    MassProperties,
    box,
    cylinder,
    point_mass,
    point_masses,
    rigid_parts,
    rod,
    sphere,
)
from whippletree.elements.drivers import Spline, pulse
from whippletree.errors import (
    AssemblyError,
    AssemblyWarning,
    CacheError,
    CacheWarning,
    DynamicsError,
    EquilibriumError,
    FileError,
    ModelError,
    ResultError,
    SimulationError,
    StateError,
    TopologyError,
    WhippletreeError,
)
from whippletree.files import read, write
from whippletree.model import Mechanism, register
from whippletree.model.io import Model
from whippletree.spatial.placement import Placement
from whippletree.system import Energy, Momentum, Reaction, Reactions, System
from whippletree.verbs import provide

if TYPE_CHECKING:
    from whippletree.elements.bodies.flexible import (
        FlexibleBody,
        GeometricStiffness,
        Interface,
        Invariants,
        LumpedNodes,
        Stations,
    )
    from whippletree.equilibria import Equilibrium
    from whippletree.linear import LinearModel
    from whippletree.results import Certificate, Event, Trajectory
    from whippletree.simulate import Simulation

__all__ = [
    "AssemblyError",
    "AssemblyWarning",
    "BodyKind",
    "CacheError",
    "CacheWarning",
    "Certificate",
    "DynamicsError",
    "Energy",
    "Equilibrium",
    "EquilibriumError",
    "Event",
    "FileError",
    "FlexibleBody",
    "GeometricStiffness",
    "Interface",
    "Invariants",
    "LinearModel",
    "LumpedNodes",
    "MassProperties",
    "Material",
    "Mechanism",
    "Model",
    "ModelError",
    "Momentum",
    "Placement",
    "Reaction",
    "Reactions",
    "ResultError",
    "Section",
    "Simulation",
    "SimulationError",
    "Spline",
    "StateError",
    "Stations",
    "System",
    "TopologyError",
    "Trajectory",
    "WhippletreeError",
    "__version__",
    "aluminium",
    "beam",
    "box",
    "carbon_fibre",
    "circle",
    "cylinder",
    "flexible",
    "glass_fibre",
    "point_mass",
    "point_masses",
    "pulse",
    "read",
    "read_abaqus",
    "read_sid",
    "rectangle",
    "register",
    "resume",
    "rigid_parts",
    "rod",
    "section",
    "solid",
    "sphere",
    "steel",
    "titanium",
    "tube",
    "write",
    "write_sid",
]

_LATE = {
    "Stations": "whippletree.elements.bodies.flexible",
    "LumpedNodes": "whippletree.elements.bodies.flexible",
    "Invariants": "whippletree.elements.bodies.flexible",
    "Interface": "whippletree.elements.bodies.flexible",
    "GeometricStiffness": "whippletree.elements.bodies.flexible",
    "FlexibleBody": "whippletree.elements.bodies.flexible",
    "Certificate": "whippletree.results",
    "Equilibrium": "whippletree.equilibria",
    "Event": "whippletree.results",
    "LinearModel": "whippletree.linear",
    "Material": "whippletree.flexible_bodies",
    "Section": "whippletree.flexible_bodies",
    "Simulation": "whippletree.simulate",
    "Trajectory": "whippletree.results",
    "aluminium": "whippletree.flexible_bodies",
    "beam": "whippletree.flexible_bodies",
    "carbon_fibre": "whippletree.flexible_bodies",
    "circle": "whippletree.flexible_bodies",
    "flexible": "whippletree.flexible_bodies",
    "glass_fibre": "whippletree.flexible_bodies",
    "read_abaqus": "whippletree.flexible_bodies",
    "read_sid": "whippletree.flexible_bodies",
    "rectangle": "whippletree.flexible_bodies",
    "resume": "whippletree.studies",
    "section": "whippletree.flexible_bodies",
    "solid": "whippletree.flexible_bodies",
    "steel": "whippletree.flexible_bodies",
    "titanium": "whippletree.flexible_bodies",
    "tube": "whippletree.flexible_bodies",
    "write_sid": "whippletree.flexible_bodies",
}
"""Names that are imported when they are first used: who only computes does not wait for them."""

provide(
    {
        "Mechanism.build": ("whippletree.system", "System"),
        "Mechanism.show": ("whippletree.viewer", "show_mechanism"),
        "System.eigenvalues_over": ("whippletree.equilibria", "eigenvalues_over"),
        "System.equilibrium": ("whippletree.equilibria", "equilibrium"),
        "System.equilibrium_path": ("whippletree.equilibria", "equilibrium_path"),
        "System.linearize": ("whippletree.linear", "linearize"),
        "System.absolute": ("whippletree.system.absolute_coordinates", "absolute_coordinates"),
        "System.actuation": ("whippletree.kinematics.actuation", "actuation"),
        "System.assemble_batch": ("whippletree.kinematics.batch_assembly", "assemble_batch"),
        "System.inverse_kinematics": ("whippletree.kinematics.inverse_kinematics", "inverse_kinematics"),
        "System.matrices": ("whippletree.system.matrix_calls", "matrices"),
        "System.natural": ("whippletree.natural.natural_coordinates", "natural_coordinates"),
        "System.realtime": ("whippletree.realtime", "realtime"),
        "System.show": ("whippletree.viewer", "show"),
        "System.simulate": ("whippletree.studies", "simulate"),
        "System.sweep_joint": ("whippletree.kinematics.joint_sweeps", "sweep_joint"),
        "System.view": ("whippletree.viewer", "view"),
        "System.workspace": ("whippletree.kinematics.workspaces", "workspace"),
        "Trajectory.animate": ("whippletree.viewer", "animate"),
    }
)


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
