"""Steps of fixed work: how long they take, one by one, and which share of a millisecond that is.

    python benchmarks/realtime.py

For the models of chapter 8 of Garcia de Jalon and Bayo, called from Python: operations of a step; median, 99.9th
percentile and worst of the steps' own times (each the least of some repetitions from the same state, so that
interrupts do not count) in bursts of 400 steps beside which nobody disturbed the core (`quiet.py`); and the worst with
interruptions, of all bursts. The bar: the 99.9th percentile at most 1.5 times the median.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import quiet

from whippletree.analysis.models import MODELS

BAR = 1.5
NAMES = ("five-bar pendulum", "Bricard", "human body", "heavy truck", "car")
STEPS, BURSTS = 400, 30


def main() -> int:
    """Print one line for each model and method."""
    missed = 0
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("| model | method | operations | median, µs | 99.9 %, µs | worst, µs | of 1 ms | interrupted, µs | bar |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in NAMES:
        s = MODELS[name]().build()
        for method in ("semi_implicit", "rk4"):
            stepper = s.realtime(step=1e-3, method=method)
            stepper.measure(10)
            found = quiet.undisturbed({"steps": lambda now=stepper: now.measure(STEPS)}, BURSTS, together=False)
            bursts = found.bursts["steps"]
            median = float(np.median([one.median for one in bursts]))
            high = float(np.quantile([one.percentile_999 for one in bursts], 0.9))
            worst, latest = max(one.worst for one in bursts), max(one.latest for one in bursts)
            missed += high / median > BAR
            verdict = f"{'met' if high / median <= BAR else 'MISSED'} ({high / median:.2f})"
            figures = " | ".join([*(f"{1e6 * time:.2f}" for time in (median, high, worst)), f"{high / 1e-3:.2%}"])
            print(f"| {name} | {method} | {stepper.operations.total} | {figures} | {1e6 * latest:.0f} | {verdict} |")
    print(quiet.report())
    return missed


if __name__ == "__main__":
    sys.exit(bool(main()))
