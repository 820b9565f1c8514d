"""Motions in plain NumPy, to compare with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def rk4(f: Callable[[Array], Array], x: Array, duration: float, steps: int) -> Array:
    """The solution of x' = f(x) after a time, by Runge and Kutta's method."""
    h = duration / steps
    for _ in range(steps):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        k4 = f(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x
