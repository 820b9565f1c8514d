"""Sine and cosine in the lanes, against mpmath.

mpmath takes some 10 us a value, so about 20 000 points go to it: those that are hard (near multiples of pi/2,
tiny, the edges) and a random sample. A million more are measured against the C library's 80-bit functions
where the processor has them; these are good to 1/1000 of our last place.
"""

from __future__ import annotations

import math
from functools import cache

import casadi as ca
import mpmath
import numpy as np
import pytest

from support.systems import bits, kernel_of, run_many, same_bits
from whippletree.kernels.kernel import Kernel, NotFiniteError
from whippletree.kernels.native import host
from whippletree.kernels.trig import FAST_LIMIT

FAR = [np.nextafter(1e6, 2e6), 1e6 + 1, 1e7, 12345678.9, 1e15, 2.0**53, 1e22, 1e100, 6e307, 1e308]


@cache
def kernel(angles: int) -> Kernel:
    """Return the kernel from angles to their sines, then their cosines."""
    x = ca.SX.sym("x", angles)
    return kernel_of(ca.Function("f", [x], [ca.vertcat(ca.sin(x), ca.cos(x))], ["x"], ["y"]))


def lanes(x: np.ndarray) -> np.ndarray:
    """Return sines and cosines (n, 2) by the lane kernel."""
    return run_many(kernel(1), x[:, None])[0]


def scalar(x: np.ndarray, angles: int = 1) -> np.ndarray:
    """Return sines and cosines (n, 2) by the kernel for one state, with one or several angles."""
    call = kernel(angles).entry
    assert call is not None
    padded = np.resize(x, -(-len(x) // angles) * angles).reshape(-1, angles)
    result = np.empty((len(padded), 2 * angles))
    for row, out in zip(padded, result, strict=True):
        assert call(out, row) == 0
    return np.stack([result[:, :angles].ravel(), result[:, angles:].ravel()], axis=1)[: len(x)]


def ulps(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the errors of sines and cosines in units of the last place of the exact value, by mpmath."""
    exact = np.empty((len(x), 2, 2))
    with mpmath.workprec(1200 if np.abs(x).max() > 1e30 else 250):
        for i, number in enumerate(x.tolist()):
            for k, value in enumerate(reversed(mpmath.cos_sin(number))):
                high = float(value)
                exact[i, k] = high, float(value - high)
    return np.abs((values - exact[..., 0]) - exact[..., 1]) / np.spacing(np.abs(exact[..., 0]))


def magnitudes(count: int, low: float, high: float, seed: int) -> np.ndarray:
    """Return random numbers of both signs, with random exponents between two powers of ten."""
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.uniform(low, high, count) * rng.choice([-1.0, 1.0], count)


def around(x: np.ndarray) -> np.ndarray:
    """Return numbers with their neighbours on both sides."""
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])


@cache
def multiples() -> np.ndarray:
    """Return the doubles closest to all multiples of pi/2 up to 1e6."""
    n = np.arange(1, int(FAST_LIMIT * 2 / np.pi) + 1, dtype=np.float64)
    return n * 1.5707963267948966


def nearest_multiples(count: int) -> np.ndarray:
    """Return the multiples that doubles come closest to: where reductions fail first."""
    x = multiples()
    both = np.abs(lanes(x)).min(axis=1)
    worst = x[np.argsort(both)[:count]]
    # our own kernel chose them: see that they are hard indeed
    assert min(abs(mpmath.sin(worst[0])), abs(mpmath.cos(worst[0]))) < 1e-15
    return np.where(np.arange(count) % 2 == 0, worst, -worst)


def edges() -> np.ndarray:
    """Return numbers at which something changes."""
    quarter = [k * np.pi / 4 for k in range(1, 40)]
    small = [2.0**-k for k in range(60)] + [1e-300, 2.2250738585072014e-308, 1e-310, 1.5e-323, 5e-324]
    return np.array([*quarter, *small, 1e6, np.nextafter(1e6, 0), 999999.5, 3.0, 22.0, 355.0, 710.0, 833719.0])


def test_one_ulp_up_to_the_limit():
    hard = around(np.concatenate([edges(), -edges(), nearest_multiples(1500)]))
    x = np.concatenate([hard[np.abs(hard) <= FAST_LIMIT], magnitudes(7000, -20, 6, 1), magnitudes(7000, -1, 6, 2)])
    errors = ulps(x, lanes(x))
    assert len(x) > 18_000
    assert errors.max() <= 1.0, (x[errors.max(axis=1).argmax()], errors.max())


def test_one_ulp_on_a_million_points():
    if np.finfo(np.longdouble).nmant != 63:
        pytest.skip("this processor has no 80-bit numbers to compare with")
    rng = np.random.default_rng(3)
    x = np.concatenate(
        [
            multiples(),
            rng.uniform(-1e6, 1e6, 200_000),
            rng.uniform(-7, 7, 200_000),
            magnitudes(200_000, -300, 6, 4),
        ]
    )
    values, wide = lanes(x), x.astype(np.longdouble)
    for i, exact in enumerate((np.sin(wide), np.cos(wide))):
        error = np.abs(values[:, i] - exact) / np.spacing(np.abs(exact.astype(np.float64)))
        assert error.max() <= 1.0, (x[error.argmax()], float(error.max()))


def test_beyond_the_limit_the_system_answers():
    x = np.array([*FAR, *magnitudes(1000, 6.0001, 308, 5)])
    x = np.concatenate([x, -x])
    values = lanes(x)
    own = np.array([[math.sin(a), math.cos(a)] for a in x])
    assert ((bits(values) == bits(own)) | (ulps(x, values) <= 1.0)).all()


@pytest.mark.parametrize("x", [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-200, 1e-9])
def test_tiny(x):
    for value in (x, -x):
        for result in (
            lanes(np.array([value])),
            scalar(np.array([value])),
            scalar(np.array([value, 1.0]), 2)[:1],
        ):
            assert same_bits(result[0], [value, 1.0])  # the sign of zero as well


def test_odd_and_even():
    x = magnitudes(20_000, -10, 20, 6)
    plus, minus = lanes(x), lanes(-x)
    assert same_bits(plus[:, 0], -minus[:, 0])
    assert same_bits(plus[:, 1], minus[:, 1])


@pytest.mark.parametrize("angles", [1, 2, 3, 7, 8, 9, 17])
def test_scalar_has_the_bits_of_the_lanes(angles):
    """One angle to a state is reduced alone; several share lanes."""
    x = np.concatenate([edges(), magnitudes(8000, -12, 7, 7), magnitudes(300, 6, 300, 8)])
    np.random.default_rng(9).shuffle(x)
    assert same_bits(scalar(x, angles), lanes(x))


@pytest.mark.parametrize("far", [1.5e6, -1e22, 1e308])
def test_a_far_lane_leaves_its_neighbours_alone(far):
    width = host().lanes
    near = magnitudes(width, -3, 6, 10)
    expected = lanes(near)
    for mask in range(1, 2**width):
        chosen = np.array([bool(mask >> i & 1) for i in range(width)])
        result = lanes(np.where(chosen, far, near))
        assert same_bits(result[~chosen], expected[~chosen])
        assert same_bits(result[chosen], np.broadcast_to([math.sin(far), math.cos(far)], (chosen.sum(), 2)))


def test_a_far_angle_leaves_the_others_of_its_state_alone():
    near = magnitudes(11, -3, 6, 11)
    expected = scalar(near, 11)
    for i in range(11):
        x = near.copy()
        x[i] = 1e10
        result = scalar(x, 11)
        assert same_bits(np.delete(result, i, 0), np.delete(expected, i, 0))
        assert same_bits(result[i], [math.sin(1e10), math.cos(1e10)])


def test_angles_that_wait_for_other_angles():
    x = ca.SX.sym("x", 3)
    y = ca.sin(ca.cos(x[0]) + x[1]) * ca.cos(ca.sin(ca.sin(x[2])))
    function = ca.Function("f", [x], [y], ["x"], ["y"])
    values = np.random.default_rng(12).normal(size=(100, 3))
    native = run_many(kernel_of(function), values)[0]
    np.testing.assert_allclose(native[:, 0], np.array(function(values.T)).ravel(), rtol=1e-14)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_noticed(bad):
    for position in range(11):
        x = np.zeros((11, 1))
        x[position] = bad
        with pytest.raises(NotFiniteError, match="input"):
            run_many(kernel(1), x)
    with pytest.raises(NotFiniteError, match="input"):
        kernel(1).one([np.array([bad])], [np.empty(2)])
    assert kernel(1).entry(np.empty(2), np.array([bad])) == 2


def test_an_infinity_on_the_way_is_noticed():
    x = ca.SX.sym("x")
    overflowing = kernel_of(ca.Function("f", [x], [ca.sin(x * 1e300)], ["x"], ["y"]))
    good, bad = np.array([1e-300]), np.array([1e10])
    run_many(overflowing, np.stack([good] * 9))
    with pytest.raises(NotFiniteError, match="result"):
        run_many(overflowing, np.stack([good] * 8 + [bad]))
    with pytest.raises(NotFiniteError, match="result"):
        overflowing.one([bad], [np.empty(1)])
    assert overflowing.entry(np.empty(1), bad) == 3
