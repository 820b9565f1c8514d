"""Composite-body formulation of trees: M from composite inertias, b by Newton and Euler, M a = tau - b factorised.

The sweeps, with their equations, are in `recursions.composite_body`.
"""

from __future__ import annotations

from whippletree.formulations.methods.formulation import Formulation, TreeMethod
from whippletree.formulations.methods.registry import register
from whippletree.formulations.recursions import composite_body

__all__ = ["COMPOSITE"]

COMPOSITE = register(
    Formulation(
        "composite",
        tree=TreeMethod(
            composite_body.forward_dynamics, rolled=frozenset({"forward_dynamics"}), in_pieces=True, weighed=True
        ),
    )
)
