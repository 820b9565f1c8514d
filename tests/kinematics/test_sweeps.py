"""Sweeps of a joint against trigonometry, and an independent Newton's method for a suspension."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import whippletree as wt
from whippletree.cli.command import main as command
from whippletree.system.example_systems import four_bar

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"swept_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def linkage(crank: float, coupler: float, rocker: float, ground: float) -> wt.Mechanism:
    m = wt.Mechanism("linkage")
    bars = [m.body(n, wt.rod(x, mass=1.0)) for n, x in (("a", crank), ("b", coupler), ("c", rocker))]
    m.revolute("A", m.ground, bars[0])
    m.revolute("B", bars[0], bars[1], at=(crank, 0, 0))
    m.revolute("C", bars[1], bars[2], at=(coupler, 0, 0), at_child=(rocker, 0, 0))
    m.revolute("D", m.ground, bars[2], at=(ground, 0, 0))
    return m


def rocker_angle(a: np.ndarray, lengths: tuple[float, ...], side: int) -> np.ndarray:
    """The rocker's angle by the triangle of pin, pivot and joint C."""
    crank, coupler, rocker, ground = lengths
    apart = np.stack([crank * np.cos(a) - ground, crank * np.sin(a)])
    d = np.hypot(*apart)
    inner = np.arccos((d**2 + rocker**2 - coupler**2) / (2 * d * rocker))
    return np.arctan2(apart[1], apart[0]) + side * inner


LENGTHS = (0.04, 0.12, 0.08, 0.11)


def test_a_crank_rocker_over_a_turn() -> None:
    s = linkage(*LENGTHS).build(guess={"A": 1.0, "D": 1.5})
    a = np.linspace(0.0, 2 * np.pi, 49)
    sweep = s.sweep_joint("A", a)
    assert sweep.closed.all() and not sweep.ends and not sweep.singular
    side = -1
    expected = rocker_angle(a, LENGTHS, side)
    turned = (sweep.coordinate("D") - expected + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(turned, 0.0, atol=1e-12)
    h = 1e-3
    ratio = (
        sum(
            c * rocker_angle(a + k * h, LENGTHS, side)
            for k, c in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
        )
        / h
    )
    jump = np.abs(ratio) > 10  # where arctan2 jumps
    np.testing.assert_allclose(sweep.ratio("D")[~jump], ratio[~jump], atol=1e-9)
    crank, coupler, rocker, ground = LENGTHS
    d2 = crank**2 + ground**2 - 2 * crank * ground * np.cos(a)
    mu = np.arccos((coupler**2 + rocker**2 - d2) / (2 * coupler * rocker))
    np.testing.assert_allclose(sweep.transmission_angle(), mu, atol=1e-12)
    np.testing.assert_allclose(sweep.transmission("C").share, np.sin(mu), atol=1e-12)
    # the pin's path is a circle, and its velocity a tangent
    np.testing.assert_allclose(sweep.position("b")[:, :2], crank * np.stack([np.cos(a), np.sin(a)], 1), atol=1e-13)
    np.testing.assert_allclose(sweep.velocity_ratio("b")[:, 3], -crank * np.sin(a), atol=1e-12)


def test_a_slider_crank() -> None:
    crank, rod = 0.1, 0.25
    m = wt.Mechanism("slider-crank")
    bars = [m.body("crank", wt.rod(crank, mass=1.0)), m.body("rod", wt.rod(rod, mass=1.0)), m.body("slider", mass=1.0)]
    m.revolute("A", m.ground, bars[0])
    m.revolute("B", bars[0], bars[1], at=(crank, 0, 0))
    m.revolute("C", bars[1], bars[2], at=(rod, 0, 0))
    m.prismatic("D", m.ground, bars[2], axis="x")
    s = m.build(guess={"A": 0.5, "D": 0.3})
    a = np.linspace(0.1, 6.0, 25)
    sweep = s.sweep_joint("A", a)
    tilt = np.arcsin(crank / rod * np.sin(a))  # of the rod
    np.testing.assert_allclose(sweep.coordinate("D"), crank * np.cos(a) + rod * np.cos(tilt), atol=1e-12)
    np.testing.assert_allclose(sweep.transmission_angle(), np.pi / 2 - np.abs(tilt), atol=1e-7)


def test_a_parallelogram_is_followed_through_its_singular_positions() -> None:
    s = linkage(1.0, 2.0, 1.0, 2.0).build(guess={"A": 1.0, "B": -1.0, "D": 1.0})
    a = np.linspace(0.05, 2 * np.pi + 0.05, 41)
    sweep = s.sweep_joint("A", a)
    np.testing.assert_allclose(sweep.coordinate("D"), a, atol=1e-9)
    np.testing.assert_allclose([one.value for one in sweep.singular], [np.pi, 2 * np.pi], atol=1e-6)
    assert all('singular position at "A"' in one.words for one in sweep.singular)


def test_a_sweep_ends_at_dead_positions() -> None:
    s = linkage(1.0, 0.8, 1.0, 2.0).build(guess={"A": 0.9, "D": 2.2})
    dead = np.arccos((1 + 4 - 1.8**2) / 4)  # coupler and rocker in line
    with pytest.warns(wt.AssemblyWarning, match='"A" stops at ') as told:
        sweep = s.sweep_joint("A", np.linspace(-2.0, 2.0, 41))
    assert len(told) == 2
    np.testing.assert_allclose(sorted(end.value for end in sweep.ends), [-dead, dead], atol=1e-5)
    np.testing.assert_array_equal(sweep.closed, np.abs(sweep.values) < dead)
    assert np.isnan(sweep.q[~sweep.closed]).all()
    assert np.isnan(sweep.transmission_angle()[0])


def test_a_five_link_suspension_against_newton() -> None:
    """Five rod lengths, solved for x, y and a rotation matrix by Newton's method in NumPy."""
    found = example("suspension_table").main()
    module, sweep, geometry = example("suspension_table"), found["sweep"], found["geometry"]
    chassis, knuckle = (np.array([pair[k] for pair in module.LINKS.values()]) for k in (0, 1))
    arms = knuckle - module.CENTRE
    lengths = np.linalg.norm(knuckle - chassis, axis=1)
    for i, travel in enumerate(sweep.values):
        R, p = np.eye(3), np.add(module.CENTRE, (0, 0, travel))
        for _ in range(30):
            ways = p + arms @ R.T - chassis
            rows = ways / np.linalg.norm(ways, axis=1)[:, None]
            A = np.hstack([np.cross(arms @ R.T, rows), rows[:, :2]])
            x = np.linalg.solve(A, lengths - np.linalg.norm(ways, axis=1))
            p[:2] += x[3:]
            w = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
            U, _, Vt = np.linalg.svd((np.eye(3) + w + w @ w / 2) @ R)
            R = U @ Vt
        np.testing.assert_allclose(sweep.pose("upright")[i, :3, 3], p, atol=1e-11)
        axis = R[:, 1]
        assert geometry["camber [deg]"][i] == pytest.approx(np.degrees(-np.arcsin(axis[2])), abs=1e-9)
        assert geometry["toe [deg]"][i] == pytest.approx(np.degrees(np.arctan2(axis[0], axis[1])), abs=1e-9)
        low = np.array([0, 0, -1.0]) + axis[2] * axis
        contact = p + module.RADIUS * low / np.linalg.norm(low)
        assert geometry["track [m]"][i] == pytest.approx(2 * contact[1], abs=1e-11)


def test_tables_files_and_pictures(tmp_path: Path) -> None:
    sweep = four_bar().sweep_joint("A", np.linspace(0.8, 1.2, 5))
    table = sweep.table(
        "D", "D.ratio", "coupler", "transmission angle", "conditioning", more={"twice [rad]": 2 * sweep.values}
    )
    assert list(table)[:3] == ["A.angle [rad]", "D.angle [rad]", "D.angular velocity over A"]
    assert list(table)[-3:] == ["C.transmission angle [deg]", "conditioning", "twice [rad]"]
    sweep.to_csv(tmp_path / "s.csv", "D")
    read = np.loadtxt(tmp_path / "s.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(read[:, 1], sweep.coordinate("D"))
    sweep.plot("D", "transmission angle", path=tmp_path / "s.png")
    assert (tmp_path / "s.png").stat().st_size > 5000
    with pytest.warns(wt.AssemblyWarning, match="dead position"):
        ended = four_bar().sweep_joint("D", [2.5, 2.6, 50.0])
    np.testing.assert_array_equal(ended.table()["D.angle [rad]"], [2.5, 2.6, 50.0])
    assert ended.table()["A.angle [rad]"].isna().tolist() == [False, False, True]
    hinge = wt.Mechanism("hinge")
    hinge.revolute("A", hinge.ground, hinge.body("door", mass=1.0, inertia=(1, 1, 1)), axis="z")
    with pytest.raises(wt.StateError, match='nothing moves beside the input "A"'):
        hinge.build().sweep_joint("A", [0.0, 1.0]).plot()
    for wrong in ("X", "X.ratio"):
        with pytest.raises(wt.StateError, match="a sweep has no"):
            sweep.table(wrong)


@pytest.mark.parametrize(
    ("joint", "values", "words"),
    [
        ("X", [1.0], "there is no joint"),
        ("A", [], "real numbers|finite numbers"),
        ("A", [np.nan], "finite numbers"),
        ("A", [[1.0]], "one dimension"),
        (("A", 3), [1.0], "no freedom 3"),
    ],
)
def test_what_cannot_be_swept_is_refused(joint: object, values: object, words: str) -> None:
    with pytest.raises(wt.WhippletreeError, match=words):
        four_bar().sweep_joint(joint, values)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, text = tmp_path / "stroke.png", tmp_path / "stroke.csv"
    model = str(EXAMPLES / "quarter_car.yaml")
    held = ["--hold", "heave", "--hold", "hub"]
    asked = ["sweep", model, "lower hinge", "-0.1", "0.1", "wheel", "-n", "5", "upper hinge.ratio", *held]
    assert command([*asked, "--plot", str(picture), "--csv", str(text)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert all(
        word in told[0] for word in ("lower hinge.angle [rad]", "wheel.z [m]", "upper hinge.angular velocity over")
    )
    assert len(told) == 6
    assert picture.exists() and len(text.read_text().splitlines()) == 6
    assert command(["sweep", model, "lower hing", "0", "1"]) == 2
    assert "there is no joint" in capsys.readouterr().err
