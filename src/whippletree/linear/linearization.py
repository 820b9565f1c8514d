"""From a mechanism and a state to a linear model in minimal coordinates.

With u the displacements of all joints from a reference that goes on with the velocities v of the nominal state, d the
independent ones of these and w the independent velocities less the nominal ones,

    u  = P d + P_u inputs                                       P  displacement_map
    dv = V w + S d + S_u inputs                                 V  velocity_map, S  velocity_slope
    u' = dv + G u                                               G  axes that move with the joints (`moving_axes`)
    w' = a_d d + a_w w + a_z z + a_u inputs + a_0               derivatives of the forward dynamics
    z' = z_d d + z_w w + z_z z + z_u inputs + z'_0

Rows of u' that belong to d are the first rows of A. Where closures hold velocities there are more displacements than
velocities, and V and S have rows for these that are not trivial. P_u and S_u are those of parameters, with which joints
that follow by the loops move; parameters are taken to change slowly, so that their rates do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.linear.drive_variants import free_drives
from whippletree.linear.linear_model import LinearModel
from whippletree.linear.linear_signals import (
    ColumnPick,
    InputSignal,
    LinearMaps,
    freedom_labels,
    named_inputs,
    named_outputs,
)
from whippletree.linear.nominal_state import NominalState, moving_axes
from whippletree.model.argument_types import JointValues
from whippletree.system import System
from whippletree.system.derivative_calls import MinimalCoordinates
from whippletree.system.evaluator import CallOptions, ParameterValues

__all__ = ["linearize", "minimal_coordinates"]

Indices = npt.NDArray[np.int_]


@user_facing
def minimal_coordinates(
    system: System, q: ArrayLike, v: ArrayLike | None = None, *, t: float = 0.0, parameters: ParameterValues = None
) -> MinimalCoordinates:
    """Return the independent displacements and velocities, and the derivatives of all joints' motion by them.

    These are the columns of `System.forward_dynamics_derivatives` and the states of `System.linearize`.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> minimal_coordinates(s, s.q0).displacement_map.shape
    (4, 1)
    """
    return system.kernels.derivatives.minimal_coordinates(q, v, t=t, parameters=parameters)


@user_facing
def linearize(
    system: System,
    q: JointValues = None,
    v: JointValues = None,
    tau: JointValues = None,
    *,
    a: JointValues = None,
    t: float = 0.0,
    z: ArrayLike | None = None,
    parameters: ParameterValues = None,
    inputs: Sequence[object] = (),
    outputs: Sequence[object] = (),
) -> LinearModel:
    """Return the linear model about a state: x' = A x + B u + offset, y = C x + D u, in minimal coordinates.

    The state is `q0` at rest unless given. Inputs are joints (their efforts), parameters, "joint.acceleration" of
    prescribed joints, and drives: "motor.acceleration", by which the drive's position and rate become states, or
    "motor.effort". Outputs are joints (coordinates), bodies and frames (positions), states of elements, and words
    about them such as "hinge.velocity" or "tip.rotation". See `whippletree.linear`.

    >>> from whippletree.system.example_systems import pendulum
    >>> pendulum().linearize([np.pi / 2]).modes().frequencies.round(6)
    array([0.610521])
    """
    at = NominalState.of(system.kernels.once, q, v, tau, a=a, t=t, z=z, parameters=parameters)
    at, names = free_drives(at, inputs)
    return _linear_model(at, named_inputs(at.system, names), outputs)


def _linear_model(at: NominalState, signals: list[InputSignal], outputs: Sequence[object]) -> LinearModel:
    """Return the linear model about a state with these inputs."""
    s = at.system
    accelerations = at.accelerations()
    slopes = s.forward_dynamics_derivatives(at.q, at.v, at.tau, **at.options)
    small = s.kernels.derivatives.minimal_coordinates(at.q, at.v, t=at.t, parameters=at.parameters)
    kept = _moving(s, signals)
    d = [k for k, i in enumerate(small.displacements) if kept[i]]
    w = [k for k, i in enumerate(small.velocities) if kept[i]]
    of_d, of_w = np.asarray(small.displacements)[d], np.asarray(small.velocities)[w]
    P, V, S = small.displacement_map[:, d], small.velocity_map[:, w], small.velocity_slope[:, d]
    n, m, nz = len(d), len(w), s.nz
    axes = moving_axes(s, at.q, at.v)
    shifted = S + axes @ P
    pick = ColumnPick(tuple(d), tuple(w), tuple(signals))
    P_u, S_u = _joints_by_inputs(at, pick)
    rates, rates_by_inputs = _rate_slopes(at, pick)
    A = np.zeros((n + m + nz, n + m + nz))
    A[:n, :n], A[:n, n : n + m] = shifted[of_d], V[of_d]
    A[n : n + m] = pick.columns(slopes)[0][of_w]
    A[n + m :] = rates
    by_states, by_inputs = pick.columns(slopes)
    B = np.vstack([(S_u + axes @ P_u)[of_d], by_inputs[of_w], rates_by_inputs])
    offset = np.concatenate([np.zeros(n), accelerations[of_w], at.state_rates()])
    unit = np.eye(n + m + nz)
    maps = LinearMaps(
        np.hstack([P, np.zeros((s.nv, m + nz))]),
        np.hstack([S, V, np.zeros((s.nv, nz))]),
        by_states,
        P_u,
        S_u,
        by_inputs,
        unit[n + m :],
        pick,
    )
    found = named_outputs(at, maps, outputs)
    C = np.array([one.row for one in found]).reshape(len(found), n + m + nz)
    none = np.zeros(len(signals))
    D = np.array([none if one.direct is None else one.direct for one in found]).reshape(len(found), len(signals))
    places, speeds = freedom_labels(s)
    states = (
        *(places[i] for i in of_d),
        *(speeds[i] for i in of_w),
        *((name, "") for name in s.kernels.elements.names),
    )
    return LinearModel(
        A,
        B,
        C,
        D,
        offset,
        tuple(name for name, _ in states),
        tuple(one.name for one in signals),
        tuple(one.name for one in found),
        n,
        m,
        P,
        V,
        S,
        np.array([one.value for one in found]),
        {"q": at.q, "v": at.v, "tau": at.tau, "z": at.z, "t": at.t, "parameters": at.parameters},
        tuple(name for name, _ in places),
        _body_jacobians(at),
        V.T @ s.mass_matrix(at.q, parameters=at.parameters) @ V,
        dict([*states, *((one.name, one.unit) for one in signals), *((one.name, one.unit) for one in found)]),
        _sizes(A, s.kernels.loops.numbers.column_scale, of_d, of_w),
    )


def _body_jacobians(at: NominalState) -> dict[str, Array]:
    """Return the maps (6, nv) from velocities of the joints to those of all bodies."""
    s = at.system
    twists = s.kernels.evaluate("body_twists", (at.q, np.eye(s.nv)), CallOptions(parameters=at.parameters))
    return {body.name: J.T for body, J in zip(s.description.bodies, np.swapaxes(twists, 0, 1), strict=True)}


def _sizes(A: Array, lengths: Array, of_d: Indices, of_w: Indices) -> Array:
    """Return the sizes of states that compare with each other.

    For displacements that is a radian or a characteristic length, for velocities these times the fastest rate of the
    model, and for states of elements what brings their fastest rate to that of the mechanism.
    """
    n, m = len(of_d), len(of_w)
    size = np.concatenate([lengths[of_d], lengths[of_w], np.ones(len(A) - n - m)])
    scaled = np.abs(A / size[:, None] * size)
    rate = max(np.sqrt(scaled[n : n + m, :n].max(initial=0.0)), scaled[n : n + m, n : n + m].max(initial=0.0)) or 1.0
    size[n : n + m] *= rate
    for k in range(n + m, len(A)):
        fed = (np.abs(A[k, : n + m]) * size[: n + m]).max(initial=0.0)
        size[k] = fed / rate or 1.0
    return np.asarray(size)


def _moving(system: System, signals: list[InputSignal]) -> Array:
    """Return which freedoms may be states: not those of prescribed joints whose acceleration is no input."""
    driven = {one.place for one in signals if one.kind == "acceleration"}
    mask = system.kernels.equations.prescribed_mask
    return np.array([not given or i in driven for i, given in enumerate(mask)], dtype=bool)


def _joints_by_inputs(at: NominalState, pick: ColumnPick) -> tuple[Array, Array]:
    """Return how displacements and velocities of all joints (nv, m) change at once with the inputs: with parameters."""
    s, m = at.system, len(pick.signals)
    if not s.kernels.closed or not pick.by_parameters:
        return np.zeros((s.nv, m)), np.zeros((s.nv, m))
    by_inputs = pick.columns(s.derivatives_of("joint_motion", at.q, at.v, at.tau, **at.options))[1]
    return by_inputs[: s.nv], by_inputs[s.nv :]


def _rate_slopes(at: NominalState, pick: ColumnPick) -> tuple[Array, Array]:
    """Return the derivatives of the elements' states' rates for the states and for the inputs."""
    n, m = len(pick.d) + len(pick.w) + at.system.nz, len(pick.signals)
    if not at.system.nz:
        return np.zeros((0, n)), np.zeros((0, m))
    return pick.columns(at.system.derivatives_of("state_rates", at.q, at.v, at.tau, **at.options))
