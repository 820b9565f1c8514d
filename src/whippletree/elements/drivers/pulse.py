"""A rectangular pulse."""

from __future__ import annotations

from typing import Any

import casadi as ca

__all__ = ["pulse"]


def pulse(x: Any, begin: Any, end: Any) -> Any:
    """Return one between two values of an expression or a number, zero outside, and a half at both ends.

    Steps of a simulation end where a pulse begins and ends, so that it is not stepped over however short it is.

    >>> [pulse(x, 1.0, 2.0) for x in (0.5, 1.5, 2.0)]
    [0.0, 1.0, 0.5]
    >>> pulse(ca.SX.sym("t"), 1.0, 2.0).shape
    (1, 1)
    """
    if all(isinstance(given, float | int) for given in (x, begin, end)):
        return (_sign(x - begin) - _sign(x - end)) / 2
    return (ca.sign(x - begin) - ca.sign(x - end)) / 2


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0)
