"""Articulated-body formulation of trees: M is never formed, the cost is linear in the bodies.

The sweeps, with their equations, are in `recursions.articulated_body`.
"""

from __future__ import annotations

from whippletree.formulations.methods.formulation import Formulation, TreeMethod
from whippletree.formulations.methods.registry import register
from whippletree.formulations.recursions import articulated_body

__all__ = ["ARTICULATED"]

ARTICULATED = register(
    Formulation(
        "articulated",
        tree=TreeMethod(
            articulated_body.forward_dynamics,
            articulated_body.driving_forces,
            articulated_body.reactions,
            rolled=frozenset({"forward_dynamics", "driving_forces", "reactions"}),
            weighed=True,
        ),
        linear=True,
    )
)
