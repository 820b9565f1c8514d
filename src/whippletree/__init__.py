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

from typing import TYPE_CHECKING

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
from whippletree.elements.drivers import Spline, Table, pulse
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
from whippletree.foundation.late_imports import late_names
from whippletree.model import Mechanism, register
from whippletree.model.io import Model
from whippletree.spatial.placement import Placement
from whippletree.system import Energy, Momentum, Reaction, Reactions, System

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
    from whippletree.flexible_bodies import (
        Material,
        Section,
        aluminium,
        beam,
        carbon_fibre,
        circle,
        flexible,
        glass_fibre,
        read_abaqus,
        read_sid,
        rectangle,
        section,
        solid,
        steel,
        titanium,
        tube,
        write_sid,
    )
    from whippletree.linear import LinearModel
    from whippletree.results import Certificate, Event, Trajectory
    from whippletree.simulate import Simulation
    from whippletree.studies import Study, cases, resume

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
    "Study",
    "System",
    "Table",
    "TopologyError",
    "Trajectory",
    "WhippletreeError",
    "__version__",
    "aluminium",
    "beam",
    "box",
    "carbon_fibre",
    "cases",
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

__getattr__ = late_names(
    __name__,
    {
        "whippletree.elements.bodies.flexible": (
            "FlexibleBody GeometricStiffness Interface Invariants LumpedNodes Stations"
        ),
        "whippletree.equilibria": "Equilibrium",
        "whippletree.flexible_bodies": (
            "Material Section aluminium beam carbon_fibre circle flexible glass_fibre read_abaqus read_sid rectangle "
            "section solid steel titanium tube write_sid"
        ),
        "whippletree.linear": "LinearModel",
        "whippletree.results": "Certificate Event Trajectory",
        "whippletree.simulate": "Simulation",
        "whippletree.studies": "Study cases resume",
    },
)  # who only computes does not wait for them


def __dir__() -> list[str]:
    return sorted(__all__)
