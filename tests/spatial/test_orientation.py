"""Axes and the frames around them, against what defines them."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whippletree.errors import ModelError
from whippletree.spatial.orientation import (
    axis_rotation,
    direction,
    perpendicular_frame,
    rotation_between,
    rotation_matrix,
)

X, Y, Z = np.eye(3)
components = st.floats(-1e3, 1e3).map(lambda x: 0.0 if abs(x) < 1e-3 else x)
axes = st.tuples(components, components, components).filter(any)


def assert_rotation(R, tolerance=1e-15):
    R = np.array(R)
    assert abs(R.T @ R - np.eye(3)).max() <= 4 * tolerance
    assert abs(np.linalg.det(R) - 1.0) <= 8 * tolerance


@pytest.mark.parametrize(
    ("axis", "columns"),
    [
        ("z", (X, Y, Z)),
        ("x", (Y, Z, X)),
        ("y", (Z, X, Y)),
        ("-z", (Y, X, -Z)),
        ("-x", (Z, Y, -X)),
        ("-y", (X, Z, -Y)),
    ],
)
def test_coordinate_axes_give_signed_permutations(axis, columns):
    R = axis_rotation(direction(axis))
    assert np.array_equal(R, np.stack(columns, axis=1))
    assert_rotation(R, 0.0)
    assert axis_rotation(direction(7.5 * columns[2])) == R


@given(axes)
def test_the_frame_of_an_axis_has_it_as_z(axis):
    R = np.array(axis_rotation(direction(axis)))
    assert_rotation(R)
    assert np.allclose(R[:, 2], np.array(axis) / np.linalg.norm(axis), rtol=0, atol=1e-15)


@pytest.mark.parametrize(("axis", "zeros"), [((0, 3, 4), 4), ((3, 0, -4), 4), ((1, 2, 0), 4), ((1, 2, 3), 1)])
def test_the_frame_of_an_axis_keeps_the_zeros_it_can(axis, zeros):
    assert np.sum(np.array(axis_rotation(direction(axis))) == 0.0) == zeros


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1.0, 1e200, 1.7e308])
def test_an_axis_may_have_any_length(size):
    assert np.allclose(direction((size, 0, -size)), np.array([1, 0, -1]) / math.sqrt(2), rtol=0, atol=2e-16)


@pytest.mark.parametrize("axis", [[0, 0, 2], (0, 0, 2), np.array([0, 0, 2]), np.float32([0, 0, 2]), ca.DM([0, 0, 2])])
def test_an_axis_may_be_any_list_of_three(axis):
    assert direction(axis) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ((0, 0, 0), "zero"),
        ((0, 0, math.nan), "finite"),
        ((0, math.inf, 0), "finite"),
        ((0, 1), "3 numbers"),
        ("w", '"x"'),
        (None, "3 numbers"),
        ((0, 0, True), "number"),
        ((0, 0, 1j), "number"),
        ((0, 0, ca.SX.sym("p")), "parameter"),
    ],
)
def test_what_is_not_an_axis_is_refused_in_words(axis, words):
    with pytest.raises(ModelError, match=words):
        direction(axis)


@given(axes, axes)
def test_the_smallest_rotation_takes_one_axis_to_the_other(a, b):
    a, b = direction(a), direction(b)
    R = np.array(rotation_between(a, b))
    assert_rotation(R)
    assert np.allclose(R @ a, b, rtol=0, atol=2e-15)
    # the angle of a rotation is in its trace, and the smallest one is the angle between the axes
    assert np.trace(R) == pytest.approx(1 + 2 * np.dot(a, b), abs=4e-15)


@pytest.mark.parametrize("off", [0.0, 1e-17, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
def test_the_smallest_rotation_between_nearly_opposite_axes(off):
    a = direction((1, 2, 3))
    b = direction((-1, -2 + off, -3))
    R = np.array(rotation_between(a, b))
    assert_rotation(R)
    assert np.allclose(R @ a, b, rtol=0, atol=1e-15)


def test_the_axes_of_a_universal_joint_must_be_perpendicular():
    R = perpendicular_frame(direction((1, 1, 0)), direction((-1, 1, 0)), "axes")
    assert_rotation(R)
    with pytest.raises(ModelError, match="45 degrees"):
        perpendicular_frame(direction("x"), direction((1, 1, 0)), "axes")


def test_single_precision_becomes_a_rotation_in_double():
    exact = np.array(axis_rotation(direction((1, 2, 3))))
    R = rotation_matrix(exact.astype(np.float32))
    assert_rotation(R)
    assert abs(np.array(R) - exact).max() < 1e-7
    assert rotation_matrix(R) == R


def test_a_quarter_turn_from_a_library_has_exact_zeros():
    c, s = math.cos(math.pi / 2), math.sin(math.pi / 2)
    assert c != 0.0
    assert rotation_matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]) == ((0, -1, 0), (1, 0, 0), (0, 0, 1))


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(4), "3 x 3"),
        (np.diag([1, 1, -1]), "right-handed"),
        (np.eye(3) * 1.001, "orthonormal"),
        (np.full((3, 3), 1e308), "orthonormal"),
        (np.full((3, 3), math.nan), "finite"),
        (np.zeros((3, 3)), "orthonormal"),
        (ca.SX.eye(3) * ca.SX.sym("p"), "parameter"),
        ("xyz", "3 x 3"),
        (None, "3 x 3"),
    ],
)
def test_what_is_not_a_rotation_is_refused_in_words(matrix, words):
    with pytest.raises(ModelError, match=words):
        rotation_matrix(matrix)
