"""Random mechanisms run for two seconds by joints, and of free bodies with closures: the same to the tolerance.

Errors of runs may be 1000 times the tolerance, and as much more as the motion makes of small differences (`growth`,
found by another start). The run to compare with is by joints, with a tolerance a thousand times as tight.
"""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.absolute_balance import Equations, Stand
from support.built_twice import by_closures, flight_velocities, seen, small_case
from support.loop_models import Looped, built
from support.sampling import sampled

pytestmark = pytest.mark.rest

Array = np.ndarray

RUNS, DURATION, TOLERANCE, WITHIN = 200, 2.0, 1e-8, 1000.0
ALWAYS = (0, 2)
TIMES = np.linspace(0.0, DURATION, 5)
NUDGE = 1e-5


def run(s: wt.System, looped: Looped, q: Array, v: Array, tolerance: float = TOLERANCE) -> Array:
    return seen(looped, s.simulate(DURATION, times=TIMES, q=q, v=v, method="dop853", tolerance=tolerance))


@pytest.mark.parametrize("i", sampled(range(RUNS), lambda i: i in ALWAYS))
def test_runs_are_equal_to_the_tolerance(i: int) -> None:
    c = small_case(i)
    free = by_closures(c.looped)
    joints, closures = built(c.looped), built(free)
    exact = run(joints, c.looped, c.q, c.v, 1e-3 * TOLERANCE)
    nudged = run(joints, c.looped, c.q, (1 + NUDGE) * c.v, 1e-3 * TOLERANCE)
    growth = max(1.0, np.abs(nudged - exact).max() / NUDGE)
    found = {
        "by joints": run(joints, c.looped, c.q, c.v),
        "by closures": run(closures, c.looped, free.q, flight_velocities(c)),
    }
    errors = {name: float(np.abs(poses - exact).max()) for name, poses in found.items()}
    assert max(errors.values()) < WITHIN * TOLERANCE * growth, (errors, growth)


@pytest.mark.parametrize("i", range(12))
def test_closures_hold_what_joints_hold(i: int) -> None:
    c = small_case(i)
    free = Equations(Stand.of(by_closures(c.looped)))
    assert np.abs(free.rows.residual).max() < 1e-14
    assert free.mobility == c.equations.mobility
    assert np.abs(free.rows.G[:, : 6 * len(c.looped.parts)][6 * len(c.looped.parts) :]).max() > 0.1
