"""Critchley and Anderson, "A generalized recursive coordinate reduction method": the planar five-bar of section 6.

Three hinges q1, q2, q3 and two parallel telescopes q4, q5. The figure is lost; the text forces the telescopes to be
parallel. Here they lie along bar 3, in the direction d at angle q1 + q2 + q3 (the example has them across it, where the
paper's choice is regular at its start). Bars 1 to 3 are then a slider-crank, and bar 4 slides freely. With phi1, phi2
the angles of bars 1 and 2 to d, sin phi1 + sin phi2 = 1, and phi2 alone determines the crank: that is the reference.

With the loop opened at q5, the original reduction (the last coordinates dependent: q3, q4) is singular at every
configuration. The paper's dependents (q2, q3) are singular where bar 2 is perpendicular to d, here at the start.
"""

from __future__ import annotations

import cmath
import functools
import importlib.util
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.references import rk4
from whippletree.analysis.equations.critchley_anderson_equations import LETTERS, RING, RingMotion, loop_bodies
from whippletree.analysis.literal.printed_reduction import reduced

_SPEC = importlib.util.spec_from_file_location("five_bar", Path(__file__).parents[2] / "examples" / "five_bar.py")
assert _SPEC is not None and _SPEC.loader is not None
_EXAMPLE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_EXAMPLE)
five_bar = functools.partial(_EXAMPLE.five_bar, telescopes=0.0)

G, DELTA = 9.81, math.pi / 4
REDUCTION = "coordinate_reduction"
DURATION = 0.6


def started(m: wt.Mechanism, away: float, **options: Any) -> wt.System:
    """The system with bar 2 turned away from where it is perpendicular to the telescopes."""
    guess = dict(_EXAMPLE.START)
    guess["q1"] += math.asin(1 - math.cos(away))  # bar 2's end stays on its line
    guess["q2"] += away - math.asin(1 - math.cos(away))
    guess["q3"] -= away
    return m.build(guess=guess, **options)


def crank(phi2: complex) -> tuple[complex, complex, complex]:
    """The crank's angle, its rate by phi2, and the potential energy (complex, for derivatives by a complex step)."""
    phi1 = cmath.asin(1 - cmath.sin(phi2))
    rate = -cmath.cos(phi2) / cmath.cos(phi1)
    heights = 1.5 * cmath.sin(phi1 + DELTA) + 0.5 * cmath.sin(phi2 + DELTA)  # of bars 1 and 2
    along = cmath.cos(phi1) + cmath.cos(phi2)  # of bar 3
    return phi1, rate, G * (heights + along * math.sin(DELTA))


def inertia(phi2: complex) -> complex:
    """Twice the kinetic energy at unit rate of phi2."""
    phi1, rate, _ = crank(phi2)
    x = -cmath.sin(phi1) * rate - 0.5 * cmath.sin(phi2)
    y = cmath.cos(phi1) * rate + 0.5 * cmath.cos(phi2)
    bar3 = -cmath.sin(phi1) * rate - cmath.sin(phi2)
    return rate**2 / 3 + x**2 + y**2 + 1 / 12 + bar3**2


def reference(away: float, times: np.ndarray) -> np.ndarray:
    """phi1 and phi2 over time, from rest."""
    h, step = 1e-30, 2e-4

    def rates(y: np.ndarray) -> np.ndarray:
        phi = y[0] + 1j * h
        slope, pull = inertia(phi).imag / h, crank(phi)[2].imag / h
        return np.array([y[1], (-pull - slope * y[1] ** 2 / 2) / inertia(y[0]).real])

    rows = [np.array([math.pi / 2 + away, 0.0])]
    for before, now in itertools.pairwise(times):
        rows.append(rk4(rates, rows[-1], now - before, round((now - before) / step)))
    found = np.array(rows)[:, 0]
    return np.stack([np.arcsin(1 - np.sin(found)), found])


def motion(system: wt.System, formulation: str = REDUCTION) -> tuple[np.ndarray, np.ndarray]:
    run = system.simulate(DURATION, every=0.1, formulation=formulation, method="dop853", tolerance=1e-11)
    q1, q2, q5 = (np.ravel(run[name]) for name in ("q1", "q2", "q5"))
    return np.ravel(run.t), np.stack([q1 - DELTA, q1 + q2 - DELTA, q5])


def check(system: wt.System, away: float) -> None:
    times, (phi1, phi2, q5) = motion(system)
    assert np.stack([phi1, phi2]) == pytest.approx(reference(away, times), abs=2e-9)
    fall = -G * math.sin(DELTA) * times**2 / 2  # bar 4 slides freely
    assert q5 - q5[0] == pytest.approx(fall, abs=2e-9)


@pytest.mark.parametrize("away", [0.0, 0.1])
def test_arbitrary_selection(away: float) -> None:
    """The paper's dependents, q5 being the cut one; at its start, where they are singular, the plan takes others."""
    system = started(five_bar(), away, cut=["q5"], dependent=["q2", "q3"])
    assert ("q1" in system.mobility.independent) == (away != 0.0)
    assert system._engine.equations.loop_plan.reduction  # dependent speeds are eliminated, no row is carried
    check(system, away)


@pytest.mark.parametrize("away", [0.0, 0.1])
def test_coupled_loops_after_a_change_of_topology(away: float) -> None:
    """A fictitious joint between the ground and bar 3 makes two loops (figure 8)."""
    system = started(five_bar(fictitious=True), away, cut=["q3", "q5"], dependent=[])
    assert len(system.plan.cuts) == 2
    check(system, away)


def forced(system: wt.System, dependent: dict[str, int]) -> Any:
    """Forward dynamics with these freedoms eliminated with these rows, whatever the plan thinks of it."""
    pairs = {system.v_slice(name).start: row for name, row in dependent.items()}
    plan = system._engine.equations.loop_plan.with_decision("reduction", pairs)
    return system.kernels.planned(plan).function("forward_dynamics", formulation=REDUCTION)


def test_the_original_reduction_fails_everywhere_and_the_plan_avoids_it() -> None:
    """The last coordinates, q3 and q4, cannot be the dependent ones at any configuration."""
    asked = started(five_bar(), 0.1, cut=["q5"], dependent=["q3", "q4"])
    assert "q4" in asked.mobility.independent
    for rows in ((0, 1), (1, 0)):
        last = forced(started(five_bar(), 0.1, cut=["q5"]), {"q3": rows[0], "q4": rows[1]})
        for away in (0.1, 0.3, -0.4):
            system = started(five_bar(), away, cut=["q5"])
            a = np.array(last(system.q0, np.zeros(5), np.zeros(5))).ravel()
            good = system.forward_dynamics(system.q0, np.zeros(5), formulation=REDUCTION)
            assert not np.isfinite(a).all() or np.abs(a - good).max() > 0.1 * np.abs(good).max()
            assert good == pytest.approx(system.forward_dynamics(system.q0, np.zeros(5)), rel=1e-9, abs=1e-9)


def test_every_valid_selection_gives_the_same_accelerations() -> None:
    """Any two of q1, q2, q3 may be dependent, each with either row (65-102)."""
    system = started(five_bar(), 0.3, cut=["q5"])
    v = system.consistent_velocities(system.q0, {"q1": 0.7, "q4": -0.4})
    expected = system.forward_dynamics(system.q0, v)
    tried = 0
    for names in (("q1", "q2"), ("q1", "q3"), ("q2", "q3")):
        for rows in ((0, 1), (1, 0)):
            function = forced(started(five_bar(), 0.3, cut=["q5"]), dict(zip(names, rows, strict=True)))
            a = np.array(function(system.q0, v, np.zeros(5))).ravel()
            if np.isfinite(a).all():
                tried += 1
                assert a == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert tried >= 3


@pytest.mark.rest
@pytest.mark.parametrize(("p", "outer"), [(2, ()), (1, (4,)), (1, (7,)), (0, (3, 6))])
def test_the_printed_reduction(p: int, outer: tuple[int, ...]) -> None:
    """Any speeds that the loop leaves may be the independent ones: all give the package's accelerations."""
    motion = RingMotion(RING, LETTERS, "critchley-anderson", closed=True)
    loop = reduced(loop_bodies(motion), p, motion.letter("A_t"), outer)
    P = motion.letter("P")[0]
    base = P @ np.linalg.solve(P.T @ loop.I0[0] @ P, P.T @ loop.Fj[0])
    rates, _ = loop.speeds(base)
    found = np.concatenate([np.linalg.pinv(P) @ base, *rates[1:]])
    assert np.abs(found - motion.a).max() < 1e-11 * np.abs(motion.a).max()
