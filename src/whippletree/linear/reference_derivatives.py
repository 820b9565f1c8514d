"""Derivatives in minimal coordinates by differences of high order: stands in until the exact ones are there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.system import System

_H = 1e-2
_W = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


class MinimalCoordinates(NamedTuple):
    displacements: Array
    velocities: Array
    displacement_map: Array
    velocity_map: Array
    velocity_slope: Array


class ForwardDerivatives(NamedTuple):
    q: Array
    v: Array
    tau: Array
    t: Array
    z: Array
    parameters: Array
    a: Array


def _pairs(s: System, indices: Any) -> list[Any]:
    states = s.kernels.states
    return [(states.joint_of(i), int(i - s.v_slice(states.joint_of(i)).start)) for i in indices]


def _pick(C: Array, first: list[int], n: int) -> list[int]:
    """Independent columns of a null space: pivoted, those of `first` first."""
    from scipy.linalg import qr

    u, sv, vt = np.linalg.svd(C)
    rank = int((sv > 1e-9 * max(sv.max(initial=0.0), 1e-300)).sum())
    N = vt[rank:].T
    chosen: list[int] = []
    if first:
        chosen = list(first)
    rest = [i for i in range(n) if i not in chosen]
    if chosen:
        Q = np.linalg.qr(N[chosen].T)[0]
        left = N[rest] - N[rest] @ Q @ Q.T
    else:
        left = N[rest]
    _, R, p = qr(left.T, pivoting=True, mode="economic")
    more = N.shape[1] - len(chosen)
    return sorted([*chosen, *(rest[k] for k in p[:more])])


def minimal_coordinates(s: System, q: Any, v: Any, *, t: float = 0.0, parameters: Any = None) -> MinimalCoordinates:
    q, v = np.asarray(q, float), np.asarray(v, float)
    nv = s.nv
    if not s.kernels.closed:
        eye = np.eye(nv)
        return MinimalCoordinates(np.arange(nv), np.arange(nv), eye, eye, np.zeros((nv, nv)))
    C = s.closure_jacobian(q, t=t, parameters=parameters)
    positional = s.kernels.loops.numbers.positional
    choice = [int(i) for i in s.kernels.loop_plan.choice.independent]
    prescribed = [i for i, p in enumerate(s.kernels.equations.prescribed_mask) if p]
    vel = sorted({*choice, *prescribed})
    disp = _pick(C[positional], vel, nv)

    def basis(rows: Array, chosen: list[int]) -> Array:
        u, sv, vt = np.linalg.svd(rows)
        rank = int((sv > 1e-9 * max(sv.max(initial=0.0), 1e-300)).sum())
        N = vt[rank:].T
        return N @ np.linalg.inv(N[chosen])

    D, V = basis(C[positional], disp), basis(C, vel)

    def speed(q: Array) -> Array:
        return s.consistent_velocities(q, v, hold=_pairs(s, vel), t=t, parameters=parameters)

    slope = np.stack(
        [_slope(lambda h: speed(_moved(s, q, D[:, k], h, disp, t, parameters))) for k in range(len(disp))], axis=1
    ) if len(disp) and np.abs(v).max() > 0 else np.zeros((nv, len(disp)))
    return MinimalCoordinates(np.array(disp), np.array(vel), D, V, slope)


def _moved(s: System, q: Array, d: Array, h: float, disp: Any, t: float, parameters: Any) -> Array:
    there = s.integrate(q, h * d)
    if not s.kernels.closed:
        return there
    where = s.kernels.loops.conditions(t, s.kernels.inputs.parameter_set(parameters))
    held = np.zeros(s.nv, dtype=bool)
    held[np.asarray(disp, dtype=int)] = True
    if any(use.joint.quaternion for use in s.description.joints):
        held[:] = False
    return s.kernels.loops.assembler.close(there, held, where)[0]


def _slope(f: Any) -> Array:
    return np.asarray(sum(w * (f(k * _H) - f(-k * _H)) for k, w in _W.items()) / _H)


def forward_derivatives(
    s: System, q: Any, v: Any, tau: Any = None, *, a: Any = None, t: float = 0.0, z: Any = None, parameters: Any = None
) -> ForwardDerivatives:
    q, v = np.asarray(q, float), np.asarray(v, float)
    m = minimal_coordinates(s, q, v, t=t, parameters=parameters)
    tau = s.kernels.inputs.efforts(tau)
    z = s.z0 if z is None else np.asarray(z, float)
    more: dict[str, Any] = {"parameters": parameters, "check": False, "t": t}
    p0 = np.array(s.description.parameter_values, float)
    if parameters is not None:
        p0 = s.kernels.inputs.parameter_array(s.kernels.inputs.parameters(parameters))

    def acc(q: Array = q, v: Array = v, tau: Array = tau, z: Array = z, **other: Any) -> Array:
        given = {**more, **other}
        if s.nz:
            given["z"] = z
        if s.kernels.equations.prescribed:
            given["a"] = other.get("a", a)
        return s.forward_dynamics(q, v, tau, **given)

    def along(k: int, h: float) -> Array:
        there = _moved(s, q, m.displacement_map[:, k], h, m.displacements, t, parameters)
        speed = v
        if s.kernels.closed:
            speed = s.consistent_velocities(there, v, hold=_pairs(s, m.velocities), t=t, parameters=parameters)
        return acc(there, speed)

    def cols(f: Any, n: int) -> Array:
        return np.stack([_slope(lambda h, k=k: f(k, h)) for k in range(n)], axis=1) if n else np.zeros((s.nv, 0))

    e, ez, ep = np.eye(s.nv), np.eye(s.nz), np.eye(len(p0))
    dq = cols(along, len(m.displacements))
    dv = cols(lambda k, h: acc(v=v + h * m.velocity_map[:, k]), len(m.velocities))
    dtau = cols(lambda k, h: acc(tau=tau + h * e[k]), s.nv)
    dz = cols(lambda k, h: acc(z=z + h * ez[k]), s.nz)
    dp = np.zeros((s.nv, 0))
    if len(p0):
        dp = cols(lambda k, h: acc(parameters=p0 + h * max(abs(p0[k]), 1) * ep[k]) / max(abs(p0[k]), 1), len(p0))
    da = np.zeros((s.nv, s.nv))
    for i, given in enumerate(s.kernels.equations.prescribed_mask):
        if given:
            a0 = np.zeros(s.nv) if a is None else s.kernels.inputs.efforts(a)
            da[:, i] = acc(a=a0 + e[i]) - acc(a=a0)
    return ForwardDerivatives(dq, dv, dtau, np.zeros(s.nv), dz, dp, da)
