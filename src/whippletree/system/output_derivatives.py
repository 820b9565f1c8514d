"""How derivatives of a mechanism's results are traced: poses, energies, reactions, forces of elements, closures.

A result is an expression Y of the state, of the accelerations and of the closures' multipliers. CasADi differentiates
it by each of these; what they do when an independent coordinate, an effort, time or a parameter changes is known
(`derivative_equations`), and so, with columns of the same meaning,

    dY = Y_q dq + Y_v dv + Y_a da + Y_lambda dlambda + what the change does by itself
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.formulations.closures import loop_results
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.recursions import composite_body
from whippletree.symbolic.dense_factors import factor, solve_factored
from whippletree.system import loop_equations, tree_equations
from whippletree.system.derivative_columns import derivative_columns
from whippletree.system.derivative_equations import ChangesOfMotion, changes_of_motion, guarded

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = ["by_displacements", "reactions_of_motion", "result_derivatives"]

Result = Callable[["Equations", "Request", "Symbols"], Any]


def result_derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the derivatives of the result that a request is about, one row for each of its numbers."""
    if request.function == _JOINT_MOTION:
        return _joint_motion(eq, request, x)
    solved = request.function in _SOLVED
    result = _SOLVED[request.function] if solved else _OF_STATE[request.function]
    if eq.description.reaction_laws:
        return _with_loads(eq, request, x, result)
    nv = eq.plan.nv
    n_rows = eq.loop_plan.n_rows if eq.closed else 0
    kept = {**x, "a": ca.SX.sym("a", nv), "multipliers": ca.SX.sym("multipliers", n_rows)}
    Y = ca.SX(ca.densify(ca.vec(result(eq, request, kept))))
    changes = changes_of_motion(eq, request, x, solved=solved, multipliers=ca.depends_on(Y, kept["multipliers"]))
    whole = _of_state(eq, x, Y, changes)
    whole = whole + ca.jacobian(Y, kept["a"]) @ changes.da + ca.jacobian(Y, kept["multipliers"]) @ changes.dl
    if changes.motion is not None:
        values = ca.densify(ca.vertcat(changes.motion.a, *changes.motion.multipliers))
        whole = ca.substitute(whole, ca.vertcat(kept["a"], kept["multipliers"]), values)
    return guarded(eq, request, x, changes.motion, changes.follower, ca.densify(ca.vec(whole.T)))


def _of_state(eq: Equations, x: Symbols, Y: ca.SX, changes: ChangesOfMotion) -> ca.SX:
    """Return what an expression of the state does in each column, by displacements, by velocities, and by itself."""
    columns, none = derivative_columns(eq), ca.SX(0, 1)
    at = columns.slices()
    direct = {
        "tau": x["tau"],
        "t": x.get("t", none),
        "z": x.get("z", none),
        "parameters": ca.vertcat(none, *(parameter.symbol for parameter in eq.description.parameters)),
    }
    whole = ca.SX(by_displacements(eq, Y, x["q"]) @ changes.dq + ca.jacobian(Y, x["v"]) @ changes.dv)
    for kind, symbol in direct.items():
        if at[kind].stop > at[kind].start:
            whole[:, at[kind]] += ca.jacobian(Y, symbol)
    return whole


def _with_loads(eq: Equations, request: Request, x: Symbols, result: Result) -> ca.SX:
    """Return derivatives of a result where forces depend on reactions: all is a function of the state and the loads.

    Accelerations and multipliers are expressions of these, and the loads' changes follow from (2) of `reaction_laws`.
    """
    from whippletree.system.reaction_laws import load_slopes  # only some mechanisms need it

    motion = replace(request, function="forward_dynamics", formulation=_PLAIN[eq.closed], check=False, joints=())
    kept = {**x, "a": _accelerations(eq, motion, x), "multipliers": ca.SX(0, 1)}
    if eq.closed:
        kept["multipliers"] = loop_equations.closure_efforts(eq, motion, x)
    laws = load_slopes(eq, motion, x)
    Y = ca.densify(ca.vec(ca.SX(result(eq, request, kept))))
    Y = ca.SX(ca.substitute(Y, eq.load_symbols[1], laws.r))
    changes = changes_of_motion(eq, request, x, solved=False)
    whole = _of_state(eq, x, ca.vertcat(Y, laws.g), changes)
    given = derivative_columns(eq)
    if given.prescribed:
        whole[:, given.slices()["a"]] += ca.jacobian(ca.vertcat(Y, laws.g), x["a"])[:, list(given.prescribed)]
    own, of_loads = whole[: Y.numel(), :], whole[Y.numel() :, :]
    whole = own + ca.jacobian(Y, laws.loads) @ laws.changes(ca.densify(of_loads))
    return guarded(eq, request, x, None, changes.follower, ca.densify(ca.vec(whole.T)))


def _accelerations(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    trace = loop_equations.forward_dynamics if eq.closed else tree_equations.forward_dynamics
    return ca.SX(trace(eq, request, x))


_PLAIN = {False: "articulated", True: "independent_coordinates"}
"""The formulation by which accelerations are an expression, of trees and of loops."""


def _joint_motion(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return what the displacements and the velocities of all joints do."""
    changes = changes_of_motion(eq, request, x, solved=False)
    whole = ca.vertcat(changes.dq, changes.dv)
    return guarded(eq, request, x, None, changes.follower, ca.densify(ca.vec(whole.T)))


def by_displacements(eq: Equations, Y: ca.SX, q: ca.SX) -> ca.SX:
    """Return the derivatives for displacements of all joints."""
    blocks = [
        use.joint.rate_map(q[where])
        for use, (where, _) in zip(eq.description.coordinate_owners, eq.plan.coordinate_slices, strict=True)
        if use.joint.nv
    ]
    return ca.jacobian(Y, q) @ ca.SX(ca.diagcat(*blocks))


# ---------------------------------------------------------------------- results that need accelerations


def _answer(eq: Equations, x: Symbols, *, weld: bool) -> tuple[Any, Any, loop_results.Answer]:
    """Return the loaded walk, the closures, and accelerations and multipliers as an answer."""
    closure_set = eq.closure_set(x, weld=weld)
    here = eq.loaded(x, weld=weld)
    states = closure_set.evaluate(here.walk)
    multipliers = by_closure(ca.vertsplit(x["multipliers"]), states)
    solution = Solution(x["a"], lambda: multipliers, ())
    return here, closure_set, loop_results.Answer(here.walk, closure_set, solution)


def reactions_of_motion(eq: Equations, x: Symbols) -> ca.SX:
    """Return the reactions for accelerations and multipliers of the kept rows that are given."""
    if not eq.closed:
        return ca.SX(composite_body.reactions(eq.loaded(x, weld=False).walk))
    here, closure_set, answer = _answer(eq, x, weld=False)
    order = loop_equations.joint_order(eq)
    return loop_results.reactions(here.walk, closure_set, here.tau, answer, order, here.walk)


def _reactions(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions; of those that redundancy leaves open, the ones of least norm."""
    found = reactions_of_motion(eq, x)
    if not (eq.closed and eq.size("n_redundant")):
        return found
    here, closure_set, _ = _answer(eq, x, weld=False)
    order = loop_equations.joint_order(eq)
    whole = eq.closure_set(x, weld=False, kept=False)
    Z, _ = loop_results.self_stresses(here.walk, closure_set, whole, eq.loop_plan.choice, order)
    weight = ca.repmat(ca.vertcat(ca.DM.ones(3) / eq.loop_plan.lengths.mechanism**2, ca.DM.ones(3)), Z.shape[0] // 6, 1)
    weighted = ca.densify(Z * ca.repmat(weight, 1, Z.shape[1]))
    share = solve_factored(factor(ca.densify(weighted.T @ Z)), ca.densify(weighted.T @ found))
    return ca.SX(found - Z @ share)


def _driving_forces(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    if not eq.closed:
        here = eq.loaded(x)
        return eq.driving(here, composite_body.inverse_dynamics(with_accelerations(here.walk, x["a"])), x["tau"])
    here, closure_set, answer = _answer(eq, x, weld=True)
    return eq.driving(here, loop_results.driving_forces(here.walk, closure_set, here.tau, answer), x["tau"])


def _closure_efforts(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    return x["multipliers"]


_SOLVED: dict[str, Result] = {
    "reactions_derivatives": _reactions,
    "driving_forces_derivatives": _driving_forces,
    "closure_efforts_derivatives": _closure_efforts,
    "acceleration_derivatives": tree_equations.acceleration,
    "forward_dynamics_derivatives": lambda eq, request, x: x["a"],
}
_OF_STATE: dict[str, Result] = {
    "closure_residual_derivatives": loop_equations.closure_residual,
    "closure_jacobian_derivatives": loop_equations.closure_jacobian,
    "pose_derivatives": tree_equations.pose,
    "velocity_derivatives": tree_equations.velocity,
    "energy_derivatives": tree_equations.energy,
    "momentum_derivatives": tree_equations.momentum,
    "center_of_mass_derivatives": tree_equations.center_of_mass,
    "state_rates_derivatives": tree_equations.state_rates,
    "powers_derivatives": tree_equations.element_powers,
    "element_forces_derivatives": tree_equations.element_forces,
}
"""The results by the names of their derivatives: those that need the accelerations, and those that do not."""

_JOINT_MOTION = "joint_motion_derivatives"
