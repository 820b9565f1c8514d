"""Long straight lines as loops: the bits of the straight line, and code that grows with what is different only."""

from __future__ import annotations

import contextlib

import casadi as ca
import numpy as np
import pytest

from support.loop_models import where
from support.random_forces import load_up, loaded
from support.random_loops import case
from support.random_trees import random_mechanism
from support.sampling import deep
from support.systems import kernel_of, run_many, run_one, same_bits
from whippletree.kernels.kernel import Kernel, NotFiniteError
from whippletree.kernels.lowering import StraightLine, program_of
from whippletree.kernels.tape_loops import LongLine
from whippletree.programs.lookup import LookupTable, lookup, picked


def links(n: int, seed: int) -> ca.Function:
    """A chain of steps of four sorts with numbers of their own, some of which are sent out as they are."""
    rng = np.random.default_rng(seed)
    x, y, p = ca.SX.sym("x", n), ca.SX.sym("y", n), ca.SX.sym("p", 2)
    table = lookup(LookupTable(np.array([0.0, 0.5, 1.0]), rng.normal(size=(4, 2))))
    left, out = p[0], []
    for i in range(n):
        sort, c = int(rng.integers(4)), float(rng.uniform(0.5, 2.0))
        if sort == 0:
            left = ca.sin(x[i] + left) * ca.cos(x[i] + left) - c * y[i] ** 3
        elif sort == 1:
            left = left / (2 + left**2) + ca.sqrt(1 + y[i] ** 2) * ca.fmin(c, x[i]) - p[1] / (2 + y[i] * y[i])
        elif sort == 2:
            row = picked(table, left)
            left = row[0] + row[1] * x[i] + ca.if_else(x[i] > y[i], c * left, ca.exp(-(x[i] ** 2)))
        else:
            left = ca.tanh(left * y[i]) + ca.atan2(x[i], 2 + y[i]) + ca.fabs(left) ** 1.5
        out += [left, x[i] * c] if i % 3 else [left]
    return ca.Function("links", [x, y, p], [ca.vertcat(*out, x[0], 7.0, 0.0, left)], ["x", "y", "p"], ["z"])


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (90, 1), (400, 2)])
def test_loops_have_the_bits_of_the_straight_line(n: int, seed: int) -> None:
    function = links(n, seed)
    straight = kernel_of(function)
    loops = Kernel("loops", straight.signature, lambda: LongLine(StraightLine(function)), None)
    rng = np.random.default_rng(seed)
    x, y, p = rng.normal(size=(13, n)), rng.normal(size=(13, n)), rng.normal(size=2)
    expected = np.array(function(x[0], y[0], p)).ravel()
    assert run_one(loops, x[0], y[0], p)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for i in range(3):
        assert same_bits(run_one(loops, x[i], y[i], p)[0], run_one(straight, x[i], y[i], p)[0])
    assert same_bits(run_many(loops, x, y, p)[0], run_many(straight, x, y, p)[0])
    assert loops.program().count() == straight.program().count()


def test_code_does_not_grow_with_repetition() -> None:
    """What is different stays a straight line."""
    sizes = []
    for n in (60, 400):
        x = ca.SX.sym("x", n)
        left, out = ca.SX(0), []
        for i in range(n):
            for _ in range(6):
                left = ca.sin(left + x[i]) * (1.0 + 0.1 * i) - left**2 * x[i] / (2 + x[i] ** 2)
            out.append(left)
        function = ca.Function("f", [x], [ca.vertcat(*out)])
        assert isinstance(program_of(function), LongLine if n == 400 else StraightLine)
        sizes.append(LongLine(StraightLine(function)).code)
    assert sizes[1] < 1.5 * sizes[0] < 2_000
    rng = np.random.default_rng(0)
    y, names = ca.SX.sym("y", 3), [ca.sin, ca.exp, ca.sqrt, ca.tanh, ca.fabs, ca.cos]
    values = [y[0], y[1], y[2]]
    for _ in range(5_000):
        a, b = (values[-int(k)] for k in rng.integers(1, min(len(values), 60), 2))
        values.append(names[int(rng.integers(6))](a) * b + a)
    assert isinstance(program_of(ca.Function("g", [y], [ca.sum1(ca.vertcat(*values))])), StraightLine)


FUNCTIONS = ("derivatives", "project", "reactions", "driving_forces", "closure_efforts", "energy", "newton_matrix")


@pytest.mark.rest
@pytest.mark.parametrize("family", ["cut joints", *deep(["tree", "overconstrained"])])
def test_functions_of_mechanisms_have_the_same_bits(family: str) -> None:
    """Every element of force, drives and parameters: whatever is traced."""
    rng = np.random.default_rng(5)
    if family == "tree":
        m = random_mechanism(4, 6)
        load_up(m, rng)
        s = m.build()
    else:
        c = case(family, 1)
        s = loaded(c.looped, rng).build(**where(c.looped))
    of_loops = ("project",) if family != "tree" else ()
    for name in ("derivatives", "reactions", *of_loops):
        equations, request = s._engine.equations, s._engine.resolved(s.kernels.request(name))
        function, signature = equations.trace(request), equations.signature(request)
        state = {"q": s.random(rng), "parameters": np.array(s.description.parameter_values), "t": np.array([0.6])}
        inputs = [state.get(given, rng.normal(size=size)) for given, size in signature.inputs]
        results = []
        for program in (StraightLine(function), LongLine(StraightLine(function))):
            kernel = Kernel("k", signature, lambda program=program: program, None)
            results.append(np.zeros(signature.output_sizes[0]))
            with contextlib.suppress(NotFiniteError):  # what is not finite is so in both
                kernel.one(inputs, results[-1:])
        assert np.count_nonzero(results[0]) > 0, name
        assert same_bits(*results), name
