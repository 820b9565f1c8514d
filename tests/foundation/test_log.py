"""The log: what an application hears that listens, and that nobody else hears anything."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.systems import crank_and_rocker


def test_compilations_plans_and_the_cache_are_told(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path / "cache"))
    caplog.set_level(logging.DEBUG, logger="whippletree")
    s = crank_and_rocker().build(guess={"A": 1.0, "B": -0.5, "D": 1.5})
    s.forward_dynamics(s.q0, s.v0)
    heard = {(record.name, record.levelname) for record in caplog.records}
    assert {("whippletree.compile", "INFO"), ("whippletree.plan", "INFO"), ("whippletree.cache", "DEBUG")} <= heard
    assert any("forward_dynamics" in record.getMessage() for record in caplog.records)


def test_plans_that_are_remade_are_told(caplog: pytest.LogCaptureFixture) -> None:
    s = crank_and_rocker().build(guess={"A": 1.0, "B": -0.5, "D": 1.5}, dependent=("A", "B"))
    caplog.set_level(logging.INFO, logger="whippletree.replan")
    run = s.simulate(2.0, every=0.1, v=s.consistent_velocities(s.q0, {"A": 6.0}), formulation="constraint_embedding")
    told = [record.getMessage() for record in caplog.records if record.name == "whippletree.replan"]
    assert len(told) == len(run.certificate.replans) > 0


def test_nothing_is_said_or_imported_unless_somebody_listens() -> None:
    program = (
        "import sys, whippletree as wt\n"
        "m = wt.Mechanism('m'); m.revolute('A', m.ground, m.body('b', wt.rod(length=1, mass=1, axis='x')), axis='y')\n"
        "s = m.build(); s.forward_dynamics(s.q0, s.v0)\n"
        "print('logging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_state_that_is_solved_by_singular_values_is_told(caplog: pytest.LogCaptureFixture) -> None:
    m = wt.Mechanism("flat parallelogram", gravity=(0, 0, 0))
    a, b, c = (m.body(name, wt.rod(length=size, mass=1.0, axis="x")) for name, size in (("a", 1), ("b", 2), ("c", 1)))
    m.revolute("A", m.ground, a)
    m.revolute("B", a, b, at=(1, 0, 0))
    m.revolute("C", b, c, at=(2, 0, 0), at_child=(1, 0, 0))
    m.revolute("D", m.ground, c, at=(2, 0, 0))
    s = m.build(guess={"A": 0.5, "B": -0.5, "C": 0.5, "D": 0.5})
    caplog.set_level(logging.INFO, logger="whippletree")
    s.forward_dynamics(s.q0, s.v0)
    assert "whippletree.fallback" not in {record.name for record in caplog.records}
    s.forward_dynamics(np.zeros(4), 0.7 * np.array([1.0, -1.0, 1.0, 1.0]))
    assert "whippletree.fallback" in {record.name for record in caplog.records}
