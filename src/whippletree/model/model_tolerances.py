"""Tolerances of the checks that a description goes through, each relative."""

from __future__ import annotations

__all__ = ["AFFINE", "ENERGY_SLOPE", "SAME_PLACE", "SYMMETRIC"]

SYMMETRIC = 1e-9
"""How far a matrix may be from symmetric, and its eigenvalues below zero, as a share of its largest entry: what a
matrix loses that was written down with ten digits."""

AFFINE = 1e-9
"""How far a velocity-only expression may be from its tangent: rounding, with room for long expressions."""

ENERGY_SLOPE = 1e-6
"""How far a force law may be from the derivative of its energy: a law may be given in few digits."""

SAME_PLACE = 1e-6
"""How far two frames may be apart that are meant to coincide at zero coordinates, in radians and as a share of the
distances: the accuracy of data that loops are built with unless told otherwise."""
