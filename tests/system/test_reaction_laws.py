"""Force laws on reactions: against closed forms, and against equations in plain NumPy that share no code."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.closed_differences import Neighbour, differences
from support.sampling import sampled

Array = np.ndarray

G = 9.81


@functools.cache
def rod_on_a_slide(mu: float, law: str = "bearing") -> wt.System:
    """Painleve's rod: a slider without mass on a rail along x, and a uniform rod of half length one hinged to it."""
    m = wt.Mechanism("sliding rod")
    slider, rod = m.body("slider"), m.body("rod", wt.rod(length=2.0, mass=1.0, axis="x"))
    slide = m.prismatic("slide", m.ground, slider, axis="x")
    m.revolute("hinge", slider, rod, axis="y")
    if law == "bearing":
        m.friction("rub", slide, coefficient=mu, speed=1e-3)
    else:
        pressed = ca.sqrt(1e-24 + m.reaction(slide).fx ** 2 + m.reaction(slide).fy ** 2)
        m.actuator("rub", slide, effort=-mu * pressed * ca.tanh(m.rate(slide) / 1e-3))
    return m.build()


def sliding_rod(angle: float, rate: float, sign: float, mu: float) -> Array:
    """Accelerations of slider and rod in closed form, the normal force being upward or downward, whichever fits.

    The rod points along (cos a, -sin a) in x and z; N and F are the rail's force on it, and I = 1/3 about its middle.
    """
    c, s = np.cos(angle), np.sin(angle)
    # centre: x + cos a, -sin a; forces F = -mu sign |N| and N act at the rod's end, from the centre (-cos a, sin a)
    found = []
    for side in (1.0, -1.0):
        f = -mu * sign * side
        rows = np.array([[1.0, -s, -f], [0.0, -c, -1.0], [0.0, 1 / 3, -(c + s * f)]])
        x, a, N = np.linalg.solve(rows, [c * rate**2, -G - s * rate**2, 0.0])
        if side * N > 0:
            found.append(np.array([x, a]))
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("law", ["bearing", "written"])
def test_the_sliding_rod_of_painleve(law: str) -> None:
    mu, states = 1.2, [(-1.1, 0.0, 1.0), (1.1, 2.0, 1.0), (0.4, -3.0, -1.0), (2.5, 1.0, -1.0), (-0.3, 0.0, -1.0)]
    s = rod_on_a_slide(mu, law)
    q = np.array([[0.0, angle] for angle, _, _ in states])
    v = np.array([[sign, rate] for _, rate, sign in states])
    found = s.forward_dynamics(q, v)  # a batch, in vector lanes
    for k, state in enumerate(states):
        expected = sliding_rod(*state, mu)
        assert np.abs(found[k] - expected).max() < 1e-8 * np.abs(expected).max()
        assert np.abs(s.forward_dynamics(q[k], v[k]) - found[k]).max() == 0.0
    force = s.reactions(q, v)["slide"].force
    assert np.abs(np.abs(force[:, 0]) - mu * np.abs(force[:, 2])).max() < 1e-8
    assert np.abs(s.powers(q, v).dissipated + force[:, 0] * v[:, 0]).max() < 1e-7 or law == "written"


def test_its_critical_coefficient_is_four_thirds() -> None:
    """mu = (1 + 3 cos^2) / (3 sin cos), which is least, 4/3, where tan = 2."""
    for mu, refused in ((4 / 3 * (1 - 1e-6), False), (4 / 3 * (1 + 1e-6), True)):
        s = rod_on_a_slide(mu)
        state = [0.0, np.arctan(2.0)], [1.0, 0.0]
        if refused:
            with pytest.raises(wt.DynamicsError, match='force "rub" at this state has'):
                s.forward_dynamics(*state)
        else:
            assert np.isfinite(s.forward_dynamics(*state)).all()
    s = rod_on_a_slide(2.0)
    angles = np.linspace(0.02, np.pi / 2 - 0.02, 41)
    jams = (1 + 3 * np.cos(angles) ** 2) / (3 * np.sin(angles) * np.cos(angles)) <= 2.0
    assert jams.any()
    assert not jams.all()
    for angle, jam in zip(angles, jams, strict=True):
        if jam:
            with pytest.raises(wt.DynamicsError, match="Painleve"):
                s.forward_dynamics([0.0, angle], [1.0, 0.0])
        else:
            s.forward_dynamics([0.0, angle], [1.0, 0.0])


def test_no_solution_and_two_are_told_apart() -> None:
    """N (1 - mu a) = N0 pressing upward and N (1 + mu a) = N0 downward: beyond mu a = 1 both fit, or neither."""
    s, angle = rod_on_a_slide(2.0), np.arctan(2.0)
    for sign, words in ((1.0, "has no solution"), (-1.0, "has two solutions")):
        with pytest.raises(wt.DynamicsError, match=words):
            s.forward_dynamics([0.0, angle], [sign, 0.0])


def test_a_run_that_jams_keeps_what_was_computed() -> None:
    s = rod_on_a_slide(2.0)
    with pytest.raises(wt.SimulationError, match="Painleve") as caught:
        s.simulate(3.0, q=[0.0, 0.4], v=[-10.0, 2.0], every=0.01)  # tan 0.65 = 3 - 5**0.5 is where it jams
    assert len(caught.value.trajectory.t) > 1
    stepper = s.realtime(q=[0.0, 0.4], v=[-10.0, 2.0])
    while stepper.step() == 0:
        assert stepper.t < 0.2
    assert "Painleve" in stepper.cause and stepper.q[1] < 0.655
    run = rod_on_a_slide(0.4).simulate(1.0, q=[0.0, 0.1], v=[3.0, 0.0])
    assert run.certificate.ok
    assert run.certificate.work_dissipated > 0.1
    rubbed = run.forces()["rub"].efforts[:, 0]
    assert np.abs(rubbed - run.reactions()["slide"].force[:, 0]).max() < 1e-6


def test_a_block_slows_down_by_mu_g() -> None:
    m = wt.Mechanism("block")
    slide = m.prismatic("slide", m.ground, m.body("block", mass=2.0), axis="x")
    m.friction("rub", slide, coefficient=0.25, speed=1e-4)
    s = m.build()
    run = s.simulate(1.0, v=[4.0], tolerance=1e-10)
    assert abs(run.q[-1, 0] - (4.0 - 0.25 * G / 2)) < 1e-6
    assert abs(run.certificate.work_dissipated - (16.0 - (4.0 - 0.25 * G) ** 2)) < 1e-6  # m = 2: m v^2 / 2 = v^2
    effort = s.inverse_dynamics([0.0], [1.0], [0.5])
    assert effort[0] == pytest.approx(2.0 * 0.5 + 0.25 * 2.0 * G, abs=1e-9)
    assert s.bias_force([0.0], [1.0])[0] == pytest.approx(0.25 * 2.0 * G, abs=1e-9)


def drawer(mu: float, **bearing: float) -> wt.System:
    m = wt.Mechanism("drawer", gravity=(0, 0, 0))
    box = m.body("drawer", wt.box(size=(0.4, 0.3, 0.1), mass=1.5))
    slide = m.prismatic("slide", m.ground, box, axis="x")
    m.frame("handle", on=box, at=(0, 0.2, 0))
    m.friction("rub", slide, coefficient=mu, **bearing)
    return m.build()


def test_a_drawer_that_is_pushed_beside_its_middle_wedges() -> None:
    """Two bearings at the distance L take P b / L each: P (1 - 2 mu b / L) is left, and nothing from L / 2 b on."""
    push, L, b = 7.0, 0.3, 0.2
    for mu in (0.3, 0.9):
        a = drawer(mu, length=L).forward_dynamics([0.0], [1.0], wrenches={"handle": [0, 0, 0, push, 0, 0]})
        assert a[0] == pytest.approx(push * (1 - 2 * mu * b / L) / 1.5, abs=1e-9)
    pulled = drawer(0.3, length=L, preload=5.0).forward_dynamics([0.0], [1.0])
    assert pulled[0] == pytest.approx(-0.3 * 5.0 / 1.5, abs=1e-9)
    twisted = drawer(0.3, radius=0.1).forward_dynamics([0.0], [1.0], wrenches={"handle": [4.0, 0, 0, 0, 0, 0]})
    assert twisted[0] == pytest.approx(-0.3 * 40.0 / 1.5, abs=1e-9)


# ---------------------------------------------------------------------- a loop in plain NumPy

POINTS = {"A": (0.0, 0.0), "D": (2.0, 0.0)}
LENGTHS, MASSES = (1.0, 2.0, 1.5), (1.0, 2.0, 1.5)
MU, RADIUS = 0.3, 0.1


@functools.cache
def four_bar(**more: Any) -> wt.System:
    m = wt.Mechanism("four-bar with bearings")
    crank, coupler, rocker = (
        m.body(name, wt.rod(length=length, mass=mass, axis="x"))
        for name, length, mass in zip(("crank", "coupler", "rocker"), LENGTHS, MASSES, strict=True)
    )
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    for joint in "ABCD":
        m.friction(f"bearing {joint}", joint, **{"coefficient": MU, "radius": RADIUS, "speed": 1e-3, **more})
    return m.build(guess={"A": 1.0})


def absolute_four_bar(s: wt.System, q: Array, v: Array, rounds: int = 200) -> tuple[Array, dict[str, Array]]:
    """Newton and Euler for three bars in the plane, pin forces and friction torques by fixed-point iteration.

    Unknowns are the bars' x'', z'', angle'' and the forces of the pins on their child; angles about y.
    """
    angle = np.array([q[0], q[0] + q[1], q[3]])
    rate = np.array([v[0], v[0] + v[1], v[3]])
    e, n = (np.array([np.cos(angle), -np.sin(angle)]).T, np.array([-np.sin(angle), -np.cos(angle)]).T)
    # pin: (parent bar or -1, place on it from its middle, child bar, place)
    L = LENGTHS
    pins = {
        "A": (-1, 0.0, 0, -L[0] / 2),
        "B": (0, L[0] / 2, 1, -L[1] / 2),
        "C": (1, L[1] / 2, 2, L[2] / 2),
        "D": (-1, 0.0, 2, -L[2] / 2),
    }
    rel = {j: (rate[c] - (rate[p] if p >= 0 else 0.0)) for j, (p, _, c, _) in pins.items()}
    torque = dict.fromkeys(pins, 0.0)
    for _ in range(rounds):
        K, right = np.zeros((17, 17)), np.zeros(17)
        for b in range(3):
            J = MASSES[b] * L[b] ** 2 / 12
            K[3 * b, 3 * b] = K[3 * b + 1, 3 * b + 1] = MASSES[b]
            K[3 * b + 2, 3 * b + 2] = J
            right[3 * b + 1] = -MASSES[b] * G
        for i, (j, (p, at_p, c, at_c)) in enumerate(pins.items()):
            for b, at, sign in ((c, at_c, 1.0), (p, at_p, -1.0)):
                if b < 0:
                    continue
                columns = slice(9 + 2 * i, 11 + 2 * i)
                K[3 * b : 3 * b + 2, columns] -= sign * np.eye(2)
                K[3 * b + 2, columns] -= sign * at * n[b]  # the moment of a force is its power per rate
                right[3 * b + 2] += sign * torque[j]
                K[9 + 2 * i : 11 + 2 * i, 3 * b : 3 * b + 2] += sign * np.eye(2)
                K[9 + 2 * i : 11 + 2 * i, 3 * b + 2] += sign * at * n[b]
                right[9 + 2 * i : 11 + 2 * i] += sign * at * e[b] * rate[b] ** 2
        x = np.linalg.solve(K, right)
        forces = {j: x[9 + 2 * i : 11 + 2 * i] for i, j in enumerate(pins)}
        torque = {j: -MU * RADIUS * np.linalg.norm(f) * np.tanh(rel[j] / 1e-3) for j, f in forces.items()}
    bars = x[[2, 5, 8]]
    return np.array([bars[0], bars[1] - bars[0], bars[2] - bars[1], bars[2]]), forces


@pytest.mark.parametrize(
    "formulation",
    ["auto", *sampled(["constraint_embedding", "tree_augmented", "absolute"], lambda name: name[0] == "c")],
)
def test_bearings_of_a_four_bar(formulation: str) -> None:
    s = four_bar()
    for rate in (1.3, -4.0):
        v = s.consistent_velocities(s.q0, {"A": rate})
        expected, forces = absolute_four_bar(s, s.q0, v)
        assert np.abs(s.forward_dynamics(s.q0, v, formulation=formulation) - expected).max() < 1e-9
        reactions = s.reactions(s.q0, v, formulation=formulation, joints=["C", "A"])
        for joint in ("A", "C"):
            assert np.abs(reactions[joint].force[[0, 2]] - forces[joint]).max() < 1e-8


def test_a_run_of_the_four_bar_loses_what_its_bearings_rub() -> None:
    s = four_bar()
    run = s.simulate(2.0, every=0.02)
    assert run.certificate.ok
    power = sum(run.replay.dissipated_powers().values())
    work = np.trapezoid(power, run.t)
    assert run.certificate.work_dissipated == pytest.approx(work, rel=2e-3)
    with_terms = s.simulate(2.0, every=0.02, formulation="joint_multipliers", baumgarte=(10.0, 10.0))
    assert np.abs(with_terms.q - run.q).max() < 1e-5


def test_a_component_that_is_not_unique_is_refused_by_name() -> None:
    with pytest.raises(wt.ModelError, match='"bearing A" depends on mx, my of the reaction of joint "A"'):
        four_bar(length=0.2)
    with pytest.raises(wt.ModelError, match="depends on fz"):
        four_bar(thrust_radius=0.2)


# ---------------------------------------------------------------------- other joints


def test_a_ball_and_a_sleeve() -> None:
    """A body on a ball or on a sleeve: Newton and Euler with the friction found by fixed-point iteration."""
    rng = np.random.default_rng(3)
    mass, com, J = 2.0, np.array([0.2, -0.1, 0.3]), np.diag([0.3, 0.4, 0.5])
    w, mu, r = rng.normal(size=3), 0.3, 0.05
    m = wt.Mechanism("ball")
    body = m.body("body", mass=mass, com=com, inertia=J)
    m.friction("rub", m.spherical("ball", m.ground, body), coefficient=mu, radius=r, speed=1e-4)
    s = m.build()
    JO = J + mass * (com @ com * np.eye(3) - np.outer(com, com))
    f = np.zeros(3)
    for _ in range(100):
        torque = -mu * r * np.linalg.norm(f) * w / np.linalg.norm(w) + np.cross(com, [0, 0, -mass * G])
        alpha = np.linalg.solve(JO, torque - np.cross(w, JO @ w))
        f = mass * (np.cross(alpha, com) + np.cross(w, np.cross(w, com)) + [0, 0, G])
    assert np.abs(s.forward_dynamics(s.q0, w) - alpha).max() < 1e-9

    m = wt.Mechanism("sleeve")
    body = m.body("body", mass=mass, com=com, inertia=J)
    m.friction(
        "rub", m.cylindrical("sleeve", m.ground, body, axis="z"), coefficient=mu, radius=r, length=0.2, speed=1e-6
    )
    s = m.build()
    v = np.array([2.0, -0.3])
    slip = np.array([r * v[0], v[1]])
    direction = slip / np.linalg.norm(slip)
    N = 0.0
    for _ in range(100):
        turn, lift = -mu * N * r * direction[0], -mu * N * direction[1] - mass * G
        a0, a1 = turn / JO[2, 2], lift / mass
        omega, alpha = np.array([0, 0, v[0]]), np.array([0, 0, a0])
        c = np.cross(alpha, com) + np.cross(omega, np.cross(omega, com)) + [0, 0, a1]
        f = mass * (c + np.array([0, 0, G]))
        moment = JO @ alpha + np.cross(omega, JO @ omega) + mass * np.cross(com, [0, 0, a1 + G])
        tilt = np.array([moment[1], -moment[0]]) / 0.2
        N = np.linalg.norm(f[:2] / 2 + tilt) + np.linalg.norm(f[:2] / 2 - tilt)
    assert np.abs(s.forward_dynamics(s.q0, v) - [a0, a1]).max() < 1e-8


def test_a_driven_joint_and_parameters() -> None:
    """A crank that is driven at a rate rubs in its bearing; the coefficient is a parameter."""
    m = wt.Mechanism("driven arm")
    mu = m.parameter("mu", 0.1)
    arm = m.body("arm", wt.rod(length=1.0, mass=2.0, axis="x"))
    hinge = m.revolute("hinge", m.ground, arm, axis="z", prescribed=True)
    m.friction("rub", hinge, coefficient=mu, radius=0.05, length=0.3, thrust_radius=0.08)
    s = m.build()
    w, given = 3.0, 0.7
    for value in (0.1, 0.4):
        effort = s.driving_forces([0.0], [w], a=[given], parameters={"mu": value})
        across, tilt = 2.0 * 0.5 * np.array([-(w**2), given]), np.array([-2.0 * G * 0.5, 0.0]) / 0.3
        load = np.linalg.norm(across / 2 + tilt) + np.linalg.norm(across / 2 - tilt)
        rubbed = value * (0.05 * load + 0.08 * 2.0 * G)
        assert effort[0] == pytest.approx(2.0 / 3 * given + rubbed, abs=1e-9)
        acting = {"a": [given], "parameters": {"mu": value}}
        assert s.forces([0.0], [w], **acting)["rub"].efforts[0] == pytest.approx(-rubbed, abs=1e-9)
        assert s.powers([0.0], [w], **acting).dissipated == pytest.approx(w * rubbed, abs=1e-9)


# ---------------------------------------------------------------------- files, copies, refusals

FILE = """
name: block
bodies:
  block: {mass: 2.0}
joints:
  slide: {prismatic: [ground, block], axis: x}
forces:
  rub: {friction: slide, coefficient: 0.25, length: 0.3, speed: 0.001}
  law:
    actuator: slide
    effort: -0.1 * (abs(reaction("slide")[3]) + abs(reaction("slide")[4])) * tanh(rate("slide") / 0.001)
"""


def test_model_files_hold_friction_and_laws(tmp_path: Any) -> None:
    path = tmp_path / "block.yaml"
    path.write_text(FILE)
    model = wt.read(path)
    s = model.build()
    a = s.forward_dynamics([0.0], [1.0])
    assert a[0] == pytest.approx(-0.35 * G, abs=1e-9)
    wt.write(model, tmp_path / "again.yaml")
    again = wt.read(tmp_path / "again.yaml").build()
    assert again.description == s.description
    assert pickle.loads(pickle.dumps(s)).forward_dynamics([0.0], [1.0])[0] == a[0]


def hinge() -> tuple[wt.Mechanism, Any]:
    m = wt.Mechanism("m")
    return m, m.revolute("hinge", m.ground, m.body("arm", wt.rod(length=1.0, mass=1.0, axis="x")), axis="y")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coefficient": 0.1}, "give the radius"),
        ({"coefficient": -0.1, "radius": 0.1}, "coefficient must not be negative"),
        ({"coefficient": 0.1, "radius": 0.1, "coulomb": 1.0}, "either coefficient or coulomb"),
        ({"coefficient": 0.1, "radius": 0.1, "index": 0}, "either coefficient or index"),
        ({"radius": 0.1, "coulomb": 1.0}, "give the coefficient"),
        ({}, "coulomb, viscous"),
    ],
)
def test_what_is_refused_in_a_description(options: dict[str, Any], words: str) -> None:
    m, joint = hinge()
    with pytest.raises(wt.ModelError, match=words):
        m.friction("rub", joint, **options)


def test_where_laws_on_reactions_do_not_belong() -> None:
    m, joint = hinge()
    free = m.free("free", m.ground, m.body("other", wt.sphere(0.1, 1.0)))
    with pytest.raises(wt.ModelError, match="prismatic, revolute, cylindrical, spherical"):
        m.friction("rub", free, coefficient=0.1)
    with pytest.raises(wt.ModelError, match="effort of an actuator"):
        m.state("heat", 0.0, rate=m.reaction(joint).fx)
    m.friction("rub", joint, coefficient=0.1, radius=0.1)
    s, closed = m.build(), four_bar()
    for call in (
        lambda: s.simulate(0.1, formulation="natural", step=0.01),
        lambda: closed.inverse_dynamics(closed.q0, closed.v0, closed.v0),
        lambda: closed.inverse_dynamics_derivatives(closed.q0, closed.v0, closed.v0),
    ):
        with pytest.raises(wt.StateError, match="depends on reactions"):
            call()


# ---------------------------------------------------------------------- implicit methods, derivatives, equilibria


@pytest.mark.parametrize("method", ["trapezoidal", "generalized_alpha"])
def test_implicit_methods_slide_like_explicit_ones(method: str) -> None:
    """A tree and a loop, both of second order; and a run that jams says so and keeps what was computed."""
    closed = four_bar()
    cases = (
        (rod_on_a_slide(0.4), [0.0, 0.1], [3.0, 0.0]),
        (
            closed,
            closed.q0,
            closed.consistent_velocities(closed.q0, {"A": 1.3}),
        ),
    )
    for s, q, v in cases:
        exact = s.simulate(0.2, q=q, v=v, method="dop853", tolerance=1e-11).q[-1]
        errors = []
        for step in (4e-3, 2e-3):
            run = s.simulate(0.2, q=q, v=v, method=method, step=step)
            errors.append(np.abs(run.q[-1] - exact).max())
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)
        assert errors[1] < 1e-4
        assert run.certificate.work_dissipated > 0.0
    with pytest.raises(wt.SimulationError, match="Painleve") as caught:
        rod_on_a_slide(2.0).simulate(3.0, q=[0.0, 0.4], v=[-10.0, 2.0], every=0.01, method=method, step=1e-3)
    kept = caught.value.trajectory
    assert len(kept.t) > 1
    assert kept.q[-1][1] < 0.655  # tan = 3 - 5**0.5 is where it jams


def test_stiff_friction_takes_long_implicit_steps() -> None:
    """A block that comes to rest, where its friction is a damper of 2 ms: steps of 20 ms, by mu g until then."""
    m = wt.Mechanism("block")
    slide = m.prismatic("slide", m.ground, m.body("block", mass=2.0), axis="x")
    m.friction("rub", slide, coefficient=0.25, speed=5e-3)
    run = m.build().simulate(1.0, v=[1.0], method="generalized_alpha", step=0.02, every=0.02, spectral_radius=0.0)
    sliding = run.t < 0.35
    assert np.abs(run.v[sliding, 0] - (1.0 - 0.25 * G * run.t[sliding])).max() < 1e-6
    assert np.abs(run.v[-10:, 0]).max() < 1e-3


@pytest.mark.parametrize("law", ["bearing", "written"])
def test_derivatives_are_those_of_the_closed_form(law: str) -> None:
    mu = 1.2
    s = rod_on_a_slide(mu, law)
    for angle, rate, sign in ((-1.1, 0.5, 1.0), (0.4, -3.0, -1.0), (1.1, 2.0, 1.0)):
        found = s.forward_dynamics_derivatives([0.0, angle], [sign, rate])
        e = 1e-6
        by_angle = (sliding_rod(angle + e, rate, sign, mu) - sliding_rod(angle - e, rate, sign, mu)) / (2 * e)
        by_rate = (sliding_rod(angle, rate + e, sign, mu) - sliding_rod(angle, rate - e, sign, mu)) / (2 * e)
        assert found.q[:, 1] == pytest.approx(by_angle, rel=1e-6, abs=1e-7)
        assert found.v[:, 1] == pytest.approx(by_rate, rel=1e-6, abs=1e-7)
        assert np.abs(found.q[:, 0]).max() < 1e-9  # the rail is straight


def assert_differences(here: Neighbour, name: str, of: Any) -> None:
    """All columns of a result's derivatives agree with differences on the closures, relative to the largest."""
    options = here.options()
    found = (
        here.s.forward_dynamics_derivatives(here.q, here.v, here.tau, **options)
        if name == "forward_dynamics"
        else here.s.derivatives_of(name, here.q, here.v, here.tau, **options)
    )
    for kind, ours in found.by_kind().items():
        if kind == "t" or not ours.size:
            continue
        scale = max(np.abs(ours).max(), np.abs(of(here)).max())
        prescribed = [
            i
            for use in here.s.description.joints
            if use.prescribed
            for i in range(*here.s.v_slice(use.name).indices(here.s.nv))
        ]
        for j in prescribed if kind == "a" else range(ours.shape[-1]):
            off = np.abs(ours[..., j] - differences(here, kind, j, of, h=0.004)).max() / scale
            assert off < 1e-7, (name, kind, j, off)


def reactions_of(here: Neighbour) -> Array:
    found = here.s.reactions(here.q, here.v, here.tau, **here.options())
    return np.array([[*found[use.name].moment, *found[use.name].force] for use in here.s.description.joints])


def test_derivatives_of_a_loop_with_bearings() -> None:
    """Accelerations, and what elements do, of the four-bar; by displacement, velocity and efforts."""
    s = four_bar()
    v = s.consistent_velocities(s.q0, {"A": 1.3})
    here = Neighbour(s, s.q0, v, np.array([0.5, 0, 0, 0]), s.v0, 0.0, np.zeros(0), np.zeros(0)).closed()
    assert_differences(here, "forward_dynamics", Neighbour.accelerations)
    assert_differences(here, "powers", lambda x: x.evaluated("powers"))


def test_derivatives_with_a_driven_joint_a_ball_and_a_parameter() -> None:
    """Whatever there is to differentiate by: efforts, parameters, given accelerations."""
    m = wt.Mechanism("driven")
    mu = m.parameter("mu", 0.2)
    shaft = m.revolute("shaft", m.ground, m.body("disc", wt.sphere(0.3, 1.0)), axis="x", prescribed=True)
    ball = m.spherical(
        "ball", "disc", m.body("box", wt.box(size=(1.0, 0.3, 0.2), mass=1.0)), at=(0.5, 0, 0), at_child=(0.5, 0, 0)
    )
    m.friction("on shaft", shaft, coefficient=mu, radius=0.1, thrust_radius=0.2)
    m.friction("in ball", ball, coefficient=mu, radius=0.1, speed=0.3)
    s = m.build()
    rng = np.random.default_rng(4)
    q, v, tau, a = s.random(rng), rng.normal(size=4), rng.normal(size=4), rng.normal(size=4)
    here = Neighbour(s, q, v, tau, a, 0.0, np.zeros(0), np.array([0.2]))
    assert_differences(here, "forward_dynamics", Neighbour.accelerations)
    assert_differences(here, "driving_forces", lambda x: s.driving_forces(x.q, x.v, x.tau, **x.options()))
    assert_differences(here, "reactions", reactions_of)


def test_a_journal_bearing_at_rest_is_a_damper() -> None:
    """A hanging rod rests where it would without friction, and I s^2 + (mu r m g / speed) s + m g l / 2 = 0."""
    m = wt.Mechanism("pendulum")
    length, mass, mu, r, speed = 1.2, 2.0, 0.3, 0.05, 0.02
    hinge = m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=length, mass=mass, axis="x")), axis="y")
    m.friction("journal", hinge, coefficient=mu, radius=r, speed=speed)
    rest = m.build().equilibrium()
    assert rest.q[0] == pytest.approx(np.pi / 2, abs=1e-9)
    inertia, damping, stiffness = mass * length**2 / 3, r * mu * mass * G / speed, mass * G * length / 2
    expected = np.sort_complex(np.roots([inertia, damping, stiffness]))
    assert np.sort_complex(rest.linearize().eigenvalues) == pytest.approx(expected, rel=1e-9)


def test_laws_that_jam_together_are_refused() -> None:
    """The four-bar with bearings larger than its links: they may drive each other up."""
    s = four_bar(radius=3.0)
    v = s.consistent_velocities(s.q0, {"A": 1.3})
    with pytest.raises(wt.DynamicsError, match="drive each other up"):
        s.forward_dynamics(s.q0, v)
    assert np.isfinite(s.forward_dynamics(s.q0, 0 * v)).all()  # at rest nothing rubs
