"""Shifts, inertias, vectors and small solves against plain dense matrices in NumPy.

With R the child's axes and p its origin in the parent's frame, motions go outward by
X = [[R^T, 0], [-R^T p~, R^T]], forces inward by X^T, inertias inward by X^T P X.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from support.random_trees import random_mass_properties, random_rotation
from whippletree.spatial import (
    ArticulatedInertia,
    RigidInertia,
    Rotation,
    Shift,
    Translation,
    Turn,
    axis_angle,
    centripetal,
    cross,
    mirror,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    rotation_of_quaternion,
    skew,
    stack,
)
from whippletree.symbolic.dense_factors import factor, solve_factored

Array = np.ndarray

rng = np.random.default_rng(2024)
ANGLE = 0.83
TURN = np.array([[np.cos(ANGLE), -np.sin(ANGLE), 0], [np.sin(ANGLE), np.cos(ANGLE), 0], [0, 0, 1]])
ROTATION, OTHER = random_rotation(rng), random_rotation(rng)
POINT, FAR = np.array([0.3, -0.7, 0.45]), np.array([-1.2, 0.1, 0.6])
COLUMNS = rng.normal(size=(6, 4))


def dense(x: ca.SX) -> Array:
    """The numbers of a constant expression."""
    return ca.DM(ca.densify(ca.SX(x))).full()


def tilde(p: Array) -> Array:
    x, y, z = p
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def outward(R: Array, p: Array) -> Array:
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ tilde(p), R.T]])


def turn() -> Turn:
    return Turn(ca.SX(np.cos(ANGLE)), ca.SX(np.sin(ANGLE)))


SHIFTS = {
    "translation": (Translation(ca.SX(POINT)), np.eye(3), POINT),
    "rotation": (Rotation(ca.SX(ROTATION)), ROTATION, np.zeros(3)),
    "turn": (turn(), TURN, np.zeros(3)),
    "product": (
        Shift(
            (
                Translation(ca.SX(POINT)),
                Rotation(ca.SX(ROTATION)),
                turn(),
                Translation(ca.SX(FAR)),
                Rotation(ca.SX(OTHER)),
            )
        ),
        ROTATION @ TURN @ OTHER,
        POINT + ROTATION @ TURN @ FAR,
    ),
    "nothing": (Shift(()), np.eye(3), np.zeros(3)),
}
shifts = pytest.mark.parametrize("name", SHIFTS)


def rigid() -> tuple[RigidInertia, Array]:
    own = random_mass_properties(np.random.default_rng(3))
    m, c = own["mass"], own["com"]
    J = own["inertia"] + m * (c @ c * np.eye(3) - np.outer(c, c))
    matrix = np.block([[J, m * tilde(c)], [-m * tilde(c), m * np.eye(3)]])
    return RigidInertia(ca.SX(m), ca.SX(m * c), ca.SX(J)), matrix


def articulated() -> tuple[ArticulatedInertia, Array]:
    root = np.random.default_rng(4).normal(size=(6, 6))
    matrix = root @ root.T
    return ArticulatedInertia.of_matrix(ca.SX(matrix)), matrix


def matrix_of(inertia: RigidInertia | ArticulatedInertia) -> Array:
    """The 6 x 6 matrix, read off by multiplying unit motions."""
    return dense(inertia.times(ca.densify(ca.SX.eye(6))))


PRINCIPAL = [(1.0, 2.0, 4.0), (3.0, 3.0, 0.5), (0.5, 3.0, 3.0), (3.0, 0.5, 3.0), (2.0, 2.0, 2.0)]


@pytest.mark.parametrize("principal", PRINCIPAL)
def test_principal_axes_are_rotated(principal: tuple[float, float, float]) -> None:
    J, x = np.diag(principal), ca.SX.sym("x", 3, 3)
    turned = RigidInertia(ca.SX(2), ca.SX.zeros(3), ca.SX(ca.DM(J))).rotated(x).J
    values = ca.Function("J", [x], [turned])(ROTATION).full()
    np.testing.assert_allclose(values, ROTATION @ J @ ROTATION.T, atol=1e-14)
    assert (values == values.T).all()


@shifts
def test_motions_go_outward(name: str) -> None:
    shift, R, p = SHIFTS[name]
    np.testing.assert_allclose(dense(shift.motion(ca.SX(COLUMNS))), outward(R, p) @ COLUMNS, atol=1e-14)
    one = COLUMNS[:, :1]
    np.testing.assert_allclose(dense(shift.motion(ca.SX(one))), outward(R, p) @ one, atol=1e-14)


@shifts
def test_forces_come_inward(name: str) -> None:
    shift, R, p = SHIFTS[name]
    np.testing.assert_allclose(dense(shift.force(ca.SX(COLUMNS))), outward(R, p).T @ COLUMNS, atol=1e-14)


@shifts
@pytest.mark.parametrize("make", [rigid, articulated])
def test_inertias_come_inward(name: str, make: object) -> None:
    shift, R, p = SHIFTS[name]
    inertia, matrix = make()
    moved = matrix_of(shift.inertia(inertia))
    np.testing.assert_allclose(moved, outward(R, p).T @ matrix @ outward(R, p), atol=5e-14)
    assert np.array_equal(moved, moved.T)


@shifts
def test_accelerations_go_outward_with_their_centripetal_part(name: str) -> None:
    shift, R, p = SHIFTS[name]
    w, alpha = np.array([0.4, -1.1, 0.9]), COLUMNS[:, 0]
    rate, carried = shift.carry(ca.SX(w), ca.SX(alpha))
    expected = outward(R, p) @ alpha
    expected[3:] += R.T @ np.cross(w, np.cross(w, p))
    np.testing.assert_allclose(dense(rate).ravel(), R.T @ w, atol=1e-15)
    np.testing.assert_allclose(dense(carried).ravel(), expected, atol=1e-14)


@shifts
def test_the_inverse_leads_back(name: str) -> None:
    shift, R, p = SHIFTS[name]
    back = shift.inverse()
    np.testing.assert_allclose(dense(back.motion(shift.motion(ca.SX(COLUMNS)))), COLUMNS, atol=1e-14)
    np.testing.assert_allclose(dense(back.motion(ca.SX(COLUMNS))), outward(R.T, -R.T @ p) @ COLUMNS, atol=1e-14)


@shifts
def test_axes_and_origin(name: str) -> None:
    shift, R, p = SHIFTS[name]
    whole = shift if isinstance(shift, Shift) else Shift((shift,))
    np.testing.assert_allclose(dense(whole.rotation()), R, atol=1e-15)
    np.testing.assert_allclose(dense(whole.position()).ravel(), p, atol=1e-15)


def test_factors_that_do_nothing_are_left_out() -> None:
    kept = Shift.of(Translation(ca.SX.zeros(3)), Rotation(ca.densify(ca.SX.eye(3))), Translation(ca.SX([0, 0, 1])))
    assert len(kept.factors) == 1


@pytest.mark.parametrize("make", [rigid, articulated])
def test_inertia_times_motion(make: object) -> None:
    inertia, matrix = make()
    np.testing.assert_allclose(dense(inertia.times(ca.SX(COLUMNS))), matrix @ COLUMNS, atol=2e-14)
    np.testing.assert_allclose(matrix_of(inertia + inertia), 2 * matrix, atol=2e-14)
    assert not matrix_of(type(inertia).zero()).any()


def test_a_rigid_inertia_in_the_general_form() -> None:
    inertia, matrix = rigid()
    np.testing.assert_allclose(dense(inertia.articulated().matrix()), matrix, atol=1e-15)


@pytest.mark.parametrize("make", [rigid, articulated])
@pytest.mark.parametrize("angle", [0.0, ANGLE, np.pi / 2, 3.0])
def test_turned_is_rotated_about_z(make: object, angle: float) -> None:
    inertia, _ = make()
    c, s = ca.SX(np.cos(angle)), ca.SX(np.sin(angle))
    expected = matrix_of(inertia.rotated(axis_angle(c, s)))
    np.testing.assert_allclose(matrix_of(inertia.turned(c, s)), expected, atol=2e-14)


def test_gyroscopic_force() -> None:
    inertia, matrix = rigid()
    w = np.array([0.4, -1.1, 0.9])
    J, h = matrix[:3, :3], np.array([matrix[2, 4], matrix[0, 5], matrix[1, 3]])
    expected = np.concatenate([np.cross(w, J @ w), np.cross(w, np.cross(w, h))])
    got = dense(inertia.gyroscopic(centripetal(ca.SX(w)))).ravel()
    np.testing.assert_allclose(got, expected, atol=1e-14)


def test_centripetal_field() -> None:
    w, dw = np.array([0.4, -1.1, 0.9]), np.array([-0.2, 0.5, 1.3])
    np.testing.assert_allclose(dense(centripetal(ca.SX(w))), tilde(w) @ tilde(w), atol=1e-15)
    np.testing.assert_allclose(dense(centripetal(ca.SX(w), ca.SX(dw))), tilde(dw) + tilde(w) @ tilde(w), atol=1e-15)


def test_vectors() -> None:
    a, b = COLUMNS[:3, 0], COLUMNS[:3]
    np.testing.assert_allclose(dense(skew(ca.SX(a))), tilde(a), atol=0)
    np.testing.assert_allclose(dense(cross(ca.SX(a), ca.SX(b))), tilde(a) @ b, atol=1e-15)
    np.testing.assert_allclose(dense(cross(ca.SX(a), ca.SX(b[:, 1]))).ravel(), np.cross(a, b[:, 1]), atol=1e-15)
    assert stack(ca.SX(2, 1), ca.SX([1])).is_dense()
    lower = np.tril(COLUMNS[:4, :4])
    assert np.array_equal(dense(mirror(ca.SX(COLUMNS[:4, :4]))), lower + np.tril(lower, -1).T)


@pytest.mark.parametrize("n", range(1, 7))
def test_small_solves(n: int) -> None:
    root = np.random.default_rng(n).normal(size=(n, n))
    A, b = root @ root.T + np.eye(n), COLUMNS[:n]
    L, reciprocals = factor(ca.SX(A))
    unit = dense(L)
    assert np.array_equal(np.tril(unit), unit)
    diagonal = np.diag([1 / float(d) for d in reciprocals])
    np.testing.assert_allclose(unit @ diagonal @ unit.T, A, atol=1e-13)
    np.testing.assert_allclose(dense(solve_factored((L, reciprocals), ca.SX(b))), np.linalg.solve(A, b), atol=1e-13)


def test_the_factorisation_reads_the_lower_half_only() -> None:
    A = np.array([[4.0, np.nan], [2.0, 3.0]])
    np.testing.assert_allclose(dense(factor(ca.SX(A))[0]), [[1, 0], [0.5, 1]])


def test_quaternions() -> None:
    a, b = (x / np.linalg.norm(x) for x in np.random.default_rng(5).normal(size=(2, 4)))
    both = dense(rotation_of_quaternion(quaternion_product(ca.SX(a), ca.SX(b))))
    one, other = dense(rotation_of_quaternion(ca.SX(a))), dense(rotation_of_quaternion(ca.SX(b)))
    np.testing.assert_allclose(both, one @ other, atol=1e-15)
    # v' = q (0, v) q*
    v, conjugate = np.array([0.0, 1.0, -2.0, 0.5]), a * [1, -1, -1, -1]
    turned = quaternion_product(quaternion_product(ca.SX(a), ca.SX(v)), ca.SX(conjugate))
    np.testing.assert_allclose(one @ v[1:], dense(turned).ravel()[1:], atol=1e-15)


@pytest.mark.parametrize("length", [0.0, 1e-200, 1e-9, 0.999e-4, 1.001e-4, 0.5, 3.0, np.pi])
def test_rotation_vectors(length: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    w = length * axis
    e = dense(quaternion_exp(ca.SX(w))).ravel()
    expected = np.concatenate([[np.cos(length / 2)], np.sin(length / 2) * axis])
    assert abs(e[0] - expected[0]) <= 4e-16  # of a unit quaternion
    np.testing.assert_allclose(e[1:], expected[1:], rtol=1e-15)
    np.testing.assert_allclose(dense(quaternion_log(ca.SX(e))).ravel(), w, rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(np.abs(dense(quaternion_log(ca.SX(-e))).ravel()), np.abs(w), rtol=1e-15, atol=1e-16)
