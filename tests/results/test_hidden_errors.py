"""The certificate finds what residuals and the energy of the whole do not show."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.references import amplitude, quarter_period
from support.sampling import rest
from whippletree.model.parts import independent_parts
from whippletree.results import Certificate
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.studies import verification
from whippletree.studies.verification import MOST_WORK, ORDERS, further_runs, work
from whippletree.system.example_systems import four_bar, pendulum

# ---------------------------------------------------------------------- states of elements


def with_state(rate: Any, value: float = 1.0) -> wt.System:
    """A block that moves on, and a state with a law."""
    m = wt.Mechanism("m", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.state("z", value, rate=rate)
    return m.build()


LAWS = {"linear": lambda z: -1000 * z, "cubic": lambda z: -1000 * z - z**3 / 1e9, "driven": lambda z: 1000 * (2 - z)}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("method", "stable"), [("rk4", 2.785), ("semi_implicit_euler", 2.0), ("dopri5", 3.306)])
def test_a_state_that_grows_by_unstable_steps(law: str, method: str, stable: float) -> None:
    """On the negative axis, Euler's method is stable to 2, Kutta's to 2.785, Dormand and Prince's to 3.306."""
    s = with_state(LAWS[law])
    duration = 0.05
    for share, good in ((0.98, True), (1.02, False)):
        run = s.simulate(duration, v=[1.0], method=method, step=share * stable / 1000, adaptive=False)
        assert run.certificate.ok is good, run.certificate
        assert (run.certificate["state_growth"] <= 1) is good
    assert run.certificate["growing_state"] == "z"
    assert '"z" is multiplied by' in run.certificate.problems[0]


def test_the_case_of_the_state_that_blew_up() -> None:
    run = with_state(LAWS["linear"]).simulate(1.0, v=[1.0], method="rk4", step=0.01)
    assert run.z[-1, 0] > 1e240
    assert not run.certificate.ok
    assert run.certificate["state_growth"] == pytest.approx(1 - 10 + 50 - 1000 / 6 + 1e4 / 24)


@pytest.mark.parametrize("method", ["trapezoidal", "generalized_alpha"])
def test_implicit_steps_let_no_state_grow(method: str) -> None:
    run = with_state(LAWS["linear"]).simulate(1.0, v=[1.0], method=method, step=0.01)
    assert run.certificate["state_growth"] < 1
    assert run.certificate.ok
    assert any('the state "z" where it changes by its own law' in words for words in run.certificate.unchecked)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("step", "resolved"), [(0.9e-3, True), (1.1e-3, False), (2.7e-3, False)])
def test_a_stable_but_coarse_step_does_not_resolve_a_state(law: str, step: float, resolved: bool) -> None:
    """Nothing grows, and yet what decays in 1 ms is not seen in steps that are longer: `ok` does not speak of it."""
    found = with_state(LAWS[law]).simulate(0.05, v=[1.0], method="rk4", step=step).certificate
    assert found.ok
    said = [words for words in found.unchecked if '"z"' in words]
    assert said == [] if resolved else ("takes 0.001 s" in said[0] and f"a step is {step:.3g} s" in said[0])


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_the_error_of_states_bounds_chosen_steps(method: str) -> None:
    run = with_state(LAWS["driven"]).simulate(1.0, v=[1.0], method=method)
    np.testing.assert_allclose(run.z[:, 0], 2 - np.exp(-1000 * run.t), atol=2e-6)
    assert run.certificate.ok
    assert run.certificate.steps > 100


def test_a_state_that_its_law_makes_grow_is_no_error() -> None:
    run = with_state(lambda z: 3 * z).simulate(2.0, v=[1.0], method="rk4", step=0.01)
    assert run.certificate.ok
    assert run.certificate["state_growth"] == 0.0


def test_states_that_turn_around_each_other() -> None:
    """An oscillator of states with little damping: unstable by rk4 beyond 2.83 / omega on the imaginary axis."""
    m = wt.Mechanism("m", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    a, b = m.state("a", 1.0), m.state("b", 0.0)
    m.state_rate("a", 100 * b)
    m.state_rate("b", -100 * a - 0.1 * b)
    s = m.build()
    assert s.simulate(1.0, method="rk4", step=0.027).certificate["state_growth"] < 1
    assert s.simulate(1.0, method="rk4", step=0.029).certificate["state_growth"] > 1


# ---------------------------------------------------------------------- parts that meet only at the ground


def flywheel(*, damped: bool = False, beside: str = "oscillator") -> wt.Mechanism:
    """A heavy flywheel, and beside it a small oscillator of 100 rad/s or a pendulum."""
    m = wt.Mechanism("both", gravity=(0, 0, -9.81))
    m.revolute("turn", m.ground, m.body("wheel", wt.sphere(radius=1.0, mass=1e6)), axis="z")
    if beside == "oscillator":
        m.prismatic("x", m.ground, m.body("block", mass=1e-3), axis="x")
        m.torsion_spring("spring", "x", stiffness=10.0, damping=1e-3 if damped else 0.0)
    else:
        m.revolute("x", m.ground, m.body("block", wt.rod(length=0.1, mass=1e-3, axis="x")), axis="y")
    return m


def test_a_small_oscillator_beside_a_heavy_flywheel() -> None:
    s = flywheel().build()
    run = s.simulate(10.0, q={"x": 1e-9}, v={"turn": 100.0})
    wrong = np.abs(run["x"] - 1e-9 * np.cos(100 * run.t)).max()
    assert wrong > 1e-9  # all wrong
    found = run.certificate
    assert abs(found.energy_error) <= found.energy_limit  # the flywheel does not feel it
    assert not found.ok
    assert (found["parts"], found["worst_part"]) == (2, '"block"')
    assert 'the part "block"' in found.problems[0]
    assert '"block"' in str(found)


@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize(("step", "good"), [(0.02, False), (1e-4, True)])
def test_coarse_steps_of_a_small_part(damped: bool, step: float, good: bool) -> None:
    run = flywheel(damped=damped).build().simulate(2.0, q={"x": 1e-2}, v={"turn": 100.0}, method="rk4", step=step)
    assert run.certificate.ok is good, run.certificate
    assert run.certificate["parts"] == 2


def test_part_energy_is_that_of_the_part_alone() -> None:
    """The balance of a pendulum beside the flywheel is that of the pendulum by itself."""
    both = flywheel(beside="pendulum").build().simulate(2.0, v={"turn": 100.0}, method="rk4", step=0.01)
    m = wt.Mechanism("alone", gravity=(0, 0, -9.81))
    m.revolute("x", m.ground, m.body("block", wt.rod(length=0.1, mass=1e-3, axis="x")), axis="y")
    alone = m.build().simulate(2.0, method="rk4", step=0.01)
    drift = alone.certificate.energy_drift
    assert both.certificate["part_error"] == pytest.approx(drift, rel=1e-2)


def test_two_parts_that_are_both_driven() -> None:
    """Work on each part is integrated over the outputs; with too few of them the balance is not known, and said so."""
    m = wt.Mechanism("pair", gravity=(0, 0, 0))
    for name, size in (("a", 1.0), ("b", 1e-4)):
        m.prismatic(name, m.ground, m.body(f"block {name}", mass=size), axis="x")
        m.actuator(f"push {name}", name, effort=-size * 4 * m.coordinate(name) - size * m.rate(name))
    s = m.build()
    fine = s.simulate(3.0, q=[1.0, 1.0], every=0.002).certificate
    assert fine.ok, fine
    assert fine["part_error"] <= fine["part_limit"]
    coarse = s.simulate(3.0, q=[1.0, 1.0], every=0.5).certificate
    assert coarse["parts_unknown"]
    assert any("parts that meet only at the ground" in words for words in coarse.unchecked)


def test_what_connects_parts() -> None:
    m = wt.Mechanism("m")
    bodies = [m.body(f"b{k}", mass=1.0) for k in range(8)]
    for k, body in enumerate(bodies):
        m.revolute(f"j{k}", m.ground, body, axis="y")
    m.spring("spring", bodies[0], bodies[1], stiffness=1.0, free_length=1.0)
    m.gear("gear", "j2", "j3", ratio=2.0)
    m.actuator("follow", "j4", effort=-m.coordinate("j5"))
    lag = m.state("lag", 0.0, rate=lambda z: m.coordinate("j6") - z)
    m.actuator("late", "j7", effort=lag)
    found = [set(part.joints) for part in independent_parts(m.describe())]
    assert sorted(map(sorted, found)) == [["j0", "j1"], ["j2", "j3"], ["j4", "j5"], ["j6", "j7"]]


# ---------------------------------------------------------------------- closing the loops


def slides_and_rod() -> wt.System:
    """A pendulum of 1 m as two slides and a rod."""
    m = wt.Mechanism("p", gravity=(0, -9.81, 0))
    carriage, bob = m.body("c"), m.body("b", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carriage, axis="x")
    m.prismatic("y", carriage, bob, axis="y")
    m.distance("rod", m.ground, bob, length=1.0)
    return m.build(guess={"x": -1.0, "y": 0.0})


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "rk4", "trapezoidal"])
def test_the_displacement_that_closes_loops_is_recorded(method: str) -> None:
    step = {"step": 2e-3} if method in ("rk4", "trapezoidal") else {}
    found = four_bar().simulate(2.0, method=method, **step).certificate
    assert 0 < found["closing_largest"] <= found["closing_total"]
    assert found["closing_total"] <= found.steps * found["closing_largest"]
    assert found["closing_largest"] <= found["closing_tolerance"]
    assert "closing the loops" in str(found)


@pytest.mark.parametrize("times", [1, 10])
def test_coarse_steps_that_closing_hides(times: int) -> None:
    coarse = slides_and_rod().simulate(10.0 * times, method="rk4", step=0.05)
    assert coarse.certificate.closure_residual < 1e-10
    assert any("closed the loops" in problem for problem in coarse.certificate.problems)


@pytest.mark.parametrize("turns", [3, 35])
def test_a_long_run_is_not_judged_more_harshly_by_what_closing_sums_up_to(turns: int) -> None:
    """A slider-crank engine, whose gas pushes by the angle of its crank: right to nine digits, at any length."""
    m = wt.Mechanism("engine")
    crank = m.body("crank", wt.cylinder(radius=0.05, length=0.04, mass=3.0))
    rod, piston = m.body("rod", wt.rod(length=0.15, mass=0.5, axis="x")), m.body("piston", mass=0.4)
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, rod, at=(0.05, 0, 0), axis="y")
    m.revolute("C", rod, piston, at=(0.15, 0, 0), axis="y")
    m.prismatic("D", m.ground, piston, axis="x")
    angle = np.linspace(0, 4 * np.pi, 37)
    gas = 2000 * np.exp(-(((angle - 0.3) / 0.5) ** 2))
    gas[-1] = gas[0]
    m.load("gas", piston, force=(-wt.Spline(angle, gas, ends="periodic")(m.coordinate("A")), 0, 0))
    s = m.build(guess={"A": 0.1})
    run = s.simulate(turns / 70, v=s.consistent_velocities(s.q0, {"A": 100.0}))
    assert run.certificate.ok, run.certificate.problems


# ---------------------------------------------------------------------- what is measured does not depend on outputs

EVERY = [
    ("dopri5", {}),
    ("dop853", {}),
    ("adams", {}),
    ("rk4", {"step": 0.02}),
    ("semi_implicit_euler", {"step": 0.02}),
    ("trapezoidal", {"step": 0.02}),
    ("generalized_alpha", {"step": 0.02}),
    ("dopri5", {"step": 0.02, "adaptive": False}),
    ("rk4", {"step": 0.02, "coordinates": "absolute"}),
]


@pytest.mark.parametrize(("method", "options"), EVERY)
@pytest.mark.parametrize("make", [slides_and_rod, *rest([pendulum, four_bar])])
def test_what_a_run_says_does_not_depend_on_its_outputs(make: Any, method: str, options: dict[str, Any]) -> None:
    """Every n-th output of a run with more of them is that of the run with fewer, and both are judged alike."""
    s = make()
    fine = s.simulate(2.4, every=0.02, method=method, **options)
    for n in (3, 20, 120):
        few = s.simulate(2.4, every=n * 0.02, method=method, **options)
        np.testing.assert_allclose(few.q, fine.q[::n], rtol=0, atol=1e-13)
        np.testing.assert_allclose(few.v, fine.v[::n], rtol=0, atol=1e-12)
        assert few.certificate.ok == fine.certificate.ok
        for name in ("energy_start", "energy_end", "energy_scale", "energy_drift", "closing_total", "steps"):
            assert few.certificate[name] == fine.certificate[name], name


def test_the_error_of_energy_is_found_between_outputs() -> None:
    """The trapezoidal rule gives back at the end of a swing what it has lost on the way."""
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="x")), axis="y")
    found = m.build().simulate(2.9, every=2.9, method="trapezoidal", step=0.02).certificate
    assert found.energy_drift == pytest.approx(2.4e-3, rel=0.01)
    assert not found.ok


@pytest.mark.parametrize("steps", [3999, 4000, 4001, 9001])
def test_states_are_kept_evenly_spaced(steps: int) -> None:
    """Of more than 4000 steps, every second, fourth, ... is kept; all lie on the grid of steps, with the end."""
    run = SampledRun(Simulation(pendulum(), method="rk4", step=1e-3), np.array([steps * 1e-3]))
    run.go()
    t = np.round(run.marched[:, 0] / 1e-3)
    stride = 1 if steps < 4000 else 2 if steps < 8000 else 4
    np.testing.assert_array_equal(t, np.unique([*range(0, steps, stride), steps]))
    assert len(t) > 2000


@pytest.mark.parametrize("tolerance", [1e-3, *rest([1e-4, 1e-5, 1e-6])])
@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_velocities_are_on_the_closures_where_steps_end(method: str, tolerance: float) -> None:
    """The last output is the end of a step, however coarse: its velocities are those of its own position."""
    s = slides_and_rod()
    for end in (0.7, 1.0, 1.3):
        run = s.simulate(end, v=s.consistent_velocities(s.q0, {"y": -20.0}), method=method, tolerance=tolerance)
        assert abs(float(run.q[-1] @ run.v[-1])) < 1e-11
        assert run.certificate.velocity_residual < 1e-11


def test_a_tree_has_nothing_to_close() -> None:
    found = pendulum().simulate(1.0).certificate
    assert (found["closing_largest"], found["closing_total"]) == (0.0, 0.0)


# ---------------------------------------------------------------------- energy, by what was asked for


@pytest.mark.parametrize("tolerance", [1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_a_run_that_is_as_good_as_was_asked_for_is_ok(method: str, tolerance: float) -> None:
    """With few digits energies have few: the pendulum of Jacobi's elliptic functions, by them."""
    run = slides_and_rod().simulate(10.0, method=method, tolerance=tolerance)
    assert abs(run["x"][-1] + 0.27508746257611686) < 1000 * tolerance
    assert run.certificate.ok, run.certificate
    assert run.certificate["energy_tolerance"] == pytest.approx(100 * tolerance)
    assert run.certify().problems == run.certificate.problems


def test_energies_are_never_left_to_themselves() -> None:
    """Neither by a large tolerance, nor where none was asked for, nor below what every run is held to."""
    s = slides_and_rod()
    assert s.simulate(1.0, tolerance=0.1).certificate["energy_tolerance"] == 1e-2
    for options in ({"tolerance": 1e-8}, {"tolerance": 1e-12}, {"method": "rk4", "step": 1e-2}):
        assert s.simulate(1.0, **options).certificate["energy_tolerance"] == 1e-6


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_a_small_part_that_is_all_wrong_at_large_tolerances(tolerance: float, method: str) -> None:
    size = tolerance / 10
    run = flywheel().build().simulate(10.0, q={"x": size}, v={"turn": 100.0}, tolerance=tolerance, method=method)
    assert np.abs(run["x"] - size * np.cos(100 * run.t)).max() > size / 2
    assert 'the part "block"' in run.certificate.problems[0]


# ---------------------------------------------------------------------- further runs

METHODS = [
    ("dopri5", {}),
    ("dop853", {}),
    ("adams", {}),
    ("rk4", {"step": 2e-3}),
    ("semi_implicit_euler", {"step": 1e-3}),
    ("trapezoidal", {"step": 2e-3}),
    ("generalized_alpha", {"step": 2e-3}),
    ("dopri5", {"step": 5e-3, "adaptive": False}),
    ("trapezoidal", {"adaptive": True, "tolerance": 1e-6}),
]


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize("make", [pendulum, four_bar])
def test_digits_that_are_claimed_are_right(make: Any, method: str, options: dict[str, Any]) -> None:
    s = make()
    exact = s.simulate(2.0, method="dop853", tolerance=1e-13)
    run = s.simulate(2.0, method=method, verify=True, **options)
    found = run.certificate
    worst = 16.0
    for name in s.joint_names:
        for a, b in (
            (run.q[:, s.q_slice(name)], exact.q[:, s.q_slice(name)]),
            (run.v[:, s.v_slice(name)], exact.v[:, s.v_slice(name)]),
        ):
            size = np.ptp(b, axis=0).max() if a is run.q[:, s.q_slice(name)] else np.abs(b).max()
            worst = min(worst, -math.log10(max(np.abs(a - b).max(), 1e-300) / size))
    assert -1.5 < found.digits - worst < 0.3, (found.digits, worst, found["second_run"])
    assert len(found["groups"]) == len(found["group_digits"]) == 2 * len(s.joint_names)
    assert not any("global error" in words for words in found.unchecked)
    assert Certificate.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def swinging(t: Any) -> Any:
    """The angle and its rate of a pendulum let go at 90 degrees from hanging down: Jacobi's sn and cn."""
    w = math.sqrt(9.81)
    turned = np.array([amplitude(w * one + quarter_period(0.5), 0.5) for one in t])
    return 2 * np.arcsin(math.sqrt(0.5) * np.sin(turned)), 2 * math.sqrt(0.5) * w * np.cos(turned)


@pytest.mark.parametrize(
    ("method", "options"),
    [(method, {"step": step, "adaptive": False}) for method in ORDERS for step in (2e-2, 5e-3)]
    + [(method, {"tolerance": 10.0**-k}) for method in ("dopri5", "dop853", "adams") for k in (4, 7, 10)]
    + [(method, {"tolerance": 1e-4, "adaptive": True}) for method in ("trapezoidal", "generalized_alpha")],
)
def test_digits_by_the_closed_form_of_a_pendulum(method: str, options: dict[str, Any]) -> None:
    m = wt.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.revolute("A", m.ground, m.body("bob", wt.point_mass(1.0, at=(0.0, -1.0, 0.0))))
    run = m.build(guess={"A": math.pi / 2}).simulate(4.0, every=0.08, method=method, verify=True, **options)
    angle, rate = swinging(run.t)
    errors = np.ptp(angle) / np.abs(run["A"] - angle).max(), np.abs(rate).max() / np.abs(run.v[:, 0] - rate).max()
    right = min(math.log10(one) for one in errors)
    assert -1.7 < run.certificate.digits - right < 0.3, (run.certificate.digits, right)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_further_runs_cost_little(method: str, options: dict[str, Any]) -> None:
    s = four_bar()
    sim = Simulation(s, method=method, **options)
    others = [Simulation(s, **{"method": method} | options | how) for how in further_runs(sim).options]
    for one in (sim, *others):
        one.run(np.array([5.0]))
    assert sum(map(work, others)) <= MOST_WORK * work(sim)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_digits_do_not_depend_on_the_outputs(method: str, options: dict[str, Any]) -> None:
    s, found = four_bar(), {}
    for every in (2.0, 0.5, 0.02, 0.0037):
        run = s.simulate(2.0, every=every, method=method, verify=True, **options)
        plain = s.simulate(2.0, every=every, method=method, **options)
        assert np.array_equal(run.t, plain.t)
        assert np.array_equal(run.q, plain.q)
        found[every] = run.certificate.digits
    assert found == pytest.approx(dict.fromkeys(found, found[2.0]), abs=1e-6)


def test_a_run_that_is_verified_goes_on_from_its_checkpoint_with_the_outputs_that_were_asked_for(
    tmp_path: Path,
) -> None:
    s, calls = pendulum(), []

    def controller(t: float, q: Any, v: Any, z: Any) -> Any:
        calls.append(t)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return [0.1]

    options = {"every": 0.3, "controller": controller, "period": 0.1}
    begun = s.simulate(1.0, checkpoint=tmp_path / "run.ckpt", verify=True, **options)
    assert begun.t.tolist() == pytest.approx([0.0, 0.3, 0.6])
    run = wt.resume(tmp_path / "run.ckpt", s, controller=controller)
    calls.clear()
    assert np.array_equal(run.q, s.simulate(1.0, every=0.3, controller=lambda *_: [0.1], period=0.1).q)
    assert run.t.tolist() == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0])


def test_a_further_run_that_has_left_the_first_is_given_up() -> None:
    """A double pendulum far up, in steps that are too long: soon nothing agrees, and the rest is not looked at."""
    m = wt.Mechanism("double pendulum")
    tip = m.ground
    for k in range(2):
        body = m.body(f"rod {k}", wt.rod(length=1.0, mass=1.0, axis="-z"))
        m.revolute(f"joint {k}", tip, body, axis="y", at=(0, 0, -float(k)))
        tip = body
    found = m.build().simulate(60.0, q=[2.0, 1.0], method="rk4", step=2e-2, verify=True).certificate
    assert found.digits == 0.0
    until = float(found["second_run"].partition("compared up to t = ")[2].removesuffix(" s"))
    assert 2.0 < until < 40.0
    assert float(found["second_run"].partition("s, ")[2].partition(" times")[0]) < 0.4


def test_steps_twice_as_long_that_are_unstable_claim_nothing() -> None:
    """Runge and Kutta's steps of 2 / w are stable, and those of 4 / w are not."""
    m = wt.Mechanism("spring", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.torsion_spring("spring", "x", stiffness=1e4)
    found = m.build().simulate(5.0, q={"x": 0.1}, method="rk4", step=2e-2, verify=True).certificate
    assert found.digits == 0.0
    assert any("take a smaller step" in words for words in found.problems)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "rk4", "step": 0.1, "controller": lambda t, q, v, z: [0.1 * t], "period": 0.1},
        {"method": "rk4", "step": 1.0},
        {"method": "trapezoidal", "adaptive": True, "tolerance": 1e-2, "max_step": 1e-3},
    ],
)
def test_steps_that_cannot_be_longer_confirm_nothing(options: dict[str, Any]) -> None:
    """Samples, the end of the run and `max_step` bound the longer steps: they are the same ones again."""
    found = pendulum().simulate(1.0, verify=True, **options).certificate
    assert math.isnan(found.digits)
    assert any("leaves no room for longer ones" in words for words in found.unchecked)


@pytest.mark.parametrize(
    ("tolerance", "other", "share"),
    [(1e-4, "dopri5", 4), (1e-8, "dopri5", 4), (1e-9, "adams", 7), (1e-12, "adams", 7)],
)
def test_small_trees_are_run_again_by_what_is_as_fast_there(tolerance: float, other: str, share: int) -> None:
    assert further_runs(Simulation(pendulum(), method="dop853", tolerance=tolerance)).words == (
        f"{other}, tolerance {share * tolerance:g}"
    )
    assert further_runs(Simulation(pendulum(), method="adams", tolerance=tolerance)).options[0]["method"] == "dop853"
    assert further_runs(Simulation(four_bar(), method="dop853", tolerance=tolerance)).options[0]["method"] == "adams"


def test_a_second_run_ends_when_its_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"method": "dop853", "tolerance": 1e-10}
    s, shares = four_bar(), {}
    for most in (1.5, 0.5, 0.25):
        monkeypatch.setattr(verification, "MOST_WORK", most)
        found = s.simulate(20.0, verify=True, **options).certificate
        words, _, until = found["second_run"].partition(", compared up to t = ")
        shares[most] = float(until.removesuffix(" s")) / 20.0 if until else 1.0
        assert found.digits > 7
        assert "times the evaluations" in words
    assert shares[1.5] == 1.0
    assert 0.4 < shares[0.25] / shares[0.5] < 0.6


def carried_pendulums() -> wt.System:
    """A cart on a rail that stays where it is, because its two pendulums swing against each other."""
    m = wt.Mechanism("cart")
    cart = m.body("cart", mass=3.0)
    m.prismatic("rail", m.ground, cart, axis="x")
    for name, axis in (("left", "y"), ("right", "-y")):
        m.revolute(name, cart, m.body(name, wt.rod(length=1.0, mass=1.0, axis="-z")), axis=axis)
    return m.build()


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_a_joint_at_rest_has_no_digits_to_tell(method: str) -> None:
    """What moves by rounding or by errors alone agrees in no digit, which says nothing against the run."""
    s = carried_pendulums()
    for turn in (0.0, 2 * math.pi, 2 * math.pi + 1e-12):
        start = s.configuration({"left": 0.7, "right": 0.7 + turn})
        found = s.simulate(3.0, q=start, method=method, verify=True).certificate
        assert found.ok, found
        assert found.digits > 5.0
    assert any("digits of" in words and '"rail"' in words for words in found.unchecked), found


def test_a_small_part_that_is_all_wrong_has_no_digits() -> None:
    """Errors of the flywheel do not excuse those of what only meets it at the ground."""
    found = flywheel().build().simulate(2.0, q={"x": 1e-9}, v={"turn": 100.0}, verify=True).certificate
    assert found.digits < 1.0
    assert '"x"' in found["digits_of"]


@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 1e-2}])
def test_where_nothing_moves_there_are_no_digits_to_tell(options: dict[str, Any]) -> None:
    m = wt.Mechanism("rest", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    found = m.build().simulate(0.1, verify=True, **options).certificate
    assert found.ok, found
    assert math.isnan(found.digits)
    assert "no motion whose digits could be told" in found["digits_of"]


def test_without_verify_the_global_error_is_said_to_be_unknown() -> None:
    found = pendulum().simulate(1.0).certificate
    assert found.ok
    assert "global error: not estimated" in str(found)
    assert str(found).startswith("Certificate: ok as far as checked: closures, energy, quaternions")
    assert math.isnan(found.digits)


def test_a_run_that_is_wrong_is_not_confirmed() -> None:
    """A pendulum that swings fast, in steps that are far too long: the first digits do not agree."""
    run = pendulum().simulate(20.0, v=[8.0], method="rk4", step=0.2, verify=True)
    assert run.certificate.digits < 3
    assert any("digits are right only" in problem for problem in run.certificate.problems)


def test_a_controller_begins_again() -> None:
    class Counter:
        def __init__(self) -> None:
            self.calls = 0.0

        def get_state(self) -> Any:
            return np.array([self.calls])

        def set_state(self, kept: Any) -> None:
            self.calls = float(kept[0])

        def __call__(self, t: float, q: Any, v: Any, z: Any) -> Any:
            self.calls += 1.0
            return [0.01 * self.calls]

    counter = Counter()
    run = pendulum().simulate(1.0, controller=counter, period=0.1, verify=True)
    assert run.certificate.digits > 5
    assert counter.calls == 10


def test_verify_is_true_or_false() -> None:
    with pytest.raises(wt.StateError, match="verify= must be True or False"):
        pendulum().simulate(1.0, verify="yes")


@pytest.mark.parametrize("every", [0.05, 0.5, 1.0])
def test_a_motion_that_rests_at_the_end_of_every_step_has_a_scale_of_energy(every: float) -> None:
    """A drive that goes from rest to rest within one step leaves the rounding of its work as the error of energy."""
    m = wt.Mechanism("lift", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=2.0), axis="x")
    s = 2 * m.time - 1
    m.drive("motor", "x", position=0.3 * (s**3 - 3 * s) / 2)
    run = m.build().simulate(1.0, every=every, method="rk4", step=1.0)
    assert np.abs(run["x"] - 0.3 * ((2 * run.t - 1) ** 3 - 3 * (2 * run.t - 1)) / 2).max() < 1e-13
    assert run.certificate.ok, run.certificate
    assert run.certificate["energy_scale"] > 0.1
