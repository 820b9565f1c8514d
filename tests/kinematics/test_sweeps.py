"""Sweeps of a joint against trigonometry, and an independent Newton's method for a suspension."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
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
    turned = (sweep.coordinates("D") - expected + np.pi) % (2 * np.pi) - np.pi
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
    np.testing.assert_allclose(sweep.coordinates("D"), crank * np.cos(a) + rod * np.cos(tilt), atol=1e-12)
    np.testing.assert_allclose(sweep.transmission_angle(), np.pi / 2 - np.abs(tilt), atol=1e-7)


def test_a_parallelogram_is_followed_through_its_singular_positions() -> None:
    s = linkage(1.0, 2.0, 1.0, 2.0).build(guess={"A": 1.0, "B": -1.0, "D": 1.0})
    a = np.linspace(0.05, 2 * np.pi + 0.05, 41)
    sweep = s.sweep_joint("A", a)
    np.testing.assert_allclose(sweep.coordinates("D"), a, atol=1e-9)
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
    np.testing.assert_array_equal(read[:, 1], sweep.coordinates("D"))
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


# ---------------------------------------------------------------------- moved by a point

UPPER, FORE = 0.5, 0.4


def arm(*, lift: bool = False) -> wt.System:
    """Two links in the plane z = 0, if wanted on a lift."""
    m = wt.Mechanism("arm")
    upper, fore = m.body("upper", wt.rod(UPPER, mass=1.0)), m.body("fore", wt.rod(FORE, mass=1.0))
    foot = m.body("foot", mass=1.0) if lift else m.ground
    if lift:
        m.prismatic("lift", m.ground, foot, axis="z")
    m.revolute("shoulder", foot, upper, axis="z")
    m.revolute("elbow", upper, fore, at=(UPPER, 0, 0), axis="z")
    m.frame("hand", on=fore, at=(FORE, 0, 0))
    return m.build()


def arm_angles(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shoulder and elbow by the law of cosines."""
    elbow = np.arccos((x**2 + y**2 - UPPER**2 - FORE**2) / (2 * UPPER * FORE))
    return np.arctan2(y, x) - np.arctan2(FORE * np.sin(elbow), UPPER + FORE * np.cos(elbow)), elbow


def slopes(angles: Callable[[np.ndarray], tuple[np.ndarray, ...]], at: np.ndarray, h: float = 1e-3) -> list[np.ndarray]:
    """Central differences of the fourth order."""
    weighed = [(c, angles(at + k * h)) for k, c in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))]
    return [sum(c * one[j] for c, one in weighed) / h for j in range(len(weighed[0][1]))]


START = {"shoulder": 0.2, "elbow": 1.0}


@pytest.mark.parametrize(("axes", "lift"), [("xyz", False), ("xy", False), ("yx", True), ("xyz", True)])
def test_an_arm_that_draws_a_straight_line(axes: str, lift: bool) -> None:
    first, last = np.array([0.7, -0.2, 0.0]), np.array([0.2, 0.5, 0.3 if lift and axes == "xyz" else 0.0])
    way = (last - first) / np.linalg.norm(last - first)
    places = np.linspace(first, last, 29)
    sweep = arm(lift=lift).sweep_joint("hand", places[:, ["xyz".index(a) for a in axes]], axes=axes, start=START)
    lengths = np.linalg.norm(places - first, axis=1)
    np.testing.assert_allclose(sweep.values, lengths, atol=1e-14)
    assert sweep.closed.all() and not sweep.ends and not sweep.singular
    for name, angle in zip(("shoulder", "elbow"), arm_angles(*places.T[:2]), strict=True):
        np.testing.assert_allclose(sweep.coordinates(name), angle, atol=1e-9)
    rates = slopes(lambda s: arm_angles(first[0] + s * way[0], first[1] + s * way[1]), lengths)
    for name, rate in zip(("shoulder", "elbow"), rates, strict=True):
        np.testing.assert_allclose(sweep.ratio(name), rate, atol=1e-8)
    np.testing.assert_allclose(sweep.velocity_ratio("hand")[:, 3:], np.tile(way, (29, 1)), atol=1e-12)
    if lift:
        np.testing.assert_allclose(sweep.coordinates("lift"), places[:, 2], atol=1e-9)


def test_a_curved_path_and_its_table(tmp_path: Path) -> None:
    turn = np.linspace(0, 2 * np.pi, 73)
    places = np.stack([0.55 + 0.2 * np.cos(turn), 0.1 + 0.2 * np.sin(turn), 0 * turn], axis=1)
    sweep = arm().sweep_joint("hand", places, axes="xyz", start=START)
    _, elbow = arm_angles(*places.T[:2])
    np.testing.assert_allclose(sweep.coordinates("elbow"), elbow, atol=1e-9)
    rate = slopes(lambda a: arm_angles(0.55 + 0.2 * np.cos(a), 0.1 + 0.2 * np.sin(a)), turn)[1] / 0.2
    np.testing.assert_allclose(sweep.ratio("elbow")[1:-1], rate[1:-1], atol=5e-3 * np.abs(rate).max())
    table = sweep.table("elbow", "hand", "elbow.ratio", "conditioning")
    assert list(table)[:3] == ["hand.path [m]", "elbow.angle [rad]", "hand.x [m]"]
    assert list(table)[-2:] == ["elbow.angular velocity over hand.path", "conditioning"]
    sweep.plot("elbow", path=tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 5000
    assert str(sweep).startswith('"hand.path" over 73 positions; closed in 73, from 0 to 1.256')
    with pytest.raises(wt.StateError, match="transmission angles belong to a joint"):
        sweep.transmission_angle()


def test_a_path_ends_where_the_arm_is_straight() -> None:
    places = np.stack([np.linspace(0.5, 1.2, 8), np.full(8, 0.2)], axis=1)
    with pytest.warns(wt.AssemblyWarning, match='"hand.path" stops at 0.3774.*, before 0.4: a dead position'):
        sweep = arm().sweep_joint("hand", places, axes="xy", start=START)
    assert sweep.ends[0].value == pytest.approx(np.sqrt((UPPER + FORE) ** 2 - 0.2**2) - 0.5, abs=1e-7)
    np.testing.assert_array_equal(sweep.closed, sweep.values < sweep.ends[0].value)
    with pytest.warns(wt.AssemblyWarning, match='"hand.path" is not reached: beyond'):
        assert not arm().sweep_joint("hand", places + 5, axes="xy", start=START).closed.any()


def test_one_coordinate_of_a_point_and_a_joint_that_rests() -> None:
    x = np.linspace(0.3, 0.6, 7)
    sweep = arm().sweep_joint("hand", x, axes="x", start=START, hold=["elbow"])
    reach = np.hypot(UPPER + FORE * np.cos(1.0), FORE * np.sin(1.0))
    lead = np.arctan2(FORE * np.sin(1.0), UPPER + FORE * np.cos(1.0))
    np.testing.assert_allclose(sweep.coordinates("shoulder"), np.arccos(x / reach) - lead, atol=1e-9)
    np.testing.assert_allclose(sweep.ratio("shoulder"), -1 / np.sqrt(reach**2 - x**2), atol=1e-9)
    np.testing.assert_allclose(sweep.table("hand")["hand.x [m]"], x, atol=1e-15)


def test_a_four_bar_moved_by_a_point_of_its_coupler() -> None:
    """The coupler's origin is the crank's pin, which goes on a circle; its middle against the triangle."""
    m = linkage(*LENGTHS)
    m.frame("middle", on="b", at=(0.06, 0.03, 0))
    s = m.build(guess={"A": 1.0, "D": 1.5})
    angle = np.linspace(0.9, 1.6, 15)
    pin = LENGTHS[0] * np.cos(angle)
    sweep = s.sweep_joint("b", pin, axes="x")
    np.testing.assert_allclose(sweep.coordinates("A"), angle, atol=1e-8)
    np.testing.assert_allclose(sweep.ratio("A"), -1 / (LENGTHS[0] * np.sin(angle)), rtol=1e-8)

    def middle(a: np.ndarray) -> np.ndarray:
        pin = LENGTHS[0] * np.stack([np.cos(a), np.sin(a)])
        end = [[LENGTHS[3]], [0]] + LENGTHS[2] * np.stack([np.cos(d := rocker_angle(a, LENGTHS, -1)), np.sin(d)])
        along = (end - pin) / LENGTHS[1]
        return pin + 0.06 * along + 0.03 * np.stack([-along[1], along[0]])

    sweep = s.sweep_joint("middle", middle(angle)[0], axes="x")
    np.testing.assert_allclose(sweep.coordinates("A"), angle, atol=1e-8)
    np.testing.assert_allclose(sweep.position("middle")[:, 1], middle(angle)[1], atol=1e-9)
    with pytest.warns(wt.AssemblyWarning, match='"b.x" stops at 0.04'):
        dead = s.sweep_joint("b", [0.02, 0.03, 0.05], axes="x")
    assert dead.ends[0].value == pytest.approx(LENGTHS[0], abs=1e-7)


def test_a_joint_that_begins_in_a_dead_position() -> None:
    m = wt.Mechanism("slider-crank")
    crank, rod, slider = m.body("crank", wt.rod(0.1, mass=1.0)), m.body("rod", wt.rod(0.25, mass=1.0)), m.body("slider")
    m.revolute("A", m.ground, crank)
    m.revolute("B", crank, rod, at=(0.1, 0, 0))
    m.revolute("C", rod, slider, at=(0.25, 0, 0))
    m.prismatic("D", m.ground, slider, axis="x")
    with pytest.warns(wt.AssemblyWarning, match='"D" stops at 0.3'):
        sweep = m.build(guess={"D": 0.35}).sweep_joint("D", [0.35, 0.34])
    assert sweep.closed.tolist() == [True, False]
    assert np.isnan(sweep.ratios[0]).all()


@pytest.mark.parametrize(
    ("values", "axes", "words"),
    [
        ([1.0, 2.0], "q", "axes= must be some of x, y and z"),
        ([1.0, 2.0], "xx", "axes= must be some of x, y and z"),
        ([1.0, 2.0], ["x"], "axes= must be some of x, y and z"),
        ([1.0, 2.0], "xyz", r"give two positions or more, \(n, 3\), in metres"),
        ([[1.0, 2.0, 3.0]], "xyz", "two positions or more"),
        ([[1.0, 2.0], [3.0, 4.0]], "x", "give a list of numbers, in metres"),
        ([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]], "xy", "positions 1 and 2 of the path are the same"),
        ([np.nan], "x", "finite numbers"),
        ([1e300], "x", "too far"),
    ],
)
def test_points_that_cannot_be_moved_are_refused(values: object, axes: object, words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        four_bar().sweep_joint("coupler", values, axes=axes)
    with pytest.raises(wt.ModelError, match="there is no body or frame"):
        four_bar().sweep_joint("A", values, axes="x")


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
    assert command(["sweep", model, "wheel", "0.3", "0.32", "-n", "3", "--axis", "z", "--hold", "heave"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:2] == ["wheel.z", "[m]"]
    assert command(["sweep", model, "wheel", "0", "1", "--axis", "z", "--degrees"]) == 2
    assert "--degrees is for a joint" in capsys.readouterr().err
    assert command(["sweep", model, "lower hing", "0", "1"]) == 2
    assert "there is no joint" in capsys.readouterr().err
