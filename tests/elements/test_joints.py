"""The contract of a joint, for every type in one list and for each walked backward.

Everything follows from the shift: velocities and accelerations of the child are its exact derivatives.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from support.joints import JOINTS
from whippletree.elements.joints import Free, Joint, Reversed

Array = np.ndarray

BOTH_WAYS = JOINTS + [Reversed(joint) for joint in JOINTS]


def label(joint: Joint) -> str:
    return f"{type(joint).__name__.lower()} {joint.kind}" if isinstance(joint, Reversed) else repr(joint)


both_ways = pytest.mark.parametrize("joint", BOTH_WAYS, ids=label)
moving = pytest.mark.parametrize("joint", [joint for joint in JOINTS if joint.nv], ids=label)


def numbers(expression: ca.SX, *pairs: tuple[ca.SX, Array]) -> Array:
    """The value of an expression."""
    f = ca.Function("f", [symbol for symbol, _ in pairs], [ca.densify(expression)])
    return f(*(value for _, value in pairs)).full()


def axial(W: ca.SX) -> ca.SX:
    return ca.vertcat(W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]) / 2


class Along:
    """A joint at a symbolic state, with derivatives along its motion at constant velocities."""

    def __init__(self, joint: Joint, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.q, self.v = ca.SX.sym("q", joint.nq), ca.SX.sym("v", joint.nv)
        self.at = (self.q, joint.random(rng)), (self.v, rng.uniform(-1.0, 1.0, joint.nv))
        self.x = joint.configuration(self.q)
        shift = joint.shift(self.x)
        self.R, self.p = shift.rotation(), shift.position()
        self.rates = joint.rate_map(self.q) @ self.v if joint.nv else ca.SX.zeros(0)

    def change(self, expression: ca.SX) -> ca.SX:
        if self.q.numel() == 0:
            return ca.SX.zeros(*expression.shape)
        flat = ca.jtimes(ca.vec(ca.densify(expression)), self.q, self.rates)
        return ca.reshape(flat, *expression.shape)

    def value(self, expression: ca.SX) -> Array:
        return numbers(expression, *self.at)


@both_ways
def test_the_joint_map_is_the_derivative_of_the_shift(joint: Joint) -> None:
    for seed in range(3):
        s = Along(joint, seed)
        twist = ca.vertcat(axial(s.R.T @ s.change(s.R)), s.R.T @ s.change(s.p))
        H = joint.joint_map(s.x)
        assert H.shape == (6, joint.nv)
        np.testing.assert_allclose(s.value(H @ s.v), s.value(twist), rtol=0, atol=5e-15)


@both_ways
def test_the_joint_bias_is_the_second_derivative_at_constant_velocities(joint: Joint) -> None:
    for seed in range(3):
        s = Along(joint, seed)
        turning = s.change(s.change(s.R) @ s.R.T)  # of the angular velocity in parent axes
        acceleration = ca.vertcat(s.R.T @ axial(turning), s.R.T @ s.change(s.change(s.p)))
        bias = joint.joint_bias(s.x, s.v)
        assert bias.shape == (6, 1)
        np.testing.assert_allclose(s.value(bias), s.value(acceleration), rtol=0, atol=1e-14)


@both_ways
def test_the_shift_is_a_rigid_motion(joint: Joint) -> None:
    s = Along(joint)
    R = s.value(s.R)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) > 0.0


@both_ways
def test_joint_frames_coincide_at_neutral(joint: Joint) -> None:
    s = Along(joint)
    s.at = (s.q, joint.neutral()), s.at[1]
    assert np.array_equal(s.value(s.R), np.eye(3))
    assert not s.value(s.p).any()


@pytest.mark.parametrize("joint", JOINTS, ids=label)
def test_reversed_is_the_inverse_with_the_same_numbers(joint: Joint) -> None:
    forth, back = Along(joint), Along(Reversed(joint))
    R, p = forth.value(forth.R), forth.value(forth.p)
    np.testing.assert_allclose(back.value(back.R), R.T, atol=1e-15)
    np.testing.assert_allclose(back.value(back.p), -R.T @ p, atol=1e-15)
    other = Reversed(joint)
    assert (other.kind, other.nq, other.nv) == (joint.kind, joint.nq, joint.nv)
    assert other.n_configuration == joint.n_configuration
    rng = np.random.default_rng
    assert np.array_equal(other.random(rng(3)), joint.random(rng(3)))
    assert np.array_equal(other.neutral(), joint.neutral())
    q, v = joint.random(rng(1)), rng(2).uniform(-1, 1, joint.nv)
    if joint.nv:
        assert np.array_equal(integrate(other, q, v), integrate(joint, q, v))
        assert np.array_equal(difference(other, q, joint.neutral()), difference(joint, q, joint.neutral()))


@pytest.mark.parametrize("joint", JOINTS, ids=label)
def test_sizes_and_labels(joint: Joint) -> None:
    q = ca.SX.sym("q", joint.nq)
    assert joint.configuration(q).numel() == joint.n_configuration
    assert len(joint.position_labels) == joint.nq
    assert len(joint.velocity_labels) == joint.nv
    assert joint.neutral().shape == (joint.nq,)
    assert joint.random(np.random.default_rng(0)).shape == (joint.nq,)
    if joint.nv:
        assert joint.rate_map(q).shape == (joint.nq, joint.nv)
    if joint.quaternion:
        assert abs(np.linalg.norm(joint.random(np.random.default_rng(1))[:4]) - 1.0) < 1e-15


@moving
def test_the_joint_map_is_exact_at_each_freedom(joint: Joint) -> None:
    """Against differences of the shift itself, with no derivative rule in between."""
    s = Along(joint)
    q = s.at[0][1]
    H = s.value(joint.joint_map(s.x))
    step = 1e-3
    place = ca.Function("place", [s.q], [s.R, s.p])
    R = place(q)[0].full()
    for k, unit in enumerate(np.eye(joint.nv)):
        # central differences of fourth order: the error is of the order of step^4 / 30
        moved = [place(integrate(joint, q, h * step * unit)) for h in (-2, -1, 1, 2)]
        weights = np.array([1, -8, 8, -1]) / (12 * step)
        dR = sum(w * m[0].full() for w, m in zip(weights, moved, strict=True))
        dp = sum(w * m[1].full().ravel() for w, m in zip(weights, moved, strict=True))
        W = R.T @ dR
        twist = np.concatenate([[W[2, 1], W[0, 2], W[1, 0]], R.T @ dp])
        np.testing.assert_allclose(twist, H[:, k], atol=2e-12)


# ---------------------------------------------------------------------------------------------------------
# The configuration manifold


def integrate(joint: Joint, q: Array, dq: Array) -> Array:
    a, b = ca.SX.sym("q", joint.nq), ca.SX.sym("d", joint.nv)
    return numbers(joint.integrate(a, b), (a, q), (b, dq)).ravel()


def difference(joint: Joint, q0: Array, q1: Array) -> Array:
    a, b = ca.SX.sym("a", joint.nq), ca.SX.sym("b", joint.nq)
    return numbers(joint.difference(a, b), (a, q0), (b, q1)).ravel()


STEPS = (
    0.0,
    1e-300,
    1e-160,
    1e-12,
    1e-8,
    0.9999e-4,
    1.0001e-4,
    2.0001e-4,
    1e-3,
    0.1,
    1.0,
    3.0,
    np.pi - 1e-3,
    np.pi - 1e-9,
)
"""Lengths of a step: none, tiny, on both sides of where the series ends, up to half a turn."""


@moving
@pytest.mark.parametrize("length", STEPS)
def test_difference_undoes_integrate(joint: Joint, length: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, step = joint.random(rng), rng.normal(size=joint.nv)
        turn = slice(0, 3) if joint.quaternion else slice(0, joint.nv)
        step *= length / np.linalg.norm(step[turn])
        moved = integrate(joint, q, step)
        if joint.quaternion:
            assert abs(np.linalg.norm(moved[:4]) - 1.0) < 1e-15
        np.testing.assert_allclose(difference(joint, q, moved), step, rtol=0, atol=4e-15 * max(1.0, length))


@moving
def test_integrate_undoes_difference(joint: Joint) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        q0, q1 = joint.random(rng), joint.random(rng)
        reached = integrate(joint, q0, difference(joint, q0, q1))
        if joint.quaternion and reached[:4] @ q1[:4] < 0.0:
            reached[:4] *= -1.0  # the same rotation
        np.testing.assert_allclose(reached, q1, rtol=0, atol=2e-15)


@moving
def test_the_difference_of_a_configuration_from_itself_is_zero(joint: Joint) -> None:
    q = joint.random(np.random.default_rng(9))
    np.testing.assert_allclose(difference(joint, q, q), 0.0, atol=4e-16)
    assert np.array_equal(integrate(joint, q, np.zeros(joint.nv)), q)


@pytest.mark.parametrize("joint", [joint for joint in JOINTS if joint.quaternion], ids=label)
def test_the_shorter_way_is_taken(joint: Joint) -> None:
    rng = np.random.default_rng(10)
    for angle in (np.pi + 1e-6, 4.0, 6.0):
        q, axis = joint.random(rng), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        step = np.zeros(joint.nv)
        step[:3] = angle * axis
        way = difference(joint, q, integrate(joint, q, step))
        np.testing.assert_allclose(way[:3], (angle - 2 * np.pi) * axis, atol=4e-15)
    other = q.copy()
    other[:4] *= -1.0
    np.testing.assert_allclose(difference(joint, q, other), 0.0, atol=4e-16)


@moving
def test_integrate_starts_along_the_rates(joint: Joint) -> None:
    q, step = ca.SX.sym("q", joint.nq), ca.SX.sym("d", joint.nv)
    start = ca.jacobian(joint.integrate(q, step), step)
    at = (q, joint.random(np.random.default_rng(11))), (step, np.zeros(joint.nv))
    np.testing.assert_allclose(numbers(start, *at), numbers(joint.rate_map(q), at[0]), atol=1e-16)


@pytest.mark.parametrize("joint", [joint for joint in JOINTS if joint.quaternion], ids=label)
def test_quaternions_turn_as_the_exponential_says(joint: Joint) -> None:
    """Rodrigues' formula, without quaternions."""
    rng = np.random.default_rng(12)
    s = Along(joint)
    rotation = ca.Function("R", [s.q], [s.R])
    q, w = joint.random(rng), rng.normal(size=3)
    angle = np.linalg.norm(w)
    x, y, z = w / angle
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    step = np.concatenate([w, np.zeros(joint.nv - 3)])
    got = rotation(integrate(joint, q, step)).full()
    np.testing.assert_allclose(got, rotation(q).full() @ turn, atol=2e-15)


@pytest.mark.parametrize("length", STEPS)
def test_a_free_joint_follows_a_screw_motion(length: float) -> None:
    """The exponential of the 4 x 4 matrix of a constant twist, summed as a series and squared."""
    rng = np.random.default_rng(13)
    joint, s = Free(), Along(Free())
    place = ca.Function("place", [s.q], [s.R, s.p])
    q, step = joint.random(rng), rng.normal(size=6)
    step[:3] *= length / np.linalg.norm(step[:3])
    (x, y, z), halvings = step[:3], 6
    twist = np.array([[0, -z, y, step[3]], [z, 0, -x, step[4]], [-y, x, 0, step[5]], [0, 0, 0, 0]]) / 2**halvings
    whole = term = np.eye(4)
    for k in range(1, 20):
        term = term @ twist / k
        whole = whole + term
    for _ in range(halvings):
        whole = whole @ whole
    (R0, p0), (R1, p1) = ([m.full() for m in place(at)] for at in (q, integrate(joint, q, step)))
    np.testing.assert_allclose(R1, R0 @ whole[:3, :3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(p1, p0 + R0 @ whole[:3, 3:], rtol=0, atol=2e-14)
