"""Kinematics as an engineer asks it: many assemblies at once, inverse kinematics, sweeps, actuation, workspaces."""

from whippletree.kinematics.actuation import Actuation
from whippletree.kinematics.batch_assembly import Assemblies
from whippletree.kinematics.inverse_kinematics import PoseSolutions
from whippletree.kinematics.joint_sweeps import JointSweep, SingularInput, SweepEnd
from whippletree.kinematics.workspaces import Workspace

__all__ = ["Actuation", "Assemblies", "JointSweep", "PoseSolutions", "SingularInput", "SweepEnd", "Workspace"]
