"""Work items: small functions over records, against the same sums written out."""

from __future__ import annotations

import casadi as ca
import numpy as np

from whippletree.formulations.rolled.memory_layout import make_program, unrolled
from whippletree.formulations.rolled.work_items import InputSpan, ItemInputs, PlainNumbers, WorkItems
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.programs.loop_program import LoopProgram


def evaluated(program: LoopProgram, x: np.ndarray, size: int) -> np.ndarray:
    """The output of a program with one input, compiled; the straight line must agree."""
    signature = Signature((("x", x.size),), (("y", size),), (size,))
    result = np.empty(size)
    Kernel("test", signature, lambda: RolledLoops(program), None).one([x], [result])
    symbol = ca.SX.sym("x", x.size)
    line = ca.Function("line", [symbol], [unrolled(program, [symbol], size)])
    assert np.allclose(np.array(line(x)).ravel(), result, rtol=1e-14, atol=0)
    return result


def running_sums(n: int, factors: list[float]) -> WorkItems:
    """Item i leaves [sum of factor * x up to i; its own term], and sends the sum to place i."""
    items = WorkItems()
    (total,) = items.add("zero", lambda given: [ca.SX.zeros(1)], whole=(0,))
    items.begin_loop()
    for i in range(n):
        numbers = PlainNumbers([factors[i]])

        def trace(given: ItemInputs, numbers: PlainNumbers = numbers) -> list[ca.SX]:
            (factor,) = numbers.symbols(given.constants)
            return [given.records[0] + factor * given.inputs[0], ca.SX.zeros(3)]

        span = InputSpan(0, i, 1)
        total, _ = items.add(("sum", numbers.key), trace, [total], [span], numbers.values, whole=(0,))
        items.send(total, span)
    return items


def test_a_record_is_kept_no_longer_than_it_is_read() -> None:
    x, factors = np.arange(1.0, 31.0), [0.5 + i for i in range(30)]
    program = make_program(running_sums(30, factors))
    assert program.work_size == 1  # each sum takes the place of the one before, and what is not read has none
    assert np.allclose(evaluated(program, x, 30), np.cumsum(factors * x), rtol=1e-14)


def test_constants_that_all_items_share_and_plain_ones_are_folded() -> None:
    x = np.linspace(-1, 1, 12)
    assert len(make_program(running_sums(12, [0.3] * 12)).constants) == 0
    assert len(make_program(running_sums(12, [0.3, 0.7] * 6)).constants) == 12
    program = make_program(running_sums(12, [1.0, 0.7] * 6))
    assert len(program.constants) == 0
    assert np.allclose(evaluated(program, x, 12), np.cumsum([1.0, 0.7] * 6 * x), rtol=1e-13)


def test_records_of_different_shapes_are_different_kinds_and_outputs_may_add_up() -> None:
    """Every second item leaves one number more; their sums go to the same place."""
    items = WorkItems()
    rows = []
    for i in range(6):
        size = 1 + i % 2

        def leave(given: ItemInputs, size: int = size) -> list[tuple[ca.SX, ...]]:
            return [tuple((k + 2) * given.inputs[0] for k in range(size))]

        rows += items.add(("leave", size), leave, (), [InputSpan(0, i, 1)])
    for row in rows:
        (total,) = items.add("sum", lambda given: [sum(given.records[0], ca.SX(0))], [row])
        items.send(total, InputSpan(0, 0, 1), add=True)
    items.zeroed[0] = 1
    x = np.arange(1.0, 7.0)
    assert evaluated(make_program(items), x, 1) == [sum(x[::2]) * 2 + sum(x[1::2]) * 5]
