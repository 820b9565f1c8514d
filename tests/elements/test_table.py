"""Tables against NumPy's and SciPy's interpolation."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator, interp1d

import whippletree as wt
from whippletree.elements.drivers import curve_of
from whippletree.elements.drivers.table import KINDS
from whippletree.programs.lookup import lookup

Array = np.ndarray


def random_points(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Points with rises, falls and level stretches."""
    rng = np.random.default_rng([n, seed])
    return np.cumsum(rng.uniform(0.05, 1.5, n)) - 2.0, rng.integers(-3, 4, n) * rng.choice([1.0, 0.3])


def by_others(x: Array, y: Array, kind: str, at: Array) -> Array:
    inside = np.clip(at, x[0], x[-1])
    if kind == "hold":
        return np.asarray(interp1d(x, y, kind="previous")(inside))
    if kind == "linear":
        first, last = np.diff(y)[[0, -1]] / np.diff(x)[[0, -1]]
        return np.interp(at, x, y) + first * np.minimum(at - x[0], 0) + last * np.maximum(at - x[-1], 0)
    curve = PchipInterpolator(x, y)
    return np.asarray(curve(inside) + curve.derivative()(inside) * (at - inside))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 9, 40])
def test_a_table_is_read_as_others_read_it(kind: str, n: int) -> None:
    for seed in range(10):
        x, y = random_points(n, seed)
        table = wt.Table(x, y, kind)
        at = np.sort(np.concatenate([x, np.random.default_rng(1).uniform(x[0] - 2, x[-1] + 2, 100)]))
        assert table(at) == pytest.approx(by_others(x, y, kind, at), rel=1e-11, abs=1e-11)
        assert table(x).tolist() == y.tolist()  # at a point it is the value there


@pytest.mark.parametrize("kind", KINDS)
def test_expressions_have_the_values_and_slopes_of_the_numbers(kind: str) -> None:
    x, y = random_points(8)
    table = wt.Table(x, y, kind)
    t = ca.SX.sym("t")
    f = ca.Function("f", [t], [table(t), ca.jacobian(table(t), t)])
    for at in np.random.default_rng(2).uniform(x[0] - 2, x[-1] + 2, 40):
        value, slope = (float(part) for part in f(at))
        e = 1e-6
        assert value == pytest.approx(table(at), abs=1e-13)
        assert slope == pytest.approx((table(at + e) - table(at - e)) / (2 * e), abs=1e-6)


def test_monotone_values_stay_monotone_and_tiny_ones_keep_their_digits() -> None:
    x = np.array([0.0, 1.0, 1.1, 4.0, 4.2, 9.0])
    y = np.array([0.0, 1.0, 1.0, 1.5, 80.0, 81.0])
    at = np.linspace(-1.0, 10.0, 4001)
    assert np.diff(wt.Table(x, y, "pchip")(at)).min() >= -1e-13
    small = 1e-200  # the product of two slopes is zero by rounding
    inside = at[(at > 0) & (at < 9)]
    assert wt.Table(x, small * y, "pchip")(inside) / small == pytest.approx(PchipInterpolator(x, y)(inside), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_known_by_what_they_look_up_and_pickle(kind: str) -> None:
    table = wt.Table(*random_points(7), kind)
    assert pickle.loads(pickle.dumps(table)) == table
    assert curve_of(lookup(table.table)) == table


@pytest.mark.parametrize(
    ("x", "y", "kind", "words"),
    [
        ([0, 1], [0, 1, 2], "linear", "there are 2 x and 3 y"),
        ([0, 1, 1], [0, 1, 2], "hold", "the x of a table must increase, but 1 comes after 1"),
        ([0, 2, 1], [0, 1, 2], "pchip", "the x of a table must increase, but 1 comes after 2"),
        ([0], [0], "hold", "a table needs at least 2 points, got 1"),
        ([], [], "linear", "at least 2 points|numbers in a row"),
        ([0, 1], [0, np.nan], "linear", "the y of a table must be finite"),
        ([0, np.inf], [0, 1], "linear", "the x of a table must be finite"),
        ([0, "a"], [0, 1], "linear", "the x of a table must be numbers in a row"),
        ([[0, 1]], [0, 1], "linear", "numbers in a row"),
        (None, [0, 1], "linear", "numbers in a row"),
        ([0, 1], [0, 1], "cubic", "kind must be one of linear, pchip, hold, got"),
        ([0, 1], [0, 1], None, "kind must be one of"),
        ([0, 1e-300], [0, 1e300], "linear", "not finite"),
    ],
)
def test_what_is_no_table(x: Any, y: Any, kind: Any, words: str) -> None:
    with pytest.raises(wt.ModelError, match=words):
        wt.Table(x, y, kind)


@pytest.mark.parametrize("curve", [wt.Spline([0, 1], [0, 1]), wt.Table([0, 1], [0, 1], "hold")])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (ca.MX.sym("t"), "MX"),
        (ca.SX.sym("t", 2), "one expression"),
        ("a", "numbers"),
        (None, "numbers"),
        (np.nan, "finite"),
    ],
)
def test_what_a_curve_cannot_be_called_with(curve: Any, given: Any, words: str) -> None:
    with pytest.raises(wt.ModelError, match=words):
        curve(given)


def driven(position: Any) -> None:
    m = wt.Mechanism("m")
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.drive("motor", "x", position=position if isinstance(position, wt.Table) else position(m))


def test_a_motion_takes_no_table_with_jumps_or_corners() -> None:
    hold, linear, pchip = (wt.Table([0, 1, 3], [0, 2, 1], kind) for kind in ("hold", "linear", "pchip"))
    driven(pchip)
    with pytest.raises(wt.ModelError, match=r'"motor".*kind "hold", at whose points positions would have to jump'):
        driven(hold)
    with pytest.raises(wt.ModelError, match=r'kind "linear", at whose points velocities would .* take kind="pchip"'):
        driven(lambda m: 1 + 2 * linear(ca.sin(m.time)))
    m = wt.Mechanism("m")
    for name in "xyz":
        m.prismatic(name, m.ground, m.body(f"block {name}", mass=1.0), axis="x")
    with pytest.raises(wt.ModelError, match='kind "linear"'):
        m.closure("cam", m.coordinate("x") - linear(m.coordinate("y")))
    m.closure("cam", m.coordinate("x") - pchip(m.coordinate("y")))
    with pytest.raises(wt.ModelError, match=r'kind "hold", at whose points velocities .* take kind="linear" or'):
        m.closure("speed", m.rate("z") - hold(m.time))
    m.closure("speed", m.rate("z") - linear(m.time))
