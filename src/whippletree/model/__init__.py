"""A mechanism as a person describes it: named bodies, joints, closures, forces, frames and parameters."""

from whippletree.model.catalogue import register
from whippletree.model.description import (
    GROUND,
    Body,
    ClosureUse,
    Description,
    ForceUse,
    Frame,
    JointUse,
    Parameter,
    StateUse,
)
from whippletree.model.handles import BodyHandle, ClosureHandle, ForceHandle, FrameHandle, JointHandle
from whippletree.model.mechanism import Mechanism

__all__ = [
    "GROUND",
    "Body",
    "BodyHandle",
    "ClosureHandle",
    "ClosureUse",
    "Description",
    "ForceHandle",
    "ForceUse",
    "Frame",
    "FrameHandle",
    "JointHandle",
    "JointUse",
    "Mechanism",
    "Parameter",
    "StateUse",
    "register",
]
