"""Kinematics as an engineer asks it: many assemblies at once, inverse kinematics, sweeps, actuation, workspaces."""

from whippletree.kinematics.actuation import Actuation, actuation
from whippletree.kinematics.allowed_motions import mobility_at
from whippletree.kinematics.batch_assembly import Assemblies, assemble_batch
from whippletree.kinematics.body_stations import station_jacobians, station_poses
from whippletree.kinematics.inverse_kinematics import PoseSolutions
from whippletree.kinematics.joint_sweeps import JointSweep, SingularInput, SweepEnd
from whippletree.kinematics.workspaces import Workspace, workspace

__all__ = [
    "Actuation",
    "Assemblies",
    "JointSweep",
    "PoseSolutions",
    "SingularInput",
    "SweepEnd",
    "Workspace",
    "actuation",
    "assemble_batch",
    "mobility_at",
    "station_jacobians",
    "station_poses",
    "workspace",
]
