"""Natural coordinates with coordinates of joints beside them: gears, racks, and other closures that depend on them.

The reference is always a run in joint coordinates, where a gear is a linear condition between coordinates themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.natural_models import geared_pair as pair
from support.natural_steps_interpreted import interpreted, interpreted_state
from support.sampling import deep, rest
from whippletree.analysis.models import car
from whippletree.elements.joints import Joint
from whippletree.natural import natural_coordinates
from whippletree.realtime import StepStatus
from whippletree.spatial import Shift, Translation, Turn
from whippletree.studies.natural_runs import NaturalOptions, NaturalRun


def drive() -> wt.System:
    """A final drive with a differential, a rack with its pinion, and a joint that mimics another."""
    m = wt.Mechanism("drive")
    for name, mass in (("motor", 2.0), ("carrier", 6.0), ("left", 15.0), ("right", 25.0)):
        m.revolute(name, m.ground, m.body(f"{name} shaft", wt.cylinder(0.1, 0.05, mass=mass)))
    m.gear("final drive", "carrier", "motor", ratio=3.5)
    m.coupling("differential", {"left": 1.0, "right": 1.0, "carrier": -2.0})
    m.revolute("steering", m.ground, m.body("column", wt.cylinder(0.1, 0.2, mass=2.0)))
    m.prismatic("tie", m.ground, m.body("rack", wt.rod(length=0.6, mass=3.0, axis="y")), axis="y")
    m.gear("rack and pinion", "steering", "tie", ratio=0.05)
    for name, length in (("wiper", 0.6), ("second wiper", 0.4)):
        m.revolute(name, m.ground, m.body(f"blade of {name}", wt.rod(length=length, mass=length, axis="z")), axis="x")
    m.gear("mimic", "wiper", "second wiper", ratio=1.0)
    return m.build(guess={"wiper": 0.4})


def cardan() -> wt.System:
    """A shaft behind a cardan joint, whose angles turn a wheel and move a slide on a thread."""
    m = wt.Mechanism("cardan")
    shaft = m.body("shaft", wt.box((0.1, 0.1, 0.5), mass=2.0, at=(0.02, 0, -0.25)))
    m.universal("cross", m.ground, shaft)
    m.revolute("wheel", m.ground, m.body("disc", wt.cylinder(0.2, 0.1, mass=3.0)), at=(1, 0, 0))
    m.cylindrical("thread", m.ground, m.body("nut", wt.cylinder(0.2, 0.1, mass=1.0)), at=(2, 0, 0), axis="x")
    m.coupling("first", {("cross", 0): 1.0, "wheel": 0.5})
    m.coupling("second", {("cross", 1): 0.1, ("thread", 0): 0.05, ("thread", 1): -1.0})
    return m.build()


STARTS = {
    pair: ({"B": 6.0, "A": 1.0}, {"B": 0.2}),
    drive: ({"left": 2.0, "right": 4.0, "wiper": 1.0, "steering": 3.0}, {"motor": 0.3, "left": 0.2, "steering": 0.1}),
    cardan: ({("cross", 0): 1.0, ("cross", 1): 2.0}, {"wheel": 0.5}),
}


def started(s: wt.System, make) -> dict[str, np.ndarray]:
    speeds, tau = STARTS[make]
    v = np.zeros(s.nv)
    for key, value in speeds.items():
        name, component = key if isinstance(key, tuple) else (key, 0)
        v[s.v_slice(name).start + component] = value
    return {"v": s.consistent_velocities(s.q0, v), "tau": s.velocities(tau)}


def test_named() -> None:
    natural = pair().natural
    assert [one.name for one in natural.relative] == ["B angle", "C angle"]
    assert natural.relative[0].bodies == ("arm", "wheel B")
    assert (natural.n_coordinates, natural.n_conditions) == (3 * 7 + 2, 21)
    assert natural.conditions[-3:] == ("B: angle", "C: angle", "pair: effort through the coupling")
    assert "2 coordinates of joints" in repr(natural) and "joint   B angle" in repr(natural)
    assert not natural.mass_matrix[21:].any()
    assert [one.name for one in cardan().natural.relative][3:] == ["thread angle", "thread displacement"]


def test_states_both_ways() -> None:
    """Turns are in the coordinates: where the joints were does not matter."""
    s = pair()
    q, v = np.array([0.3, 40.0, -60.0]), s.consistent_velocities(s.q0, {"A": 0.4, "B": 2.0})
    x, rates = s.natural.state(q, v)
    assert x[-2:].tolist() == [40.0, -60.0]
    assert np.abs(s.natural.residual(x)).max() < 1e-12
    assert np.abs(s.natural.jacobian(x) @ rates).max() < 1e-12
    back = s.natural.joint_state(x, rates)
    assert back[0] == pytest.approx(q, abs=1e-12) and back[1] == pytest.approx(v, abs=1e-12)
    x[-1] += 0.1
    with pytest.raises(wt.StateError, match='the condition "pair: effort through the coupling" is off'):
        s.natural.joint_state(x, rates)


@pytest.mark.parametrize(
    ("make", "projections"),
    [(pair, False), *rest([(drive, False)]), *deep([(pair, True), (drive, True), (cardan, False)])],
)
def test_runs_are_those_in_joint_coordinates(make, projections: bool) -> None:
    """The error falls with the square of the step; outputs are so far apart that wheels turn round between them."""
    s = make()
    start = started(s, make)
    exact = s.simulate(2.0, tolerance=1e-11, every=1.0, **start).q
    errors = []
    for h in (2e-3, 1e-3):
        run = s.simulate(2.0, formulation="natural", step=h, every=1.0, iterations=3, projections=projections, **start)
        errors.append(np.abs(run.q - exact).max(axis=0))
        assert run.certificate.closure_residual < 1e-10
    assert (errors[1] < 5e-4 * (1 + np.abs(exact).max(axis=0))).all()
    assert errors[0].max() / errors[1].max() == pytest.approx(4.0, rel=0.1)
    if make is pair:
        assert np.abs(np.diff(exact, axis=0)).max() > 2 * np.pi


@pytest.mark.rest
@pytest.mark.parametrize(("make", "projections"), [(pair, False), *deep([(cardan, True), (drive, True)])])
def test_loops_are_the_straight_line(make, projections: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the time loop and in real time, the last block of relative coordinates being filled up or not."""
    monkeypatch.setattr(natural_coordinates, "LARGE", 0)
    s = make()
    start = started(s, make)
    run = NaturalRun(s, NaturalOptions(1e-3, 2, projections=projections), **start)
    rows, straight = run.march(10), interpreted(run, 10)
    assert rows.x[1:] == pytest.approx(straight.x, rel=1e-10, abs=1e-10)
    assert rows.rates[1:] == pytest.approx(straight.rates, rel=1e-8, abs=1e-8)
    stepper = s.realtime(step=1e-3, method="natural", iterations=2, projections=projections, v=start["v"])
    stepper.set(tau=start["tau"])
    stepper.reset(v=start["v"])
    end = interpreted_state(stepper, 10)
    for _ in range(10):
        assert stepper.step() is StepStatus.DONE, stepper.cause
    assert stepper.q == pytest.approx(end[: s.nq], rel=1e-10, abs=1e-10)
    assert stepper.v == pytest.approx(end[s.nq : s.nq + s.nv], rel=1e-8, abs=1e-8)
    assert np.abs(s.closure_residual(stepper.q)).max() < 1e-10


@dataclass(frozen=True)
class Cam(Joint):
    """An angle about the axis, with a displacement 0.2 q + 0.1 sin q along it. It does not say what it holds."""

    kind: ClassVar[str] = "cam"
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    n_configuration: ClassVar[int] = 4
    position_labels: ClassVar[tuple[str, ...]] = ("angle",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity",)

    def configuration(self, q: ca.SX) -> ca.SX:
        c, s = ca.cos(q), ca.sin(q)
        return ca.vertcat(c, s, 0.2 * q + 0.1 * s, 0.2 + 0.1 * c)

    def shift(self, x: ca.SX) -> Shift:
        return Shift((Translation(ca.vertcat(0, 0, x[2])), Turn(x[0], x[1])))

    def joint_map(self, x: ca.SX) -> ca.SX:
        return ca.SX(ca.vertcat(0, 0, 1, 0, 0, x[3]))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        return ca.SX(ca.vertcat(0, 0, 0, 0, 0, -0.1 * x[1] * v * v))


@pytest.mark.rest
def test_types_that_state_nothing_and_expressions() -> None:
    """A cam by its own joint type, and by a cylindrical joint with a closure between its coordinates."""
    one, twin = wt.Mechanism("cam"), wt.Mechanism("twin")
    for m in (one, twin):
        m.body("follower", wt.box((0.3, 0.2, 0.5), mass=1.5, at=(0.1, 0.05, 0)))
    one.joint("cam", one.ground, "follower", Cam(), axis=(0.6, 0, 0.8))
    twin.cylindrical("cam", twin.ground, "follower", axis=(0.6, 0, 0.8))
    q = twin.coordinate("cam", 0)
    twin.closure("law", twin.coordinate("cam", 1) - 0.2 * q - 0.1 * ca.sin(q))
    exact = one.build().simulate(1.0, tolerance=1e-11, every=1.0).q[-1, 0]
    for m in (one, twin):
        s = m.build()
        runs = [s.simulate(1.0, formulation="natural", step=h, every=1.0, iterations=3) for h in (2e-3, 1e-3)]
        errors = [abs(run.q[-1, 0] - exact) for run in runs]
        assert errors[1] < 1e-4 * abs(exact)
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert one.build().natural.conditions[-1] == "cam: place along z of the child"


def test_refused() -> None:
    m = wt.Mechanism("sledge")
    m.planar("glide", m.ground, m.body("sledge", wt.box((0.5, 0.2, 0.1), mass=2.0)))
    m.closure("blade", m.rate("glide", 1))
    with pytest.raises(wt.StateError, match='closure "blade" is not a condition on positions'):
        m.build().simulate(1.0, formulation="natural", step=0.1)


@pytest.mark.parametrize("projections", deep([False, True]))
def test_car(projections: bool) -> None:
    """25 bodies, 12 loops, and a rack with its pinion."""
    s = car().build()
    assert (len(s.natural.points), len(s.natural.vectors), len(s.natural.relative)) == (37, 60, 2)
    exact = s.simulate(0.2, tolerance=1e-9, every=0.2, tau={"steering": 1.0})
    errors = []
    for h in (1e-3, 5e-4):
        run = s.simulate(
            0.2, formulation="natural", step=h, iterations=3, projections=projections, every=0.2, tau={"steering": 1.0}
        )
        errors.append(np.abs(s.difference(exact.q[-1], run.q[-1])).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] < 5e-6
