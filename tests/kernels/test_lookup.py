"""Tables in machine code, against NumPy's search and CasADi's evaluator."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.lowering import StraightLine
from whippletree.kernels.tape import read_tape
from whippletree.programs.lookup import LookupTable, lookup, picked, table_of

Array = np.ndarray


def table(n: int, m: int, seed: int) -> LookupTable:
    rng = np.random.default_rng(seed)
    return LookupTable(np.cumsum(rng.uniform(0.1, 2.0, n)), rng.normal(size=(n + 1, m)))


def kernel(function: ca.Function) -> Callable[..., Array]:
    """Return a function's machine code: of one state if its arguments are vectors, of many if they are rows."""
    sizes = [function.numel_in(i) for i in range(function.n_in())]
    inputs = tuple((f"x{i}", size) for i, size in enumerate(sizes))
    size = function.numel_out(0)
    code = Kernel("k", Signature(inputs, (("y", size),), (size,), ()), lambda: StraightLine(function), None)

    def call(*arguments: Array) -> Array:
        out = np.empty((*arguments[0].shape[:-1], size))
        if out.ndim == 1:
            code.one(arguments, [out])
        else:
            code.many(arguments, [out], len(out), 1)
        return out

    return call


@pytest.mark.parametrize("n", [2, 3, 7, 64, 1000])
@pytest.mark.parametrize("states", [1, 37])
def test_rows_are_those_that_numpy_finds(n: int, states: int) -> None:
    given = table(n, 3, n)
    x = ca.SX.sym("x", 1)
    code = kernel(ca.Function("f", [x], [picked(lookup(given), x)]))
    rng = np.random.default_rng(5)
    inside = rng.uniform(given.knots[0] - 1, given.knots[-1] + 1, states - min(n, states // 2))
    xs = np.concatenate([inside, given.knots[: states - inside.size]])  # some just at knots
    found = code(xs[:, None]) if states > 1 else code(xs)[None]
    assert (found == given.entries[np.searchsorted(given.knots, xs, "right")]).all()


def test_two_tables_and_arithmetic_around_them() -> None:
    first, second = table(20, 2, 1), table(5, 1, 2)
    x, y = ca.SX.sym("x", 1), ca.SX.sym("y", 1)
    row = picked(lookup(first), ca.sin(x) * 9 + 9)
    other = picked(lookup(second), row[0] + y)
    function = ca.Function("f", [x, y], [ca.vertcat(row[1] * x + 2.5, other, picked(lookup(first), y)[0])])
    code = kernel(function)
    rng = np.random.default_rng(0)
    xs, ys = rng.uniform(-5, 5, (50, 1)), rng.uniform(0, 20, (50, 1))
    expected = np.array([function(a, b).full().ravel() for a, b in zip(xs, ys, strict=True)])
    many = code(xs, ys)
    assert many == pytest.approx(expected, rel=1e-14)
    assert (np.array([code(a, b) for a, b in zip(xs, ys, strict=True)]) == many).all()
    assert len(read_tape(function).tables) == 2  # the first is there once, though it is called twice


def test_work_does_not_grow_with_the_table() -> None:
    x = ca.SX.sym("x")
    counts = [read_tape(ca.Function("f", [x], [picked(lookup(table(n, 4, 0)), x)])).count().total for n in (3, 3000)]
    assert counts[0] == counts[1] <= 6


def test_derivatives_are_those_between_knots() -> None:
    given = table(30, 3, 4)
    x = ca.SX.sym("x")
    row = picked(lookup(given), x)
    value = row[0] + row[1] * x + row[2] * x**3
    slope, bend = ca.jacobian(value, x), ca.jacobian(ca.jacobian(value, x), x)
    function = ca.Function("f", [x], [ca.vertcat(slope, bend, ca.gradient(value, x))])
    xs = np.random.default_rng(1).uniform(-1, given.knots[-1] + 1, 40)
    c = given.entries[np.searchsorted(given.knots, xs, "right")]
    expected = np.column_stack([c[:, 1] + 3 * c[:, 2] * xs**2, 6 * c[:, 2] * xs, c[:, 1] + 3 * c[:, 2] * xs**2])
    assert kernel(function)(xs[:, None]) == pytest.approx(expected, rel=1e-13)
    assert [function(a).full().ravel() for a in xs] == pytest.approx(expected, rel=1e-13)


def test_tables_survive_serialising() -> None:
    given = table(11, 3, 8)
    again = table_of(ca.Function.deserialize(lookup(given).serialize()))
    assert (again.knots == given.knots).all()
    assert (again.entries == given.entries).all()


def test_other_calls_are_refused() -> None:
    x = ca.SX.sym("x")
    y = ca.SX.sym("y")
    other = ca.Function("other", [y], [y * y], {"never_inline": True})
    with pytest.raises(NotImplementedError, match='"other"'):
        read_tape(ca.Function("f", [x], [other(x)]))
