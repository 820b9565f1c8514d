"""How the dynamics of trees are traced: what a formulation gives, and what follows from its accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.methods.formulation import TreeMethod
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.recursions import composite_body
from whippletree.system.request import Request, Symbols

if TYPE_CHECKING:
    from whippletree.system.equations import Equations

__all__ = [
    "derivatives",
    "driving_forces",
    "element_rates",
    "forward_dynamics",
    "hinge_power",
    "inverse_dynamics",
    "mass_matrix",
    "motion_reactions",
    "powers",
    "reactions",
]


def forward_dynamics(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the joints' accelerations."""
    return _method(request).accelerations(eq.loaded(eq.prescribed_only(x)).walk)


def driving_forces(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the efforts, those of prescribed joints found."""
    here, method = eq.loaded(x), _method(request)
    if method.driving_forces is None:
        a = forward_dynamics(eq, request, x)
        needed = composite_body.inverse_dynamics(with_accelerations(here.walk, a))
    else:
        needed = method.driving_forces(here.walk)
    return eq.driving(here, needed, x.get("tau", ca.SX(0, 1)))  # a rolled walk has its own symbols


def reactions(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the reactions of all joints."""
    method = _method(request)
    if method.reactions is not None:
        return method.reactions(eq.loaded(x, weld=False).walk)
    a = forward_dynamics(eq, request, x)
    return composite_body.reactions(eq.loaded({**x, "a": a}, weld=False).walk)


def derivatives(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return accelerations, rates of the elements' states, and the powers that are dissipated and put in."""
    a = forward_dynamics(eq, request, x)
    driven = hinge_power(eq, x, driving_forces(eq, request, x)) if eq.prescribed else ca.SX(0)
    return ca.vertcat(a, element_rates(eq, x), powers(eq, x, driven))


def inverse_dynamics(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the efforts that accelerations need; without accelerations, the bias force."""
    here = eq.loaded(x)
    return here.less_efforts(composite_body.inverse_dynamics(here.walk))


def mass_matrix(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return M, row by row."""
    return composite_body.mass_matrix(eq.walk(x))


def motion_reactions(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the reactions in a motion with accelerations given."""
    return composite_body.reactions(eq.loaded(x, weld=False).walk)


def hinge_power(eq: Equations, x: Symbols, efforts: ca.SX) -> ca.SX:
    """Return the power that prescribed joints put in, beyond that of the efforts given."""
    mask = ca.DM([float(given) for given in eq.prescribed_mask])
    return ca.dot(mask * (efforts - x["tau"]), x["v"])


def element_rates(eq: Equations, x: Symbols) -> ca.SX:
    """Return the rates of the elements' states."""
    return eq.loaded(x).rates if eq.description.states else ca.SX(0, 1)


def powers(eq: Equations, x: Symbols, driven: ca.SX) -> ca.SX:
    """Return the powers that are dissipated and put in, that of drives given, if there is anything that has any."""
    if not eq.description.powered:
        return ca.SX(0, 1)
    of_elements = eq.loaded(x).powers
    return ca.SX(ca.vertcat(of_elements.dissipated, of_elements.supplied + driven))


def _method(request: Request) -> TreeMethod:
    """Return how the formulation solves trees."""
    method = request.method.tree
    if method is None:
        raise StateError(f'formulation "{request.formulation}" does not solve trees')
    return method
