"""Inverse kinematics: planar arms by trigonometry, a platform by its legs, redundancy, limits, out of reach."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import whippletree as wt
from kinematics.test_batch_assembly import LEGS, leg_lengths, plate_poses, platform

BARS = (1.0, 0.8, 0.5)


@functools.cache
def arm(count: int, lower: float | None = None, upper: float | None = None) -> wt.System:
    m = wt.Mechanism("arm")
    last, at = m.ground, (0.0, 0.0, 0.0)
    for k in range(count):
        bar = m.body(f"bar {k}", wt.rod(BARS[k], mass=1.0))
        m.revolute(f"j{k}", last, bar, at=at)
        last, at = bar, (BARS[k], 0.0, 0.0)
    m.frame("tip", on=last, at=at)
    if lower is not None:
        m.limit("stop", "j1", lower=lower, upper=upper, stiffness=1e3)
    return m.build()


def test_two_bars_by_the_cosine_law() -> None:
    points = np.array([[1.2, 0.9, 0.0], [0.5, 0.5, 0.0], [-0.3, 1.1, 0.0]])
    found = arm(2).inverse_kinematics({"tip": points}, guess={"j0": 0.3, "j1": 0.4})
    assert found.reached.all()
    elbow = np.arccos(((points**2).sum(axis=1) - 1 - 0.64) / 1.6)
    np.testing.assert_allclose(found.q[:, 1], elbow, atol=1e-8)


def test_the_nearest_of_many_solutions() -> None:
    """Three bars leave a freedom: the way from the guess is perpendicular to the motion that keeps the tip."""
    s, guess = arm(3), np.array([0.3, 0.4, 0.3])
    found = s.inverse_kinematics({"tip": (1.2, 0.9, 0.0)}, guess=guess)
    assert found.reached
    np.testing.assert_allclose(s.pose(found.q, "tip")[:2, 3], [1.2, 0.9], atol=1e-9)
    free = np.linalg.svd(s.jacobian(found.q, "tip")[3:5])[2][-1]
    assert abs(free @ (found.q - guess)) < 1e-7
    for step in (-0.1, 0.1):  # and others are farther
        other = s.inverse_kinematics({"tip": (1.2, 0.9, 0.0)}, guess=found.q + step * free)
        assert np.linalg.norm(other.q - guess) > np.linalg.norm(found.q - guess)


def test_out_of_reach_is_told_by_how_much() -> None:
    s = arm(3)
    with pytest.warns(wt.AssemblyWarning, match='"tip" stays 0.528 m'):
        found = s.inverse_kinematics({"tip": (2.0, 2.0, 0.0)}, guess=[0.3, 0.4, 0.3])
    assert not found.reached
    assert found.distances[0] == pytest.approx(np.hypot(2, 2) - sum(BARS), abs=1e-6)
    np.testing.assert_allclose(found.q, [np.pi / 4, 0, 0], atol=1e-4)


def test_limits_of_joints_are_kept() -> None:
    s = arm(2, 0.2, 1.0)
    with pytest.warns(wt.AssemblyWarning, match="out of reach"):
        found = s.inverse_kinematics({"tip": (0.3, 0.9, 0.0)}, guess={"j0": 0.3, "j1": 0.4})
    assert 0.2 <= found.q[1] <= 1.0 + 1e-9
    a, b = np.meshgrid(np.linspace(-np.pi, np.pi, 3001), np.linspace(0.2, 1.0, 81))
    tip = np.stack([np.cos(a) + 0.8 * np.cos(a + b), np.sin(a) + 0.8 * np.sin(a + b)])
    assert found.distances[0] == pytest.approx(np.hypot(tip[0] - 0.3, tip[1] - 0.9).min(), abs=1e-5)
    beyond = s.inverse_kinematics({"tip": (0.3, 0.9, 0.0)}, guess={"j0": 0.3, "j1": 0.4}, limits=False)
    assert beyond.reached


def test_limits_are_those_of_the_parameters_that_are_given() -> None:
    m = wt.Mechanism("arm")
    most = m.parameter("most", 1.0)
    bars = [m.body(f"bar {k}", wt.rod(BARS[k], mass=1.0)) for k in range(2)]
    m.revolute("j0", m.ground, bars[0])
    m.revolute("j1", bars[0], bars[1], at=(BARS[0], 0, 0))
    m.frame("tip", on=bars[1], at=(BARS[1], 0, 0))
    m.limit("stop", "j1", upper=most, stiffness=1e3)
    m.limit("other stop", "j1", lower=most - 1.5, stiffness=1e3)
    s, target, guess = m.build(), {"tip": (0.3, 0.9, 0.0)}, {"j0": 0.3, "j1": 0.4}
    wide = s.inverse_kinematics(target, guess=guess, parameters={"most": 2.2})
    assert wide.reached
    assert 1.0 < wide.q[1] < 2.2
    for now, end in ((1.0, 1.0), (0.6, -0.9)):  # the farther one of both ends is nearer to the target
        with pytest.warns(wt.AssemblyWarning, match="out of reach"):
            found = s.inverse_kinematics(target, guess=guess, parameters={"most": now})
        assert found.q[1] == pytest.approx(end, abs=1e-9)


def test_a_platform_by_the_lengths_of_its_legs() -> None:
    s, (_, position, R) = platform(), plate_poses(20, 9)
    poses = np.tile(np.eye(4), (20, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = R, position
    found = s.inverse_kinematics({"plate": poses})
    assert found.reached.all()
    legs = [s.q_slice(leg).start for leg in LEGS]
    np.testing.assert_allclose(found.q[:, legs], leg_lengths(position, R), atol=1e-9)
    assert np.abs(s.kernels.closures.closure_errors(found.q, np.zeros((20, s.nv)), np.zeros(20))[0]).max() < 1e-9


def test_noisy_markers_are_fitted_from_the_guess_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other starts are for targets that are missed by far, or that other branches may reach."""
    from whippletree.kinematics.inverse_kinematics import PoseSolver

    searched: list[int] = []
    real = PoseSolver.nearest

    def counted(self: PoseSolver, start: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        searched.append(len(rows))
        return real(self, start, rows)

    monkeypatch.setattr(PoseSolver, "nearest", counted)
    s, rng = arm(3), np.random.default_rng(3)
    true = rng.uniform(-1.5, 1.5, (30, 3))
    markers = {name: s.pose(true, name)[:, :3, 3] for name in ("bar 1", "bar 2", "tip")}
    noisy = {name: at + 0.01 * rng.standard_normal(at.shape) for name, at in markers.items()}
    with pytest.warns(wt.AssemblyWarning, match="out of reach"):
        found = s.inverse_kinematics(noisy, guess=true + 0.2)
    assert searched == [30]
    assert np.abs(found.q - true).max() < 0.1
    searched.clear()
    far = {name: at + np.array([0.0, 0.0, 1.0]) for name, at in markers.items()}  # no noise: other starts are tried
    with pytest.warns(wt.AssemblyWarning, match="out of reach"):
        s.inverse_kinematics(far, guess=true)
    assert len(searched) == 13
    assert s.inverse_kinematics(markers, guess=rng.uniform(-3.0, 3.0, (30, 3))).reached.all()


def test_weights_leave_directions_free() -> None:
    s = platform()
    target = s.pose(s.q0, "plate")
    target[2, 3] += 0.1
    found = s.inverse_kinematics({"plate": target}, weights={"plate": [0, 0, 0, 0, 0, 1]})
    assert found.reached
    assert s.pose(found.q, "plate")[2, 3] == pytest.approx(target[2, 3], abs=1e-9)


@pytest.mark.parametrize(
    ("targets", "options", "words"),
    [
        ({}, {}, "by frame"),
        ({"tip": (1.0, 2.0)}, {}, "pose"),
        ({"tip": (1.0, np.nan, 0.0)}, {}, "finite numbers"),
        ({"top": (1.0, 0.0, 0.0)}, {}, "no body or frame"),
        ({"tip": (1.0, 0.0, 0.0)}, {"weights": {"tip": -1.0}}, "not negative"),
        ({"tip": (1.0, 0.0, 0.0)}, {"weights": {"bar 0": 1.0}}, "no target"),
        ({"tip": np.zeros((2, 3)), "bar 1": np.zeros((3, 3))}, {}, "2 and 3"),
    ],
)
def test_bad_targets_are_refused(targets: dict[str, object], options: dict[str, object], words: str) -> None:
    with pytest.raises(wt.WhippletreeError, match=words):
        arm(2).inverse_kinematics(targets, **options)
