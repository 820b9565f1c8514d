"""What a person describes: a mechanism of named bodies, joints, closures, frames and parameters."""

from whippletree.model.description import GROUND, Body, ClosureUse, Description, Frame, JointUse, Parameter
from whippletree.model.handles import BodyHandle, ClosureHandle, FrameHandle, JointHandle
from whippletree.model.mechanism import Mechanism

__all__ = [
    "GROUND",
    "Body",
    "BodyHandle",
    "ClosureHandle",
    "ClosureUse",
    "Description",
    "Frame",
    "FrameHandle",
    "JointHandle",
    "JointUse",
    "Mechanism",
    "Parameter",
]
