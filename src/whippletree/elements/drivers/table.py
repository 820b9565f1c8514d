"""A table of values that is read between its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whippletree.elements.drivers.curve import CurveByPieces, chosen, cubics, points
from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.programs.lookup import LookupTable

__all__ = ["KINDS", "Table"]

KINDS = ("linear", "pchip", "hold")
"""How a table is read between its points."""


@user_facing
@readable
@dataclass(frozen=True, init=False)
class Table(CurveByPieces):
    """Values y at places x, and how to read between them and beyond.

    - "linear": straight from point to point; the first and the last line go on beyond the ends;
    - "pchip": cubics with a continuous slope that rise and fall only where the values do, after Fritsch and Carlson;
      straight on beyond the ends;
    - "hold": each value holds from its place up to the next, the last one on and on; before the first place, the first.

    Call it with numbers, or with a CasADi expression such as `m.time` or `m.coordinate("A")` to use it in a force. The
    steps of a run end at the corners of a table and at its jumps. A drive needs a velocity, and takes "pchip" or a
    `Spline`; a condition on velocities takes "linear" too.

    >>> gear = Table([0.0, 1.0, 3.0], [5.0, 7.0, 6.0], kind="hold")
    >>> gear(1.0), gear([-1.0, 0.99, 2.0, 7.0]).tolist()
    (7.0, [5.0, 5.0, 7.0, 6.0])
    >>> import casadi as ca
    >>> Table([0.0, 1.0, 3.0], [5.0, 7.0, 6.0])(ca.SX.sym("t")).shape
    (1, 1)
    """

    word: ClassVar[str] = "table"
    choices: ClassVar[tuple[str, ...]] = KINDS

    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: str

    def __init__(self, x: Sequence[float], y: Sequence[float], kind: str = "linear") -> None:
        places, values = points(x, y, ("table", "x", "y"))
        chosen(kind, "kind", KINDS)
        if len(places) < 2:
            raise ModelError(f"a table needs at least 2 points, got {len(places)}")
        self._keep(x=tuple(places.tolist()), y=tuple(values.tolist()), kind=kind)

    def _pieces(self) -> LookupTable:
        x, y = np.array(self.x), np.array(self.y)
        h = np.diff(x)
        d = np.diff(y) / h
        if self.kind == "pchip":
            return cubics(x, y, _monotone_slopes(h, d))
        rows = np.column_stack([x, y] if self.kind == "hold" else [x, y, np.append(d, d[-1])])
        return LookupTable(x, np.vstack([rows[:1], rows]))


def _monotone_slopes(h: Array, d: Array) -> Array:
    """Return slopes by which no cubic leaves its two values, for stretches of lengths h and mean slopes d."""
    if len(h) == 1:
        return np.append(d, d)
    before, after = h[1:] + 2 * h[:-1], 2 * h[1:] + h[:-1]
    mean = (before + after) / (after / d[:-1] + before / d[1:])
    inner = np.where(np.sign(d[:-1]) * np.sign(d[1:]) > 0, mean, 0.0)
    return np.concatenate([[_end_slope(h[:2], d[:2])], inner, [_end_slope(h[:-3:-1], d[:-3:-1])]])


def _end_slope(h: Array, d: Array) -> float:
    """Return the slope at an end of the parabola through three points, as far as it turns back nowhere."""
    slope = float(((2 * h[0] + h[1]) * d[0] - h[0] * d[1]) / (h[0] + h[1]))
    first, second = np.sign(d)
    if np.sign(slope) != first:
        return 0.0
    return 3 * float(d[0]) if first != second and abs(slope) > 3 * abs(d[0]) else slope
