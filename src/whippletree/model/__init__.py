"""What a person describes: a mechanism of named bodies, joints, frames and parameters."""

from whippletree.model.description import GROUND, Body, Description, Frame, JointUse, Parameter
from whippletree.model.handles import BodyHandle, FrameHandle, JointHandle
from whippletree.model.mechanism import Mechanism

__all__ = [
    "GROUND",
    "Body",
    "BodyHandle",
    "Description",
    "Frame",
    "FrameHandle",
    "JointHandle",
    "JointUse",
    "Mechanism",
    "Parameter",
]
