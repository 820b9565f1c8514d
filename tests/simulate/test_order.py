"""Accuracy does not depend on which coordinates are independent: orders and tolerances of runs with loops.

In each of these mechanisms the choice of coordinates becomes singular again and again, while the mechanism is regular:
a pendulum on two slides, a heavy top and a rolling ball on free joints, a five-bar with two telescopes. At the flat
positions of a four-bar the mechanism itself is singular.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import whippletree as wt
from support.reference_problems import four_bar_angles, n_four_bar
from support.references import rk4
from support.sampling import deep, rest

PENDULUM_END = -0.27508746257611686
"""x of the pendulum after 10 s, by quadrature of its energy."""

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


class Problem(NamedTuple):
    """A system, how it starts, how long it runs, and what is compared at its end."""

    system: wt.System
    v: Any
    duration: float
    end: Any

    def run(self, **options: Any) -> tuple[np.ndarray, Any]:
        """Return what the run ends with, and its certificate."""
        run = self.system.simulate(self.duration, v=self.v, every=self.duration, **options)
        return np.atleast_1d(self.end(run.q[-1])), run.certificate


@functools.cache
def pendulum() -> Problem:
    """A bob that a rod holds, on two slides."""
    m = wt.Mechanism("pendulum", gravity=(0, -9.81, 0))
    carriage, bob = m.body("carriage"), m.body("bob", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carriage, axis="x")
    m.prismatic("y", carriage, bob, axis="y")
    m.distance("rod", m.ground, bob, length=1.0)
    return Problem(m.build(guess={"x": -1.0, "y": 0.0}), {}, 10.0, lambda q: q[0])


def hinged_pendulum() -> Problem:
    """The same pendulum on a hinge."""
    m = wt.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(-1.0, 0, 0)))
    return Problem(m.build(), {}, 10.0, lambda q: -np.cos(q[0]))


@functools.cache
def top(kind: str) -> Problem:
    """A fast heavy top, whose point is held by a closure (on a free joint) or by a ball."""
    m = wt.Mechanism("top", gravity=(0, 0, -9.81))
    body = m.body("body", mass=15.0, com=(0, 1, 0), inertia=np.diag([0.234375, 0.46875, 0.234375]))
    spin = [0.0, 150.0, -4.61538]
    if kind == "ball":
        m.spherical("joint", m.ground, body)
        return Problem(m.build(), {"joint": spin}, 0.4, lambda q: q[:4])
    m.free("joint", m.ground, body)
    m.closure("pivot", m.position("body"))
    return Problem(m.build(), {"joint": [*spin, 0.0, 0.0, 0.0]}, 0.4, lambda q: q[:4])


def ball() -> Problem:
    """An unbalanced ball that rolls on an inclined plane: two closures on velocities, one on positions."""
    radius = 0.5
    m = wt.Mechanism("ball", gravity=(0, -1.0, -9.81))
    body = m.body("body", mass=2.0, com=(0.1, 0, 0.05), inertia=np.diag([0.2, 0.25, 0.3]))
    m.free("joint", m.ground, body)
    motion = m.velocity("body")
    m.closure("contact", m.position("body")[2] - radius)
    m.closure("rolls along x", motion[3] - radius * motion[1])
    m.closure("rolls along y", motion[4] + radius * motion[0])
    s = m.build(guess={"joint": [1, 0, 0, 0, 0, 0, radius]})
    return Problem(s, s.consistent_velocities(s.q0, {"joint": [3.0, 2.0, 1.0, 0, 0, 0]}), 5.0, lambda q: q)


def five_bar(angle: float) -> Problem:
    """A five-bar with telescopes at both ends of bar 3, one along it and one at an angle to it."""
    m = wt.Mechanism("five-bar", gravity=(0, -9.81, 0))
    turning = np.diag([0.1, 0.1, 0.1])
    bars = [m.body(f"bar {k}", mass=1.0, com=(0.1 if k == 3 else 0.5, 0, 0), inertia=turning) for k in range(1, 5)]
    m.revolute("A", m.ground, bars[0])
    m.revolute("B", bars[0], bars[1], at=(1, 0, 0))
    m.prismatic("C", bars[1], bars[2], at=(1, 0, 0), axis="x")
    m.prismatic("D", bars[2], bars[3], axis=(np.cos(angle), np.sin(angle), 0))
    m.revolute("E", m.ground, bars[3], at=(2.0, 0, 0), at_child=(1, 0, 0))
    parallel = {"A": 1.2, "B": -1.717, "C": -0.008, "D": -0.108, "E": -0.517}
    inclined = {
        "A": 1.2,
        "B": -0.9,
        "C": 0.663 if angle < 1 else -0.711,
        "D": -1.944 if angle < 1 else -1.374,
        "E": 0.3,
    }
    s = m.build(guess=inclined if angle else parallel)
    return Problem(s, s.consistent_velocities(s.q0, {"A": 1.0, "C": 0.3}), 3.0, lambda q: q)


@functools.cache
def problem_named(name: str) -> Problem:
    """Return a problem, the same for all tests."""
    return MAKERS[name][0]()


@functools.cache
def exact(name: str) -> np.ndarray:
    """Return the end of a run by other means, or as exactly as it can be had."""
    if name == "pendulum":
        return np.array([PENDULUM_END])
    if name == "top":
        return top("ball").run(method="dop853", tolerance=1e-14)[0]
    return problem_named(name).run(method="dop853", tolerance=3e-14)[0]


MAKERS: dict[str, Any] = {
    "pendulum": (pendulum, 4e-3),
    "top": (lambda: top("closure"), 4e-4),
    "ball": (ball, 4e-3),
    "five-bar, parallel": (lambda: five_bar(0.0), 4e-3),
    "five-bar, 45 degrees": (lambda: five_bar(np.pi / 4), 2e-3),
    "five-bar, 90 degrees": (lambda: five_bar(np.pi / 2), 4e-3),
}

ALWAYS = ("pendulum", "top", "ball")
NAMES = ["pendulum", *rest(ALWAYS[1:]), *deep(name for name in MAKERS if name not in ALWAYS)]
every_problem = pytest.mark.parametrize("name", NAMES)


@every_problem
def test_fixed_steps_show_their_order(name: str) -> None:
    step, problem, end = MAKERS[name][1], problem_named(name), exact(name)
    coarse, fine = (np.abs(problem.run(method="rk4", step=h)[0] - end).max() for h in (step, step / 2))
    assert 12 < coarse / fine < 25
    assert fine < 1e-4


def test_the_trapezoidal_rule_shows_its_order() -> None:
    problem = pendulum()
    coarse, fine = (np.abs(problem.run(method="trapezoidal", step=h)[0] - PENDULUM_END).max() for h in (4e-3, 2e-3))
    assert coarse / fine == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("method", ["dop853", *deep(["dopri5", "adams"])])
@every_problem
def test_errors_fall_with_the_tolerance(name: str, method: str) -> None:
    problem, end = problem_named(name), exact(name)
    errors = [np.abs(problem.run(method=method, tolerance=tolerance)[0] - end).max() for tolerance in TOLERANCES]
    for tolerance, error, next_error in zip(TOLERANCES, errors, [*errors[1:], 0.0], strict=True):
        assert error < 1000 * tolerance or (method == "dopri5" and error < plain_error(problem, tolerance, end))
        assert next_error < error / 5


def plain_error(problem: Problem, tolerance: float, end: np.ndarray) -> float:
    """The error of SciPy's Dormand-Prince method on the same equations, for joints whose rates are their velocities.

    At coarse tolerances a problem may let errors grow by more than a thousand whatever is done: this is what is left.
    """
    s = problem.system

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[s.nq :], s.forward_dynamics(y[: s.nq], y[s.nq :], check=False)])

    start = np.concatenate([s.q0, problem.v])
    found = solve_ivp(rates, (0.0, problem.duration), start, method="RK45", rtol=tolerance, atol=tolerance)
    return float(np.abs(problem.end(found.y[: s.nq, -1]) - end).max())


@pytest.mark.parametrize("method", ["dop853", "adams"])
@pytest.mark.parametrize("tolerance", [1e-8, *deep([1e-4, 1e-12])])
def test_a_top_costs_what_it_costs_on_a_ball(tolerance: float, method: str) -> None:
    loops, tree = (top(kind).run(method=method, tolerance=tolerance)[1] for kind in ("closure", "ball"))
    assert loops.replans
    assert loops.evaluations < 1.5 * tree.evaluations


@pytest.mark.parametrize("options", [{"method": "adams", "tolerance": 1e-8}, {"method": "rk4", "step": 4e-3}])
def test_a_pendulum_on_slides_costs_what_it_costs_on_a_hinge(options: dict[str, Any]) -> None:
    loops, tree = (make().run(**options)[1] for make in (pendulum, hinged_pendulum))
    assert loops.evaluations < 1.5 * tree.evaluations


# ---------------------------------------------------------------------- singular positions of the mechanism


def four_bar_run(method: str, duration: float, **options: Any) -> float:
    """Return by how much a four-bar that goes through its flat positions misses the rod that it moves like."""
    s = n_four_bar(1).build(guess=four_bar_angles(1, np.pi / 2))
    run = s.simulate(duration, v=s.velocities(four_bar_angles(1, -1.0)), every=duration, method=method, **options)
    assert len(run.certificate.singular) == (2 if duration == 2.0 else 10)
    return abs(float(np.pi / 2 - run["A0"][-1] - turned(duration)))


@functools.cache
def turned(duration: float, steps: int = 20_000) -> float:
    """By what angle the rod turns."""
    faster = 9.81 * 2 / (2 / 3 + 1)
    return float(rk4(lambda x: np.array([x[1], faster * np.sin(x[0])]), np.array([0.0, 1.0]), duration, steps)[0])


@pytest.mark.parametrize("duration", [2.0, *deep([10.0])])
@pytest.mark.parametrize("method", ["trapezoidal", "generalized_alpha"])
def test_implicit_methods_keep_their_order_through_singular_positions(method: str, duration: float) -> None:
    errors = [four_bar_run(method, duration, step=1e-3 / 2**k) for k in range(4)]
    assert all(coarse > 3.5 * fine for coarse, fine in itertools.pairwise(errors))


@pytest.mark.parametrize("duration", [2.0, *deep([10.0])])
def test_fourth_order_is_kept_through_singular_positions(duration: float) -> None:
    coarse, fine = (four_bar_run("rk4", duration, step=h) for h in (4e-3, 2e-3))
    assert 12 < coarse / fine < 30
    for step, error in ((4e-3, coarse), (2e-3, fine)):  # crossing adds nothing to what rk4 leaves on the rod itself
        assert error < 1.3 * abs(turned(duration, round(duration / step)) - turned(duration))


@pytest.mark.parametrize("duration", [2.0, *deep([10.0])])
def test_a_crossing_leaves_nothing_but_rounding(duration: float) -> None:
    """On a hinge, steps of 0.25 ms leave 2e-11 after 10 s by rounding: the motion multiplies it."""
    assert four_bar_run("rk4", duration, step=2.5e-4) < (1e-12 if duration == 2.0 else 3e-11)
