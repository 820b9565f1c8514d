"""Operations for the inner loops of tracing, on operands that are known to be SX.

`x * y` first finds out what x and y are, which takes CasADi five times as long as the product itself. Where formulas
are to be read, write them with operators; where one line is passed ten thousand times, with these.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca

__all__ = ["copied", "entries", "minus", "plus", "product", "times"]


def times(x: ca.SX, y: ca.SX) -> ca.SX:
    """Return x * y.

    >>> times(ca.SX(2), ca.SX(3))
    SX(6)
    """
    return ca.SX.binary(ca.OP_MUL, x, y)


def plus(x: ca.SX, y: ca.SX) -> ca.SX:
    """Return x + y.

    >>> plus(ca.SX(2), ca.SX(3))
    SX(5)
    """
    return ca.SX.binary(ca.OP_ADD, x, y)


def minus(x: ca.SX, y: ca.SX) -> ca.SX:
    """Return x - y.

    >>> minus(ca.SX(2), ca.SX(3))
    SX(-1)
    """
    return ca.SX.binary(ca.OP_SUB, x, y)


def product(A: ca.SX, B: ca.SX) -> ca.SX:
    """Return the matrix product A @ B, with all its entries stored.

    >>> product(ca.SX([[1, 2]]), ca.SX([3, 4]))
    SX(11)
    """
    if B.is_zero():  # of a mechanism at rest
        return ca.SX.zeros(A.size1(), B.size2())
    return ca.mac(A, B, _zeros(A.size1(), B.size2()))


@cache
def _zeros(rows: int, columns: int) -> ca.SX:
    """Return zeros to add to; they are shared, and must not be changed in place."""
    return ca.SX.zeros(rows, columns)


def copied(x: ca.SX) -> ca.SX:
    """Return a matrix of one entry as an object of its own; `ca.SX(x)` takes ten times as long.

    >>> x = ca.SX.sym("x")
    >>> other = copied(x)
    >>> other[0] = 2
    >>> x
    SX(x)
    """
    return entries(x)[0]


def entries(x: ca.SX) -> list[ca.SX]:
    """Return all entries of a matrix, column by column.

    >>> entries(ca.SX([[1, 2], [3, 4]]))
    [SX(1), SX(3), SX(2), SX(4)]
    """
    found: list[Any] = x.elements()
    return found
