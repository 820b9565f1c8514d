"""What is asked of a system: a function, a formulation, and what it is about."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.formulations.methods.formulation import Formulation
from whippletree.formulations.methods.registry import find

__all__ = ["Request", "Symbols"]

Symbols = dict[str, ca.SX]
"""The symbols of a function's inputs, by name."""


@dataclass(frozen=True)
class Request:
    """What is asked for.

    `formulation` is the text of one, or "auto" until that is decided; `frame` is what a kinematic function is about,
    and `wrenches` lists the frames that carry wrenches.

    >>> Request("forward_dynamics", "penalty").method.exact
    False
    """

    function: str
    formulation: str = "auto"
    frame: str = ""
    wrenches: tuple[str, ...] = ()
    check: bool = False
    baumgarte: tuple[float, float] = (0.0, 0.0)

    @property
    def method(self) -> Formulation:
        """The formulation, once it is decided."""
        return find(self.formulation)
