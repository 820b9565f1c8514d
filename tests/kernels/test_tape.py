"""Tapes and their lowering: every operation against CasADi's evaluator, and shapes counted by hand."""

from __future__ import annotations

from collections import Counter

import casadi as ca
import numpy as np
import pytest

from support.systems import arm, floating, kernel_of, run_many, run_one, same_bits
from support.tapes import evaluated
from whippletree.kernels import tape as tapes
from whippletree.kernels.native import host
from whippletree.kernels.tape import OperationCount, Tape, arrange, fuse, read_tape

ANY, POSITIVE, UNIT, ABOVE_ONE = (-3.0, 3.0), (0.1, 3.0), (-0.99, 0.99), (1.01, 4.0)

UNARY = {
    ca.OP_NEG: (lambda x: -x, ANY),
    ca.OP_SQRT: (ca.sqrt, POSITIVE),
    ca.OP_SIN: (ca.sin, ANY),
    ca.OP_COS: (ca.cos, ANY),
    ca.OP_TAN: (ca.tan, UNIT),
    ca.OP_ASIN: (ca.asin, UNIT),
    ca.OP_ACOS: (ca.acos, UNIT),
    ca.OP_ATAN: (ca.atan, ANY),
    ca.OP_SINH: (ca.sinh, ANY),
    ca.OP_COSH: (ca.cosh, ANY),
    ca.OP_TANH: (ca.tanh, ANY),
    ca.OP_ASINH: (ca.asinh, ANY),
    ca.OP_ACOSH: (ca.acosh, ABOVE_ONE),
    ca.OP_ATANH: (ca.atanh, UNIT),
    ca.OP_EXP: (ca.exp, ANY),
    ca.OP_LOG: (ca.log, POSITIVE),
    ca.OP_EXPM1: (ca.expm1, ANY),
    ca.OP_LOG1P: (ca.log1p, POSITIVE),
    ca.OP_FLOOR: (ca.floor, ANY),
    ca.OP_CEIL: (ca.ceil, ANY),
    ca.OP_FABS: (ca.fabs, ANY),
    ca.OP_SIGN: (ca.sign, ANY),
    ca.OP_NOT: (ca.logic_not, ANY),
    ca.OP_ERF: (ca.erf, ANY),
    ca.OP_SQ: (lambda x: x * x, ANY),
    ca.OP_TWICE: (lambda x: x + x, ANY),
    ca.OP_INV: (lambda x: 1 / x, POSITIVE),
}
BINARY = {
    ca.OP_ADD: (lambda x, y: x + y, ANY),
    ca.OP_SUB: (lambda x, y: x - y, ANY),
    ca.OP_MUL: (lambda x, y: x * y, ANY),
    ca.OP_DIV: (lambda x, y: x / y, POSITIVE),
    ca.OP_POW: (lambda x, y: x**y, POSITIVE),
    ca.OP_CONSTPOW: (lambda x, y: ca.constpow(x, 2.7) + y, POSITIVE),
    ca.OP_ATAN2: (ca.atan2, ANY),
    ca.OP_FMIN: (ca.fmin, ANY),
    ca.OP_FMAX: (ca.fmax, ANY),
    ca.OP_FMOD: (ca.fmod, POSITIVE),
    ca.OP_COPYSIGN: (ca.copysign, ANY),
    ca.OP_LT: (lambda x, y: x < y, ANY),
    ca.OP_LE: (lambda x, y: x <= y, ANY),
    ca.OP_EQ: (lambda x, y: x == y, ANY),
    ca.OP_NE: (lambda x, y: x != y, ANY),
    ca.OP_AND: (ca.logic_and, ANY),
    ca.OP_OR: (ca.logic_or, ANY),
    ca.OP_IF_ELSE_ZERO: (lambda x, y: ca.if_else(x, y, 0), ANY),
    ca.OP_HYPOT: (ca.hypot, ANY),
}


def codes(function: ca.Function) -> set[int]:
    return {function.instruction_id(k) for k in range(function.n_instructions())}


def points(domain: tuple[float, float], count: int, columns: int) -> np.ndarray:
    """Return points of a domain, with zeros, equal pairs and whole numbers among them where it has them."""
    rng = np.random.default_rng(1)
    x = rng.uniform(*domain, (count, columns))
    x[::5] = np.round(x[::5])
    x[::7] = x[::7, :1]
    return np.clip(x, *domain)


def compare(function: ca.Function, *inputs: np.ndarray, rtol: float = 4e-16) -> None:
    """Check the kernel for one state and the lanes against CasADi, and against each other to the bit."""
    kernel = kernel_of(function)
    many = run_many(kernel, *inputs)
    for i in range(len(inputs[0])):
        row = [x[i] for x in inputs]
        one = run_one(kernel, *row)
        exact = function.call([ca.DM(r) for r in row])
        for a, b, c in zip(one, many, exact, strict=True):
            assert same_bits(a, b[i])
            np.testing.assert_allclose(a, np.array(c.full()).ravel(order="F"), rtol=rtol, atol=0)


def test_every_operation_is_tried():
    assert set(UNARY) >= set(tapes._UNARY)
    assert set(BINARY) == set(tapes._BINARY)


@pytest.mark.parametrize("code", UNARY)
def test_unary(code):
    operation, domain = UNARY[code]
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [operation(x)], ["x"], ["y"])
    assert code in codes(function)
    compare(function, points(domain, 45, 1))


@pytest.mark.parametrize("code", BINARY)
def test_binary(code):
    operation, domain = BINARY[code]
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function("f", [x, y], [operation(x, y)], ["x", "y"], ["z"])
    assert code in codes(function)
    values = points(domain, 45, 2)
    compare(function, values[:, :1].copy(), values[:, 1:].copy())


def test_signed_zeros_and_signs():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function(
        "f", [x, y], [ca.copysign(x, y), ca.fabs(x), ca.sign(y), -x], ["x", "y"], ["a", "b", "c", "d"]
    )
    grid = np.array([[a, b] for a in (0.0, -0.0, 2.0, -2.0) for b in (0.0, -0.0, 3.0, -3.0)])
    compare(function, grid[:, :1].copy(), grid[:, 1:].copy())


def test_choices():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    z = ca.if_else(
        ca.logic_and(x > y, ca.logic_not(y < 0)),
        x * y,
        ca.if_else(x == y, 7.0, ca.fmin(x, y) - ca.fmax(x, 1)),
    )
    values = points(ANY, 60, 2)
    compare(ca.Function("f", [x, y], [z], ["x", "y"], ["z"]), values[:, :1].copy(), values[:, 1:].copy())


def random_expression(rng: np.random.Generator, leaves: list[ca.SX], size: int) -> list[ca.SX]:
    """Return expressions that grow on each other."""
    found = [*leaves, ca.SX(1.0), ca.SX(-1.0), ca.SX(0.5), ca.SX(-3.0)]
    for _ in range(size):
        a, b = (found[int(i)] for i in rng.integers(len(found), size=2))
        kind = rng.integers(9)
        found.append(
            [
                lambda a, b: a + b,
                lambda a, b: a - b,
                lambda a, b: a * b * 0.5,
                lambda a, b: a / (2 + b * b),
                lambda a, b: -a,
                lambda a, b: ca.sin(a),
                lambda a, b: ca.cos(a * b),
                lambda a, b: ca.sqrt(1 + a * a),
                lambda a, b: ca.fmax(-a, b) - a,
            ][kind](a, b)
        )
    return found[-8:]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    """Folded signs, shared reciprocals and fused products change rounding only."""
    rng = np.random.default_rng(seed)
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 3)
    outputs = random_expression(rng, [*ca.vertsplit(x), *ca.vertsplit(y)], 60)
    scale = ca.vertcat(*outputs)
    function = ca.Function("f", [x, y], [scale / (1 + ca.fabs(scale))], ["x", "y"], ["z"])
    inputs = rng.normal(size=(11, 4)), rng.normal(size=(11, 3))
    kernel = kernel_of(function)
    many = run_many(kernel, *inputs)[0]
    for i in range(11):
        exact = np.array(function(inputs[0][i], inputs[1][i])).ravel()
        assert same_bits(run_one(kernel, inputs[0][i], inputs[1][i])[0], many[i])
        np.testing.assert_allclose(many[i], exact, rtol=1e-9, atol=1e-12)


def test_without_fused_instructions():
    """Processors that have none get a product and a sum."""
    from whippletree.kernels.lowering import StraightLine

    x = ca.SX.sym("x", 3)
    program = StraightLine(ca.Function("f", [x], [x[0] * x[1] + x[2]], ["x"], ["y"]))
    options = {"name": "f", "width": 1, "pack": 4}
    fused, plain = program.ir(fused=True, **options), program.ir(fused=False, **options)

    def body(text: str) -> str:
        return text[text.index("define void @f") :].split("\n}\n", maxsplit=1)[0]

    assert "llvm.fma" in body(fused)
    assert "llvm.fma" not in body(plain)
    assert "fmul" in body(plain)


# ---------------------------------------------------------------------- tapes


def names(tape: Tape) -> list[str]:
    return [name for name, _ in tape.operations if name not in ("const", "input")]


def traced(*outputs: ca.SX, inputs: list[ca.SX]) -> Tape:
    return read_tape(ca.Function("f", inputs, list(outputs)))


A, B, C, D = (ca.SX.sym(n) for n in "abcd")
ALL = [A, B, C, D]


def test_equal_values_are_merged():
    assert names(traced(ca.sin(A + B) + ca.cos(B + A), inputs=ALL)) == ["add", "sin", "cos", "add"]
    assert names(traced((A * B) * (B * A), inputs=ALL)) == ["mul", "mul"]
    assert names(traced(A - B, B - A, inputs=ALL)) == ["sub", "sub"]


def test_signs_are_folded():
    assert names(traced(A + (-B), inputs=ALL)) == ["sub"]
    assert names(traced(-A + B, inputs=ALL)) == ["sub"]
    assert names(traced(A - (-B), inputs=ALL)) == ["add"]
    assert names(traced(0 - (0 - A) * B, inputs=ALL)) == ["mul"]
    assert names(traced((-A) * (-B), inputs=ALL)) == ["mul"]
    assert names(traced(C - (-A) * B, inputs=ALL)) == ["mul", "add"]


def test_a_shared_divisor_is_inverted_once():
    tape = traced(A / C, B / C, D / C, inputs=ALL)
    assert names(tape) == ["div", "mul", "mul", "mul"]
    assert tape.count().divisions == 1
    assert names(traced(A / C, inputs=ALL)) == ["div"]
    assert names(traced(1 / C, A / C, inputs=ALL)) == ["div", "mul"]


def test_division_by_a_constant_is_exact():
    """By a power of two it is a product; by another number it stays a division; by a tiny one as well."""
    for divisor, expected in ((4.0, "mul"), (-0.5, "mul"), (3.0, "div"), (5e-324, "div"), (1e300, "div")):
        tape = Tape()
        x = tape.input(0, 0)
        tape.outputs = [(0, 0, tape.operation("div", x, tape.constant(divisor)))]
        assert names(tapes._share_reciprocals(tape)[0].pruned()) == [expected]


def test_products_that_only_feed_sums_are_fused():
    def fused(*outputs: ca.SX) -> list[str]:
        return names(fuse(traced(*outputs, inputs=ALL)))

    assert fused(A * B + C) == ["fma"]
    assert fused(A * B - C) == ["fms"]
    assert fused(C - A * B) == ["fnma"]
    assert fused(A * B + C * D) == ["mul", "fma"]
    assert fused(A * B + C, A * B - D) == ["fma", "fms"]  # every use takes it
    assert fused(A * B + C, A * B) == ["mul", "add"]  # an output as well: once is enough
    assert fused(A * B + C, (A * B) * D) == ["mul", "add", "mul"]
    assert sorted(fused(A * B + A * B)) in (["add", "mul"], ["mul", "add"])


def test_counts_by_hand():
    x = ca.SX.sym("x", 6)
    dot = ca.dot(x[0:3], x[3:6])
    assert traced(dot, inputs=[x]).count() == OperationCount(multiplications=3, additions=2)
    assert fuse(traced(dot, inputs=[x])).count() == OperationCount(multiplications=3, additions=2)
    assert traced(ca.cross(x[0:3], x[3:6]), inputs=[x]).count() == OperationCount(multiplications=6, additions=3)
    norm = x / ca.sqrt(ca.sumsqr(x))
    expected = OperationCount(multiplications=12, additions=5, divisions=1, square_roots=1)
    assert traced(norm, inputs=[x]).count() == expected
    turned = ca.vertcat(ca.cos(x[0]) * x[1] - ca.sin(x[0]) * x[2], ca.sin(x[0]) * x[1] + ca.cos(x[0]) * x[2])
    count = traced(turned, inputs=[x]).count()
    assert count == OperationCount(multiplications=4, additions=2, trigonometric=2)
    assert (count.total, str(count)) == (8, "4 multiplications, 2 additions, 2 sines and cosines")
    assert traced(ca.fmax(A, ca.exp(B)), inputs=ALL).count() == OperationCount(other=2)
    assert str(OperationCount()) == "no operations"


def test_negation_is_not_counted():
    assert traced(-A, inputs=ALL).count().total == 0


def test_what_is_not_needed_is_dropped():
    tape = Tape()
    x = tape.input(0, 0)
    tape.operation("sin", x)
    tape.outputs = [(0, 0, tape.operation("mul", x, x))]
    assert names(tape.pruned()) == ["mul"]
    assert tape.uses()[x] == 3


def test_an_unknown_operation_says_so():
    function = ca.Function("f", [A], [ca.erfinv(A)])
    with pytest.raises(NotImplementedError, match="native code does not know"):
        read_tape(function)


# ---------------------------------------------------------------------- their order


def most_waiting(tape: Tape) -> int:
    """Return how many computed values wait for their last use at the worst moment."""
    last = {o: k for k, (_, operands) in enumerate(tape.operations) for o in operands}
    waiting, worst = set[int](), 0
    for k, (name, operands) in enumerate(tape.operations):
        if name not in ("const", "input"):
            waiting = {o for o in waiting if o not in operands or last[o] > k} | {k}
            worst = max(worst, len(waiting))
    return worst


def check_arranged(tape: Tape, inputs: list[np.ndarray]) -> Tape:
    """Check that arranging changes nothing but the order, and return the arranged tape."""
    before = (list(tape.operations), dict(tape.constants), dict(tape.inputs), list(tape.outputs))
    result = arrange(tape)
    assert before == (tape.operations, tape.constants, tape.inputs, tape.outputs)  # the tape itself is left alone
    for k, (_, operands) in enumerate(result.operations):
        assert all(o < k for o in operands)
    assert Counter(name for name, _ in result.operations) == Counter(name for name, _ in tape.operations)
    assert Counter(result.constants.values()) == Counter(tape.constants.values())
    assert sorted(result.inputs.values()) == sorted(tape.inputs.values())
    assert [(a, e) for a, e, _ in result.outputs] == [(a, e) for a, e, _ in tape.outputs]
    assert result.count() == tape.count()
    assert same_bits(evaluated(result, inputs), evaluated(tape, inputs))
    assert arrange(tape).operations == result.operations  # the same every time
    return result


@pytest.mark.parametrize("seed", range(12))
def test_arranging_keeps_results_and_dependencies(seed):
    rng = np.random.default_rng(seed)
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 3)
    found = random_expression(rng, [*ca.vertsplit(x), *ca.vertsplit(y)], 80)
    outputs = [ca.vertcat(*(e / (1 + ca.sqrt(e * e)) for e in found)), found[-1], x[0], ca.SX(2.0), found[-1]]
    tape = read_tape(ca.Function("f", [x, y], outputs))
    inputs = [rng.normal(size=4), rng.normal(size=3)]
    check_arranged(tape, inputs)
    check_arranged(fuse(tape), inputs)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "reactions"])
@pytest.mark.parametrize("make", [arm, floating])
def test_arranging_a_mechanism(make, name):
    function = make().build().function(name)
    rng = np.random.default_rng(1)
    inputs = [rng.normal(size=function.numel_in(i)) for i in range(function.n_in())]
    check_arranged(fuse(read_tape(function)), inputs)


def test_arranging_keeps_few_values_waiting():
    """A sum of products, all the products first: each can be added as soon as it is there."""
    tape = Tape()
    x = [tape.input(0, i) for i in range(60)]
    squares = [tape.operation("mul", a, a) for a in x]
    total = squares[0]
    for square in squares[1:]:
        total = tape.operation("add", total, square)
    tape.outputs = [(0, 0, total)]
    assert most_waiting(tape) == 60
    arranged = check_arranged(tape, [np.arange(60.0)])
    assert most_waiting(arranged) <= 3


def test_arranging_odd_tapes():
    assert arrange(Tape()).operations == []
    tape = Tape()
    x, one = tape.input(0, 0), tape.constant(1.0)
    tape.outputs = [(0, 0, x), (0, 1, one), (0, 2, x)]
    check_arranged(tape, [np.array([3.0])])
    y = tape.operation("mul", x, x)  # one operand twice
    tape.outputs = [(0, 0, tape.operation("add", y, y)), (0, 1, y)]
    check_arranged(tape, [np.array([3.0])])


# ---------------------------------------------------------------------- odd shapes


def both(function: ca.Function, *inputs: np.ndarray) -> list[np.ndarray]:
    """Evaluate by CasADi and by both kernels, and return what they agree on."""
    compare(function, *(np.tile(x, (5, 1)) for x in inputs))
    return run_one(kernel_of(function), *inputs)


def test_outputs_that_are_inputs_constants_or_the_same():
    x, y, unused = ca.SX.sym("x", 2), ca.SX.sym("y"), ca.SX.sym("unused", 3)
    outputs = [ca.vertcat(x[1], x[0], x[1]), ca.SX([2.5, 0.0, 1e-320]), ca.vertcat(x[0] * y, x[0] * y), y]
    function = ca.Function("f", [x, unused, y], outputs, ["x", "unused", "y"], ["a", "b", "c", "d"])
    values = both(function, np.array([3.0, 4.0]), np.zeros(3), np.array([5.0]))
    assert [v.tolist() for v in values] == [[4.0, 3.0, 4.0], [2.5, 0.0, 1e-320], [15.0, 15.0], [5.0]]


def test_empty_inputs_and_outputs():
    x, nothing = ca.SX.sym("x"), ca.SX.sym("nothing", 0)
    function = ca.Function("f", [nothing, x], [ca.SX(0, 1), 2 * x], ["n", "x"], ["e", "y"])
    kernel = kernel_of(function)
    empty, doubled = run_one(kernel, np.zeros(0), [3.0])
    assert (empty.shape, doubled.tolist()) == ((0,), [6.0])
    empty, doubled = run_many(kernel, np.zeros((9, 0)), np.arange(9.0)[:, None])
    assert (empty.shape, doubled.ravel().tolist()) == ((9, 0), (2 * np.arange(9.0)).tolist())


def test_a_function_without_inputs():
    kernel = kernel_of(ca.Function("f", [], [ca.SX([1.0, 2.0])], [], ["y"]))
    out = np.zeros(2)
    kernel.one([], [out])
    assert out.tolist() == [1.0, 2.0]
    assert kernel.entry(out) == 0


def test_matrices_are_stored_by_columns():
    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [ca.densify(x @ ca.SX([[1.0, 10.0, 100.0]]))], ["x"], ["m"])
    assert both(function, np.array([1.0, 2.0]))[0].tolist() == [1, 2, 10, 20, 100, 200]


def test_many_inputs_and_outputs():
    symbols = [ca.SX.sym(f"x{i}", 1 + i % 9) for i in range(20)]
    outputs = [ca.sumsqr(s) * ca.vertcat(s, s) for s in symbols]
    function = ca.Function("f", symbols, outputs, [f"x{i}" for i in range(20)], [f"y{i}" for i in range(20)])
    rng = np.random.default_rng(0)
    compare(function, *(rng.normal(size=(host().lanes + 1, s.numel())) for s in symbols), rtol=2e-15)


CANCELLED = {
    "a + (x - a)": (lambda a, x: a[0] + (x - a[1]), lambda x: x),
    "(x - a) + a": (lambda a, x: (x - a[0]) + a[1], lambda x: x),
    "(x + a) - a": (lambda a, x: (x + a[0]) - a[1], lambda x: x),
    "(a + x) - a": (lambda a, x: (a[0] + x) - a[1], lambda x: x),
    "a - (a - x)": (lambda a, x: a[0] - (a[1] - x), lambda x: x),
    "a - (a + x)": (lambda a, x: a[0] - (a[1] + x), lambda x: -x),
    "a - (x + a)": (lambda a, x: a[0] - (x + a[1]), lambda x: -x),
}


@pytest.mark.parametrize("name", CANCELLED)
def test_terms_that_cancel_are_not_computed(name: str) -> None:
    """The same term, traced twice so that CasADi does not see it, is neither added nor taken off."""
    form, left = CANCELLED[name]
    y, x = ca.SX.sym("y"), ca.SX.sym("x")
    twice = [ca.sin(3 * y) * ca.cos(y) + y for _ in range(2)]
    function = ca.Function("f", [y, x], [form(twice, x)])
    tape = read_tape(function)
    assert tape.count().total == 0
    assert evaluated(tape, [np.array([0.7]), np.array([0.3])])[0] == left(0.3)


@pytest.mark.parametrize("other", [lambda a, x: a + (x - 2 * a), lambda a, x: (a - x) + a, lambda a, x: (x - a) - a])
def test_terms_that_do_not_cancel_stay(other: object) -> None:
    a, x = ca.SX.sym("a"), ca.SX.sym("x")
    tape = read_tape(ca.Function("f", [a, x], [other(a, x)]))  # type: ignore[operator]
    assert tape.count().total >= 2
