"""Elements' states in steps of a fixed size: too long a step lets a decaying state grow, or does not resolve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.results.replay import Replay

if TYPE_CHECKING:
    from whippletree.studies.run_records import RunRecord

__all__ = ["StateGrowth", "state_growth"]

_SAMPLES = 16
"""Outputs of a run at which the growth of states is looked at."""

_MOST_STATES = 100
"""Largest number of auxiliary states that are looked at: each takes a run of the rates."""

_NUDGE = 1e-6
"""Difference of a state, relative to its size, by which its rate is differentiated."""

_RESOLVED = 1.0
"""The longest step in which a state's own motion is resolved, times the rate of that motion: `rk4` then leaves 37.5 %
of what decays to 36.8 %, and with steps twice as long 33.3 % instead of 13.5 %."""


class StateGrowth(NamedTuple):
    """The largest factor by which a step multiplies a state that its law makes smaller, and that state.

    The factor is NaN if it is not known, or if there is nothing to know. `unresolved` says in words which state moves
    by itself faster than a step shows, or nothing.
    """

    factor: float
    state: str
    unresolved: str = ""


def state_growth(made: RunRecord, run: Replay) -> StateGrowth:
    """Return how steps of a fixed size multiply states, at some of a run's outputs; `made` tells how it was made.

    The laws' own rates are the eigenvalues of dz'/dz; a method says what it makes of each in a step. Steps that are
    chosen by a tolerance are not looked at: their error estimates have the states among them.
    """
    nz = run.system.nz
    if made.adaptive or not 0 < nz <= _MOST_STATES:
        return StateGrowth(np.nan, "")
    finite = np.flatnonzero(np.isfinite(run.z).all(axis=1))
    rows = np.unique(finite[np.linspace(0, len(finite) - 1, min(_SAMPLES, len(finite))).astype(np.intp)])
    step, worst = made.fixed_step, StateGrowth(0.0, "")
    fastest, mover = 0.0, ""
    for matrix in _jacobians(run.picked(rows)):
        rates, modes = np.linalg.eig(matrix)
        for rate, mode in zip(rates, modes.T, strict=True):
            name = run.system.kernels.elements.names[int(np.abs(mode).argmax())]
            if abs(rate) > fastest:
                fastest, mover = float(abs(rate)), name
            if rate.real < 0:
                factor = made.amplification(step * rate)
                if not factor <= worst.factor:
                    worst = StateGrowth(factor, name)
    grows = worst.factor > 1 or np.isnan(worst.factor)
    words = _in_words(mover, fastest, step) if fastest * step > _RESOLVED else ""
    return StateGrowth(worst.factor, worst.state if grows else "", words)


def _in_words(state: str, rate: float, step: float) -> str:
    return (
        f'the state "{state}" where it changes by its own law: that takes {1 / rate:.3g} s, and a step is {step:.3g} s '
        f"(a smaller step resolves it, or a method that chooses its steps)"
    )


def _jacobians(run: Replay) -> Array:
    """Return dz'/dz (n, nz, nz) at the states of a run, by differences."""
    n, nz = run.z.shape
    found = np.zeros((n, nz, nz))
    for k in range(nz):
        ends = []
        nudge = _NUDGE * np.maximum(1.0, np.abs(run.z[:, k]))
        for way in (-1.0, 1.0):
            z = run.z.copy()
            z[:, k] += way * nudge
            ends.append(Replay(run.system, run.t, run.q, run.v, z, run.parameters, run.efforts).state_rates())
        found[:, :, k] = (ends[1] - ends[0]) / (2 * nudge[:, None])
    return found[np.isfinite(found).all(axis=(1, 2))]
