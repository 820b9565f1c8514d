"""What the engine says of the mechanisms of `hard_loops`, for every formulation: the right number, or words.

The evaluator is CasADi's, as in `loop_agreement`; where a kernel would give a state up, the system solves it another
way or refuses it, and so it does here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import whippletree as wt
from support.formulations import TREE_VARIANTS, general
from support.hard_loops import Hard
from support.loop_models import built, inputs
from whippletree.errors import WhippletreeError
from whippletree.formulations.methods import registry

Array = np.ndarray

PENALTY = 1e-4
"""The relative error that `penalty` promises, or else it refuses a state."""


def formulations(s: wt.System) -> tuple[str, ...]:
    """All that solve a system, `auto` first."""
    loops = tuple(one.text for one in general(registry.loop_formulations()) if one.text != "by_group")
    return ("auto", *(loops if s.closure_rows else TREE_VARIANTS))


def state(s: wt.System, h: Hard) -> tuple[Array, Array]:
    """The case's state, or the one near by that the system takes for closed."""
    looped, c = h.case.looped, h.case
    if looped.notes.get("rounded"):
        return s.q0, s.consistent_velocities(s.q0, c.v)
    return c.q, c.v


def acceleration(s: wt.System, h: Hard, formulation: str) -> Array:
    """What a call would return, without machine code; it raises what a call would raise."""
    q, v = state(s, h)
    if s.closure_rows:
        loops = s.kernels.loops
        loops.consistency.check(q, v, loops.conditions(h.case.looped.t))
    function = s.function("forward_dynamics", formulation=formulation)
    found = np.array(function(*inputs(function, {"q": q, "v": v, "tau": h.case.tau, "t": [h.case.looped.t]}))).ravel()
    if np.isfinite(found).all():
        return found
    if not s.closure_rows:
        raise wt.DynamicsError("not finite")
    at = {"q": q, "v": v, "tau": h.case.tau, "t": np.array([h.case.looped.t])}
    return s._engine.loops.fallback.accelerations(at)


def compiled_acceleration(s: wt.System, h: Hard, formulation: str) -> Array:
    """The same by machine code, as users call it."""
    q, v = state(s, h)
    return np.asarray(s.forward_dynamics(q, v, h.case.tau, t=h.case.looped.t, formulation=formulation))


def verdicts(h: Hard, call: Callable[[wt.System, Hard, str], Array] = acceleration) -> dict[str, str]:
    """For each formulation "right", "words: ..." or "WRONG ...", with the error and what is allowed."""
    try:
        s = built(h.case.looped)
    except WhippletreeError as error:
        return {"build": f"words: {error}"}
    mobility = h.case.equations.mobility
    found = {
        "mobility": "right" if s.mobility.mobility == mobility else f"WRONG: {s.mobility.mobility}, not {mobility}"
    }
    for name in formulations(s):
        try:
            a = call(s, h, name)
        except WhippletreeError as words:
            found[name] = f"words: {words}"
            continue
        allowed = max(h.allowed, PENALTY) if "penalty" in name else h.allowed
        found[name] = judged(h, a, allowed)
    return found


def judged(h: Hard, a: Array, allowed: float) -> str:
    """Whether accelerations are right; where the mechanism has none, no number is."""
    if h.singular:
        return f"WRONG: accelerations of {np.abs(a).max():.1e} where there are none, condition {h.condition:.1e}"
    error = h.error(a)
    return "right" if error <= allowed else f"WRONG by {error:.1e}, allowed {allowed:.1e}, condition {h.condition:.1e}"


def reaction_errors(s: wt.System, h: Hard, i: int) -> float:
    """What reactions leave of the balance of bodies and joints, by one of the formulations that answer here.

    Where a kernel gives the state up nothing is said: see `acceleration`.
    """
    names, c = formulations(s), h.case
    soft = [name for name in names if "penalty" in name]
    name = [name for name in names if name not in soft][i % (len(names) - len(soft))]
    function = s.function("reactions", formulation=name)
    given = {"q": c.q, "v": c.v, "tau": c.tau, "t": [c.looped.t]}
    found = np.array(function(*inputs(function, given))).reshape(-1, 6)
    if not np.isfinite(found).all():
        return 0.0
    rest = c.equations.imbalance(c.solution.x, dict(zip(s.joint_names, found, strict=True)), c.tau)
    return max(rest.bodies, rest.joints)
