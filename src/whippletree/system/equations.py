"""Every function of a system: its signature, and how it is traced.

A function is known by a `Request`: a name, a formulation, and what it is about (a frame, the frames that carry
wrenches). From a request follow the signature, without any tracing, and the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from whippletree.errors import StateError
from whippletree.formulations import articulated, composite, kinematics
from whippletree.formulations.skeleton import Skeleton, Symbols, column, make_skeleton
from whippletree.formulations.sweeps import Unrolled
from whippletree.kernels.kernel import Signature
from whippletree.model.description import Description
from whippletree.topology import Plan

__all__ = ["FORMULATIONS", "Equations", "Request"]

FORMULATIONS: dict[str, tuple[str, ...]] = {
    "forward_dynamics": ("articulated", "composite"),
    "driving_forces": ("articulated", "composite"),
    "reactions": ("articulated", "composite"),
    "inverse_dynamics": ("composite",),
    "bias_force": ("composite",),
    "mass_matrix": ("composite",),
}
"""Formulations that can answer, best first: `auto` takes the first."""


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    function: str
    formulation: str = "auto"
    frame: str = ""
    wrenches: tuple[str, ...] = ()

    def resolved(self) -> Request:
        """Return the request with `auto` decided."""
        choices = FORMULATIONS.get(self.function)
        if choices is None:
            return Request(self.function, "kinematics", self.frame, self.wrenches)
        if self.formulation == "auto":
            return Request(self.function, choices[0], self.frame, self.wrenches)
        if self.formulation not in choices:
            known = ", ".join(f'"{name}"' for name in ("auto", *choices))
            raise StateError(
                f'formulation "{self.formulation}" cannot give {self.function}; choose one of {known}'
            )
        return self


class Equations:
    """The equations of a mechanism, traced on request."""

    def __init__(self, description: Description, plan: Plan) -> None:
        self.description, self.plan = description, plan
        self._skeletons: dict[bool, Skeleton] = {}
        self.prescribed = any(use.prescribed for use in description.joints)

    def skeleton(self, *, weld: bool = True) -> Skeleton:
        """Return the nodes' constants, with welded bodies as one node or not."""
        if weld not in self._skeletons:
            self._skeletons[weld] = make_skeleton(self.description, self.plan, weld=weld)
        return self._skeletons[weld]

    # ------------------------------------------------------------------ signatures

    def signature(self, request: Request) -> Signature:
        """Return names and sizes of inputs and outputs."""
        nq, nv = self.plan.nq, self.plan.nv
        size = {"q": nq, "q0": nq, "q1": nq, "v": nv, "tau": nv, "a": nv, "dv": nv}
        names = list(_INPUTS[request.function])
        if self.prescribed and request.function in ("forward_dynamics", "driving_forces", "reactions"):
            names.append("a")
        inputs = [(name, size[name]) for name in names]
        inputs += [(f"wrench on {name}", 6) for name in request.wrenches]
        if self.description.parameters:
            inputs.append(("parameters", len(self.description.parameters)))
        return Signature(tuple(inputs), self._outputs(request.function))

    def _outputs(self, function: str) -> tuple[tuple[str, int], ...]:
        nv, nq, joints = self.plan.nv, self.plan.nq, len(self.description.joints)
        sizes: dict[str, tuple[tuple[str, int], ...]] = {
            "forward_dynamics": (("acceleration", nv),),
            "driving_forces": (("effort", nv),),
            "inverse_dynamics": (("effort", nv),),
            "bias_force": (("effort", nv),),
            "mass_matrix": (("mass matrix", nv * nv),),
            "reactions": (("reactions", 6 * joints),),
            "pose": (("pose", 16),),
            "velocity": (("velocity", 6),),
            "acceleration": (("acceleration", 6),),
            "jacobian": (("jacobian", 6 * nv),),
            "energy": (("energy", 2),),
            "momentum": (("momentum", 6),),
            "center_of_mass": (("center of mass", 3),),
            "coordinate_rates": (("rates", nq),),
            "integrate": (("q", nq),),
            "difference": (("displacement", nv),),
        }
        return sizes[function]

    # ------------------------------------------------------------------ traces

    def trace(self, request: Request) -> ca.Function:
        """Return a request's function over symbols."""
        signature = self.signature(request)
        symbols = {name: ca.SX.sym(name.replace(" ", "_"), size) for name, size in signature.inputs}
        output = _TRACES[request.function](self, request, symbols)
        inputs = [symbols[name] for name, _ in signature.inputs]
        if "parameters" in symbols:
            named = ca.vertcat(*(p.symbol for p in self.description.parameters))
            output = ca.substitute(output, named, symbols["parameters"])
        labels = [name.replace(" ", "_") for name, _ in signature.inputs]
        outputs = [name.replace(" ", "_") for name, _ in signature.outputs]
        if set(outputs) & set(labels):
            outputs = [f"new_{name}" if name in labels else name for name in outputs]
        return ca.Function(request.function, inputs, [ca.densify(output)], labels, outputs)

    def walk(self, symbols: dict[str, ca.SX], *, weld: bool = True) -> Unrolled:
        """Return the unrolled walk with these symbols; those that are missing are zero."""
        zero = ca.SX.zeros(self.plan.nv)
        wrenches = {
            name.removeprefix("wrench on "): value for name, value in symbols.items() if name.startswith("wrench on ")
        }
        given = Symbols(
            q=symbols.get("q", ca.SX.zeros(self.plan.nq)),
            v=symbols.get("v", zero),
            tau=symbols.get("tau", zero),
            acceleration=symbols.get("a", zero),
            wrenches=wrenches,
        )
        return self.skeleton(weld=weld).walk(given)

    def hinge_inertias(self) -> ca.Function:
        """Return the function from q and parameters to each node's smallest relative pivot."""
        q = ca.SX.sym("q", self.plan.nq)
        pivots = articulated.hinge_inertias(self.walk({"q": q}))
        parameters = ca.vertcat(*(p.symbol for p in self.description.parameters))
        return ca.Function("hinge_inertias", [q, parameters], [pivots])

    def place(self, name: str) -> tuple[int, ca.SX, ca.SX]:
        """Return node, rotation and point of a body or frame."""
        index, placement = self.skeleton().where[name]
        return index, ca.SX(ca.DM(np.array(placement.rotation))), column(placement.point)


Trace = Callable[[Equations, Request, dict[str, ca.SX]], ca.SX]


def _forward_dynamics(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    if request.formulation == "composite":
        return composite.forward_dynamics(eq.walk(_prescribed_only(eq, x)))
    return articulated.forward_dynamics(eq.walk(x))


def _driving_forces(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    if request.formulation == "articulated":
        return articulated.driving_forces(eq.walk(x))
    a = _forward_dynamics(eq, request, x)
    needed = composite.inverse_dynamics(eq.walk({**x, "a": a}))
    mask = _prescribed_mask(eq)
    return ca.vertcat(*(needed[i] if mask[i] else x["tau"][i] for i in range(eq.plan.nv)))


def _reactions(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    if request.formulation == "articulated":
        stacked = articulated.reactions(eq.walk(x, weld=False))
    else:
        a = _forward_dynamics(eq, request, x)
        stacked = composite.reactions(eq.walk({**x, "a": a}, weld=False))
    return in_joint_order(eq.plan, stacked)


def in_joint_order(plan: Plan, stacked: Any) -> ca.SX:
    """Reorder blocks of six from nodes to joints as declared."""
    blocks: list[Any] = [None] * len(plan.nodes)
    for node in plan.nodes:
        blocks[node.joint] = stacked[6 * node.index : 6 * node.index + 6]
    return ca.vertcat(*blocks)


def _prescribed_mask(eq: Equations) -> list[bool]:
    return [use.prescribed for use in eq.description.joints for _ in range(use.joint.nv)]


def _prescribed_only(eq: Equations, x: dict[str, ca.SX]) -> dict[str, ca.SX]:
    """Return the symbols with the accelerations of free hinges set to zero."""
    if "a" not in x:
        return x
    a = ca.vertcat(*(x["a"][i] if given else 0 for i, given in enumerate(_prescribed_mask(eq))))
    return {**x, "a": ca.densify(ca.SX(a))}


def _inverse_dynamics(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    return composite.inverse_dynamics(eq.walk(x))


def _mass_matrix(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    return ca.vec(composite.mass_matrix(eq.walk(x)))


def _pose(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    index, rotation, point = eq.place(request.frame)
    kept = kinematics.Pose.ground() if index < 0 else kinematics.poses(eq.walk(x)).records[index]
    return ca.vec(kinematics.frame_pose(kept, rotation, point).T)


def _velocity(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    index, _, point = eq.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_twist(kinematics.twists(eq.walk(x)).records[index], point)


def _acceleration(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    index, _, point = eq.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_acceleration(kinematics.twist_rates(eq.walk(x)).records[index], point)


def _jacobian(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    index, _, point = eq.place(request.frame)
    return ca.vec(kinematics.frame_jacobian(eq.walk(x), index, point).T)


def _energy(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    kinetic, potential = kinematics.energies(eq.walk(x))
    return ca.vertcat(kinetic, potential)


def _momentum(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    """Momentum about the ground's origin, in ground axes."""
    return kinematics.momentum(eq.walk(x))[2]


def _center_of_mass(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    mass, moment, _ = kinematics.momentum(eq.walk(x))
    return moment / mass


def _joint_wise(method: str) -> Trace:
    """Apply a method of every joint to its own slices of the inputs."""

    def trace(eq: Equations, request: Request, x: dict[str, ca.SX]) -> ca.SX:
        parts = []
        for use, q, v in zip(eq.description.joints, eq.plan.q_slices, eq.plan.v_slices, strict=True):
            if use.joint.nv == 0:
                continue
            if method == "rates":
                parts.append(use.joint.rate_map(x["q"][q]) @ x["v"][v])
            elif method == "integrate":
                parts.append(use.joint.integrate(x["q"][q], x["dv"][v]))
            else:
                parts.append(use.joint.difference(x["q0"][q], x["q1"][q]))
        return ca.SX(ca.vertcat(*parts))

    return trace


_INPUTS: dict[str, tuple[str, ...]] = {
    "forward_dynamics": ("q", "v", "tau"),
    "driving_forces": ("q", "v", "tau"),
    "reactions": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "a"),
    "bias_force": ("q", "v"),
    "mass_matrix": ("q",),
    "pose": ("q",),
    "velocity": ("q", "v"),
    "acceleration": ("q", "v", "a"),
    "jacobian": ("q",),
    "energy": ("q", "v"),
    "momentum": ("q", "v"),
    "center_of_mass": ("q",),
    "coordinate_rates": ("q", "v"),
    "integrate": ("q", "dv"),
    "difference": ("q0", "q1"),
}

_TRACES: dict[str, Trace] = {
    "forward_dynamics": _forward_dynamics,
    "driving_forces": _driving_forces,
    "reactions": _reactions,
    "inverse_dynamics": _inverse_dynamics,
    "bias_force": _inverse_dynamics,
    "mass_matrix": _mass_matrix,
    "pose": _pose,
    "velocity": _velocity,
    "acceleration": _acceleration,
    "jacobian": _jacobian,
    "energy": _energy,
    "momentum": _momentum,
    "center_of_mass": _center_of_mass,
    "coordinate_rates": _joint_wise("rates"),
    "integrate": _joint_wise("integrate"),
    "difference": _joint_wise("difference"),
}
