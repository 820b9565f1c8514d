"""Implicit methods: amplification in closed form, measured orders, stiff problems, and what goes wrong."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.systems import four_bar
from whippletree.cli import main
from whippletree.simulate import Simulation
from whippletree.simulate.generalized_alpha import implicit_method

Array = np.ndarray
ALL = [("trapezoidal", {}), ("generalized_alpha", {"spectral_radius": 0.6}), ("generalized_alpha", {})]
IFTOMM = Path(__file__).parents[2] / "examples" / "iftomm"


def oscillator(frequency: float, damping: float = 0.0) -> wt.System:
    """x'' + 2 damping frequency x' + frequency^2 x = 0."""
    m = wt.Mechanism("oscillator", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", wt.box(size=(1, 1, 1), mass=1.0)), axis="x")
    m.torsion_spring("spring", joint="x", stiffness=frequency**2, damping=2 * damping * frequency, rest=0.0)
    return m.build()


def tree() -> wt.System:
    """A floating base with a ball joint and a universal one, a spring, and a state that pushes."""
    m = wt.Mechanism("tree")
    base = m.body("base", wt.box(size=(0.1, 0.2, 0.3), mass=2.0))
    arm = m.body("arm", wt.box(size=(0.1, 0.3, 0.05), mass=0.5))
    hand = m.body("hand", wt.box(size=(0.5, 0.05, 0.05), mass=0.3, at=(0.25, 0, 0)))
    m.free("free", m.ground, base)
    m.spherical("shoulder", base, arm, at=(0, 0.1, 0.1), at_child=(0, -0.2, 0))
    m.universal("wrist", arm, hand, at=(0, 0.2, 0), axis="x", axis_child="z")
    m.spring("spring", base, hand, at=(0, 0, 0.3), at_child=(0.5, 0, 0), stiffness=20.0, free_length=0.2, damping=0.3)
    z = m.state("push", 0.1, rate=lambda z: (ca.sin(3 * m.time) - z) / 0.2)
    m.load("push", arm, force=(z, 0, 0.2), moment=(0, 0.01 * z, 0))
    return m.build()


def sprung_four_bar() -> wt.System:
    """A four-bar with springs and dampers in all joints, the cut one too, and a crank that is pushed in time."""
    m = four_bar()
    for joint in "ABCD":
        m.torsion_spring(f"spring {joint}", joint=joint, stiffness=3.0, damping=0.2, rest=0.1)
    m.actuator("motor", joint="A", effort=5 * ca.sin(4 * m.time))
    return m.build(guess={"A": 1.0})


def spatial_loop() -> wt.System:
    """A crank that drives a slider through a rod with ball joints: quaternions in a loop."""
    m = wt.Mechanism("spatial")
    crank = m.body("crank", wt.box(size=(0.3, 0.05, 0.05), mass=1.0, at=(0.15, 0, 0)))
    rod = m.body("rod", wt.box(size=(1.0, 0.04, 0.06), mass=0.5, at=(0.5, 0, 0)))
    slider = m.body("slider", wt.box(size=(0.1, 0.1, 0.1), mass=1.0))
    m.revolute("crank", m.ground, crank, at=(0, 0.2, 0.1), axis="x")
    m.spherical("big end", crank, rod, at=(0, 0.3, 0))
    m.universal("small end", rod, slider, at=(1, 0, 0), axis="y", axis_child="z")
    m.prismatic("slide", m.ground, slider, at=(1.0, 0, 0), axis="x")
    m.spring("spring", m.ground, slider, at=(2, 0, 0), stiffness=30.0, free_length=0.8, damping=1.0)
    return m.build(guess={"crank": 0.3})


def regression(s: wt.System, duration: float, steps: tuple[float, ...], method: str, options: Any, **start: Any) -> Any:
    """The measured orders of displacements and velocities (and states), and the finest run."""
    exact = s.simulate(duration, times=[0, duration], method="dop853", tolerance=1e-12, **start)
    errors = []
    for step in steps:
        run = s.simulate(duration, times=[0, duration], method=method, step=step, **options, **start)
        errors.append(
            [
                np.abs(s.difference(exact.q[-1], run.q[-1])).max(),
                np.abs(run.v[-1] - exact.v[-1]).max(),
                *([np.abs(run.z[-1] - exact.z[-1]).max()] if s.nz else []),
            ]
        )
    return np.polyfit(np.log(steps), np.log(np.array(errors)), 1)[0], np.array(errors)[-1], run


# ---------------------------------------------------------------------- amplification


def recurrence(r: float | None, frequency: float, h: float, count: int, x: float, v: float) -> Array:
    """The methods on an oscillator, written down here once more: positions and velocities after each step."""
    w2 = frequency**2
    if r is None:
        turn = np.linalg.solve([[1, -h / 2], [h / 2 * w2, 1]], [[1, h / 2], [-h / 2 * w2, 1]])
        states = [np.array([x, v])]
        for _ in range(count):
            states.append(turn @ states[-1])
        return np.array(states)
    am, af = (2 * r - 1) / (1 + r), r / (1 + r)
    b, g = (1 - am + af) ** 2 / 4, 1 / 2 - am + af
    a = mean = -w2 * x
    states = [np.array([x, v])]
    for _ in range(count):
        # (1 - am) A1 + am A = (1 - af) a1 + af a with a1 = -w2 x1, x1 = x + h v + h^2 ((1/2 - b) A + b A1)
        known = x + h * v + h * h * ((0.5 - b) * mean + b * (af * a - am * mean) / (1 - am))
        x = known / (1 + h * h * b * w2 * (1 - af) / (1 - am))
        new = ((1 - af) * -w2 * x + af * a - am * mean) / (1 - am)
        v = v + h * ((1 - g) * mean + g * new)
        a, mean = -w2 * x, new
        states.append(np.array([x, v]))
    return np.array(states)


@pytest.mark.parametrize("speed", [0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("r", [None, 0.0, 0.3, 0.8, 1.0])
def test_amplification(r: float | None, speed: float) -> None:
    """Step for step what the recurrence gives, however stiff; without a radius, the trapezoidal rule."""
    s, h, n = oscillator(speed), 1.0, 12
    options = {"method": "trapezoidal"} if r is None else {"method": "generalized_alpha", "spectral_radius": r}
    run = s.simulate(n * h, every=h, step=h, q=[1.0], v=[0.4], **options)
    expected = recurrence(r, speed, h, n, 1.0, 0.4)
    size = np.abs(expected).max(axis=0)
    assert np.abs(run.q[:, 0] - expected[:, 0]).max() < 1e-9 * size[0]
    assert np.abs(run.v[:, 0] - expected[:, 1]).max() < 1e-9 * size[1]


def test_radius_is_what_is_left() -> None:
    """Of an oscillation far too fast for the step, a share that tends to the radius is left after each step."""
    s = oscillator(1e5)
    for r in (0.0, 0.5, 0.9):
        run = s.simulate(60.0, every=1.0, step=1.0, method="generalized_alpha", spectral_radius=r, q=[1.0], v=[0.0])
        size = np.abs(run.q[:, 0])
        if r == 0.0:
            assert size[5:].max() < 1e-9
        else:
            assert (size[60] / size[40]) ** (1 / 20) == pytest.approx(r, rel=0.1)
    run = s.simulate(60.0, every=1.0, step=1.0, method="trapezoidal", q=[1.0], v=[0.0])
    energy = run.energy().total
    assert np.abs(energy / energy[0] - 1).max() < 1e-10  # never grows, never dies


@pytest.mark.parametrize(("method", "options"), ALL)
def test_fast_states_of_elements(method: str, options: Any) -> None:
    """A lag a thousand times shorter than the step: stable, and by the recurrence of the trapezoidal rule."""
    m = wt.Mechanism("lag", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", wt.box(size=(1, 1, 1), mass=1.0)), axis="x")
    z = m.state("z", 1.0, rate=lambda z: 1e3 * (m.coordinate("x") - z))
    m.actuator("push", joint="x", effort=-z)
    s = m.build()
    run = s.simulate(5.0, every=0.1, step=0.1, method=method, q=[1.0], **options)
    assert np.abs(run.z).max() < 1.01
    assert np.abs(run.z[-1] - run.q[-1]).max() < 0.1
    if method == "trapezoidal":
        first, k = run.z[1, 0], 1e3 * 0.1 / 2
        assert first == pytest.approx((1 - k + k * (run.q[0, 0] + run.q[1, 0])) / (1 + k), abs=1e-9)


# ---------------------------------------------------------------------- orders


@pytest.mark.parametrize(("method", "options"), ALL[:2])
def test_order_on_a_tree(method: str, options: Any) -> None:
    s = tree()
    v = 0.3 * np.random.default_rng(1).normal(size=s.nv)
    orders, errors, run = regression(s, 0.3, (0.005, 0.0025, 0.00125), method, options, v=v)
    assert orders == pytest.approx([2, 2, 2], abs=0.05)
    assert errors.max() < 1e-2
    assert run.certificate.quaternion_error < 1e-14


@pytest.mark.rest
@pytest.mark.parametrize("build", [sprung_four_bar, spatial_loop])
@pytest.mark.parametrize(("method", "options"), ALL[:2])
def test_order_on_loops(build: Any, method: str, options: Any) -> None:
    orders, errors, run = regression(build(), 0.5, (0.02, 0.01, 0.005, 0.0025), method, options)
    assert orders == pytest.approx([2, 2], abs=0.15)
    assert errors.max() < 1e-2
    assert run.certificate.closure_residual < 1e-12 and run.certificate.velocity_residual < 1e-11


@pytest.mark.parametrize(("method", "options"), ALL[:2])
def test_outputs_between_steps(method: str, options: Any) -> None:
    """Outputs that fall within steps keep the order, and the closures."""
    s = sprung_four_bar()
    exact = s.simulate(0.5, every=0.0137, method="dop853", tolerance=1e-11)
    runs = [s.simulate(0.5, every=0.0137, method=method, step=h, **options) for h in (0.02, 0.01)]
    coarse, fine = (max(np.abs(r.q - exact.q).max(), np.abs(r.v - exact.v).max()) for r in runs)
    assert 3.0 < coarse / fine < 5.5
    assert runs[0].certificate.closure_residual < 1e-10 and runs[0].certificate.velocity_residual < 1e-10


@pytest.mark.parametrize(("method", "options"), ALL[:2])
def test_velocity_closures_and_drives(method: str, options: Any) -> None:
    """A disc that rolls, and a crank that follows a function of time: both keep their closures and their order."""
    m = wt.Mechanism("disc")
    disc = m.body("disc", wt.cylinder(radius=0.5, length=0.02, mass=1.0))
    m.free("free", m.ground, disc)
    w, u, axis = m.velocity(disc)[:3], m.velocity(disc)[3:], m.rotation(disc)[:, 2]
    down = ca.vertcat(0, 0, -1) + axis * axis[2]
    m.closure("rolls", u + ca.cross(w, 0.5 * down / ca.norm_2(down)))
    angle = np.pi / 4 + 0.3
    s = m.build(guess={"free": [np.cos(angle / 2), np.sin(angle / 2), 0, 0, 0, 0, 0.5 * np.sin(angle)]})
    v = s.consistent_velocities(s.q0, {"free": [0.2, 0.5, 4.0, 0, 0, 0]})
    orders, _, run = regression(s, 0.3, (0.02, 0.01, 0.005), method, options, v=v)
    assert orders == pytest.approx([2, 2], abs=0.2)
    assert run.certificate.velocity_residual < 1e-10

    m = wt.Mechanism("driven")
    crank = m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x"))
    pendulum = m.body("pendulum", wt.rod(length=0.5, mass=0.3, axis="-z"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, pendulum, at=(1, 0, 0), axis="y")
    m.closure("drive", m.coordinate("A") - 0.3 * ca.sin(5 * m.time))
    s = m.build()
    orders, errors, run = regression(s, 0.4, (0.02, 0.01, 0.005), method, options, v=s.v0)
    assert orders[1] == pytest.approx(2, abs=0.2)
    assert errors[0] < 1e-3 and run.certificate.closure_residual < 1e-12


def test_prescribed_joints() -> None:
    """A hinge that turns at a constant rate, in the tree, and as the cut of a loop."""
    m = wt.Mechanism("turning")
    crank = m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x"))
    pendulum = m.body("pendulum", wt.rod(length=0.5, mass=0.3, axis="-z"))
    m.revolute("A", m.ground, crank, axis="y", prescribed=True)
    m.revolute("B", crank, pendulum, at=(1, 0, 0), axis="y")
    s = m.build()
    exact = s.simulate(1.0, every=0.5, method="dop853", tolerance=1e-11, v=[2.0, 0.0])
    run = s.simulate(1.0, every=0.5, method="trapezoidal", step=1e-3, v=[2.0, 0.0])
    assert np.abs(run.q - exact.q).max() < 1e-4
    assert run.q[-1, 0] == pytest.approx(2.0, abs=1e-12)

    m = wt.Mechanism("four-bar")
    bars = [
        m.body(name, wt.rod(length=size, mass=size, axis="x"))
        for name, size in zip("abc", (1.0, 2.0, 1.5), strict=True)
    ]
    m.revolute("A", m.ground, bars[0], axis="y", prescribed=True)
    m.revolute("B", bars[0], bars[1], at=(1, 0, 0), axis="y")
    m.revolute("C", bars[1], bars[2], at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, bars[2], at=(2, 0, 0), axis="y")
    for cut in ("A", "C"):
        s = m.build(guess={"A": 1.0}, cut=[cut])
        v = s.consistent_velocities(s.q0, {"A": 1.0})
        run = s.simulate(0.5, every=0.1, method="generalized_alpha", step=1e-2, v=v)
        assert run["A"][-1] == pytest.approx(s.q0[0] + 0.5, abs=1e-11)
        assert run.certificate.closure_residual < 1e-11 and run.certificate.velocity_residual < 1e-10


# ---------------------------------------------------------------------- stiff problems


def test_stiff_governor() -> None:
    """Over ten seconds with steps a hundred times what an explicit method bears, and an error as the order says."""
    model = wt.read(IFTOMM / "governor_stiff.yaml")
    exact = model.simulate(every=0.5, method="dop853", tolerance=1e-9)
    with pytest.raises(wt.SimulationError):
        model.simulate(every=0.5, method="rk4", step=5e-4)
    for method, options in ALL:
        errors = []
        for step in (0.02, 0.01):
            run = model.simulate(every=0.5, method=method, step=step, **options)
            errors.append(np.abs(run.q - exact.q).max())
            assert abs(run.certificate.energy_error) < 1e-3 * run.certificate["energy_scale"]
        assert errors[1] < 4e-3 and 3.5 < errors[0] / errors[1] < 4.5
        assert run.certificate.steps == 1000


def test_singular_positions() -> None:
    """The four-bars go through their flattened positions, on their branch."""
    model = wt.read(IFTOMM / "n_four_bar_2.yaml")
    exact = model.simulate(duration=3.0, every=0.5, method="dop853", tolerance=1e-9)
    run = model.simulate(duration=3.0, every=0.5, method="trapezoidal", step=0.0075)
    assert np.abs(run.q - exact.q).max() < 1e-3
    assert run.certificate.closure_residual < 1e-10 and run.certificate.velocity_residual < 1e-10


@pytest.mark.parametrize(("method", "options"), ALL[:2])
def test_steps_chosen_by_the_method(method: str, options: Any) -> None:
    """The error follows the tolerance, and a stiff mechanism does not need small steps once it is at rest."""
    s = sprung_four_bar()
    exact = s.simulate(1.0, every=0.1, method="dop853", tolerance=1e-11)
    errors, steps = [], []
    for tolerance in (1e-4, 1e-6):
        run = s.simulate(1.0, every=0.1, method=method, adaptive=True, tolerance=tolerance, **options)
        errors.append(np.abs(run.q - exact.q).max())
        steps.append(run.certificate.steps)
    assert errors[0] < 20e-4 and errors[1] < 100e-6
    assert 2.5 < steps[1] / steps[0] < 8  # the third root of the tolerances is 4.6
    model = wt.read(IFTOMM / "governor_stiff.yaml")
    run = model.simulate(every=0.5, method="generalized_alpha", adaptive=True, tolerance=1e-4)
    assert run.certificate.steps < 2500


def test_contact_with_friction() -> None:
    """A ball that bounces and slides: Newton's method needs to be damped when it touches down."""
    m = wt.Mechanism("ball")
    ball = m.body("ball", wt.sphere(radius=0.1, mass=1.0))
    m.free("free", m.ground, ball)
    wall = {"stiffness": 1e5, "damping": 50.0, "friction": 0.5, "width": 1e-3, "speed": 1e-2}
    m.contact("floor", ball, radius=0.1, normal=(0, 0, 1), **wall)
    s = m.build()
    start = {"q": [1, 0, 0, 0, 0, 0, 0.3], "v": [0, 0, 0, 1.0, 0, 0]}
    exact = s.simulate(0.3, every=0.1, method="dop853", tolerance=1e-9, **start)
    run = s.simulate(0.3, every=0.1, method="trapezoidal", step=1e-3, **start)
    assert np.abs(run.q - exact.q).max() < 0.05


# ---------------------------------------------------------------------- the state of a run


def test_clones_and_pickles_go_on_with_the_same_bits() -> None:
    s = sprung_four_bar()
    sim = Simulation(s, method="generalized_alpha", step=0.01)
    sim.run(np.array([0.2]))
    twin, copy = sim.clone(), pickle.loads(pickle.dumps(sim))
    ends = []
    for one in (sim, twin, copy):
        one.run(np.array([0.4]))
        ends.append(one.state)
    for other in ends[1:]:
        assert np.array_equal(ends[0].q, other.q) and np.array_equal(ends[0].v, other.v)


def test_new_efforts_begin_anew() -> None:
    """An effort that changes between steps is felt at once, as a step from rest shows."""
    s = oscillator(1e-3)
    sim = Simulation(s, method="generalized_alpha", spectral_radius=0.5, step=0.1)
    sim.step(1.0)
    sim.step(1.0, tau=[2.0])
    assert sim.state.q[0] == pytest.approx(1.0, rel=1e-5)
    assert sim.state.v[0] == pytest.approx(2.0, rel=1e-5)


def test_model_file_and_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (IFTOMM / "governor_stiff.yaml").read_text(encoding="utf-8")
    file = tmp_path / "governor.yaml"
    settings = "  method: generalized_alpha\n  step: 0.02\n  spectral_radius: 0.5\n"
    file.write_text(text.replace("  duration: 10\n", "  duration: 1\n" + settings), encoding="utf-8")
    run = wt.read(file).simulate()
    assert run.certificate.steps == 50
    main(["run", str(file), "--spectral-radius", "2"])
    assert "spectral_radius= must be a number from 0" in capsys.readouterr().err
    main(["run", str(file), "--method", "trapezoidal", "--spectral-radius", "1"])
    assert "belongs to method" in capsys.readouterr().err


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "trapezoidal"}, "give step="),
        ({"method": "generalized_alpha"}, "give step="),
        ({"method": "generalized_alpha", "step": 0.0}, "step="),
        ({"method": "generalized_alpha", "step": 0.1, "spectral_radius": 1.1}, "from 0 .* to 1"),
        ({"method": "generalized_alpha", "step": 0.1, "spectral_radius": -0.1}, "from 0 .* to 1"),
        ({"method": "generalized_alpha", "step": 0.1, "spectral_radius": float("nan")}, "from 0 .* to 1"),
        ({"method": "generalized_alpha", "step": 0.1, "spectral_radius": "high"}, "from 0 .* to 1"),
        ({"method": "trapezoidal", "step": 0.1, "spectral_radius": 0.5}, "generalized_alpha"),
        ({"method": "rk4", "step": 0.1, "spectral_radius": 0.5}, "generalized_alpha"),
        ({"method": "generalised_alpha", "step": 0.1}, "there is no method"),
    ],
)
def test_bad_input(options: Any, words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        oscillator(1.0).simulate(1.0, **options)


def test_newton_that_does_not_converge() -> None:
    """A wall that is there or not, so that no end of a step fits: the message names time and joint; rows are kept.

    It is written so that its border is not known for one: otherwise steps would end there.
    """
    m = wt.Mechanism("wall")
    block = m.body("block", wt.box(size=(0.1, 0.1, 0.1), mass=1.0))
    m.prismatic("slide", m.ground, block, axis="z")
    above = m.coordinate("slide") + 0.5
    sign = (ca.atan(above) + ca.atan(1 / above)) * 2 / np.pi
    m.actuator("wall", joint="slide", effort=5e3 * (1 - sign))
    with pytest.raises(
        wt.SimulationError, match=r'at t = 0\.\d+ s Newton.* joint "slide"; take a smaller step'
    ) as caught:
        m.build().simulate(1.0, every=0.01, method="trapezoidal", step=0.01)
    assert 20 < len(caught.value.rows) < 45
    assert caught.value.trajectory.q[20, 0] == pytest.approx(-9.81 * 0.2**2 / 2, rel=1e-3)


def test_numbers_of_the_methods() -> None:
    """Second order, and a radius at infinity, by the roots of the method's polynomials."""
    for r in (0.0, 0.4, 1.0):
        method = implicit_method("generalized_alpha", r)
        assert method.g == pytest.approx(0.5 - method.am + method.af)
        # at infinite frequency x is zero after each step: of A, b and g what is left is (Chung and Hulbert, 17-19)
        a = np.array([[-(0.5 - method.b) / method.b, -1 / method.b], [0, 0]])
        a[1] = [1 - method.g - method.g * (0.5 - method.b) / method.b, 1 - method.g / method.b]
        roots = np.abs(np.append(np.linalg.eigvals(a), method.af / (1 - method.af)))
        assert roots.max() == pytest.approx(r if r else 0, abs=1e-6)
