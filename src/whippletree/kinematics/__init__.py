"""Kinematics as an engineer asks it: many assemblies at once, inverse kinematics, sweeps, actuation, workspaces."""

from whippletree.kinematics.batch_assembly import Assemblies

__all__ = ["Assemblies"]
