"""Tolerances of the checks that a description goes through, each relative."""

from __future__ import annotations

__all__ = ["AFFINE", "SAME_PLACE"]

AFFINE = 1e-9
"""How far a velocity-only expression may be from its tangent: rounding, with room for long expressions."""

SAME_PLACE = 1e-6
"""How far two frames may be apart that are meant to coincide at zero coordinates, in radians and as a share of the
distances: the accuracy of data that loops are built with unless told otherwise."""
