"""Kinematics as an engineer asks it: many assemblies at once, inverse kinematics, sweeps, actuation, workspaces."""

from whippletree.kinematics.actuation import Actuation
from whippletree.kinematics.batch_assembly import Assemblies
from whippletree.kinematics.joint_sweeps import JointSweep, SingularInput

__all__ = ["Actuation", "Assemblies", "JointSweep", "SingularInput"]
