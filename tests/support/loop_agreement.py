"""Formulations of loops against each other and against equations in absolute coordinates in plain NumPy.

Without names, all formulations are compared that are registered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

import whippletree as wt
from support.formulations import exact, variants
from support.loop_models import inputs
from support.measures import relative
from support.random_loops import Case
from whippletree.formulations.methods import find
from whippletree.system import loop_equations
from whippletree.system.equations import Request

__all__ = ["accelerations", "assert_close", "computed", "estimated", "given", "reactions"]

Array = np.ndarray

TOLERANCE = 1e-9


def assert_close(found: dict[str, float], tolerance: float = TOLERANCE) -> None:
    assert found
    far = {name: f"{value:.2e}" for name, value in found.items() if not value < tolerance}
    assert not far, far


def given(c: Case) -> dict[str, Any]:
    """A case's state and loads by the names that functions give their inputs."""
    loads = {f"wrench_on_{name.replace(' ', '_')}": wrench for name, wrench in c.loads.items()}
    return {"q": c.q, "v": c.v, "tau": c.tau, "t": [c.looped.t], **loads}


def computed(s: wt.System, c: Case, name: str, formulation: str) -> Array:
    """A function's value by CasADi's evaluator."""
    function = s.function(name, formulation=formulation, wrenches=list(c.loads))
    return np.array(function(*inputs(function, given(c)))).ravel()


def estimated(s: wt.System, c: Case, formulation: str) -> tuple[float, Array]:
    """The error that the formulation expects of its own accelerations, and these, before anything is refused."""
    eq = s._engine.equations
    request = Request("forward_dynamics", find(formulation).text, "", tuple(c.loads))
    x = eq.inputs(request)
    names = [name for name, _ in eq.signature(request).inputs]
    error = loop_equations.solution(eq, request, x).error
    found = ca.vertcat(error, loop_equations.answer(eq, request, x).a)
    function = ca.Function("f", [x[name] for name in names], [found], [n.replace(" ", "_") for n in names], ["found"])
    values = np.array(function(*inputs(function, given(c)))).ravel()
    return float(values[0]), values[1:]


def accelerations(s: wt.System, c: Case, names: Sequence[str] = ()) -> dict[str, float]:
    """Differences from the reference and among the formulations, relative."""
    names = names or variants()
    got = {name: computed(s, c, "forward_dynamics", name) for name in names}
    first = got[names[0]]
    found = {f"accelerations, {name}": relative(a[None], c.a[None]) for name, a in got.items()}
    return found | {f"accelerations, {name} from {names[0]}": relative(a[None], first[None]) for name, a in got.items()}


def reactions(s: wt.System, c: Case, names: Sequence[str] = ()) -> dict[str, float]:
    """What each formulation's reactions leave of the balance of every body, and unique ones against the reference."""
    e, found, length = c.equations, {}, s.kernels.closures.characteristic_length
    unique, expected = e.unique(length), c.solution.reactions(length)
    scale = max(np.abs(r).max() for r in expected.values())
    for name in names or tuple(dict.fromkeys(one.name for one in exact())):
        wrenches = computed(s, c, "reactions", name).reshape(-1, 6)
        got = dict(zip(s.joint_names, wrenches, strict=True))
        rest = e.imbalance(c.solution.x, got, c.tau, c.loads)
        found[f"balance of bodies, {name}"] = rest.bodies
        found[f"efforts of joints, {name}"] = rest.joints
        far = [np.abs(got[joint] - expected[joint])[unique[joint]].max(initial=0.0) for joint in got]
        found[f"unique reactions, {name}"] = max(far) / scale
    return found
