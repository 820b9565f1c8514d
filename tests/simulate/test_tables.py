"""Runs with tables against motions in closed form, put together piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt

Array = np.ndarray

EXPLICIT: list[tuple[str, dict[str, Any]]] = [("dopri5", {}), ("dop853", {}), ("adams", {}), ("rk4", {"step": 0.01})]
IMPLICIT: list[tuple[str, dict[str, Any]]] = [(name, {"step": 0.01}) for name in ("trapezoidal", "generalized_alpha")]


def slider(effort: Callable[[wt.Mechanism], Any]) -> wt.Mechanism:
    """A mass of 1 kg on a slide, with an effort."""
    m = wt.Mechanism("slider", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.actuator("push", "x", effort=effort(m))
    return m


BORDERS, FORCES = np.array([0.7123, 1.1, 1.55]), np.array([2.0, -3.0, 0.5, -1.0])
IN_TIME = wt.Table([0.3, *BORDERS], FORCES, kind="hold")


def by_parabolas(end: float) -> tuple[float, float]:
    """Where a mass is at a time, pushed by forces that hold from border to border."""
    x = v = 0.0
    edges = [0.0, *BORDERS[end > BORDERS], end]
    for force, h in zip(FORCES, np.diff(edges), strict=False):
        x, v = x + h * v + force * h * h / 2, v + force * h
    return x, v


@pytest.mark.parametrize(("method", "options"), [*EXPLICIT, *IMPLICIT])
def test_forces_that_hold_in_time_give_parabolas(method: str, options: dict[str, Any]) -> None:
    s = slider(lambda m: IN_TIME(m.time)).build()
    run = s.simulate(2.0, every=0.05, method=method, **options)
    x, v = np.array([by_parabolas(t) for t in run.t]).T
    assert run["x"] == pytest.approx(x, abs=1e-12)
    assert run.v[:, 0] == pytest.approx(v, abs=1e-12)
    assert run.certificate.ok
    assert run.certificate["corners"] >= 3


STEPS, PUSHES = np.array([0.2, 0.5, 0.9]), np.array([1.0, -0.5, -2.0, -4.0])


def over_steps(end: float, x: float, v: float) -> tuple[float, float]:
    """Where a mass is whose force depends on the step it is on: from border to border, there and back."""
    t, on = 0.0, int(np.searchsorted(STEPS, x, "right"))
    while True:
        force, soonest, way = PUSHES[on], end - t, 0
        for border, direction in ((on, 1), (on - 1, -1)):
            if 0 <= border < len(STEPS):
                for root in np.roots([force / 2, v, x - STEPS[border]]):
                    leaves = np.sign(v + force * root.real) == direction
                    if root.imag == 0 and leaves and 1e-9 < root.real < soonest:
                        soonest, way = root.real, direction
        x, v = x + v * soonest + force * soonest**2 / 2, v + force * soonest
        if way == 0:
            return x, v
        t, on = t + soonest, on + way


@pytest.mark.parametrize(("method", "options"), [*EXPLICIT, *IMPLICIT])
def test_forces_that_hold_over_the_way_are_crossed_there_and_back(method: str, options: dict[str, Any]) -> None:
    """Jumps that the state decides are met to rounding; implicit methods cross each by a short step of their order."""
    s = slider(lambda m: wt.Table([-1.0, *STEPS], PUSHES, kind="hold")(m.coordinate("x"))).build()
    run = s.simulate(6.0, every=0.1, q=[0.1], v=[1.0], method=method, **options)
    x, v = np.array([over_steps(t, 0.1, 1.0) for t in run.t]).T
    near = 1e-11 if (method, options) in EXPLICIT else 1e-5
    assert run["x"] == pytest.approx(x, abs=near)
    assert run.v[:, 0] == pytest.approx(v, abs=near)
    assert run.certificate["corners"] >= 8


@pytest.mark.parametrize(("method", "options"), EXPLICIT)
def test_a_spring_of_straight_pieces_swings_with_half_of_each_period(method: str, options: dict[str, Any]) -> None:
    """Stiffness 4 on one side and 1 on the other: half of each harmonic motion."""
    spring = wt.Table([-3.0, 0.0, 2.0], [3.0, 0.0, -8.0])
    s = slider(lambda m: spring(m.coordinate("x"))).build()
    run = s.simulate(9.0, every=0.1, q=[1.0], method=method, **options)
    phase = np.mod(run.t + np.pi / 4, 1.5 * np.pi)  # since it came up through zero
    right = np.where(phase < np.pi / 2, np.sin(2 * phase), -2 * np.sin(phase - np.pi / 2))
    assert run["x"] == pytest.approx(right, abs=1e-7)
    assert run.certificate.ok
    assert run.certificate["corners"] >= 3


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_forces_over_the_speed_change_where_it_comes_by(method: str) -> None:
    """Thrust in three gears, and a damper of two straight pieces: speeds by ramps and by exponentials."""
    gears = wt.Table([0.0, 0.5, 1.0], [2.0, 1.0, 0.25], kind="hold")  # 0.5 m/s at 0.25 s, 1 m/s at 0.75 s
    run = slider(lambda m: gears(m.rate("x"))).build().simulate(2.0, every=0.1, method=method, tolerance=1e-11)
    t = run.t
    right = np.where(t < 0.25, 2 * t, np.where(t < 0.75, 0.25 + t, 1 + (t - 0.75) / 4))
    assert run.v[:, 0] == pytest.approx(right, abs=1e-9)
    assert run["x"][-1] == pytest.approx(0.0625 + 0.375 + 1.25 + 1.25**2 / 8, abs=1e-9)
    damper = wt.Table([0.0, 1.0, 2.0], [0.0, -1.0, -3.0])
    s = slider(lambda m: damper(m.rate("x"))).build()
    run = s.simulate(2.0, every=0.1, v=[2.0], method=method, tolerance=1e-11)
    slow = np.log(3) / 2  # when it is down to 1 m/s
    right = np.where(run.t < slow, 0.5 + 1.5 * np.exp(-2 * run.t), np.exp(slow - run.t))
    assert run.v[:, 0] == pytest.approx(right, abs=1e-9)


def test_states_at_once_and_the_rates_of_linear_models_read_tables_as_numbers_do() -> None:
    rng = np.random.default_rng(5)
    for kind in ("linear", "pchip", "hold"):
        table = wt.Table([-1.0, 0.2, 0.5, 1.4], [1.0, 3.0, -1.0, 2.0], kind)
        s = slider(lambda m, table=table: table(m.coordinate("x")) * table(m.rate("x"))).build()
        q, v = rng.uniform(-2, 2, (2, 40, 1))
        assert s.forward_dynamics(q, v) == pytest.approx(table(q) * table(v), abs=1e-12)


def test_straight_pieces_in_time_give_cubics() -> None:
    ramp = wt.Table([0.5, 1.0, 1.3], [0.0, 6.0, 6.0])  # before: straight on, -6 at zero
    run = slider(lambda m: ramp(m.time)).build().simulate(2.0, times=[0.5, 1.0, 2.0], tolerance=1e-10)
    first = (-6 * 1.0 + 12 * 1.0**2 / 2, -6 * 1.0**2 / 2 + 12 * 1.0**3 / 6)  # force -6 + 12 t up to one second
    x, v = run["x"][-2:], run.v[-2:, 0]
    assert (v[0], x[0]) == pytest.approx(first, abs=1e-12)
    assert (v[1], x[1]) == pytest.approx((first[0] + 6.0, first[1] + first[0] + 3.0), abs=1e-12)


def test_a_drive_follows_a_monotone_table() -> None:
    m = wt.Mechanism("m", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=2.0), axis="x")
    lift = wt.Table([0.0, 0.4, 1.0, 1.5], [0.0, 0.1, 0.3, 0.3], "pchip")
    m.drive("motor", "x", position=lift)
    run = m.build().simulate(1.5, every=0.05)
    assert run["x"] == pytest.approx(lift(run.t), abs=1e-13)
    assert run.certificate.ok


def test_linear_models_have_the_slope_of_a_table() -> None:
    for kind, slope in (("linear", -8.0 / 3), ("hold", 0.0)):
        s = slider(lambda m, kind=kind: wt.Table([-1.0, 2.0], [3.0, -5.0], kind)(m.coordinate("x"))).build()
        assert s.linearize(q=[0.5]).A[1, 0] == pytest.approx(slope, abs=1e-12)


@pytest.mark.parametrize("kind", ["linear", "pchip", "hold"])
def test_a_saved_run_has_its_tables(kind: str, tmp_path: Path) -> None:
    table = wt.Table([0.0, 0.2, 0.5], [1.0, 3.0, -1.0], kind)
    m = slider(lambda m: table(m.time) + table(m.coordinate("x")))
    run = m.build().simulate(0.6, every=0.1)
    run.save(tmp_path / "run.nc")
    again = wt.Trajectory.load(tmp_path / "run.nc")
    assert again.system.description == m.describe()
    assert again.table("push").iloc[:, 1].to_numpy() == pytest.approx(table(run.t) + table(run["x"]), abs=1e-12)
