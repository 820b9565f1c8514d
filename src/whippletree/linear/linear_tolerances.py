"""Tolerances of linearization, each with the quantity it bounds and its reason."""

from __future__ import annotations

ROUNDING = 2.2e-16
"""The spacing of doubles at one."""

ENTRY_ERROR = 64.0
"""How many roundings an entry of a linear model is off, relative to the largest of its row: derivatives are exact
formulas, and the mass matrix is solved once with a condition number of some tens."""

ZERO_SHARE = 1e-12
"""Singular values of a scaled state matrix below this share of the largest are zero: a rigid-body motion. A slow mode
has (slow / fast frequency)^2 there, so that modes a million times slower than the fastest count as rigid; their
eigenvalues would have no correct digit either."""

SYMMETRIC = 1e-10
"""A stiffness matrix is symmetric, and damping absent, up to this share of the largest entries: forces that have no
potential are seldom so weak, and derivatives of those that have one are symmetric up to rounding."""

SHOWN_SHARE = 1e-6
"""Entries of a mode's shape below this share of the largest are not named in tables."""

STEADY = 1e-9
"""A state counts as steady in words if no rate is more than this: metres or radians per second squared."""
