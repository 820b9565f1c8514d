"""A tape as C: one static function of plain arrays, which needs nothing but libm."""

from __future__ import annotations

from collections.abc import Sequence

from whippletree.kernels.tape import Tape

__all__ = ["C_PRELUDE", "c_function"]

C_PRELUDE = """\
#include <math.h>

/* the stretch between knots in which x lies, by as many steps for every x: a knot belongs to the stretch above it */
static inline int segment(double x, const double *knots, int n) {
  int low = 0;
  while (n > 0) {
    int half = n - n / 2;
    low += (x >= knots[low + half - 1]) * half;
    n /= 2;
  }
  return low;
}
"""

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "and": "&&", "or": "||"}
_SPECIAL = {
    "neg": "-{0}",
    "not": "({0} == 0.0)",
    "sign": "(({0} > 0.0) - ({0} < 0.0))",
    "if_else_zero": "({0} != 0.0 ? {1} : 0.0)",
}


def c_function(tape: Tape, name: str, inputs: Sequence[str], output: str) -> str:
    """Return `static void name(const double *input, ..., double *output)` with the tables that it reads.

    >>> import casadi as ca
    >>> from whippletree.kernels.tape import read_tape
    >>> x = ca.SX.sym("x", 2)
    >>> print(c_function(read_tape(ca.Function("f", [x], [x[0] * x[1]])), "f", ["x"], "y"))
    static void f(const double *x, double *y) {
      const double w0 = x[0];
      const double w1 = x[1];
      const double w2 = w0 * w1;
      y[0] = w2;
    }
    <BLANKLINE>
    """
    lines = [*_tables(tape, name)]
    arguments = ", ".join([*(f"const double *{given}" for given in inputs), f"double *{output}"])
    lines.append(f"static void {name}({arguments}) {{")
    for value, (operation, operands) in enumerate(tape.operations):
        if operation == "const":
            text = _number(tape.constants[value])
        elif operation == "input":
            argument, element = tape.inputs[value]
            text = f"{inputs[argument]}[{element}]"
        else:
            text = _operation(tape, name, operation, [f"w{operand}" for operand in operands])
        lines.append(f"  const double w{value} = {text};")
    lines += [f"  {output}[{element}] = w{value};" for _, element, value in tape.outputs]
    lines += [f"  (void){given};" for given in inputs if not _reads(tape, inputs.index(given))]
    return "\n".join([*lines, "}", ""])


def _reads(tape: Tape, argument: int) -> bool:
    return any(number == argument for number, _ in tape.inputs.values())


def _operation(tape: Tape, name: str, operation: str, operands: list[str]) -> str:
    """Return an operation in C."""
    if operation in _INFIX:
        return f" {_INFIX[operation]} ".join(operands)
    if operation in _COMPARED:
        sides = [f"({operand} != 0.0)" for operand in operands] if operation in ("and", "or") else operands
        return f"({f' {_COMPARED[operation]} '.join(sides)})"
    if operation in _SPECIAL:
        return _SPECIAL[operation].format(*operands)
    what, _, where = operation.partition(":")
    if what == "segment":
        return f"segment({operands[0]}, {name}_knots{where}, {len(tape.tables[int(where)].knots)})"
    if what == "entry":
        table, _, column = where.partition(":")
        width = tape.tables[int(table)].entries.shape[1]
        return f"{name}_rows{table}[{width} * (int){operands[0]} + {column}]"
    return f"{operation}({', '.join(operands)})"


def _tables(tape: Tape, name: str) -> list[str]:
    """Return the tables as constant arrays."""
    lines = []
    for k, table in enumerate(tape.tables):
        for what, numbers in (("knots", table.knots), ("rows", table.entries.ravel())):
            text = ", ".join(_number(float(number)) for number in numbers)
            lines.append(f"static const double {name}_{what}{k}[{numbers.size}] = {{{text}}};")
    return lines


def _number(number: float) -> str:
    """Return a number with all its digits."""
    text = repr(number)
    if text in ("inf", "-inf", "nan"):
        return {"inf": "HUGE_VAL", "-inf": "-HUGE_VAL", "nan": "NAN"}[text]
    return text if any(mark in text for mark in ".e") else f"{text}.0"
