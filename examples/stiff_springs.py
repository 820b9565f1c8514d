"""Stiff springs and dampers: the flyball governor, with steps that follow the motion rather than the springs.

The governor of the IFToMM library (A05): a shaft turns about the vertical, and two rods with heavy balls are held by
spring-dampers to a slider. With the stiff springs, what the dampers do to the slider is over in a twentieth of a
millisecond, and an explicit method has to step that finely for ever. The balls need half a second to swing.

An implicit method solves for the end of each step, with exact derivatives of springs and inertias, and may step
two hundred times as far. The trapezoidal rule and the generalised-alpha method are of second order: half the step, a
quarter of the error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt

MODEL = Path(__file__).parent / "iftomm" / "governor_stiff.yaml"
DURATION, EVERY = 2.0, 0.1


def compare() -> dict[str, list[float]]:
    """Return the largest error of any coordinate for steps of 20, 10 and 5 ms, by method."""
    model = wt.read(MODEL)
    exact = model.simulate(duration=DURATION, every=EVERY, method="dop853", tolerance=1e-9)
    print(f"dop853: {exact.certificate.steps} steps, {exact.certificate.evaluations} evaluations")
    errors: dict[str, list[float]] = {}
    options: dict[str, dict[str, Any]] = {"trapezoidal": {}, "generalized_alpha": {"spectral_radius": 0.8}}
    for method, more in options.items():
        for step in (0.02, 0.01, 0.005):
            run = model.simulate(duration=DURATION, every=EVERY, method=method, step=step, **more)
            error = float(np.abs(run.q - exact.q).max())
            errors.setdefault(method, []).append(error)
            lost = run.certificate.energy_error / run.certificate["energy_scale"]
            print(f"{method}, {1000 * step:g} ms: {run.certificate.steps} steps, error {error:.1e}, energy {lost:+.0e}")
    return errors


def main() -> dict[str, list[float]]:
    """Run the example."""
    errors = compare()
    try:
        wt.read(MODEL).simulate(duration=DURATION, every=EVERY, method="rk4", step=5e-4)
    except wt.SimulationError as error:
        print(f"rk4, 0.5 ms: {error}")
    return errors


if __name__ == "__main__":
    main()
