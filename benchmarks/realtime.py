"""Steps of fixed work: how long they take, one by one, and which share of a millisecond that is.

    python benchmarks/realtime.py

For the models of chapter 8 of Garcia de Jalon and Bayo: operations of a step, median, 99.9th percentile and worst of
its times in bursts that were not interrupted, called from Python. The bar: the 99.9th percentile at most 1.5 times the
median.
"""

from __future__ import annotations

import sys

from whippletree.analysis.models import MODELS

BAR = 1.5
NAMES = ("five-bar pendulum", "Bricard", "human body", "heavy truck", "car")


def main() -> int:
    """Print one line for each model and method."""
    missed = 0
    print(
        f"{'model':20s} {'method':18s} {'operations':>10s} {'median':>9s} {'99.9 %':>9s} {'worst':>9s} {'of 1 ms':>8s}"
    )
    for name in NAMES:
        if name not in MODELS:
            continue
        s = MODELS[name]().build()
        for method in ("semi_implicit", "rk4"):
            stepper = s.realtime(step=1e-3, method=method)
            found = stepper.measure(50_000)
            ratio = found.percentile_999 / found.median
            missed += ratio > BAR
            print(
                f"{name:20s} {method:18s} {stepper.operations.total:10d} {1e6 * found.median:6.2f} µs "
                f"{1e6 * found.percentile_999:6.2f} µs {1e6 * found.worst:6.2f} µs {found.share:8.2%}  "
                f"{'met' if ratio <= BAR else 'missed'} ({ratio:.2f}, {found.disturbed} of {found.bursts} disturbed)"
            )
    return missed


if __name__ == "__main__":
    sys.exit(bool(main()))
