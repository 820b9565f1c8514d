"""Tolerances and limits of numbers in this room, in one place."""

from __future__ import annotations

__all__ = ["CONSISTENT", "SMALLEST_PIVOT", "WATCHED", "WELL_CONDITIONED"]

CONSISTENT = 1e-6
"""How far positions (radians, characteristic lengths) may miss the closures, and velocities relative to 1/s + |v|."""

WATCHED = 1e-8
"""The share of a pivot's size where the plan was made below which a solution is not trusted."""

SMALLEST_PIVOT = 1e-14
"""A hinge's inertia below this share of what hangs on it is none: what is left is rounding."""

WELL_CONDITIONED = 1e4
"""The condition number of a scaled mass matrix up to which it is factorised rather than swept over."""
