"""Numbers that users give, checked."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.spatial.scalars import masked, number, shown

__all__ = ["finite", "increasing", "positive"]


def finite(value: Any, what: str) -> float:
    """Return a finite number.

    >>> finite(2, "t0")
    2.0
    """
    try:
        return number(value, what)
    except ModelError as error:
        raise StateError(str(error)) from None


def increasing(times: Any, what: str) -> Array:
    """Return times that do not go back as an array.

    >>> increasing([0, 1], "times")
    array([0., 1.])
    """
    given = np.full(1, np.nan)
    with contextlib.suppress(Exception):  # objects may do what they like when they are asked for numbers
        read = np.array(times)
        if not masked(times) and (read.dtype.kind in "fiu" or not read.size):  # neither dates nor truth values nor text
            given = read.astype(np.float64)
    if given.ndim != 1 or not np.isfinite(given).all() or (np.diff(given) < 0).any():
        raise StateError(f"{what}= must be increasing finite numbers")
    return given


def positive(value: Any, what: str) -> float:
    """Return a positive number.

    >>> positive(2, "step")
    2.0
    """
    given = np.nan
    with contextlib.suppress(ModelError):
        given = number(value, what)
    if not (np.isfinite(given) and given > 0):
        raise StateError(f"{what}= must be a positive number, not {shown(value)}")
    return given
