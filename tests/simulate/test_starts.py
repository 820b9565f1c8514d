"""The state at the start of a run counts in its certificate, whatever the outputs are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.example_systems import four_bar

ROUGH: dict[str, Any] = {"method": "rk4", "step": 0.2, "q": [1.0]}


def pendulum(*, stop: bool = False) -> wt.System:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    if stop:
        m.event("end", m.time - 6.0, stop=True)
    return m.build()


def test_one_output_is_compared_with_the_start() -> None:
    one, two = (pendulum().simulate(10.0, times=times, **ROUGH) for times in ([10.0], [0.0, 10.0]))
    assert len(one) == 1
    assert not two.certificate.ok
    assert one.certificate.problems == two.certificate.problems
    for name in ("energy_start", "energy_end", "energy_scale", "energy_drift"):
        assert one.certificate[name] == two.certificate[name], name
    start = pendulum().energy([1.0], [0.0]).total
    assert one.certificate.energy_start == start
    fine = pendulum().simulate(10.0, times=[10.0], q=[1.0], method="dop853", tolerance=1e-11)
    assert fine.certificate.ok
    assert fine.certificate.energy_start == start


def test_also_where_an_event_ends_the_run() -> None:
    run = pendulum(stop=True).simulate(10.0, times=[10.0], **ROUGH)
    assert run.t == pytest.approx([6.0])
    assert any("energy error" in problem for problem in run.certificate.problems)


def test_also_from_files(tmp_path: Path) -> None:
    run = pendulum().simulate(10.0, times=[10.0], checkpoint=tmp_path / "run.ckpt", **ROUGH)
    again = wt.resume(tmp_path / "run.ckpt")
    assert again.certificate.energy_start == run.certificate.energy_start
    assert again.certificate.problems == run.certificate.problems
    run.save(tmp_path / "run.nc")
    loaded = wt.Trajectory.load(tmp_path / "run.nc", pendulum())
    for one in (run, loaded, loaded[-1:]):
        assert one.certify().problems == run.certificate.problems


def test_work_before_the_first_output_counts() -> None:
    run = pendulum().simulate(2.0, times=[1.0, 2.0], q=[1.0], tau=[0.5], method="dop853", tolerance=1e-11)
    angle = run["A"][-1] - 1.0
    assert run.certificate.ok
    assert run.certify().ok
    put_in, lost = run.certificate.work_in, run.certificate.work_dissipated
    assert put_in - lost == pytest.approx(0.5 * angle, abs=1e-9)
    assert run.certify().work_in == pytest.approx(put_in)
    assert np.isclose(run.certificate.energy_end - run.certificate.energy_start, 0.5 * angle)


# ---------------------------------------------------------------------- starts by joint


def test_velocities_by_joint_are_completed_where_there_are_loops() -> None:
    s = four_bar()
    run = s.simulate(0.2, every=0.1, v={"A": 2.0})
    assert run.v[0, 0] == 2.0
    assert run.v[0] == pytest.approx(s.consistent_velocities(s.q0, {"A": 2.0}), rel=1e-14)
    assert run.certificate.ok
    model = wt.Model(wt.Mechanism.of(s.description), start={"guess": {"A": 1.0}, "velocities": {"A": 2.0}})
    assert (model.simulate(0.2, system=s, every=0.1).q == run.q).all()  # as a model file's start has it


def test_coordinates_by_joint_are_completed_on_the_branch_of_the_system() -> None:
    s = four_bar()
    run = s.simulate(0.1, every=0.1, q={"A": 1.3}, v={"A": -1.0})
    assert (run.q[0, 0], run.v[0, 0]) == (1.3, -1.0)
    assert abs(s.closure_residual(run.q[0])).max() < 1e-10
    assert abs(run.q[0] - s.q0).max() < 0.5
    assert pendulum().simulate(0.1, q={"A": 0.5}, v={"A": 1.0}).v[0] == [1.0]


def test_what_loops_do_not_allow_is_refused_with_what_can_be_done() -> None:
    s = four_bar()
    with pytest.raises(wt.StateError) as caught:
        s.simulate(0.1, v=[1.0, 0.0, 0.0, 0.0])
    assert "give the start by joint" in str(caught.value)
    assert "check=" not in str(caught.value)  # there is no such option
    with pytest.raises(wt.StateError, match="give the start by joint"):
        s.simulate(0.1, q=s.q0 + 0.1)
    with pytest.raises(wt.AssemblyError, match="no velocities with these held"):
        s.simulate(0.1, v={"A": 1.0, "B": 1.0})
