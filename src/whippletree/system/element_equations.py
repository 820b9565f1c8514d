"""How the functions are traced that tell what elements do: forces, powers, rates of their states, events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.system.request import Request, Symbols

if TYPE_CHECKING:
    from whippletree.system.equations import Equations

__all__ = ["element_forces", "element_powers", "event_values", "events", "state_rates"]


def state_rates(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the rates of the elements' states."""
    return eq.loaded(x).rates


def element_powers(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return stored energy, dissipated power and input power of the elements, not of efforts and wrenches given."""
    return ca.vertcat(*eq.loaded(x).powers)


def element_forces(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return wrenches on sides and efforts on coordinates, element by element."""
    applied = eq.loaded(x).applied
    return ca.vertcat(ca.SX(0, 1), *(part for done in applied for part in (*done.wrenches, done.efforts)))


def events(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return what events watch, one after the other."""
    return ca.vertcat(*(column[0] for column in eq.events(x)))


def event_values(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the values that events set, one after the other."""
    pairs = zip(eq.description.events, eq.events(x), strict=True)
    return ca.vertcat(ca.SX(0, 1), *(column[1 + i] for use, column in pairs for i in range(len(use.sets))))
