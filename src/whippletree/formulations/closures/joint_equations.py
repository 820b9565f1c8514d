"""Where a method in joint coordinates takes its equations from: those of the tree, and the rows of the closures.

The methods that close the loops (multipliers, penalty, independent coordinates) are the same whether M and C come from
composite bodies (`JOINT`) or from a velocity transformation (Garcia de Jalon and Bayo 8.114, Nikravesh 14-15).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState, jacobian_rows
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.formulations.recursions.composite_body import JointEquations

__all__ = ["JOINT", "Closures", "Coordinates"]

Closures = tuple[list[ClosureState], list[dict[int, ca.SX]]]
"""The closures at a state, `second` for the nodes' accelerations, and their rows C on the tree's velocities."""


@dataclass(frozen=True)
class Coordinates:
    """The tree's equations at the nodes' accelerations, and the closures with their rows."""

    equations: Callable[[Unrolled], JointEquations]
    closures: Callable[[Unrolled, ClosureSet], Closures]


def _closures(walk: Unrolled, closure_set: ClosureSet) -> Closures:
    closure_states = closure_set.evaluate(walk)
    return closure_states, jacobian_rows(walk, closure_states)


JOINT = Coordinates(composite.equations, _closures)
"""Composite bodies and rows carried inward, in node axes."""
