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


def lengths() -> np.ndarray:
    return np.linspace(0.6, 1.1, 5)


@functools.cache
def stretched() -> wt.System:
    """A four-bar whose crank's length is a parameter."""
    m = wt.Mechanism("stretched")
    length = m.parameter("crank length", 1.0)
    crank, coupler, rocker = (
        m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("crank", "coupler", "rocker")
    )
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(length, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    return m.build(guess={"A": 1.0, "B": -0.7})


def test_each_configuration_has_its_own_lengths_as_by_hand() -> None:
    s, given = stretched(), {"crank length": lengths()}
    angles = np.linspace(0.8, 1.2, 5)
    guess = np.tile(s.q0, (5, 1))
    guess[:, 0] = angles
    q = s.assemble(guess, hold=["A"], parameters=given)
    end = lengths() * np.exp(1j * angles)
    far = abs(2 - end)
    branch = np.sign(np.sin(s.q0[0] + s.q0[1] - np.angle(2 - np.exp(1j * s.q0[0]))))
    coupler = np.angle(2 - end) + branch * np.arccos((far**2 + 2**2 - 1.5**2) / (4 * far))
    rocker = np.angle(end + 2 * np.exp(1j * coupler) - 2)
    expected = np.stack([angles, coupler - angles, rocker - coupler, rocker], axis=-1)
    assert np.abs(np.sin((q - expected) / 2)).max() < SAME
    for row, one, length in zip(q, guess, lengths(), strict=True):
        alone = s.assemble(one, hold=["A"], parameters={"crank length": length})
        assert np.abs(row - alone).max() < SAME
        assert np.abs(s.closure_residual(row, parameters={"crank length": length})).max() < 1e-10


def test_guesses_and_sets_of_parameters_broadcast() -> None:
    s, given = stretched(), {"crank length": lengths()}
    guess = np.stack([s.q0, s.q0 + 0.02, s.q0 - 0.02])[:, None]
    q = s.assemble(guess, parameters=given)
    assert q.shape == (3, 5, 4)
    for k, length in enumerate(lengths()):
        for row, one in zip(q[:, k], guess[:, 0], strict=True):
            assert np.abs(row - s.assemble(one, parameters={"crank length": length})).max() < SAME
    assert s.assemble({"A": np.full(3, 1.0)}, parameters={"crank length": [0.98]}).shape == (3, 4)
    assert s.assemble(s.q0, parameters={"crank length": np.zeros(0)}).shape == (0, 4)
    near = {"crank length": np.array([0.98, 1.02])}
    alone = [s.assemble({"A": 1.0}, parameters={"crank length": length}) for length in near["crank length"]]
    assert np.abs(s.assemble({"A": 1.0}, parameters=near) - alone).max() < SAME


def test_lengths_that_cannot_be_closed_are_told_and_cost_the_others_nothing() -> None:
    s, given = stretched(), {"crank length": np.array([0.9, 9.0, 1.0, 8.0])}
    with pytest.warns(wt.AssemblyWarning, match=r"not closed: 1, 3; in 1, the loop of"):
        found = assemble_batch(s, s.q0[None], parameters=given)
    assert found.closed.tolist() == [True, False, True, False]
    assert np.isnan(found.q[[1, 3]]).all()
    for row, far in ((1, 9.0 - 5.5), (3, 8.0 - 5.5)):  # the crank reaches as much beyond the three other links
        with pytest.raises(wt.AssemblyError, match=r'the loop of "C" .* cannot be closed'):
            s.assemble(s.q0, parameters={"crank length": given["crank length"][row]})
        residual = s.closure_residual(found.least_open[row], parameters={"crank length": given["crank length"][row]})
        assert 'the loop of "C"' in found.reason(row)
        assert np.linalg.norm(residual[3:]) > far / 2
    others = assemble_batch(s, s.q0[None], parameters={"crank length": [0.9, 1.0]})
    assert (found.q[[0, 2]] == others.q).all()


def test_a_linkage_of_special_dimensions_is_closed_with_each_of_its_sizes() -> None:
    """Bennett's linkage moves by its dimensions alone; one of another size stands at the same angles."""
    alpha, beta = 0.7, 1.6
    long = np.sin(beta) / np.sin(alpha)
    m = wt.Mechanism("Bennett")
    size = m.parameter("size", 1.0)
    links = [m.ground, *(m.body(f"link {k}", mass=1.0, inertia=(0.1, 0.1, 0.1)) for k in range(3)), m.ground]
    for k, (twist, length) in enumerate([(beta, long), (alpha, 1.0)] * 2):
        axis = (0.0, -np.sin(twist), np.cos(twist))
        m.revolute(f"{k}", links[k], links[k + 1], at=(length * size, 0, 0), axis=axis, axis_child="z")
    s = m.build()
    assert (s.mobility.gruebler, s.mobility.mobility) == (-2, 1)
    sizes = np.array([0.5, 1.0, 2.0])
    guess = s.q0 + np.array([0.05, 0.0, 0.0, 0.0])
    q = s.assemble(guess, hold=["0"], parameters={"size": sizes})
    assert np.abs(q - q[1]).max() < SAME
    for row, one in zip(q, sizes, strict=True):
        assert np.abs(s.closure_residual(row, parameters={"size": one})).max() < 1e-10
        assert np.abs(row - s.assemble(guess, hold=["0"], parameters={"size": one})).max() < SAME
        assert np.abs(row - s.q0).max() > 0.04


def test_sizes_that_do_not_fit_and_poses_are_refused_by_name() -> None:
    s, given = stretched(), {"crank length": lengths()}
    for wrong, words in (
        (np.tile(s.q0, (3, 1)), r"do not fit together: guess \(3, 4\), parameters \(5, 1\)"),
        ({"A": [1.0, 1.1]}, r"do not fit together: 2 configurations, parameters \(5, 1\)"),
        ({"coupler": np.eye(4)}, '"coupler" is a body or frame, whose pose is a guess for one configuration'),
    ):
        with pytest.raises(wt.StateError, match=words):
            s.assemble(wrong, parameters=given)
    for call in (
        lambda: s.sweep_joint("A", [1.0, 1.1], parameters=given),
        lambda: s.inverse_kinematics({"coupler": np.eye(4)}, parameters=given),
        lambda: s.simulate(0.1, parameters=given),
    ):
        with pytest.raises(wt.StateError, match="one set of parameters"):
            call()
