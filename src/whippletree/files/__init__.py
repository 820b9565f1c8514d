"""Model files of the world: URDF, SDF, MJCF, USD, OpenSim and Adams, read by content; URDF, SDF and MJCF written."""

from whippletree.files.read_and_write import read, write

__all__ = ["read", "write"]
