"""Velocities that are projected onto conditions keep their kinetic energy."""

from __future__ import annotations

import casadi as ca

__all__ = ["kept_energy"]

_MOST_TAKEN = 0.5
"""Velocities that keep less of their kinetic energy in a projection did not move as the conditions say at all."""


def kept_energy(before: ca.SX, after: ca.SX) -> ca.SX:
    """Return the factor that restores the kinetic energy of projected velocities; one if projection took most of it.

    >>> [round(float(kept_energy(ca.SX(4.04), ca.SX(after))), 6) for after in (4.0, 0.0)]
    [1.004988, 1.0]
    """
    much = after > _MOST_TAKEN * before
    return ca.SX(ca.if_else(much, ca.sqrt(before / ca.if_else(much, after, 1)), 1))
