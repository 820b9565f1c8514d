"""Expressions that are the same but for their numbers: a loop evaluates them by one function, numbers being constants.

CasADi folds zeros and ones while an expression is written. What is left of it is a list of operations; two expressions
with the same list are of one form, and differ in the numbers that occur there.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import casadi as ca

__all__ = ["ExpressionForm", "form_of_expression"]

_PLAIN = (0.0, 1.0, -1.0, 2.0, 0.5)
"""Numbers that belong to a form."""

_READ, _WRITTEN = ca.OP_INPUT, ca.OP_OUTPUT


@dataclass(frozen=True)
class ExpressionForm:
    """An expression (m) over symbols: the key of its form, its numbers, and its list of operations.

    Numbers are constants, and symbols that the form is not written over: parameters.
    """

    key: Hashable
    numbers: tuple[ca.SX, ...]
    operations: tuple[tuple[int, tuple[int, ...], int, float | None], ...]
    size: int

    def over(self, symbols: Sequence[ca.SX], numbers: Sequence[ca.SX]) -> ca.SX:
        """Return the expression with other symbols, and symbols for its numbers."""
        registers: dict[int, ca.SX] = {}
        result = [ca.SX(0)] * self.size
        rest = iter(numbers)
        for code, operands, place, plain in self.operations:
            if code == ca.OP_CONST:
                # not empty: a number for each constant
                registers[place] = next(rest) if plain is None else ca.SX(plain)
            elif code == _READ:
                registers[place] = symbols[operands[0]]
            elif code == _WRITTEN:
                result[place] = registers[operands[0]]
            elif len(operands) == 1:
                registers[place] = ca.SX.unary(code, registers[operands[0]])
            else:
                registers[place] = ca.SX.binary(code, registers[operands[0]], registers[operands[1]])
        return ca.SX(ca.vertcat(ca.SX(0, 1), *result))


def form_of_expression(expression: ca.SX, symbols: ca.SX) -> ExpressionForm | None:
    """Return an expression (m) over symbols (n) as a form with numbers; None if it calls functions, such as tables.

    >>> x = ca.SX.sym("x", 2)
    >>> first, second = (form_of_expression(a * x[0] * x[1] + x[0], x) for a in (3.5, 0.7))
    >>> first.key == second.key, [float(one.numbers[0]) for one in (first, second)]
    (True, [3.5, 0.7])
    >>> y, c = ca.SX.sym("y", 2), ca.SX.sym("c")
    >>> first.over(ca.vertsplit(y), [c])
    SX((((c*y_0)*y_1)+y_0))
    """
    own = {one.element_hash() for one in ca.vertsplit(symbols)}
    others = [one for one in ca.symvar(expression) if one.element_hash() not in own]
    column = ca.densify(expression)
    function = ca.Function("form", [symbols, ca.SX(ca.vertcat(ca.SX(0, 1), *others))], [column])
    numbers: list[ca.SX] = []
    operations: list[tuple[int, tuple[int, ...], int, float | None]] = []
    for k in range(function.n_instructions()):
        code, operands = function.instruction_id(k), tuple(function.instruction_input(k))
        places = function.instruction_output(k)
        if code == ca.OP_CALL:
            return None
        if code == ca.OP_CONST:
            value = function.instruction_constant(k)
            plain = value if value in _PLAIN else None
            if plain is None:
                numbers.append(ca.SX(value))
            operations.append((code, (), places[0], plain))
        elif code == _READ and operands[0] == 1:
            numbers.append(others[operands[1]])
            operations.append((ca.OP_CONST, (), places[0], None))
        elif code == _READ:
            operations.append((code, (operands[1],), places[0], None))
        elif code == _WRITTEN:
            operations.append((code, operands, places[1], None))
        else:
            operations.append((code, operands, places[0], None))
    key = tuple(operations)
    return ExpressionForm(key, tuple(numbers), key, column.numel())
