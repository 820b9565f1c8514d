"""How the functions are traced that follow from motion alone: poses, velocities, energy, momentum, coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.elements.joints import Joint
from whippletree.formulations.nodes.node_tree import column
from whippletree.formulations.recursions import articulated_body, kinematics
from whippletree.system.request import Request, Symbols

if TYPE_CHECKING:
    from whippletree.system.equations import Equations

__all__ = [
    "acceleration",
    "center_of_mass",
    "coordinate_rates",
    "difference",
    "displace",
    "energy",
    "hinge_inertias",
    "integrate",
    "jacobian",
    "momentum",
    "pose",
    "velocity",
    "wrench_efforts",
]


def wrench_efforts(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the efforts that wrenches amount to."""
    return kinematics.wrench_efforts(eq.walk(x))


def hinge_inertias(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the smallest pivot of every hinge's articulated inertia, over the least that is trusted."""
    return articulated_body.hinge_inertias(eq.walk(x))


def pose(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the pose of a body or frame, row by row."""
    index, rotation, point = eq.nodes.place(request.frame)
    kept = kinematics.Pose.ground() if index < 0 else kinematics.poses(eq.walk(x, toward=request.frame)).at(index)
    return ca.vec(kinematics.frame_pose(kept, rotation, point).T)


def velocity(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the twist of a body or frame."""
    index, _, point = eq.nodes.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_twist(kinematics.twists(eq.walk(x, toward=request.frame)).at(index), point)


def acceleration(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the acceleration of a body or frame."""
    index, _, point = eq.nodes.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_acceleration(kinematics.twist_rates(eq.walk(x, toward=request.frame)).at(index), point)


def jacobian(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the map from velocities to the twist of a body or frame, row by row."""
    index, _, point = eq.nodes.place(request.frame)
    return ca.vec(kinematics.frame_jacobian(eq.walk(x, toward=request.frame), index, point).T)


def energy(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return kinetic and potential energy."""
    here = eq.loaded(x)
    kinetic, potential = kinematics.energies(here.walk)
    potential = potential + here.powers.stored
    return ca.vertcat(kinetic, potential - ca.dot(column(eq.description.gravity), eq.nodes.grounded()[1]))


def momentum(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the momentum about the ground's origin, in ground axes."""
    return kinematics.momentum(eq.walk(x))[2]


def center_of_mass(eq: Equations, request: Request, x: Symbols) -> Any:
    """Return the centre of mass of all bodies."""
    mass, moment, _ = kinematics.momentum(eq.walk(x))
    still = eq.nodes.grounded()
    return (moment + still[1]) / (mass + still[0])


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
