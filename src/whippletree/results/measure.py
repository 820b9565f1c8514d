"""The measures of a certificate that follow from the states themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from whippletree.model.parts import IndependentPart, independent_parts
from whippletree.results.certificate_measures import Measures
from whippletree.results.deformations import out_of_range, without_energy
from whippletree.results.interpolate import quaternions
from whippletree.results.part_balances import MOST_PARTS, part_balances, stored_in_time
from whippletree.results.replay import CHUNK, Replay, of_rows
from whippletree.system import Energy, System

__all__ = ["looked_at", "measured"]

_PARTS: WeakKeyDictionary[System, list[IndependentPart]] = WeakKeyDictionary()
"""The parts of systems."""

_MOST_STATES = 2000
"""So many states of a run are looked at, evenly spaced, if there are more."""

_LAW_ROUNDING = 1e-9
"""An element gives energy if the power that it gives is more than this share of its largest dissipation: a law that
is zero at rest is so up to rounding."""


def looked_at(states: int) -> npt.NDArray[np.int64]:
    """Return which of a run's states are looked at: all of them, or 2000 that are evenly spaced.

    >>> looked_at(4).tolist(), len(looked_at(10_000)), looked_at(10_000)[[0, 1, -1]].tolist()
    ([0, 1, 2, 3], 2000, [0, 5, 9999])
    """
    return np.linspace(0, states - 1, min(states, _MOST_STATES)).round().astype(np.int64)


def measured(
    run: Replay,
    start: tuple[float, float] | None = None,
    *,
    switched: bool = False,
    outputs: Replay | None = None,
    energy_tolerance: float = Measures.energy_tolerance,
) -> dict[str, Any]:
    """Return the measures of a certificate that states alone determine: residuals, norms and energies.

    `start` are the energy when no work was done yet, and the scale of energies, if these are known; otherwise the
    first state is the start. In a run that was `switched`, events have changed something at an instant. Energies, of
    the whole and of parts, may be off by the share `energy_tolerance`. If the states are the
    ends of a run's steps, closures are looked at where it was brought back onto them, at its `outputs`.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> found = measured(Replay(s, np.zeros(1), s.q0[None], s.v0[None], np.zeros((1, 0))))
    >>> found["closure_residual"] < 1e-12, found["quaternion_error"]
    (True, 0.0)
    """
    round_ = _rounded(run)
    energy, passed_through = _energies(round_)
    rest = energy.total - energy.kinetic
    delivered = run if outputs is None else outputs
    found = {
        **_closures(delivered),
        "energy_start": float(energy.total[0]),
        "energy_end": float(energy.total[-1]),
        "energy_scale": float(max(energy.kinetic.max(), passed_through) + np.ptp(rest)),
        "energy_tolerance": energy_tolerance,
        "quaternion_error": _off_the_sphere(run),
    }
    slack, speed = run.system.kernels.closures.data_slack(delivered.v)
    if slack:  # rows that the data make redundant within their accuracy only are held to that
        found["closure_tolerance"] = max(Measures.closure_tolerance, slack)
        found["velocity_tolerance"] = Measures.velocity_tolerance + speed
    if run.work is not None:
        gained = run.work - run.work[0]
        if start is not None:
            gained = run.work
            found |= {"energy_start": start[0], "energy_scale": max(start[1], found["energy_scale"])}
        error = energy.total - found["energy_start"] - gained[:, 0] + gained[:, 1]
        found |= {"work_in": float(gained[-1, 0]), "work_dissipated": float(gained[-1, 1])}
        found["energy_drift"] = float(np.abs(error).max())
    found |= {"out_of_range": out_of_range(round_), "without_energy": without_energy(round_.system)}
    found["giving_energy"] = _giving_energy(round_) if Measures(**found).gives_energy else ""
    return found | _of_parts(round_, outputs, energy_tolerance, switched=switched)


def _rounded(run: Replay) -> Replay:
    """Return the same states with quaternions of unit length."""
    return replace(run, q=run.system.configuration(run.q)) if quaternions(run.system) else run


def _energies(run: Replay) -> tuple[Energy, float]:
    """Return the energies at all states, and the largest kinetic energy of the mean velocities between them.

    A motion may rest at each of the states.
    """
    dt = np.diff(run.t)
    k = np.flatnonzero(dt > 0)
    if not k.size:
        return run.energy(), 0.0
    mean = run.system.difference(run.q[k], run.q[k + 1]) / dt[k, None]
    every, n = np.concatenate([np.arange(len(run.t)), k]), len(run.t)
    both = replace(run.picked(every), v=np.concatenate([run.v, mean])).energy()  # in one call
    return Energy(both.kinetic[:n], both.potential[:n], both.strain[:n]), float(both.kinetic[n:].max())


def _giving_energy(run: Replay) -> str:
    """Name the force element whose law gives most energy instead of dissipating it, if one does at any state."""
    worst, words = 0.0, ""
    for name, powers in run.dissipated_powers().items():
        k = int(np.argmin(powers))
        if powers[k] < min(worst, -_LAW_ROUNDING * float(np.abs(powers).max())):
            worst, words = powers[k], f'the law of "{name}" gives {-powers[k]:.3g} W at t = {run.t[k]:.6g} s'
    return words


def _of_parts(run: Replay, outputs: Replay | None, energy_tolerance: float, *, switched: bool) -> dict[str, Any]:
    """Return the worst balance of the parts that meet only at the ground, and which are not known."""
    description = run.system.description
    parts = _PARTS.get(run.system)
    if parts is None:
        parts = _PARTS[run.system] = independent_parts(description)
    if len(parts) < 2 or run.work is None:
        return {"parts": len(parts)}
    found: dict[str, Any] = {"parts": len(parts), "parts_unknown": ("all of them",)}
    changing = run.parameters is not None and run.parameters.ndim > 1
    unknown = bool(stored_in_time(description) or without_energy(run.system))
    if switched or changing or unknown or len(parts) > MOST_PARTS:
        return found
    balances = part_balances(run, parts, energy_tolerance, outputs)
    known = [one for one in balances if np.isfinite(one.error)]
    found["parts_unknown"] = tuple(one.name for one in balances if not np.isfinite(one.error))
    if known:
        # not empty: looked at above
        worst = max(known, key=lambda one: one.error / (one.limit + 1e-300))
        found |= {"worst_part": worst.name, "part_error": worst.error, "part_limit": worst.limit}
    return found


def _off_the_sphere(run: Replay) -> float:
    """Return the largest difference of a quaternion's length from one."""
    worst = [np.abs(np.linalg.norm(run.q[:, where], axis=1) - 1).max() for where, _ in quaternions(run.system)]
    return float(max(worst, default=0.0))


def _closures(run: Replay) -> dict[str, Any]:
    """Return the largest gap and the largest rate of opening: scaled, and in the units of their rows."""
    if not run.system.closure_rows:
        return {"closure_residual": 0.0, "velocity_residual": 0.0}
    run, rows = _rounded(run), len(run.system.closure_rows)
    gaps, rates = np.zeros(rows), np.zeros(rows)
    for part in _alike(run):
        opened = run.system.kernels.closures.closure_errors(part.q, part.v, part.t, of_rows(part.parameters, 0))
        gaps, rates = (
            np.maximum(worst, np.abs(one).max(axis=0)) for worst, one in zip((gaps, rates), opened, strict=True)
        )
    return {
        "closure_residual": float(gaps.max()),
        "velocity_residual": float(rates.max()),
        "widest_gap": run.system.kernels.closures.opening_in_words(gaps),
        "fastest_opening": run.system.kernels.closures.opening_in_words(rates, rate=True),
    }


def _alike(run: Replay) -> Iterator[Replay]:
    """Yield stretches of a run that are not too long and have the same parameters."""
    edges = set(range(0, len(run.t), CHUNK)) | {len(run.t)}
    if run.parameters is not None and run.parameters.ndim > 1:
        edges |= set((np.flatnonzero((np.diff(run.parameters, axis=0) != 0).any(axis=1)) + 1).tolist())
    for start, end in pairwise(sorted(edges)):
        yield run.picked(slice(start, end))
