"""What public calls return and take, for type checkers: `make lint` runs mypy and pyright over this file.

`assert_type` is a promise to users: an editor knows what comes out of a call. Calls with an argument of the wrong type
have a `type: ignore` of their own; checkers tell when it is not needed, so that a type which has become looser is seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import casadi as ca
import numpy as np
import numpy.typing as npt

import whippletree as wt
from whippletree.equilibria import EigenvalueBranches, EquilibriumPath, eigenvalues_over, equilibrium_path
from whippletree.kinematics import JointSweep, PoseSolutions, Workspace, workspace
from whippletree.linear import Mode, Modes, StepResponse
from whippletree.model import BodyHandle, ForceHandle, FrameHandle, JointHandle
from whippletree.natural import NaturalCoordinates
from whippletree.realtime import RealtimeStepper, StepStatus
from whippletree.results import Instant
from whippletree.simulate import State
from whippletree.system.mobility import Mobility
from whippletree.system.quantities import Powers

Array = npt.NDArray[np.float64]


def four_bar() -> wt.Mechanism:
    """Elements return handles, which stand for names wherever these are asked for."""
    m = wt.Mechanism("four-bar")
    crank = assert_type(m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x")), BodyHandle)
    coupler = m.body("coupler", wt.rod(length=2.0, mass=2.0, axis="x"))
    rocker = m.body("rocker", wt.rod(length=1.5, mass=1.5, axis="x"))
    assert_type(m.revolute("A", m.ground, crank, axis="y"), JointHandle)
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    assert_type(m.frame("tip", on=coupler, at=(1, 0, 0.2)), FrameHandle)
    assert_type(m.torsion_spring("spring", "D", stiffness=m.parameter("k", 2.0)), ForceHandle)
    assert_type(m.parameter("length", 1.0), ca.SX)
    return m


def calls_of_systems(s: wt.System) -> None:
    q, v = assert_type(s.q0, Array), assert_type(s.v0, Array)
    assert_type(s.forward_dynamics(q, v), Array)
    assert_type(s.inverse_dynamics(q, v, s.consistent_accelerations(q, v, {"A": 1.0})), Array)
    assert_type(s.mass_matrix(q), Array)
    assert_type(s.pose(q, "tip"), Array)
    assert_type(s.velocity(q, v, "tip"), Array)
    assert_type(s.jacobian(q, "coupler"), Array)
    assert_type(s.assemble({"A": 1.0}, hold=["A"]), Array)
    assert_type(s.consistent_velocities(q, {"A": 1.0}), Array)
    assert_type(s.closure_residual(q), Array)
    assert_type(s.mobility, Mobility)
    assert_type(s.joint_names, tuple[str, ...])
    assert_type(s.q_slice("A"), slice)
    energy = assert_type(s.energy(q, v), wt.Energy)
    assert_type(energy.total, Array)
    assert_type(s.momentum(q, v).linear, Array)
    reactions = assert_type(s.reactions(q, v), wt.Reactions)
    assert_type(reactions["A"], wt.Reaction)
    assert_type(reactions["A"].force, Array)
    assert_type(s.powers(q, v), Powers)
    assert_type(s.function("mass_matrix"), ca.Function)
    assert_type(s.natural, NaturalCoordinates)


def analyses(s: wt.System) -> None:
    found = assert_type(s.equilibrium(hold=["A"]), wt.Equilibrium)
    assert_type(found.q, Array)
    model = assert_type(s.linearize(inputs=["A"], outputs=["tip"]), wt.LinearModel)
    modes = assert_type(model.modes(), Modes)
    assert_type(modes[0], Mode)
    assert_type(modes[0].damping_ratio, float)
    assert_type(model.step(), StepResponse)
    sweep = assert_type(s.sweep_joint("A", [1.0, 1.1]), JointSweep)
    assert_type(sweep.position("tip"), Array)
    assert_type(s.inverse_kinematics({"tip": s.pose(s.q0, "tip")}), PoseSolutions)
    assert_type(workspace(s, "tip", {"A": [1.0, 1.1]}), Workspace)
    assert_type(equilibrium_path(s, "A.effort", [0.0, 0.1]), EquilibriumPath)
    assert_type(eigenvalues_over(s, "A.effort", [0.0, 0.1]), EigenvalueBranches)


def runs(s: wt.System, folder: Path) -> None:
    run = assert_type(s.simulate(0.02, v={"A": 1.0}, every=0.01), wt.Trajectory)
    assert_type(run["A"], Array)
    assert_type(run[-1], Instant)
    assert_type(run[1:], wt.Trajectory)
    assert_type(run.at(0.01), Instant)
    assert_type(run.certificate, wt.Certificate)
    assert_type(run.certificate.ok, bool)
    assert_type(run.certificate.problems, tuple[str, ...])
    assert_type(run.reactions()["A"].moment, Array)
    assert_type(run.save(folder / "run.nc"), None)
    assert_type(wt.Trajectory.load(folder / "run.nc"), wt.Trajectory)
    simulation = wt.Simulation(s, method="rk4", step=1e-3)
    assert_type(simulation.step(0.01), None)
    assert_type(simulation.state, State)
    stepper = assert_type(s.realtime(step=1e-3), RealtimeStepper)
    assert_type(stepper.step(), StepStatus)


def files(m: wt.Mechanism, folder: Path) -> None:
    wt.write(m, folder / "model.yaml")
    model = assert_type(wt.read(folder / "model.yaml"), wt.Model)
    assert_type(model.mechanism, wt.Mechanism)
    assert_type(model.build(guess={"A": 1.0, "B": -0.5, "D": 1.5}), wt.System)


if TYPE_CHECKING:

    def refused(s: wt.System, joint: JointHandle, body: BodyHandle, anything: Any) -> None:
        """Arguments that are not what a call takes."""
        s.pose(s.q0, joint)  # type: ignore[arg-type]
        s.sweep_joint("A", values=None)  # type: ignore[arg-type]
        s.simulate("long")  # type: ignore[arg-type]
        s.simulate(1.0, colour="red")  # type: ignore[call-arg]
        s.simulate_many(1.0, tolerance="small")  # type: ignore[arg-type]
        wt.Certificate().step  # type: ignore[attr-defined]  # noqa: B018
        wt.rod(length=1.0, weight=1.0)  # type: ignore[call-arg]
        s.q_slice(body)  # type: ignore[arg-type]
        wt.Trajectory.load(3)  # type: ignore[arg-type]
