"""Steps end where formulas have corners: nothing that is narrower than a step is passed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.elements.drivers import Spline
from whippletree.model.formula_corner_lists import corners_in_state, corners_in_time
from whippletree.simulate.corner_times import corner_times
from whippletree.simulate.simulation import Simulation

ADAPTIVE = ("dopri5", "dop853", "adams")
FIXED = ("rk4", "trapezoidal", "generalized_alpha", "semi_implicit_euler")
EVERY = [*((name, {}) for name in ADAPTIVE), *((name, {"step": 0.01}) for name in FIXED)]


def slider(effort: Callable[[wt.Mechanism], Any]) -> wt.System:
    """A mass of 1 kg on a slide, with an effort."""
    m = wt.Mechanism("slider", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.actuator("push", "x", effort=effort(m))
    return m.build()


# ---------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        (lambda t: 8.0 * t, lambda x: x / 8.0),
        (lambda t: 3.0 - 0.5 * t, lambda x: (3.0 - x) / 0.5),
        (lambda t: 2.0 * ca.fabs(t - 5.0) - 1.0, lambda x: np.array([5.0 + (x + 1.0) / 2.0, 5.0 - (x + 1.0) / 2.0])),
    ],
)
def test_knots_of_a_spline_over_straight_lines_are_computed(
    asked: Callable[[Any], Any], at: Callable[..., Any]
) -> None:
    knots = np.array([-0.3, 0.0, 0.4, 0.4001, 1.7, 2.2])
    spline = wt.Spline(knots, np.sin(knots))
    times = np.append(at(knots).ravel(), 5.0 if np.size(at(0.0)) > 1 else [])
    system = slider(lambda m: spline(asked(m.time)))
    found = corner_times(corners_in_time(system.description), np.zeros(0), 0.01, 10.0)
    assert found.spacing == 0.0
    assert np.allclose(found.behind, np.sort(times[(times > 0.01) & (times <= 10.0)]), rtol=1e-14, atol=1e-14)


PULSES: dict[str, Callable[[wt.Mechanism], Any]] = {
    "if": lambda m: ca.if_else(ca.logic_and(m.time > 50, m.time < 50.01), 100.0, 0.0),
    "product": lambda m: 100.0 * (m.time >= 50) * (m.time < 50.01),
    "nested": lambda m: ca.if_else(m.time < 50, 0.0, ca.if_else(m.time < 50.01, 100.0, 0.0)),
    "signs": lambda m: 50.0 * (ca.sign(m.time - 50) - ca.sign(m.time - 50.01)),
    "triangle": lambda m: 2e4 * 2 * ca.fmax(0, 0.005 - ca.fabs(m.time - 50.005)),
    "curved": lambda m: ca.if_else((m.time - 50.005) ** 2 < 0.005**2, 100.0, 0.0),
    "spline": lambda m: (
        100 / 0.75 * Spline([49.9975, 50.0, 50.005, 50.01, 50.0125], [0, 0, 1, 0, 0], "clamped")(m.time)
    ),
}


def momentum(kind: str) -> float:
    """What a pulse gives a mass of 1 kg, by a quadrature of its own."""
    if kind != "spline":
        return 1.0
    curve = Spline([49.9975, 50.0, 50.005, 50.01, 50.0125], [0, 0, 1, 0, 0], "clamped")
    total = 0.0
    for a, b in zip(curve.times[:-1], curve.times[1:], strict=True):  # Simpson's rule is exact for cubics
        total += (b - a) / 6 * (curve(a) + 4 * curve((a + b) / 2) + curve(b))
    return 100 / 0.75 * total


@pytest.mark.parametrize("kind", [*list(PULSES)[:1], *rest(list(PULSES)[1:])])
@pytest.mark.parametrize(("method", "options"), [("dopri5", {}), ("rk4", {"step": 0.01})])
def test_a_short_pulse_is_not_stepped_over(kind: str, method: str, options: dict[str, Any]) -> None:
    run = slider(PULSES[kind]).simulate(100.0, method=method, **options)
    assert run.v[-1, 0] == pytest.approx(momentum(kind), rel=1e-9)
    assert run.certificate["corners"] >= 2


@pytest.mark.parametrize(("method", "options"), EVERY)
def test_every_method_ends_its_steps_at_a_pulse(method: str, options: dict[str, Any]) -> None:
    run = slider(PULSES["if"]).simulate(100.0, method=method, **options)
    assert run.v[-1, 0] == pytest.approx(1.0, rel=1e-10)
    assert run.certificate.ok or method == "semi_implicit_euler"  # whose energy is of first order


def test_a_pulse_that_a_parameter_moves() -> None:
    m = wt.Mechanism("slider", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    begin = m.parameter("begin", 50.0)
    m.actuator("push", "x", effort=ca.if_else(ca.logic_and(m.time > begin, m.time < begin + 0.01), 100.0, 0.0))
    s = m.build()
    for given in (20.0, 70.0):
        assert s.simulate(100.0, parameters={"begin": given}).v[-1, 0] == pytest.approx(1.0, rel=1e-10)


def test_a_train_of_pulses() -> None:
    s = slider(lambda m: 100.0 * (ca.fmod(m.time, 7.0) < 0.01))
    run = s.simulate(100.0, every=1.0)
    assert run.v[-1, 0] == pytest.approx(15.0, rel=1e-10)  # at 0, 7, ..., 98 s


def test_fixed_steps_go_on_along_their_grid() -> None:
    s = slider(PULSES["if"])
    sim = Simulation(s, method="rk4", step=0.016, t=49.0)
    sim.run(np.array([51.0]))
    assert sim.steps == 2.0 / 0.016 + 2  # the pulse begins in one step and ends in another, or cuts one in three


def test_a_corner_at_the_end_of_a_run() -> None:
    sim = Simulation(slider(lambda m: ca.if_else(m.time < 1, 1.0, -1.0)), method="rk4", step=0.25)
    sim.run(np.array([0.5, 1.0]))
    assert sim.state.t == 1.0
    assert sim.state.v[0] == pytest.approx(1.0, rel=1e-14)
    sim.run(np.array([2.0]))
    assert sim.state.v[0] == pytest.approx(0.0, abs=1e-14)


def test_times_are_those_of_closed_forms() -> None:
    m = wt.Mechanism("m")
    hinge = m.revolute("hinge", m.ground, m.body("arm", mass=1.0))
    m.actuator("square", hinge, effort=ca.sign(ca.sin(3 * m.time)) + ca.floor(2 * m.time))
    m.drive("turn", m.revolute("other", m.ground, m.body("crank", mass=1.0)), position=Spline([0, 1, 3], [0, 1, 0]))
    table = corner_times(corners_in_time(m.describe()), np.zeros(0), 0.2, 5.0)
    exact = np.unique([*(np.pi / 3 * np.arange(1, 5)), *(0.5 * np.arange(1, 11)), 1.0, 3.0])
    np.testing.assert_allclose(0.5 * (table.before + table.behind), exact, rtol=1e-14)
    assert 0 < table.spacing < 1e-3


# ---------------------------------------------------------------------- the state

HILLS: dict[str, Callable[[wt.Mechanism], Any]] = {
    "distance": lambda m: ca.if_else(ca.fabs(m.coordinate("x") - 0.5) < 1e-3, 100.0, 0.0),
    "product": lambda m: 100.0 * (m.coordinate("x") > 0.499) * (m.coordinate("x") < 0.501),
    "square": lambda m: ca.if_else((m.coordinate("x") - 0.5) ** 2 < 1e-6, 100.0, 0.0),
    "ramp": lambda m: 1e5 * 2 * ca.fmax(0, 1e-3 - ca.fabs(m.coordinate("x") - 0.5)) * 0.5 * 2,
    "spline": lambda m: (
        100 / 0.75 * Spline([0.4985, 0.499, 0.5, 0.501, 0.5015], [0, 0, 1, 0, 0], "clamped")(m.coordinate("x"))
    ),
    "frame": lambda m: ca.if_else(ca.sumsqr(m.position("block") - ca.SX([0.5, 0, 0])) < 1e-6, 100.0, 0.0),
}


def gain(kind: str) -> float:
    """The energy that a hill gives: the integral of the force over the way."""
    if kind != "spline":
        return 0.2
    curve = Spline([0.4985, 0.499, 0.5, 0.501, 0.5015], [0, 0, 1, 0, 0], "clamped")
    total = 0.0
    for a, b in zip(curve.times[:-1], curve.times[1:], strict=True):
        total += (b - a) / 6 * (curve(a) + 4 * curve((a + b) / 2) + curve(b))
    return 100 / 0.75 * total


@pytest.mark.parametrize("kind", [*list(HILLS)[:1], *rest(list(HILLS)[1:])])
@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_narrow_hill_is_not_passed_through(kind: str, method: str) -> None:
    run = slider(HILLS[kind]).simulate(2.0, v=[1.0], method=method)
    assert run.v[-1, 0] == pytest.approx(np.sqrt(1 + 2 * gain(kind)), rel=2e-8)


@pytest.mark.parametrize("kind", ["distance", "product", "square", "frame"])
def test_a_narrow_hill_in_fixed_steps(kind: str) -> None:
    run = slider(HILLS[kind]).simulate(2.0, v=[1.0], method="rk4", step=0.01)
    assert run.v[-1, 0] == pytest.approx(np.sqrt(1.4), rel=1e-12)
    after = run.t > 0.6
    pace = np.diff(run.q[after, 0]) / np.diff(run.t[after])
    np.testing.assert_allclose(pace, np.sqrt(1.4), rtol=1e-10)


@pytest.mark.parametrize("method", ["trapezoidal", "generalized_alpha"])
def test_implicit_steps_meet_a_hill_to_their_order(method: str) -> None:
    run = slider(HILLS["product"]).simulate(2.0, v=[1.0], method=method, step=0.01)
    assert run.v[-1, 0] == pytest.approx(np.sqrt(1.4), rel=2e-4)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("dopri5", 5)])
def test_a_method_keeps_its_order_over_corners(method: str, order: int) -> None:
    """x'' = -sign(x) x^2 - x turns its force at every passage; the energy |x|^3/3 + x^2/2 + v^2/2 is conserved."""
    s = slider(lambda m: -ca.if_else(m.coordinate("x") > 0, 4.0, 1.0) * m.coordinate("x"))
    # period: half of each oscillator's
    period = np.pi * (1 / 2 + 1)
    errors = []
    for n in (30, 60, 120):
        run = s.simulate(4 * period, q=[1.0], method=method, step=period / n, adaptive=False, times=[4 * period])
        errors.append(max(abs(run.q[-1, 0] - 1.0), abs(run.v[-1, 0])))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes.min() > order - 0.5, (errors, slopes)


@pytest.mark.parametrize(
    ("tolerance", "force"), [(1e-4, 500.0), (1e-4, 1e4), (1e-8, 1000.0), (1e-8, 1e4), (1e-10, 500.0), (1e-10, 1000.0)]
)
@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_hard_wall_turns_the_motion_back(method: str, tolerance: float, force: float) -> None:
    """The step over a force that jumps is refused until it is shorter than others ever are, and then found."""
    s = slider(lambda m: -force * (m.coordinate("x") > 1) * (m.coordinate("x") < 2))
    run = s.simulate(3.0, v=[1.0], method=method, tolerance=tolerance)
    assert run.v[-1, 0] == pytest.approx(-1.0, abs=10 * tolerance)
    assert run.q[-1, 0] == pytest.approx(1.0 - (3.0 - 1.0 - 2.0 / force), abs=30 * tolerance)
    assert run.certificate.ok, run.certificate


def test_a_corner_in_a_state_law_and_in_a_spring_law() -> None:
    m = wt.Mechanism("m", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.state("counted", 0.0, rate=100.0 * (m.coordinate("x") > 0.499) * (m.coordinate("x") < 0.501))
    m.spring(
        "catch", m.ground, "block", at=(-1, 0, 0), law=ca.if_else(m.elongation > 1.9, 50.0 * (m.elongation - 1.9), 0.0)
    )
    assert [corner.name for corner in corners_in_state(m.describe())] == [
        'force "catch"',
        'the rate of state "counted"',
        'the rate of state "counted"',
    ]
    run = m.build().simulate(0.95, v=[1.0])
    assert run.z[-1, 0] == pytest.approx(0.2, rel=1e-8)


LAWS: dict[str, tuple[Callable[[wt.Mechanism], Any], float]] = {  # and when the motion is at a corner for good
    "uneven": (lambda m: ca.if_else(m.rate("x") > 0, -7.0, 9.0), 1 / 7),
    "pushed": (lambda m: 5.0 - 10.0 * ca.sign(m.rate("x")), 1 / 5),
    # it swings about -0.05 and 0.05 by turns, 0.229, 0.129 and 0.029 wide, until the spring no longer pulls it loose
    "spring": (
        lambda m: -20 * m.coordinate("x") - ca.sign(m.rate("x")),
        (2 * np.pi + np.arctan2(np.sqrt(20), 1)) / np.sqrt(20),
    ),
    "relay": (lambda m: -4.0 * ca.sign(m.coordinate("x") + m.rate("x")), (np.sqrt(17) - 3) / 4),
}


@pytest.mark.parametrize("law", [*list(LAWS)[:1], *rest(list(LAWS)[1:])])
@pytest.mark.parametrize(("method", "options"), [*EVERY, ("trapezoidal", {"adaptive": True})])
def test_a_motion_that_slides_along_a_corner_ends_in_words(law: str, method: str, options: dict[str, Any]) -> None:
    """Both sides lead to the corner, and no step gets away: the run says so, and does not cross it for ever."""
    effort, when = LAWS[law]
    with pytest.raises(wt.SimulationError, match=r'slides along a corner of force "push": .*m\.friction') as caught:
        slider(effort).simulate(10.0, v=[1.0], method=method, **options)
    said = float(str(caught.value).split()[3])
    assert said == pytest.approx(when, abs=20 * options.get("step", 5e-6))  # a fixed step may meet it once in a step


def test_friction_by_sign_runs_until_it_holds() -> None:
    s = slider(lambda m: -10.0 * ca.sign(m.rate("x")))
    run = s.simulate(0.1, v=[1.0])
    assert run.certificate.ok
    assert [run.q[-1, 0], run.v[-1, 0]] == pytest.approx([0.05, 0.0], abs=1e-6)
    with pytest.raises(wt.SimulationError, match=r"at t = 0\.1\d* s the motion slides along a corner"):
        s.simulate(0.1001, v=[1.0])


@pytest.mark.parametrize(("method", "options"), EVERY)
def test_crossings_that_pile_up_end_in_words(method: str, options: dict[str, Any]) -> None:
    """The motion leaves x = 0 against 1.5 N, and comes back by 0.5 N, sqrt(3) times slower: that ends at 4.31 s."""
    s = slider(lambda m: -ca.sign(m.coordinate("x")) - 0.5 * ca.sign(m.rate("x")))
    with pytest.raises(wt.SimulationError, match=r'a corner of force "push" is crossed again|slides along') as caught:
        s.simulate(10.0, v=[1.0], method=method, **options)
    end = (2 / 3 + 2 / np.sqrt(3)) / (1 - 1 / np.sqrt(3))
    assert float(str(caught.value).split()[3]) == pytest.approx(end, abs=30 * options.get("step", 1e-4))


def test_resumed_and_cloned_runs_go_on_to_the_same_bits() -> None:
    sim = Simulation(slider(HILLS["distance"]), v=[1.0])
    other = sim.clone()
    times = np.linspace(0, 2, 9)
    whole = sim.run(times)
    parts = np.vstack([other.run(times[:4]), other.clone().run(times[4:])])
    assert parts[-1, 1] == pytest.approx(whole[-1, 1], rel=1e-8)


# ---------------------------------------------------------------------- the longest step


@pytest.mark.parametrize("method", [*ADAPTIVE, "trapezoidal"])
def test_no_step_is_longer_than_allowed(method: str) -> None:
    s = slider(lambda m: 100 / (0.005 * np.sqrt(np.pi)) * 0.01 * ca.exp(-(((m.time - 50) / 0.005) ** 2)))
    options = {} if method in ADAPTIVE else {"adaptive": True, "tolerance": 1e-6}
    free = s.simulate(100.0, method=method, **options)
    bounded = s.simulate(100.0, method=method, max_step=0.01, **options)
    assert bounded.certificate.steps >= 10_000
    assert bounded.v[-1, 0] == pytest.approx(1.0, rel=1e-4)
    assert any("narrower than a step" in words for words in free.certificate.unchecked)
    assert not any("narrower than a step" in words for words in bounded.certificate.unchecked)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_step": 0.0}, "max_step= must be a positive number"),
        ({"max_step": "long"}, "max_step= must be a positive number"),
        ({"max_step": np.nan}, "max_step= must be a positive number"),
        ({"max_step": 0.1, "method": "rk4", "step": 0.1}, "give a smaller step="),
    ],
)
def test_a_longest_step_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        slider(lambda m: 1.0).simulate(1.0, **options)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("x", 0.0, 1.0), "pulse: x must be"),
        ((0.5, float("nan"), 1.0), "pulse: begin must be finite"),
        ((0.5, 0.0, [1.0, 2.0]), "pulse: end must be"),
        ((0.5, 1.0, 1.0), "pulse: end must be greater than begin, got 1 to 1"),
    ],
)
def test_what_is_no_pulse_is_refused(given: tuple[Any, Any, Any], words: str) -> None:
    with pytest.raises(wt.ModelError, match=words):
        wt.pulse(*given)


def cam_drive(duration: float, **options: Any) -> wt.Trajectory:
    """A crank that turns once a second, and a follower of 1 kg pushed by a spline over its angle."""
    m = wt.Mechanism("crank", gravity=(0, 0, 0))
    m.revolute("A", m.ground, m.body("crank", mass=1.0, inertia=(1, 1, 1)), axis="z")
    follower = m.body("follower", mass=1.0)
    m.prismatic("x", m.ground, follower, axis="x")
    cam = wt.Spline(np.linspace(0, 2 * np.pi, 9), [0, 1, 2, 1, 0, 1, 2, 1, 0])
    m.load("push", follower, force=(cam(m.coordinate("A")), 0, 0))
    return m.build().simulate(duration, v={"A": 2 * np.pi}, **options)


@pytest.mark.parametrize(
    ("method", "options"),
    [("dopri5", {}), ("dop853", {}), ("adams", {}), ("rk4", {"step": 0.01}), ("trapezoidal", {"step": 0.01})],
)
def test_a_corner_that_the_state_meets_at_the_end_of_a_run(method: str, options: dict[str, Any]) -> None:
    """The crank reaches a knot at 0.5 s to rounding: the step before it must not go to the end again and again."""
    run = cam_drive(0.5, method=method, every=0.125, **options)
    t = np.linspace(0.0, 0.5, 100001)
    cam = wt.Spline(np.linspace(0, 2 * np.pi, 9), [0, 1, 2, 1, 0, 1, 2, 1, 0])
    right = np.trapezoid((0.5 - t) * cam(2 * np.pi * t), t)
    assert run["x"][-1] == pytest.approx(right, abs=1e-4 if method == "trapezoidal" else 1e-7)
