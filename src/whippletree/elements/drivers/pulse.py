"""A pulse: one between two values, zero outside."""

from __future__ import annotations

from typing import Any

import casadi as ca

from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import Scalar, scalar

__all__ = ["pulse"]


@user_facing
def pulse(x: Scalar, begin: Scalar, end: Scalar) -> Any:
    """Return one between two values of an expression or a number, zero outside, and a half at both ends.

    Steps of a simulation end where a pulse begins and ends, so that it is not stepped over however short it is.

    >>> [pulse(x, 1.0, 2.0) for x in (0.5, 1.5, 2.0)]
    [0.0, 1.0, 0.5]
    >>> pulse(ca.SX.sym("t"), 1.0, 2.0).shape
    (1, 1)
    """
    x, begin, end = (scalar(given, f"pulse: {what}") for given, what in ((x, "x"), (begin, "begin"), (end, "end")))
    if isinstance(begin, float) and isinstance(end, float) and not begin < end:
        raise ModelError(f"pulse: end must be greater than begin, got {begin:g} to {end:g}")
    if isinstance(x, float) and isinstance(begin, float) and isinstance(end, float):
        return (_sign(x - begin) - _sign(x - end)) / 2
    return (ca.sign(x - begin) - ca.sign(x - end)) / 2


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0)
