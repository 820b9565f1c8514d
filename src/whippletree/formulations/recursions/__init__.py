"""Recursions over the tree: articulated body, composite body, kinematics, derivatives."""
