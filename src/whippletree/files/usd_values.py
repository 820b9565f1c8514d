"""Values of USD attributes: numbers, vectors and quaternions, or an error that names the attribute."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from whippletree.foundation.arrays import Array

UsdObject: TypeAlias = Any
"""A stage, prim or attribute of USD's: its library says no types."""

__all__ = ["number", "quaternion", "vector", "word"]


def number(attribute: UsdObject, default: float) -> float:
    """Return an attribute that is a number, the default if it has no value; it may be infinite."""
    value = attribute.Get()
    if value is None:
        return default
    if not isinstance(value, int | float) or math.isnan(value):
        raise _unfit(attribute, "a number", value)
    return float(value)


def vector(attribute: UsdObject, default: tuple[float, float, float]) -> Array:
    """Return an attribute that is three numbers, the default if it has no value; they may be infinite."""
    value = attribute.Get()
    try:
        found = np.array(default if value is None else value, dtype=np.float64)
    except (TypeError, ValueError):
        raise _unfit(attribute, "three numbers", value) from None
    if found.shape != (3,) or np.isnan(found).any():
        raise _unfit(attribute, "three numbers", value)
    return found


def quaternion(attribute: UsdObject) -> tuple[float, float, float, float]:
    """Return a quaternion, scalar first; none, or one of zeros, stands for no turn."""
    value = attribute.Get()
    if value is None:
        return 1.0, 0.0, 0.0, 0.0
    try:
        w, (x, y, z) = float(value.GetReal()), map(float, value.GetImaginary())
    except (AttributeError, TypeError, ValueError):
        raise _unfit(attribute, "a quaternion", value) from None
    if not all(map(math.isfinite, (w, x, y, z))):
        raise _unfit(attribute, "a quaternion", value)
    return (w, x, y, z) if math.hypot(w, x, y, z) > 0.5 else (1.0, 0.0, 0.0, 0.0)


def word(attribute: UsdObject, known: tuple[str, ...], default: str) -> str:
    """Return an attribute that is one of some words."""
    value = attribute.Get()
    if value is None:
        return default
    if str(value) not in known:
        raise _unfit(attribute, f"one of {', '.join(known)}", value)
    return str(value)


def _unfit(attribute: UsdObject, wanted: str, value: object) -> ValueError:
    return ValueError(f"{attribute.GetPath()} must be {wanted}, got {str(value)[:60]!r}")
