"""Batches of parameters in the calls that look after loops: each state with its own, as one by one and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt

COUPLER, ROCKER, BASE = 2.0, 1.5, 2.0
"""Lengths of the four-bar; its crank's is a parameter."""

CRANK_INERTIA, COUPLER_MASS, ROCKER_MASS, GRAVITY = 0.1, 2.0, 1.5, 9.81

CRANKS = np.linspace(0.6, 1.1, 6)

ROUNDING = 1e-12
"""Sums over a stack of matrices may be in another order than over one matrix."""

CLOSED = 1e-9
"""What closed configurations leave open is at most 1e-10; accelerations multiply that by a little."""

DIFFERENCE = 1e-6
"""The truncation of a central difference of the reduced inertia and the potential, relative to efforts of order 10."""


def described(*, prescribed: bool = False) -> wt.Mechanism:
    m = wt.Mechanism("four-bar")
    length = m.parameter("crank length", 1.0)
    extra = m.parameter("rocker mass", ROCKER_MASS)
    crank = m.body("crank", mass=1.0, inertia=(CRANK_INERTIA,) * 3)
    coupler = m.body("coupler", wt.rod(length=COUPLER, mass=COUPLER_MASS, axis="x"))
    rocker = m.body("rocker", mass=extra, com=(ROCKER / 2, 0, 0), inertia=(0.1, 0.2, 0.2))
    m.revolute("A", m.ground, crank, axis="y", prescribed=prescribed)
    m.revolute("B", crank, coupler, at=(length, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(COUPLER, 0, 0), at_child=(ROCKER, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(BASE, 0, 0), axis="y")
    return m


@pytest.fixture(scope="module")
def bar() -> wt.System:
    return described().build(guess={"A": 1.0})


@pytest.fixture(scope="module")
def motion(bar: wt.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return closed states and accelerations of all cranks, found one by one."""
    rows = []
    for length in CRANKS:
        one = {"crank length": length}
        q = bar.assemble({"A": 1.0, "B": -0.7}, hold=["A"], parameters=one)
        v = bar.consistent_velocities(q, {"A": 1.3}, parameters=one)
        rows.append((q, v, bar.consistent_accelerations(q, v, {"A": 0.4}, parameters=one)))
    q, v, a = map(np.array, zip(*rows, strict=True))
    return q, v, a


def one_by_one(call: Any, *rows: np.ndarray, **options: Any) -> np.ndarray:
    return np.array(
        [call(*row, parameters={"crank length": length}, **options) for length, *row in zip(CRANKS, *rows, strict=True)]
    )


def by_hand(length: np.ndarray, angle: np.ndarray, branch: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return coupler's and rocker's angles, and their rates per rate of the crank, in the plane of x and -z."""
    end = length * np.exp(1j * angle)
    across = BASE - end
    far = abs(across)
    corner = np.arccos((far**2 + COUPLER**2 - ROCKER**2) / (2 * far * COUPLER))
    coupler = np.angle(across) + branch * corner
    rocker = np.angle(end + COUPLER * np.exp(1j * coupler) - BASE)
    turn = np.sin(rocker - coupler)
    return (
        coupler,
        rocker,
        -length * np.sin(rocker - angle) / (COUPLER * turn),
        length * np.sin(angle - coupler) / (ROCKER * np.sin(rocker - coupler)),
    )


def reduced(length: np.ndarray, angle: np.ndarray, branch: np.ndarray, mass: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the inertia that the crank feels, and the potential energy."""
    coupler, rocker, p, r = by_hand(length, angle, branch)
    half = COUPLER / 2 * np.exp(1j * coupler)
    speed = 1j * length * np.exp(1j * angle) + 1j * p * half
    inertia = (
        CRANK_INERTIA
        + COUPLER_MASS * (abs(speed) ** 2 + p**2 * COUPLER**2 / 12)
        + (0.2 + mass * (ROCKER / 2) ** 2) * r**2
    )
    depth = COUPLER_MASS * (length * np.sin(angle) + half.imag) + mass * ROCKER / 2 * np.sin(rocker)
    return inertia, -GRAVITY * depth


def branch_of(q: np.ndarray, length: np.ndarray) -> np.ndarray:
    return np.sign(np.sin(q[..., 0] + q[..., 1] - np.angle(BASE - length * np.exp(1j * q[..., 0]))))


def test_velocities_of_each_length_are_those_by_hand(bar: wt.System, motion: Any) -> None:
    q, _, _ = motion
    v = bar.consistent_velocities(q, {"A": 1.3}, parameters={"crank length": CRANKS})
    _, _, coupler, rocker = by_hand(CRANKS, q[:, 0], branch_of(q, CRANKS))
    expected = 1.3 * np.stack([np.ones(6), coupler - 1, rocker - coupler, rocker], axis=-1)
    assert np.abs(v - expected).max() < CLOSED


def test_efforts_of_each_length_and_mass_are_those_of_the_reduced_equation(bar: wt.System, motion: Any) -> None:
    q, v, a = motion
    masses = np.array([[1.0], [2.5]])
    given = {"crank length": CRANKS, "rocker mass": masses}
    tau = bar.inverse_dynamics(q, v, a, actuators=["A"], parameters=given)
    assert tau.shape == (2, 6, 4)
    assert not tau[..., 1:].any()
    angle, branch, h = q[:, 0], branch_of(q, CRANKS), 1e-5
    inertia, _ = reduced(CRANKS, angle, branch, masses)
    (J1, V1), (J0, V0) = (reduced(CRANKS, angle + sign * h, branch, masses) for sign in (1, -1))
    slope, pull = (J1 - J0) / (2 * h), (V1 - V0) / (2 * h)
    expected = inertia * a[:, 0] + slope * v[:, 0] ** 2 / 2 + pull
    assert np.abs(tau[..., 0] - expected).max() < DIFFERENCE * np.abs(expected).max()


def test_projections_are_those_of_one_by_one(bar: wt.System, motion: Any) -> None:
    q, v, a = motion
    given = {"crank length": CRANKS}
    rng = np.random.default_rng(0)
    guess = rng.normal(size=(6, 4))
    for hold in (None, ["A"]):
        found = bar.consistent_velocities(q, guess, hold=hold, parameters=given)
        assert (found == one_by_one(bar.consistent_velocities, q, guess, hold=hold)).all()
        found = bar.consistent_accelerations(q, v, guess, hold=hold, parameters=given)
        assert (found == one_by_one(bar.consistent_accelerations, q, v, guess, hold=hold)).all()
    for actuators in (None, ["B"], ["A", "D"]):
        efforts = bar.inverse_dynamics(q, v, a, actuators=actuators, parameters=given)
        alone = one_by_one(bar.inverse_dynamics, q, v, a, actuators=actuators)
        assert np.abs(efforts - alone).max() < ROUNDING * np.abs(alone).max()


@pytest.mark.parametrize("call", ["closure_residual", "closure_jacobian"])
def test_rows_of_the_closures_take_many_parameters_at_one_configuration(call: str, bar: wt.System) -> None:
    found = getattr(bar, call)(bar.q0, parameters={"crank length": CRANKS})
    alone = np.array([getattr(bar, call)(bar.q0, parameters={"crank length": length}) for length in CRANKS])
    assert found.shape == alone.shape
    assert np.abs(found - alone).max() < ROUNDING
    assert np.abs(found[0] - found[-1]).max() > 0.1


def test_leading_sizes_broadcast(bar: wt.System, motion: Any) -> None:
    q, _, _ = motion
    guess = np.random.default_rng(1).normal(size=(3, 1, 4))
    found = bar.consistent_velocities(q, guess, parameters={"crank length": CRANKS})
    assert found.shape == (3, 6, 4)
    for row, one in zip(found, guess, strict=True):
        assert (row == one_by_one(bar.consistent_velocities, q, np.tile(one, (6, 1)))).all()
    one = bar.consistent_velocities(q[2], {"A": 1.0}, parameters={"crank length": np.full(2, CRANKS[2])})
    assert one.shape == (2, 4)
    assert (one[0] == one[1]).all()
    nothing = {"crank length": np.zeros(0)}
    assert bar.consistent_velocities(bar.q0, parameters=nothing).shape == (0, 4)
    assert bar.inverse_dynamics(bar.q0, bar.v0, parameters=nothing).shape == (0, 4)


def test_a_prescribed_joint_moves_each_length(motion: Any) -> None:
    s, (q, v, a) = described(prescribed=True).build(guess={"A": 1.0, "B": -0.7}), motion
    efforts = s.inverse_dynamics(q, v, a, actuators=["A"], parameters={"crank length": CRANKS})
    alone = one_by_one(s.inverse_dynamics, q, v, a, actuators=["A"])
    assert np.abs(efforts - alone).max() < ROUNDING * np.abs(alone).max()


def test_a_tree_gives_each_state_its_own() -> None:
    m = wt.Mechanism("pendulum")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(m.parameter("length", 1.0), 2.0)), axis="y")
    s = m.build()
    given = {"length": np.array([1.0, 2.0, 3.0])}
    assert s.consistent_velocities(s.q0, [2.0], parameters=given).tolist() == [[2.0]] * 3
    assert s.consistent_accelerations(s.q0, s.v0, [2.0], parameters=given).tolist() == [[2.0]] * 3
    with pytest.raises(wt.StateError, match=r"do not fit together: q \(2, 1\).*parameters \(3, 1\)"):
        s.consistent_velocities(np.zeros((2, 1)), parameters=given)


def test_what_is_wrong_is_named_with_its_state(bar: wt.System, motion: Any) -> None:
    q, v, a = motion
    given = {"crank length": CRANKS}
    with pytest.raises(wt.StateError, match=r"do not fit together: q \(2, 4\).*parameters \(6, 2\)"):
        bar.consistent_velocities(q[:2], parameters=given)
    with pytest.raises(wt.StateError, match=r'do not fit together: "crank length" \(6,\), "rocker mass" \(2,\)'):
        bar.inverse_dynamics(q, v, a, parameters=given | {"rocker mass": [1.0, 2.0]})
    other = CRANKS.copy()
    other[3] += 0.1
    with pytest.raises(wt.StateError, match="in state 3: the state leaves the loop"):
        bar.inverse_dynamics(q, v, a, parameters={"crank length": other})
    other[3] = np.nan
    with pytest.raises(wt.StateError, match='"crank length" in state 3 is nan'):
        bar.consistent_velocities(q, parameters={"crank length": other})
    slow = v.copy()
    slow[4, 1] += 0.5
    with pytest.raises(wt.AssemblyError, match="in state 4: no velocities with these held"):
        bar.consistent_velocities(q, slow, hold=["A", "B", "C", "D"], parameters=given)
    q = q.copy()
    q[1, 0] = np.inf
    with pytest.raises(wt.StateError, match=r"q\[0\] in state 1 is inf"):
        bar.consistent_velocities(q, parameters=given)
