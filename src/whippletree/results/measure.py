"""What a certificate says about states, measured from the states themselves."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from whippletree.errors import AssemblyError
from whippletree.kernels.kernel import Array
from whippletree.results.interpolate import quaternions
from whippletree.results.replay import Replay

__all__ = ["measured"]


def measured(run: Replay) -> dict[str, float]:
    """Return the measures of a certificate that states alone determine: residuals, norms and energies.

    >>> from whippletree.system.examples import four_bar
    >>> s = four_bar()
    >>> found = measured(Replay(s, np.zeros(1), s.q0[None], s.v0[None], np.zeros((1, 0))))
    >>> found["closure_residual"] < 1e-12, found["quaternion_error"]
    (True, 0.0)
    """
    round_ = replace(run, q=run.system.normalize(run.q))
    energy = round_.energy()
    rest = energy.total - energy.kinetic
    gap, slip = _closures(round_)
    found = {
        "closure_residual": gap,
        "velocity_residual": slip,
        "energy_start": float(energy.total[0]),
        "energy_end": float(energy.total[-1]),
        "energy_scale": float(energy.kinetic.max() + np.ptp(rest)),
        "quaternion_error": _off_the_sphere(run),
    }
    if run.work is not None:
        gained = run.work - run.work[0]
        error = energy.total - energy.total[0] - gained[:, 0] + gained[:, 1]
        found |= {"work_in": float(gained[-1, 0]), "work_dissipated": float(gained[-1, 1])}
        found["energy_drift"] = float(np.abs(error).max())
    return found


def _off_the_sphere(run: Replay) -> float:
    """Return the largest difference of a quaternion's length from one."""
    worst = [np.abs(np.linalg.norm(run.q[:, where], axis=1) - 1).max() for where, _ in quaternions(run.system)]
    return float(max(worst, default=0.0))


def _closures(run: Replay) -> tuple[float, float]:
    """Return the largest gap and the largest rate of opening, in radians and characteristic lengths."""
    system = run.system
    rows = system.closure_rows
    if not rows:
        return 0.0, 0.0
    scale = np.array([1.0 if '": turn about ' in row else system.characteristic_length for row in rows])
    gap = slip = 0.0
    for q, v, t in zip(run.q, run.v, run.t, strict=True):
        options: dict[str, Any] = {"t": float(t), "parameters": run.parameters}
        gap = max(gap, float(np.abs(system.closure_residual(q, **options) / scale).max()))
        slip = max(slip, float(np.abs(_opening(run, q, v, options) / scale).max()))
    return gap, slip


def _opening(run: Replay, q: Array, v: Array, options: dict[str, Any]) -> Array:
    """Return the rate of the closures: that of the part of `v` that they do not allow."""
    description = run.system.description
    allowed = np.zeros_like(v)
    if description.closures_timed or not all(use.closure.holonomic for use in description.closures):
        with contextlib.suppress(AssemblyError):
            allowed = run.system.consistent_velocities(q, v, **options)
    return np.asarray(run.system.closure_jacobian(q, **options) @ (v - allowed))
