"""The time loop in natural coordinates: examples 8.6 and 8.7 of the book, and an independent trial in NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import whippletree as wt
from support.natural_models import five_links, inversor
from support.natural_trial import five_links as by_hand
from support.natural_trial import march
from support.sampling import deep
from whippletree.studies.natural_runs import NaturalOptions, NaturalRows, NaturalRun
from whippletree.system.example_systems import four_bar, pendulum

FALL = 3 * 9.81
"""What example 8.6 compares its energy with, in joules."""

H = 0.008


@functools.cache
def system(closed: bool) -> wt.System:
    return five_links(closed)


def marched(closed: bool, duration: float, h: float, **options: object) -> tuple[NaturalRun, NaturalRows]:
    run = NaturalRun(system(closed), NaturalOptions(step=h, **options))
    return run, run.march(round(duration / h))


def energy(run: NaturalRun, rows: NaturalRows) -> np.ndarray:
    """Kinetic and potential energy of the points, whose masses are known by hand."""
    total = np.zeros(len(rows.t))
    for one in run.natural.points:
        mass = 0.5 if one.name == "tip" else 1.0
        x, v = rows.x[:, one.where], rows.rates[:, one.where]
        total += mass * ((v**2).sum(axis=1) / 2 + 9.81 * x[:, 1])
    return total


def violation(run: NaturalRun, rows: NaturalRows) -> float:
    return float(np.abs(run.natural.residual(rows.x)).max())


@pytest.mark.parametrize(("closed", "h", "mu"), [(False, H, H / 80), (True, 0.03, 0.03 / 60)])
def test_against_the_trial(closed: bool, h: float, mu: float) -> None:
    """The same steps as in plain NumPy, point by point."""
    run, rows = marched(closed, 60 * h, h, alpha=1e7, mu=mu)
    trial = march(by_hand(closed), 60 * h, h, 1e7, mu)
    assert (rows.iterations == trial.iterations).all()
    for k, name in enumerate(("R2", "R3", "R4", "R5")):
        where = next(one.where for one in run.natural.points if one.name == name)
        assert rows.x[:, where] == pytest.approx(trial.x[:, 3 * k : 3 * k + 3], abs=1e-9)
        assert rows.rates[:, where] == pytest.approx(trial.v[:, 3 * k : 3 * k + 3], abs=1e-6)


@pytest.mark.parametrize("iterations", [None, 2])
def test_example_8_6(iterations: int | None) -> None:
    """Two iterations a step, energy within 1.3 %, conditions within 2e-5, the tip's acceleration up to about 180."""
    run, rows = marched(False, 20.0, H, alpha=1e7, mu=H / 80, iterations=iterations)
    found = energy(run, rows)
    assert rows.iterations.mean() <= 2.1
    assert np.abs(found - found[0]).max() < 0.013 * FALL
    assert violation(run, rows) < 2e-5
    assert 165 < np.abs(rows.accelerations[:, run.natural.points[-1].where.start + 1]).max() < 185


def test_example_8_7() -> None:
    """Energy within 0.03 %, two iterations a step; the trajectory is in joint coordinates, its loop closed."""
    run = system(True).simulate(39.99, formulation="natural", step=0.03, alpha=1e7, mu=0.03 / 60)
    total = run.energy().total
    assert np.abs(total - total[0]).max() < 0.0003 * FALL
    assert run.info["iterations"] < 2.1
    assert run.certificate.closure_residual < 1e-12
    assert run.certificate["condition_residual"] < 1e-5
    assert "natural conditions" in str(run.certificate)


def test_what_augmented_lagrangians_reach() -> None:
    """Two corrections take the conditions down by ten and more; what is left is mu Phi', in proportion to mu."""
    soft = violation(*marched(False, 20.0, H, alpha=1e6, mu=H / 20))
    left = {k: violation(*marched(False, 20.0, H, alpha=1e6, mu=H / k, augmented=2)) for k in (20, 5, 2)}
    assert soft > 10 * left[20]
    assert left[2] / left[5] == pytest.approx(2.5, rel=0.05)
    assert left[5] / left[20] == pytest.approx(4.0, rel=0.05)


def test_too_little_damping_is_told() -> None:
    """With mu = h / 80 the alternating part grows in fast motion; the error carries what was computed."""
    with pytest.raises(wt.SimulationError, match=r"iterations no longer converge.*larger mu=") as error:
        system(False).simulate(20.0, formulation="natural", step=H, alpha=1e6, mu=H / 80, augmented=1)
    assert 1.0 < error.value.trajectory.t[-1] < 20.0


def test_projections() -> None:
    """Conditions are satisfied on all levels, with exact multipliers."""
    run, rows = marched(True, 3.0, 0.03, alpha=1e7, projections=True)
    assert violation(run, rows) < 1e-7
    J = run.natural.jacobian(rows.x[-1])
    assert np.abs(J @ rows.rates[-1]).max() < 1e-6


@pytest.mark.parametrize("alpha", [1e7, *deep([0.999e7, 1.001e7])])
@pytest.mark.parametrize(
    ("duration", "iterations", "share"), [(20.0, 2, 1e-4), (20.0, 3, 1e-6), *deep([(600.0, 2, 5e-3), (600.0, 3, 1e-5)])]
)
def test_projections_conserve_energy(duration: float, iterations: int, share: float, alpha: float) -> None:
    """What holds the links together does no work, and projected velocities keep their energy: example 8.6.

    The motion of ten minutes is another one for every alpha, to the last digit of it: all must keep their energy.
    """
    run, rows = marched(False, duration, H, alpha=alpha, projections=True, iterations=iterations)
    assert len(rows.t) == round(duration / H) + 1
    found = energy(run, rows)
    assert np.abs(found - found[0]).max() < share * FALL


def test_order_two() -> None:
    """The error of a four-bar's motion falls with the square of the step."""
    s = four_bar()
    fine = s.simulate(0.8, every=0.8, tolerance=1e-11).q[-1]
    errors = []
    for step in (8e-3, 4e-3):
        run = s.simulate(0.8, formulation="natural", step=step, projections=True, tolerance=1e-11)
        errors.append(np.abs(run.q[-1] - fine).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_efforts_and_elements() -> None:
    """Springs and efforts act at fitted joint coordinates; their work is in the balance of energy."""
    m = wt.Mechanism("swing")
    rod = m.body("rod", wt.box((0.6, 0.1, 0.1), mass=2.0, at=(0.3, 0, 0)))
    m.revolute("A", m.ground, rod, axis="y")
    m.torsion_spring("spring", "A", stiffness=8.0, damping=0.3)
    s = m.build()
    run = s.simulate(0.5, formulation="natural", step=1e-3, tau={"A": 1.0})
    fine = s.simulate(0.5, times=run.t, tolerance=1e-10, tau={"A": 1.0})
    assert run.q == pytest.approx(fine.q, abs=2e-5)
    assert run.certificate.energy_drift < 1e-4 * run.certificate["energy_scale"]


def test_weights_by_condition() -> None:
    s = system(False)
    name = s.natural.conditions[0]
    run = NaturalRun(s, NaturalOptions(step=H, alpha={name: 5e6}))
    assert run.settings[1] == 5e6
    assert run.settings[2] == 1e7
    with pytest.raises(wt.StateError, match="there is no condition"):
        _ = NaturalRun(s, NaturalOptions(step=H, alpha={"rod 9": 1.0})).settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give step="),
        ({"step": 0.3}, "must be a whole number of steps"),
        ({"step": 0.1, "every": 0.15}, "every=0.15 must be a whole number of steps"),
        ({"step": 0.1, "iterations": 0}, "iterations= must be a whole number from 1"),
        ({"step": 0.1, "verify": True}, "does not take a second run"),
        ({"step": 0.1, "projections": True, "mu": 0.1}, "leave mu= and augmented= out"),
        ({"step": 0.1, "steps": 3}, 'has no option "steps"'),
    ],
)
def test_refused_options(options: dict[str, object], words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        pendulum().simulate(1.0, formulation="natural", **options)


def test_refused_mechanisms() -> None:
    m = wt.Mechanism("geared")
    for name in "AB":
        m.revolute(name, m.ground, m.body(f"wheel {name}", wt.cylinder(0.1, 0.1, mass=1.0)), prescribed=name == "B")
    with pytest.raises(wt.StateError, match='joint "B" is prescribed'):
        m.build().simulate(1.0, formulation="natural", step=0.1)


def turning(kind: str) -> wt.System:
    """A body that turns by a joint of some type, its centre on the axis; a universal joint has another body between."""
    m = wt.Mechanism(kind, gravity=(0, 0, 0))
    body = m.body("rotor", wt.box((0.2, 0.3, 0.4), mass=1.0))
    if kind == "geared":
        for name in "AB":
            wheel = body if name == "A" else m.body("wheel", wt.cylinder(0.1, 0.1, mass=1.0))
            m.revolute(name, m.ground, wheel, axis="z", at=(0, 0, 0) if name == "A" else (0, 1, 0))
        m.gear("pair", "A", "B", ratio=-1.5)
    elif kind == "counter-rotating":
        m.revolute("A", m.ground, body, axis="z")
        m.revolute("B", body, m.body("inner", wt.box((0.1, 0.1, 0.2), mass=0.5)), axis="z")
    elif kind in ("universal", "free", "spherical"):
        getattr(m, kind)("A", m.ground, body)
    else:
        getattr(m, kind)("A", m.ground, body, axis="z", **({"lead": 0.3} if kind == "screw" else {}))
    return m.build()


SPEEDS = {
    "revolute": [1.0],
    "cylindrical": [1.0, 0.1],
    "planar": [1.0, 0.1, -0.2],
    "screw": [1.0],
    "universal": [1.0, 0.0],
    "universal, both": [0.7, 0.2],
    "spherical": [0.0, 0.0, 1.0],
    "free": [0.0, 0.0, 1.0, 0.1, 0.0, 0.0],
    "counter-rotating": [1.0, -2.5],
    "geared": [1.0, -1.5],
}


@pytest.mark.rest
@pytest.mark.parametrize("rate", [6 * np.pi, *deep([0.5, 40.0])])
@pytest.mark.parametrize("kind", SPEEDS)
def test_turns_are_counted_in_every_step(kind: str, rate: float) -> None:
    """Runs with rare outputs are rows of the one with all of them, and turns are those of another formulation."""
    s, h = turning(kind.split(",", maxsplit=1)[0]), 1e-3
    v = rate * np.array(SPEEDS[kind])
    every = {n: s.simulate(0.8, every=n * h, v=v, formulation="natural", step=h) for n in (1, 50, 200, 800)}
    for n, run in every.items():
        assert run.q == pytest.approx(every[1].q[::n], abs=1e-11)
        assert run.v == pytest.approx(every[1].v[::n], abs=1e-9)
    fine = s.simulate(0.8, times=every[50].t, v=v, tolerance=1e-10)
    assert every[50].q == pytest.approx(fine.q, abs=0.8 * (rate * 2.5 * h) ** 2 * rate)
    turns = {n: run.certificate["largest_turn"] for n, run in every.items()}
    assert set(turns.values()) == {turns[1]}
    assert 0.5 * rate * h < turns[1] < 5 * rate * h


@pytest.mark.parametrize("projections", [False, True])
@pytest.mark.parametrize("step", [0.3, 0.1, 0.04])
def test_steps_that_turn_too_far_are_told(step: float, projections: bool) -> None:
    """At three turns a second: the rule turns by less than the rate says, and never by half a turn."""
    try:
        run = turning("revolute").simulate(
            1.2, v=[6 * np.pi], formulation="natural", step=step, projections=projections, tolerance=1e-11
        )
    except wt.SimulationError as error:
        assert "take a smaller step" in str(error)
    else:
        assert any('joint "A" turns by' in one for one in run.certificate.problems)


def test_tolerances_go_with_the_square_of_the_step() -> None:
    """With projections errors fall with h^2 down to rounding, though nobody gives a tolerance."""
    s = four_bar()
    fine = s.simulate(0.1, every=0.1, tolerance=1e-12).q[-1]
    errors = []
    for step in (1e-3, 2.5e-4, 6.25e-5):
        run = s.simulate(0.1, every=0.1, formulation="natural", step=step, projections=True)
        assert run.certificate.ok
        errors.append(np.abs(run.q[-1] - fine).max())
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(16.0, rel=0.3)
    assert NaturalOptions(step=1e-9).settled == 1e-14
    assert NaturalOptions(step=1e-3, tolerance=1e-3).settled == 1e-3


@pytest.mark.rest
def test_peaucellier_s_linkage_gets_better_with_smaller_steps() -> None:
    """A tolerance that is the same for every step made errors grow below a quarter of a millisecond."""
    s = inversor()
    v = s.consistent_velocities(s.q0, {"Q": 0.5}, hold=["Q"])
    fine = s.simulate(0.4, every=0.4, v=v, tolerance=1e-11)["Q"][-1]
    errors = []
    for step in (1e-3, 2.5e-4, 6.25e-5):
        run = s.simulate(0.4, every=0.4, v=v, formulation="natural", step=step, projections=True)
        errors.append(abs(run["Q"][-1] - fine))
    assert errors[0] < 3e-7
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(16.0, rel=0.2)


@pytest.mark.rest
@pytest.mark.parametrize("step", [1e300, 1e-300, 1e10])
def test_steps_beyond_numbers(step: float) -> None:
    with pytest.raises(wt.WhippletreeError):
        four_bar().simulate(10 * step if step < 1 else step, formulation="natural", step=step)
    try:
        stepper = four_bar().realtime(step=step, method="natural")
    except wt.StateError as error:
        assert "out of range" in str(error)
    else:
        assert stepper.step().name == "NOT_FINITE"
    assert four_bar().realtime(step=1e-10, method="natural").step().name == "DONE"


def test_bodies_that_come_apart_are_told_in_words() -> None:
    """Two rods that turn against each other by a quarter of a radian and more in a step."""
    m = wt.Mechanism("two rods", gravity=(0, 0, -9.81))
    near, far = (m.body(name, mass=1.0, com=(0.1, 0, 0.02), inertia=(0.02, 0.03, 0.04)) for name in ("near", "far"))
    m.revolute("A", m.ground, near, axis="z")
    m.revolute("B", near, far, axis="y", at=(0.2, 0, 0))
    with pytest.raises(wt.SimulationError, match="take a smaller step"):
        m.build().simulate(0.8, every=0.1, v=[100.0, -100.0], formulation="natural", step=5e-3)


@pytest.mark.parametrize("bodies", [0, 1])
def test_what_cannot_move_is_refused(bodies: int) -> None:
    m = wt.Mechanism("still")
    for k in range(bodies):
        m.fixed(f"weld {k}", m.ground, m.body(f"body {k}", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(wt.StateError, match="nothing in it can move"):
        m.build().simulate(0.1, step=1e-2, formulation="natural")
