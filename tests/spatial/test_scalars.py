"""Numbers as people give them."""

import math
from decimal import Decimal
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from whippletree.errors import ModelError
from whippletree.spatial.scalars import number, read_matrix, scalar, shown, vector


@pytest.mark.parametrize(
    "value",
    [
        2,
        2.0,
        np.float32(2),
        np.int8(2),
        np.uint64(2),
        np.array(2.0),
        Fraction(2),
        Decimal(2),
        ca.SX(2),
        ca.DM(2),
    ],
)
def test_all_kinds_of_numbers_become_floats(value):
    read = scalar(value, "mass")
    assert type(read) is float
    assert read == 2.0


def test_negative_zero_is_zero():
    assert math.copysign(1.0, scalar(-0.0, "x")) == 1.0
    assert math.copysign(1.0, scalar(-ca.SX(0), "x")) == 1.0
    assert math.copysign(1.0, vector((1.0, -0.0, 0), "x")[1]) == 1.0


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        None,
        "2",
        b"2",
        2 + 0j,
        np.complex64(2),
        [2.0],
        np.array([2.0]),
        np.array("2"),
        np.array(True),
        np.timedelta64(2),
        np.datetime64("2020-01-01"),
        math.nan,
        -math.inf,
        10**400,
        np.longdouble("1e4000"),
        Decimal("nan"),
        ca.SX(math.nan),
        ca.SX.zeros(2),
        ca.DM.zeros(2),
        ca.MX.sym("x"),
        object(),
        {},
    ],
    ids=lambda value: shown(value)[:17],  # an address in an id would differ between the workers
)
def test_what_is_not_one_finite_number_is_refused(value):
    with pytest.raises(ModelError, match="mass"):
        scalar(value, "mass")


def test_parameters_stay_expressions_except_where_numbers_are_needed():
    x = ca.SX.sym("x")
    assert ca.is_equal(scalar(x, "mass"), x)
    with pytest.raises(ModelError, match="plain number"):
        number(x, "value")
    assert scalar(x - x, "mass") == 0.0


x = ca.SX.sym("x")


@pytest.mark.parametrize(
    "value",
    [[1, x, 3], (1, x, 3), ca.vertcat(1, x, 3), ca.horzcat(1, x, 3), np.array([1, x, 3], dtype=object)],
)
def test_vectors_may_hold_parameters_in_any_container(value):
    a, b, c = vector(value, "at")
    assert (a, c) == (1.0, 3.0)
    assert ca.is_equal(b, x)


def test_symbolic_matrices_are_read_by_rows():
    (a, b), (c, d) = read_matrix(ca.blockcat([[1, x], [3, 4]]), 2, "gain")
    assert (a, c, d) == (1.0, 3.0, 4.0)
    assert ca.is_equal(b, x)


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        (1, 2, 3, 4),
        np.zeros((3, 1)),
        np.zeros((1, 3)),
        "abc",
        b"abc",
        {1, 2, 3},
        {1: 1, 2: 2, 3: 3},
        3,
    ],
)
def test_what_is_not_three_numbers_is_refused(value):
    with pytest.raises(ModelError, match="at"):
        vector(value, "at")


def test_the_wrong_entry_is_named():
    with pytest.raises(ModelError, match=r"inertia\[1, 2\]"):
        read_matrix([[1, 0, 0], [0, 1, math.nan], [0, 0, 1]], 3, "inertia")
    with pytest.raises(ModelError, match=r"com\[2\] must be a number, got 'c'"):
        vector((0, 0, "c"), "com")


def test_anything_can_be_shown():
    class Mute:
        def __repr__(self):
            raise RuntimeError

    nested = []
    nested.append(nested)
    for value in (Mute(), [Mute()], nested, 10**10000, "a" * 10**6, np.zeros((100, 100)), "two\nlines"):
        assert len(shown(value)) < 200
        assert "\n" not in shown(value)


def test_a_number_too_large_for_a_float_is_called_infinite():
    with pytest.raises(ModelError, match="mass must be finite"):
        scalar(10**400, "mass")
