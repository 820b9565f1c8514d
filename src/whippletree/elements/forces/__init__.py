"""Forces on bodies and joints: springs, friction, stops, contacts, actuators and loads. One type per file."""

from whippletree.elements.declaration import part, quantity, unit_axis
from whippletree.elements.forces.actuator import Actuator
from whippletree.elements.forces.base import (
    MOMENT_AND_FORCE,
    ElementForces,
    ElementState,
    ExpressionLike,
    ExpressionVector,
    Force,
    Law,
    Line,
    on_coordinate,
    pure_force,
    stretch,
)
from whippletree.elements.forces.bearing_friction import RUBBING, BearingFriction
from whippletree.elements.forces.box_contact import BoxContact
from whippletree.elements.forces.bushing import Bushing
from whippletree.elements.forces.capsule_contact import CapsuleContact
from whippletree.elements.forces.contact import Contact
from whippletree.elements.forces.formula import Formula
from whippletree.elements.forces.friction import Friction
from whippletree.elements.forces.law_spring import LawSpring
from whippletree.elements.forces.limit import Limit
from whippletree.elements.forces.load import Load
from whippletree.elements.forces.spring import Spring
from whippletree.elements.forces.torsion_spring import TorsionSpring
from whippletree.elements.forces.tyre import Tyre

__all__ = [
    "MOMENT_AND_FORCE",
    "RUBBING",
    "Actuator",
    "BearingFriction",
    "BoxContact",
    "Bushing",
    "CapsuleContact",
    "Contact",
    "ElementForces",
    "ElementState",
    "ExpressionLike",
    "ExpressionVector",
    "Force",
    "Formula",
    "Friction",
    "Law",
    "LawSpring",
    "Limit",
    "Line",
    "Load",
    "Spring",
    "TorsionSpring",
    "Tyre",
    "on_coordinate",
    "part",
    "pure_force",
    "quantity",
    "stretch",
    "unit_axis",
]
