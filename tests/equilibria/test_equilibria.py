"""Equilibria against closed forms: rest, steady motion, trim, paths, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.closed_differences import central
from whippletree.equilibria import eigenvalues_over, equilibrium_path
from whippletree.equilibria.balance import Balance
from whippletree.equilibria.load_case import LoadCase

G = 9.81


def pendulum() -> wt.System:
    m = wt.Mechanism("pendulum")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=1.0, mass=2.0, axis="x")), axis="y")
    return m.build()


def governor(length: float = 0.4, *, prescribed: bool = True) -> wt.System:
    """Two arms with point masses on a turning shaft, without a sleeve: cos(angle) = g / (length omega^2)."""
    m = wt.Mechanism("governor")
    shaft = m.body("shaft", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("spindle", m.ground, shaft, axis="z", prescribed=prescribed)
    for name, axis in (("left", "y"), ("right", "-y")):
        ball = m.body(f"{name} ball", mass=0.5, com=(0, 0, -length))
        m.revolute(name, shaft, ball, axis=axis)
        m.friction(f"{name} bearing", name, coulomb=0.0, viscous=0.02)
    return m.build()


def truss(load: float = 0.0) -> wt.System:
    """Von Mises' truss by a spring: snaps through at a known load."""
    m = wt.Mechanism("truss", gravity=(0, 0, 0))
    push = m.parameter("load", load)
    tip = m.body("tip", mass=1.0)
    m.prismatic("rise", m.ground, tip, axis="z")
    m.spring("bar", m.ground, tip, at=(1, 0, 0), stiffness=1000.0, free_length=float(np.hypot(1, 0.3)), damping=5.0)
    m.load("push", tip, force=(0, 0, -push))
    return m.build(guess={"rise": 0.3})


def test_a_pendulum_hangs_and_its_upper_position_is_unstable() -> None:
    s = pendulum()
    hanging = s.equilibrium()
    assert hanging.q[0] == pytest.approx(np.pi / 2, abs=1e-14)
    assert hanging.stability == "stable"
    assert hanging.reactions["hinge"].force == pytest.approx([0, 0, 2 * G], abs=1e-10)
    upright = s.equilibrium([-1.4], nearest=True)
    assert upright.q[0] == pytest.approx(-np.pi / 2, abs=1e-12)
    assert upright.stability == "unstable"
    both = s.equilibrium(starts=6)
    assert [both.stability, *(one.stability for one in both.others)] == ["stable", "unstable"]


def test_a_held_joint_tells_what_it_needs_and_an_unknown_effort_is_the_same() -> None:
    s = pendulum()
    held = s.equilibrium([0.3], hold=["hinge"])
    assert held.q[0] == 0.3
    assert held.hold_efforts == {"hinge.angle": pytest.approx(-G * np.cos(0.3), abs=1e-11)}
    found = s.equilibrium([0.3], hold=["hinge"], unknowns=["hinge.effort"])
    assert found.unknowns["hinge.effort"] == pytest.approx(-G * np.cos(0.3), abs=1e-11)
    assert np.abs(s.forward_dynamics(found.q, found.v, found.tau)).max() < 1e-10


def test_the_preload_for_a_ride_height_is_found() -> None:
    m = wt.Mechanism("strut")
    preload = m.parameter("preload", 0.0)
    body = m.body("body", mass=300.0)
    m.prismatic("heave", m.ground, body, axis="z")
    m.spring("spring", m.ground, body, stiffness=2e4, free_length=0.5 + preload)
    found = m.build().equilibrium({"heave": 0.45}, hold=["heave"], unknowns=["preload"])
    assert found.unknowns["preload"] == pytest.approx(300 * G / 2e4 - 0.05, abs=1e-12)
    assert found.q[0] == 0.45
    assert found.stability == "stable"


def test_a_governor_opens_to_the_known_angle() -> None:
    omega = 2 * np.pi
    found = governor().equilibrium({"left": 0.5, "right": 0.5}, speeds={"spindle": omega})
    angle = np.arccos(G / (0.4 * omega**2))
    assert found.q[1:] == pytest.approx([angle, angle], abs=1e-12)
    assert found.stability == "stable"
    hanging = governor().equilibrium([0, 0, 0], speeds={"spindle": omega})
    assert hanging.q[1:] == pytest.approx([0, 0], abs=1e-12)
    assert hanging.stability == "unstable"
    # the relative frequency of an arm about its angle: omega sin(angle), if the speed is kept
    modes = [mode for mode in found.linearize().modes() if mode.kind == "oscillation"]
    assert [mode.omega for mode in modes] == pytest.approx([omega * np.sin(angle)] * 2, rel=1e-9)


def test_plots_over_a_speed_or_an_effort_say_its_unit() -> None:
    s = governor()
    branches = eigenvalues_over(s, "spindle.speed", [2.0, 3.0])
    assert branches.plot().axes[-1].get_xlabel() == "spindle.speed [rad/s]"
    assert branches.plot("locus").axes[-1].get_ylabel() == "spindle.speed [rad/s]"
    path = equilibrium_path(pendulum(), "hinge.effort", [0.0, 1.0])
    assert path.plot("hinge").axes[-1].get_xlabel() == "hinge.effort [N m]"


def test_a_governor_that_turns_freely_keeps_its_speed() -> None:
    omega = 2 * np.pi
    found = governor(prescribed=False).equilibrium({"left": 0.5, "right": 0.5}, speeds={"spindle": omega})
    assert found.q[1:] == pytest.approx(np.full(2, np.arccos(G / (0.4 * omega**2))), abs=1e-12)
    a = found.system.forward_dynamics(found.q, found.v)
    assert np.abs(a).max() < 1e-10


def test_a_motion_that_is_not_steady_is_refused() -> None:
    with pytest.raises(wt.EquilibriumError, match='when "hinge" has advanced'):
        pendulum().equilibrium(speeds={"hinge": 3.0})


def test_a_force_that_depends_on_what_advances_is_refused_by_its_derivative() -> None:
    """An effort that is zero at the start and at both places where it is looked at again, and grows in between."""
    m = wt.Mechanism("rotor", gravity=(0, 0, 0))
    m.revolute("hinge", m.ground, m.body("rotor", mass=1.0, inertia=(1, 1, 1)), axis="z")
    angle = m.coordinate("hinge")
    m.load("bumps", "rotor", moment=(0, 0, angle * (angle - 0.37) * (angle - 1.1)))
    with pytest.raises(wt.EquilibriumError, match=r'when "hinge" has advanced, an effort that grows by 0\.407 N m'):
        m.build().equilibrium(speeds={"hinge": 1.0})


def test_a_force_that_changes_with_time_is_taken_at_its_time() -> None:
    """A rotor on a spring under a force that grows: k z = c t at rest and in motion."""
    m = wt.Mechanism("rotor", gravity=(0, 0, 0))
    m.prismatic("rise", m.ground, m.body("case", mass=2.0), axis="z")
    m.revolute("spin", "case", m.body("rotor", wt.cylinder(radius=0.1, length=0.05, mass=1.0, axis="y")), axis="y")
    m.actuator("lift", "rise", effort=30.0 * m.time - 200.0 * m.coordinate("rise") - m.rate("rise"))
    s = m.build()
    for speeds in (None, {"spin": 40.0}):
        found = s.equilibrium(speeds=speeds, hold=None if speeds else ["spin"], t=0.4)
        assert found.q[0] == pytest.approx(30.0 * 0.4 / 200.0, rel=1e-12)
        assert found.stability == "stable"


def test_rounding_of_centrifugal_forces_is_balanced() -> None:
    """Nothing acts on a rotor with an arm but its own motion: the arm's centre of mass is as far out as it can be."""
    m = wt.Mechanism("rotor", gravity=(0, 0, 0))
    rotor = m.body("rotor", mass=2.3, com=(0.13, 0.27, 0.11), inertia=(0.31, 0.4, 0.5))
    axis = np.array([0.3, 0.5, 0.7])
    m.revolute("hinge", m.ground, rotor, axis=axis)
    m.revolute("knee", rotor, m.body("arm", mass=0.7, com=(0.33, 0.17, 0.21)), at=(0.1, 0.4, 0.2), axis=axis)
    s = m.build()
    found = s.equilibrium(speeds={"hinge": 5.0})
    pin, mass = s.pose(found.q, "arm"), np.array([0.33, 0.17, 0.21])
    out, arm = ((np.eye(3) - np.outer(axis, axis) / 0.83) @ x for x in (pin[:3, 3], pin[:3, :3] @ mass))
    assert np.cross(out, arm) == pytest.approx(0, abs=1e-10)
    assert out @ arm > 0
    assert found.residual < 1e-12


def test_what_is_held_does_not_move_in_the_word_about_a_steady_motion() -> None:
    omega, s = 2 * np.pi, governor()
    angle = np.arccos(G / (0.4 * omega**2))
    found = s.equilibrium({"left": 0.0, "right": 0.5}, speeds={"spindle": omega}, hold=["left"])
    assert found.q[2] == pytest.approx(angle, abs=1e-12)
    assert found.stability == "stable"  # though the left arm would not stay hanging
    needs = 0.5 * 0.4 * np.sin(0.3) * (G - omega**2 * 0.4 * np.cos(0.3))
    held = s.equilibrium({"left": 0.3, "right": 0.0}, speeds={"spindle": omega}, hold=["left"])
    assert held.hold_efforts == {"left.angle": pytest.approx(needs, abs=1e-10)}
    assert held.stability == "unstable"
    both = s.equilibrium({"left": 0.3, "right": 0.0}, speeds={"spindle": omega}, hold=["left", "right"])
    assert both.reason == "nothing can move but what advances"


def test_what_holds_a_cut_joint_is_part_of_the_stiffness() -> None:
    """Against differences: the effort that holds a joint at which a loop is cut acts on two bodies that turn."""
    m = wt.Mechanism("slotted bars")
    a, b, c, d = (m.body(name, wt.rod(length=1.0, mass=1.0, axis="x")) for name in "abcd")
    m.revolute("A", m.ground, a, axis="y")
    m.revolute("B", a, b, at=(1.0, 0, 0), axis="y")
    m.revolute("E", m.ground, d, at=(1.5, 0, 0), axis="y")
    m.revolute("F", d, c, at=(1.0, 0, 0), axis="y")
    m.prismatic("slot", b, c, at=(0.7, 0, 0), axis="x")
    s = m.build(guess={"A": -1.0, "E": -2.0, "B": 0.9, "F": 1.9}, cut=["slot"])
    cut = s.v_slice("slot").start
    held = np.arange(s.nv) == cut
    balance, load = Balance(s, held), LoadCase(np.zeros(s.nv), np.zeros(0))
    here = balance.at(s.q0, np.zeros(0), load)
    assert abs(here.held[0]) > 1.0

    def efforts(x: float) -> float:
        there = balance.at(balance.moved(s.q0, here.motions[:, 0] * x, load)[0], np.zeros(0), load)
        return float(there.efforts[0] * np.sign(there.motions[:, 0] @ here.motions[:, 0]))

    assert balance.slopes(here, load).K[0, 0] == pytest.approx(central(efforts, 0.02), rel=1e-8)


def test_what_nothing_holds_is_refused_in_words() -> None:
    m = wt.Mechanism("stone")
    m.free("flight", m.ground, m.body("stone", mass=2.0, inertia=(1, 1, 1)))
    with pytest.raises(
        wt.EquilibriumError, match=r'19\.6 N at the velocity along z of joint "flight" .* nothing holds it'
    ):
        m.build().equilibrium()
    with pytest.raises(wt.EquilibriumError, match=r"20 N m at the angular velocity of joint"):
        pendulum().equilibrium(tau={"hinge": 20.0 + G}, nearest=True, guess=[np.pi])


def test_a_box_stands_on_a_floor_and_a_floating_base_settles() -> None:
    m = wt.Mechanism("box")
    box = m.body("box", wt.box((0.4, 0.3, 0.2), mass=3.0))
    m.free("base", m.ground, box)
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        m.contact(f"foot {k}", box, at=(0.2 * x, 0.15 * y, -0.1), stiffness=5e3, damping=20.0, friction=0.5)
    s = m.build(guess={"base": (0.998, 0.05, 0.03, 0.02, 0, 0, 0.4)})
    found = s.equilibrium()
    pose = s.pose(found.q, "box")
    assert pose[2, 3] == pytest.approx(0.1 - 3 * G / 4 / 5e3, abs=2e-3)
    assert pose[:3, 2] == pytest.approx([0, 0, 1], abs=1e-6)
    assert found.residual < 1e-9
    assert found.stability == "undecided"  # it may stand anywhere
    assert set(found.free) >= {"base.displacement along x", "base.displacement along y", "base.rotation about z"}


def test_a_box_that_creeps_down_a_slope_is_refused_in_words() -> None:
    m = wt.Mechanism("slope", gravity=9.81 * np.array([np.sin(0.1), 0, -np.cos(0.1)]))
    box = m.body("box", mass=3.0)
    m.prismatic("down", m.ground, m.body("carriage"), axis="x")
    m.prismatic("up", "carriage", box, axis="z")
    m.contact("sole", box, stiffness=5e3, damping=20.0, friction=0.5)
    with pytest.raises(wt.EquilibriumError, match=r"(velocity of joint \"down\"|moves on and on).*hold \"down\""):
        m.build(guess={"up": 0.1}).equilibrium()


def test_states_of_elements_rest() -> None:
    m = wt.Mechanism("actuator")
    block = m.body("block", mass=2.0)
    m.prismatic("slide", m.ground, block, axis="x")
    m.torsion_spring("spring", "slide", stiffness=50.0, damping=3.0)
    z = m.state("lag", 0.0, rate=lambda z: (4.0 - z) / 0.1)
    m.load("push", block, force=(z, 0, 0))
    found = m.build().equilibrium()
    assert found.z == pytest.approx([4.0], abs=1e-12)
    assert found.q == pytest.approx([4.0 / 50.0], abs=1e-12)
    assert found.stability == "stable"


def test_a_truss_snaps_through_at_the_known_load() -> None:
    path = equilibrium_path(truss(), "load", np.linspace(0, 10, 11))
    height = np.linspace(0, 0.3, 200001)
    long = np.hypot(1, 0.3)
    push = 1000 * (long - np.hypot(1, height)) * height / np.hypot(1, height)
    assert path.values[list(path.turning)] == pytest.approx([push.max(), -push.max()], rel=1e-7)
    assert path.values[-1] == 10.0
    x = path.coordinates("rise")
    assert path.values == pytest.approx(1000 * (long - np.hypot(1, x)) * x / np.hypot(1, x), abs=1e-8)
    slope = np.gradient(push, height)
    for point, word in zip(x, path.stability, strict=True):
        at = np.interp(abs(point), height, slope)
        if abs(at) > 1.0:
            assert word == ("unstable" if at > 0 else "stable")
    assert len(path.at(3.0)) == 3
    assert path.plot("rise").axes[-1].get_xlabel() == "load"


def test_a_symmetric_column_buckles() -> None:
    """Two bars with a spring at the knee: straight is stable below 4 k / l, unstable above, where bent ones are."""
    m = wt.Mechanism("column", gravity=(0, 0, 0))
    load = m.parameter("load", 0.0)
    lower = m.body("lower", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.01))
    upper = m.body("upper", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.01))
    foot = m.revolute("foot", m.ground, lower, axis="y")
    m.revolute("knee", lower, upper, at=(0, 0, 1), axis="y")
    m.torsion_spring("spring", "knee", stiffness=10.0, damping=1.0)
    m.closure("guide", m.position(upper)[0] + m.rotation(upper)[0, 2])  # the head stays above the foot
    m.load("press", upper, at=(0, 0, 1), force=(0, 0, -load))
    s = m.build()
    assert foot.name == "foot"
    assert s.equilibrium(parameters={"load": 19.0}).stability == "stable"
    straight = s.equilibrium(parameters={"load": 21.0})
    assert straight.stability == "unstable"
    bent = s.equilibrium({"knee": 0.2}, parameters={"load": 21.0})
    knee = bent.coordinates()["knee"][0]
    assert bent.stability == "stable"
    # the energy is k knee^2 / 2 + load 2 cos(knee / 2)
    assert 10.0 * knee == pytest.approx(21.0 * np.sin(knee / 2), abs=1e-9)


def test_a_run_starts_at_rest() -> None:
    s = pendulum()
    run = s.simulate(1.0, start="equilibrium", tau={"hinge": 3.0})
    assert np.abs(run.q - run.q[0]).max() < 1e-9
    found = s.equilibrium([-1.4], nearest=True)
    assert s.simulate(0.1, start=found).q[0] == pytest.approx(found.q)
    with pytest.raises(wt.StateError, match='start= must be "equilibrium"'):
        s.simulate(1.0, start="rest")
    model = wt.read(
        "name: p\nbodies: {rod: {rod: {length: 1, mass: 2}}}\njoints: {hinge: {revolute: [ground, rod], axis: y}}\n"
        "start: equilibrium\nrun: {duration: 1}"
    )
    assert np.abs(model.simulate().q - np.pi / 2).max() < 1e-9


def test_bad_input_is_refused_in_words() -> None:
    s = pendulum()
    for call, words in (
        (lambda: s.equilibrium(unknowns=["hinge.effort"]), "hold one freedom"),
        (lambda: s.equilibrium(hold=["hing"]), "there is no joint"),
        (lambda: s.equilibrium(speeds=[1.0]), "by joint"),
        (lambda: s.equilibrium(starts=-1), "starts="),
        (lambda: s.equilibrium(unknowns=["k"], hold=["hinge"]), "there is no parameter, effort or speed"),
        (lambda: s.equilibrium([np.nan]), "finite"),
        (lambda: equilibrium_path(s, "hinge.effort", [1.0]), "at least two"),
        (lambda: equilibrium_path(s, "hinge.effort", [0.0, 1.0], speed=3), "there is no option"),
        (lambda: eigenvalues_over(s, "hinge.effort", []), "finite numbers"),
        (lambda: s.equilibrium(z=[1.0]), "auxiliary states"),
        (lambda: s.equilibrium(hold=["hinge"], speeds={"hinge": 1.0}), "is held, and is to move"),
        (lambda: truss().equilibrium(parameters={"load": np.nan}), 'parameter "load" is nan'),
    ):
        with pytest.raises(wt.WhippletreeError, match=words):
            call()
