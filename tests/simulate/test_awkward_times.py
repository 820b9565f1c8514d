"""Random runs whose corners, samples, events, outputs and ends fall together, or nearly so: all of them end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep
from support.systems import four_bar

pytestmark = pytest.mark.rest

PATIENCE = 60  # seconds of the processor, for runs that take less than one
OFFSETS = (0.0, 0.0, 1e-16, -1e-16, 4e-16, -4e-16, 1e-14, -1e-14, 1e-12, -1e-11, 1e-9, -1e-7)
METHODS = (
    ("dopri5", True),
    ("dop853", True),
    ("adams", True),
    ("trapezoidal", True),
    ("generalized_alpha", True),
    ("rk4", False),
    ("trapezoidal", False),
    ("generalized_alpha", False),
    ("semi_implicit_euler", False),
)


@contextmanager
def watchdog() -> Iterator[list[str]]:
    """End a run that does not; what it appends says so, even if the package takes the error for its own."""
    barked: list[str] = []

    def bark(*_: object) -> None:
        barked.append("the run does not end")
        raise TimeoutError(barked[0])

    before = signal.signal(signal.SIGPROF, bark)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield barked
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def slider() -> tuple[wt.Mechanism, str, dict[str, float]]:
    """A block that slides down onto a floor."""
    m = wt.Mechanism("slider")
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="z")
    m.contact("floor", "block", radius=0.1, stiffness=1e4, damping=10.0, offset=-0.5)
    return m, "x", {"x": 0.0}


def pendulum(links: int) -> tuple[wt.Mechanism, str, dict[str, float]]:
    """A chain of rods."""
    m = wt.Mechanism("pendulum")
    last: Any = m.ground
    for k in range(links):
        body = m.body(f"rod {k}", wt.rod(length=1.0, mass=1.0, axis="x"))
        m.revolute(f"x{k or ''}", last, body, axis="y", at=(1.0 if k else 0.0, 0, 0))
        last = body
    return m, "x", {"x": 0.3}


def linkage(lengths: tuple[float, float, float, float], angle: float) -> tuple[wt.Mechanism, str, dict[str, float]]:
    """A four-bar; with equal sides it is a parallelogram, singular where it is flat."""
    return four_bar(lengths), "A", {"A": angle}


def mechanism(rng: np.random.Generator) -> tuple[wt.Mechanism, str, dict[str, float]]:
    """Something that moves, one of its joints, and where it begins."""
    choices = (
        slider,
        lambda: pendulum(1),
        lambda: pendulum(2),
        lambda: linkage((1.0, 2.0, 1.5, 2.0), 1.2),
        lambda: linkage((1.0, 2.0, 1.0, 2.0), rng.uniform(-0.6, -0.2)),
    )
    return choices[rng.integers(len(choices))]()


def law(m: wt.Mechanism, rng: np.random.Generator, g: ca.SX, joint: str) -> Any:
    """An effort with a corner where g is zero, and perhaps friction by hand."""
    ways = (
        lambda: ca.sign(g),
        lambda: ca.fmin(g, 0.0),
        lambda: ca.fabs(g),
        lambda: ca.if_else(g > 0, 1.0, -0.3),
        lambda: ca.if_else(ca.fabs(g) < 1e-9, 5.0, 0.0),
        lambda: ca.floor(3.0 * g),
        lambda: wt.Spline([-4.0, -1.0, 0.0, 1.0, 4.0], [0.0, 1.0, -0.5, 0.3, 0.0])(ca.fmax(-3.9, ca.fmin(3.9, g))),
    )
    size = rng.choice([0.1, 1.0, 10.0])
    effort = size * ways[rng.integers(len(ways))]()
    if rng.random() < 0.25:
        effort = effort - rng.choice([0.5, 5.0, 20.0]) * ca.sign(m.rate(joint))
    return effort


def run_of(seed: int) -> tuple[wt.System, dict[str, Any]]:
    """A system, and the arguments of its run."""
    rng = np.random.default_rng(seed)
    m, joint, guess = mechanism(rng)
    m.revolute("clock", m.ground, m.body("hand", mass=1.0, inertia=(1, 1, 1)), axis="z")  # turns at a constant rate
    span, rate = rng.choice([0.25, 0.3, 0.5, 1.0]), rng.choice([1.0, 0.7, 2 * np.pi])
    period, every = span / rng.choice([2, 5, 7]), span / rng.choice([1, 3, 4])
    moments = (span, period, every, 2 * period, span / 2)
    awkward = [moments[rng.integers(len(moments))] * (1.0 + OFFSETS[rng.integers(len(OFFSETS))]) for _ in range(4)]
    corners = (
        lambda: m.coordinate("clock") - rate * awkward[0],
        lambda: m.time - awkward[0],
        lambda: m.coordinate(joint) - guess[joint],
        lambda: m.coordinate(joint) - rng.choice([0.0, 1e-12, -1e-9]),
        lambda: m.rate(joint) - rng.choice([0.0, 0.1]),
    )
    m.actuator("first", joint, effort=law(m, rng, corners[rng.integers(len(corners))](), joint))
    m.actuator("second", joint, effort=law(m, rng, m.coordinate("clock") - rate * awkward[1], joint))
    if rng.random() < 0.6:
        watched = (m.time - awkward[2], m.coordinate("clock") - rate * awkward[2], m.rate(joint))[rng.integers(3)]
        acts = (
            {},
            {"efforts": {joint: 0.5}},
            {"velocities": {joint: -0.5 * m.rate(joint)}},
            {"stop": True, "direction": "rising"},
        )
        m.event("event", watched, **acts[rng.integers(4)])
    method, adaptive = METHODS[rng.integers(len(METHODS))]
    speeds = {joint: rng.choice([0.0, 1.0, -2.0]), "clock": rate}
    options: dict[str, Any] = {"method": method, "every": every, "v": speeds}
    if adaptive:
        options |= {"tolerance": rng.choice([1e-4, 1e-8]), "adaptive": True}
    else:
        options |= {"step": span / rng.choice([30, 70])}
    if rng.random() < 0.5:
        options |= {"controller": lambda t, q, v, z: {joint: float(np.sign(t - awkward[3]))}, "period": period}
    return m.build(guess=guess), {"duration": span, **options}


def outcome(seed: int) -> str:
    """How a run ends: by a result, or in words."""
    system, options = run_of(seed)
    duration = options.pop("duration")
    with watchdog() as barked:
        try:
            run = system.simulate(duration, **options)
            assert np.isfinite(run.q).all() and np.isfinite(run.v).all()
            assert run.t[-1] == duration or run.events
            assert run["clock"] == pytest.approx(options["v"]["clock"] * run.t, abs=1e-9)  # outputs are at their times
            said = ""
        except wt.WhippletreeError as error:
            said = str(error)
    assert not barked, (seed, options)
    return said


@pytest.mark.parametrize("block", [0, *deep(range(1, 10))])
def test_runs_end_whatever_falls_together(block: int) -> None:
    said = [outcome(seed) for seed in range(20 * block, 20 * block + 20)]
    assert said.count("") >= 10, said
    known = ("slides along a corner", "again and again", "Newton's method does not converge", "singular position")
    for words in filter(None, said):
        assert "t = " in words, words
        assert any(one in words for one in ('force "', 'event "', "singular")), words
        assert any(one in words for one in known), words
