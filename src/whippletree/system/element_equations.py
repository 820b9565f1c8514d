"""How the functions are traced that tell what elements do: forces, powers, rates of their states, events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from whippletree.system.request import Request, Symbols

if TYPE_CHECKING:
    from whippletree.system.equations import Equations

__all__ = ["corners", "element_forces", "element_powers", "event_values", "events", "faulty_element", "state_rates"]


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


def corners(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the expressions whose zeros, or whole numbers, are corners of written formulas."""
    return eq.corners(x)


def event_values(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the values that events set, one after the other."""
    pairs = zip(eq.description.events, eq.events(x), strict=True)
    return ca.vertcat(ca.SX(0, 1), *(column[1 + i] for use, column in pairs for i in range(len(use.sets))))


def faulty_element(eq: Equations, state: Mapping[str, Any]) -> str | None:
    """Return the force or state, in words, whose formula is not finite at a state, if there is one."""
    described = eq.description
    given: dict[str, Any] = {"z": described.state_values, "t": 0.0, "parameters": described.parameter_values}
    given |= {name: value for name, value in state.items() if value is not None}
    given.setdefault("v", np.zeros(eq.plan.nv))
    for function, names in eq.once("elements", lambda: _element_functions(eq)):
        values = function.call([given[name] for name in function.name_in()])
        for name, value in zip(names, values, strict=True):
            if not np.isfinite(value.full()).all():
                return name
    return None


def _element_functions(eq: Equations) -> list[tuple[ca.Function, list[str]]]:
    """Return what every element does and every state's rate, as functions with several results, and their words."""
    described, found = eq.description, []
    sizes = {"q": eq.plan.nq, "v": eq.plan.nv, "z": len(described.states), "t": 1}
    x = {name: eq.symbol(name, size) for name, size in sizes.items()}
    here = eq.loaded(x)
    forces = [ca.vertcat(*done.wrenches, done.efforts) for done in here.applied]
    rates = [here.rates[i] for i in range(len(described.states))]
    named = ca.vertcat(*(p.symbol for p in described.parameters))
    inputs, labels = [*x.values(), named], [*x, "parameters"]
    for results, words in (
        (forces, [f'force "{use.name}"' for use in described.forces]),
        (rates, [f'the rate of state "{use.name}"' for use in described.states]),
    ):
        names_out = [f"o{k}" for k in range(len(results))]
        found.append((ca.Function("elements", inputs, results, labels, names_out), words))
    return found
