"""Numbers that users give to the calls of kinematics, read and checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.spatial.scalars import masked, shown

__all__ = ["given_numbers"]


def given_numbers(value: ArrayLike, what: str) -> Array:
    """Return finite real numbers as an array of their shape; the error for any others names the argument.

    >>> given_numbers([1, 2], "the values")
    array([1., 2.])
    """
    try:
        found = None if masked(value) else np.asarray(value)
    except Exception:  # whatever it raises, it is no array
        found = None
    if found is None or found.dtype.kind not in "fiu":
        raise StateError(f"{what} must be real numbers, not {shown(value)}")
    if not np.isfinite(found).all():
        raise StateError(f"{what} must be finite numbers")
    return np.array(found, dtype=np.float64)
