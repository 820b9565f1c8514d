"""Placements, against 4 x 4 matrices of NumPy."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whippletree.errors import ModelError
from whippletree.spatial.placement import Placement

seeds = st.integers(0, 2**32 - 1)


def random_pose(seed):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    pose = np.eye(4)
    pose[:3, :3] = Q * np.sign(np.linalg.det(Q))
    pose[:3, 3] = rng.normal(size=3)
    return pose


@given(seeds)
def test_a_matrix_comes_back(seed):
    pose = random_pose(seed)
    assert np.allclose(Placement.from_matrix(pose).matrix(), pose, rtol=0, atol=1e-15)


@given(seeds, seeds)
def test_composing_is_multiplying(a, b):
    A, B = random_pose(a), random_pose(b)
    product = Placement.from_matrix(A) @ Placement.from_matrix(B)
    assert np.allclose(product.matrix(), A @ B, rtol=0, atol=1e-14)


@given(seeds)
def test_the_inverse_undoes(seed):
    pose = random_pose(seed)
    placement = Placement.from_matrix(pose)
    assert np.allclose(placement.inverse().matrix(), np.linalg.inv(pose), rtol=0, atol=1e-13)
    assert np.allclose((placement @ placement.inverse()).matrix(), np.eye(4), rtol=0, atol=1e-14)


def test_a_point_may_hold_parameters():
    length = ca.SX.sym("length")
    quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    placement = Placement(quarter, (length, 0, 1)) @ Placement(point=(2 * length, 0, 0))
    x, y, z = placement.point
    assert ca.is_equal(x, length)
    value = ca.Function("y", [length], [y])(3.0)
    assert float(value) == 6.0
    assert z == 1.0
    with pytest.raises(ModelError, match="parameters"):
        placement.matrix()


def test_entries_are_plain_floats_whatever_was_given():
    placement = Placement(np.eye(3, dtype=int), np.array([1, 2, 3], dtype=np.int8))
    assert all(type(entry) is float for entry in placement.entries())
    assert Placement.of_entries(placement.entries()) == placement


def test_placements_compare_without_asking_symbols():
    p, q = ca.SX.sym("p"), ca.SX.sym("p")
    assert Placement(point=(p, 0, 0)) == Placement(point=(p, 0, 0))
    assert Placement(point=(p, 0, 0)) != Placement(point=(q, 0, 0))
    assert Placement(point=(0, 0, -0.0)) == Placement()
    assert len({Placement(), Placement.identity(), Placement(point=(p, 0, 0))}) == 2
    assert Placement() != "placement"


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        Placement().point = (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("pose", "words"),
    [
        (np.eye(3), "4 x 4"),
        (np.diag([1, 1, 1, 2]), "last row"),
        (np.diag([1, 1, -1, 1]), "right-handed"),
        (np.diag([2, 1, 1, 1]), "orthonormal"),
        (np.full((4, 4), np.nan), "finite"),
        (ca.SX.eye(4) * ca.SX.sym("s"), "last row"),
        ([[1, 0, 0], [0, 1]], "4 x 4"),
        (3.0, "4 x 4"),
    ],
)
def test_what_is_not_a_pose_is_refused_in_words(pose, words):
    with pytest.raises(ModelError, match=words):
        Placement.from_matrix(pose)


def test_a_placement_composes_only_with_a_placement():
    with pytest.raises(TypeError):
        Placement() @ np.eye(4)
