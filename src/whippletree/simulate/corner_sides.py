"""The two sides of a corner that the state decides: whether rates jump there, and whether both lead to the corner.

Where both do, the motion slides along it (Filippov), as dry friction by `sign` at rest. Steps that end at corners
cannot follow that: they would cross it for ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.kernels.kernel import Array, NotFiniteError
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.native_structs import Words
from whippletree.simulate.python_stepping import MotionRates
from whippletree.simulate.run_state import RunState
from whippletree.simulate.run_tolerances import BESIDE_CORNER, NO_JUMP, RATE_DISPLACEMENT

__all__ = ["CornerSides", "nearest_corner", "sides_of_corner"]


class CornerSides(NamedTuple):
    """The behaviour of the rates at a corner.

    >>> CornerSides(jumps=True, slides=False).slides
    False
    """

    jumps: bool
    slides: bool


def nearest_corner(bindings: KernelBindings, run: RunState, whole: Words) -> int:
    """Return the corner that the motion comes to first, or has just left, at the rates of the present state."""
    nv, y = bindings.system.nv, run.y.copy()
    y[:nv] = 0.0
    try:
        way = MotionRates(bindings, run)(run.t, y)
        h = RATE_DISPLACEMENT / max(1.0, float(np.abs(way[:-2]).max(initial=0.0)))
        before, after = (_expressions(bindings, run, y + side * h * way, run.t + side * h) for side in (-1.0, 1.0))
    except NotFiniteError:
        return 0
    here = 0.5 * (before + after)
    off = np.abs(here - np.where(whole, np.round(here), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return int(np.argmin(np.nan_to_num(off * 2 * h / np.abs(after - before), nan=0.0, posinf=np.inf)))


def _expressions(bindings: KernelBindings, run: RunState, y: Array, t: float) -> Array:
    """Return the expressions of all corners at y, from the configuration of the run."""
    nv = bindings.system.nv
    q = bindings.system.integrate(run.q, y[:nv])
    return bindings.of_events("corners", q, y[nv : 2 * nv], y[2 * nv : -2], t)


def sides_of_corner(bindings: KernelBindings, run: RunState, corner: int, *, whole: bool) -> CornerSides:
    """Look at both sides of the corner that the run is at: its expression rises below it and falls above if it slides.

    Nothing is said where expressions are not finite next to it.
    """
    try:
        return _looked_at(bindings, run, corner, whole=whole)
    except NotFiniteError:
        return CornerSides(jumps=False, slides=False)


def _looked_at(bindings: KernelBindings, run: RunState, corner: int, *, whole: bool) -> CornerSides:
    nv, t, y = bindings.system.nv, run.t, run.y.copy()
    y[:nv] = 0.0
    size = np.concatenate([bindings.scale, bindings.scale + np.abs(y[nv : 2 * nv]), 1.0 + np.abs(y[2 * nv : -2])])

    def expression(y: Array, t: float) -> float:
        return float(_expressions(bindings, run, y, t)[corner])

    def along(way: Array, dt: float = 0.0) -> float:
        """Return how fast the expression changes along a way in y and t."""
        h = RATE_DISPLACEMENT / max(1.0, float(np.abs(way[:-2] / size).max(initial=0.0)))
        return (expression(y + h * way, t + h * dt) - expression(y - h * way, t - h * dt)) / (2 * h)

    slope = np.array([along(one) for one in np.eye(y.size)[:-2] * np.append(size, [1.0, 1.0])])
    steep = float(np.linalg.norm(slope))
    if steep == 0.0:
        return CornerSides(jumps=False, slides=False)
    here = expression(y, t)
    off = here - (round(here) if whole else 0.0)
    normal = np.append(size * slope / steep, [0.0, 0.0])
    rates = MotionRates(bindings, run)
    above, below = (rates(t, y + (side * BESIDE_CORNER - off / steep) * normal) for side in (1.0, -1.0))
    largest = max(float(np.abs(k[:-2] / size).max()) for k in (above, below))
    jumps = float(np.abs((above - below)[:-2] / size).max()) > NO_JUMP * largest
    least = NO_JUMP * RATE_DISPLACEMENT * steep * largest
    return CornerSides(jumps, jumps and along(above, 1.0) < -least and along(below, 1.0) > least)
