"""Forms of equations as people write them: Y[j] == B1[j] @ d_Y[i] is Y_j = B1_j Y'_i."""

from __future__ import annotations

import ast

__all__ = ["in_print"]

_STRENGTH = {ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.MatMult: 2, ast.Div: 2, ast.Pow: 4}
_SIGNS = {ast.Add: " + ", ast.Sub: " - ", ast.Mult: " ", ast.MatMult: " ", ast.Div: " / ", ast.Pow: "^"}
_ALONE = 5
"""How strongly a sign binds; what stands alone binds most."""


def in_print(form: str) -> str:
    """Return a form as it is printed; rates have strokes, products no sign.

    >>> in_print("d_Y[j] == B1[j] @ d_Y[i] + inv(M).T @ cross(w[j], r); D == 0")
    "Y'_j = B1_j Y'_i + M^-T (w_j x r), D = 0"
    """
    parts = []
    for statement in ast.parse(form).body:
        if isinstance(statement, ast.Assign):
            parts.append(f"{_of(statement.targets[0])} = {_of(statement.value)}")
        else:
            assert isinstance(statement, ast.Expr)
            compared = statement.value
            assert isinstance(compared, ast.Compare)
            parts.append(" = ".join(_of(side) for side in [compared.left, *compared.comparators]))
    return ", ".join(parts)


def _of(node: ast.AST, least: int = 0) -> str:
    """Return a part in print, in brackets if it binds less than is asked for."""
    said, strength = _said(node)
    return said if strength >= least else f"({said})"


def _said(node: ast.AST) -> tuple[str, int]:
    if isinstance(node, ast.BinOp):
        own = _STRENGTH[type(node.op)]
        tight = isinstance(node.op, ast.Sub | ast.Div | ast.Pow)
        return _of(node.left, own) + _SIGNS[type(node.op)] + _of(node.right, own + tight), own
    if isinstance(node, ast.UnaryOp):
        return "-" + _of(node.operand, 2), 1
    if isinstance(node, ast.Attribute):  # .T
        inner = _of(node.value, 3)
        return (f"{inner[:-3]}^-T" if inner.endswith("^-1") else f"{inner}^T"), 4
    if isinstance(node, ast.Subscript):
        return _subscript(node)
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Name):
        return _name(node.id), _ALONE
    if isinstance(node, ast.List | ast.Tuple):
        return "[" + ", ".join(_of(one) for one in node.elts) + "]", _ALONE
    if isinstance(node, ast.GeneratorExp):
        where = node.generators[0]
        return f"sum over {_of(where.target)}: {_of(node.elt)}", 0
    return ast.unparse(node), _ALONE


def _name(name: str) -> str:
    """Return a letter, with a stroke for each time that it is derived."""
    for start, strokes in (("dd_", "''"), ("d_", "'")):
        if name.startswith(start):
            return _name(name.removeprefix(start)) + strokes
    return name


def _subscript(node: ast.Subscript) -> tuple[str, int]:
    inner = _of(node.value, 4)
    if isinstance(node.slice, ast.Name | ast.Attribute):
        return f"{inner}_{_of(node.slice)}", _ALONE
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int | str):
        return f"{inner}_{node.slice.value}", _ALONE
    if isinstance(node.slice, ast.Subscript):
        return f"{inner}_{_of(node.slice)}", _ALONE
    return f"{inner}[{ast.unparse(node.slice).strip('()')}]", _ALONE


def _call(node: ast.Call) -> tuple[str, int]:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    given = node.args
    if name == "cross":
        return f"{_of(given[0], 3)} x {_of(given[1], 3)}", 1
    if name == "dot":
        return f"{_of(given[0], 3)} . {_of(given[1], 3)}", 2
    if name == "tilde":
        return f"{_of(given[0], 4)}~", 4
    if name == "inv":
        return f"{_of(given[0], 4)}^-1", 4
    if name == "solve":
        return f"{_of(given[0], 4)}^-1 {_of(given[1], 3)}", 2
    if name == "rate":
        return f"{_of(given[0], _ALONE)}'", 4
    if name == "eye":
        return "1", _ALONE
    if name == "zeros":
        return "0", _ALONE
    if name in ("stack", "rows"):
        return "[" + "; ".join(_of(one) for one in given) + "]", _ALONE
    if name == "cols":
        return "[" + ", ".join(_of(one) for one in given) + "]", _ALONE
    if name == "total" and isinstance(given[0], ast.GeneratorExp):
        return _of(given[0]), 1
    if name == "block" and isinstance(given[0], ast.List):
        lines = (", ".join(_of(one) for one in line.elts) for line in given[0].elts if isinstance(line, ast.List))
        return "[" + "; ".join(lines) + "]", _ALONE
    return f"{name}({', '.join(_of(one) for one in given)})", _ALONE
