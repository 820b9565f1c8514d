"""Corners of written formulas: where a condition changes, a spline or a table has a point, an absolute value turns.

A formula is smooth between its corners. Each corner belongs to an expression in the formula's own inputs, and is where
that passes through zero, or through a whole number: the next knot, the next period.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.foundation.arrays import Array
from whippletree.programs.lookup import LookupTable, called, lookup, picked, table_of

__all__ = ["Corners", "before_knots", "corners_of"]

_DIFFERENCES = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX)


class Corners(NamedTuple):
    """The expressions of a formula's corners: a column in the same inputs, inner ones before those that use them.

    `whole` tells for each whether its corners are at whole numbers instead of zero, `used` which of the inputs it
    depends on, and `knots` the points of the spline or table whose knot number it is, if it is one.
    """

    function: ca.Function
    whole: tuple[bool, ...]
    used: tuple[frozenset[int], ...]
    knots: tuple[tuple[float, ...], ...]

    def only(self, which: list[int]) -> Corners:
        """Return some of them."""
        symbols = self.function.sx_in()
        column = ca.SX(self.function(*symbols))
        chosen = ca.vertcat(ca.SX(0, 1), *(column[i] for i in which))
        function = ca.Function("corners", symbols, [ca.densify(chosen)])
        whole, used = tuple(self.whole[i] for i in which), tuple(self.used[i] for i in which)
        return Corners(function, whole, used, tuple(self.knots[i] for i in which))


def corners_of(function: ca.Function) -> Corners:
    """Return the corners of a function over scalar symbols; those of constants and none are left out.

    >>> t = ca.SX.sym("t")
    >>> found = corners_of(ca.Function("pulse", [t], [ca.if_else(t < 5, 0, ca.fabs(t - 7))]))
    >>> found.function(9), found.whole
    (DM([4, 2]), (False, False))
    """
    symbols = function.sx_in()
    owner = {hash(s): i for i, given in enumerate(symbols) for s in ca.symvar(given)}
    values: list[ca.SX] = []
    whole: list[bool] = []
    used: list[frozenset[int]] = []
    knots: list[tuple[float, ...]] = []
    known: set[str] = set()
    for value, integer, points in _borders(function):
        inputs = frozenset(owner[hash(s)] for s in ca.symvar(value))
        if inputs and str(value) not in known:
            known.add(str(value))
            values.append(value)
            whole.append(integer)
            used.append(inputs)
            knots.append(points)
    column = ca.densify(ca.vertcat(ca.SX(0, 1), *values))
    return Corners(ca.Function("corners", symbols, [column]), tuple(whole), tuple(used), tuple(knots))


def _borders(function: ca.Function) -> Iterator[tuple[ca.SX, bool, tuple[float, ...]]]:
    """Yield the expression of every operation that has corners, whether these are at whole numbers, and its knots."""
    nodes = function.instructions_sx()
    for k in range(function.n_instructions()):
        code, node = function.instruction_id(k), nodes[k]
        if code in _DIFFERENCES:
            yield node.dep(0) - node.dep(1), False, ()
        elif code in (ca.OP_FABS, ca.OP_SIGN):
            yield node.dep(0), False, ()
        elif code == ca.OP_COPYSIGN:
            yield node.dep(1), False, ()
        elif code in (ca.OP_FLOOR, ca.OP_CEIL):
            yield node.dep(0), True, ()
        elif code == ca.OP_FMOD:
            yield node.dep(0) / node.dep(1), True, ()
        elif code == ca.OP_CALL:
            table = called(node.which_function())
            if table is not None:
                found = table_of(table)
                yield _knot_number(found, node.dep(0)), True, tuple(found.knots.tolist())


def before_knots(numbers: Array, knots: Array) -> Array:
    """Return the argument of a spline or a table from its knot numbers: see `_knot_number`.

    >>> before_knots(np.array([-0.5, 0.5, 2.75]), np.array([0.0, 1.0, 3.0])).tolist()
    [-1.0, 0.5, 9.0]
    """
    last, width = len(knots) - 1, np.diff(knots)
    below, above = np.minimum(numbers, 0.0), np.maximum(numbers - last, 0.0)
    inside = np.interp(numbers, np.arange(last + 1.0), knots)
    with np.errstate(divide="ignore"):
        return np.asarray(inside + width[0] * below / (1 + below) + width[-1] * above / (1 - above))


def _knot_number(table: LookupTable, x: ca.SX) -> ca.SX:
    """Return a continuous expression that is n at knot n, and beyond the ends passes no further whole number."""
    knots = table.knots
    n, width = len(knots), np.diff(knots)
    rows = np.column_stack([knots[:-1], 1 / width, np.arange(n - 1), np.zeros(n - 1)])
    below, above = [knots[0], 1 / width[0], 0, 1], [knots[-1], 1 / width[-1], n - 1, 1]
    origin, slope, number, bent = ca.vertsplit(picked(lookup(LookupTable(knots, np.vstack([below, rows, above]))), x))
    s = (x - origin) * slope
    return ca.SX(number + s / (1 + bent * ca.fabs(s)))
