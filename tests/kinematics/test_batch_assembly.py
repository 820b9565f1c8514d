"""Many configurations closed at once: the answers of one by one, failures by index, and closed forms."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import built
from support.random_loops import MEMBERS, QUICK, case
from support.sampling import sampled
from whippletree.formulations.closures.closing_step import CLOSING_DAMPING
from whippletree.kinematics import assemble_batch
from whippletree.system.example_systems import four_bar, pendulum

SPREAD = 0.15
"""How far guesses are from a closed configuration, in radians and characteristic lengths."""

SAME = 1e-9
"""Largest difference of two assemblies, scaled: both are closed to 1e-10, and these mechanisms are well conditioned."""

SAME_WAY = 1e-6
"""The same where joints may go several ways, and the guess is next to a singular position: the steps of a batch are
shorter then by up to this share along some directions, so that they end elsewhere beside it, closed all the same."""

NEAR_SINGULAR = 10 * np.sqrt(CLOSING_DAMPING)

LEGS = tuple(f"leg {k}" for k in range(6))


def guesses(system: wt.System, count: int, seed: int) -> np.ndarray:
    scale = system.kernels.loops.numbers.column_scale
    away = np.random.default_rng(seed).uniform(-SPREAD, SPREAD, (count, system.nv)) * scale
    return system.integrate(np.tile(system.q0, (count, 1)), away)


def near_singular(system: wt.System, q: np.ndarray) -> bool:
    numbers = system.kernels.loops.numbers
    sizes = np.linalg.svd(numbers.full_rows(q, *system.kernels.loops.conditions())[0], compute_uv=False)
    return bool(((sizes > 1e-9) & (sizes < NEAR_SINGULAR)).any())


def independent(system: wt.System) -> list[tuple[str, int]]:
    states = system.kernels.states
    joints = [(states.joint_of(i), i) for i in system.kernels.loop_plan.choice.independent]
    return [(joint, i - system.v_slice(joint).start) for joint, i in joints]


@pytest.mark.rest
@pytest.mark.parametrize(("family", "number"), sampled(MEMBERS, lambda one: one in QUICK[::2]))
def test_answers_are_those_of_one_by_one(family: str, number: int) -> None:
    system = built(case(family, number).looped)
    scale = system.kernels.loops.numbers.column_scale
    start = guesses(system, 3, number)
    for hold in (None, independent(system)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wt.AssemblyWarning)
            together = assemble_batch(system, start, hold=hold)
            for i, guess in enumerate(start):
                try:
                    alone = system.assemble(guess, hold=hold)
                except wt.AssemblyError:
                    assert not together.closed[i]
                    continue
                assert np.abs(system.closure_residual(together.q[i])).max(initial=0.0) < 1e-10
                same = SAME_WAY if hold is None and near_singular(system, guess) else SAME
                assert np.abs(system.difference(alone, together.q[i]) / scale).max(initial=0.0) < same


@functools.cache
def platform() -> wt.System:
    """A plate on six legs, as in the example."""
    base, plate = corners()
    m = wt.Mechanism("platform")
    top = m.body("plate", mass=10.0)
    m.free("pose", m.ground, top)
    for leg, low, high in zip(LEGS, base, plate, strict=True):
        tube, rod = m.body(f"tube of {leg}"), m.body(f"rod of {leg}")
        m.universal(f"foot of {leg}", m.ground, tube, at=low, axis="x", axis_child="y")
        m.prismatic(leg, tube, rod, axis="z")
        m.spherical(f"ball of {leg}", rod, top, at_child=high)
    return m.build(guess={"pose": [1, 0, 0, 0, 0, 0, 0.9], **dict.fromkeys(LEGS, 0.9)}, hold=["pose"])


def corners() -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.radians([angle + way for angle in (0, 120, 240) for way in (-d, d)]) for d in (12, 48))
    return tuple(r * np.column_stack([np.cos(a), np.sin(a), 0 * a]) for r, a in ((1.0, low), (0.5, high)))  # type: ignore[return-value]


def plate_poses(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quaternions, positions, rotation matrices."""
    rng = np.random.default_rng(seed)
    turn, position = rng.uniform(-0.25, 0.25, (count, 3)), np.array([0, 0, 0.9]) + rng.uniform(-0.12, 0.12, (count, 3))
    angle = np.linalg.norm(turn, axis=1)[:, None]
    x = turn / angle
    K = np.zeros((count, 3, 3))
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    K -= K.transpose(0, 2, 1)
    R = np.eye(3) + np.sin(angle)[..., None] * K + (1 - np.cos(angle))[..., None] * K @ K
    return np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * x], axis=1), position, R


def leg_lengths(position: np.ndarray, R: np.ndarray) -> np.ndarray:
    base, plate = corners()
    return np.linalg.norm(position[:, None] + plate @ R.transpose(0, 2, 1) - base, axis=2)


@pytest.mark.rest
def test_legs_of_a_platform_have_their_lengths() -> None:
    system, (turn, position, R) = platform(), plate_poses(300, 4)
    start = np.tile(system.q0, (300, 1))
    start[:, system.q_slice("pose")] = np.concatenate([turn, position], axis=1)
    found = system.assemble(start, hold=["pose"])
    legs = [system.q_slice(leg).start for leg in LEGS]
    np.testing.assert_allclose(found[:, legs], leg_lengths(position, R), rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[:, system.q_slice("pose")], start[:, system.q_slice("pose")], rtol=0, atol=1e-15)


def test_threads_and_places_in_the_batch_change_nothing() -> None:
    system, (turn, position, _) = platform(), plate_poses(200, 5)
    start = np.tile(system.q0, (200, 1))
    start[:, system.q_slice("pose")] = np.concatenate([turn, position], axis=1)
    whole = assemble_batch(system, start, hold=["pose"], threads=2).q
    np.testing.assert_array_equal(whole, assemble_batch(system, start, hold=["pose"], threads=1).q)
    np.testing.assert_array_equal(whole[7:9], assemble_batch(system, start[7:9], hold=["pose"]).q)


def test_what_cannot_be_closed_is_told_by_its_index() -> None:
    m = wt.Mechanism("short")
    bars = [m.body(name, wt.rod(length, mass=1.0)) for name, length in (("a", 1.0), ("b", 0.8), ("c", 1.0))]
    m.revolute("A", m.ground, bars[0])
    m.revolute("B", bars[0], bars[1], at=(1, 0, 0))
    m.revolute("C", bars[1], bars[2], at=(0.8, 0, 0), at_child=(1, 0, 0))
    m.revolute("D", m.ground, bars[2], at=(2, 0, 0))
    system = m.build(guess={"A": 0.9, "D": 2.2})
    angles = np.array([0.5, 2.0, 0.9, 1.3])  # beyond 1.1152 the coupler is too short
    with pytest.warns(wt.AssemblyWarning, match=r'not closed: 1, 3; in 1, the loop of "C"'):
        found = assemble_batch(system, {"A": angles}, hold=["A"])
    assert found.closed.tolist() == [True, False, True, False]
    assert found.failed.tolist() == [1, 3]
    assert np.isnan(found.q[[1, 3]]).all()
    assert np.isfinite(found.least_open).all()
    assert found.reason(0) == ""
    assert "cannot be closed" in found.reason(3)
    assert "2 of 4 configurations are closed" in str(found)


def test_guesses_by_joint_and_trees() -> None:
    s = four_bar()
    with pytest.warns(wt.AssemblyWarning):  # B has to give way
        by_name = s.assemble({"A": [0.5, 1.0], "B": 0.2})
    with pytest.warns(wt.AssemblyWarning):
        one_by_one = [s.assemble({"A": a, "B": 0.2}) for a in (0.5, 1.0)]
    np.testing.assert_allclose(by_name, one_by_one, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(pendulum().assemble(np.array([[0.1], [0.2]])), [[0.1], [0.2]])
    assert assemble_batch(s, np.zeros((0, 4))).q.shape == (0, 4)


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        ({"A": [0.5, 1.0], "B": [0.1, 0.2, 0.3]}, "for 2 and 3 configurations"),
        ({"A": [0.5, np.nan]}, "must be finite numbers"),
        ({"A": ["x", "y"]}, "must be real numbers"),
        ({"X": [0.5, 1.0]}, "there is no joint"),
        (np.zeros((2, 3)), "4"),
    ],
)
def test_bad_guesses_are_refused(guess: object, words: str) -> None:
    with pytest.raises(wt.WhippletreeError, match=words):
        assemble_batch(four_bar(), guess)
