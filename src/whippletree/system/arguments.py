"""The arguments of calls: what is given becomes arrays of the right size, and what cannot is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.kernels.signature import UNIT_TOLERANCE
from whippletree.spatial.scalars import masked

__all__ = ["Argument", "as_array", "state_in_batch"]


@dataclass(frozen=True)
class Argument:
    """An input of a call: its name, size, a label for each element, and its quaternions (all as slices)."""

    name: str
    size: int
    label: Callable[[int], str]
    quaternions: tuple[slice, ...] = ()
    optional: bool = False


def state_in_batch(index: tuple[int, ...]) -> str:
    """Say which state of a batch an index is about, nothing for a single state.

    >>> state_in_batch((3,)), state_in_batch(())
    (' in state 3', '')
    """
    return f" in state {index[0] if len(index) == 1 else index}" if index else ""


def as_array(value: Any, argument: Argument) -> npt.NDArray[np.float64]:
    """Return an argument as a contiguous float64 array whose last dimension has the right size.

    >>> as_array([1, 2], Argument("q", 2, str))
    array([1., 2.])
    """
    if value is None:
        raise StateError(f"{argument.name} is missing: give {argument.size} numbers")
    if masked(value):
        raise StateError(f"{argument.name} has masked entries, which are no numbers: fill them first")
    try:
        array = np.asarray(value)
    except Exception as error:
        raise StateError(f"{argument.name} cannot be read as an array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise StateError(f"{argument.name} must hold real numbers, not {array.dtype}")
    if array.ndim == 0 and argument.size == 1:
        array = array.reshape(1)
    if array.ndim == 0 or array.shape[-1] != argument.size:
        raise StateError(
            f"{argument.name} must have {argument.size} numbers "
            f"(or be a batch whose last size is {argument.size}), but its shape is {array.shape}"
        )
    with np.errstate(all="ignore"):
        result = np.ascontiguousarray(array, dtype=np.float64)
    if not result.flags.aligned:
        result = result.copy()
    for where in argument.quaternions:
        e = result[..., where]
        off = ~_near_one(e)
        if off.any() and np.isfinite(e).all():
            state = state_in_batch(tuple(int(i) for i in np.argwhere(off)[0])) if e.ndim > 1 else ""
            raise StateError(
                f"{argument.name}[{where.start}:{where.stop}]{state} is not a unit quaternion "
                f"({argument.label(where.start)}): divide it by its length, or use system.normalize(q)"
            )
    return result


def _near_one(e: Array) -> npt.NDArray[np.bool_]:
    """Tell which quaternions have unit length, by the very operations of `entry` and `batch`: all must agree."""
    total: Any = -1.0
    with np.errstate(all="ignore"):
        for i in range(4):
            total = total + e[..., i] * e[..., i]
        return np.asarray(np.abs(total) <= UNIT_TOLERANCE)
