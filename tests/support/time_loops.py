"""Pieces of the time loops by themselves: a system bound for them, and a state of a run to call them with."""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt
from whippletree.simulate import Simulation
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.run_state import LOOPS, POWERS, RunState


def bound(system: wt.System, **start: Any) -> tuple[KernelBindings, RunState]:
    """Return a system's kernels and the state of a run that begins there."""
    run = Simulation(system, method="dopri5", **start).run_state
    bindings = KernelBindings(system, "auto", None)
    run.flags[LOOPS], run.flags[POWERS] = bindings.closed, bindings.powers
    buffers = bindings.buffers
    buffers.tau[:] = run.tau
    buffers.q[:] = buffers.base[:] = run.q
    buffers.pivots[:] = 0.0
    buffers.pivots[0] = np.inf
    return bindings, run


def pendulum() -> wt.System:
    """Return a rod on a hinge, one metre, one kilogram; its angle is from the vertical."""
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    return m.build()


def parallelogram(angle: float) -> wt.System:
    """Return three equal rods on two pivots without gravity, which turn at a constant rate: flat at zero."""
    m = wt.Mechanism("parallelogram", gravity=(0, 0, 0))
    rockers = [m.body(f"rocker {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(2)]
    coupler = m.body("coupler", wt.rod(length=1.0, mass=1.0, axis="x"))
    for i, rocker in enumerate(rockers):
        m.revolute(f"A{i}", m.ground, rocker, at=(i, 0, 0))
    m.revolute("B", rockers[0], coupler, at=(1, 0, 0))
    m.revolute("C", coupler, rockers[1], at=(1, 0, 0), at_child=(1, 0, 0))
    return m.build(guess={"A0": angle, "A1": angle, "B": -angle, "C": angle})
