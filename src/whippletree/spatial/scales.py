"""The scale of summands, for telling a small difference from rounding.

In equilibrium, at rest, without mass or without damping a difference is zero but for rounding, and so may be every
number beside it: its neighbours, its own matrix, the answer itself. So a difference is compared with the terms that it
was made of, and never with itself. These may all be zero too: then nothing was subtracted, and exactly zero is left.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias, overload

import casadi as ca
import numpy as np

from whippletree.foundation.arrays import AnyArray, Mask

__all__ = ["largest", "scale_of", "vanishing"]

_LEAST = float(np.finfo(float).tiny)

Numbers: TypeAlias = float | np.floating[Any] | AnyArray


@overload
def largest(*terms: Numbers, least: float = ...) -> float: ...
@overload
def largest(*terms: ca.SX, least: float = ...) -> ca.SX: ...
def largest(*terms: Any, least: float = 0.0) -> Any:
    """Return the largest magnitude among numbers, the entries of arrays, or scalar symbols, but not below `least`.

    >>> largest(np.array([1.0, -3.0]), 2.0), largest(np.zeros((0, 2)))
    (3.0, 0.0)
    """
    if any(isinstance(term, ca.SX) for term in terms):
        sizes = [ca.fabs(term) for term in terms]
        return functools.reduce(ca.fmax, [ca.SX(least), *sizes] if least else sizes)
    return float(functools.reduce(np.maximum, (np.abs(term).max(initial=0.0) for term in terms), least))


@overload
def scale_of(*terms: Numbers) -> float: ...
@overload
def scale_of(*terms: ca.SX) -> ca.SX: ...
def scale_of(*terms: Any) -> Any:
    """Return the largest magnitude among terms that were added or subtracted; never zero, so that it divides.

    >>> scale_of(np.array([4.0, -5.0]), 1.0), 0.0 / scale_of(0.0)
    (5.0, 0.0)
    """
    return largest(*terms, least=_LEAST)


def vanishing(left: Numbers, *terms: Numbers, share: float) -> Mask:
    """Tell which differences are no more than a share of the largest of the terms that they are made of.

    >>> vanishing(np.array([1e-17, 1e-3]), 1.0, share=1e-12).tolist(), bool(vanishing(0.0, 0.0, share=1e-12))
    ([True, False], True)
    """
    return np.asarray(np.abs(left) <= share * scale_of(*terms))
