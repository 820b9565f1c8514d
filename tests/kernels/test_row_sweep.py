"""Rows taken from rows, and changes of loop programs, against NumPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from support.systems import run_many, run_one, same_bits
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.programs.loop_program import ItemLoop, LoopProgram, MemoryRef, RowSweep, Segment, StepFunction
from whippletree.programs.tangents import tangent_program


@pytest.mark.parametrize("columns", [1, 3, 4, 33, 70])
@pytest.mark.parametrize("scaled", [False, True])
def test_row_sweeps(columns: int, scaled: bool) -> None:
    """Row 2 less multiples of rows 0 and 1, then row 0 less one of row 2: one state and lanes give the same bits."""
    n, rows = 3, [(2, [(0, 0), (1, 1)]), (0, [(2, 2)]), (1, [])]
    table, taken = [], []
    for to, own in rows:
        table.append((to * columns, len(taken), len(own), *((3 + to,) if scaled else ())))
        taken += [(row * columns, factor) for row, factor in own]
    X, f = ca.SX.sym("X", n * columns), ca.SX.sym("f", 6)
    copy = StepFunction(
        ca.Function("copy", [ca.vertcat(X, f)], [ca.vertcat(X, f)]),
        tuple(MemoryRef("input", i) for i in range(n * columns))
        + tuple(MemoryRef("input", i, -1, 1) for i in range(6)),
        tuple(MemoryRef("output", i) for i in range(n * columns)) + tuple(MemoryRef("work", i) for i in range(6)),
    )
    program = LoopProgram((Segment(copy), RowSweep(columns, tuple(table), tuple(taken), scaled)), 6, ())
    signature = Signature((("X", n * columns), ("f", 6)), (("result", n * columns),), (n, columns))
    kernel = Kernel("", signature, lambda: RolledLoops(program), None)
    rng = np.random.default_rng(columns)
    states, factors = rng.normal(size=(9, n * columns)), rng.normal(size=(9, 6))
    (many,) = run_many(kernel, states, factors)
    for state, factor, result in zip(states, factors, many, strict=True):
        expected = state.reshape(n, columns).copy()
        for to, own in rows:
            expected[to] = expected[to] * (factor[3 + to] if scaled else 1.0)
            for row, at in own:
                expected[to] -= factor[at] * expected[row]
        assert result.reshape(n, columns) == pytest.approx(expected, rel=1e-13, abs=1e-13)
        assert same_bits(run_one(kernel, state, factor)[0], result)


def test_changes_of_a_loop_program() -> None:
    """x_(k+1) = sin(x_k) + c_k u, and the sum of all: its change is that of the closed form by differences."""
    x, u, c = (ca.SX.sym(name) for name in "xuc")
    first = Segment(StepFunction(ca.Function("f", [u], [u**2]), (MemoryRef("input", 0),), (MemoryRef("work", 0),)))
    step = StepFunction(
        ca.Function("g", [ca.vertcat(x, u, c)], [ca.vertcat(ca.sin(x) + c * u, x)]),
        (MemoryRef("work", 0), MemoryRef("input", 0), MemoryRef("constant", 0, 1)),
        (MemoryRef("work", 0), MemoryRef("output", 0, add=True)),
    )
    constants = (0.3, -0.2, 0.7)
    program = LoopProgram((first, ItemLoop((step,), tuple((0, k) for k in range(3)))), 1, constants, ((0, 1),))
    signature = Signature((("u", 1), ("change", 1)), (("result", 1),), (1,))
    kernel = Kernel("", signature, lambda: RolledLoops(tangent_program(program, 1, [0])), None)

    def total(u: complex) -> complex:
        x, found = u**2, 0.0j
        for c in constants:
            x, found = np.sin(x) + c * u, found + x
        return found

    expected = total(0.4 + 1e-30j).imag / 1e-30
    assert run_one(kernel, 0.4, 2.0)[0] == pytest.approx(2.0 * expected, rel=1e-14)
