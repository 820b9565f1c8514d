"""Splines against their defining conditions, solved here by dense algebra, and against closed forms."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.drivers import curve_of
from whippletree.elements.drivers.spline import ENDS
from whippletree.programs.lookup import lookup

Array = np.ndarray


def knots(n: int, ends: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    x, y = np.cumsum(rng.uniform(0.2, 1.5, n)), rng.normal(size=n)
    if ends == "periodic":
        y[-1] = y[0]
    return x, y


def by_conditions(x: Array, y: Array, ends: str) -> Array:
    """Coefficients (n - 1, 4) of the pieces in x - x_i, from one linear system of all conditions."""
    n = len(x)
    rows, right = [], []

    def at(piece: int, s: float, order: int) -> Array:
        row = np.zeros(4 * (n - 1))
        for k in range(order, 4):
            row[4 * piece + k] = np.prod(range(k - order + 1, k + 1)) * s ** (k - order)
        return row

    h = np.diff(x)
    for i in range(n - 1):
        rows += [at(i, 0.0, 0), at(i, h[i], 0)]
        right += [y[i], y[i + 1]]
    for i in range(n - 2):
        rows += [at(i, h[i], k) - at(i + 1, 0.0, k) for k in (1, 2)]
        right += [0.0, 0.0]
    last = n - 2
    conditions = {
        "natural": [at(0, 0.0, 2), at(last, h[-1], 2)],
        "clamped": [at(0, 0.0, 1), at(last, h[-1], 1)],
        "periodic": [at(0, 0.0, k) - at(last, h[-1], k) for k in (1, 2)],
        "not_a_knot": [at(0, 0.0, 3) - at(1, 0.0, 3), at(last - 1, 0.0, 3) - at(last, 0.0, 3)] if n > 3 else [],
        "four_points": [at(0, 0.0, 3), at(last, 0.0, 3)],
    }
    rows += conditions[ends]
    cubics = [np.polynomial.Polynomial.fit(x[four], y[four], 3) for four in (slice(4), slice(-4, None)) if n > 3]
    thirds = [float(cubic.deriv(3)(x[0])) for cubic in cubics] if ends == "four_points" else []
    right += thirds or [0.0, 0.0]
    return np.linalg.solve(np.array(rows), np.array(right)).reshape(n - 1, 4)


LEAST = {"natural": 2, "clamped": 2, "periodic": 3, "not_a_knot": 4, "four_points": 3}


@pytest.mark.parametrize(("ends", "n"), [(ends, n) for ends in ENDS for n in (2, 3, 4, 9, 40) if n >= LEAST[ends]])
def test_pieces_satisfy_the_conditions(ends: str, n: int) -> None:
    x, y = knots(n, ends)
    spline, pieces = wt.Spline(x, y, ends), by_conditions(x, y, ends)
    assert spline.table.entries[1:n, 1:] == pytest.approx(pieces, rel=1e-9, abs=1e-9)
    assert spline(x) == pytest.approx(y, abs=1e-12)


@pytest.mark.parametrize("ends", ENDS)
def test_expressions_have_continuous_derivatives(ends: str) -> None:
    x, y = knots(8, ends)
    spline = wt.Spline(x, y, ends)
    t = ca.SX.sym("t")
    f = spline(t)
    d = ca.jacobian(f, t)
    function = ca.Function("f", [t], [f, d, ca.jacobian(d, t)])
    inner = x if ends in ("natural", "periodic") else x[1:-1]  # where the acceleration has no jump
    for knot in inner:
        below, above = (np.array(function(knot + e)).ravel() for e in (-1e-9, 1e-9))
        assert below == pytest.approx(above, abs=1e-6)
    # derivatives are those of the numbers
    for at in np.random.default_rng(0).uniform(x[0] - 2, x[-1] + 2, 30):
        value, slope, bend = (float(part) for part in function(at))
        e = 1e-5
        assert value == pytest.approx(spline(at), abs=1e-12)
        assert slope == pytest.approx((spline(at + e) - spline(at - e)) / (2 * e), abs=1e-6)
        assert bend == pytest.approx((spline(at + e) - 2 * spline(at) + spline(at - e)) / e**2, abs=1e-3)


def test_beyond_the_ends() -> None:
    x, y = knots(6, "natural")
    e = 1e-6
    for ends in ("natural", "not_a_knot", "four_points"):  # straight on
        s = wt.Spline(x, y, ends)
        slope = (s(x[-1]) - s(x[-1] - e)) / e
        assert s(x[-1] + 10.0) == pytest.approx(y[-1] + 10.0 * slope, abs=1e-3)
    still = wt.Spline(x, y, "clamped")
    assert still([x[0] - 5.0, x[-1] + 5.0]).tolist() == [y[0], y[-1]]
    x, y = knots(6, "periodic")
    again, period = wt.Spline(x, y, "periodic"), x[-1] - x[0]
    at = np.linspace(x[0], x[-1], 50)
    assert again(at + 7 * period) == pytest.approx(again(at), abs=1e-10)
    assert again(at - 3 * period) == pytest.approx(again(at), abs=1e-10)


def test_a_cubic_is_met_exactly() -> None:
    x = np.array([-1.0, 0.0, 0.5, 2.0, 3.0])
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 0.25])
    spline = wt.Spline(x, cubic(x), "not_a_knot")
    at = np.linspace(-1, 3, 33)
    assert spline(at) == pytest.approx(cubic(at), abs=1e-12)


def test_many_knots() -> None:
    x = np.linspace(0.0, 100.0, 20_001)
    spline = wt.Spline(x, np.sin(x), "not_a_knot")
    at = np.random.default_rng(0).uniform(0, 100, 1000)
    assert spline(at) == pytest.approx(np.sin(at), abs=1e-10)


@pytest.mark.parametrize("ends", ENDS)
def test_splines_are_known_by_their_tables_and_pickle(ends: str) -> None:
    spline = wt.Spline(*knots(7, ends), ends)
    assert pickle.loads(pickle.dumps(spline)) == spline
    found = curve_of(lookup(spline.table))
    assert found is not None
    assert found.table.numbers.tobytes() == spline.table.numbers.tobytes()


@pytest.mark.parametrize(
    ("times", "values", "ends", "words"),
    [
        ([0, 1], [0, 1, 2], "natural", "2 times and 3 values"),
        ([0, 1, 1], [0, 1, 2], "natural", "must increase, but 1 comes after 1"),
        ([0], [0], "natural", "at least 2 knots"),
        ([0, 1, 2], [0, 1, 2], "not_a_knot", "at least 4 knots"),
        ([0, 1, 2], [0, 1, 2], "periodic", "begins with, but 2 is not 0"),
        ([0, 1], [0, np.nan], "natural", "values of a spline must be finite"),
        ([0, "b"], [0, 1], "natural", "times of a spline must be numbers"),
        ([[0, 1]], [0, 1], "natural", "numbers in a row"),
        ([0, 1], [0, 1], "round", "ends must be one of"),
        ([0, 1], [0, 1], None, "ends must be one of"),
        ([0, 1e-300], [0, 1e300], "natural", "not finite"),
    ],
)
def test_what_is_no_spline(times: Any, values: Any, ends: Any, words: str) -> None:
    with pytest.raises(wt.ModelError, match=words):
        wt.Spline(times, values, ends)


def test_what_a_spline_does_not_take() -> None:
    spline = wt.Spline([0, 1], [0, 1])
    with pytest.raises(wt.ModelError, match="MX"):
        spline(ca.MX.sym("t"))
    with pytest.raises(wt.ModelError, match="one expression"):
        spline(ca.SX.sym("t", 2))
