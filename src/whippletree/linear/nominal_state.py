"""The state about which a mechanism is linearised: the user's input, checked, and all that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import casadi as ca
import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointValues
from whippletree.system import System
from whippletree.system.call_options import MotionOptions
from whippletree.system.input_reader import as_array

__all__ = ["NominalState", "moving_axes"]


@dataclass(frozen=True)
class NominalState:
    """A system with a state, efforts, time and parameters; `a` are the accelerations of prescribed joints."""

    system: System
    q: Array
    v: Array
    tau: Array
    a: Array | None
    t: float
    z: Array | None
    parameters: Array | None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of calls of dynamics beside q, v and tau."""
        given: dict[str, object] = {"t": self.t, "parameters": self.parameters}
        if self.a is not None:
            given["a"] = self.a
        if self.z is not None:
            given["z"] = self.z
        return given

    def accelerations(self) -> Array:
        """Return the accelerations of all joints; a state that does not satisfy the closures is refused.

        Of loops, by the formulation that the derivatives are of, rather than to weigh all of them for one evaluation.
        """
        kernels = self.system.kernels
        way = "independent_coordinates" if kernels.closed and not kernels.equations.large else "auto"
        return self.system.forward_dynamics(self.q, self.v, self.tau, formulation=way, **self.options)

    def state_rates(self) -> Array:
        """Return the rates of the elements' states."""
        more = {name: value for name, value in self.options.items() if name != "a"}
        return self.system.state_rates(self.q, self.v, self.tau, **more)

    @staticmethod
    def of(
        system: System, q: JointValues, v: JointValues, tau: JointValues, **given: Unpack[MotionOptions]
    ) -> NominalState:
        """Return the state that a user gave; anything not given is as at the start of a run, at rest."""
        inputs = system.kernels.inputs
        time, values = inputs.time(given.get("t", 0.0)), inputs.parameter_set(given.get("parameters"))
        a, z = given.get("a"), given.get("z")
        if q is None:
            q = system.q0 if not time and values is None else system.assemble(system.q0, t=time, parameters=values)
        elif isinstance(q, Mapping):
            q = system.assemble(q, t=time, parameters=values)
        q = inputs.configuration(q)
        if v is None or isinstance(v, Mapping):
            v = system.consistent_velocities(q, v, t=time, parameters=values)
        v = inputs.velocities(v)
        if v.ndim != 1 or not np.isfinite(v).all():
            raise StateError(f"v must be one vector of {system.nv} finite numbers, or numbers by joint")
        driven = None
        if system.kernels.equations.prescribed:
            driven = inputs.motion(a, "a")[0]
        elif a is not None:
            raise StateError("a= is for prescribed hinges, and there is none: declare one with prescribed=True")
        states = None
        if system.nz:
            states = system.z0 if z is None else as_array(z, inputs.argument("z", system.nz))
            if states.ndim != 1:
                raise StateError(f"z= must be one vector of {system.nz} finite numbers")
        elif z is not None:
            raise StateError("z= is for auxiliary states, and there is none: declare one with mechanism.state(...)")
        return NominalState(system, q, v, inputs.efforts(tau), driven, time, states, values)


def moving_axes(system: System, q: Array, v: Array) -> Array:
    """Return G (nv, nv): displacements u from a reference that moves with velocities v grow by dv + G u.

    Let the configuration be `integrate(reference, u)`, and dv what its velocities are above those of the reference.
    With the reference at rest, u' = v + H(u, v) with H from the joint's `displacement_rate`, bilinear to first order.
    With the configuration at rest and the reference moving, -u leads back, and (-u)' = v_ref + H(-u, v_ref). Together

        u' = dv + H(u, v) + H(u, v_ref) = dv + 2 H(u, v_ref)        to first order                      (1)

    H is zero for coordinates that are numbers, and half a cross product for rotations, which are measured in axes that
    turn.
    """
    G = np.zeros((system.nv, system.nv))
    for use in system.description.coordinate_owners:
        where = system.v_slice(use.name)
        if not use.joint.quaternion or not np.abs(v[where]).max(initial=0.0):
            continue
        u, speed = ca.SX.sym("u", use.joint.nv), ca.SX.sym("v", use.joint.nv)
        slope = ca.jacobian(use.joint.displacement_rate(u, speed), u)
        G[where, where] = 2 * ca.Function("moving", [u, speed], [ca.densify(slope)])(0, v[where]).full()
    return G
