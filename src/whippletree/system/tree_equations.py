"""How the functions are traced that any mechanism has: dynamics of its tree, motion, and what its elements do.

Dynamics are what a formulation gives, and what follows from its accelerations. Poses, velocities, energy, momentum and
coordinates follow from motion alone; forces, powers, rates of states and events are the elements' own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from whippletree.elements.joints import Joint
from whippletree.errors import StateError
from whippletree.formulations.methods.formulation import TreeMethod
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.node_tree import column
from whippletree.formulations.recursions import articulated_body, composite_body, kinematics
from whippletree.system.guards import guard, guard_locks, promised

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = [
    "acceleration",
    "body_twists",
    "center_of_mass",
    "coordinate_rates",
    "corners",
    "derivatives",
    "difference",
    "displace",
    "driving_forces",
    "element_forces",
    "element_powers",
    "element_rates",
    "energy",
    "event_values",
    "events",
    "faulty_element",
    "forward_dynamics",
    "hinge_inertias",
    "hinge_power",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "mass_matrix",
    "momentum",
    "motion_reactions",
    "node_poses",
    "pose",
    "powers",
    "reactions",
    "state_rates",
    "velocity",
    "wrench_efforts",
]


def forward_dynamics(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the joints' accelerations."""
    found = _method(request).accelerations(eq.loaded(eq.prescribed_only(x)).walk)
    if isinstance(found, tuple):
        found = guard(found[0], found[1] <= promised(request))
    return guard_locks(eq, x, found) if "q" in x else found  # a rolled walk has its own symbols, and watches inertias


def driving_forces(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts, those of prescribed joints found."""
    here, method = eq.loaded(x), _method(request)
    if method.driving_forces is None:
        a = forward_dynamics(eq, request, x)
        needed = composite_body.inverse_dynamics(with_accelerations(here.walk, a))
    else:
        needed = method.driving_forces(here.walk)
    return eq.driving(here, needed, x.get("tau", ca.SX(0, 1)))  # a rolled walk has its own symbols


def reactions(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the reactions of all joints, or of those that are asked for."""
    method = _method(request)
    if method.reactions is not None:
        found = method.reactions(eq.loaded(x, weld=False).walk)
    else:
        a = forward_dynamics(eq, request, x)
        found = composite_body.reactions(eq.loaded({**x, "a": a}, weld=False).walk)
    return eq.of_joints(request, found) if request.joints else found


def derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return accelerations, rates of the elements' states, and the powers that are dissipated and put in."""
    a = forward_dynamics(eq, request, x)
    driven = hinge_power(eq, x, driving_forces(eq, request, x)) if eq.prescribed else ca.SX(0)
    return ca.vertcat(a, element_rates(eq, x), powers(eq, x, driven))


def inverse_dynamics(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts that accelerations need; without accelerations, the bias force."""
    here = eq.loaded(x)
    left: ca.SX = here.less_efforts(composite_body.inverse_dynamics(here.walk))
    return left


def mass_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return M, row by row."""
    return composite_body.mass_matrix(eq.walk(x))


def motion_reactions(eq: Equations, request: Request, x: Symbols) -> ca.SX:
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


def wrench_efforts(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the efforts that wrenches amount to."""
    return kinematics.wrench_efforts(eq.walk(x))


def hinge_inertias(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the smallest pivot of every hinge's articulated inertia, over the least that is trusted."""
    return articulated_body.hinge_inertias(eq.walk(x))


def pose(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the pose of a body or frame, row by row."""
    index, rotation, point = eq.nodes.place(request.frame)
    kept = kinematics.Pose.ground() if index < 0 else kinematics.poses(eq.walk(x, toward=request.frame)).at(index)
    return ca.vec(kinematics.frame_pose(kept, rotation, point).T)


def node_poses(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the poses of all nodes, the rows of [R, p] of each."""
    return kinematics.pose_rows(eq.walk(x))


def body_twists(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the twists of all bodies."""
    moving, still = kinematics.twists(eq.walk(x)), ca.SX.zeros(6)
    places = [eq.node_tree().where[body.name] for body in eq.description.bodies]
    return ca.vertcat(
        *(kinematics.frame_twist(moving.at(k), column(place.point)) if k >= 0 else still for k, place in places)
    )


def velocity(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the twist of a body or frame."""
    index, _, point = eq.nodes.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_twist(kinematics.twists(eq.walk(x, toward=request.frame)).at(index), point)


def acceleration(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the acceleration of a body or frame."""
    index, _, point = eq.nodes.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_acceleration(kinematics.twist_rates(eq.walk(x, toward=request.frame)).at(index), point)


def jacobian(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the map from velocities to the twist of a body or frame, row by row."""
    index, _, point = eq.nodes.place(request.frame)
    return ca.vec(kinematics.frame_jacobian(eq.walk(x, toward=request.frame), index, point).T)


def energy(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return kinetic and potential energy."""
    here = eq.loaded(x)
    kinetic, potential = kinematics.energies(here.walk)
    potential = potential + here.powers.stored
    return ca.vertcat(kinetic, potential - ca.dot(column(eq.description.gravity), eq.nodes.grounded()[1]))


def momentum(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the momentum about the ground's origin, in ground axes."""
    return kinematics.momentum(eq.walk(x))[2]


def center_of_mass(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the centre of mass of all bodies."""
    mass, moment, _ = kinematics.momentum(eq.walk(x))
    still = eq.nodes.grounded()
    center: ca.SX = (moment + still[1]) / (mass + still[0])
    return center


def coordinate_rates(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the rates of the coordinates."""
    return _by_joint(eq, lambda joint, q, v: joint.rate_map(x["q"][q]) @ x["v"][v])


def integrate(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the configuration that a displacement leads to."""
    return _by_joint(eq, lambda joint, q, v: joint.integrate(x["q"][q], x["dv"][v]))


def difference(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the displacement between two configurations."""
    return _by_joint(eq, lambda joint, q, v: joint.difference(x["q0"][q], x["q1"][q]))


def displace(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the configuration that the displacement `u` leads to, and the rate of `u` that belongs to `v`."""
    places = _by_joint(eq, lambda joint, q, v: joint.integrate(x["q"][q], x["u"][v]))
    rates = _by_joint(eq, lambda joint, q, v: joint.displacement_rate(x["u"][v], x["v"][v]))
    return ca.SX(ca.vertcat(places, rates))


def _by_joint(eq: Equations, part: Callable[[Joint, slice, slice], ca.SX]) -> ca.SX:
    """Return what every joint that has freedoms makes of its own slices of the inputs, one after the other."""
    uses = zip(eq.description.coordinate_owners, eq.plan.coordinate_slices, strict=True)
    return ca.SX(ca.vertcat(*(part(use.joint, q, v) for use, (q, v) in uses if use.joint.nv)))


def state_rates(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the rates of the elements' states."""
    return eq.loaded(x).rates


def element_powers(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return stored energy, dissipated power and input power of the elements, not of efforts and wrenches given."""
    return ca.vertcat(*eq.loaded(x).powers)


def element_forces(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return wrenches on sides and efforts on coordinates, element by element."""
    applied = eq.loaded(x).applied
    return ca.vertcat(ca.SX(0, 1), *(part for done in applied for part in (*done.wrenches, done.efforts)))


def events(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return what events watch, one after the other."""
    return ca.vertcat(*(column[0] for column in eq.events(x)))


def corners(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the expressions whose zeros, or whole numbers, are corners of written formulas."""
    return eq.corners(x)


def event_values(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the values that events set, one after the other."""
    pairs = zip(eq.description.events, eq.events(x), strict=True)
    return ca.vertcat(ca.SX(0, 1), *(column[1 + i] for use, column in pairs for i in range(len(use.sets))))


def faulty_element(eq: Equations, state: Mapping[str, object]) -> str | None:
    """Return the force or state, in words, whose formula is not finite at a state, if there is one."""
    described = eq.description
    given: dict[str, Any] = {"z": described.state_values, "t": 0.0, "parameters": described.parameter_values}
    given |= {"tau": np.zeros(eq.plan.nv), "a": np.zeros(eq.plan.nv)}
    given |= {name: value for name, value in state.items() if value is not None}
    given.setdefault("v", np.zeros(eq.plan.nv))
    for function, names in eq.once("elements", lambda: _element_functions(eq)):
        values = function.call([given[name] for name in function.name_in()])
        for name, value in zip(names, values, strict=True):
            if not np.isfinite(value.full()).all():
                return name
    return None


def dissipated_powers(eq: Equations, states: Mapping[str, Any]) -> Any:
    """Return what each force element dissipates (n, elements) at states by name: q, v, z, t, parameters, in rows."""
    function = eq.once("dissipated", lambda: _dissipation(eq))
    if "a" in function.name_in():
        states = {**states, "a": np.zeros((1, eq.plan.nv))}
    return function(*(np.atleast_2d(states[name]).T for name in function.name_in())).full().T


def _dissipation(eq: Equations) -> ca.Function:
    """Return the power that every force element dissipates, as a function."""
    x, inputs, labels = _element_inputs(eq)
    column = ca.vertcat(*(ca.densify(ca.SX(done.dissipated)) for done in eq.loaded(x).applied))
    return ca.Function("dissipated", inputs, [eq.with_loads_solved(x, column)], labels, ["powers"])


def _element_inputs(eq: Equations) -> tuple[dict[str, ca.SX], list[ca.SX], list[str]]:
    """Return the symbols of a state, and with the parameters the inputs of functions about elements, with names."""
    described = eq.description
    sizes = {"q": eq.plan.nq, "v": eq.plan.nv, "z": len(described.states), "t": 1}
    if described.reaction_laws:
        sizes |= {"tau": eq.plan.nv, "a": eq.plan.nv}
    x = {name: eq.symbol(name, size) for name, size in sizes.items()}
    named = ca.vertcat(*(p.symbol for p in described.parameters))
    return x, [*x.values(), named], [*x, "parameters"]


def _element_functions(eq: Equations) -> list[tuple[ca.Function, list[str]]]:
    """Return what every element does and every state's rate, as functions with several results, and their words."""
    described, found = eq.description, []
    x, inputs, labels = _element_inputs(eq)
    here = eq.loaded(x)
    forces = [ca.vertcat(*done.wrenches, done.efforts) for done in here.applied]
    rates = [here.rates[i] for i in range(len(described.states))]
    for results, words in (
        (forces, [f'force "{use.name}"' for use in described.forces]),
        (rates, [f'the rate of state "{use.name}"' for use in described.states]),
    ):
        names_out = [f"o{k}" for k in range(len(results))]
        solved = [eq.with_loads_solved(x, ca.SX(result)) for result in results]
        found.append((ca.Function("elements", inputs, solved, labels, names_out), words))
    return found
