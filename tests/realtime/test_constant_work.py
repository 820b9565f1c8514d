"""Steps run the same instructions whatever the state, as the processor counts them; tiny numbers are no slower."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.instruction_trace import InstructionTrace, traceable, varied_states
from support.sampling import rest
from whippletree.kernels.lowering import StraightLine
from whippletree.kernels.native import compile_ir, host
from whippletree.realtime import StepStatus

pytestmark = pytest.mark.skipif(not traceable(), reason="instructions are counted on Linux with an x86 processor")


def all_joints() -> wt.System:
    m = wt.Mechanism("all joints")
    for name in "abcdefgh":
        m.body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=[0.2, 0.3, 0.25])
    m.free("free", m.ground, "a")
    m.spherical("ball", "a", "b", at=(1, 0, 0))
    m.universal("cross", "b", "c", at=(1, 0, 0))
    m.cylindrical("sleeve", "c", "d", at=(0, 1, 0))
    m.planar("table", "d", "e")
    m.prismatic("slide", "e", "f")
    m.revolute("hinge", "f", "g", at=(0, 0, 1), axis="x")
    m.screw("screw", "g", "h", lead=0.1)
    return m.build()


def four_bar() -> wt.System:
    m = wt.Mechanism("four-bar")
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5)):
        m.body(name, wt.rod(length, length, axis="x"))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank", "coupler", at=(1, 0, 0), axis="y")
    m.revolute("C", "coupler", "rocker", at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, "rocker", at=(2, 0, 0), axis="y")
    return m.build(guess={"A": -1.2})


def hinge(act: Callable[[wt.Mechanism], object]) -> wt.System:
    m = wt.Mechanism("hinge")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(1.0, 1.0)), axis="y")
    act(m)
    return m.build()


def choices(m: wt.Mechanism) -> None:
    """A law with all that chooses: conditions, both and either, signs, extremes, divisions and roots in branches."""
    q, v = m.coordinate("hinge"), m.rate("hinge")
    both, either = ca.logic_and(q > 0, v > 0), ca.logic_or(q < -1, ca.logic_not(v < -1))
    law = ca.if_else(both, 1 / (1.5 + ca.sin(q)), ca.if_else(either, ca.sqrt(1 + v * v), ca.fmin(q, v) / (3 + q * q)))
    m.actuator("law", "hinge", effort=law + ca.sign(v) + ca.fmax(q, 0) + ca.if_else(q == v, 1, 0) + ca.floor(q))


TABLE = wt.Spline([-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.5], [0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1.0])
SYSTEMS = {
    "joints": all_joints,
    "loop": four_bar,
    "choices": lambda: hinge(choices),
    "table": lambda: hinge(lambda m: m.actuator("law", "hinge", effort=TABLE(m.coordinate("hinge")))),
    "friction": lambda: hinge(lambda m: m.friction("rubs", "hinge", coulomb=1.0)),
    "bearing": lambda: hinge(lambda m: m.friction("rubs", "hinge", coefficient=0.1, radius=0.02)),
}


def instructions(stepper, count: int) -> tuple[set, set]:
    """Return the different runs of instructions and the statuses that steps from so many states have."""
    trace, runs, statuses = InstructionTrace(stepper), set(), set()
    for state in varied_states(stepper, count):
        runs.add(trace.of(state))
        statuses.add(int(trace.next[-1]))
    return runs, statuses


@pytest.mark.parametrize("method", ["semi_implicit", "linearly_implicit"])
@pytest.mark.parametrize("name", ["loop", "table", *rest(["choices", "friction", "bearing"])])
def test_every_step_runs_the_same_instructions(name, method):
    stepper = SYSTEMS[name]().realtime(method=method)
    assert stepper.library_functions == ()
    runs, statuses = instructions(stepper, 20)
    assert len(runs) == 1, runs
    if name == "loop":
        assert statuses - {0}  # also where a step is not taken


@pytest.mark.deep
@pytest.mark.parametrize("method", ["semi_implicit", "rk4", "linearly_implicit"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_thousand_states_run_the_same_instructions(name, method):
    stepper = SYSTEMS[name]().realtime(method=method)
    count = min(1000, 1_000_000 // InstructionTrace(stepper).of(stepper.state).count)
    runs, _ = instructions(stepper, count)
    assert len(runs) == 1, runs


def test_the_trace_sees_a_jump():
    """What the processor's own arctangent does depends on its argument, and the stepper says that it is there."""
    law = hinge(lambda m: m.actuator("law", "hinge", effort=ca.atan(m.coordinate("hinge"))))
    stepper = law.realtime(method="semi_implicit")
    assert stepper.library_functions == ("atan",)
    assert len(instructions(stepper, 20)[0]) > 1


@pytest.mark.parametrize("name", ["loop", "bearing", "table"])
def test_a_step_calls_nothing_that_could_allocate(name, tmp_path):
    """The machine code of a step refers to nothing outside but the sine and cosine of angles beyond 1e6."""
    stepper = SYSTEMS[name]().realtime()
    program = StraightLine(stepper.function, flush=True)
    file = tmp_path / "step.o"
    file.write_bytes(compile_ir(program.ir(name="step", width=1, pack=host().lanes, fused=host().fused)))
    found = subprocess.run(
        ["nm", "--undefined-only", "--just-symbols", file], check=True, capture_output=True, text=True
    )
    assert set(found.stdout.split()) <= {"sin", "cos", "_GLOBAL_OFFSET_TABLE_"}


def test_subnormal_numbers_are_zero_within_a_step_and_not_outside():
    m = wt.Mechanism("damped", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    m.actuator("damper", "x", effort=-m.rate("x"))
    stepper = m.build().realtime(step=1e-3, method="semi_implicit", v=[1.0])
    stepper._now[1] = 1e-310
    assert stepper.step() is StepStatus.DONE and stepper.v == [0.0]
    tiny = np.float64(1e-160) * np.float64(1e-155)
    assert 0.0 < tiny < 2e-308
