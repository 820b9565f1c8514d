"""Tolerances of the checks that a description goes through, each relative."""

from __future__ import annotations

__all__ = ["AFFINE", "ENERGY_SLOPE", "SYMMETRIC"]

SYMMETRIC = 1e-9
"""How far a matrix may be from symmetric, and its eigenvalues below zero, as a share of its largest entry: what a
matrix loses that was written down with ten digits."""

AFFINE = 1e-9
"""How far a velocity-only expression may be from its tangent: rounding, with room for long expressions."""

ENERGY_SLOPE = 1e-6
"""How far a force law may be from the derivative of its energy: a law may be given in few digits."""
