"""Interruptions, progress, and settings that cannot work."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import whippletree as wt
from whippletree.simulate import Simulation, progress


def pendulum() -> wt.System:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    return m.build()


def test_ctrl_c_keeps_what_is_done() -> None:
    before = signal.getsignal(signal.SIGINT)
    system = pendulum()
    system.simulate(0.01, q=[1.0], method="rk4", step=1e-3)  # compiled before the clock runs
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    run = system.simulate(1e6, q=[1.0], every=1000.0, method="rk4", step=1e-3)
    timer.join()
    assert time.perf_counter() - began < 20
    assert run.certificate.stopped.startswith("interrupted")
    assert not run.certificate.ok
    assert 0 < run.t[-1] < 1e6
    reached = Simulation(system, q=[1.0], method="rk4", step=1e-3)
    reached.run(np.array([run.t[-1]]))
    assert abs(reached.state.q - run.q[-1]).max() < 1e-9
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_tells_simulated_time_also_between_outputs() -> None:
    shares: list[float] = []
    pendulum().simulate(4000.0, q=[1.0], every=4000.0, method="rk4", step=1e-3, progress=shares.append)
    assert len(shares) >= 2
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1
    assert any(0.0 < share < 0.99 for share in shares)


def test_progress_ends_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    shares: list[float] = []
    pendulum().simulate(0.1, q=[1.0], progress=shares.append)
    assert shares[-1] == 1.0
    pendulum().simulate(0.1, q=[1.0], progress=True)
    assert capsys.readouterr().err.rstrip().endswith("] 100 %, t = 0.1 s")


def test_progress_of_a_run_that_an_event_ends_or_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    m = wt.Mechanism("pendulum")
    hinge = m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    m.event("down", m.coordinate(hinge), stop=True)
    run = m.build().simulate(100.0, q=[1.0], progress=True)
    assert capsys.readouterr().err.rstrip().endswith(f"] 100 %, t = {run.t[-1]:.6g} s")
    shares: list[float] = []
    with pytest.raises(wt.SimulationError):
        pendulum().simulate(1.0, q=[1.0], controller=lambda t, q, v, z: [1.0 / 0.0], period=0.1, progress=shares.append)
    assert 1.0 not in shares


def test_progress_tells_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(np.repeat([100.0, 110.0, 130.0, 131.0], 2))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(clock)))
    with progress.ProgressMonitor(0.0, 10.0, True) as watch:
        watch(1.0)
        watch(2.0)  # a tenth in 10 s, and eight are left
        watch(5.0)  # four tenths in 30 s, and five are left
        watch.finish(10.0)
    bars = [bar.rstrip() for bar in capsys.readouterr().err.split("\r")[1:]]
    assert [bar.partition("]")[2].strip() for bar in bars] == [
        "10 %, t = 1 s",
        "20 %, t = 2 s, 1 min 20 s left",
        "50 %, t = 5 s, 38 s left",
        "100 %, t = 10 s",
    ]
    assert [bar.count("#") for bar in bars] == [4, 8, 20, 40]


def test_an_interruption_within_the_progress_function_counts_too() -> None:
    def tell(share: float) -> None:
        raise KeyboardInterrupt

    run = pendulum().simulate(4000.0, q=[1.0], method="rk4", step=1e-3, progress=tell)
    assert run.certificate.stopped.startswith("interrupted")


@pytest.mark.parametrize("method", ["rk4", "dopri5", "dop853", "semi_implicit_euler"])
def test_results_do_not_depend_on_how_many_steps_are_taken_at_a_time(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = wt.Mechanism("four-bar", gravity=(0, -9.81, 0))
    rods = [m.body(f"rod {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(3)]
    m.revolute("A", m.ground, rods[0], axis="z")
    m.revolute("B", rods[0], rods[1], at=(1, 0, 0), axis="z")
    m.revolute("C", rods[1], rods[2], at=(1, 0, 0), at_child=(1, 0, 0), axis="z")
    m.revolute("D", m.ground, rods[2], at=(1, 0, 0), axis="z")
    system = m.build(guess={"A": 1.2, "B": -1.2, "C": 1.2, "D": 1.2})
    options = {"method": method, "step": 1e-2, "every": 0.037, "v": system.consistent_velocities(system.q0, {"A": 5.0})}
    first = system.simulate(2.0, **options)  # through flat positions
    monkeypatch.setattr(progress, "_FIRST", 1)
    monkeypatch.setattr(progress, "_MOST", 3)
    again = m.build(guess={"A": 1.2, "B": -1.2, "C": 1.2, "D": 1.2}).simulate(2.0, **options)
    assert np.array_equal(first.q, again.q)
    assert np.array_equal(first.v, again.v)


def test_euler_outputs_between_steps_lie_between_the_steps() -> None:
    run = pendulum().simulate(0.4, q=[1.0], method="semi_implicit_euler", step=0.1, every=0.05)
    q = run["A"]
    assert q[1] == pytest.approx((q[0] + q[2]) / 2, abs=1e-14)
    assert q[3] == pytest.approx((q[2] + q[4]) / 2, abs=1e-14)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": 1e-30}, "below rounding"),
        ({"tolerance": 0.0}, "positive"),
        ({"method": "rk4", "step": 0.0}, "positive"),
        ({"method": "rk4", "step": 1e-40}, "lost in rounding"),
        ({"method": "rk4", "step": float("nan")}, "positive"),
    ],
)
def test_settings_that_cannot_work(options: dict[str, object], words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        pendulum().simulate(1.0, **options)
