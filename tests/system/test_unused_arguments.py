"""What is given to a call is looked at, also where nothing depends on it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.kinematics import mobility_at
from whippletree.system.example_systems import four_bar, pendulum

SEVERAL = np.array([1.0, 2.0])


@functools.cache
def systems() -> tuple[wt.System, wt.System]:
    return pendulum(), four_bar()


CALLS: dict[str, Any] = {
    "forward_dynamics": lambda s, **o: s.forward_dynamics(s.q0, s.v0, **o),
    "mass_matrix": lambda s, **o: s.mass_matrix(s.q0, **o),
    "bias_force": lambda s, **o: s.bias_force(s.q0, s.v0, **o),
    "inverse_dynamics": lambda s, **o: s.inverse_dynamics(s.q0, s.v0, **o),
    "reactions": lambda s, **o: s.reactions(s.q0, s.v0, **o),
    "pose": lambda s, **o: s.pose(s.q0, "ground", **o),
    "energy": lambda s, **o: s.energy(s.q0, s.v0, **o),
    "center_of_mass": lambda s, **o: s.center_of_mass(s.q0, **o),
    "mobility_at": lambda s, **o: mobility_at(s, s.q0, **o),
    "assemble": lambda s, **o: s.assemble(s.q0, **o),
    "consistent_velocities": lambda s, **o: s.consistent_velocities(s.q0, **o),
    "closure_residual": lambda s, **o: s.closure_residual(s.q0, **o),
    "motion_basis": lambda s, **o: s.kernels.closures.motion_basis(s.q0, **o),
    "forces": lambda s, **o: s.forces(s.q0, s.v0, **o),
    "state_rates": lambda s, **o: s.state_rates(s.q0, s.v0, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_times(name: str) -> None:
    for system in systems():
        for _ in range(2):  # the second call finds its kernel at once
            CALLS[name](system)
            CALLS[name](system, t=2.0)
            for t in ("x", None, np.nan, np.inf, [SEVERAL], 10**400, True):
                with pytest.raises(wt.StateError, match="t"):
                    CALLS[name](system, t=t)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "reactions"])
def test_flags_and_threads(name: str) -> None:
    for system in systems():
        for _ in range(2):
            CALLS[name](system, check=False)
            CALLS[name](system, check=np.True_)
            CALLS[name](system, threads=2)
            for check in ("no", None, 1, SEVERAL):
                with pytest.raises(wt.StateError, match="check= must be True or False"):
                    CALLS[name](system, check=check)
            for threads in (-3, 0, "x", 1.5, True, SEVERAL):
                with pytest.raises(wt.StateError, match="threads= must be a whole number"):
                    CALLS[name](system, threads=threads)


def test_what_a_system_is_built_with() -> None:
    m = wt.Mechanism("m")
    m.prismatic("A", m.ground, m.body("a", mass=1.0))
    for fold in ("x", None, SEVERAL, 0):
        with pytest.raises(wt.StateError, match="fold= must be True or False"):
            m.build(fold=fold)
    with pytest.raises(wt.StateError, match="cut= must list the joints"):
        m.build(cut=np.array(1.0))


def test_messages_do_not_repeat_a_long_name() -> None:
    m = wt.Mechanism("m")
    m.prismatic("A", m.ground, m.body("a", mass=1.0))
    long = "x" * 500_000
    system = m.build()
    for ask in (
        lambda: m.body(long, mass=1.0),
        lambda: m.revolute("B", long, "a"),
        lambda: system.pose(system.q0, long),
        lambda: system.q_slice(long),
        lambda: system.forward_dynamics(system.q0, system.v0, formulation=long),
        lambda: system.configuration({long: 1.0}),
        lambda: wt.read(long),
        lambda: wt.Trajectory.load(long),
    ):
        with pytest.raises(wt.WhippletreeError) as caught:
            ask()
        assert len(str(caught.value)) < 1000
