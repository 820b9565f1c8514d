"""Ten minutes of example 8.6 in natural coordinates: how far its energy errs, by penalties and with projections.

    python benchmarks/ten_minutes.py

The motion is chaotic: for each alpha it is another one, so that three of them tell what is luck. Steps are of 8 ms, and
the energy is compared with a fall of the whole pendulum, as in the book; the bar is 2 %.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from timing import table

from support.natural_models import five_links
from whippletree.studies.natural_runs import NaturalOptions, NaturalRun

H, LAST, FALL, BAR = 0.008, 600.0, 3 * 9.81, 0.02
ALPHAS = (0.999e7, 1e7, 1.001e7)
FORMS: dict[str, dict[str, object]] = {f"penalties, mu = h/{k}": {"mu": H / k} for k in (25, 20, 15, 10)}
FORMS |= {
    "projections, two iterations": {"projections": True, "iterations": 2},
    "projections, three iterations": {"projections": True, "iterations": 3},
    "projections, by tolerance": {"projections": True},
}


def energy_error(alpha: float, options: dict[str, object]) -> str:
    """How far the energy of the points errs, or when the run is lost."""
    run = NaturalRun(five_links(False), NaturalOptions(step=H, alpha=alpha, **options))
    rows = run.march(round(LAST / H))
    if len(rows.t) <= round(LAST / H):
        return f"lost at {rows.t[-1]:.0f} s"
    total = np.zeros(len(rows.t))
    for one in run.natural.points:
        mass = 0.5 if one.name == "tip" else 1.0
        speed, height = rows.rates[:, one.where], rows.x[:, one.where][:, 1]
        total += mass * ((speed**2).sum(axis=1) / 2 + 9.81 * height)
    share = float(np.abs(total - total[0]).max() / FALL)
    return f"{share:.2g} ({'met' if share < BAR else 'MISSED'})"


if __name__ == "__main__":
    shown = [[name, *(energy_error(alpha, options) for alpha in ALPHAS)] for name, options in FORMS.items()]
    table("Energy error of ten minutes", ["form", *(f"alpha = {alpha:g}" for alpha in ALPHAS)], shown)
