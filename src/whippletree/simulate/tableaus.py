"""Runge-Kutta methods as data.

A method is its tableau: stages A, b, c, and for an embedded pair the weights `e` of the error estimate (with `e3` a
second one of lower order that tempers it). `dense` gives, for each stage, the coefficients of powers theta, theta^2,
... of what it contributes at the share theta of a step; stages beyond those of b serve nothing else, and are evaluated
when there is an output within a step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.simulate import dop853

__all__ = ["METHODS", "Tableau"]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge-Kutta method.

    >>> METHODS["rk4"].order
    4
    """

    name: str
    order: int
    A: Array
    b: Array
    c: Array
    e: Array = field(default_factory=lambda: np.zeros(0))
    e3: Array = field(default_factory=lambda: np.zeros(0))
    dense: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def adaptive(self) -> bool:
        """Whether the method estimates its error."""
        return self.e.size > 0

    @property
    def stages(self) -> int:
        """The number of stages."""
        return self.b.size


def _lower(rows: list[list[float]]) -> Array:
    n = len(rows)
    A = np.zeros((n, n))
    for i, row in enumerate(rows):
        A[i, : len(row)] = row
    return A


RK4 = Tableau(
    "rk4",
    4,
    _lower([[], [1 / 2], [0, 1 / 2], [0, 0, 1]]),
    np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    np.array([0, 1 / 2, 1 / 2, 1]),
    dense=np.array([[1, -3 / 2, 2 / 3], [0, 1, -2 / 3], [0, 1, -2 / 3], [0, -1 / 2, 2 / 3]]),
)

DOPRI5 = Tableau(
    "dopri5",
    5,
    _lower(
        [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        ]
    ),
    np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0]),
    np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]),
    e=np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]),
    dense=np.array(
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)


def _dense_853() -> Array:
    """Return the dense output as powers of theta, from the nested form in which it is published.

    y(theta) = y0 + theta (F0 + (1 - theta) (F1 + theta (F2 + (1 - theta) (F3 + ...)))), with F0 = dy, F1 = h f0 - dy,
    F2 = 2 dy - h (f0 + f1), and F3 to F6 = h D k.
    """
    b = np.zeros(16)
    b[:12] = dop853.B
    first, last = np.eye(16)[0], np.eye(16)[12]
    F = [b, first - b, 2 * b - last - first, *dop853.D]
    powers = np.zeros((16, 8))
    factor = np.array([0.0, 1.0])  # theta
    for k, weights in enumerate(F):
        powers[:, : factor.size] += np.outer(weights, factor)
        factor = np.convolve(factor, [1.0, -1.0] if k % 2 == 0 else [0.0, 1.0])
    return np.ascontiguousarray(powers[:, 1:])  # another layout would be compiled once more


DOP853 = Tableau("dop853", 8, dop853.A, dop853.B, dop853.C, e=dop853.E5, e3=dop853.E3, dense=_dense_853())

METHODS: dict[str, Tableau] = {method.name: method for method in (RK4, DOPRI5, DOP853)}
"""Explicit Runge-Kutta methods by name."""
