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


def extrapolated(
    f: Callable[[float, Array], Array], x: Array, times: Array, tolerance: float = 1e-13, columns: int = 9
) -> Array:
    """The solution of x' = f(t, x) at increasing times, a row for each, by extrapolation (Gragg, Bulirsch, Stoer).

    A step is repeated by the midpoint rule with 2, 4, 6, ... parts, and extrapolated to none: its order grows by two
    with each repetition. It is accepted when the last two columns agree to the tolerance, relative and absolute, and
    halved when all columns have not sufficed. Numbers keep their type, such as long doubles.

    >>> float(abs(extrapolated(lambda t, x: -x, np.ones(1), np.array([0.0, 3.0]))[-1, 0] - np.exp(-3.0))) < 1e-14
    True
    """
    t, h, rows = float(times[0]), float(times[-1] - times[0]) / 64, [np.array(x)]
    x = rows[0]
    for end in times[1:]:
        while t < end:
            step = min(h, end - t)
            found, used = _extrapolated_step(f, t, x, step, tolerance, columns)
            if found is None:
                h = step / 2
                if h < 1e-12 * (times[-1] - times[0]):
                    raise ArithmeticError(f"no step is short enough at {t}")
                continue
            x, t = found, (float(end) if step == end - t else t + step)
            if used < columns - 1 and step == h:  # with columns to spare
                h = 1.5 * step
        rows.append(x)
    return np.array(rows)


def _extrapolated_step(
    f: Callable[[float, Array], Array], t: float, x: Array, h: float, tolerance: float, columns: int
) -> tuple[Array | None, int]:
    """The end of a step and how many columns it took; None if all were not enough."""
    first, before = f(t, x), []
    for k in range(columns):
        parts = 2 * (k + 1)
        d = h / parts
        a, b = x, x + d * first
        for i in range(1, parts):
            a, b = b, a + 2 * d * f(t + i * d, b)
        row = [(a + b + d * f(t + h, b)) / 2]
        for j, coarser in enumerate(before):
            ratio = (parts / (2 * (k - j))) ** 2
            row.append(row[-1] + (row[-1] - coarser) / (ratio - 1))
        if k > 2 and bool(np.all(np.abs(row[-1] - row[-2]) <= tolerance * np.maximum(np.abs(row[-1]), 1.0))):
            return row[-1], k
        before = row
    return None, columns


def amplitude(u: float, m: float) -> float:
    """Jacobi's amplitude am(u | m), whose sine is sn, by the arithmetic-geometric mean (Abramowitz and Stegun, 16.4).

    >>> round(float(np.sin(amplitude(0.5, 0.3))), 12)
    0.474215622712
    """
    a, b, c = [1.0], np.sqrt(1.0 - m), [np.sqrt(m)]
    while abs(c[-1]) > 1e-17 and len(a) < 12:
        a, b, c = [*a, (a[-1] + b) / 2], np.sqrt(a[-1] * b), [*c, (a[-1] - b) / 2]
    phi = 2.0 ** (len(a) - 1) * a[-1] * u
    for mean, half in zip(a[:0:-1], c[:0:-1], strict=True):
        phi = (phi + np.arcsin(half / mean * np.sin(phi))) / 2
    return float(phi)


def quarter_period(m: float) -> float:
    """The complete elliptic integral K(m).

    >>> round(quarter_period(0.5), 12)
    1.854074677301
    """
    a, b = 1.0, np.sqrt(1.0 - m)
    for _ in range(8):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return float(np.pi / (2 * a))
