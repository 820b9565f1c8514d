"""A certificate measures a run, and fails one that was tampered with."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from results.runs import changed, four_bar, pendulum, tumbling
from whippletree.elements.forces import ElementForces, ElementState, Force, quantity
from whippletree.results import Certificate
from whippletree.results.measure import measured
from whippletree.results.replay import Replay
from whippletree.spatial.scalars import Scalar

GOOD = Certificate(
    closure_residual=1e-13,
    velocity_residual=1e-12,
    energy_start=10.0,
    energy_end=11.0,
    work_in=3.0,
    work_dissipated=2.0,
    energy_scale=20.0,
    quaternion_error=1e-15,
    steps=100,
    refused=3,
    evaluations=700,
    replans=(0.5,),
    singular=(0.25, 0.75),
    wall_time=0.01,
)


def with_measures(certificate: Certificate, **measures: Any) -> Certificate:
    return Certificate.from_dict(certificate.as_dict() | measures)


@pytest.mark.parametrize("make", [pendulum, tumbling, four_bar])
def test_an_honest_run_passes(make) -> None:  # type: ignore[no-untyped-def]
    certificate = make().certify()
    assert certificate.ok, certificate
    assert certificate.problems == ()


def test_a_joint_moved_out_of_its_loop_is_found() -> None:
    run = four_bar()
    q = np.array(run.q)
    q[17, 2] += 1e-8
    found = changed(run, q=q).certify()
    assert not found.ok
    assert 1e-9 < found.closure_residual < 1e-7
    assert "closure residual" in found.problems[0]


def test_a_velocity_that_opens_a_loop_is_found() -> None:
    run = four_bar()
    v = np.array(run.v)
    v[40, 3] += 1e-6
    found = changed(run, v=v).certify()
    assert [problem.split(" is ")[0] for problem in found.problems] == ["the velocity residual"]


def test_a_belt_that_moves_by_itself_is_no_error() -> None:
    m = wt.Mechanism("belt", gravity=(0.0, 0.0, 0.0))
    m.planar("table", m.ground, m.body("box", wt.box((0.1, 0.1, 0.1), mass=1.0)))
    m.closure("belt", m.rate("table", 1) - 2.0)
    t = np.linspace(0.0, 1.0, 4)
    q = np.stack([0 * t, 2.0 * t, 0 * t], axis=1)
    v = np.tile([0.0, 2.0, 0.0], (4, 1))
    run = wt.results.Trajectory(m.build(), t, q, v)
    assert run.certify().velocity_residual < 1e-14
    assert changed(run, v=v * 1.5).certify().velocity_residual > 0.1


def test_energy_from_nowhere_is_found() -> None:
    run = pendulum()
    v = np.array(run.v)
    v[-1] *= 1 + 1e-5
    found = changed(run, v=v).certify()
    assert [problem.split(" is ")[0] for problem in found.problems] == ["the energy error"]
    assert run.certify().energy_error == pytest.approx(0.0, abs=1e-8)


def test_energy_that_comes_and_goes_is_found_where_work_is_recorded() -> None:
    run = changed(pendulum(), work=np.zeros((26, 2)))
    assert run.certify().ok
    v = np.array(run.v)
    v[13] *= 1 + 1e-4
    tampered = changed(run, v=v).certify()
    assert not tampered.ok
    assert tampered.energy_drift > 10 * abs(tampered.energy_error)


def test_the_scale_of_energy_is_what_moves() -> None:
    run = pendulum()
    energy = run.energy()
    found = run.certify()
    moved = energy.kinetic.max() + energy.potential.max() - energy.potential.min()
    assert moved <= found["energy_scale"] < 1.001 * moved  # kinetic energy between the outputs counts as well
    assert (found.energy_start, found.energy_end) == (energy.total[0], energy.total[-1])


def test_work_balances_energy() -> None:
    run = pendulum()
    energy = run.energy().total
    v = np.array(run.v) * np.linspace(1.0, 1.1, 26)[:, None]
    pushed = changed(run, v=v)
    gained = pushed.energy().total - energy[0]
    work = np.stack([gained + 2.0 * run.t, 2.0 * run.t], axis=1)
    found = changed(pushed, work=work).certify()
    assert found.ok
    assert found.work_in == pytest.approx(gained[-1] + 1.0)
    assert found.work_dissipated == pytest.approx(1.0)
    assert not changed(pushed, work=work * [1.0, 0.5]).certify().ok


@pytest.mark.parametrize("size", [1e-9, 1e-3])
def test_a_quaternion_off_the_sphere_is_found(size: float) -> None:
    run = tumbling()[:20]
    q = np.array(run.q)
    q[5, 7:11] *= 1 + size
    found = changed(run, q=q).certify()
    assert found.quaternion_error == pytest.approx(size, rel=1e-6)
    assert any("quaternion" in problem for problem in found.problems)


def test_what_is_not_known_is_not_ok() -> None:
    problems = Certificate().problems
    assert len(problems) == 4
    assert all(problem.endswith("is not known") for problem in problems)
    assert not Certificate().ok


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"closure_residual": 1.1e-10}, "the closure residual is 1.1e-10, more than 1e-10"),
        ({"velocity_residual": 2e-8}, "the velocity residual is 2e-08"),
        ({"quaternion_error": 2e-10}, "the quaternion error is 2e-10"),
        ({"energy_end": 11.001}, "the energy error is 0.001, more than 2e-05"),
        ({"energy_end": 10.999}, "the energy error is 0.001"),
        ({"energy_drift": 0.01}, "the energy error is 0.01"),
        ({"closure_residual": math.inf}, "the closure residual is inf"),
        ({"closure_residual": math.nan}, "the closure residual is not known"),
        ({"energy_scale": math.nan}, "the energy error is not known"),
        ({"work_in": -1.0, "work_dissipated": -2.0}, "the integral of the work is inexact; take a smaller step"),
        (
            {"work_in": -1.0, "work_dissipated": -2.0, "giving_energy": 'the law of "strut" gives 3 W at t = 1 s'},
            'the dissipated work is -2 J: the law of "strut" gives 3 W at t = 1 s; check that law',
        ),
        ({"stopped": "the crank is locked up"}, "ended before its time: the crank is locked up"),
        ({"closure_tolerance": 1e-14}, "more than 1e-14"),
        ({"energy_tolerance": 0.0, "energy_end": 11.0 + 1e-9}, "the energy error is 1e-09"),
    ],
)
def test_each_limit_is_watched(change: dict[str, float], words: str) -> None:
    assert GOOD.ok
    bad = with_measures(GOOD, **change)
    assert not bad.ok
    assert len(bad.problems) == 1
    assert words in bad.problems[0]
    assert "NOT ok" in str(bad)
    assert bad.problems[0] in str(bad)


def test_a_mechanism_at_rest_passes_in_spite_of_rounding() -> None:
    at_rest = with_measures(
        GOOD, energy_start=1e6, energy_end=1e6 + 1e-9, work_in=0.0, work_dissipated=0.0, energy_scale=0.0
    )
    assert at_rest.ok


def test_the_table_says_everything() -> None:
    text = str(GOOD)
    for part in ("Certificate: ok", "1e-13", "100 taken, 3 refused, 700 evaluations", "2, at t = 0.25, 0.75 s"):
        assert part in text
    assert "..." in str(with_measures(GOOD, replans=tuple(range(10))))


def test_it_goes_through_json_and_back() -> None:
    assert Certificate.from_dict(json.loads(json.dumps(GOOD.as_dict()))) == GOOD
    again = Certificate.from_dict(json.loads(json.dumps(Certificate().as_dict())))
    assert math.isnan(again.energy_error)
    assert again == Certificate()
    assert again != GOOD
    assert again != 3
    assert hash(again) == hash(Certificate())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1], "made from a mapping"),
        ({"closure_residul": 1.0}, 'no measure "closure_residul"; did you mean "closure_residual"'),
        ({"steps": 1.5}, '"steps" cannot be 1.5'),
        ({"steps": "many"}, '"steps" cannot be'),
        ({"steps": math.inf}, '"steps" cannot be'),
        ({"replans": 3}, '"replans" cannot be 3'),
        ({"wall_time": None}, '"wall_time" cannot be None'),
        ({"stopped": 3}, '"stopped" cannot be 3'),
    ],
)
def test_fields_that_cannot_be_are_refused(values, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(wt.StateError, match=words):
        Certificate.from_dict(values)


def moved_mechanism(kind: str) -> wt.Mechanism:
    """A four-bar, as it is, with a drive, or with a velocity that is given; the length of its crank is a parameter."""
    m = wt.Mechanism(kind)
    crank = m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x"))
    coupler = m.body("coupler", wt.rod(length=2.0, mass=2.0, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(m.parameter("length", 1.0), 0, 0), axis="y")
    m.distance("rocker", m.ground, coupler, at=(2, 0, 0), at_child=(2, 0, 0), length=1.5)
    m.spherical("C", coupler, m.body("ball", wt.sphere(radius=0.1, mass=1.0)), at=(2, 0, 0))
    m.fixed("weld", "ball", m.body("cap", mass=0.1), at=(0, 0, 0.1))
    m.revolute("loop", coupler, "cap", at=(2, 0, 0.1), axis="y")
    if kind == "driven":
        m.drive("motor", "A", position=1.0 + m.time**2)
    if kind == "spun":
        m.closure("motor", m.rate("A") - 2.0 * m.time)
    return m


@pytest.mark.parametrize("kind", ["free", "driven", "spun"])
def test_residuals_are_those_of_each_state(kind: str) -> None:
    s = moved_mechanism(kind).build(guess={"A": 1.0})
    rng = np.random.default_rng(0)
    n = 7
    q = s.configuration(s.q0 + 0.02 * rng.normal(size=(n, s.nq)))
    v, t = rng.normal(size=(n, s.nv)), rng.uniform(0, 2, n)
    found = measured(Replay(s, t, q, v, np.zeros((n, 0)), parameters=np.array([1.1])))
    # lengths by hand: between the points at which loops hold their bodies, 1 and 2 on the crank's, 0.1 on the ball's
    lengths = {'"C"': 0.1, '"rocker"': 1.5, '"motor"': 1.5}
    scale = np.array([1.0 if '": turn about ' in row else lengths[row.split(":")[0]] for row in s.closure_rows])
    gaps, rates = [], []
    for one, speed, now in zip(q, v, t, strict=True):
        options = {"t": now, "parameters": {"length": 1.1}}
        gaps.append(s.closure_residual(one, **options) / scale)
        drift = np.zeros(len(scale))
        if kind != "free":  # what the motor's row has of its own, which is the last
            drift[-1] = -2 * now
        rates.append((s.closure_jacobian(one, **options) @ speed + drift) / scale)
    assert found["closure_residual"] == pytest.approx(np.abs(gaps).max(), rel=1e-12)
    assert found["velocity_residual"] == pytest.approx(np.abs(rates).max(), rel=1e-12)


# ---------------------------------------------------------------------- which words


@dataclass(frozen=True, eq=False)
class Damper(Force):
    """Resists a rate, or helps it on if its number is negative."""

    word: ClassVar[str] = "plain damper"
    n_coordinates: ClassVar[int] = 1

    damping: Scalar = quantity(unit="N s/m")

    def act(self, seen: ElementState) -> ElementForces:
        """Return what it does."""
        effort, none = -self.damping * seen.v, ca.SX(0)
        return ElementForces((), effort, none, -effort * seen.v, none)


def test_a_law_that_gives_energy_is_named_and_no_other() -> None:
    m = wt.Mechanism("pushed")
    m.prismatic("slide", m.ground, m.body("block", mass=1.0), axis="x")
    m.force("good", Damper(2.0), coordinates=["slide"])
    m.force("bad", Damper(-3.0), coordinates=["slide"])
    run = m.build().simulate(1.0, v={"slide": 1.0})
    (problem,) = run.certificate.problems
    assert problem.startswith("the dissipated work is -")
    assert 'the law of "bad" gives' in problem and "good" not in problem
    # v' = v, so that at the end 3 v^2 = 3 e^2 watts are given
    assert f"gives {3 * math.exp(2.0):.3g} W at t = 1 s" in problem
    assert run.certify().problems == run.certificate.problems


def test_where_the_work_integral_is_at_fault_no_damper_is_blamed() -> None:
    """Steps that are too long for a stiff damper end on states of which none gives energy."""
    m = wt.Mechanism("braked")
    m.prismatic("slide", m.ground, m.body("block", mass=1.0), axis="x")
    m.force("brake", Damper(3.0), coordinates=["slide"])
    run = m.build().simulate(4.0, v={"slide": 1.0}, method="dopri5", adaptive=False, step=1.0, every=1.0)
    problems = run.certificate.problems
    assert run.certificate.work_dissipated < -1.0  # of 0.5 J that there were
    assert any(
        "no force element's law gives energy at any state looked at" in one and "smaller step" in one
        for one in problems
    )
    assert not any("brake" in one for one in problems)


def test_residuals_are_told_in_the_units_of_their_joint() -> None:
    run = four_bar()
    assert run.system is not None
    v = np.array(run.v)
    v[40, 3] += 0.25
    found = changed(run, v=v).certify()
    rates = run.system.closure_jacobian(run.q[40]) @ v[40]  # rad/s and m/s
    rows = run.system.closure_rows
    scaled = np.abs(rates / run.system.kernels.closures.closure_lengths)
    k = int(scaled.argmax())
    assert found.velocity_residual == pytest.approx(scaled[k], rel=1e-9)
    assert found["fastest_opening"] == f"{abs(rates[k]):.2g} {'rad' if 'turn' in rows[k] else 'm'}/s in {rows[k]}"
    assert found["fastest_opening"] in str(found) and found["fastest_opening"] in found.problems[0]
    q = np.array(run.q)
    q[40, 3] += 1e-3
    gap = changed(run, q=q).certify()
    errors = run.system.closure_residual(q[40])
    k = int(np.abs(errors / run.system.kernels.closures.closure_lengths).argmax())
    assert gap["widest_gap"] == f"{abs(errors[k]):.2g} {'rad' if 'turn' in rows[k] else 'm'} in {rows[k]}"


# ---------------------------------------------------------------------- names and versions


def test_every_measure_is_there_by_name() -> None:
    given = GOOD.as_dict()
    for name in set(given) - {"version"}:
        assert repr(GOOD[name]) == repr(Certificate.from_dict(given)[name])
        if name in dir(GOOD):
            assert repr(getattr(GOOD, name)) == repr(GOOD[name])
    with pytest.raises(wt.StateError, match='no measure "energy_scal"; did you mean "energy_scale"'):
        GOOD["energy_scal"]
    with pytest.raises(wt.StateError, match="no measure"):
        Certificate(step=3)


def test_a_measure_that_was_an_attribute_is_one_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r'Certificate.energy_scale is now Certificate\["energy_scale"\]'):
        assert GOOD.energy_scale == 20.0
    assert "energy_scale" not in dir(GOOD)


@pytest.mark.parametrize(("version", "words"), [(3, "of version 3, and this whippletree reads up to 2"), (0, "0")])
def test_a_certificate_of_another_version_is_refused(version: int, words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        Certificate.from_dict(GOOD.as_dict() | {"version": version})


def test_a_certificate_without_a_version_is_of_the_first() -> None:
    earlier = GOOD.as_dict()
    assert earlier.pop("version") == 2
    assert Certificate.from_dict(earlier) == GOOD
