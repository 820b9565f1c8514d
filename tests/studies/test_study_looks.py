"""Looks at studies: Ishigami's indices, a tolerance stack against exact derivatives, diagrams, the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import whippletree as wt
from studies import study_functions as functions

pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")


def test_ishigamis_function_has_its_analytic_indices() -> None:
    """Sobol' and Levitan 1999: f = sin x1 + a sin^2 x2 + b x3^4 sin x1, each x uniform within pi."""
    pytest.importorskip("SALib", reason="Sobol' indices need SALib, which is in the extra `test`")
    a, b = 7.0, 0.1
    angle = wt.cases.plus_minus(0.0, np.pi)
    cases = wt.cases.saltelli(1024, seed=1, x1=angle, x2=angle, x3=angle)
    study = wt.Study(functions.pendulum(), cases, functions.ishigami)
    study.run()
    found = study.sobol_indices("result")
    parts = np.array([0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, 0.0])
    shared = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = parts.sum() + shared
    np.testing.assert_allclose(found["first"], parts / whole, atol=0.03)
    np.testing.assert_allclose(found["total"], (parts + np.array([shared, 0.0, shared])) / whole, atol=0.03)
    assert (np.abs(found["first"] - parts / whole) <= 2 * found["first_confidence"] + 0.01).all()


def test_a_tolerance_stack_of_a_four_bar_has_exact_derivatives() -> None:
    """The rocker's angle at a given crank angle: lengths at 0.1 mm, to first order and sampled."""
    nominal = {"crank": 0.1, "coupler": 0.25, "rocker": 0.2, "base": 0.22}
    system = functions.four_bar(1.0)
    joints = system.derivatives_of("joint_motion", system.q0, system.v0).parameters[0]
    slopes = dict(zip(nominal, joints[system.v_slice("D").start], strict=True))
    for name, length in nominal.items():  # by differences of closed forms
        ahead, behind = ({**nominal, name: length + sign * 1e-6} for sign in (1, -1))
        difference = (rocker_angle(**ahead) - rocker_angle(**behind)) / 2e-6
        assert slopes[name] == pytest.approx(difference, rel=1e-6)
    spread = {name: wt.cases.standard_deviation(length, 1e-4) for name, length in nominal.items()}
    study = wt.Study(system, wt.cases.sobol(256, spread, seed=2), functions.rocker)
    data = study.run()
    for k in (0, 100):
        case = {name: float(value) for name, value in study.case(k).items()}
        assert data["angle"].values[k] == pytest.approx(rocker_angle(**case), abs=1e-10)
    stack = study.tolerance_stack("angle", slopes, rocker_angle(**nominal))
    assert stack.deviation == pytest.approx(1e-4 * np.linalg.norm(list(slopes.values())), rel=0.02)
    assert stack.sampled_deviation == pytest.approx(stack.deviation, rel=0.02)
    assert stack.sampled_mean == pytest.approx(stack.nominal, abs=0.05 * stack.deviation)
    assert stack.worst_case > stack.deviation
    assert "standard deviation to first order" in str(stack)


def rocker_angle(crank: float, coupler: float, rocker: float, base: float, angle: float = 1.0) -> float:
    """The angle of the rocker about -y, by the triangles of the open four-bar (Freudenstein)."""
    x, z = crank * np.cos(angle) - base, -crank * np.sin(angle)
    diagonal = np.hypot(x, z)
    at_base = np.arccos((diagonal**2 + rocker**2 - coupler**2) / (2 * diagonal * rocker))
    return float(np.arctan2(-z, x) + functions.BRANCH * at_base)


@pytest.fixture(scope="module")
def swings() -> wt.Study:
    cases = wt.cases.grid(mass=[1.0, 2.0], length=np.linspace(0.5, 1.5, 5))
    study = wt.Study(functions.pendulum(), cases, keep=["hinge"], duration=0.4, every=0.1)
    study.run()
    return study


def test_diagrams_show_what_there_is(swings: wt.Study, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data = swings.dataset()
    axes = swings.plot("hinge").axes[0]  # over time: bands
    middle = np.median(data["hinge"].values.reshape(10, -1), axis=0)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), middle, rtol=1e-12)
    last = data["hinge"].isel(time=-1)
    axes = swings.plot(last, over="length").axes[0]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), last.values[1])
    axes = swings.plot(last, limits=(None, 1.0)).axes[0]
    share = 100 * np.mean(last.values > 1.0)
    assert axes.get_legend().get_texts()[0].get_text() == f"{share:.3g} % above 1"
    assert len(swings.plot(last, kind="scatter").axes) == 9
    assert [text.get_text() for text in swings.plot(last, kind="tornado").axes[0].get_yticklabels()][-1] == "length"
    swings.plot(last, path=tmp_path / "swing.png")
    assert (tmp_path / "swing.png").stat().st_size > 1000
    for wrong, words in ((("hing",), "did you mean"), (("hinge", "x"), "no output")):
        with pytest.raises(wt.StateError, match=words):
            swings.plot(*wrong)
    with pytest.raises(wt.StateError, match="several numbers for each case, along time"):
        swings.plot("hinge", over="length")
    with pytest.raises(wt.StateError, match="saltelli"):
        swings.sobol_indices(last)


def test_the_worst_cases_are_named_by_their_numbers(swings: wt.Study) -> None:
    last = swings.dataset()["hinge"].isel(time=-1)
    found = swings.worst(last, 2)
    assert [one.case for one in found] == np.argsort(-last.values.ravel(), kind="stable")[:2].tolist()
    assert swings.case(found[0].case).simulate()["hinge"][-1] == found[0].value
    assert swings.worst(last, 1, least=True)[0].value == last.values.min()


def test_the_report_is_one_page_with_pictures_and_failures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = wt.Study(functions.pendulum(), wt.cases.random(30, mass=stats.uniform(1.0, 2.2)), functions.refuses_heavy)
    study.run()
    page = study.report(tmp_path / "report.html").read_text()
    first = study.failures()[0]
    assert page.count("data:image/png;base64,") == 1
    assert "ValueError: too heavy" in page
    assert f'<td style="text-align:left">{first.index}</td>' in page
    assert "study.case(17)" in page
    assert "<script" not in page
