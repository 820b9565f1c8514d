"""The hyperbolic tangent in the lanes and for one state, against mpmath."""

from __future__ import annotations

from functools import cache

import casadi as ca
import mpmath
import numpy as np
import pytest

from support.systems import kernel_of, run_many, same_bits
from whippletree.kernels.kernel import Kernel


@cache
def kernel() -> Kernel:
    x = ca.SX.sym("x")
    return kernel_of(ca.Function("f", [x], [ca.tanh(x)], ["x"], ["y"]))


def lanes(x: np.ndarray) -> np.ndarray:
    return run_many(kernel(), x[:, None])[0][:, 0]


def points() -> np.ndarray:
    rng = np.random.default_rng(4)
    steps = np.log(2) / 4 * np.arange(1, 116)  # where the multiple of ln 2 changes, with neighbours
    edges = np.array([20.0, 19.06, 22.0, 1.0, 0.5, 2.0**-27, 1e-300, 2.2250738585072014e-308, 5e-324, 710.0, 1e308])
    x = np.concatenate([steps, edges, 10 ** rng.uniform(-320, 3, 2000), rng.uniform(0, 22, 8000)])
    return np.concatenate([np.nextafter(x, 0), x, -x, np.nextafter(x, np.inf)])


def test_two_ulp_everywhere():
    x = points()
    x = x[np.isfinite(x)]
    values = lanes(x)
    with mpmath.workprec(200):
        exact = [mpmath.tanh(float(one)) if abs(one) > 1e-300 else mpmath.mpf(float(one)) for one in x]
        errors = [float(abs(mpmath.mpf(float(a)) - b)) for a, b in zip(values, exact, strict=True)]
    units = np.array(errors) / np.spacing(np.abs([float(one) for one in exact]))
    assert units.max() <= 2.0, (x[units.argmax()], units.max())
    assert np.abs(values).max() == 1.0


def test_one_state_has_the_bits_of_the_lanes():
    x = points()[:3000]
    x = np.array([0.0, -0.0, *x[np.isfinite(x)]])
    one, result = np.empty(len(x)), np.empty(1)
    for i, number in enumerate(x):
        kernel().one([np.array([number])], [result])
        one[i] = result[0]
    assert same_bits(one, lanes(x))
    assert same_bits(one[:2], [0.0, -0.0])


def test_it_never_falls_and_never_exceeds_one():
    x = np.concatenate([np.linspace(0, 21, 200_001), np.linspace(0, 1e-3, 10_001)])
    x.sort()
    values = lanes(x)
    assert (np.abs(values) <= 1.0).all()
    assert np.diff(values).min() > -3e-16


@pytest.mark.parametrize("wide", [1, 5])
def test_it_stands_among_others(wide):
    """Several tangents in one state, next to other functions."""
    x = ca.SX.sym("x", wide)
    function = ca.Function("f", [x], [ca.tanh(2 * x) * ca.sin(x) + ca.tanh(ca.tanh(x) - x)], ["x"], ["y"])
    values = np.random.default_rng(2).normal(size=(50, wide))
    found = run_many(kernel_of(function), values)[0]
    expected = np.array(function(values.T)).T
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
