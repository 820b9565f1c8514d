"""Drives against closed forms, against prescribed hinges and inverse dynamics, and in the energy balance."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import BASIC
from support.systems import four_bar

Array = np.ndarray


def driven_four_bar() -> wt.Mechanism:
    m = four_bar()
    m.drive("motor", "A", position=1.0 + 2 * m.time + 0.3 * ca.sin(3 * m.time))
    return m


def simpson(f: Array, t: Array) -> float:
    return float((t[1] - t[0]) / 3 * (f[0] + 4 * f[1::2].sum() + 2 * f[2:-1:2].sum() + f[-1]))


def test_effort_of_a_driven_pendulum() -> None:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.7), inertia=np.diag([0.2, 0.3, 0.2])), axis="y")
    swing = m.parameter("swing", 0.8)
    m.drive("motor", "A", position=swing * ca.sin(5 * m.time))
    run = m.build().simulate(2.0, every=0.01, tolerance=1e-10, parameters={"swing": 0.5})
    f, rate, second = (0.5 * 5**k * g(5 * run.t) for k, g in ((0, np.sin), (1, np.cos), (2, lambda x: -np.sin(x))))
    torque = (0.3 + 2.0 * 0.49) * second + 2.0 * 9.81 * 0.7 * np.sin(f)
    assert run["A"] == pytest.approx(f, abs=1e-13)
    assert run.velocities("A") == pytest.approx(rate, abs=1e-12)
    assert run.driving_forces()["motor"] == pytest.approx(torque, abs=1e-10)
    assert run["motor"] == pytest.approx(torque, abs=1e-10)
    assert list(run.table("motor"))[1] == "motor.effort on A.angular velocity [N m]"
    assert run.certificate.work_in == pytest.approx(simpson(torque * rate, run.t), abs=1e-6)
    assert run.certificate.ok


@pytest.mark.parametrize("formulation", BASIC)
def test_a_driven_loop_in_every_formulation(formulation: str) -> None:
    run = driven_four_bar().build(guess={"A": 1.0}).simulate(1.5, every=0.05, tolerance=1e-10, formulation=formulation)
    t = run.t
    assert run["A"] == pytest.approx(1.0 + 2 * t + 0.3 * np.sin(3 * t), abs=1e-12)
    # the same motion of the linkage without its drive, by inverse dynamics with a motor at A
    free = four_bar().build(guess={"A": 1.0})
    a = run.accelerations()
    needed = np.array([free.inverse_dynamics(*x, actuators=["A"])[0] for x in zip(run.q, run.v, a, strict=True)])
    assert run.driving_forces()["motor"] == pytest.approx(needed, rel=1e-9, abs=1e-8)
    assert run.certificate.work_in == pytest.approx(simpson(needed * (2 + 0.9 * np.cos(3 * t)), t), rel=1e-4)
    assert run.certificate.energy_drift < 1e-7
    assert run.certificate.closure_residual < 1e-12


@pytest.mark.rest
@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
def test_it_does_not_matter_where_the_loop_is_cut(cut: str) -> None:
    m = four_bar()
    m.drive("motor", "D", position=1.5 + 0.2 * ca.sin(m.time))
    run = m.build(guess={"A": 1.0, "D": 1.5}, cut=[cut]).simulate(1.0, every=0.25, tolerance=1e-10)
    assert run["D"] == pytest.approx(1.5 + 0.2 * np.sin(run.t), abs=1e-12)
    assert run.certificate.ok
    free, a = four_bar().build(guess={"A": 1.0}), run.accelerations()
    needed = [free.inverse_dynamics(*x, actuators=["D"])[3] for x in zip(run.q, run.v, a, strict=True)]
    assert run.driving_forces()["motor"] == pytest.approx(needed, abs=1e-8)
    gained = np.ptp(run.energy().total[[0, -1]])
    assert abs(run.certificate.work_in) == pytest.approx(gained, abs=1e-8)


def test_a_drive_is_a_prescribed_hinge_with_its_position() -> None:
    def crank(prescribed: bool) -> wt.Mechanism:
        m = wt.Mechanism("crank")
        arm = m.body("arm", wt.rod(length=0.2, mass=0.5, axis="x"))
        m.revolute("motor", m.ground, arm, axis="y", prescribed=prescribed)
        m.revolute("pin", arm, m.body("rod", wt.rod(length=0.6, mass=1.2, axis="-z")), at=(0.2, 0, 0), axis="y")
        return m

    m = crank(prescribed=False)
    m.drive("drive", "motor", position=0.5 * ca.sin(3 * m.time))
    run = m.build().simulate(1.0, every=0.05, tolerance=1e-10)
    other = crank(prescribed=True).build()
    a = np.zeros((len(run), 2))
    a[:, 0] = -4.5 * np.sin(3 * run.t)
    assert run.driving_forces()["drive"] == pytest.approx(other.driving_forces(run.q, run.v, a=a)[:, 0], abs=1e-9)
    assert run.accelerations() == pytest.approx(other.forward_dynamics(run.q, run.v, a=a), abs=1e-8)


def test_a_second_coordinate() -> None:
    m = wt.Mechanism("sleeve", gravity=(0, 0, 0))
    m.cylindrical("Z", m.ground, m.body("nut", wt.cylinder(radius=0.1, length=0.2, mass=3.0, axis="x")), axis="x")
    m.drive("push", "Z", index=1, position=0.1 * m.time**3)
    run = m.build().simulate(1.0, every=0.1, v=[0.7, 0.0])
    assert run["Z"] == pytest.approx(np.column_stack([0.7 * run.t, 0.1 * run.t**3]), abs=1e-10)
    assert run["push"] == pytest.approx(3.0 * 0.6 * run.t, abs=1e-9)
    assert run.certificate.work_in == pytest.approx(0.5 * 3.0 * 0.3**2, rel=1e-6)


def test_a_driven_point() -> None:
    m = wt.Mechanism("dragged")
    body = m.body("block", wt.box(size=(0.2, 0.1, 0.3), mass=1.5))
    m.free("flight", m.ground, body)
    m.frame("hook", on=body, at=(0.1, 0, 0), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    m.drive_point("hand", "hook", at=(0, -0.05, 0), position=(ca.sin(m.time), 0.2 * m.time**2, None))
    run = m.build().simulate(2.0, every=0.01, tolerance=1e-10)
    place = run.pose("hook") @ np.array([0, -0.05, 0, 1.0])
    assert place[:, 0] == pytest.approx(np.sin(run.t), abs=1e-12)
    assert place[:, 1] == pytest.approx(0.2 * run.t**2, abs=1e-12)
    force = run.driving_forces()["hand"]
    # Newton for the whole block: what the hand does is all there is besides gravity
    a = run.acceleration("block")[:, 3:]
    assert 1.5 * a == pytest.approx(np.column_stack([force, np.full(len(run), -1.5 * 9.81)]), abs=1e-8)
    power = force[:, 0] * np.cos(run.t) + force[:, 1] * 0.4 * run.t
    assert run.certificate.work_in == pytest.approx(simpson(power, run.t), abs=1e-6)
    assert list(run.table("hand"))[1:] == ["hand.force x [N]", "hand.force y [N]"]
    assert run.certificate.ok


@pytest.mark.parametrize("ends", ["natural", "clamped", "periodic"])
def test_a_spline_is_followed_beyond_its_knots_too(ends: str) -> None:
    m = wt.Mechanism("arm")
    m.revolute("A", m.ground, m.body("arm", mass=1.0, com=(0.5, 0, 0)), axis="y")
    x = np.linspace(0.0, 2.0, 9)
    path = wt.Spline(x, 0.3 * (1 - np.cos(np.pi * x)), ends)
    m.drive("motor", "A", position=path)
    run = m.build().simulate(2.6, every=0.02, tolerance=1e-9)
    assert run["A"] == pytest.approx(path(run.t), abs=1e-13)
    e = 1e-4
    t = run.t[1:]
    second = (path(t + e) - 2 * path(t) + path(t - e)) / e**2
    smooth = np.abs(t[:, None] - x).min(axis=1) > 2 * e  # a clamped one begins to move with a jump
    torque = 0.25 * second - 9.81 * 0.5 * np.cos(path(t))
    assert run["motor"][1:][smooth] == pytest.approx(torque[smooth], abs=1e-5)
    assert run.certificate.energy_drift < 1e-6


def test_many_knots_cost_no_operations() -> None:
    def arm(knots: int) -> wt.System:
        m = wt.Mechanism("arm")
        m.revolute("A", m.ground, m.body("arm", mass=1.0, com=(0.5, 0, 0)), axis="y")
        x = np.linspace(0.0, 10.0, knots)
        m.drive("motor", "A", position=wt.Spline(x, np.sin(x)))
        return m.build()

    few, many = arm(5), arm(5000)
    assert few.kernels.operations("forward_dynamics").total == many.kernels.operations("forward_dynamics").total < 60
    q, v = np.sin([[1.0], [2.0]]), np.cos([[1.0], [2.0]])
    a = many.forward_dynamics(q, v, t=np.array([[1.0], [2.0]]))
    assert a == pytest.approx(-np.sin([[1.0], [2.0]]), abs=1e-5)
    assert "lookup" in many.c_source("forward_dynamics") or "low" in many.c_source("forward_dynamics")


def test_splines_in_forces_and_closures() -> None:
    m = wt.Mechanism("cam", gravity=(0, 0, 0))
    turn = np.linspace(0, 2 * np.pi, 13)
    lift = wt.Spline(turn, 0.05 * (1 - np.cos(turn)), "periodic")
    m.revolute("shaft", m.ground, m.body("disc", wt.cylinder(radius=0.1, length=0.02, mass=1.0, axis="z")), axis="z")
    m.prismatic("follower", m.ground, m.body("tappet", mass=0.4), axis="x")
    m.closure("profile", m.coordinate("follower") - lift(m.coordinate("shaft")))
    m.actuator("motor", "shaft", effort=0.2 * lift(m.time))
    run = m.build().simulate(3.0, every=0.05, v={"shaft": 0.0}, tolerance=1e-9)
    assert run["follower"] == pytest.approx(lift(run["shaft"]), abs=1e-12)
    assert run.certificate.ok
    assert run.certificate.work_in > 1e-5


def test_a_run_begins_where_the_drive_is() -> None:
    s = driven_four_bar().build(guess={"A": 1.0})
    run = s.simulate(0.2, every=0.1, t0=0.5)
    assert run["A"] == pytest.approx(1.0 + 2 * run.t + 0.3 * np.sin(3 * run.t), abs=1e-12)
    assert run.certificate.ok
    with pytest.raises(wt.StateError, match='the loop of "motor"'):
        s.simulate(0.2, t0=0.5, q=s.q0, v=s.v0)


def test_prescribed_hinges_put_in_work() -> None:
    m = wt.Mechanism("spun")
    arm = m.body("arm", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("A", m.ground, arm, axis="y", prescribed=True)
    m.revolute("B", arm, m.body("flail", wt.rod(length=0.5, mass=1.0, axis="x")), at=(1, 0, 0), axis="y")
    run = m.build().simulate(2.0, every=0.01, v={"A": 2.0}, tolerance=1e-10)
    torque = run.system.driving_forces(run.q, run.v)[:, 0]
    assert run.certificate.work_in == pytest.approx(simpson(2.0 * torque, run.t), rel=1e-6)
    assert abs(run.certificate.work_in) > 5.0
    assert run.certificate.energy_drift < 1e-7


def test_a_velocity_that_is_given_puts_in_work() -> None:
    m = four_bar()
    m.closure("speed", m.rate("A") - 2.0)
    s = m.build(guess={"A": 1.0})
    run = s.simulate(1.0, every=0.01, v=s.consistent_velocities(s.q0, {"A": 2.0}), tolerance=1e-10)
    effort = run["speed"]
    assert run.certificate.work_in == pytest.approx(simpson(2.0 * effort, run.t), rel=1e-6)
    assert run.certificate.energy_drift < 1e-8 * 50


def test_the_certificate_fails_if_work_is_forgotten() -> None:
    run = driven_four_bar().build(guess={"A": 1.0}).simulate(1.0, every=0.01, tolerance=1e-9)
    assert run.certificate.ok
    lost = wt.Trajectory(run.system, run.t, run.q, run.v, certificate=run.certificate, work=0 * run.work)
    assert not lost.certify().ok


def test_driven_systems_pickle() -> None:
    s = driven_four_bar().build(guess={"A": 1.0})
    again = pickle.loads(pickle.dumps(s))
    assert again.description == s.description
    assert (again.forward_dynamics(s.q0, s.v0) == s.forward_dynamics(s.q0, s.v0)).all()


def test_drives_that_contradict_each_other() -> None:
    m = driven_four_bar()
    m.drive("other", "D", position=1.5 + m.time)
    with pytest.raises(wt.AssemblyError, match="driven coordinate"):
        m.build(guess={"A": 1.0, "D": 1.5})


def refused(words: str, call: Any) -> None:
    m = four_bar()
    m.parameter("p", 2.0)
    m.state("z", 1.0)
    m.revolute("P", m.ground, m.body("fan", mass=1.0), axis="y", prescribed=True)
    m.spherical("ball", m.ground, m.body("globe", mass=1.0, inertia=np.eye(3)))
    before = m.describe()
    with pytest.raises(wt.ModelError, match=words):
        call(m)
    assert m.describe() == before


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ('no joint "X"', lambda m: m.drive("d", "X", position=m.time)),
        ("no coordinate 1", lambda m: m.drive("d", "A", index=1, position=m.time)),
        ("quaternion", lambda m: m.drive("d", "ball", position=m.time)),
        ("prescribed=True", lambda m: m.drive("d", "P", position=m.time)),
        ('depends on "B"', lambda m: m.drive("d", "A", position=m.coordinate("B"))),
        ('depends on "B"', lambda m: m.drive("d", "A", position=m.rate("B") + m.time)),
        ('depends on "crank"', lambda m: m.drive("d", "A", position=m.position("crank")[0])),
        ('depends on "z"', lambda m: m.drive("d", "A", position=m.state_symbol("z"))),
        ("does not know", lambda m: m.drive("d", "A", position=ca.SX.sym("t"))),
        ("MX", lambda m: m.drive("d", "A", position=ca.MX.sym("t"))),
        ("not finite", lambda m: m.drive("d", "A", position=ca.sqrt(m.time))),
        ("position", lambda m: m.drive("d", "A", position=np.nan)),
        ("position", lambda m: m.drive("d", "A", position="fast")),
        ("position", lambda m: m.drive("d", "A", position=None)),
        ("joints and closures", lambda m: m.drive("A", "A", position=m.time)),
        ("three entries", lambda m: m.drive_point("d", "crank", position=m.time)),
        ("three entries", lambda m: m.drive_point("d", "crank", position=(1.0, 2.0))),
        ("all of position is None", lambda m: m.drive_point("d", "crank", position=(None, None, None))),
        ("ground", lambda m: m.drive_point("d", "ground", position=(m.time, None, None))),
        ('no body or frame "rod"', lambda m: m.drive_point("d", "rod", position=(m.time, None, None))),
        (r"position\[1\] \(y\)", lambda m: m.drive_point("d", "crank", position=(None, m.coordinate("A"), None))),
    ],
)
def test_what_cannot_be_driven(words: str, call: Any) -> None:
    refused(words, call)


def test_a_coordinate_is_driven_once() -> None:
    m = driven_four_bar()
    with pytest.raises(wt.ModelError, match='joint "A" is driven already, by "motor"'):
        m.drive("again", "A", position=m.time)
