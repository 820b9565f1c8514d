"""Tables in traces: a function that picks a row by where a number lies among knots.

CasADi's scalar expressions have no way to read a table, but they can call a function. `lookup` makes one whose call
stands in a trace as it is; CasADi evaluates it, differentiates it (a row does not change between knots, so derivatives
are zero) and writes it as C. Machine code reads the table back with `table_of` and searches it itself, so that the
number of knots costs memory and next to no time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.foundation.arrays import Array

__all__ = ["LookupTable", "called", "lookup", "picked", "table_of"]

_NAME = "lookup"


class LookupTable(NamedTuple):
    """Knots (n, at least two) in increasing order, and a row of entries (n + 1, m) for each stretch between them."""

    knots: Array
    entries: Array

    @property
    def numbers(self) -> Array:
        """All numbers: knots, then entries row by row."""
        return np.concatenate([self.knots, self.entries.ravel()])


def lookup(table: LookupTable) -> ca.Function:
    """Return the function from a number to the row of its stretch; a knot belongs to the stretch above it.

    >>> steps = lookup(LookupTable(np.array([0.0, 1.0]), np.array([[5.0], [6.0], [7.0]])))
    >>> [float(steps(x)) for x in (-1.0, 0.0, 0.5, 1.0)]
    [5.0, 6.0, 6.0, 7.0]
    """
    x = ca.MX.sym("x")
    n, m = len(table.knots), table.entries.shape[1]
    between = ca.low(ca.DM(table.knots), x) + 1
    row = ca.if_else(x < table.knots[0], 0, ca.if_else(x >= table.knots[-1], n, between))
    entries = ca.MX(ca.DM(table.entries.ravel()))[m * row + ca.DM(range(m))]
    # the added term is zero: CasADi takes derivatives of a call only where it sees that something depends
    return ca.Function(_NAME, [x], [entries + ca.fmin(ca.fabs(x), 0)])


def picked(function: ca.Function, x: Any) -> ca.SX:
    """Return the row of a lookup for an expression, as a call that stands in the trace.

    >>> steps = lookup(LookupTable(np.array([0.0, 9.0]), np.array([[5.0, 1.0], [6.0, 2.0], [7.0, 3.0]])))
    >>> t = ca.SX.sym("t")
    >>> row = picked(steps, t)
    >>> ca.Function("f", [t], [row[0] + row[1] * t])(3)
    DM(12)
    """
    return ca.SX(function.call([ca.SX(x)], False, True)[0])


def called(function: ca.Function) -> ca.Function | None:
    """Return the function if it is a lookup, None if it is a derivative of one, which is zero.

    >>> called(lookup(LookupTable(np.array([0.0, 1.0]), np.array([[5.0], [6.0], [7.0]])))).name()
    'lookup'
    """
    name = function.name()
    if name == _NAME:
        return function
    if name.endswith(f"_{_NAME}"):
        return None
    raise NotImplementedError(f'the trace calls the function "{name}", which native code does not know')


def table_of(function: ca.Function) -> LookupTable:
    """Return the table that a lookup was made from.

    >>> table_of(lookup(LookupTable(np.array([0.0, 2.0]), np.array([[5.0], [6.0], [7.0]])))).knots
    array([0., 2.])
    """
    knots = entries = None
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        if code == ca.OP_GETNONZEROS_PARAM:
            entries = function.instruction_MX(k).dep(0).to_DM().full().ravel()
        elif code == ca.OP_LOW:
            knots = function.instruction_MX(k).dep(0).to_DM().full().ravel()
    if entries is None or knots is None:
        raise NotImplementedError("the trace calls a lookup that native code cannot read")
    return LookupTable(knots, entries.reshape(len(knots) + 1, -1))
