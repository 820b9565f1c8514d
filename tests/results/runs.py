"""Runs made by hand: small integrators that know nothing of the package's own."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import numpy as np

import whippletree as wt
from support.references import rk4
from support.systems import floating
from whippletree.results import Certificate, Trajectory

QUIET = Certificate(work_in=0.0, work_dissipated=0.0, steps=1, wall_time=0.0)
"""The certificate of a run on which no work was done."""


def integrated(
    system: wt.System, t: Any, q: Any, v: Any, *, substeps: int = 10, **given: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states at some times, by the classical Runge-Kutta method on coordinates and velocities."""

    def rates(x: Any) -> Any:
        here = system.configuration(x[: system.nq])
        a = system.forward_dynamics(here, x[system.nq :], check=False, **given)
        return np.concatenate([system.coordinate_rates(here, x[system.nq :]), a])

    x = np.concatenate([q, v])
    rows = [x]
    for start, end in itertools.pairwise(t):
        h = (end - start) / substeps
        for _ in range(substeps):
            x = rk4(rates, x, h, 1)
            x = np.concatenate([system.configuration(x[: system.nq]), x[system.nq :]])
            if system.closure_rows:
                closed = system.assemble(x[: system.nq])
                x = np.concatenate([closed, system.consistent_velocities(closed, x[system.nq :])])
        rows.append(x)
    table = np.array(rows)
    return table[:, : system.nq].copy(), table[:, system.nq :].copy()


@functools.cache
def pendulum_system() -> wt.System:
    """Return a pendulum with a frame at its tip and its mass as a parameter."""
    m = wt.Mechanism("pendulum")
    mass = m.parameter("mass", 2.0)
    rod = m.body("rod", wt.rod(length=1.0, mass=mass, axis="x"))
    m.revolute("A", m.ground, rod, axis="y")
    m.frame("tip", on=rod, at=(1.0, 0.0, 0.0))
    return m.build()


@functools.cache
def pendulum() -> Trajectory:
    """Return half a second of a falling pendulum."""
    system = pendulum_system()
    t = np.linspace(0.0, 0.5, 26)
    q, v = integrated(system, t, np.array([0.3]), np.array([-0.2]))
    return Trajectory(system, t, q, v, None, QUIET, info={"method": "rk4"})


@functools.cache
def quarter_car() -> Trajectory:
    """Return a quarter car on a wavy road: a state of an element, forces that depend on time."""
    from whippletree.system.example_systems import quarter_car as built

    system = built()
    t = np.linspace(0.0, 0.1, 161)
    ends = np.cumsum([system.nq, system.nv, system.nz])

    def rates(x: Any) -> Any:
        q, v, z, time = np.split(x, ends)
        given = {"z": z, "t": time[0]}
        return np.concatenate([v, system.forward_dynamics(q, v, **given), system.state_rates(q, v, **given), [1.0]])

    rows = [np.concatenate([system.q0, system.v0, system.z0, t[:1]])]
    for start, end in itertools.pairwise(t):
        rows.append(rk4(rates, rows[-1], end - start, 4))
    return Trajectory(system, t, *np.split(np.array(rows), ends, axis=1)[:3])


@functools.cache
def floating_system() -> wt.System:
    """Return the system of `floating`: two quaternions and a slider."""
    return floating().build()


@functools.cache
def tumbling(count: int = 401, span: float = 0.8) -> Trajectory:
    """Return a free body with a ball and a piston, tumbling."""
    system = floating_system()
    rng = np.random.default_rng(3)
    t = np.linspace(0.0, span, count)
    q, v = integrated(system, t, system.random(rng), rng.normal(size=system.nv) * 1.5, substeps=4)
    return Trajectory(system, t, q, v, None, QUIET)


@functools.cache
def four_bar() -> Trajectory:
    """Return a four-bar that falls."""
    from whippletree.system.example_systems import four_bar as built

    system = built()
    t = np.linspace(0.0, 0.4, 81)
    q, v = integrated(system, t, system.q0, system.consistent_velocities(system.q0, {"A": 1.0}), substeps=4)
    return Trajectory(system, t, q, v, None, QUIET)


def changed(run: Trajectory, **values: Any) -> Trajectory:
    """Return a run with some of its fields replaced."""
    return replace(run, **values)
