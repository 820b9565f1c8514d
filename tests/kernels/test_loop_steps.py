"""Loops over items and over columns of factored systems, and changes of loop programs, against NumPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from support.systems import run_many, run_one, same_bits
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.programs.loop_program import (
    FOREST_SCRATCH,
    ForestColumns,
    ForestSolve,
    ItemLoop,
    LoopProgram,
    MemoryRef,
    Segment,
    StepFunction,
)
from whippletree.programs.tangents import tangent_program

ABOVE = [-1, 0, 1, 1, 3, 0, 5, -1, 7]
"""A forest of two trees, with branches: the unknown above each."""


def forest() -> tuple[list[tuple[int, int, int, int]], list[set[int]]]:
    """Return the table of the forest, and for each unknown those that are above it, and itself."""
    rows: list[tuple[int, int, int, int]] = []
    ways: list[set[int]] = []
    begin = 0
    for k, above in enumerate(ABOVE):
        depth = rows[above][2] + 1 if above >= 0 else 0
        rows.append((len(ABOVE) - 1 - k, above, depth, begin))  # places are not in the order of the rows
        ways.append({k} | (ways[above] if above >= 0 else set()))
        begin += depth + 1
    return rows, ways


@pytest.mark.parametrize("columns", [4, 7, 70])
def test_columns_of_a_forest(columns: int) -> None:
    """M X = B with zeros in M and B: X as by NumPy, and one state and lanes give the same bits."""
    rng = np.random.default_rng(columns)
    rows, ways = forest()
    n, packed = len(rows), rows[-1][3] + rows[-1][2] + 1
    families = [int(c) for c in rng.integers(0, 3, columns)]
    filled = [sum(1 << k for k in range(n) if k % 3 == f or f == 2) for f in families]
    filled[columns // 2] = 0
    sizes = [packed, n * columns]
    both = ca.SX.sym("both", sum(sizes))
    copy = StepFunction(
        ca.Function("copy", [both], [both]),
        tuple(MemoryRef("input", i, -1, a) for a, size in enumerate(sizes) for i in range(size)),
        tuple(MemoryRef("work", i) for i in range(sum(sizes))),
    )
    solve = ForestColumns(tuple(rows), columns, tuple(filled), tuple(families), packed, sum(sizes))
    steps = (Segment(copy), ForestSolve(tuple(rows), None), solve)
    program = LoopProgram(steps, sum(sizes) + FOREST_SCRATCH * n, ())
    signature = Signature((("M", packed), ("B", n * columns)), (("X", n * columns),), (n, columns))
    kernel = Kernel("", signature, lambda: RolledLoops(program), None)
    L = np.where([[j in ways[k] for j in range(n)] for k in range(n)], rng.normal(size=(9, n, n)), 0.0)
    M = L.transpose(0, 2, 1) @ L + np.diag(rng.uniform(1, 2, n))
    places = [place for place, _, _, _ in rows]
    B = np.zeros((9, n, columns))
    for c, rows_of in enumerate(filled):
        used = [places[k] for k in range(n) if rows_of >> k & 1]
        B[:, used, c] = rng.normal(size=(9, len(used)))
    entries = [(k, j) for k in range(n) for j in sorted(ways[k])]
    given = np.stack([[one[k, j] for k, j in entries] for one in M])
    (many,) = run_many(kernel, given, B.reshape(9, -1))
    for one, b, state, result in zip(M, B, given, many, strict=True):
        expected = np.zeros((n, columns))
        expected[places] = np.linalg.solve(one, b[places])
        assert result.reshape(n, columns) == pytest.approx(expected, rel=1e-11, abs=1e-12)
        assert same_bits(run_one(kernel, state, b.ravel())[0], result)


@pytest.mark.parametrize("count", [3, 4, 6, 9])
def test_items_abreast(count: int) -> None:
    """y_k = sin(c x_k) + k, for two rows of items: none is missed, and nothing beyond them is touched."""
    x, c, own = (ca.SX.sym(name) for name in ("x", "c", "own"))
    step = StepFunction(
        ca.Function("g", [ca.vertcat(x, c, own)], [ca.sin(c * x) + own]),
        (MemoryRef("input", 0, 1), MemoryRef("input", 20), MemoryRef("constant", 0, 1)),
        (MemoryRef("output", 0, 2),),
    )
    table = [(0, i, i) for i in range(count)] + [(0, i, i) for i in range(10, 10 + count)]
    constants = tuple(float(i) for i in range(20))
    program = LoopProgram((ItemLoop((step,), tuple(table), (1, 2)),), 0, constants, ((0, 20),))
    kernel = Kernel("", Signature((("x", 21),), (("y", 20),), (20,)), lambda: RolledLoops(program), None)
    given = np.random.default_rng(count).normal(size=(5, 21))
    (many,) = run_many(kernel, given)
    for state, result in zip(given, many, strict=True):
        expected = np.zeros(20)
        for _, i, to in table:
            expected[to] = np.sin(state[20] * state[i]) + i
        assert result == pytest.approx(expected, rel=1e-14, abs=1e-15)
        assert same_bits(run_one(kernel, state)[0], result)


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
